"""Replays the recorded sessions of handover_dev in order, each project into a store of its own.

Before a session works, its issue is recalled and the best three memories are brought to it and noted in the
ledger, as when an agent recalls; then its events are observed and its summary is captured.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from context_graph.claude.hooks.origin import own_words
from context_graph.consolidation import snapshot
from context_graph.consolidation.snapshot import Snapshot
from context_graph.memory.capture import capture
from context_graph.memory.context.ledger import Injected, Ledger, is_common
from context_graph.memory.memex import Memex
from context_graph.memory.recall import MAX_QUERY_CHARS
from context_graph.model import EventKind, HookEvent
from context_graph.owner.sessions.hook_call import event_of, input_of_request
from context_graph.redact import Redactor
from context_graph.store.graph.tables import InjectionRecords
from context_graph.wire.frames import Request

DAY_MS: Final = 86_400_000
BEGAN_MS: Final = 1_700_000_000_000
BROUGHT: Final = 3
_KINDS: Final = {
    "UserPromptSubmit": EventKind.PROMPT_SUBMIT,
    "PostToolUse": EventKind.POST_TOOL,
    "PostToolUseFailure": EventKind.POST_TOOL_FAILURE,
}


@dataclass(slots=True)
class Recorded:
    """One session of the file."""

    name: str
    files: frozenset[str]
    """That its submitted patch changes: never shown to the product."""
    events: list[HookEvent]


@dataclass(slots=True)
class Moment:
    """A project's store before a session."""

    session: int
    rows: list[int]
    """Which session each memory of the snapshot is from."""
    snap: Snapshot


@dataclass(slots=True)
class Replay:
    """A project, with its store at some moments."""

    project: str
    sessions: list[Recorded]
    moments: list[Moment] = field(default_factory=list)
    brought: list[tuple[int, int, bool]] = field(default_factory=list)
    """(session, session of the memory brought to it, whether the ledger saw it used)."""


def replays(path: Path, at: Sequence[float]) -> Iterator[Replay]:
    """Each project of the file, with its store before the sessions at these shares of it."""
    redactor = Redactor()
    projects: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            raw = json.loads(line)
            projects.setdefault(raw["project"], []).append(raw)
    for project, found in projects.items():
        sessions = [_recorded(f"{project}-{n}", n, raw, redactor) for n, raw in enumerate(found)]
        with tempfile.TemporaryDirectory() as folder, Memex.open(Path(folder) / "store") as memex:
            moments = {max(4, int(share * len(sessions))) for share in at}
            yield _replayed(Replay(project, sessions), memex, moments)


def _recorded(name: str, number: int, raw: dict[str, Any], redactor: Redactor) -> Recorded:
    events = []
    for place, event in enumerate(raw["events"]):
        body = {key: value for key, value in event.items() if key != "event"}
        body |= {"hook_event_name": event["event"], "session_id": name, "cwd": ""}
        if "tool_name" in event:
            body["tool_use_id"] = f"toolu_{place:06d}"
        request = Request(
            f"hooks.{_KINDS[event['event']].value}",
            f"{number:08x}{place:024x}",
            body=json.dumps(body).encode(),
            at_ms=BEGAN_MS + DAY_MS * number + 10_000 * place,
        )
        events.append(replace(event_of(request, input_of_request(request), redactor), at_ms=request.at_ms))
    return Recorded(name, frozenset(raw["files"]), events)


def _replayed(replay: Replay, memex: Memex, moments: set[int]) -> Replay:
    """The project's sessions one after another; snapshots are read whole, for the store is closed then."""
    names = {session.name: number for number, session in enumerate(replay.sessions)}
    ledger: Ledger | None = None
    for number, session in enumerate(replay.sessions):
        if number in moments:
            snap = _snapshot(memex, session.events[0].at_ms)
            rows = [names[snap.node(row).session_id or ""] for row in range(len(snap))]
            replay.moments.append(Moment(number, rows, snap))
        if ledger is None and memex.count():
            with memex.core.operation("get") as core:
                records = InjectionRecords(core.store.engine)
            ledger = Ledger(records, lambda path: is_common(memex.names_file(path), memex.count()))
        if ledger is not None:
            brought = _bring(memex, ledger, session)
            for event in session.events:
                ledger.observe(event)
            ledger.ended(session.name)
            ledger.flush()
            used = {one["id"] for one in ledger.recent(1)[0]["memories"] if one["used"]} if brought else set()
            replay.brought += [(number, names[session_id], one in used) for one, session_id in brought]
        numbered = list(enumerate(session.events, 1))
        capture(memex, session.name, partial(_after, numbered), project=replay.project)
    return replay


def _after(numbered: list[tuple[int, HookEvent]], number: int) -> list[tuple[int, HookEvent]]:
    return numbered[number:]


def _bring(memex: Memex, ledger: Ledger, session: Recorded) -> list[tuple[str, str]]:
    """Recall the session's issue, note what it brings and count it as a use; (id, its session) of each."""
    asked = own_words(session.events[0].input_text)[:MAX_QUERY_CHARS]
    found = memex.recall(asked, top_k=BROUGHT)
    shown = [Injected(str(one.node.id), one.score, 0, one.node.content) for one in found.nodes]
    if shown:
        ledger.record(session.name, "prompt", shown, at_ms=session.events[0].at_ms, asked=asked)
        memex.touch([one.node_id for one in shown], found.followed)
    return [(str(one.node.id), one.node.session_id or "") for one in found.nodes]


def _snapshot(memex: Memex, at_ms: int) -> Snapshot:
    """The store as it is now, with everything that is read later read now."""
    with memex.core.operation("scan") as core:
        snap = snapshot.read(core.store, taken_ms=at_ms)
        nodes, texts = (
            [snap.node(row) for row in range(len(snap))],
            [snap.text(row) for row in range(len(snap))],
        )
        for _ in snap.blocks():
            pass  # a small store's embeddings stay in memory
    snap.node, snap.text = nodes.__getitem__, texts.__getitem__
    return snap
