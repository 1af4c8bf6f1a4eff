"""Answers the plugin's pane (`view.pane`) and its part in a compaction (`view.compaction`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import orjson

from context_graph.errors import ContextGraphError
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.commands.maintenance import look
from context_graph.view.health import sentence
from context_graph.view.rows import TEXT_CHARS, Health, Line, Pane, Shown, to_json
from context_graph.view.text import pane_lines
from context_graph.view.units import counted, span
from context_graph.wire.frames import Reply

_SHOWN: Final = 8
_ENTRIES: Final = 64
_COMPACTION_TOKENS: Final = 400


def _pane(call: Call) -> Reply:
    """Rows as JSON, and the same as lines of ``width`` columns."""
    pane = Pane(health=_health(call), shown=_shown(call))
    health, shown = pane_lines(pane, call.began_ms, call.count("width", 80, 1000))
    return reply(orjson.dumps({**to_json(pane), "lines": health, "shown_lines": shown}))


def _shown(call: Call) -> list[Shown]:
    context = call.context
    if not context.memory_count() and context.memory_seq() is None:
        return []
    memory = context.memory

    def content(memory_id: str) -> str | None:
        with contextlib.suppress(ContextGraphError, ValueError):
            found = memory.get(UUID(memory_id))
            return found.content if found is not None else None
        return None

    with memory.uncounted():
        return _each_once(context.memory_hooks.ledger.recent(_ENTRIES), content)


def _each_once(entries: Iterable[Mapping[str, Any]], content: Callable[[str], str | None]) -> list[Shown]:
    """The newest memories of the ledger's ``entries``, newest first, each once."""
    found: dict[str, Shown] = {}
    for entry in entries:
        for one in entry["memories"]:
            if one["id"] in found or len(found) == _SHOWN:
                continue
            text = content(one["id"])
            found[one["id"]] = Shown(
                memory_id=one["id"],
                at_ms=entry["at_ms"],
                cause=entry["event"],
                relevance=one["score"],
                tokens=one["tokens"],
                used=one["used"],
                text=" ".join((text or "").split())[:TEXT_CHARS],
                is_forgotten=text is None,
                session_id=entry["session_id"],
            )
    return list(found.values())


def _health(call: Call) -> Health:
    found = look(call, quick=True)
    sessions, memory, now = found["sessions"], found["memory"], call.began_ms
    captured = memory.get("last_capture_ms")
    works, said = sentence(found, now, lambda: True)
    lines = [
        Line("state", said, not works),
        Line("captured", f"a session, {span(max(0, now - captured) / 1000)} ago" if captured else "none yet"),
        Line("this week", _week(memory)),
    ]
    parts = [part["error"] for part in (sessions, memory) if "error" in part]
    lines += [Line("problem", text, True) for text in (*parts, *found["problems"])]
    return Health(project=found["project"], works=works, sentence=said, lines=lines)


def _week(memory: Mapping[str, Any]) -> str:
    shown, used = memory.get("memories", 0), memory.get("used", 0)
    tokens = memory.get("week_tokens", 0)
    return (
        f"{tokens} tokens of memories; {used} of {counted(shown, 'memory', 'memories')} ever shown were used"
    )


def _compaction(call: Call) -> Reply:
    """What a summary of this session must not lose; "" if there is nothing."""
    from context_graph.memory.context.after_compaction import facts_of, instructions_of
    from context_graph.memory.embed import default_provider

    session_id = call.request.session_env
    work = call.context.memory_hooks.works.work(session_id, own=True) if session_id else None
    if work is None:
        return reply(b"{}")
    gates = call.gates.status_line(call.request).stdout.decode().strip()
    gates = "" if gates.startswith("no requirements") else gates
    count = default_provider().count_tokens
    text = instructions_of(facts_of(work), gates, budget=_COMPACTION_TOKENS, count=count)
    return reply(orjson.dumps({"instructions": text}))


HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {"view.pane": _pane, "view.compaction": _compaction}
