"""The durable queue of consolidation requests: what is written into it, and what takes a request off it.

Crises and ended sessions write here, so that neither a busy time nor the owner's death loses them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from context_graph.errors import CorruptedIdentityError
from context_graph.model import SessionIdentitySnapshot
from context_graph.owner.dream_jobs import Trigger

if TYPE_CHECKING:
    from context_graph.owner.store_context import StoreContext

__all__ = ["answer_requests", "session_end_request", "trigger_of"]

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


def answer_requests(context: StoreContext, before_ms: int) -> list[dict[str, Any]]:
    """A consolidation that began at ``before_ms`` has been: take the requests it answers off the queue, and
    close the crises that made them; the requests.

    A crisis is closed before its request goes: a death in between makes one run more, never one less.

    Raises:
        StoreError: What is left on the queue is answered by the next run.
    """
    context.settle()  # runtimes are written below: none may be ahead of its session
    answered = []
    for request in context.store.pending_dreams():
        at_ms = request["at_ms"]
        if not isinstance(at_ms, int) or at_ms > before_ms:
            continue
        if trigger_of(request) is Trigger.CRISIS:
            _close_crisis(context, str(request["session_id"]))
        context.store.finish_dream(str(request["id"]))
        answered.append(request)
    return answered


def _close_crisis(context: StoreContext, session_id: str) -> None:
    try:
        live = context.session(session_id)
    except CorruptedIdentityError:
        return  # whoever asks for that session is told; the request must not wait for it
    if live is not None and live.close_crisis():
        context.store.put_runtime(session_id, live.runtime_bytes())
