"""What the owner wants to consolidate by itself, and when it may: one wish a store and reason.

Knows neither clock nor processes: times are the caller's, in monotonic seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from context_graph.owner.dream_jobs import Place, Trigger

if TYPE_CHECKING:
    from context_graph.dream.plan import Mode

__all__ = ["ENTROPY_HIGH", "QUIET_S", "EntropyWatch", "Wish", "Wishes"]

QUIET_S: Final = 2.0
"""Without a request, before a run of the owner's own begins."""
ENTROPY_HIGH: Final = 0.7
"""A store's entropy above which, when it lasts, the store is to be consolidated."""
_BACK_OFF_MOST_S: Final = 60.0
_FAILURES_MOST: Final = 3
"""Runs of a store in a row that may fail before the owner stops trying by itself."""


@dataclass(slots=True)
class Wish:
    """A run that the owner wants."""

    place: Place
    trigger: Trigger
    mode: Mode
    session_id: str | None = None
    not_before: float = 0.0
    aborts: int = 0
    """How often it gave way to a query."""
    waits_for_client: bool = False
    """The client whose session ended is still there."""


_URGENCY: Final = {trigger: at for at, trigger in enumerate(Trigger)}


class Wishes:
    """All wishes of one owner."""

    def __init__(self) -> None:
        self._wishes: dict[tuple[Path, Trigger], Wish] = {}
        self._rests: dict[Path, float] = {}
        """When a store's cool-down ends."""
        self._failures: dict[Path, int] = {}

    def add(self, wish: Wish) -> Wish:
        """Want it, unless it is wanted already; the wish that holds now."""
        key = wish.place.store, wish.trigger
        known = self._wishes.get(key)
        if known is None:
            self._wishes[key] = known = wish
        else:
            known.session_id, known.mode = wish.session_id, wish.mode
            known.not_before = max(known.not_before, wish.not_before)
            known.waits_for_client |= wish.waits_for_client
        return known

    def has(self, store: Path, trigger: Trigger | None = None) -> bool:
        """Whether a run of that store (for that reason) is wanted."""
        return any(key[0] == store and trigger in (None, key[1]) for key in self._wishes)

    def of(self, store: Path | None = None) -> list[Wish]:
        """The wishes of one store, or all."""
        return [wish for wish in self._wishes.values() if store in (None, wish.place.store)]

    def due_at(self, wish: Wish, busy_at: float) -> float:
        """When it may begin, if no request comes after ``busy_at``; inf in a store that keeps failing."""
        store = wish.place.store
        if self._failures.get(store, 0) >= _FAILURES_MOST:
            return float("inf")
        return max(wish.not_before, self._rests.get(store, 0.0), busy_at + QUIET_S)

    def next(self, busy_at: float, now: float) -> tuple[float, Wish] | None:
        """The wish to fulfil first, and when: of those that are due the most urgent."""
        found = [(max(now, self.due_at(wish, busy_at)), wish) for wish in self._wishes.values()]
        found = [(at, wish) for at, wish in found if at != float("inf")]
        return min(found, key=lambda one: (one[0], _URGENCY[one[1].trigger]), default=None)

    def begun(self, wish: Wish) -> None:
        """It is being fulfilled."""
        self._wishes.pop((wish.place.store, wish.trigger), None)

    def aborted(self, wish: Wish, now: float) -> None:
        """It gave way to a query and is wanted again, later each time."""
        wish.aborts += 1
        wish.not_before = now + min(QUIET_S * 2 ** (wish.aborts - 1), _BACK_OFF_MOST_S)
        self.add(wish)

    def done(self, store: Path, mode: Mode, rest_until: float) -> None:
        """A run of that mode has been: it is what the wishes of this store were for, but for deeper ones."""
        from context_graph.dream.plan import Mode

        ranks = list(Mode)
        for key, wish in list(self._wishes.items()):
            if key[0] == store and ranks.index(wish.mode) <= ranks.index(mode):
                del self._wishes[key]
        self._rests[store] = rest_until
        self._failures.pop(store, None)

    def failed(self, store: Path, rest_until: float) -> bool:
        """A run of the owner's own failed; whether the next one will be tried."""
        self._failures[store] = self._failures.get(store, 0) + 1
        self._rests[store] = rest_until
        return self._failures[store] < _FAILURES_MOST


class EntropyWatch:
    """Follows one store's entropy: high for long enough, without a dip, asks for one run an excursion.

    Args:
        lasts_s: How long that is.
    """

    __slots__ = ("_asked", "_lasts_s", "_since", "seen")

    def __init__(self, lasts_s: float) -> None:
        self._lasts_s = lasts_s
        self.seen = -1
        """The store's change number when it was looked at last."""
        self._since: float | None = None
        self._asked = False

    def sample(self, entropy: float, now: float) -> None:
        """It is ``entropy``, in [0, 1], from now on."""
        if entropy <= ENTROPY_HIGH:
            self._since, self._asked = None, False
        elif self._since is None:
            self._since = now

    @property
    def due_at(self) -> float | None:
        """When it will have been high for long enough; None if it is not, or has been asked for."""
        return None if self._since is None or self._asked else self._since + self._lasts_s

    def asked(self) -> None:
        """A run was asked for; the next one only after a dip."""
        self._asked = True
