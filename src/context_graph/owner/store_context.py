"""One open store: its database, brief cache, spool, and the sessions that are live in memory."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from context_graph.config import Settings
from context_graph.config.memory import MemoryConfig
from context_graph.errors import CorruptedIdentityError, SessionNotFoundError, StoreError
from context_graph.identity.brief import brief_line
from context_graph.identity.continuity import DriftMetrics, classify_ic
from context_graph.identity.live import LiveSession, Outcome
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot, cut_session_id
from context_graph.owner import spool
from context_graph.owner.brief_cache import BriefCache
from context_graph.owner.dream_requests import session_end_request
from context_graph.owner.memory_hooks import MemoryHooks
from context_graph.owner.requirement_records import entries_of
from context_graph.owner.spooled import apply_spooled
from context_graph.protocol.canary import CANARY_PREFIX, is_canary
from context_graph.redact import TextRedactor
from context_graph.store.canary_events import CanaryEvents
from context_graph.store.sessions import SessionStore
from context_graph.store.tuning import Tuning
from context_graph.wire.spool import SpoolRecord

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex

__all__ = ["Applied", "Started", "StoreContext", "project_of"]

GOAL_CHECKPOINT_EVENTS = 32
"""Goals are 100 KB or so: written once in so many events, and replayed from the events in between."""

_TOOL_USES_MAX = 256


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying one event gave; ``outcome`` is None for an event that had been applied before."""

    live: LiveSession
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class Started:
    """What a session start gave."""

    live: LiveSession
    text: str
    drift: DriftMetrics | None = None
    warning: str = ""


@dataclass(slots=True)
class Unsettled:
    """What of a session is still to be written beside its snapshot and runtime."""

    goals: bool = False
    dream: dict[str, object] | None = None
    ended: bool = False
    """The session has ended: it leaves memory, and is read again should it be resumed."""


class StoreContext:
    """A store and its live sessions. Not thread-safe: the owner serves one request at a time."""

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
        self.sessions: OrderedDict[str, LiveSession] = OrderedDict()
        self.shown_briefs: dict[str, str] = {}
        self.tool_sessions: OrderedDict[str, str] = OrderedDict()
        self._unsettled: dict[str, Unsettled] = {}
        self.spool_rejected = 0
        self.canaries = CanaryEvents(store)
        self.dream_asked = True
        """The queue of consolidation requests may hold one that `owner.dreams` has not seen."""
        self._brief = BriefCache(folder / "brief.bin")
        self._log = log
        self._redactor = redactor
        self._memory: Memex | None = None
        self.memory_hooks = MemoryHooks(
            store,
            lambda: self.memory,
            lambda: self.memory_count() > 0,
            project=str(project) if project is not None else None,
            settings=settings,
            log=log,
        )

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

    def memory_seq(self) -> int | None:
        """The number of the memory's last change; None while nobody has used it here."""
        return None if self._memory is None else self._memory.seq

    def session(self, session_id: str) -> LiveSession | None:
        """The live session of that id, loaded from the store if need be; None if there is none."""
        session_id = cut_session_id(session_id)
        live = self.sessions.get(session_id)
        if live is None:
            try:
                snapshot = self.store.load_snapshot(session_id)
            except SessionNotFoundError:
                return None
            live = self._load(snapshot)
            self._keep(live)
            self.settle()
            self.sessions[session_id] = live  # also if it has ended: it is asked for
        self.sessions.move_to_end(session_id)
        return live

    def latest(self) -> LiveSession | None:
        """The session that was saved last, or None in an empty store."""
        snapshot = self.store.load_latest()
        return None if snapshot is None else self.session(snapshot.session_id)

    def start(self, event: HookEvent, *, strict: bool = False) -> Started:
        """Begin or take up the session of a SESSION_START event, as its source says (D3.5).

        Raises:
            CorruptedIdentityError: If ``strict`` and the session to continue can't be read. Otherwise
                the new session starts unlinked and ``Started.warning`` says why: its events must go on.
        """
        existing = self.session(event.session_id)
        if event.source == "clear":
            return self._begin(
                event, LiveSession.fresh(self._new_snapshot(event)), "Fresh session initialized"
            )
        if existing is not None:
            self.apply(event)
            return Started(existing, _restored_text(existing, event.source))
        if event.source == "resume":
            return self._begin(event, LiveSession.fresh(self._new_snapshot(event)), "New session initialized")
        previous, warning = self._previous(event, strict=strict)
        if previous is None:
            fresh = LiveSession.fresh(self._new_snapshot(event))
            return self._begin(event, fresh, "New session initialized", warning=warning)
        live, drift, _ = LiveSession.continue_from(previous, self._new_snapshot(event))
        return self._begin(event, live, _restored_text(live, event.source), drift=drift)

    def apply(self, event: HookEvent) -> Applied:
        """Apply ``event`` once and make it durable before returning (invariants 5 and 6).

        A session the store does not know yet is begun first, linked to the latest one: hooks may
        have been installed in the middle of a session, and its events must not be lost.
        """
        if is_canary(event.session_id, event.tool_name):
            return Applied(self._apply_canary(event), None)
        live = self.session(event.session_id)
        if live is None:
            live = self._begin_implicitly(event)
        key = event.dedupe_key()
        if self.store.is_applied(live.snapshot.session_id, key):
            live.note_duplicate()
            self.store.put_runtime(live.snapshot.session_id, live.runtime_bytes())
            return Applied(live, None)
        return Applied(live, self._apply_new(live, event, key))

    def _apply_canary(self, event: HookEvent) -> LiveSession:
        """What an event costs, and nothing of what it does: only its record, which `doctor` takes away."""
        live = LiveSession.fresh(self._new_snapshot(event))
        live.apply(event)
        self.canaries.append(event)
        return live

    def note_tool_use(self, tool_use_id: str, session_id: str) -> None:
        """Remember whose tool use this is, for the MCP call that follows: it knows the id and no session."""
        self.tool_sessions[tool_use_id] = session_id
        while len(self.tool_sessions) > _TOOL_USES_MAX:
            self.tool_sessions.popitem(last=False)

    def save(self, live: LiveSession) -> None:
        """Write all of ``live`` and make it the latest session (`session persist-identity`)."""
        self.store.save_snapshot(live.snapshot)
        self.persist(live)

    def queue_dream(self, live: LiveSession, *, at_ms: int) -> bool:
        """Queue a consolidation request for ``live``'s crisis, unless its cool-down still runs."""
        if not live.claim_dream(at_ms):
            return False
        self.store.queue_dream(
            {"session_id": live.snapshot.session_id, "ic": live.snapshot.last_ic, "at_ms": at_ms}
        )
        self.dream_asked = True
        self.store.put_runtime(live.snapshot.session_id, live.runtime_bytes())
        return True

    def settle(self) -> None:
        """Write what the last events did to their sessions; it need not come before the answer.

        Raises:
            StoreError: The session is then dropped from memory; its events make it up when it is asked for.
        """
        if self._memory is not None:
            self._memory.purge_if_due()
        while self._unsettled:
            session_id, due = self._unsettled.popitem()
            live = self.sessions.get(session_id)
            if live is None:
                continue
            self.publish(live)
            try:
                self.store.save_state(
                    live.snapshot,
                    runtime=live.runtime_bytes(),
                    goals=live.goals_bytes() if due.goals else None,
                    goals_seq=live.sequence if due.goals else None,
                    dream=due.dream,
                )
                if due.ended and self.settings.dream and self.settings.dream_session_end != "off":
                    self.store.queue_dream(session_end_request(live.snapshot))
                    self.dream_asked = True
            except StoreError:
                del self.sessions[session_id]
                raise
            self.dream_asked |= due.dream is not None
            if due.ended:
                self._drop(session_id)

    def persist(self, live: LiveSession) -> None:
        """Write ``live``'s goals, but settle first: no replay could mend goals ahead of the runtime."""
        self.settle()
        self.store.save_goals(live.snapshot.session_id, live.sequence, live.goals_bytes())

    def drain_spool(self) -> None:
        """Apply what hooks left while no owner answered; cheap when there is nothing."""
        if not spool.has_pending(self.folder):
            return
        report = spool.drain(self.folder, self._apply_record)
        self.spool_rejected += report.rejected
        name = self.folder.name
        self._log.info("spool %s: %d applied, %d rejected", name, report.applied, report.rejected)
        for reason in (*report.reasons, *([f"deferred: {report.deferred}"] if report.deferred else ())):
            self._log.warning("spool %s: %s", name, reason)

    def spool_pending(self) -> int:
        """Events that wait in the spool."""
        return spool.pending(self.folder)

    def checkpoint(self) -> None:
        """Write every live session's goals, and what memory has still to write."""
        self.memory_hooks.tidy()
        for live in list(self.sessions.values()):
            self.persist(live)
        if self._memory is not None:
            self._memory.save()

    def close(self) -> None:
        """Settle and close; what `checkpoint` has not written is replayed when a session is loaded."""
        self.settle()
        self.sessions.clear()
        if self._memory is not None:
            self._memory.close()
        self.store.close()

    def abandon(self) -> None:
        """Close without writing: after a failed write memory may be ahead of the disk."""
        self.sessions.clear()
        self._memory = None
        try:
            self.store.close()
        except StoreError as error:
            self._log.error("closing %s: %s", self.folder.name, error)

    def _apply_new(self, live: LiveSession, event: HookEvent, key: str) -> Outcome:
        """The event is durable on return; what it did to the session follows in `settle`, or on loading."""
        outcome = live.apply(event)
        session_id = live.snapshot.session_id
        try:
            self.store.append_event(
                session_id,
                event=event,
                seq=live.sequence,
                dedupe_key=key,
                capture=self.memory_hooks.wants_capture(event),
            )
        except StoreError:
            del self.sessions[session_id]  # memory must not be ahead of the disk: the event will come again
            raise
        self._note(live, event, outcome)
        return outcome

    def _note(self, live: LiveSession, event: HookEvent, outcome: Outcome) -> None:
        self.memory_hooks.noted(event)
        due = self._unsettled.setdefault(live.snapshot.session_id, Unsettled())
        due.goals |= live.sequence % GOAL_CHECKPOINT_EVENTS == 0 or event.kind in _CHECKPOINT_KINDS
        due.ended = event.kind is EventKind.SESSION_END
        if outcome.dream_requested and self.settings.auto_dream:
            due.dream = {
                "session_id": live.snapshot.session_id,
                "ic": outcome.metrics.ic,
                "at_ms": event.at_ms,
            }

    def _begin(
        self,
        event: HookEvent,
        live: LiveSession,
        text: str,
        *,
        drift: DriftMetrics | None = None,
        warning: str = "",
    ) -> Started:
        live.apply(event)
        self.store.commit_event(
            live.snapshot,
            runtime=live.runtime_bytes(),
            event=event,
            seq=live.sequence,
            dedupe_key=event.dedupe_key(),
            goals=live.goals_bytes(),
            goals_seq=live.sequence,
        )
        self._keep(live)
        self.publish(live)
        return Started(live, text, drift, warning)

    def _begin_implicitly(self, event: HookEvent) -> LiveSession:
        start = HookEvent(
            kind=EventKind.SESSION_START,
            session_id=event.session_id,
            event_id=f"{event.event_id}+start",
            at_ms=event.at_ms,
            source="startup",
            cwd=event.cwd,
        )
        return self.start(start).live

    def _previous(self, event: HookEvent, *, strict: bool) -> tuple[LiveSession | None, str]:
        """The session to continue, and a warning when the one asked for or the latest can't be read."""
        try:
            if event.previous_session_id:
                named = self.session(event.previous_session_id)
                return (
                    named,
                    "" if named else f"previous session {event.previous_session_id!r} is not in the store",
                )
            return self.latest(), ""
        except CorruptedIdentityError as error:
            if strict:
                raise
            self._log.error("%s", error)
            return None, str(error)

    def _load(self, snapshot: SessionIdentitySnapshot) -> LiveSession:
        session_id = snapshot.session_id
        goals = self.store.load_goals(session_id)
        live = LiveSession.restore(snapshot, self.store.load_runtime(session_id), goals[1] if goals else None)
        known = live.sequence
        for seq, event in self.store.numbered_events_after(session_id, goals[0] if goals else 0):
            if seq <= known:
                live.replay_goals(event)
            else:  # durable, but the owner was gone before it wrote what the event did
                self._note(live, event, live.apply(event))
        return live

    def _keep(self, live: LiveSession) -> None:
        """Hold it in memory; the one that has been idle longest leaves when there are too many."""
        self.sessions[live.snapshot.session_id] = live
        while len(self.sessions) > self.settings.max_sessions:
            session_id, oldest = next(iter(self.sessions.items()))
            self.persist(oldest)
            self._drop(session_id)

    def _drop(self, session_id: str) -> None:
        self.sessions.pop(session_id, None)
        self.shown_briefs.pop(session_id, None)

    def _new_snapshot(self, event: HookEvent) -> SessionIdentitySnapshot:
        return SessionIdentitySnapshot(session_id=event.session_id, timestamp_ms=event.at_ms)

    def publish(self, live: LiveSession) -> None:
        """Best effort: a brief that can't be written makes the next one cold, never the event lost."""
        if live.snapshot.session_id.startswith(CANARY_PREFIX):
            return
        try:
            self._brief.put(
                live.snapshot, live.metrics, brief_line(live.metrics) if live.has_evidence else None
            )
        except OSError as error:
            self._log.warning("brief cache %s: %s", self.folder.name, error)

    def _apply_record(self, record: SpoolRecord) -> None:
        if record.verb == "req.record":
            records = (record.body or {}).get("records")
            common = {"at_ms": record.at_ms, "session_id": record.session}
            self.store.requirement_log.append(entries_of(records, common, self._redactor), once=record.id)
            return
        apply_spooled(self, record, self._redactor, self._log)

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


_CHECKPOINT_KINDS = frozenset({EventKind.STOP, EventKind.PRE_COMPACT, EventKind.SESSION_END})


def _restored_text(live: LiveSession, source: str) -> str:
    """The line of seed 000 REQ-SESSION-12 for a session that was taken up or linked."""
    from_id = (
        live.snapshot.session_id if source in ("resume", "compact") else live.snapshot.previous_session_id
    )
    if from_id is None:
        return "New session initialized"
    ic = live.snapshot.last_ic
    return f"Identity restored from {from_id}. IC: {ic:.2f} ({classify_ic(ic)})"
