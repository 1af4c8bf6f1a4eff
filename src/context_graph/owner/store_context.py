"""One open store: its database, its memory, its spool, and the sessions that are live."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from context_graph.config import Settings
from context_graph.config.memory import MemoryConfig
from context_graph.errors import ContextGraphError, StoreError
from context_graph.owner import spool
from context_graph.owner.brief_cache import BriefCache
from context_graph.owner.chores import Chores
from context_graph.owner.live_sessions import LiveSessions
from context_graph.owner.memory_hooks import MemoryHooks
from context_graph.owner.requirement_records import entries_of
from context_graph.owner.spooled import apply_spooled
from context_graph.redact import TextRedactor
from context_graph.store.sessions import SessionStore
from context_graph.store.tuning import Tuning
from context_graph.wire.spool import SpoolRecord

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex

__all__ = ["CONSOLIDATION", "StoreContext", "project_of"]

CONSOLIDATION = "consolidation"
"""Key of the owner's own consolidations among what can be set aside."""
_TOOL_USES_MAX = 256
_SAME_ID_MAX = 4
"""Sessions that may have one tool use id: a gateway or model may number them, in each session from 1."""


class StoreContext:
    """What the owner holds of a store. Not thread-safe: the owner serves one request at a time."""

    def __init__(
        self,
        folder: Path,
        store: SessionStore,
        *,
        project: Path | None,
        settings: Settings,
        log: logging.Logger,
        redactor: TextRedactor,
    ) -> None:
        self.folder = folder
        self.store = store
        self.project = project
        self.settings = settings
        self._tool_sessions: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self.spool_rejected = 0
        self._brief = BriefCache(folder / "brief.bin")
        self._log = log
        self._redactor = redactor
        self._memory: Memex | None = None
        self._shut: list[str] = []
        self.chores = Chores(folder, log)
        self.memory_hooks = MemoryHooks(
            store,
            lambda: self.memory,
            lambda: self.memory_count() > 0,
            self.chores,
            project=str(project) if project is not None else None,
            settings=settings,
            log=log,
        )
        self.sessions = LiveSessions(store, self._brief, self.memory_hooks, settings=settings, log=log)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        project: Path | None,
        settings: Settings,
        log: logging.Logger,
        redactor: TextRedactor,
    ) -> StoreContext:
        """Open (or create) the store in ``folder``.

        Raises:
            StoreError: If the database can't be opened; its subclass says why.
        """
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"store folder {folder} can't be made: {error.strerror}") from error
        store = SessionStore.open(folder / "db", tuning=_tuning(settings))
        context = cls(folder, store, project=project, settings=settings, log=log, redactor=redactor)
        context._note_project()
        return context

    @property
    def memory(self) -> Memex:
        """The memories in this store's database, opened when first used; a store without any gains them.

        Raises:
            StoreError: They can't be opened; its subclass says why.
        """
        if self._memory is None:
            from context_graph.memory.memex import Memex  # the engine of recall: not every owner needs it
            from context_graph.store.graph import GraphStore

            self._memory = Memex.over(
                GraphStore.beside(self.store),
                config=MemoryConfig.of(self.settings),
                redactor=self._redactor,
            )
        return self._memory

    def memory_count(self) -> int:
        """Memories in the store; opens nothing, so that a store without any costs a hook one lookup."""
        if self._memory is not None:
            return self._memory.count()
        from context_graph.store.graph import GraphStore

        return GraphStore.count_beside(self.store)

    @property
    def dreams_by_itself(self) -> bool:
        """Whether the owner consolidates this store unasked: it is so set, and it has not failed twice."""
        return self.settings.dream and not self.chores.aside.holds(CONSOLIDATION)

    def memory_seq(self) -> int | None:
        """The number of the memory's last change; None while nobody has used it here."""
        return None if self._memory is None else self._memory.seq

    def note_tool_use(self, tool_use_id: str, session_id: str) -> None:
        """Remember whose tool use this is, for the MCP call that follows: it knows the id and no session."""
        others = (one for one in self._tool_sessions.pop(tool_use_id, ()) if one != session_id)
        self._tool_sessions[tool_use_id] = (session_id, *others)[:_SAME_ID_MAX]
        while len(self._tool_sessions) > _TOOL_USES_MAX:
            self._tool_sessions.popitem(last=False)

    def session_of_tool_use(self, tool_use_id: str, own: str) -> str | None:
        """The session that `note_tool_use` was told of; ``own`` if it is one of several that have the id.

        Args:
            own: The session that the MCP client was started for; /clear leaves it behind.
        """
        known = self._tool_sessions.get(tool_use_id)
        if known is None:
            return None
        return own if own in known else known[0]

    def settle(self) -> None:
        """Write what the last requests left for after their answers. Raises as `LiveSessions.settle`."""
        self.sessions.settle()
        if self._memory is not None:
            self.chores.do("purge", "the purge of what was forgotten long ago", self._memory.purge_if_due)

    def drain_spool(self) -> None:
        """Apply what hooks left while no owner answered; cheap when there is nothing."""
        if not spool.has_pending(self.folder):
            return
        report = spool.drain(self.folder, self._apply_record)
        self.spool_rejected += report.rejected
        name = self.folder.name
        if report.shut != self._shut:  # once, not at each request
            self._shut = report.shut
            self._log.error("spool %s: %s", name, "; ".join(report.shut) or "all files can be read again")
        if not (report.applied or report.rejected or report.aside or report.deferred):
            return
        self._log.info(
            "spool %s: %d applied, %d rejected, %d set aside",
            name,
            report.applied,
            report.rejected,
            report.aside,
        )
        for reason in (*report.reasons, *([f"deferred: {report.deferred}"] if report.deferred else ())):
            self._log.warning("spool %s: %s", name, reason)

    def spool_pending(self) -> int:
        """Events that wait in the spool."""
        return spool.pending(self.folder)

    def checkpoint(self) -> None:
        """Write every live session's goals, and what memory has still to write."""
        self.memory_hooks.tidy()
        self.sessions.persist_all()
        if self._memory is not None:
            self.chores.do("snapshot", "the snapshot of the index", self._memory.save)

    def close(self) -> None:
        """Settle and close; what `checkpoint` has not written is replayed when a session is loaded."""
        self.settle()
        self.sessions.clear()
        if self._memory is not None:
            self._memory.close()
        self._brief.close()
        self.store.close()

    def abandon(self) -> None:
        """Close without writing: after a failed write memory may be ahead of the disk."""
        self.sessions.clear()
        self._memory = None
        self._brief.close()
        try:
            self.store.close()
        except StoreError as error:
            self._log.error("closing %s: %s", self.folder.name, error)

    def _apply_record(self, record: SpoolRecord) -> None:
        """One line of the spool, unless it is set aside: the lines behind it are not to wait for ever."""
        key, what = f"event:{record.id}", f"the spooled {record.verb} of session {record.session}"
        aside = self.chores.aside
        if aside.holds(key):
            raise spool.LineSetAsideError(key)
        try:
            self.chores.limited(key, what, self._apply, record)
        except (ContextGraphError, OSError, MemoryError):
            raise
        except Exception as error:  # a bug that this line meets; the drain finds out whether others do too
            if aside.failed(key, what, f"{type(error).__name__}: {error}"):
                raise spool.LineSetAsideError(key) from error
            raise
        aside.succeeded(key)

    def _apply(self, record: SpoolRecord) -> None:
        if record.verb == "req.record":
            records = (record.body or {}).get("records")
            common = {"at_ms": record.at_ms, "session_id": record.session}
            self.store.requirement_log.append(entries_of(records, common, self._redactor), once=record.id)
            return
        apply_spooled(self.sessions, record, self._redactor, self._log)

    def _note_project(self) -> None:
        if self.project is None:
            return
        known = project_of(self.folder)
        if known is not None and known != self.project:
            self._log.warning("store %s was made for %s", self.folder.name, known)
        if known is not None:
            return
        try:
            (self.folder / "project").write_bytes(os.fsencode(self.project) + b"\n")
        except OSError as error:
            self._log.warning("project note of %s: %s", self.folder.name, error)


def _tuning(settings: Settings) -> Tuning:
    config = MemoryConfig.of(settings)
    return Tuning(settings.durability, config.wal, config.wal_dir, config.bloom_bits)


def project_of(folder: Path) -> Path | None:
    """The project that the store in ``folder`` was made for, as its note says."""
    try:
        named = (folder / "project").read_bytes().rstrip(b"\n")
    except OSError:
        return None
    return Path(os.fsdecode(named)) if named.startswith(b"/") else None
