"""Decides when the owner consolidates by itself: on crises, high entropy, ended sessions and idleness.

Each of these schedules a run, which begins at the next quiet time. There is one timer, and none while
nothing is pending. A session ends with its client's process, whatever ended that.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from context_graph.owner.jobs import LastRun, Place, ScheduledRun, Trigger, trigger_of

if TYPE_CHECKING:
    from context_graph.consolidation.plan import Mode
    from context_graph.owner.sessions.store_context import StoreContext

QUIET_S: Final = 2.0
"""Without a request, before a run of the owner's own begins."""
ENTROPY_HIGH: Final = 0.7
"""A store's entropy above which, when it lasts, the store is to be consolidated."""
_BACK_OFF_MOST_S: Final = 60.0
_FAILURES_MOST: Final = 3
"""Runs of a store in a row that may fail before the owner stops trying by itself."""
_CLIENT_S: Final = 60.0
"""How long a run after a session's end waits for a client that does not go: it may have begun another."""
_RETRY_S: Final = 60.0
"""Seconds at least between a run that failed and the next."""
_NEVER: Final = float("inf")
_URGENCY: Final = {trigger: at for at, trigger in enumerate(Trigger)}


class ScheduledRuns:
    """The scheduled runs of one owner, one per store and reason.

    Knows neither clock nor processes: times are the caller's, in monotonic seconds.
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[Path, Trigger], ScheduledRun] = {}
        self._rests: dict[Path, float] = {}
        """When a store's cool-down ends."""
        self._failures: dict[Path, int] = {}

    def add(self, scheduled: ScheduledRun) -> ScheduledRun:
        """Schedule a run, unless it is already; returns the one that holds now."""
        known = self._runs.setdefault((scheduled.place.store, scheduled.trigger), scheduled)
        if known is not scheduled:
            known.session_id, known.mode = scheduled.session_id, scheduled.mode
            known.not_before = max(known.not_before, scheduled.not_before)
            known.waits_for_client |= scheduled.waits_for_client
        return known

    def has(self, store: Path, trigger: Trigger | None = None) -> bool:
        """Return whether a run of that store (for that reason) is wanted."""
        return any(key[0] == store and trigger in (None, key[1]) for key in self._runs)

    def of(self, store: Path | None = None) -> list[ScheduledRun]:
        """Return the scheduled runs of one store, or all."""
        return [scheduled for scheduled in self._runs.values() if store in (None, scheduled.place.store)]

    def due_at(self, scheduled: ScheduledRun, busy_at: float) -> float:
        """Return when the run may begin if no request comes after ``busy_at``; inf where it keeps failing."""
        store = scheduled.place.store
        if self._failures.get(store, 0) >= _FAILURES_MOST:
            return _NEVER
        return max(scheduled.not_before, self._rests.get(store, 0.0), busy_at + QUIET_S)

    def next(self, busy_at: float, now: float) -> tuple[float, ScheduledRun] | None:
        """Return the most urgent run that is due, or the first to be due, and when."""
        due = [(max(now, self.due_at(scheduled, busy_at)), scheduled) for scheduled in self._runs.values()]
        due = [(at, scheduled) for at, scheduled in due if at != _NEVER]
        return min(due, key=lambda pair: (pair[0], _URGENCY[pair[1].trigger]), default=None)

    def begun(self, scheduled: ScheduledRun) -> None:
        """Remove a run that begins."""
        self._runs.pop((scheduled.place.store, scheduled.trigger), None)

    def aborted(self, scheduled: ScheduledRun, now: float) -> None:
        """Schedule a run again that was cancelled by a query, later each time."""
        scheduled.aborts += 1
        scheduled.not_before = now + min(QUIET_S * 2 ** (scheduled.aborts - 1), _BACK_OFF_MOST_S)
        self.add(scheduled)

    def done(self, store: Path, mode: Mode, rest_until: float) -> None:
        """Remove the store's scheduled runs after a run of that mode, except those for deeper modes."""
        from context_graph.consolidation.plan import Mode

        ranks = list(Mode)
        for key, scheduled in list(self._runs.items()):
            if key[0] == store and ranks.index(scheduled.mode) <= ranks.index(mode):
                del self._runs[key]
        self._rests[store] = rest_until
        self._failures.pop(store, None)

    def failed(self, store: Path, rest_until: float) -> bool:
        """Note that a run of the owner's own failed; whether the next one will be tried."""
        self._failures[store] = self._failures.get(store, 0) + 1
        self._rests[store] = rest_until
        return self._failures[store] < _FAILURES_MOST


class EntropyWatch:
    """Tracks one store's entropy: asks for one run per excursion, when it stays high for long enough."""

    def __init__(self, lasts_s: float) -> None:
        self._lasts_s = lasts_s
        self._since: float | None = None
        self._asked = False

    def sample(self, entropy: float, now: float) -> None:
        """Note that the entropy is ``entropy``, in [0, 1], from now on."""
        if entropy <= ENTROPY_HIGH:
            self._since, self._asked = None, False
        elif self._since is None:
            self._since = now

    @property
    def due_at(self) -> float | None:
        """When it will have been high for long enough; None if it is not, or has been asked for."""
        return None if self._since is None or self._asked else self._since + self._lasts_s

    def asked(self) -> None:
        """Note that a run was asked for; the next one comes only after a dip."""
        self._asked = True


class Schedule:
    """The scheduled runs of one owner, and the timer that starts them."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        contexts: Callable[[], Iterable[StoreContext]],
        last_run: Callable[[Path], LastRun],
        *,
        start: Callable[[ScheduledRun], None],
        free: Callable[[], bool],
        log: logging.Logger,
    ) -> None:
        self.loop = loop
        self._contexts = contexts
        self._last_run = last_run
        self._start = start
        self._free = free
        self._log = log
        self.runs = ScheduledRuns()
        self.busy_at = loop.time()
        """When the last request came."""
        self._entropy: dict[Path, EntropyWatch] = {}
        self._clients: dict[Path, Callable[[], None]] = {}
        """Store -> what stops the watch of the client whose session ended there."""
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def session_ended(self, store: Path, client: int) -> None:
        """Note that the session of process ``client`` ends: a run for it waits until that process is gone."""
        if store in self._clients or client <= 0:
            return
        stop = when_ended(self.loop, client, partial(self._client_gone, store))
        if stop is not None:  # else the quiet time must do
            self._clients[store] = stop

    def look(self) -> None:
        """After answers: take up new requests and figures. Cost: some us a store when there is nothing."""
        if self._stopped:
            return
        changed = False
        for context in self._contexts():
            requests = context.store.dream_queue.unseen()
            if requests:
                changed |= self._take(requests, context)
            changed |= self._sample(context)
        if changed or (self._timer is None and self._due() is not None):
            self.plan()

    def _take(self, requests: list[dict[str, object]], context: StoreContext) -> bool:
        if not context.dreams_by_itself:
            return False
        for request in requests:
            trigger = trigger_of(request)
            after_end = trigger is Trigger.SESSION_END
            mode = context.settings.dream_session_end if after_end else "light"
            if mode == "off":
                continue
            scheduled = self._scheduled(context, trigger, mode)
            scheduled.session_id = str(request["session_id"])
            if after_end and context.folder in self._clients:
                scheduled.waits_for_client, scheduled.not_before = True, self.loop.time() + _CLIENT_S
        return True

    def _sample(self, context: StoreContext) -> bool:
        """Note the entropy of a store in use; whether there is something new to wait for. Cost: 20 us."""
        if context.memory_seq() is None:
            return False
        watch = self._entropy.get(context.folder)
        if watch is None:
            watch = self._entropy[context.folder] = EntropyWatch(context.settings.dream_entropy_s)
        entropy = context.memory.entropy_if_loaded()
        if entropy is None:
            return False
        before = watch.due_at
        watch.sample(entropy, self.loop.time())
        return watch.due_at != before

    def plan(self) -> None:
        """Begin what is due, or set the timer for the next run."""
        self._stop_timer()
        if self._stopped or not self._free():
            return  # whoever is under way plans anew when it is over
        now = self.loop.time()
        self._schedule_by_time(now)
        first = self.runs.next(self.busy_at, now)
        if first is not None and first[0] <= now:
            self.runs.begun(first[1])
            self._start(first[1])
            return
        due = self._due()
        if due is not None:
            self._timer = self.loop.call_at(due, self.plan)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> float | None:
        """Return when the next run may be due if no request comes before; None if nothing is pending."""
        times: list[float | None] = []
        for context in self._contexts():
            watch = self._entropy.get(context.folder)
            times += [watch.due_at if watch is not None else None, self._idle_at(context)]
        first = self.runs.next(self.busy_at, self.loop.time())
        times.append(first[0] if first is not None else None)
        return min((at for at in times if at is not None), default=None)

    def _idle_at(self, context: StoreContext) -> float | None:
        """Return when the store will have been idle long enough; None if it has not changed since its last
        run.

        Nor is one scheduled for an empty store, however it became so: no run could be kept, and it would be
        scheduled again at once.
        """
        settings, seq = context.settings, context.memory_seq()
        if not context.dreams_by_itself or settings.dream_idle == "off" or not seq:
            return None
        if not context.memory_count() or self.runs.has(context.folder):
            return None
        if seq == self._last_run(context.folder).seq:
            return None
        return self.busy_at + settings.dream_idle_s

    def _schedule_by_time(self, now: float) -> None:
        """Schedule the runs that time alone asks for."""
        for context in self._contexts():
            mode = context.settings.dream_idle
            watch = self._entropy.get(context.folder)
            if watch is not None and watch.due_at is not None and watch.due_at <= now:
                watch.asked()
                if context.dreams_by_itself and mode != "off":
                    self._scheduled(context, Trigger.ENTROPY, mode)
            idle_at = self._idle_at(context)
            if idle_at is not None and idle_at <= now:
                self._scheduled(context, Trigger.IDLE, mode)

    def _scheduled(self, context: StoreContext, trigger: Trigger, mode: str) -> ScheduledRun:
        from context_graph.consolidation.plan import Mode

        if not self.runs.has(context.folder, trigger):
            self._log.info("dream wanted: store=%s trigger=%s mode=%s", context.folder.name, trigger, mode)
        return self.runs.add(ScheduledRun(Place(context.folder, context.project), trigger, Mode(mode)))

    def done(self, place: Place, mode: Mode, cooldown_s: float) -> None:
        """Note that a run of that store succeeded."""
        self.runs.done(place.store, mode, self.loop.time() + cooldown_s)

    def gave_way(self, scheduled: ScheduledRun) -> None:
        """Schedule again a run that was ended for a query."""
        self.runs.aborted(scheduled, self.loop.time())

    def failed(self, scheduled: ScheduledRun, cooldown_s: float) -> None:
        """Retry a failed run of the owner's own after a while, but not for ever."""
        if self.runs.failed(scheduled.place.store, self.loop.time() + max(_RETRY_S, cooldown_s)):
            self.runs.add(scheduled)
        else:
            name = scheduled.place.store.name
            self._log.error("store %s: no more automatic consolidations, too many have failed", name)

    def soon(self, seconds: float) -> bool:
        """Return whether a run may begin within so many seconds if no request comes."""
        first = self.runs.next(self.busy_at, self.loop.time())
        return first is not None and first[0] <= self.loop.time() + seconds

    def view(self, store: Path | None = None) -> list[dict[str, Any]]:
        """Return what is scheduled, of one store or all, the next first."""
        now = self.loop.time()
        rows: list[dict[str, Any]] = []
        for scheduled in self.runs.of(store):
            in_s = self.runs.due_at(scheduled, self.busy_at) - now
            rows.append(
                {
                    **_row(scheduled.place.store, scheduled.trigger, scheduled.mode, in_s),
                    "aborted": scheduled.aborts,
                }
            )
        for context in self._contexts():
            idle_at = self._idle_at(context) if store in (None, context.folder) else None
            if idle_at is not None:
                rows.append(_row(context.folder, Trigger.IDLE, context.settings.dream_idle, idle_at - now))
        return sorted(rows, key=lambda row: (row["in_s"] is None, row["in_s"]))

    def stop(self) -> None:
        """Start nothing more."""
        self._stopped = True
        self._stop_timer()
        for stop in self._clients.values():
            stop()
        self._clients.clear()

    def _client_gone(self, store: Path) -> None:
        self._clients.pop(store, None)
        for scheduled in self.runs.of(store):
            if scheduled.waits_for_client:
                scheduled.waits_for_client, scheduled.not_before = False, 0.0
        self.plan()


def _row(store: Path, trigger: Trigger, mode: str, in_s: float) -> dict[str, Any]:
    return {
        "store": store.name,
        "trigger": trigger.value,
        "mode": str(mode),
        "in_s": None if in_s == _NEVER else round(max(0.0, in_s), 1),
    }


def when_ended(
    loop: asyncio.AbstractEventLoop, pid: int, then: Callable[[], None]
) -> Callable[[], None] | None:
    """Have ``then`` called once, on the loop's thread, when process ``pid`` has ended or if it has already.
    Returns what stops the watch, and may be called again; None where it can't be watched.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return loop.call_soon(then).cancel
    except (OSError, OverflowError, AttributeError):  # not everywhere are there descriptors of processes
        return None
    watched = [handle]

    def stop() -> None:
        if watched:
            loop.remove_reader(handle)
            os.close(watched.pop())

    def ended() -> None:
        stop()
        then()

    loop.add_reader(handle, ended)
    return stop
