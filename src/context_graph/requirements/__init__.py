"""Requirement gates: what must be met before a tool runs or a session stops, decided from files alone.

``hooks.decide`` serves the hooks, ``commands`` the command line; both ask ``evaluate.evaluate``.
Nothing here needs an owner, a store or the network, and nothing imports more than it uses: the slow
path starts a bare interpreter for each hook.
"""
