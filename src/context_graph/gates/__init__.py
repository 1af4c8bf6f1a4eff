"""Decides the requirement gates: what must be met before a tool runs or a session stops, from files alone.

Start reading at ``decide.hooks``, which serves the hooks; ``commands.commands`` serves the command line. Both
ask ``decide.evaluation``. ``config`` reads requirements.yaml, ``state`` reads and writes what is satisfied.
Nothing here needs an owner, a store or the network.
"""
