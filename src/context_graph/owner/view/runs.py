"""Makes the rows of consolidations, and of what one of them changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final
from uuid import UUID

from context_graph.memory.memex import Memex
from context_graph.memory.runs import run_named
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import Tombstone
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.view.memories import one_line, text_of
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.history import Entry, Run
from context_graph.store.graph.node_records import decode_node
from context_graph.store.graph.records import Op, decode_edge
from context_graph.store.layout import EDGES, NODES
from context_graph.view.rows import RunChange, RunDetail, RunRow

_ORDER: Final = {Op.FORGET: 0, Op.LINK: 1, Op.UNLINK: 2, Op.RESTORE: 3, Op.RELINK: 4, Op.UPDATE: 5}
"""What a person wants to see first."""
_READ: Final = 20_000
"""Changes of a run that are looked at."""


def run_rows(context: StoreContext, *, limit: int = 100) -> list[RunRow]:
    """Return the consolidations of the last 30 days, newest first."""
    if not context.uses_memory():
        return []
    memex = context.memory
    with memex.uncounted():
        return [run_row(run) for run in memex.runs(limit)]


def run_row(run: Run) -> RunRow:
    return RunRow(
        token=str(run.token),
        at_ms=run.at_ms,
        mode=run.mode,
        trigger=str(run.details.get("trigger", "")),
        counts=run.counts,
        undoes="" if run.undoes is None else str(run.undoes),
        undone_by="" if run.undone_by is None else str(run.undone_by),
    )


def run_detail(context: StoreContext, token: str, *, limit: int = 200) -> RunDetail:
    """Return one run as a difference: what was merged, forgotten and linked first, then what else changed.

    Raises GraphQueryError if there is no such run. Cost: some 50 us a change.
    """
    memex = context.memory
    with memex.uncounted(), memex.core.operation("runs") as core:
        run = run_named(core.store, token)
        entries = [
            entry
            for entry in islice(core.store.history.between(run.first, run.last), _READ)
            if entry.op in _ORDER
        ]
        entries.sort(key=lambda entry: (_ORDER[entry.op], entry.seq))
        changes = list(islice(_changes(memex, core.store, entries), limit))
        return RunDetail(row=run_row(run), changes=changes, total=len(entries))


def _changes(memex: Memex, store: GraphStore, entries: list[Entry]) -> Iterator[RunChange]:
    text = text_of(memex)
    for entry in entries:
        if entry.op in (Op.LINK, Op.UNLINK, Op.RELINK):
            edge = _edge(store, entry)
            if edge is not None:
                yield RunChange(
                    kind={Op.LINK: "linked", Op.UNLINK: "unlinked"}.get(entry.op, "reweighted"),
                    id=str(edge.source_id),
                    text=text(edge.source_id),
                    reason=_why(edge),
                    into_id=str(edge.target_id),
                    into_text=text(edge.target_id),
                )
            continue
        subject = UUID(bytes=entry.subject)
        stone = memex.tombstone(subject) if entry.op == Op.FORGET else None
        into = None if stone is None else stone.merged_into
        yield RunChange(
            kind=_kind(entry, stone),
            id=str(subject),
            text=text(subject) or _before(entry),
            reason="" if stone is None or into is not None else stone.reason,
            into_id="" if into is None else str(into),
            into_text="" if into is None else text(into),
        )


def _kind(entry: Entry, stone: Tombstone | None) -> str:
    if entry.op == Op.FORGET:
        return "merged" if stone is not None and stone.merged_into is not None else "pruned"
    return "restored" if entry.op == Op.RESTORE else "changed"


def _why(edge: GraphEdge) -> str:
    why = edge.metadata.get("why")
    return f"{edge.relationship_type}, {why}" if why else edge.relationship_type


def _edge(store: GraphStore, entry: Entry) -> GraphEdge | None:
    image = entry.image(EDGES)
    if image is not None and image.before is not None:
        return decode_edge(image.key, image.before)
    return store.edges.get(entry.subject)


def _before(entry: Entry) -> str:
    """Return the text of a memory that is gone for good since."""
    image = entry.image(NODES)
    if image is None or image.before is None:
        return ""
    return one_line(decode_node(image.key, image.before).node.content)
