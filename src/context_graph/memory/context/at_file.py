"""Finds what earlier sessions did with a file and learned there, when a session works with it, once a file.

An index from path to memories is kept in the owner, built from their metadata a few hundred at a time: notes
of changes and lessons, and the summary of a session that left none about the file. A file that few sessions
worked on is told about at the first touch, and so is one that the prompt names. One that many did says
little: it must be touched three times, or be about to change. Of several notes the one is told that shares
most words with what the session was asked. docs/capture.md has figures.
"""

from __future__ import annotations

import os.path
from collections import Counter, OrderedDict
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.memory.context.error_lessons import is_of_a_test
from context_graph.memory.context.following import Follower
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.evidence import KEY, top_of
from context_graph.model import HookEvent
from context_graph.model.event_parts import EDITING, SHELLS
from context_graph.model.memory import CAPTURED, MemoryNode
from context_graph.model.note import NOTE, NoteKind, kind_of_memory
from context_graph.notes.worked_files import paths_in
from context_graph.text.flattening import relative_path, relative_paths, root_of
from context_graph.text.function_words import is_function_word, language_of
from context_graph.text.quoting import words_of

FILE_TOKENS: Final = 120
RARE: Final = 0.05
"""Share of all sessions that may have worked on a file that is told about at once."""
FEW: Final = 3
"""Sessions that may always have worked on such a file: in a store of a few each file has been in most of
them."""
TOUCHES: Final = 3
_KEPT: Final = 16
"""Memories of one path, the newest."""
_SESSIONS: Final = 64
_PATHS: Final = 512
_MOST_ASKED: Final = 80

_TOLD_AT_FILES: Final = (NoteKind.CHANGE, NoteKind.LESSON)
_READING: Final = frozenset({"Read"})
_SEARCHING: Final = frozenset({"Grep"})


class About(NamedTuple):
    """A memory about a file."""

    at_ms: int
    node_id: UUID
    session_id: str
    kind: NoteKind | None
    """The kind of a note; None for a summary or another memory."""


@dataclass(slots=True)
class _Session:
    """What a session touched and was told."""

    touches: Counter[str] = field(default_factory=Counter)
    files_shown: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)
    asked: frozenset[str] = frozenset()
    """The words of its last prompts."""

    def names(self, path: str) -> bool:
        """Whether it was asked about the file by its name."""
        words = words_of(os.path.basename(path))
        return bool(words) and words <= self.asked


class FileMemories(Follower):
    """The memories by file, and what each session was told of them. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._about: dict[str, OrderedDict[UUID, About]] = {}
        self._paths_of: dict[UUID, list[str]] = {}
        self._summaries: set[UUID] = set()
        self._tops: dict[str, tuple[str, str]] = {}
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._fresh: list[tuple[str, str]] = []

    # The index

    def taken(self) -> list[tuple[str, str]]:
        """The files that `read` has taken in since the last call, each with the session of its memory."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def about(self, path: str) -> list[About]:
        """The memories about a file, by its path in the checkout, the newest first."""
        return sorted(self._about.get(path, {}).values(), key=lambda row: -row.at_ms)

    def _take(self, node: MemoryNode, *, deleted: bool) -> None:
        for path in self._paths_of.pop(node.id, ()):
            self._about[path].pop(node.id, None)
        self._summaries.discard(node.id)
        paths = [] if deleted else list(dict.fromkeys(self._paths(node)))
        if not paths:
            return
        self._paths_of[node.id] = paths
        if node.source == CAPTURED:
            self._summaries.add(node.id)
        kind = kind_of_memory(node.metadata)
        entry = About(node.created_at_ms, node.id, node.session_id or "", kind)
        for path in paths:
            self._fresh.append((path, entry.session_id))
            kept = self._about.setdefault(path, OrderedDict())
            kept[node.id] = entry
            if len(kept) > _KEPT:
                oldest = min(kept.values(), key=lambda row: row.at_ms)
                del kept[oldest.node_id]
                self._paths_of[oldest.node_id].remove(path)

    def _paths(self, node: MemoryNode) -> Iterator[str]:
        evidence, kind = node.metadata.get(KEY), kind_of_memory(node.metadata)
        files = evidence.get("files") if isinstance(evidence, dict) else None
        if kind is not None:
            note = node.metadata.get(NOTE)
            named = note.get("files") if isinstance(note, dict) and kind in _TOLD_AT_FILES else ()
            if kind is NoteKind.LESSON and is_of_a_test(node.content.partition(": ")[2]):
                return  # its cure was the work itself
            yield from (path for path in (files or named or ()) if named and isinstance(path, str))
            return
        if node.source == CAPTURED:
            work = SessionWork.from_json(node.metadata.get("capture"))
            yield from (self.inside(work.root, path) for path in work.worked_on())
        else:
            yield from (path for path in files or () if isinstance(path, str))
            yield from (path for path in paths_in(node.content) if "/" in path)

    def inside(self, folder: str, path: str) -> str:
        """``path``, as seen from ``folder``, relative to the top of the checkout that folder is in."""
        top_and_real = self._tops.get(folder)
        if top_and_real is None:
            if len(self._tops) == _SESSIONS:
                self._tops.clear()
            top_and_real = self._tops[folder] = (top_of(folder), os.path.realpath(folder) if folder else "")
        top, real = top_and_real
        whole = os.path.normpath(os.path.join(real, path))
        return whole[len(top) + 1 :] if top and whole.startswith(top.rstrip("/") + "/") else whole

    # What a session is told

    def due(
        self, event: HookEvent, shown: Container[str], *, editing: bool
    ) -> tuple[str, list[About]] | None:
        """The file that the event touches and the memories to choose from, the newest first; None if it is
        nothing new, or nothing worth a line.

        Args:
            shown: Ids of memories that the session's context has already.
            editing: Whether the call is about to change the file.
        """
        session, searches = self._session(event.session_id), event.tool_name in _SEARCHING
        for path in self.touched(event, editing=editing):
            if len(session.touches) < _PATHS or path in session.touches:
                session.touches[path] += 1
            if path in session.files_shown:
                session.done.append(path)
                continue
            rows = self._untold(event.session_id, path, shown)
            sessions = len({row.session_id or row.node_id for row in rows})
            few = sessions <= max(FEW, RARE * len(self._summaries))
            needed = 1 if session.names(path) else TOUCHES if not few else 2 if searches else 1
            if not rows:
                session.done.append(path)
            elif editing or session.touches[path] >= needed:
                return path, rows
        return None

    def _untold(self, session_id: str, path: str, shown: Container[str]) -> list[About]:
        """What the session was not told of a file; a summary only where its session left no note about it."""
        rows = [row for row in self.about(path) if row.session_id != session_id]
        noted = {row.session_id for row in rows if row.kind is not None}
        return [
            row
            for row in rows
            if str(row.node_id) not in shown and (row.kind is not None or row.session_id not in noted)
        ]

    def asked(self, session_id: str, prompt: str) -> None:
        """Note what the session is asked: of several notes about a file the one that shares it is told."""
        session = self._session(session_id)
        words = words_of(prompt)
        session.asked = words if len(words) >= _MOST_ASKED else frozenset({*words, *session.asked})

    def shares(self, session_id: str, text: str) -> int:
        """How many words of what the session was asked ``text`` has, but for those that build sentences."""
        shared, language = self._session(session_id).asked & words_of(text), language_of(text)
        return sum(not is_function_word(word, language) for word in shared)

    def note_shown(self, session_id: str, path: str) -> None:
        """Note that the session was told about a file."""
        session = self._session(session_id)
        session.files_shown.add(path)
        session.done.append(path)

    def done(self, session_id: str) -> list[str]:
        """The files that since the last call turned out to have nothing more to tell in the session."""
        session = self._session(session_id)
        files, session.done = session.done, []
        return files

    def forget(self, session_id: str) -> None:
        """The session's context was compacted: what it was told is not there any more."""
        self._sessions.pop(session_id, None)

    def touched(self, event: HookEvent, *, editing: bool) -> Iterator[str]:
        """The files of the project that a call reads, changes or names, by their paths in the checkout."""
        root = root_of(event.cwd)
        if event.tool_name in EDITING | _READING:
            path = relative_path(event.parts.file_path, root)
            if path and (event.tool_name in EDITING) == editing:
                yield self.inside(event.cwd, path)
        elif event.tool_name in SHELLS | _SEARCHING and not editing:
            text = relative_paths(f"{event.parts.command} {event.parts.file_path}", root)
            yield from (self.inside(event.cwd, path) for path in paths_in(text) if "/" in path)

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _Session()
            if len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session_id)
        return session
