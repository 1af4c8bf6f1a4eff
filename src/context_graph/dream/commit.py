"""A prepared consolidation becomes one batch of the store, without what was changed meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from context_graph.dream.plan import Plan
from context_graph.dream.prepared import KINDS, Prepared, reduced
from context_graph.memory import runs
from context_graph.memory.reading import Reading
from context_graph.store.edits import Group
from context_graph.store.run_batch import Order, changed_since, unchanged

__all__ = ["Committed", "Skipped", "commit"]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A change that was not made: something of it had changed since the plan was made."""

    kind: str
    """merge, prune, link or reweight."""
    ids: tuple[UUID, ...]
    """The memories, or the edge."""


@dataclass(frozen=True, slots=True)
class Committed:
    """What a commit did."""

    token: UUID | None
    """By which it is undone; None if there was nothing to do, and nothing was written."""
    at_ms: int
    """Unix ms; 0 if nothing was written."""
    plan: Plan
    """What was done."""
    skipped: tuple[Skipped, ...]
    memories: int
    """Live memories there are now."""


def commit(memex: Reading, prepared: Prepared, *, details: Mapping[str, Any] | None = None) -> Committed:
    """Write what was prepared, as one run: all of it that can still be done, or nothing if the write fails.

    Args:
        details: What is to be kept with the run, a small JSON object.

    Raises:
        ValueError: It was prepared from another store.
        StoreError: The write failed; nothing of it is stored.

    Cost: holds the store's lock for some 0.1 ms a merge.
    """
    with memex.core.turn("consolidate", writes=True) as core:
        if core.store.uid != prepared.uid:
            raise ValueError("this consolidation was prepared from another store")
        groups = unchanged(prepared.groups, changed_since(core.store, prepared.plan.seq))
        plan = reduced(prepared.plan, (item for group in groups for item in group.items))
        order = Order(
            mode=plan.mode.value,
            edits=[edit for group in groups for edit in group.edits],
            uses=[uses for group in groups for uses in group.uses],
            records=prepared.records,
            counts=plan.changes(),
            details=details or {},
        )
        run = runs.write(core, order)
        return Committed(
            token=None if run is None else run.token,
            at_ms=0 if run is None else run.at_ms,
            plan=plan,
            skipped=_skipped(prepared, groups),
            memories=core.store.counters.nodes,
        )


def _skipped(prepared: Prepared, done: list[Group]) -> tuple[Skipped, ...]:
    if len(done) == len(prepared.groups):
        return ()
    items = {item for group in done for item in group.items}
    missed = [item for group in prepared.groups for item in group.items if item not in items]
    return tuple(
        Skipped(kind, _ids(kind, getattr(prepared.plan, KINDS[kind])[number])) for kind, number in missed
    )


def _ids(kind: str, item: Any) -> tuple[UUID, ...]:
    if kind == "merge":
        return (item.survivor, *item.losers)
    if kind == "prune":
        return (item.id,)
    return (item.source, item.target) if kind == "link" else (item.edge,)
