"""Runs the owner: the one process of a data root that opens its stores.

``lifecycle`` is the process (lock, readiness, hand-over, idle exit), ``socket`` the connections, ``service``
the dispatch of verbs to ``commands``; ``sessions`` applies hook events, ``consolidations`` runs those beside
the owner. ``lifecycle`` and ``socket`` know no sessions and no stores; the others know no sockets. A hook
goes through ``socket.server``, ``service`` and ``commands.hooks``; ``sessions.hook_call`` parses it once for
all. Nobody imports this package: clients start it by command line. Start reading at ``service``.
"""
