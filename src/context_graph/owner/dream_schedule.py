"""When the owner consolidates by itself: crises, high entropy, ended sessions and idleness become wishes.

A wish becomes a run in a quiet time. There is one timer, and none while there is nothing to wait for.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from context_graph.owner.dream_jobs import Place, Trigger
from context_graph.owner.dream_requests import trigger_of
from context_graph.owner.dream_wishes import EntropyWatch, Wish, Wishes

if TYPE_CHECKING:
    from context_graph.dream.plan import Mode
    from context_graph.owner.dream_notes import DreamNotes
    from context_graph.owner.store_context import StoreContext

__all__ = ["Schedule"]

_CLIENT_S: Final = 60.0
"""How long a run after a session's end waits for a client that does not go: it may have begun another."""
_RETRY_S: Final = 60.0
"""After a run that failed, at least."""


class Schedule:
    """The wishes of one owner, and the timer that fulfils them.

    Args:
        contexts: The stores that are open now.
        notes: What is remembered of a store's last run.
        start: Begins the run that a wish is for; called only when ``free`` says so.
        free: Whether no other run is under way or waited for.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        contexts: Callable[[], Iterable[StoreContext]],
        notes: Callable[[Path], DreamNotes],
        *,
        start: Callable[[Wish], None],
        free: Callable[[], bool],
        log: logging.Logger,
    ) -> None:
        self._loop = loop
        self._contexts = contexts
        self._notes = notes
        self._start = start
        self._free = free
        self._log = log
        self.wishes = Wishes()
        self.busy_at = loop.time()
        """When the last request came."""
        self._entropy: dict[Path, EntropyWatch] = {}
        self._clients: dict[Path, int] = {}
        """Descriptors of client processes whose sessions have ended."""
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    # What is told

    def session_ended(self, store: Path, client: int) -> None:
        """The session of process ``client`` ends: a run for it waits until that process is gone."""
        if store in self._clients or client <= 0:
            return
        try:
            handle = os.pidfd_open(client)
        except (OSError, AttributeError):
            return  # gone already, or not to be watched here: the quiet time must do
        self._clients[store] = handle
        self._loop.add_reader(handle, self._client_gone, store)

    def look(self) -> None:
        """After answers: take up new requests and figures. Cost: some us a store when there is nothing."""
        if self._stopped:
            return
        changed = False
        for context in self._contexts():
            if context.sessions.dream_asked:
                context.sessions.dream_asked = False
                changed |= self._take_requests(context)
            changed |= self._sample(context)
        if changed or (self._timer is None and self._due() is not None):
            self.plan()

    def _take_requests(self, context: StoreContext) -> bool:
        settings = context.settings
        if not context.dreams_by_itself:
            return False
        from context_graph.dream.plan import Mode

        found = context.store.dream_queue.pending()
        for request in found:
            trigger = trigger_of(request)
            mode = Mode.LIGHT
            if trigger is Trigger.SESSION_END:
                if settings.dream_session_end == "off":
                    continue
                mode = Mode(settings.dream_session_end)
            wish = self._wish(context, trigger, mode)
            wish.session_id = str(request["session_id"])
            if trigger is Trigger.SESSION_END and context.folder in self._clients:
                wish.waits_for_client, wish.not_before = True, self._loop.time() + _CLIENT_S
        return bool(found)

    def _sample(self, context: StoreContext) -> bool:
        """Note the store's entropy if it has changed; whether there is something new to wait for."""
        seq = context.memory_seq()
        if seq is None:
            return False
        watch = self._entropy.get(context.folder)
        if watch is None:
            watch = self._entropy[context.folder] = EntropyWatch(context.settings.dream_entropy_s)
        if watch.seen == seq:
            return False
        entropy = context.memory.entropy_if_loaded()
        if entropy is None:
            return False
        watch.seen = seq
        before = watch.due_at
        watch.sample(entropy, self._loop.time())
        return watch.due_at != before

    # What is due

    def plan(self) -> None:
        """Begin what is due, or have the timer ring when the next thing may be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._stopped or not self._free():
            return  # whoever is under way plans anew when it is over
        now = self._loop.time()
        self._wish_by_time(now)
        first = self.wishes.next(self.busy_at, now)
        if first is not None and first[0] <= now:
            self.wishes.begun(first[1])
            self._start(first[1])
            return
        due = self._due()
        if due is not None:
            self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.plan()

    def _due(self) -> float | None:
        """When something may be to be done next, if no request comes before; None: nothing is waited for."""
        times: list[float | None] = []
        for context in self._contexts():
            watch = self._entropy.get(context.folder)
            times += [watch.due_at if watch is not None else None, self._idle_at(context)]
        first = self.wishes.next(self.busy_at, self._loop.time())
        times.append(first[0] if first is not None else None)
        return min((at for at in times if at is not None), default=None)

    def _idle_at(self, context: StoreContext) -> float | None:
        """When the store will have been idle long enough; None if it has not changed since its last run.

        Nor is an empty one wished for, however it became so: there would be no run that could be noted, and
        the wish would come again at once.
        """
        settings, seq = context.settings, context.memory_seq()
        if not context.dreams_by_itself or settings.dream_idle == "off" or not seq:
            return None
        if not context.memory_count() or self.wishes.has(context.folder):
            return None
        if seq == self._notes(context.folder).seq:
            return None
        return self.busy_at + settings.dream_idle_s

    def _wish_by_time(self, now: float) -> None:
        """Wish for the runs that time alone asks for."""
        from context_graph.dream.plan import Mode

        for context in self._contexts():
            settings = context.settings
            watch = self._entropy.get(context.folder)
            if watch is not None and watch.due_at is not None and watch.due_at <= now:
                watch.asked()
                if context.dreams_by_itself and settings.dream_idle != "off":
                    self._wish(context, Trigger.ENTROPY, Mode(settings.dream_idle))
            idle_at = self._idle_at(context)
            if idle_at is not None and idle_at <= now:
                self._wish(context, Trigger.IDLE, Mode(settings.dream_idle))

    def _wish(self, context: StoreContext, trigger: Trigger, mode: Mode) -> Wish:
        place = Place(context.folder, context.project)
        if not self.wishes.has(context.folder, trigger):
            self._log.info("dream wanted: store=%s trigger=%s mode=%s", context.folder.name, trigger, mode)
        return self.wishes.add(Wish(place, trigger, mode))

    # What became of a run

    def done(self, place: Place, mode: Mode, cooldown_s: float) -> None:
        """A run of that store went through."""
        self.wishes.done(place.store, mode, self._loop.time() + cooldown_s)

    def gave_way(self, wish: Wish) -> None:
        """A run was ended for a query; it is wanted again."""
        self.wishes.aborted(wish, self._loop.time())

    def failed(self, wish: Wish, cooldown_s: float) -> None:
        """A run of ours failed: once more after a while, but not for ever."""
        if self.wishes.failed(wish.place.store, self._loop.time() + max(_RETRY_S, cooldown_s)):
            self.wishes.add(wish)
        else:
            name = wish.place.store.name
            self._log.error("store %s: no more dreams of the owner's own, too many have failed", name)

    def soon(self, seconds: float) -> bool:
        """Whether a run may begin within so many seconds if no request comes."""
        first = self.wishes.next(self.busy_at, self._loop.time())
        return first is not None and first[0] <= self._loop.time() + seconds

    def view(self, store: Path | None = None) -> list[dict[str, Any]]:
        """What is scheduled, of one store or all, the next first."""
        now = self._loop.time()
        rows: list[dict[str, Any]] = []
        for wish in self.wishes.of(store):
            at = self.wishes.due_at(wish, self.busy_at)
            row = _row(wish.place.store, wish.trigger, wish.mode.value, at - now)
            row["aborted"] = wish.aborts
            rows.append(row)
        for context in self._contexts():
            if store not in (None, context.folder):
                continue
            at_idle = self._idle_at(context)
            if at_idle is not None:
                rows.append(_row(context.folder, Trigger.IDLE, context.settings.dream_idle, at_idle - now))
        return sorted(rows, key=lambda row: (row["in_s"] is None, row["in_s"]))

    def stop(self) -> None:
        """Start nothing more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for store in list(self._clients):
            self._forget_client(store)

    def _client_gone(self, store: Path) -> None:
        self._forget_client(store)
        for wish in self.wishes.of(store):
            if wish.waits_for_client:
                wish.waits_for_client, wish.not_before = False, 0.0
        self.plan()

    def _forget_client(self, store: Path) -> None:
        handle = self._clients.pop(store)
        self._loop.remove_reader(handle)
        os.close(handle)


def _row(store: Path, trigger: Trigger, mode: str, in_s: float) -> dict[str, Any]:
    never = in_s == float("inf")
    return {
        "store": store.name,
        "trigger": trigger.value,
        "mode": mode,
        "in_s": None if never else round(max(0.0, in_s), 1),
    }
