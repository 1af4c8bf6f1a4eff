"""Sends requests to the owner: one request, one reply, typed errors; starts an owner where none runs.

Standard library only, and nothing of the owner's side, because a front end must start fast. Start reading
at ``request``.
"""
