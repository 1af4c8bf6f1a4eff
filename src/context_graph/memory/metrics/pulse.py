"""Decides what a pulse suggests: from the store's own past, and from what was followed already.

A store's entropy and coherence say little by themselves: a store of many subjects has high entropy for ever,
whatever is done about it. So they are compared with the store's own last values, and an action that was
followed is over until enough has come in. Both are kept in the store (`FACT`), so that a restart asks nothing
again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from context_graph.memory.metrics.review_tasks import Pending
from context_graph.model.memory import SuggestedAction

_LOG: Final = logging.getLogger(__name__)
FACT: Final = "pulse"
"""Name of the fact (`GraphStore.meta`) that holds the past."""
MAX_PAST: Final = 64
"""Values that are kept; with one for each 64th of growth they reach back to a third of the store's size."""
LEAST_PAST: Final = 16
"""Fewer say nothing about what is usual."""
FIRST_AT: Final = 8
"""Memories from which values are kept: before, both numbers rise with every memory."""
_STEPS: Final = 64
_NEWS_LEAST: Final = 4
_NEWS_SHARE: Final = 16
_VERSION: Final = 1


class Deed(StrEnum):
    """What was done."""

    STORED = "stored"
    RECALLED = "recalled"
    LINKED = "linked"
    FORGOT = "forgot"
    ACCEPTED = "accepted"
    CONSOLIDATED = "consolidated"


_ENDS: Final[Mapping[Deed, tuple[SuggestedAction, ...]]] = {
    Deed.STORED: (SuggestedAction.EXPLORE, SuggestedAction.EPISTEMIC_ACTION),
    Deed.RECALLED: (SuggestedAction.EXPLORE, SuggestedAction.EPISTEMIC_ACTION),
    Deed.LINKED: (SuggestedAction.CLARIFY, SuggestedAction.CURATE),
    Deed.FORGOT: (SuggestedAction.CLARIFY, SuggestedAction.CURATE),
    Deed.ACCEPTED: (SuggestedAction.CLARIFY, SuggestedAction.CURATE),
    Deed.CONSOLIDATED: (SuggestedAction.CONSOLIDATE, SuggestedAction.TRIGGER_DREAM, SuggestedAction.CLARIFY),
}
"""The actions that each deed follows. A consolidation counts unasked too: the owner makes some by itself."""
ENDED_BY: Final[Mapping[SuggestedAction, str]] = {
    SuggestedAction.CONSOLIDATE: "consolidate_memories",
    SuggestedAction.TRIGGER_DREAM: "consolidate_memories with mode deep or rem",
    SuggestedAction.EXPLORE: "store_memory, recall_memory or inject_context",
    SuggestedAction.EPISTEMIC_ACTION: "recall_memory, inject_context or store_memory",
    SuggestedAction.CLARIFY: "link_memories, forget_memory or consolidate_memories",
    SuggestedAction.CURATE: "what each of curation_tasks names under ended_by",
    SuggestedAction.READY: "",
}


class Suggestion(NamedTuple):
    """What a pulse suggests, and why."""

    action: SuggestedAction
    reason: str


class PulsePast:
    """The last values of one store's entropy and coherence, and what was asked and followed. Under Memex's
    lock."""

    def __init__(self) -> None:
        self._entropy: list[int] = []
        self._coherence: list[int] = []
        """In hundredths: smaller differences are none."""
        self._sampled = 0
        """The store's commit number at the last value."""
        self.asked = SuggestedAction.READY
        """What the last pulse suggested."""
        self._followed: dict[SuggestedAction, int] = {}
        """Action -> commit number at which it was followed last."""
        self.changed = False
        """Whether there is something to be written."""

    def due(self, memories: int, arrived: int) -> bool:
        """Return whether to `sample` a store of so many memories, of which ``arrived`` came since
        `sampled`."""
        return memories >= FIRST_AT and arrived >= max(1, memories // _STEPS)

    def sample(self, entropy: float, coherence: float, seq: int) -> None:
        """Keep the values, as of the store's commit number ``seq``."""
        self._entropy = [*self._entropy, _hundredths(entropy)][-MAX_PAST:]
        self._coherence = [*self._coherence, _hundredths(coherence)][-MAX_PAST:]
        self._sampled = seq
        self.changed = True

    @property
    def sampled(self) -> int:
        """The commit number of the last values."""
        return self._sampled

    def did(self, deed: Deed, seq: int) -> None:
        """Note that something was done at commit ``seq``: what it ends is not asked for again for a while."""
        for action in _ENDS[deed]:
            if action is self.asked or deed is Deed.CONSOLIDATED:
                self._followed[action] = seq
                self.changed = True

    def suggestion(
        self, entropy: float, coherence: float, memories: int, pending: Pending, arrived: Callable[[int], int]
    ) -> Suggestion:
        """Return what to do now (docs/dev/memory-metrics.md has the table), and note that it was asked for.

        Args:
            arrived: Commit number -> live and forgotten memories that came after it.
        """
        suggestion = self._suggestion(entropy, coherence, memories, pending, arrived)
        if suggestion.action is not self.asked:
            self.asked = suggestion.action
            self.changed = True
        return suggestion

    def _suggestion(
        self, entropy: float, coherence: float, memories: int, pending: Pending, arrived: Callable[[int], int]
    ) -> Suggestion:
        if not memories:
            return Suggestion(SuggestedAction.EXPLORE, "there are no memories yet")
        news = max(_NEWS_LEAST, memories // _NEWS_SHARE)
        over = {action for action, seq in self._followed.items() if arrived(seq) < news}
        if pending.pairs or (pending.orphans and SuggestedAction.CURATE not in over):
            return Suggestion(SuggestedAction.CURATE, "curation_tasks wait")
        if len(self._entropy) < LEAST_PAST:
            return Suggestion(SuggestedAction.READY, "the store is too young to know what is usual for it")
        high = rank(_hundredths(entropy), self._entropy), rank(_hundredths(coherence), self._coherence)
        action = SuggestedAction.for_state(*high)
        reason = (
            f"entropy is above {high[0]:.0%}, coherence above {high[1]:.0%} of this store's last "
            f"{len(self._entropy)} values"
        )
        if action in over:
            return Suggestion(SuggestedAction.READY, f"{reason}; {action.value} was followed")
        return Suggestion(action, reason)

    def as_fact(self) -> dict[str, Any]:
        """JSON-able, some 600 bytes."""
        return {
            "version": _VERSION,
            "entropy": self._entropy,
            "coherence": self._coherence,
            "sampled": self._sampled,
            "asked": self.asked.value,
            "followed": {action.value: seq for action, seq in self._followed.items()},
        }

    @classmethod
    def from_fact(cls, fact: Mapping[str, Any] | None) -> PulsePast:
        """Return what `as_fact` gave; an empty past for None, another version or other content."""
        made = cls()
        if fact is None or fact.get("version") != _VERSION:
            return made
        try:
            made._entropy = [int(value) for value in fact["entropy"]][-MAX_PAST:]
            made._coherence = [int(value) for value in fact["coherence"]][-MAX_PAST:]
            made._sampled = int(fact["sampled"])
            made.asked = SuggestedAction(fact["asked"])
            made._followed = {SuggestedAction(name): int(seq) for name, seq in fact["followed"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            _LOG.warning("the store's past values can't be read and begin anew: %s", error)
            return cls()
        return made


def rank(value: float, past: Sequence[float]) -> float:
    """Return the share of ``past`` below ``value``, equal ones counting half; in [0, 1]. ``past`` is not
    empty."""
    below = sum(earlier < value for earlier in past)
    return (below + sum(earlier == value for earlier in past) / 2.0) / len(past)


def _hundredths(value: float) -> int:
    return round(100.0 * value)
