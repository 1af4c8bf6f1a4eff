"""Finds what earlier sessions did with a file, when a session works with it: one line, once a file.

An index from path to memories is kept in the owner, built from their metadata a few hundred at a time.
A file that few sessions worked on is told about when it is first read, or named by a second command. One that
many did says little: it must be touched three times, or be about to change. docs/capture.md has figures.
"""

from __future__ import annotations

import os.path
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.memory.context.following import Follower
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.evidence import KEY, top_of
from context_graph.model import HookEvent
from context_graph.model.event_parts import EDITING, SHELLS
from context_graph.model.memory import CAPTURED, MemoryNode
from context_graph.model.note import kind_of_memory
from context_graph.notes.worked_files import paths_in
from context_graph.text.flattening import relative_path, relative_paths, root_of
from context_graph.text.sentences import shortened

FILE_TOKENS: Final = 120
SESSION_TOKENS: Final = 600
RARE: Final = 0.05
"""Share of all sessions that may have worked on a file that is told about at once; one always may."""
TOUCHES: Final = 3
_KEPT: Final = 16
"""Memories of one path, the newest."""
_SESSIONS: Final = 64
_PATHS: Final = 512
_GOAL_CHARS: Final = 120
_PART_CHARS: Final = 90

_READING: Final = frozenset({"Read"})
_NAMING: Final = SHELLS | {"Grep"}


class About(NamedTuple):
    """A memory about a file."""

    at_ms: int
    node_id: UUID
    session_id: str
    is_summary: bool


@dataclass(slots=True)
class _Session:
    """What a session touched and was told."""

    touches: Counter[str] = field(default_factory=Counter)
    told: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)
    tokens: int = 0


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
        return sorted(self._about.get(path, {}).values(), reverse=True)

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
        entry = About(node.created_at_ms, node.id, node.session_id or "", node.source == CAPTURED)
        for path in paths:
            self._fresh.append((path, entry.session_id))
            kept = self._about.setdefault(path, OrderedDict())
            kept[node.id] = entry
            if len(kept) > _KEPT:
                oldest = min(kept.values())
                del kept[oldest.node_id]
                self._paths_of[oldest.node_id].remove(path)

    def _paths(self, node: MemoryNode) -> Iterator[str]:
        if kind_of_memory(node.metadata) is not None:
            return  # its session's summary stands for it
        evidence = node.metadata.get(KEY)
        files = evidence.get("files") if isinstance(evidence, dict) else None
        if node.source == CAPTURED:
            work = SessionWork.from_json(node.metadata.get("capture"))
            yield from (self.inside(work.root, path) for path in work.worked_on())
        else:
            yield from (path for path in files or () if isinstance(path, str))
            yield from (path for path in paths_in(node.content) if "/" in path)

    def inside(self, folder: str, path: str) -> str:
        """``path``, as seen from ``folder``, relative to the top of the checkout that folder is in."""
        found = self._tops.get(folder)
        if found is None:
            if len(self._tops) == _SESSIONS:
                self._tops.clear()
            found = self._tops[folder] = (top_of(folder), os.path.realpath(folder) if folder else "")
        top, real = found
        whole = os.path.normpath(os.path.join(real, path))
        return whole[len(top) + 1 :] if top and whole.startswith(top.rstrip("/") + "/") else whole

    # What a session is told

    def due(self, event: HookEvent, shown: set[str], *, editing: bool) -> tuple[str, list[About]] | None:
        """The file that the event touches and the memories to choose from, the newest first; None if it is
        nothing new, or nothing worth a line.

        Args:
            shown: Ids of memories that the session's context has already.
            editing: Whether the call is about to change the file.
        """
        session = self._session(event.session_id)
        for path in self._touched(event, editing=editing):
            if len(session.touches) < _PATHS or path in session.touches:
                session.touches[path] += 1
            if path in session.told or session.tokens >= SESSION_TOKENS:
                session.done.append(path)
                continue
            found = [
                one
                for one in self.about(path)
                if one.session_id != event.session_id and str(one.node_id) not in shown
            ]
            few = len(found) <= max(1.0, RARE * len(self._summaries))
            needed = TOUCHES if not few else 2 if event.tool_name in _NAMING else 1
            if not found:
                session.done.append(path)
            if found and (editing or session.touches[path] >= needed):
                return path, found
        return None

    def told(self, session_id: str, path: str, tokens: int) -> None:
        """Note that the session was told about a file."""
        session = self._session(session_id)
        session.told.add(path)
        session.done.append(path)
        session.tokens += tokens

    def done(self, session_id: str) -> tuple[list[str], bool]:
        """The files found since the last call to have nothing more to tell in the session; whether that goes
        for all files.
        """
        session = self._session(session_id)
        found, session.done = session.done, []
        return found, session.tokens >= SESSION_TOKENS

    def forget(self, session_id: str) -> None:
        """The session's context was compacted: what it was told is not there any more."""
        self._sessions.pop(session_id, None)

    def room(self, session_id: str) -> int:
        """Tokens that the session may still be told."""
        return max(0, SESSION_TOKENS - self._session(session_id).tokens)

    def _touched(self, event: HookEvent, *, editing: bool) -> Iterator[str]:
        """The files of the project that a tool call reads, changes or names."""
        root = root_of(event.cwd)
        if event.tool_name in EDITING | _READING:
            path = relative_path(event.parts.file_path, root)
            if path and (event.tool_name in EDITING) == editing:
                yield self.inside(event.cwd, path)
        elif event.tool_name in _NAMING and not editing:
            given = relative_paths(f"{event.parts.command} {event.parts.file_path}", root)
            yield from (self.inside(event.cwd, path) for path in paths_in(given) if "/" in path)

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _Session()
            if len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session_id)
        return session


def line_about(work: SessionWork, path: str) -> str:
    """What a session did with a file: what for, what failed, what was decided, which test was run."""
    if not work.prompts:
        return ""
    own = next((one for one in (*work.changed, *work.read) if path.endswith(one)), path)
    what = "Changed" if own in work.changed else "Read"
    others = [os.path.basename(one) for one in work.worked_on() if one != own][:2]
    parts = [f"{what} for: {shortened(work.prompts[0], _GOAL_CHARS)}"]
    broke = _what_broke(work)
    if broke:
        parts.append(f"Failed: {shortened(broke, _PART_CHARS)}")
    tests = [way["example"] for way in work.ways.values() if way["kind"] == "test" and way["example"]]
    if tests and tests[-1] not in broke:
        parts.append(f"Tested with: {shortened(tests[-1], _PART_CHARS)}")
    chosen = work.chosen()
    if chosen:
        parts.append(f"Decided: {shortened(chosen[-1], _PART_CHARS)}")
    others = [os.path.basename(one) for one in work.worked_on() if one != own][:2]
    if others:
        parts.append(f"With it: {', '.join(others)}")
    return "\n".join(parts)


def _what_broke(work: SessionWork) -> str:
    """The last failure that is not one of the session's own scripts; one that was overcome says so."""
    still = [(name, why) for name, why in work.failures.items()]
    overcome = [(f"{name} (worked later)", why) for name, why in work.overcome.items()]
    for name, why in [*reversed(still), *reversed(overcome)]:
        if not any(script in name for script in work.made) and not name.startswith("rm "):
            return f"{name}: {why}"
    return ""
