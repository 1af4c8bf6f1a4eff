"""Answers the verbs `view.*` with rows (`context_graph.view.rows`) as JSON.

`view.pane` and `view.compaction` are the plugin's: its pane, and its part in a compaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final

import msgspec

from context_graph.memory.writing import as_uuid
from context_graph.model.memory import parse_time
from context_graph.operations.operation import about, read
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.commands.maintenance import look
from context_graph.owner.commands.memory import body_of
from context_graph.owner.commands.session import find_session, status_view
from context_graph.owner.view import ledger, memories, sessions
from context_graph.owner.view.map import map_of
from context_graph.view.health import health_of
from context_graph.view.rows import (
    TEXT_CHARS,
    WHOLE_CHARS,
    Health,
    Ledger,
    MemoryPage,
    Pane,
    RunDetail,
    SessionPage,
    Shown,
    to_json,
)
from context_graph.view.text import pane_lines, sentence
from context_graph.wire.frames import Reply

_SHOWN: Final = 8
_COMPACTION_TOKENS: Final = 400
_MOST: Final = 1000
"""Rows of one answer: some 500 KB."""
_MOST_ENTRIES: Final = 10_000
_ENCODER: Final = msgspec.json.Encoder()


def _health(call: Call) -> Health:
    """As of now or, where it works, as of the time that ``as-of`` names: the same whenever it is asked."""
    identity = status_view(call.context, call.context.sessions.latest())
    requirements = call.gates.status_line(call.request).stdout.decode().strip()
    hooks = call.flag("hooks-set-up", True)

    def then(now_ms: int) -> Health:
        report = look(call, quick=True, now_ms=now_ms)
        return health_of(report, identity, requirements, now_ms, hooks_set_up=hooks)

    state, at_ms = then(call.began_ms), _as_of(call)
    return state if at_ms is None or not state.works else then(at_ms)


def _as_of(call: Call) -> int | None:
    """Unix ms of the option ``as-of``; None without it."""
    value = call.option("as-of")
    return (
        parse_time("as-of", int(value) if value.isascii() and value.isdigit() else value) if value else None
    )


class _Texts(msgspec.Struct):
    ids: Annotated[list[str], about("The memories.")]


def _texts(call: Call) -> dict[str, str]:
    """Id -> the beginning of that memory's text, soft-deleted or not, of those that are there."""
    asked = read(_Texts, body_of(call), call.request.verb).ids[:_MOST]
    text = memories.text_of(call.context.memory)
    with call.context.memory.uncounted():
        texts = {memory_id: text(as_uuid("ids", memory_id)) for memory_id in asked}
    return {memory_id: content for memory_id, content in texts.items() if content}


def _memories(call: Call) -> MemoryPage:
    return memories.memory_page(
        call.context,
        query=call.option("query"),
        forgotten=call.flag("forgotten"),
        cursor=call.option("cursor"),
        limit=call.count("limit", 200, _MOST),
        chars=call.count("chars", TEXT_CHARS, WHOLE_CHARS),
    )


def _ledger(call: Call) -> Ledger:
    limit = call.count("limit", 500, _MOST_ENTRIES)
    return ledger.ledger_of(call.context, limit=limit, session_id=call.option("session-id"))


def _sessions(call: Call) -> SessionPage:
    limit = call.count("limit", 200, _MOST)
    return sessions.session_page(call.context, cursor=call.option("cursor"), limit=limit)


def _run(call: Call) -> RunDetail:
    limit = call.count("limit", 200, _MOST_ENTRIES)
    return memories.run_detail(call.context, call.option("token"), limit=limit)


def _pane(call: Call) -> dict[str, Any]:
    """Rows as JSON, and the same as lines."""
    pane = Pane(health=_health(call), effect=ledger.effect_of(call.context), shown=list(_each_once(call)))
    lines, shown = pane_lines(pane, call.began_ms)
    more = {"lines": lines, "shown_lines": shown, "effect_line": sentence(pane.effect)}
    return {**to_json(pane), **more}


def _each_once(call: Call) -> Iterator[Shown]:
    """Yield the memories that were put before the model last, newest first, each once, but forgotten ones."""
    context = call.context
    if not context.uses_memory():
        return
    seen: set[str] = set()
    with context.memory.uncounted():
        for row in ledger.shown_rows(context):
            if len(seen) == _SHOWN:
                return
            if row.memory_id not in seen and not row.is_forgotten:
                seen.add(row.memory_id)
                yield row


def _compaction(call: Call) -> dict[str, str]:
    """Return what a summary of this session must not lose; nothing if there is nothing."""
    from context_graph.memory.context.after_compaction import facts_of, instructions_of
    from context_graph.memory.embed import default_provider

    session_id = call.request.session_env
    work = call.context.memory_hooks.works.work(session_id, own=True) if session_id else None
    if work is None:
        return {}
    status = call.gates.status_line(call.request).stdout.decode().strip()
    status = "" if status.startswith("no requirements") else status
    count = default_provider().count_tokens
    text = instructions_of(facts_of(work), status, budget=_COMPACTION_TOKENS, count=count)
    return {"instructions": text}


_ROWS: Final[dict[str, Callable[[Call], Any]]] = {
    "health": _health,
    "memories": _memories,
    "memory": lambda call: memories.memory_detail(call.context, call.option("id"), _as_of(call)),
    "texts": _texts,
    "ledger": _ledger,
    "sessions": _sessions,
    "session": lambda call: sessions.session_detail(call.context, find_session(call)),
    "runs": lambda call: memories.run_rows(call.context, limit=call.count("limit", 100, _MOST)),
    "run": _run,
    "gates": lambda call: sessions.gates_of(call.context, limit=call.count("limit", 500, _MOST_ENTRIES)),
    "map": lambda call: map_of(call.context),
    "effect": lambda call: ledger.effect_of(call.context),
    "pane": _pane,
    "compaction": _compaction,
}


def answer(name: str, call: Call) -> Reply:
    """Return the answer to the verb `view.` and that name."""
    return reply(_ENCODER.encode(_ROWS[name](call)))
