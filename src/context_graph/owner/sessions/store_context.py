"""Holds one open store: its database, its memory, its event log, and its live sessions."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from context_graph.config import Settings, store_dir
from context_graph.config.paths import ACCOUNT_MARK
from context_graph.config.settings import MemoryConfig
from context_graph.errors import CorruptedIdentityError, StoreError
from context_graph.git.moved import ORIGIN, note_of, note_origin, project_of
from context_graph.model import EventKind, HookEvent
from context_graph.owner.chores import Chores
from context_graph.owner.sessions.brief_cache import BriefCache
from context_graph.owner.sessions.event_reader import EventReader, Lineage
from context_graph.owner.sessions.identity_notices import IdentityNotices
from context_graph.owner.sessions.live_sessions import LiveSessions
from context_graph.owner.sessions.memory_hooks import MemoryHooks, Users
from context_graph.owner.sessions.next_start import NextStart
from context_graph.redact import TextRedactor
from context_graph.store.engine.tuning import Tuning
from context_graph.store.sessions.sessions import SessionStore
from context_graph.wire.store_folder import take, take_all

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex

CONSOLIDATION = "consolidation"
"""Key of the owner's own consolidations among what can be set aside."""
_TOOL_USES_MAX = 256
_SAME_ID_MAX = 4
"""Sessions that may have one tool use id: a gateway or model may number them, in each session from 1."""


class Follower(Protocol):
    """Somebody who looks at the store while it changes."""

    def look(self) -> None:
        """Called after each call that may have changed something."""
        ...

    def leave(self) -> None:
        """Called when the store is closed."""
        ...


class StoreContext:
    """The open store in ``folder``, which is opened or created. Not thread-safe.

    Raises StoreError if the database can't be opened; its subclass says why.
    """

    def __init__(
        self,
        folder: Path,
        *,
        project: Path | None,
        settings: Settings,
        log: logging.Logger,
        redactor: TextRedactor,
        users: Users = lambda account, make: None,
    ) -> None:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"store folder {folder} can't be made: {error.strerror}") from error
        left = take(folder)
        memory = MemoryConfig.of(settings)
        tuning = Tuning(settings.durability, memory.wal, memory.wal_dir, memory.bloom_bits)
        store = SessionStore.open(folder / "db", tuning=tuning)
        self.folder = folder
        self.store = store
        self.project = project
        self.settings = settings
        self.log = log
        self._tool_sessions: OrderedDict[str, dict[str, int]] = OrderedDict()
        self.lineage = Lineage()
        self.imports: dict[str, Any] = {}
        """Those that go on (`commands.import_from.ImportFrom`), by token."""
        self.followers: set[Follower] = set()
        """Those who want to know of each change."""
        self._brief = BriefCache(folder / "brief.bin")
        self.redactor = redactor
        self._memory: Memex | None = None
        self._seen_seq: int | None = None
        self.users = users
        """Opens the memory of an account; see `MemoryHooks`."""
        self.chores = Chores(folder, log)
        self.memory_hooks = MemoryHooks(
            store,
            lambda: self.memory,
            lambda: self.memory_count() > 0,
            self.chores,
            project=str(project) if project is not None else None,
            settings=settings,
            brief=self._brief,
            users=users,
            alike=lambda query, session_id: self.sessions.alike_for(query, session_id),
            log=log,
        )
        self.next_start = NextStart(folder, project, store, self.memory_hooks, left=left, log=log)
        self.sessions = LiveSessions(store, self._brief, self.memory_hooks, settings=settings, log=log)
        self.notices = IdentityNotices(self._brief, settings)
        self.events = EventReader(self)
        self._note_project()
        self._elsewhere: str | None = None
        self._origin_due = project is not None and not (folder / ORIGIN).exists()

    @property
    def memory(self) -> Memex:
        """The memories in this store's database, opened when first used; a store without any gains them.

        Raises StoreError if they can't be opened; its subclass says why.
        """
        if self._memory is None:
            from context_graph.memory.memex import Memex  # the engine of recall: not every owner needs it
            from context_graph.store.graph.graph import GraphStore

            self._memory = Memex.over(
                GraphStore(self.store.engine), config=MemoryConfig.of(self.settings), redactor=self.redactor
            )
            self._seen_seq = self._memory.seq
        return self._memory

    def memory_count(self) -> int:
        """Memories in the store; opens nothing, so that a store without any costs a hook one look-up."""
        if self._memory is not None:
            return self._memory.count()
        from context_graph.store.graph.graph import GraphStore

        return GraphStore.count_in(self.store.engine)

    def uses_memory(self) -> bool:
        """Return whether the store has memories, or somebody has asked for them here; opens nothing."""
        return self._memory is not None or self.memory_count() > 0

    @property
    def dreams_by_itself(self) -> bool:
        """Whether the owner consolidates this store by itself: it may, and has not failed twice."""
        return self.settings.dream and not self.chores.aside.holds(CONSOLIDATION)

    def memory_seq(self) -> int | None:
        """Return the number of the memory's last change; None while nobody has used it here."""
        return None if self._memory is None else self._memory.seq

    def note_tool_use(self, event: HookEvent) -> None:
        """Remember whose call of an MCP tool this is: what follows knows its id but no session.

        A hook that waits too long leaves its event in the log as well, so the same event may come twice,
        and after later ones: what counts is when a session made the call.
        """
        tool_use_id = event.tool_use_id
        if event.kind is not EventKind.PRE_TOOL or not (tool_use_id and event.tool_name.startswith("mcp__")):
            return
        known = self._tool_sessions.pop(tool_use_id, {})
        known[event.session_id] = max(event.at_ms, known.get(event.session_id, 0))
        newest = sorted(known.items(), key=itemgetter(1), reverse=True)[:_SAME_ID_MAX]
        self._tool_sessions[tool_use_id] = dict(newest)
        while len(self._tool_sessions) > _TOOL_USES_MAX:
            self._tool_sessions.popitem(last=False)

    def session_of_tool_use(self, tool_use_id: str, own: str) -> str | None:
        """Return the session that `note_tool_use` was told of; if several have the id, ``own``, for which the
        MCP client was started, is one of them: /clear leaves it behind.
        """
        known = self._tool_sessions.get(tool_use_id)
        if known is None:
            return None
        return own if own in known else next(iter(known))

    @property
    def has_unsettled(self) -> bool:
        """Whether `settle` has anything to do."""
        return (
            self.sessions.has_unsettled
            or bool(self.followers)
            or self.memory_hooks.is_behind
            or self._is_purge_due
            or self._is_origin_due
            or self._has_changed_for_all
        )

    @property
    def _is_origin_due(self) -> bool:
        """Whether the store has something to be found again by."""
        return self._origin_due and self._memory is not None and self._memory.count() > 0

    @property
    def _has_changed_for_all(self) -> bool:
        """Whether what holds in all projects has changed: the next starts of the others rest on it."""
        return self.folder.name.startswith(ACCOUNT_MARK) and self.memory_seq() not in (None, self._seen_seq)

    @property
    def _is_purge_due(self) -> bool:
        return self._memory is not None and self._memory.is_purge_due

    def settle(self) -> None:
        """Write what the last requests left for after their answers. Raises as `LiveSessions.settle`."""
        self.sessions.settle()
        self.memory_hooks.note_stored()
        if self._is_purge_due:
            self.chores.do("purge", "the purge of what was forgotten long ago", self.memory.purge)
        if self._is_origin_due:
            self._origin_due = False
            self.chores.do("origin", "the note of the repository", self._note_origin)
        if self._has_changed_for_all:
            take_all(self.folder.parent)
            self._seen_seq = self.memory_seq()
        self.tell_followers()

    def tell_followers(self) -> None:
        """Let everybody who follows the store look for changes. Cost: nothing where nobody does."""
        for follower in tuple(self.followers):
            follower.look()

    def has_session(self, session_id: str) -> bool:
        """Return whether the store knows the session."""
        try:
            return self.sessions.get(session_id) is not None
        except CorruptedIdentityError:
            return True  # its start says so

    def checkpoint(self) -> None:
        """Write every live session's goals, and what memory has still to write."""
        self.memory_hooks.tidy()
        self.sessions.persist_all()
        if self._memory is not None:
            self.chores.do("snapshot", "the snapshot of the index", self._memory.save)

    def close(self) -> None:
        """Settle and close; what `checkpoint` has not written is replayed when a session is loaded."""
        self.settle()
        self.next_start.leave()
        self.events.close()
        self._let_followers_go()
        self.sessions.clear()
        if self._memory is not None:
            self._memory.close()
        self._brief.close()
        self.store.close()

    def abandon(self) -> None:
        """Close without writing: after a failed write memory may be ahead of the disk."""
        self.events.close()
        self._let_followers_go()
        self.sessions.clear()
        self._memory = None
        self._brief.close()
        try:
            self.store.close()
        except StoreError as error:
            self.log.error("closing %s: %s", self.folder.name, error)

    def _let_followers_go(self) -> None:
        for follower in tuple(self.followers):
            follower.leave()

    def _note_origin(self) -> None:
        if self.project is not None:
            note_origin(self.folder, self.project)

    def elsewhere(self) -> str:
        """Return what the user should know of this project's memories elsewhere, while it has none."""
        if self.project is None or self.memory_count():
            return ""
        if self._elsewhere is None:
            root = self.folder.parent.parent
            self._elsewhere = note_of(root, self.folder, self.project, partial(store_dir, root))
        return self._elsewhere

    def _note_project(self) -> None:
        if self.project is None:
            return
        known = project_of(self.folder)
        if known is not None:
            if known != self.project:
                self.log.warning("store %s was made for %s", self.folder.name, known)
            return
        try:
            (self.folder / "project").write_bytes(os.fsencode(self.project) + b"\n")
        except OSError as error:
            self.log.warning("project note of %s: %s", self.folder.name, error)
