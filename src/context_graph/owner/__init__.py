"""The owner: the one process of a data root that opens its stores.

``lifecycle`` is the process (lock, readiness, hand-over, idle exit), ``server`` and ``connection``
the socket, ``service`` what each verb does. The first three know nothing of sessions or stores,
the last nothing of sockets. Nobody imports this package: clients start it by command line.
"""
