"""Computes a session's identity: oscillators, purpose vector, continuity, consciousness, and the words for
them.

Knows no sockets, no stores and no client. Start reading at ``live``, which ties the parts to one session and
which the owner uses. ``consciousness`` and ``continuity`` are formulas and small state machines that can be
read alone; ``ego`` turns events into a purpose vector. Import from the modules: this package re-exports
nothing, so that one formula does not load them all.
"""
