"""The records that cross the layers. Standard library only, no behaviour beyond their own invariants.

Events and session snapshots are here by name. What only memory needs is imported from its own module
(`model.memory`, `model.edge`, `model.johari`, …), so that a client and a hook's path don't load it.
"""

from context_graph.model.events import (
    CRISIS_THRESHOLD,
    EVENT_TEXT_BYTES,
    KURAMOTO_N,
    MAX_SESSION_ID_LEN,
    MAX_TRAJECTORY_LEN,
    NOTIFICATION,
    EventKind,
    HookEvent,
    SessionIdentitySnapshot,
    cut_session_id,
)

__all__ = [
    "CRISIS_THRESHOLD",
    "EVENT_TEXT_BYTES",
    "KURAMOTO_N",
    "MAX_SESSION_ID_LEN",
    "MAX_TRAJECTORY_LEN",
    "NOTIFICATION",
    "EventKind",
    "HookEvent",
    "SessionIdentitySnapshot",
    "cut_session_id",
]
