"""What a consolidation means for those who asked for it through the durable queue."""

from __future__ import annotations

from typing import Any

from context_graph.errors import CorruptedIdentityError
from context_graph.owner.dream_jobs import Trigger
from context_graph.owner.dream_requests import trigger_of
from context_graph.owner.store_context import StoreContext

__all__ = ["answer_requests"]


def answer_requests(context: StoreContext, before_ms: int) -> list[dict[str, Any]]:
    """A consolidation that began at ``before_ms`` has been: take the requests it answers off the queue, and
    close the crises that made them; the requests.

    A crisis is closed before its request goes: a death in between makes one run more, never one less.

    Raises:
        StoreError: What is left on the queue is answered by the next run.
    """
    context.settle()  # runtimes are written below: none may be ahead of its session
    answered = []
    for request in context.store.dream_queue.pending():
        at_ms = request["at_ms"]
        if not isinstance(at_ms, int) or at_ms > before_ms:
            continue
        if trigger_of(request) is Trigger.CRISIS:
            _close_crisis(context, str(request["session_id"]))
        context.store.dream_queue.finish(str(request["id"]))
        answered.append(request)
    return answered


def _close_crisis(context: StoreContext, session_id: str) -> None:
    try:
        live = context.sessions.get(session_id)
    except CorruptedIdentityError:
        return  # whoever asks for that session is told; the request must not wait for it
    if live is not None and live.close_crisis():
        context.store.put_runtime(session_id, live.runtime_bytes())
