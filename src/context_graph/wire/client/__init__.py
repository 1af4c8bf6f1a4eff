"""Sends requests to the owner: one request, one reply, typed errors; starts an owner where none runs.

Standard library only, and nothing of the owner's side, because a front end must start fast. Start reading
at ``request``.
"""

from __future__ import annotations

from context_graph.wire.client.follow import Following
from context_graph.wire.client.request import request
from context_graph.wire.client.silent import Silent, look_at
from context_graph.wire.client.spawn import (
    find_launcher,
    find_owner_command,
    restart_owner,
    start_owner,
    stop_owner,
    wait_ready,
)

__all__ = [
    "Following",
    "Silent",
    "find_launcher",
    "find_owner_command",
    "look_at",
    "request",
    "restart_owner",
    "start_owner",
    "stop_owner",
    "wait_ready",
]
