"""A client of the owner: one request, one reply, typed errors; and starting an owner where there is none.

Standard library only, and nothing of the owner's side: a front end must start fast. Start reading
at ``request``.
"""

from __future__ import annotations

from context_graph.client.request import request
from context_graph.client.silent import Silent, look_at
from context_graph.client.spawn import (
    find_launcher,
    find_owner_command,
    restart_owner,
    start_owner,
    stop_owner,
    wait_ready,
)

__all__ = [
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
