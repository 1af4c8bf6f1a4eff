"""Keeps the live sessions of one store in memory: begins or resumes them, and applies each event once.

An event is durable before it is answered. Its effect on the session is stored later, in `settle`, and
computed again from the events if the owner dies in between.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from context_graph.claude.hooks.origin import CANARY_PREFIX
from context_graph.config import Settings
from context_graph.errors import CorruptedIdentityError, SessionNotFoundError, StoreError
from context_graph.identity.brief import brief_line
from context_graph.identity.continuity import classify_ic
from context_graph.identity.earlier_work import (
    BY_WORK,
    EVENTS_NEEDED,
    EVENTS_REPLAYED,
    Alike,
    EarlierWork,
    Work,
)
from context_graph.identity.live import LiveSession, Outcome
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot, cut_session_id
from context_graph.owner.jobs import session_end_request
from context_graph.owner.sessions.brief_cache import BriefCache
from context_graph.owner.sessions.memory_hooks import MemoryHooks
from context_graph.store.sessions.event_log import CanaryEvents
from context_graph.store.sessions.sessions import SessionStore

GOAL_CHECKPOINT_EVENTS = 32
"""Goals are 100 KB or so: written once in so many events, and replayed from the events in between."""

_CHECKPOINT_KINDS = frozenset({EventKind.STOP, EventKind.PRE_COMPACT, EventKind.SESSION_END})


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of an event; ``outcome`` is None for a session's start and for an event applied before."""

    live: LiveSession
    outcome: Outcome | None = None
    is_duplicate: bool = False
    """Another installation of our hooks brought the event before; what there is to show was shown then."""
    text: str = ""
    """What a start says."""
    warning: str = ""


@dataclass(slots=True)
class Unsettled:
    """The parts of a session that are still to be written beside its snapshot and runtime."""

    goals: bool = False
    dream: dict[str, object] | None = None
    ended: bool = False
    """The session has ended: it leaves memory, and is read again should it be resumed."""


class LiveSessions:
    """The live sessions, at most ``settings.max_sessions``. Not thread-safe: the owner serves one request
    at a time.

    Args:
        brief: Where each session's line goes for `consciousness brief`.
        memory_hooks: Gets each event once it is durable.
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
        self._duplicates = DuplicateHooks()
        self._earlier: EarlierWork | None = None
        """None until somebody asks."""
        self.canaries = CanaryEvents(store.engine)

    def __len__(self) -> int:
        return len(self._live)

    def get(self, session_id: str) -> LiveSession | None:
        """Return the live session of that id, loaded from the store if need be; None if there is none."""
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
        """Return the session that was saved last, or None in an empty store."""
        snapshot = self._store.load_latest()
        return None if snapshot is None else self.get(snapshot.session_id)

    def start(self, event: HookEvent, *, strict: bool = False) -> Applied:
        """Begin or resume the session of a SESSION_START event, as its source says (D3.5).

        Raises CorruptedIdentityError if ``strict`` and the session to continue can't be read. Otherwise the
        new session starts unlinked and ``Applied.warning`` says why: its events must go on.
        """
        self.settle()  # the session that it follows is the one saved last
        existing, is_duplicate = self.get(event.session_id), self._duplicates.is_second(event)
        if existing is not None and is_duplicate:
            self._count_duplicate(existing)
            return Applied(existing, is_duplicate=True)
        # Only once: a second beginning would drop what the session has done since.
        cleared = event.source == "clear" and (existing is None or not self._is_applied(existing, event))
        if existing is not None and not cleared:
            self.apply(event)
            return Applied(existing, text=_restored_text(existing))
        unlinked = cleared or event.source == "resume"
        previous, warning = self._previous(event, strict=strict and not unlinked)
        if unlinked or previous is None:
            text = "Fresh session initialized" if cleared else "New session initialized"
            fresh = LiveSession.begin_afresh(previous, _new_snapshot(event))
            return self._begin(event, fresh, text, warning="" if unlinked else warning)
        live = LiveSession.continue_from(previous, _new_snapshot(event))
        return self._begin(event, live, _restored_text(previous))

    def apply(self, event: HookEvent) -> Applied:
        """Apply ``event`` once and make it durable before returning (invariants 5 and 6).

        A session the store does not know yet is begun first, linked to the latest one: hooks may
        have been installed in the middle of a session, and its events must not be lost.
        """
        if event.is_canary:
            # It costs what an event costs and does nothing: only its record stays, which `doctor` removes.
            canary = LiveSession(_new_snapshot(event))
            canary.apply(event)
            self.canaries.append(event)
            return Applied(canary)
        live = self.get(event.session_id) or self._begin_implicitly(event)
        is_duplicate = self._duplicates.is_second(event)
        if is_duplicate or self._is_applied(live, event):
            self._count_duplicate(live)
            return Applied(live, is_duplicate=is_duplicate)
        return Applied(live, self._apply_new(live, event, event.dedupe_key()))

    def _is_applied(self, live: LiveSession, event: HookEvent) -> bool:
        return self._store.event_log.is_applied(live.snapshot.session_id, event.dedupe_key())

    def _count_duplicate(self, live: LiveSession) -> None:
        live.events_duplicate += 1
        self.settle()  # the runtime alone must not be ahead of the rest of the session
        self._store.put_runtime(live.snapshot.session_id, live.runtime_bytes())

    def save(self, live: LiveSession) -> None:
        """Write all of ``live`` and make it the latest session (`session persist-identity`)."""
        self.persist(live)
        self._store.save_snapshot(live.snapshot)

    def queue_dream(self, live: LiveSession, *, at_ms: int) -> bool:
        """Queue a consolidation request for ``live``'s crisis, unless its cool-down still runs."""
        self.settle()  # as in `apply`
        if not live.claim_dream(at_ms):
            return False
        self._store.dream_queue.queue(_dream_request(live, at_ms))
        self._store.put_runtime(live.snapshot.session_id, live.runtime_bytes())
        return True

    def alike(self, session_id: str) -> list[Alike]:
        """Return the earlier sessions whose work is like what that one has done so far, most alike first.

        [] before it has three tool results that say something. Cost: some 4 ms at 1,000 sessions; the first
        time another 30.
        """
        live = self.get(session_id)
        if live is None or (work := self._work(live)).events < EVENTS_NEEDED:
            return []
        return self._earlier_work().alike(work.strongest(BY_WORK), {live.snapshot.session_id})

    def alike_for(self, query: str, session_id: str | None) -> tuple[dict[str, float], bool]:
        """Session -> share of `alike`; until there is any, of what the query asks for, and then True."""
        if session_id and (alike := self.alike(session_id)):
            return dict(alike), False
        return dict(self._earlier_work().like_query(query, {session_id or ""})), True

    def _work(self, live: LiveSession) -> Work:
        session_id, since = live.snapshot.session_id, max(0, live.sequence - EVENTS_REPLAYED)
        events = self._store.event_log.numbered_after
        return live.work(lambda: (event for _, event in events(session_id, since)))

    def _earlier_work(self) -> EarlierWork:
        if self._earlier is None:
            self._earlier = EarlierWork()
            for session_id, strongest in self._store.works():
                with suppress(ValueError):
                    self._earlier.put(session_id, strongest)
        return self._earlier

    @property
    def has_unsettled(self) -> bool:
        """Whether `settle` has anything to write."""
        return bool(self._unsettled)

    def settle(self) -> None:
        """Write the effects of the last events on their sessions; the answers need not wait for it. A
        StoreError drops the session from memory; it is rebuilt from its events when asked for.
        """
        while self._unsettled:
            session_id, due = self._unsettled.popitem()
            live = self._live.get(session_id)
            if live is None:
                continue
            self.publish(live)
            work = self._work(live).strongest() if due.goals else b""
            try:
                self._store.save_state(
                    live.snapshot,
                    runtime=live.runtime_bytes(),
                    goals=(live.sequence, live.goals_bytes()) if due.goals else None,
                    dream=due.dream,
                    work=work,
                )
                if work and self._earlier is not None:
                    self._earlier.put(session_id, work)
                if due.ended and self._settings.dream and self._settings.dream_session_end != "off":
                    self._store.dream_queue.queue(session_end_request(live.snapshot))
            except StoreError:
                self.drop(session_id)
                raise
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
        """Apply an event, durable on return; what it did to the session follows in `settle`."""
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
            due.dream = _dream_request(live, event.at_ms)

    def _begin(self, event: HookEvent, live: LiveSession, text: str, *, warning: str = "") -> Applied:
        live.apply(event)
        self._store.commit_event(
            live.snapshot,
            runtime=live.runtime_bytes(),
            event=event,
            seq=live.sequence,
            dedupe_key=event.dedupe_key(),
            goals=(live.sequence, live.goals_bytes()),
        )
        self._keep(live)
        self.publish(live)
        return Applied(live, text=text, warning=warning)

    def _begin_implicitly(self, event: HookEvent) -> LiveSession:
        start = HookEvent(
            *(EventKind.SESSION_START, event.session_id, f"{event.event_id}+start", event.at_ms),
            source="startup",
            cwd=event.cwd,
            from_plugin=event.from_plugin,
        )
        return self.start(start).live

    def _previous(self, event: HookEvent, *, strict: bool) -> tuple[LiveSession | None, str]:
        """Return the session to continue, and a warning when the one wanted can't be read."""
        wanted = event.previous_session_id
        try:
            if not wanted:
                return self.latest(), ""
            named = self.get(wanted)
            return named, "" if named else f"previous session {wanted!r} is not in the store"
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
        self._live[live.snapshot.session_id] = live
        while len(self._live) > self._settings.max_sessions:
            session_id, oldest = next(iter(self._live.items()))
            self.persist(oldest)
            self.drop(session_id)


def _dream_request(live: LiveSession, at_ms: int) -> dict[str, object]:
    return {"session_id": live.snapshot.session_id, "ic": live.snapshot.last_ic, "at_ms": at_ms}


def _new_snapshot(event: HookEvent) -> SessionIdentitySnapshot:
    return SessionIdentitySnapshot(session_id=event.session_id, timestamp_ms=event.at_ms)


def _restored_text(source: LiveSession) -> str:
    """Return the line of seed 000 REQ-SESSION-12: the session taken up or followed, its own last IC."""
    text = f"Identity restored from {source.snapshot.session_id}. IC:"
    if not source.has_evidence:
        return f"{text} ? (no events yet)"
    ic = source.snapshot.last_ic
    return f"{text} {ic:.2f} ({classify_ic(ic)})"


WINDOW_MS: Final = 5_000
"""Between the starts of two hooks that bring one event; a busy machine starts the second late."""
_KEPT: Final = 64
"""Events that may still have a duplicate: those of a few seconds, of all sessions of a store."""


class DuplicateHooks:
    """The last events, each with the installation of our hooks that sent it. Cost: 1 to 3 us an event."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], tuple[bool, int]] = OrderedDict()

    def is_second(self, event: HookEvent) -> bool:
        """Return whether the other installation has sent ``event`` within WINDOW_MS; if not, it is
        remembered.

        Two events from the same installation are two events, however much alike they are.
        """
        sign = (event.session_id, _sign(event))
        first = self._seen.pop(sign, None)
        if first is not None:
            from_plugin, at_ms = first
            if from_plugin != event.from_plugin and abs(event.at_ms - at_ms) <= WINDOW_MS:
                return True
        self._seen[sign] = (event.from_plugin, event.at_ms)
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return False


def _sign(event: HookEvent) -> str:
    """Return a key that both hooks of one event share, and no other of their session at that time."""
    if event.has_own_key:
        return event.dedupe_key()
    names = (event.kind.value, event.prompt_id, event.source, event.reason, event.tool_name)
    return "\0".join((*names, event.input_text, event.output_text))
