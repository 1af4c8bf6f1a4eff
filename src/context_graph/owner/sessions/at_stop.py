"""Has a session say once, before it stops, what it learned, where its last words say neither cause nor fix.

The client's own model answers, in the session. The setting `ask_what_was_learned` is off by default.
"""

from __future__ import annotations

from typing import Final

from context_graph.model import HookEvent
from context_graph.owner.sessions.memory_hooks import MemoryHooks

QUESTION: Final = (
    "context-graph asks once, for this session's notes: say in two or three sentences what was wrong or "
    "wanted, what you changed for it (files, functions), and what a later session should know. Then stop."
)
_ASKED: Final = "asked"
"""The ledger's name of the occasion."""


def question_at_stop(hooks: MemoryHooks, event: HookEvent) -> str:
    """Return the question to a session about to stop; "" where it was asked before or has nothing to say.

    That it was asked is written at once: no restart asks again. Cost: a read of the ledger, some 5 ms.
    """
    work = hooks.works.work(event.session_id, own=True)
    if work is None or not work.is_unexplained() or hooks.ledger.knows(event.session_id, _ASKED):
        return ""
    hooks.ledger.record(event.session_id, _ASKED, (), at_ms=event.at_ms)
    hooks.ledger.flush()
    return QUESTION
