"""Says what is unsettled: of the memories told lately, how many are in doubt, how many were used, what to do.

Told is what hooks put into a context and what a tool's answer brought. Entropy is the share of these memories
that another contradicts, or whose files had changed when they were told. Coherence is the share that was used
after it: by words or a path in what the model did (`context.ledger`), by its id in a later call, or because
somebody confirmed it. Both are 0 while nothing was told.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from context_graph.model.memory import HIGH_ENTROPY, SuggestedAction

_LOG: Final = logging.getLogger(__name__)
FACT: Final = "pulse"
"""Name of the fact (`GraphStore.meta`) that holds what was told."""
LATELY: Final = 64
"""Memories that are kept, those told last."""
_VERSION: Final = 2
_ID_CHARS: Final = 8
_Z: Final = 1.96
"""Of a 95 % interval."""
_SETTLED_BY: Final = "link_memories, forget_memory, or get_memory with accept"
ENDED_BY: Final[Mapping[SuggestedAction, str]] = {
    SuggestedAction.CONSOLIDATE: _SETTLED_BY,
    SuggestedAction.TRIGGER_DREAM: _SETTLED_BY,
    SuggestedAction.EXPLORE: "store_memory",
    SuggestedAction.EPISTEMIC_ACTION: _SETTLED_BY,
    SuggestedAction.CLARIFY: _SETTLED_BY,
    SuggestedAction.CURATE: "what each of curation_tasks names under ended_by",
    SuggestedAction.READY: "",
}


class _State(NamedTuple):
    changed: bool
    """Whether what the memory rests on had changed when it was told."""
    used: bool


class Shares(NamedTuple):
    """Shares of what was told lately, each in [0, 1]; 0 of nothing."""

    entropy: float
    """In doubt."""
    coherence: float
    """Used."""
    memories: int
    """That they are shares of, at most LATELY."""


class Tellings:
    """The memories that one store's sessions were told last. Not thread-safe: used under Memex's lock."""

    def __init__(self) -> None:
        self._states: OrderedDict[UUID, _State] = OrderedDict()
        self.changed = False
        """Whether there is something to be written."""

    def tell(self, memories: Mapping[UUID, bool]) -> None:
        """Note that ``memories`` were told, and whether their files had changed: each may be used anew."""
        for node, changed in memories.items():
            self._states[node] = _State(changed, used=False)
            self._states.move_to_end(node)
        while len(self._states) > LATELY:
            self._states.popitem(last=False)
        self.changed = self.changed or bool(memories)

    def use(self, nodes: Iterable[UUID]) -> None:
        """Note that ``nodes`` were used after they had been told; others are passed over."""
        for node in self._states.keys() & nodes:
            self._states[node] = self._states[node]._replace(used=True)
            self.changed = True

    def confirm(self, node: UUID) -> None:
        """Note that somebody says that it holds."""
        if node in self._states:
            self._states[node] = _State(changed=False, used=True)
            self.changed = True

    def drop(self, nodes: Iterable[UUID]) -> None:
        """Leave out ``nodes``: they are forgotten, or others hold instead."""
        for node in self._states.keys() & nodes:
            del self._states[node]
            self.changed = True

    def change_of(self, nodes: Iterable[UUID]) -> str:
        """Return, by its id, which of ``nodes`` was told after its files had changed; "" for none."""
        changed = (node for node in nodes if node in self._states and self._states[node].changed)
        return next((f"[{str(node)[:_ID_CHARS]}] rests on what has changed since" for node in changed), "")

    def shares(self, is_contradicted: Callable[[UUID], bool]) -> Shares:
        """Return the two numbers of a pulse. Cost: some 10 us."""
        memories = len(self._states)
        if not memories:
            return Shares(0.0, 0.0, 0)
        doubted = sum(state.changed or is_contradicted(node) for node, state in self._states.items())
        return Shares(
            doubted / memories, sum(state.used for state in self._states.values()) / memories, memories
        )

    def as_fact(self) -> dict[str, Any]:
        """JSON-able, some 2.5 KB."""
        rows = [[node.hex, int(state.changed), int(state.used)] for node, state in self._states.items()]
        return {"version": _VERSION, "told": rows}

    @classmethod
    def from_fact(cls, fact: Mapping[str, Any] | None) -> Tellings:
        """Return what `as_fact` gave; nothing was told for None, another version or other content."""
        made = cls()
        if fact is None or fact.get("version") != _VERSION:
            return made
        try:
            for node, changed, used in fact["told"][-LATELY:]:
                made._states[UUID(hex=node)] = _State(bool(changed), bool(used))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            _LOG.warning("what the store's sessions were told can't be read and begins anew: %s", error)
            return cls()
        return made


def action_for(shares: Shares) -> SuggestedAction:
    """Return seed 003's action where most of what was told is in doubt, else ready (REQ-CORE-004).

    Most is so only beyond chance, so a few memories are never enough: the lower end of the share's 95 %
    interval (Wilson's) counts. A coherence that is low by itself asks for nothing: no act would raise it.
    """
    share, count = shares.entropy, shares.memories
    if not count:
        return SuggestedAction.READY
    weight = 1.0 + _Z * _Z / count
    middle = share + _Z * _Z / (2.0 * count)
    half = _Z * math.sqrt(share * (1.0 - share) / count + _Z * _Z / (4.0 * count * count))
    if (middle - half) / weight <= HIGH_ENTROPY:
        return SuggestedAction.READY
    return SuggestedAction.for_state(share, shares.coherence)
