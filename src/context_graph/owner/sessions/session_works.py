"""Knows what a store's sessions did up to their last event, and what of it outlived their compactions.

The client may tell the summary of a compaction (PostCompact) before the session's new start or after it, or,
an older one, not at all. Before, the summary decides what is shown first; after, it is only measured.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from context_graph.claude.transcripts import MEMORY_INDEX, memory_of
from context_graph.config.paths import account_of, client_dir
from context_graph.model import HookEvent
from context_graph.store.sessions.sessions import SessionStore

if TYPE_CHECKING:
    from context_graph.memory.context.profile import Profile, Profiles
    from context_graph.memory.context.summary import SessionWork
    from context_graph.memory.context.told_lines import Quote
    from context_graph.memory.memex import Memex
    from context_graph.store.graph.node_records import StoredNode


CLAUDE_CONFIG_DIR: Final = "CLAUDE_CONFIG_DIR"
_CLIENTS: Final = 8
"""Accounts whose memory is known."""
_WAITING: Final = 4
"""Sessions at most that a start's profile counts although their summary is still to be refreshed."""


class SessionWorks:
    """The work of one store's sessions; ``due`` gains those to be summarised anew. Not thread-safe."""

    def __init__(
        self,
        store: SessionStore,
        memex: Callable[[], Memex],
        has_memory: Callable[[], bool],
        due: dict[str, int | None],
        project: str | None,
    ) -> None:
        self._store, self._memex, self._has_memory = store, memex, has_memory
        self._due, self._project = due, project
        self._made_profiles: Profiles | None = None
        self.env: dict[str, str] = {}
        self.account = ""
        """The store of what the served client's user says of all his work."""
        self._clients: dict[str, SaidAlready] = {}
        self._named: str | None = None
        self.serve({})
        self.branches: dict[str, str] = {}
        """Of sessions whose summary is due, the branch when they paused: the capture may come later."""

    def serve(self, env: Mapping[str, str]) -> None:
        """Take over from the request that is served where its client's own files are.

        The owner's own environment would say where those of the client are that started it.
        """
        named = env.get(CLAUDE_CONFIG_DIR, "")
        if named == self._named:  # nearly always the client that was served last
            return
        self._named = named
        self.env = {"HOME": os.path.expanduser("~"), **({CLAUDE_CONFIG_DIR: named} if named else {})}
        self.account = account_of(self.env)

    @property
    def client(self) -> SaidAlready:
        """What the memory of the client that is served says already."""
        named = self.env.get(CLAUDE_CONFIG_DIR, "")
        if named not in self._clients:
            while len(self._clients) >= _CLIENTS:
                del self._clients[next(iter(self._clients))]
            self._clients[named] = SaidAlready(self._project, self.env)
        return self._clients[named]

    def left_open(self, event: HookEvent, previous: Callable[[], Sequence[str]]) -> list[Quote]:
        """Return what the last session on this branch left open, and the newest that no later one took up."""
        from context_graph.git.repository import branch_of
        from context_graph.memory.context.after_compaction import OLDEST_MS, SESSIONS, Later, open_ends

        here = branch_of(event.cwd or self._project or "")
        later: list[Later] = []
        quotes: list[Quote] = []
        for session_id in previous():
            work = self.work(session_id)
            if work is None or not work.text() or work.branch not in (None, here):
                continue
            is_old = event.at_ms - work.ended_ms > OLDEST_MS
            if later and (is_old or len(later) > SESSIONS):
                break
            source = "open_before" if later else "open"
            quote = self._open_quote(session_id, work, open_ends(work, later), source)
            quotes += [quote] if quote else []
            if quote and later:
                break
            later.append(Later(work))
        return quotes

    def _open_quote(self, session_id: str, work: SessionWork, text: str, source: str) -> Quote | None:
        """Return the open ends of a session from its note; None where the user forgot that note."""
        from context_graph.memory.capture import open_note_id

        quote = self.quote(session_id, work, text, source)
        note = self._memex().stored(open_note_id(session_id)) if quote and self._has_memory() else None
        if quote is None or note is None:
            return quote
        return None if note.deleted else replace(quote, node_id=str(note.node.id))

    def profile(self) -> Profile:
        """Return the project's profile, with what the sessions did whose summary is still to be refreshed."""
        from context_graph.memory.context.profile import Profile

        profile = self.profiles.current() if self._has_memory() else Profile()
        for session_id in [*self._due][-_WAITING:]:
            work = self.work(session_id)
            if work is not None and work.text():
                profile = profile.with_(work, self.stored_work(session_id))
        return profile

    def work(self, session_id: str, *, own: bool = False) -> SessionWork | None:
        """Return all that a session did so far; None if its summary was forgotten, or there can be none."""
        if not (own or session_id in self._due or self._has_memory()):
            return None
        stored = self._stored(session_id)
        if stored is not None and stored.deleted:
            return None
        work = self.stored_work(session_id)
        since = self._store.event_log.numbered_after(session_id, work.last_event)
        work.absorb(since, self.client_s_own_files())
        work.branch = self.branches.get(session_id, work.branch)
        return work

    def stored_work(self, session_id: str) -> SessionWork:
        from context_graph.memory.capture import work_of

        stored = self._stored(session_id)
        return work_of(stored.node if stored is not None else None)

    def _stored(self, session_id: str) -> StoredNode | None:
        from context_graph.memory.capture import capture_id

        return self._memex().stored(capture_id(session_id)) if self._has_memory() else None

    def quote(self, session_id: str, work: SessionWork | None, text: str, source: str) -> Quote | None:
        from context_graph.memory.capture import capture_id
        from context_graph.memory.context.told_lines import Quote

        if work is None or not text:
            return None
        return Quote(str(capture_id(session_id)), text, source, work.ended_ms, whole=True)

    def summary_of(self, session_id: str, event: HookEvent) -> Quote | None:
        work = self.work(session_id, own=session_id == event.session_id)
        return self.quote(session_id, work, work.text() if work is not None else "", "capture")

    def client_s_own_files(self) -> Callable[[str], bool]:
        """Return whether a path is in the client's own memory, which summaries leave out."""
        from context_graph.claude.own_memory import own_files_of

        return own_files_of(os.fspath(client_dir(self.env)), self._project or "")

    @property
    def profiles(self) -> Profiles:
        """The profile of the store's project."""
        if self._made_profiles is None:
            from context_graph.memory.capture import works_in
            from context_graph.memory.context.profile import Profiles
            from context_graph.store.graph.tables import ProfileTable

            self._made_profiles = Profiles(ProfileTable(self._store.engine), lambda: works_in(self._memex()))
        return self._made_profiles


def pointer(quote: Quote, now_ms: int) -> str:
    """Return one line that says where the summary is: who cleared the context wants it clear."""
    from context_graph.text.units import ago

    age = f"{ago(quote.created_at_ms, now_ms)} old"
    return f"The session before the clear is memory {quote.node_id[:8]} ({age})."


_LINES: Final = 200
_BYTES: Final = 25_000
"""What the client loads of it: the first 200 lines, 25 KB at most."""
_TOGETHER: Final = 3
"""Lines in which a memory may be said."""
_SHARE: Final = 0.9
_LEAST: Final = 4
"""Words of a memory that is looked for; fewer are in every file."""


class SaidAlready:
    """The words of one project's MEMORY.md, read anew when it has changed. Not thread-safe."""

    def __init__(self, project: str | None, env: Mapping[str, str]) -> None:
        self._path = memory_of(Path(project), env) / MEMORY_INDEX if project else None
        self._seen = (0, 0)
        self._windows: list[set[str]] = []

    def says(self, text: str) -> bool:
        """Return whether nine in ten words of ``text`` are there, near each other. Cost: 1 ms at most."""
        self._read()
        words = _words(text) if self._windows else set()
        if len(words) < _LEAST:
            return False
        return any(len(words & window) >= _SHARE * len(words) for window in self._windows)

    def _read(self) -> None:
        if self._path is None:
            return
        try:
            stat = os.stat(self._path)
            if (stat.st_mtime_ns, stat.st_size) == self._seen:
                return
            handle = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                lines = file.read(_BYTES).decode("utf-8", "replace").splitlines()[:_LINES]
        except OSError:
            self._seen, self._windows = (0, 0), []
            return
        self._seen = (stat.st_mtime_ns, stat.st_size)
        words = [_words(line) for line in lines]
        self._windows = [set().union(*words[i : i + _TOGETHER]) for i in range(len(words))]


def _words(text: str) -> set[str]:
    spread = "".join(char if char.isalnum() else " " for char in text.lower())
    return set(spread.split())


_MAX_SESSIONS: Final = 32


@dataclass(slots=True)
class _Compaction:
    """A compaction under way: what is known of it so far."""

    summary: str | None = None
    kept: str = ""
    start_text: str | None = None
    is_kept: bool = False


class Compactions:
    """The compactions of one store's sessions. Not thread-safe."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._open: OrderedDict[str, _Compaction] = OrderedDict()

    def begins(self, session_id: str) -> None:
        """Begin a compaction (PreCompact): what was known of an earlier one is over."""
        self._open.pop(session_id, None)

    def starts(
        self, session_id: str, work: SessionWork, at_ms: int, *, budget: int, count: Callable[[str], int]
    ) -> str:
        """Return what the session reads as it starts with its compacted context; "" if it had nothing."""
        from context_graph.memory.context.after_compaction import facts_of, text_of

        compaction = self._of(session_id)
        if compaction.start_text is not None:  # another compaction, of which no PreCompact told
            compaction = self._open[session_id] = _Compaction()
        compaction.start_text = text_of(facts_of(work), compaction.summary, budget=budget, count=count)
        self._keep(session_id, compaction, work, at_ms)
        return compaction.start_text

    def summarised(self, session_id: str, work: SessionWork, summary: str, at_ms: int, *, kept: str) -> None:
        """Compare the client's summary of the compaction (PostCompact) with what the session had. ``kept``:
        of the summary what may be kept, redacted, its start and its end.
        """
        compaction = self._of(session_id)
        compaction.summary, compaction.kept = summary, kept
        self._keep(session_id, compaction, work, at_ms)

    def _of(self, session_id: str) -> _Compaction:
        compaction = self._open.setdefault(session_id, _Compaction())
        self._open.move_to_end(session_id)
        while len(self._open) > _MAX_SESSIONS:
            self._open.popitem(last=False)
        return compaction

    def _keep(self, session_id: str, compaction: _Compaction, work: SessionWork, at_ms: int) -> None:
        from context_graph.memory.context.after_compaction import COMPACTIONS_KEPT, facts_of, measured

        known = self._store.load_compactions(session_id)
        if compaction.is_kept:
            known = known[:-1]
        measures = measured(facts_of(work), compaction.summary, compaction.start_text or "", at_ms)
        record = {**measures.to_json(), "summary": compaction.kept}
        self._store.save_compactions(session_id, [*known, record][-COMPACTIONS_KEPT:])
        compaction.is_kept = True
