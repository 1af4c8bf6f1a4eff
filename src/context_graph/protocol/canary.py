"""The hook call that `doctor` sends through the client's own commands to see whether they work.

It names a tool that no client has, in a session whose id says what it is. It is recorded and read back like
any other event; but it begins no session, is nobody's latest, no gate looks at it, and it is removed again.
Imports nothing: the gates' bare interpreter reads this too.
"""

from __future__ import annotations

__all__ = ["CANARY_PREFIX", "CANARY_TAG", "CANARY_TOOL", "is_canary"]

CANARY_PREFIX = "context-graph-doctor-"
"""What the ids of such sessions begin with; a client's own are UUIDs."""
CANARY_TOOL = "ContextGraphDoctor"
CANARY_TAG = "context-graph-doctor"
"""The tag of the memory that `doctor` stores, finds and deletes: no tombstone stays of it, no count."""


def is_canary(session_id: str, tool_name: str) -> bool:
    """Whether a hook call is such a one. It takes both: the id alone exempts no real tool from a gate."""
    return tool_name == CANARY_TOOL and session_id.startswith(CANARY_PREFIX)
