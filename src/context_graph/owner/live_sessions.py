"""The sessions of one store that are live in memory: begun, taken up, each event applied to them once.

An event is durable before it is answered; what it did to its session follows in `settle`, and is worked out
again from the events when the owner dies in between.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from context_graph.config import Settings
from context_graph.errors import CorruptedIdentityError, SessionNotFoundError, StoreError
from context_graph.identity.brief import brief_line
from context_graph.identity.continuity import DriftMetrics, classify_ic
from context_graph.identity.live import LiveSession, Outcome
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot, cut_session_id
from context_graph.owner.brief_cache import BriefCache
from context_graph.owner.dream_requests import session_end_request
from context_graph.owner.memory_hooks import MemoryHooks
from context_graph.owner.twin_hooks import TwinHooks
from context_graph.protocol.canary import CANARY_PREFIX, is_canary
from context_graph.store.canary_events import CanaryEvents
from context_graph.store.sessions import SessionStore

__all__ = ["Applied", "LiveSessions", "Started"]

GOAL_CHECKPOINT_EVENTS = 32
"""Goals are 100 KB or so: written once in so many events, and replayed from the events in between."""

_CHECKPOINT_KINDS = frozenset({EventKind.STOP, EventKind.PRE_COMPACT, EventKind.SESSION_END})


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying one event gave; ``outcome`` is None for an event that had been applied before."""

    live: LiveSession
    outcome: Outcome | None
    twin: bool = False
    """Another installation of our hooks brought the event before; what there is to tell was told then."""


@dataclass(frozen=True, slots=True)
class Started:
    """What a session start gave."""

    live: LiveSession
    text: str
    drift: DriftMetrics | None = None
    warning: str = ""
    twin: bool = False
    """As in Applied."""


@dataclass(slots=True)
class Unsettled:
    """What of a session is still to be written beside its snapshot and runtime."""

    goals: bool = False
    dream: dict[str, object] | None = None
    ended: bool = False
    """The session has ended: it leaves memory, and is read again should it be resumed."""


class LiveSessions:
    """At most ``settings.max_sessions`` of them. Not thread-safe: the owner serves one request at a time.

    Args:
        brief: Where each session's line goes for `consciousness brief`.
        memory_hooks: Told of each event that is durable.
    """

    def __init__(
        self,
        store: SessionStore,
        brief: BriefCache,
        memory_hooks: MemoryHooks,
        *,
        settings: Settings,
        log: logging.Logger,
    ) -> None:
        self._store = store
        self._brief = brief
        self._memory_hooks = memory_hooks
        self._settings = settings
        self._log = log
        self._live: OrderedDict[str, LiveSession] = OrderedDict()
        """By id, the one that was used last at the end."""
        self._unsettled: dict[str, Unsettled] = {}
        self._twins = TwinHooks()
        self.canaries = CanaryEvents(store)
        self.shown_briefs: dict[str, str] = {}
        """Session -> the line that a prompt of it was last answered with."""
        self.dream_asked = True
        """The queue of consolidation requests may hold one that `owner.dreams` has not seen."""

    def __len__(self) -> int:
        return len(self._live)

    def in_use(self) -> Iterable[LiveSession]:
        """Those in memory, the one used last first."""
        return reversed(self._live.values())

    def get(self, session_id: str) -> LiveSession | None:
        """The live session of that id, loaded from the store if need be; None if there is none."""
        session_id = cut_session_id(session_id)
        live = self._live.get(session_id)
        if live is None:
            try:
                snapshot = self._store.load_snapshot(session_id)
            except SessionNotFoundError:
                return None
            live = self._load(snapshot)
            self._keep(live)
            self.settle()
            self._live[session_id] = live  # also if it has ended: it is asked for
        self._live.move_to_end(session_id)
        return live

    def latest(self) -> LiveSession | None:
        """The session that was saved last, or None in an empty store."""
        snapshot = self._store.load_latest()
        return None if snapshot is None else self.get(snapshot.session_id)

    def start(self, event: HookEvent, *, strict: bool = False) -> Started:
        """Begin or take up the session of a SESSION_START event, as its source says (D3.5).

        Raises:
            CorruptedIdentityError: If ``strict`` and the session to continue can't be read. Otherwise
                the new session starts unlinked and ``Started.warning`` says why: its events must go on.
        """
        existing, twin = self.get(event.session_id), self._twins.is_second(event)
        if existing is not None and twin:
            self._count_duplicate(existing)
            return Started(existing, "", twin=True)
        # Once: what the session has done since would be gone with a second beginning.
        if event.source == "clear" and (existing is None or not self._is_applied(existing, event)):
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
        live = self.get(event.session_id)
        if live is None:
            live = self._begin_implicitly(event)
        twin = self._twins.is_second(event)
        if twin or self._is_applied(live, event):
            self._count_duplicate(live)
            return Applied(live, None, twin)
        return Applied(live, self._apply_new(live, event, event.dedupe_key()))

    def _is_applied(self, live: LiveSession, event: HookEvent) -> bool:
        return self._store.event_log.is_applied(live.snapshot.session_id, event.dedupe_key())

    def _count_duplicate(self, live: LiveSession) -> None:
        live.note_duplicate()
        self.settle()  # the runtime alone must not be ahead of the rest of the session
        self._store.put_runtime(live.snapshot.session_id, live.runtime_bytes())

    def _apply_canary(self, event: HookEvent) -> LiveSession:
        """What an event costs, and nothing of what it does: only its record, which `doctor` takes away."""
        live = LiveSession.fresh(self._new_snapshot(event))
        live.apply(event)
        self.canaries.append(event)
        return live

    def save(self, live: LiveSession) -> None:
        """Write all of ``live`` and make it the latest session (`session persist-identity`)."""
        self.persist(live)
        self._store.save_snapshot(live.snapshot)

    def queue_dream(self, live: LiveSession, *, at_ms: int) -> bool:
        """Queue a consolidation request for ``live``'s crisis, unless its cool-down still runs."""
        self.settle()  # as in `apply`
        if not live.claim_dream(at_ms):
            return False
        self._store.dream_queue.queue(
            {"session_id": live.snapshot.session_id, "ic": live.snapshot.last_ic, "at_ms": at_ms}
        )
        self.dream_asked = True
        self._store.put_runtime(live.snapshot.session_id, live.runtime_bytes())
        return True

    def settle(self) -> None:
        """Write what the last events did to their sessions; it need not come before the answer.

        Raises:
            StoreError: The session is then dropped from memory; its events make it up when it is asked for.
        """
        while self._unsettled:
            session_id, due = self._unsettled.popitem()
            live = self._live.get(session_id)
            if live is None:
                continue
            self.publish(live)
            try:
                self._store.save_state(
                    live.snapshot,
                    runtime=live.runtime_bytes(),
                    goals=live.goals_bytes() if due.goals else None,
                    goals_seq=live.sequence if due.goals else None,
                    dream=due.dream,
                )
                if due.ended and self._settings.dream and self._settings.dream_session_end != "off":
                    self._store.dream_queue.queue(session_end_request(live.snapshot))
                    self.dream_asked = True
            except StoreError:
                self.drop(session_id)
                raise
            self.dream_asked |= due.dream is not None
            if due.ended:
                self.drop(session_id)

    def persist(self, live: LiveSession) -> None:
        """Write ``live``'s goals, but settle first: no replay could mend goals ahead of the runtime."""
        self.settle()
        self._store.save_goals(live.snapshot.session_id, live.sequence, live.goals_bytes())

    def persist_all(self) -> None:
        """Write every session's goals, so that the next owner replays nothing."""
        for live in list(self._live.values()):
            self.persist(live)

    def drop(self, session_id: str) -> None:
        """Take a session out of memory; it is read again when it is asked for."""
        self._live.pop(session_id, None)
        self.shown_briefs.pop(session_id, None)

    def clear(self) -> None:
        """Take all out of memory, unwritten."""
        self._live.clear()
        self._unsettled.clear()

    def publish(self, live: LiveSession) -> None:
        """Best effort: a brief that can't be written makes the next one cold, never the event lost."""
        if live.snapshot.session_id.startswith(CANARY_PREFIX):
            return
        try:
            self._brief.put(
                live.snapshot, live.metrics, brief_line(live.metrics) if live.has_evidence else None
            )
        except OSError as error:
            self._log.warning("brief cache %s: %s", self._store.path.parent.name, error)

    def _apply_new(self, live: LiveSession, event: HookEvent, key: str) -> Outcome:
        """The event is durable on return; what it did to the session follows in `settle`, or on loading."""
        outcome = live.apply(event)
        session_id = live.snapshot.session_id
        try:
            self._store.event_log.append(
                session_id,
                event=event,
                seq=live.sequence,
                dedupe_key=key,
                capture=self._memory_hooks.wants_capture(event),
            )
        except StoreError:
            self.drop(session_id)  # memory must not be ahead of the disk: the event will come again
            raise
        self._note(live, event, outcome)
        return outcome

    def _note(self, live: LiveSession, event: HookEvent, outcome: Outcome) -> None:
        self._memory_hooks.noted(event)
        due = self._unsettled.setdefault(live.snapshot.session_id, Unsettled())
        due.goals |= live.sequence % GOAL_CHECKPOINT_EVENTS == 0 or event.kind in _CHECKPOINT_KINDS
        due.ended = event.kind is EventKind.SESSION_END
        if outcome.dream_requested and self._settings.auto_dream:
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
        self._store.commit_event(
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
            from_plugin=event.from_plugin,
        )
        return self.start(start).live

    def _previous(self, event: HookEvent, *, strict: bool) -> tuple[LiveSession | None, str]:
        """The session to continue, and a warning when the one asked for or the latest can't be read."""
        try:
            if event.previous_session_id:
                named = self.get(event.previous_session_id)
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
        goals = self._store.load_goals(session_id)
        live = LiveSession.restore(
            snapshot, self._store.load_runtime(session_id), goals[1] if goals else None
        )
        known = live.sequence
        for seq, event in self._store.event_log.numbered_after(session_id, goals[0] if goals else 0):
            if seq <= known:
                live.replay_goals(event)
            else:  # durable, but the owner was gone before it wrote what the event did
                self._note(live, event, live.apply(event))
        return live

    def _keep(self, live: LiveSession) -> None:
        """Hold it in memory; the one that has been idle longest leaves when there are too many."""
        self._live[live.snapshot.session_id] = live
        while len(self._live) > self._settings.max_sessions:
            session_id, oldest = next(iter(self._live.items()))
            self.persist(oldest)
            self.drop(session_id)

    def _new_snapshot(self, event: HookEvent) -> SessionIdentitySnapshot:
        return SessionIdentitySnapshot(session_id=event.session_id, timestamp_ms=event.at_ms)


def _restored_text(live: LiveSession, source: str) -> str:
    """The line of seed 000 REQ-SESSION-12 for a session that was taken up or linked."""
    from_id = (
        live.snapshot.session_id if source in ("resume", "compact") else live.snapshot.previous_session_id
    )
    if from_id is None:
        return "New session initialized"
    ic = live.snapshot.last_ic
    return f"Identity restored from {from_id}. IC: {ic:.2f} ({classify_ic(ic)})"
