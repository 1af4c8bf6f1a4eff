"""Defines the records that cross the layers. Standard library only; no behaviour beyond their invariants.

Events and session snapshots are exported here. What only memory needs is imported from its own module
(`model.memory`, `model.edge`, …), so that clients and hooks don't load it. Start reading at `events`.
"""

from context_graph.model.events import (
    CRISIS_THRESHOLD,
    EVENT_TEXT_BYTES,
    KURAMOTO_N,
    MAX_SESSION_ID_LEN,
    MAX_TRAJECTORY_LEN,
    NOTIFICATION,
    ConsciousnessMeasures,
    DriftMetrics,
    EventKind,
    HookEvent,
    ICClassification,
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
    "ConsciousnessMeasures",
    "DriftMetrics",
    "EventKind",
    "HookEvent",
    "ICClassification",
    "SessionIdentitySnapshot",
    "cut_session_id",
]
