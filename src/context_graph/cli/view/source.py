"""Gives renderers their rows (`view.source`): asks the owner, and looks at the client's files itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from context_graph.cli.console.calling import ask
from context_graph.cli.doctor.findings import NOTE
from context_graph.cli.memory.call import body_of, finished, last_of
from context_graph.cli.memory.edit import changed, editable
from context_graph.config import checkout_top, locate, project_dir
from context_graph.errors import ContextGraphError, InvalidInputError
from context_graph.text.units import counted, size
from context_graph.view.rows import (
    PARTS,
    TEXT_CHARS,
    Effect,
    Gates,
    Health,
    Ledger,
    Line,
    Map,
    MemoryDetail,
    MemoryPage,
    RunChange,
    RunDetail,
    RunRow,
    SessionDetail,
    SessionPage,
)
from context_graph.view.source import Replaced
from context_graph.wire.client.follow import Following, follow
from context_graph.wire.frames import FOLLOWS, Reply

_ASK_S: Final = 15.0
_SHORT: Final = 8
_DISK: Final = "disk"
T = TypeVar("T")


class RefusedError(ContextGraphError):
    """The owner's answer says what is wrong."""

    code = "view_refused"


class OwnerSource:
    """The store of this folder's project, or that of ``db_path``. Thread-safe: each question is a connection
    of its own.
    """

    def __init__(self, db_path: str | None = None) -> None:
        self._db_path = db_path
        self._following: Following | None = None

    # Source

    def health(self, *, as_of_ms: int | None = None) -> Health:
        """Return the owner's lines, then those about the client and the disk."""
        are_set_up, lines = _surroundings(self._db_path)
        asked = {"hooks-set-up": "true" if are_set_up else "false", "as-of": _text(as_of_ms)}
        health = self._rows("view.health", asked, Health)
        if as_of_ms is not None:
            lines = [line for line in lines if line.name != _DISK]
        return msgspec.structs.replace(health, lines=[*health.lines, *lines])

    def memories(
        self,
        *,
        query: str = "",
        forgotten: bool = False,
        cursor: str = "",
        limit: int = 200,
        chars: int = TEXT_CHARS,
    ) -> MemoryPage:
        asked = {"query": query, "forgotten": forgotten, "cursor": cursor}
        return self._rows("view.memories", {**asked, "limit": str(limit), "chars": str(chars)}, MemoryPage)

    def memory(self, memory_id: str, *, as_of_ms: int | None = None) -> MemoryDetail:
        asked = {"id": memory_id, "as-of": _text(as_of_ms)}
        return self._rows("view.memory", asked, MemoryDetail)

    def ledger(self, *, limit: int = 500, session_id: str = "") -> Ledger:
        return self._rows("view.ledger", {"limit": str(limit), "session-id": session_id}, Ledger)

    def sessions(self, *, cursor: str = "", limit: int = 200) -> SessionPage:
        return self._rows("view.sessions", {"cursor": cursor, "limit": str(limit)}, SessionPage)

    def session(self, session_id: str) -> SessionDetail:
        return self._rows("view.session", {"session-id": session_id}, SessionDetail)

    def runs(self, *, limit: int = 100) -> Sequence[RunRow]:
        return self._rows("view.runs", {"limit": str(limit)}, list[RunRow])

    def run(self, token: str, *, limit: int = 200) -> RunDetail:
        return self._rows("view.run", {"token": token, "limit": str(limit)}, RunDetail)

    def gates(self, *, limit: int = 500) -> Gates:
        return self._rows("view.gates", {"limit": str(limit)}, Gates)

    def map(self) -> Map:
        return self._rows("view.map", {}, Map)

    def effect(self) -> Effect:
        return self._rows("view.effect", {}, Effect)

    def follow(self) -> Iterator[Sequence[str]]:
        # Starts no owner: whoever looks at a store has just asked it for something.
        self._following = follow("view.follow", {}, location=locate(self._db_path), autostart=False)
        _check(self._following.reply)
        yield PARTS  # what changed before it was followed is not known
        for line in self._following:
            yield line["changed"]

    def close(self) -> None:
        if self._following is not None:
            self._following.close()

    # Actions

    def confirm(self, memory_id: str) -> str:
        answer = self._done("memory.confirm", {"id": memory_id})
        standing = answer.get("standing")
        return f"{_short(answer)} is confirmed{f': {standing}' if standing else ''}"

    def take_back(self, memory_id: str) -> str:
        return f"{_short(self._done('memory.confirm', {'id': memory_id, 'take_back': True}))} is as it was"

    def supersede(self, memory_id: str, text: str) -> Replaced:
        old = editable(self._done("memory.show", {"id": memory_id}))
        if text.strip() == old["content"]:
            raise InvalidInputError(f"{_short(old)} has that text already")
        new = self._done(*changed(old, text))
        message = f"{_short(new)} replaces {_short(old)}; forget {_short(new)} to undo that"
        if new["id"] == old["id"]:
            message = f"{_short(new)} is reworded; its history has the text before"
        return Replaced(message, new["id"])

    def forget(self, memory_id: str) -> str:
        self._done("memory.forget", {"id": memory_id, "reason": "view"})
        return f"{memory_id[:_SHORT]} is forgotten; it can be restored for 30 days"

    def restore(self, memory_id: str) -> str:
        return (
            f"{_short(self._done('memory.restore', {'id': memory_id}))} is restored; forget it to undo that"
        )

    def undo(self, token: str) -> str:
        answer = self._done("memory.undo", {"token": token})
        done = [f"{answer[name]} {name}" for name in ("restored", "forgotten", "changed") if answer[name]]
        kept = answer["kept_count"]
        left = f"; {kept} that were changed since stay as they are" if kept else ""
        return f"undone: {', '.join(done) or 'no memory changed'}{left}; undo that run to have it again"

    def dry_run(self, mode: str) -> RunDetail:
        result = self._finished({"mode": mode, "dry_run": True})
        ids = {*_ids(result)}
        texts = self._done("view.texts", {"ids": sorted(ids)}) if ids else {}
        row = RunRow(token="", at_ms=0, mode=result["mode"], trigger="dry run", counts=_counts(result))
        changes = list(_changes(result, texts))
        total = sum(row.counts.values())
        return RunDetail(row=row, changes=changes, total=total, notes=result["notes"], is_dry=True)

    def consolidate(self, mode: str) -> str:
        result = self._finished({"mode": mode})
        done = ", ".join(f"{count} {name}" for name, count in _counts(result).items() if count)
        token = result.get("undo_token", "")
        if not token:
            return " ".join(result["notes"]) or "nothing was to be done"
        what = done or "no memory was merged, forgotten or linked"
        return f"done: {what}; undo {token[:_SHORT]} takes it back"

    # Asking

    def _rows(self, verb: str, params: Mapping[str, object], kind: type[T]) -> T:
        return msgspec.json.decode(self._answer(verb, params, b""), type=kind)

    def _done(self, verb: str, arguments: Mapping[str, Any]) -> Any:
        return msgspec.json.decode(self._answer(verb, {}, body_of(arguments)))

    def _answer(self, verb: str, params: Mapping[str, object], body: bytes) -> bytes:
        reply = ask(verb, params, body, db_path=self._db_path, timeout_s=_ASK_S, quiet=True)
        _check(reply)
        return reply.stdout

    def _finished(self, arguments: Mapping[str, Any]) -> Any:
        place, body = locate(self._db_path), body_of(arguments)
        following = follow("memory.consolidate", {FOLLOWS: True}, body, location=place, timeout_s=_ASK_S)
        _check(following.reply)
        return finished(last_of(following))


def _check(reply: Reply) -> None:
    """Raise RefusedError for a reply that failed."""
    if reply.exit_code or reply.flags:
        message = reply.stderr.decode("utf-8", "replace").strip().removeprefix("context-graph: ")
        raise RefusedError(message or "the owner refused to answer")


def _text(at_ms: int | None) -> str:
    return "" if at_ms is None else str(at_ms)


def _short(memory: Mapping[str, Any]) -> str:
    return str(memory["id"])[:_SHORT]


def _counts(result: Mapping[str, Any]) -> dict[str, int]:
    names = {
        "merged": "merged_count",
        "pruned": "pruned_count",
        "links": "links_made_count",
        "reweighted": "reweighted_count",
    }
    return {name: result[its] for name, its in names.items()}


def _ids(result: Mapping[str, Any]) -> Iterator[str]:
    for merge in result["merged"]:
        yield merge["survivor"]
        yield from merge["losers"]
    for pruned in result["pruned"]:
        yield pruned["node_id"]
    for link in result["links_made"]:
        yield from (link["source"], link["target"])


def _changes(result: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[RunChange]:
    for merge in result["merged"]:
        into = merge["survivor"]
        for loser in merge["losers"]:
            alike = f"similarity {merge['similarity']:.2f}"
            yield _change("merged", loser, texts, alike, into)
    for pruned in result["pruned"]:
        yield _change("pruned", pruned["node_id"], texts, f"salience {pruned['salience']:.2f}")
    for link in result["links_made"]:
        why = f"{link['relationship_type']}, {link['why']}"
        yield _change("linked", link["source"], texts, why, link["target"])


def _change(kind: str, memory_id: str, texts: Mapping[str, str], reason: str, into: str = "") -> RunChange:
    return RunChange(
        kind=kind,
        id=memory_id,
        text=texts.get(memory_id, ""),
        reason=reason,
        into_id=into,
        into_text=texts.get(into, ""),
    )


def _surroundings(db_path: str | None) -> tuple[bool, list[Line]]:
    """Return whether hooks are set up here; and what only the client's files and the disk tell."""
    from context_graph.cli.doctor.client_files import settings_files
    from context_graph.cli.doctor.hooks_in_use import hooks_in_use
    from context_graph.cli.doctor.native_memory import native_memory
    from context_graph.cli.doctor.surroundings import disk_use

    place, folder = locate(db_path), checkout_top(project_dir())
    settings, findings = settings_files(folder, os.environ)
    hooks = hooks_in_use(folder, settings, os.environ)
    events = {hook.event for hook in hooks.hooks}
    own, memory_findings = native_memory(folder, settings, os.environ)
    use, more = disk_use(place.root, place.store)
    free = f", {size(use['free_bytes'])} free" if "free_bytes" in use else ""
    state = "on" if own["on"] else "off"
    lines = [
        Line("hooks", f"set up for {counted(len(events), 'event')}" if events else "none are set up here"),
        Line("Claude's memory", f"{state}, {counted(own['files'], 'file')}, {size(own['bytes'])}"),
        Line(_DISK, f"{size(use['store_bytes'])} for this project{free}"),
    ]
    for finding in (*findings, *hooks.findings, *memory_findings, *more):
        text = f"{finding.what}; {finding.cure}" if finding.cure else finding.what
        lines.append(Line(finding.level, text, finding.level != NOTE))
    return bool(events), lines
