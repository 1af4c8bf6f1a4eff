"""What is written into the durable queue of consolidation requests; `dream_answers` takes it off again.

Crises and ended sessions write here, so that neither a busy time nor the owner's death loses them.
"""

from __future__ import annotations

import time
from typing import Final

from context_graph.model import SessionIdentitySnapshot
from context_graph.owner.dream_jobs import Trigger

__all__ = ["session_end_request", "trigger_of"]

_WHY: Final = "why"
"""Of a request; without one it is a crisis's, as all were before there were others."""


def session_end_request(snapshot: SessionIdentitySnapshot) -> dict[str, object]:
    """The request that an ended session leaves."""
    return {
        "session_id": snapshot.session_id,
        "ic": snapshot.last_ic,
        "at_ms": time.time_ns() // 1_000_000,
        _WHY: Trigger.SESSION_END.value,
    }


def trigger_of(request: dict[str, object]) -> Trigger:
    """Why it was made."""
    return Trigger.SESSION_END if request.get(_WHY) == Trigger.SESSION_END.value else Trigger.CRISIS
