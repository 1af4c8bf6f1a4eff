"""Handles `doctor` and `backup`, for which the process that holds a store is needed."""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import orjson
from msgspec import Struct

from context_graph import __version__
from context_graph.claude.hooks.origin import CANARY_PREFIX
from context_graph.config import client_dir
from context_graph.consolidation import messages
from context_graph.errors import ContextGraphError, InvalidInputError
from context_graph.identity.brief import brief_line, state_block
from context_graph.identity.runtime import decode_runtime
from context_graph.operations.operation import about, read
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.commands.memory import body_of
from context_graph.wire.frames import Reply

_WEEK_MS: Final = 7 * 86_400_000
_DAY_MS: Final = 86_400_000
_MONTH_MS: Final = 30 * _DAY_MS
_SESSIONS: Final = 500
"""Sessions of a week that are looked at; of more the newest."""
_CAPTURES: Final = 20
_INSTRUCTION_CHARS: Final = 2048
"""What the client keeps of a server's instructions."""


def _canary(call: Call) -> Reply:
    session_id = call.option("session")
    if not session_id.startswith(CANARY_PREFIX):
        raise InvalidInputError(
            f"--session {session_id!r} is not a canary session; their ids begin with {CANARY_PREFIX}"
        )
    events = call.context.sessions.canaries.take(session_id, call.began_ms)
    shown = [
        {"kind": event.kind.value, "tool_use_id": event.tool_use_id, "at_ms": event.at_ms} for event in events
    ]
    return reply(orjson.dumps({"events": shown}))


def _look(call: Call) -> Reply:
    return reply(orjson.dumps(look(call, quick=call.flag("quick"))))


def look(call: Call, *, quick: bool, now_ms: int | None = None) -> dict[str, Any]:
    """Return the store's health. A part that fails reports that in its place; the others are still reported.

    ``quick`` omits the pass over all records, and what only the costs are computed from; ``since`` (Unix ms)
    is from when on memories that were shown are counted, by default a day. ``now_ms`` is where its spans end.
    """
    from context_graph.sync.run import last_exchanges  # few stores have any

    context, now_ms = call.context, call.began_ms if now_ms is None else now_ms
    context.settle()
    settings = call.settings
    return {
        "store": str(context.folder),
        "project": str(context.project) if context.project else "",
        "events_waiting": context.events.waiting,
        "events_rejected": context.events.rejected,
        "sessions": _guarded(_sessions, call, now_ms),
        "memory": _guarded(partial(_memory, quick=quick), call, now_ms),
        "texts": {} if quick else _guarded(_texts, call, now_ms),
        "settings": {
            name: getattr(settings, name)
            for name in (
                *("identity_lines", "memory_inject", "memory_inject_tokens", "memory_capture"),
                "memory_model",
            )
        },
        "losses": [
            loss for loss in context.store.engine.losses() if int(loss.get("at_ms", 0)) > now_ms - _MONTH_MS
        ],
        "problems": list(settings.problems),
        "elsewhere": context.elsewhere(),
        "exchanges": [msgspec.to_builtins(exchange) for exchange in last_exchanges(context.folder).values()],
    }


def _guarded(part: Callable[[Call, int], dict[str, Any]], call: Call, now_ms: int) -> dict[str, Any]:
    try:
        return part(call, now_ms)
    except (ContextGraphError, OSError) as error:
        return {"error": str(error)}


def _sessions(call: Call, now_ms: int) -> dict[str, Any]:
    store = call.context.store
    rows, _ = store.list_sessions(limit=_SESSIONS)
    week = [row for row in rows if row.timestamp_ms >= now_ms - _WEEK_MS]
    kinds: Counter[str] = Counter()
    for row in week:
        packed = None if row.damaged else store.load_runtime(row.session_id)
        if packed is not None:
            kinds.update(decode_runtime(packed).events_by_kind)
    return {
        "count": store.count(),
        "damaged": sum(bool(row.damaged) for row in rows),
        "last_event_ms": rows[0].timestamp_ms if rows else None,
        "week": len(week),
        "week_days": len({row.timestamp_ms // _DAY_MS for row in week}),
        "week_events": dict(kinds),
    }


def _memory(call: Call, now_ms: int, *, quick: bool) -> dict[str, Any]:
    context = call.context
    context.memory_hooks.tidy()
    if not context.uses_memory():
        return {"live": 0, **context.memory_hooks.stats(), "week_injections": 0, "week_tokens": 0}
    with context.memory.uncounted():
        return _examined(call, now_ms, quick=quick)


def _examined(call: Call, now_ms: int, *, quick: bool) -> dict[str, Any]:
    context = call.context
    value = call.option("since")
    since = int(value) if value.isascii() and value.isdigit() else now_ms - _DAY_MS
    recent = [row for row in context.memory_hooks.ledger.recent(4096) if row["at_ms"] >= now_ms - _WEEK_MS]
    return {
        "live": context.memory_count(),
        **({} if quick else _health(call)),
        "last_capture_ms": _last_capture_ms(call),
        **context.memory_hooks.stats(),
        "week_injections": len(recent),
        "shown_since": sum(len(row["memories"]) for row in recent if row["at_ms"] >= since),
        "week_tokens": sum(row["tokens"] for row in recent),
        "shown_less": context.memory_hooks.ledger.report(now_ms)["shown_less"],
    }


def _health(call: Call) -> dict[str, Any]:
    began = time.perf_counter()
    health = call.context.memory.health()
    took_ms = (time.perf_counter() - began) * 1000
    return {**asdict(health), "agrees": health.agrees, "looked_ms": round(took_ms, 3)}


def _last_capture_ms(call: Call) -> int | None:
    from context_graph.memory.capture import CAPTURE_TAG, work_of
    from context_graph.memory.filters import RecallFilters

    page = call.context.memory.list(None, _CAPTURES, RecallFilters(tags=(CAPTURE_TAG,)))
    return max((max(node.created_at_ms, work_of(node).ended_ms) for node in page.nodes), default=None)


def _texts(call: Call, now_ms: int) -> dict[str, Any]:
    """Return the tokens of what is put into contexts, in WordPieces, which memory's budgets use."""
    from context_graph.memory.embed import default_provider
    from context_graph.operations.mcp.rpc import INSTRUCTIONS
    from context_graph.operations.mcp.tools import memory_tools

    count = default_provider().count_tokens
    tools = memory_tools()
    loaded = [tool.shown() for tool in tools if tool.loaded]
    deferred = "\n".join(f"mcp__context-graph__{tool.name}" for tool in tools if not tool.loaded)
    live = call.context.sessions.latest()
    metrics = live.metrics if live is not None and live.has_evidence else None
    return {
        "tools": len(tools),
        "tool_schemas": count(orjson.dumps(loaded).decode()),
        "tool_names": count(deferred),
        "instructions": count(INSTRUCTIONS[:_INSTRUCTION_CHARS]),
        "skills": count("\n".join(_skills(call.request.project, _client(call)))),
        "brief": count(brief_line(metrics)),
        "state_block": count(state_block(metrics)),
    }


def _client(call: Call) -> Path:
    """Return the client's own folder, as the one that asks has it."""
    works = call.context.memory_hooks.works
    works.serve(call.request.env)
    return client_dir(works.env)


def _skills(project: Path | None, client: Path) -> Iterator[str]:
    """Yield the lines by which the client tells its model of our skills, where they are set up."""
    from context_graph.claude.install.plan import plugin_folder

    places = [client / "skills", *([project / ".claude" / "skills"] if project else [])]
    for skill in sorted((plugin_folder() / "skills").glob("*/SKILL.md")):
        name = skill.parent.name
        if not any((place / name / "SKILL.md").is_file() for place in places):
            continue
        head = skill.read_text(encoding="utf-8").split("---\n", 2)[1]
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        if fields.get("disable-model-invocation") != "true":
            yield f"- {name}: {fields['description']} - {fields['when_to_use']}"


PREFIX: Final = "checkpoint-"


class _Checkpoint(Struct):
    pid: Annotated[int, about("The process that will copy it.", ge=0, le=1 << 30)] = 0


def _checkpoint(call: Call) -> Reply:
    pid = read(_Checkpoint, body_of(call), call.request.verb).pid or os.getpid()
    store = call.context.folder
    for left in _leftovers(store):
        messages.discard(left)
    call.context.checkpoint()
    folder = store / f"{PREFIX}{pid}-{secrets.token_hex(8)}"
    with call.context.memory.core.operation("checkpoint", writes=True) as core:
        messages.take_checkpoint(core.store, folder)
        seq = core.store.counters.seq
    document = {
        "folder": str(folder),
        "database": str(folder / messages.DATABASE),
        "store": str(store),
        "project": str(call.request.project or ""),
        "version": __version__,
        "memories": call.context.memory_count(),
        "sessions": call.context.store.count(),
        "last_commit": seq,
    }
    return reply(orjson.dumps(document))


def _leftovers(store: Path) -> list[Path]:
    folders = sorted(store.glob(f"{PREFIX}*-*"))
    return [path for path in folders if not _lives(path.name.removeprefix(PREFIX).partition("-")[0])]


def _lives(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


HANDLERS: dict[str, Callable[[Call], Reply]] = {
    "doctor.canary": _canary,
    "doctor.look": _look,
    "backup.checkpoint": _checkpoint,
}
