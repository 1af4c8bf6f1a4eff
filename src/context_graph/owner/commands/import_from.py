"""Imports what other programs remember of a project, a moment at a time: `memory import --from`.

An item that is there already is skipped, or refreshed where it has grown, so an interrupted import is
finished by running it again.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableSet
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from context_graph.claude import transcripts
from context_graph.claude.hosts import codex, gemini
from context_graph.config.paths import client_dir
from context_graph.errors import InvalidInputError
from context_graph.model import HookEvent, cut_session_id
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.commands.memory import body_of
from context_graph.owner.sessions.hook_call import recorded_event
from context_graph.wire.frames import Reply

if TYPE_CHECKING:
    from context_graph.claude.transcripts import Told
    from context_graph.memory.capture import Users
    from context_graph.memory.exchange.documents import Note
    from context_graph.memory.memex import Memex
    from context_graph.model.edge import GraphEdge
    from context_graph.redact import TextRedactor


CLAUDE: Final = "claude-code"
SOURCES: Final = (*(CLAUDE, "codex", "gemini", "auto-memory", "claude-md", "server-memory", "claude-mem"),)


class _Reader(Protocol):
    """What reads another program's session files."""

    def sessions_in(self, folder: Path, project: Path) -> list[Path]: ...
    def id_of(self, path: Path) -> str: ...
    def told_by(self, path: Path, odd: Counter[str], seen: MutableSet[str]) -> Iterator[Told]: ...


_HOSTS: Final[Mapping[str, tuple[str, _Reader, str]]] = {
    "codex": ("Codex CLI", codex, "~/.codex/sessions"),
    "gemini": ("Gemini CLI", gemini, "~/.gemini/tmp"),
}
"""Other programs whose files are sessions: their names, what reads them, where they are."""
SESSIONS: Final = frozenset({CLAUDE, *_HOSTS})
STEP_S: Final = 0.08
"""Seconds of one step: hooks are served in between."""
_MOST: Final = 4
"""Imports of a store at a time."""
_ABSORBED: Final = 50
"""Events that a summary takes in at once."""
_EVENTS: Final = 100_000
"""Events that are read of one session."""
_SHOWN: Final = 20
_RATIONALE: Final = "Imported from what another program remembered."
_IMPORTANCE: Final = 0.5


@dataclass(slots=True)
class Place:
    """Where and for whom an import works.

    ``is_known``: whether hooks recorded that session; ``leaves_out``: whether a changed file is not part of
    the project.
    """

    memex: Memex
    redactor: TextRedactor
    project: Path | None
    is_known: Callable[[str], bool]
    leaves_out: Callable[[str], bool]
    env: Mapping[str, str]
    """The environment of the client that asks: it says where its own files are, which differ from account to
    account."""
    users: Users
    """Opens the memory of what holds in all projects."""


@dataclass(slots=True)
class ImportFrom:
    """One import that goes on. Not thread-safe.

    Args:
        path: A file or folder in place of where ``source`` usually is.

    Raises InvalidInputError where there is nothing to read, naming what was looked for.
    """

    place: Place
    source: str
    path: Path | None = None
    dry_run: bool = False
    at: int = 0
    """Files that are read."""
    done: Counter[str] = field(default_factory=Counter)
    """Items that were added, updated, skipped or empty."""
    odd: Counter[str] = field(default_factory=Counter)
    """Lines and files that could not be read."""
    shown: list[str] = field(default_factory=list)
    """The first items that were or would be added or updated."""
    files: list[Path] = field(init=False)
    _seen: set[str] = field(default_factory=set)
    """Ids of the transcripts' lines."""
    _work: Iterator[None] = field(init=False)

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise InvalidInputError(f"--from is {self.source[:40]!r}; give one of {', '.join(SOURCES)}")
        self.files = self._files()
        self._work = self._steps()

    def step(self, seconds: float = STEP_S) -> bool:
        """Go on for a moment; whether all is done. Raises StoreError where a write fails."""
        until = time.monotonic() + seconds
        return all(time.monotonic() < until for _ in self._work)

    def report(self) -> dict[str, Any]:
        """Counts of items and of what could not be read, and the first items by name."""
        names = ("added", "updated", "skipped", "empty", "links")
        counts = {name: self.done[name] for name in names if self.done[name] or name in ("added", "skipped")}
        odd = {f"unreadable_{name}": n for name, n in sorted(self.odd.items()) if n}
        return {"source": self.source, "files": len(self.files), **counts, **odd, "items": self.shown}

    def _files(self) -> list[Path]:
        if self.path is not None and self.path.is_file():
            other = transcripts.what_else(self.path) if self.source == CLAUDE else ""
            if other:
                raise InvalidInputError(f"{self.path}: this is {other}, not a transcript of Claude Code")
            host = _HOSTS.get(self.source)
            if host is not None and not host[1].id_of(self.path):
                raise InvalidInputError(f"{self.path}: this is no session file of {host[0]}")
            return [self.path]
        folder = self.path
        if folder is not None and not folder.is_dir():
            raise InvalidInputError(f"{folder}: there is no such file or folder")
        files = self._usual(folder)
        if not files:
            where = str(folder or self._home())
            raise InvalidInputError(f"--from {self.source}: nothing to import in {where}")
        return files

    def _home(self) -> Path:
        if self.source == "server-memory":
            raise InvalidInputError("--from server-memory needs the PATH of the server's JSON lines file")
        if self.place.project is None:
            raise InvalidInputError(f"--from {self.source}: this store belongs to no project; name a PATH")
        if self.source == "claude-md":
            return self.place.project
        if self.source in _HOSTS:
            return Path(os.path.expanduser(_HOSTS[self.source][2]))
        if self.source == "claude-mem":
            return Path(os.path.expanduser("~/.claude-mem"))
        where = transcripts.memory_of if self.source == "auto-memory" else transcripts.folder_of
        return where(self.place.project, self.place.env)

    def _usual(self, folder: Path | None) -> list[Path]:
        home = folder or self._home()
        if self.source == CLAUDE:
            return transcripts.sessions_in(home)
        if self.source in _HOSTS:
            return _HOSTS[self.source][1].sessions_in(home, self.place.project or Path("/"))
        if self.source == "claude-md":
            named = [home / "CLAUDE.md", home / ".claude" / "CLAUDE.md", home / "CLAUDE.local.md"]
            own = [] if folder else [client_dir(self.place.env) / "CLAUDE.md"]
            return [path for path in (*named, *own) if path.is_file() and not path.is_symlink()]
        suffix = {"auto-memory": ".md", "claude-mem": "claude-mem.db"}.get(self.source, ".jsonl")
        return [path for path in transcripts.plain_files(home, suffix) if path.name != transcripts.OURS]

    def _steps(self) -> Iterator[None]:
        for path in self.files:
            try:
                yield from self._session(path) if self.source in SESSIONS else self._notes(path)
            except OSError:
                self.odd["files"] += 1
            self.at += 1
            yield

    def _session(self, path: Path) -> Iterator[None]:
        """Yield the summary of one transcript."""
        from context_graph.memory.capture import absorb, keep_imported, templates_of
        from context_graph.memory.context.summary import SessionWork
        from context_graph.notes.gather import Gathered

        place = self.place
        host = _HOSTS.get(self.source)
        named = (host is not None and host[1].id_of(path)) or path.stem
        session_id = place.redactor.redact_id(cut_session_id(named))
        if place.is_known(session_id):
            self.done["skipped"] += 1
            return
        work, gathered, templates = SessionWork(), Gathered(), templates_of(place.memex)
        waiting, number = list[tuple[int, HookEvent]](), 0
        read = transcripts.told_by if host is None else host[1].told_by
        for entry in read(path, self.odd, self._seen):
            if entry.name and number < _EVENTS:
                number += 1
                told_as = entry.name, entry.body, session_id, number, entry.at_ms, place.redactor, place.env
                waiting.append((number, recorded_event(*told_as)))
            if len(waiting) >= _ABSORBED or not entry.name:
                absorb(work, gathered, waiting, place.leaves_out, templates)
                waiting = []
            yield
        absorb(work, gathered, waiting, place.leaves_out, templates)
        project = str(place.project) if place.project is not None else None
        did = keep_imported(
            place.memex,
            session_id,
            work,
            gathered,
            templates,
            project=project,
            dry_run=self.dry_run,
            users=place.users,
        )
        self._count(did, (work.prompts or [path.name])[0])

    def _notes(self, path: Path) -> Iterator[None]:
        """Yield the memories of one file of notes, and the links of a memory server's graph."""
        from context_graph.memory.exchange.documents import Note

        for item in self._read(path):
            if isinstance(item, Note):
                self._keep(item)
            else:
                self._link(item)
            yield

    def _read(self, path: Path) -> Iterator[Note | GraphEdge]:
        from context_graph.memory.exchange import documents

        if self.source == "claude-mem":
            project = self.place.project
            return documents.observations_of(path, project.name if project is not None else "", self.odd)
        if self.source == "server-memory":
            return documents.graph_of(path, self.odd)
        return documents.notes_of(path, self.source, self.odd)

    def _keep(self, note: Note) -> None:
        from context_graph.memory.capture import IMPORTED
        from context_graph.model.memory import MemoryNode

        memex = self.place.memex
        there = memex.stored(note.id)
        gone = memex.tombstone(note.id) is not None or (there is not None and there.deleted)
        digest = blake2b(note.text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        before = there.node if there is not None else None
        if gone or (before is not None and before.metadata.get("imported_digest") == digest):
            self._count("skipped", "")
            return
        metadata = {"imported_from": self.source, "imported_digest": digest, "imported_name": note.where}
        if before is None:
            node = MemoryNode(
                id=note.id,
                content=note.text,
                rationale=_RATIONALE,
                created_at_ms=note.at_ms,
                last_accessed_ms=note.at_ms,
                importance=_IMPORTANCE,
                project=str(self.place.project) if self.place.project is not None else None,
                tags=(IMPORTED, self.source),
                source="import",
                metadata=metadata,
            )
        else:
            merged = {**before.metadata, **metadata}
            node = replace(
                before, content=note.text, created_at_ms=note.at_ms, metadata=merged, embedding=None
            )
        if not self.dry_run:
            memex.put(node)
        self._count("added" if before is None else "updated", note.where)

    def _link(self, edge: GraphEdge) -> None:
        memex = self.place.memex
        ends = (memex.stored(edge.source_id), memex.stored(edge.target_id))
        if self.dry_run or any(end is None or end.deleted for end in ends):
            return
        if all(known.id != edge.id for known in memex.edges(edge.source_id)):
            memex.put_many((), edges=(edge,))
            self.done["links"] += 1

    def _count(self, did: str, name: str) -> None:
        self.done[did] += 1
        if did in ("added", "updated") and len(self.shown) < _SHOWN:
            self.shown.append(" ".join(name.split())[:120])


def _import_from(call: Call) -> Reply:
    """Begin an import, or go on with one for a moment: a request without a token begins it."""
    body, open_ones = body_of(call), call.context.imports
    token = body.get("token")
    if token is None:
        begun = ImportFrom(
            _place(call),
            source=_text(body, "source"),
            path=Path(_text(body, "path")) if body.get("path") else None,
            dry_run=body.get("dry_run") is True,
        )
        while len(open_ones) >= _MOST:  # the oldest gives way
            del open_ones[next(iter(open_ones))]
        token = os.urandom(8).hex()
        open_ones[token] = begun
        return reply(orjson.dumps({"token": token, "total": len(begun.files)}))
    work = open_ones.get(token) if isinstance(token, str) else None
    if work is None:
        raise InvalidInputError("no such import is on its way; run it again: what is there is skipped")
    done = work.step()
    if done:
        del open_ones[token]
        if not work.dry_run and work.source in SESSIONS and work.done["added"] + work.done["updated"]:
            call.context.memory_hooks.works.profiles.count_anew()
    return reply(orjson.dumps({"at": work.at, "done": done, **(work.report() if done else {})}))


def _place(call: Call) -> Place:
    context, works = call.context, call.context.memory_hooks.works
    works.serve(call.request.env)
    return Place(
        memex=context.memory,
        redactor=call.redactor,
        project=context.project,
        is_known=context.store.has,
        leaves_out=works.client_s_own_files(),
        env=works.env,
        users=lambda account: context.users(account, True),
    )


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value or "\0" in value or len(os.fsencode(value)) > 4096:
        raise InvalidInputError(f"{name} must be text of 1 to 4096 bytes without NUL")
    return value


HANDLERS: Final = {"memory.import-from": _import_from}
