"""Finds what earlier sessions did with a file and learned there, when a session works with it, once a file.

An index from path to memories is kept in the owner, built from their metadata a few hundred at a time: of
notes of changes, lessons and findings. Of several lines the one is told that shares most words with what the
session was asked.

Most files that are opened are only looked at. So a file is told about at once where the prompt names it, or
where it is the first one that a prompt's work comes to; any other one at its third touch, or when it is about
to change. docs/dev/capture.md has figures.
"""

from __future__ import annotations

import os.path
from collections import Counter, OrderedDict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.memory.context.following import Follower
from context_graph.memory.context.lesson_text import has_form, taught_by, teaches
from context_graph.memory.evidence import KEY, top_of
from context_graph.model import EDITING, SHELLS, HookEvent
from context_graph.model.memory import CAPTURED, NOTED, MemoryNode
from context_graph.model.note import NAMES, NOTE, TOLD_AT_FILES, NoteKind, kind_of_memory
from context_graph.notes.worked_files import paths_in
from context_graph.text.flattening import relative_path, relative_paths, root_of
from context_graph.text.function_words import is_function_word, language_of
from context_graph.text.patterns import linear
from context_graph.text.quoting import words_of

FILE_TOKENS: Final = 120
TOUCHES: Final = 3
"""Touches after which a file is told about that is not the first one of a prompt's work."""
_KEPT: Final = 16
"""Memories of one path, the newest."""
_SESSIONS: Final = 64
_PATHS: Final = 512
_MOST_ASKED: Final = 80

_UNFINISHED: Final = linear(r"(?i)(?:^|\W)(?:undefined|undeclared|unused|not (?:defined|used))(?:\W|$)")
"""What a compiler says of a change that is half done."""
_READING: Final = frozenset({"Read"})
_SEARCHING: Final = frozenset({"Grep"})


class About(NamedTuple):
    """A memory about a file."""

    at_ms: int
    node_id: UUID
    session_id: str
    is_stored: bool = False
    """Whether somebody stored it."""


@dataclass(slots=True)
class _Session:
    """What a session touched and was told."""

    touches: Counter[str] = field(default_factory=Counter)
    files_shown: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)
    asked: frozenset[str] = frozenset()
    """The words of its last prompts."""
    first: str = ""
    """The first file that it touched since the last prompt and that earlier sessions worked on."""
    named: frozenset[str] = frozenset()
    """The names of files in its last prompt."""

    def wants(self, path: str, rows: Sequence[About]) -> bool:
        """Whether it is told of a file that it only looks at, of which there are these memories."""
        is_named = path == self.first or os.path.basename(path) in self.named
        return is_named or self.touches[path] >= TOUCHES or any(row.is_stored for row in rows)


class FileMemories(Follower):
    """The memories by file, and what each session was told of them. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._about: dict[str, OrderedDict[UUID, About]] = {}
        self._paths_of: dict[UUID, list[str]] = {}
        self._tops: dict[str, tuple[str, str]] = {}
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._fresh: list[tuple[str, str]] = []

    # The index

    def taken(self) -> list[tuple[str, str]]:
        """Return the files that `read` took in since the last call, each with its memory's session."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def about(self, path: str) -> list[About]:
        """Return the memories about a file, by its path in the checkout, the newest first."""
        return sorted(self._about.get(path, {}).values(), key=lambda row: -row.at_ms)

    def _take(self, node: MemoryNode, *, deleted: bool) -> None:
        for path in self._paths_of.pop(node.id, ()):
            self._about[path].pop(node.id, None)
        paths = [] if deleted else list(dict.fromkeys(self._paths(node)))
        if not paths:
            return
        self._paths_of[node.id] = paths
        is_stored = node.source not in (CAPTURED, NOTED)
        entry = About(node.created_at_ms, node.id, node.session_id or "", is_stored)
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
            own = note if isinstance(note, dict) and kind in TOLD_AT_FILES else {}
            if kind is NoteKind.LESSON and not _may_teach(node.content, str(own.get("error", ""))):
                return  # its cure was the work itself
            own_files = (files or own["files"]) if own.get("files") else ()
            yield from (path for path in (*own_files, *own.get(NAMES, ())) if isinstance(path, str))
        elif node.source != CAPTURED:
            yield from (path for path in files or () if isinstance(path, str))
            yield from (path for path in paths_in(node.content) if "/" in path)

    def inside(self, folder: str, path: str) -> str:
        """Return ``path``, as seen from ``folder``, relative to the top of the checkout that folder is in."""
        top_and_real = self._tops.get(folder)
        if top_and_real is None:
            if len(self._tops) == _SESSIONS:
                self._tops.clear()
            top_and_real = self._tops[folder] = (top_of(folder), os.path.realpath(folder) if folder else "")
        top, real = top_and_real
        whole = os.path.normpath(os.path.join(real, path))
        return whole[len(top) + 1 :] if top and whole.startswith(top.rstrip("/") + "/") else whole

    # What a session is told

    def untold(
        self, event: HookEvent, shown: Container[str], *, editing: bool
    ) -> Iterator[tuple[str, list[About]]]:
        """The files that the event touches and of which the session may be told, each with the memories to
        choose from, the newest first.

        Args:
            shown: Ids of memories that the session's context has already.
            editing: Whether the call is about to change the file. An edit is told about before it or, if
                nobody waited that long, with its result.
        """
        session = self._session(event.session_id)
        for path in self.touched(event, editing=editing):
            if len(session.touches) < _PATHS or path in session.touches:
                session.touches[path] += 1
            rows = [row for row in self.about(path) if row.session_id != event.session_id]
            session.first = session.first or (path if rows else "")
            untold = [row for row in rows if str(row.node_id) not in shown]
            if path in session.files_shown or not untold:
                session.done.append(path)
            elif event.tool_name in EDITING or session.wants(path, untold):
                yield path, untold

    def asked(self, session_id: str, prompt: str) -> None:
        """Note what the session is asked: of several notes about a file the one that shares it is told."""
        session = self._session(session_id)
        words = words_of(prompt)
        session.asked = words if len(words) >= _MOST_ASKED else frozenset({*words, *session.asked})
        session.first, session.named = "", frozenset(map(os.path.basename, paths_in(prompt)))

    def shares(self, session_id: str, text: str) -> int:
        """Return how many words of what the session was asked ``text`` has, but for those that build
        sentences."""
        shared, language = self._session(session_id).asked & words_of(text), language_of(text)
        return sum(not is_function_word(word, language) for word in shared)

    def note_shown(self, session_id: str, path: str) -> None:
        """Note that the session was told about a file."""
        session = self._session(session_id)
        session.files_shown.add(path)
        session.done.append(path)

    def done(self, session_id: str) -> list[str]:
        """Return the files that since the last call turned out to have no more to tell in the session."""
        session = self._session(session_id)
        files, session.done = session.done, []
        return files

    def forget(self, session_id: str) -> None:
        """Note that the session's context was compacted: what it was told is not there any more."""
        self._sessions.pop(session_id, None)

    def touched(self, event: HookEvent, *, editing: bool) -> Iterator[str]:
        """Yield the project's files that a call reads, changes or names, as paths in the checkout."""
        root = root_of(event.cwd)
        if event.tool_name in EDITING | _READING:
            path = relative_path(event.parts.file_path, root)
            if path and (event.tool_name in EDITING or not editing):
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


def _may_teach(content: str, known_error: str) -> bool:
    """Return whether a lesson is more than a step of its session's own work."""
    taught = taught_by(content, known_error)
    if taught is None and has_form(content):
        return False
    error = taught.error if taught else content.split("\n", 1)[0]
    return teaches(error) and not _UNFINISHED.found(error)
