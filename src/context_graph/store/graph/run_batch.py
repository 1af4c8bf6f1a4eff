"""Writes a run as one batch: its changes, what was there before, and its record; all of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from context_graph.store.engine.cursor import Write
from context_graph.store.graph.edits import Edit, Group, Uses, with_uses
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.history import ACCESS_AFTER, Image
from context_graph.store.graph.node_records import Access, decode_access, encode_access
from context_graph.store.graph.records import Op
from context_graph.store.graph.runs import Run
from context_graph.store.graph_layout import ACCESS, META

_MOST_USES = (1 << 32) - 1


@dataclass(slots=True, kw_only=True)
class Changes:
    """What is to be written as one run."""

    mode: str
    edits: Sequence[Edit]
    uses: Sequence[Sequence[Uses]] = ()
    """As `Group.uses`."""
    records: Sequence[Write] = ()
    """Facts about the store (`GraphStore.meta`) as they are on the disk, None for one that is to go."""
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


def write_run(store: GraphStore, changes: Changes) -> tuple[Run | None, list[Edit]]:
    """Write a run in one batch and return it with all that it edited; None if there is nothing to write.

    Raises:
        InvalidParamsError: Details that no record can hold.
        StoreError: The write failed; nothing of it is stored.
    """
    before = (Image(META, write.key, store.engine.get(META, write.key)) for write in changes.records)
    pairs = [
        (write, image)
        for write, image in zip(changes.records, before, strict=True)
        if write.value != image.before
    ]
    if not changes.edits and not pairs:
        return None, []
    work, token = store.begin(), uuid4()
    work.edit(Edit(Op.RUN, token.bytes, [write for write, _ in pairs], [image for _, image in pairs]))
    first = work.seq
    accesses = _accesses(store, changes.uses)
    edits = [_with_access(edit, accesses) if edit.op == Op.UPDATE else edit for edit in changes.edits]
    edits = with_uses(store.engine, edits)
    for edit in edits:
        work.edit(edit)
    run = Run(
        token=token,
        mode=changes.mode,
        at_ms=work.at_ms,
        first=first,
        last=work.seq,
        counts=changes.counts,
        details=changes.details,
        undoes=None if changes.undoes is None else changes.undoes.token,
    )
    store.history.put_run(work.batch, run)
    if changes.undoes is not None:
        store.history.put_run(work.batch, replace(changes.undoes, undone_by=run.token))
    store.commit(work)
    return run, edits


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
