"""A run as one batch: what it changes, what was there before, its record; all of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from context_graph.store.edge_uses import with_uses
from context_graph.store.edits import Edit, Group, Uses, Write
from context_graph.store.graph import GraphStore
from context_graph.store.graph_batch import Work
from context_graph.store.graph_layout import ACCESS, META
from context_graph.store.graph_records import Op, encode_meta
from context_graph.store.history_layout import ACCESS_AFTER, Image
from context_graph.store.node_records import Access, decode_access, encode_access
from context_graph.store.runs import Run

__all__ = ["Order", "changed_since", "unchanged", "write_run"]

_MOST_USES = (1 << 32) - 1


@dataclass(slots=True, kw_only=True)
class Order:
    """What is to be written as one run."""

    mode: str
    edits: Sequence[Edit]
    uses: Sequence[Sequence[Uses]] = ()
    """As `Group.uses`."""
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Facts about the store (`GraphStore.meta`) to be written by name."""
    records: Sequence[Write] = ()
    """The same as they are on the disk, None for one that is to go."""
    counts: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    undoes: Run | None = None


def changed_since(store: GraphStore, seq: int) -> set[bytes]:
    """Ids of the memories and edges that were changed after commit ``seq``, and of the ends of new edges."""
    changed: set[bytes] = set()
    for change in store.changes_after(seq):
        changed.add(change.subject)
        if change.op == Op.LINK:
            edge = store.edges.get(change.subject)
            if edge is not None:
                changed |= {edge.source_id.bytes, edge.target_id.bytes}
    return changed


def unchanged(groups: Iterable[Group], changed: set[bytes]) -> list[Group]:
    """Those of ``groups`` that need nothing of what was changed."""
    return [group for group in groups if changed.isdisjoint(group.needs)] if changed else list(groups)


def write_run(store: GraphStore, order: Order) -> tuple[Run | None, list[Edit]]:
    """Write a run in one batch and return it with all that it edited; None if there is nothing to write.

    Raises:
        InvalidParamsError: A fact or the details that no record can hold.
        StoreError: The write failed; nothing of it is stored.
    """
    facts = [*order.records, *_fact_writes(order.facts)]
    before = [Image(META, write.key, store.engine.get(META, write.key)) for write in facts]
    pairs = [
        (write, image) for write, image in zip(facts, before, strict=True) if write.value != image.before
    ]
    if not order.edits and not pairs:
        return None, []
    work, token = store.begin(), uuid4()
    for write, _ in pairs:
        work.put(write)
    work.note(Op.RUN, token.bytes, [image for _, image in pairs])
    first = work.seq
    accesses = _accesses(store, order.uses)
    edits = [_with_access(edit, accesses) if edit.op == Op.UPDATE else edit for edit in order.edits]
    edits = with_uses(store.engine, edits)
    for edit in edits:
        work.edit(edit)
    run = Run(
        token=token,
        mode=order.mode,
        at_ms=work.at_ms,
        first=first,
        last=work.seq,
        counts=order.counts,
        details=order.details,
        undoes=None if order.undoes is None else order.undoes.token,
    )
    _put_runs(store, work, run, order.undoes)
    store.commit(work)
    return run, edits


def _put_runs(store: GraphStore, work: Work, run: Run, undone: Run | None) -> None:
    store.history.put_run(work.batch, run)
    if undone is not None:
        store.history.put_run(work.batch, replace(undone, undone_by=run.token))


def _fact_writes(facts: Mapping[str, Mapping[str, Any]]) -> list[Write]:
    return [
        Write(META, name.encode(), encode_meta(name.encode(), content)) for name, content in facts.items()
    ]


def _accesses(store: GraphStore, merges: Sequence[Sequence[Uses]]) -> dict[bytes, tuple[Image, bytes]]:
    """Survivor -> (its accesses before, its accesses with those of the others), as they are by now."""
    members = [uses.id for merge in merges for uses in merge]
    there = dict(zip(members, store.engine.get_many(ACCESS, members), strict=True))
    found = {}
    for merge in merges:
        survivor = merge[0].id
        all_uses = [_access(uses, there[uses.id]) for uses in merge]
        times = min(_MOST_USES, sum(one.times for one in all_uses))
        if times:
            record = encode_access(survivor, Access(times, max(one.last_ms for one in all_uses)))
            found[survivor] = Image(ACCESS, survivor, there[survivor]), record
    return found


def _access(uses: Uses, record: bytes | None) -> Access:
    return Access(uses.times, uses.last_ms) if record is None else decode_access(uses.id, record)


def _with_access(edit: Edit, accesses: Mapping[bytes, tuple[Image, bytes]]) -> Edit:
    found = accesses.get(edit.subject)
    if found is None:
        return edit
    before, record = found
    return edit._replace(
        writes=[*edit.writes, Write(ACCESS, edit.subject, record)],
        images=[*edit.images, before, Image(ACCESS_AFTER, edit.subject, record)],
    )
