"""A session's identity: oscillators, purpose vector, continuity, consciousness, and the words for them.

Knows nothing of sockets, stores or the client. ``kuramoto``, ``consciousness``, ``continuity`` and ``johari``
are formulas and small state machines that can be read alone; ``ego`` turns events into a purpose vector;
``live`` ties them to one session and is what the owner talks to. Import from the modules: this package
re-exports nothing, so that one formula does not load them all.
"""
