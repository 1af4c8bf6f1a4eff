"""Writes and undoes consolidations, and what commands and tools did: one batch, then index and metrics.

All of it runs inside an operation of the core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID, uuid4

from context_graph.errors import GraphQueryError, InvalidParamsError
from context_graph.memory.core import Core, now_ms
from context_graph.memory.editing import followed, put_nodes
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode
from context_graph.store.graph.edits import Edit, gc_paused
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.history import UNDO, Act, Run
from context_graph.store.graph.node_records import decode_access, decode_node
from context_graph.store.graph.records import Op, decode_edge
from context_graph.store.graph.run_batch import Changes, subjects_of, undoing_of, write_run
from context_graph.store.layout import ACCESS, EDGES, NODES, key_name

_OF_EDGES: Final = (Op.LINK, Op.UNLINK, Op.RELINK)
_SHOWN: Final = 3
VECTORS_AT_ONCE: Final = 256
"""1.5 MB."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of undoing a run."""

    token: UUID | None
    """The token of the undo, which can be undone too; None if nothing was left to undo."""
    undone: UUID
    """The run's."""
    mode: str
    """The run's."""
    restored: int
    """Memories restored."""
    forgotten: int
    """Memories soft-deleted again: the run was itself an undo."""
    changed: int
    """Memories with their former fields."""
    edges: int
    """Edges restored, removed again or changed back."""
    kept: tuple[str, ...]
    """Memories and edges that were changed since and stay as they are."""


def write(core: Core, changes: Changes) -> Run | None:
    """Write a run and update index and metrics; None if there is nothing to write."""
    core.load_derived()  # before the commit: loaded after it, it would have seen it already
    with gc_paused():
        run, edits = write_run(core.store, changes)
        if run is not None:
            with followed(core):
                _Following(core).follow(edits)
    return run


def new_act(mode: str, by: str, store: str) -> Act:
    """Return an act without changes yet: what it does (`Run.mode`), who does it, in which store."""
    return Act(Run(uuid4(), mode, now_ms(), first=0, last=0, details={"store": store}, by=by))


@contextmanager
def acting(core: Core, act: Act) -> Iterator[None]:
    """Let all that is committed meanwhile be part of ``act``."""
    before = core.store.act
    core.store.act = act
    try:
        yield
    finally:
        core.store.act = before


def undo(core: Core, token: UUID | str | None, by: str) -> Undone:
    """Undo a run or act, but for what was changed since. Raises as `find_run`."""
    run = find_run(core.store, token)
    undoing = undoing_of(core.store, run)
    counts = _counts(undoing.edits)
    counts["changed"] += len(undoing.texts)
    changes = Changes(
        mode=UNDO,
        edits=undoing.edits,
        records=undoing.records,
        counts=counts,
        undoes=run,
        by=by if run.by else "",
        more=bool(undoing.texts),
    )
    made = write(core, changes)
    if made is not None and undoing.texts:
        with acting(core, Act(made)):
            put_nodes(core, [replace(node, embedding=None) for node in undoing.texts])
    return Undone(
        token=None if made is None else made.token,
        undone=run.token,
        mode=run.mode,
        restored=counts["restored"],
        forgotten=counts["forgotten"],
        changed=counts["changed"],
        edges=counts["edges"],
        kept=tuple(key_name(key) for key in undoing.kept),
    )


def find_run(store: GraphStore, token: UUID | str | None) -> Run:
    """Return the run of that token or its beginning; None for the last that can be undone.

    Raises:
        GraphQueryError: There is no such run, or it was undone already.
        InvalidParamsError: Not a token, or the beginning of several.
    """
    if token is None:
        last = next((run for run in store.history.all_runs() if run.is_open), None)
        if last is None:
            raise GraphQueryError("no change of this store is left to be undone")
        return last
    run = run_named(store, token)
    if run.undone_by is not None:
        raise GraphQueryError(
            f"{run.mode} {run.token} was undone already; undo {run.undone_by} to have it again"
        )
    return run


def run_named(store: GraphStore, token: UUID | str) -> Run:
    """Return the run of that token or its unique beginning, undone or not. Raises as `find_run`."""
    digits = str(token).replace("-", "").lower()
    if not 4 <= len(digits) <= 32 or not set(digits) <= set("0123456789abcdef"):
        raise InvalidParamsError.of("token", f"is {str(token)!r:.80}, must be a run's token or its beginning")
    matches = [run for run in store.history.all_runs() if run.token.hex.startswith(digits)]
    if not matches:
        raise GraphQueryError(f"no change {token} in this store, or its history is no longer kept")
    if len(matches) > 1:
        raise InvalidParamsError.of(
            "token", f"{token} begins the tokens of {len(matches)} runs; give more of it"
        )
    return matches[0]


def memories_of(core: Core, run: Run) -> tuple[list[MemoryNode], int]:
    """Return the first few memories that the run changed, as they are now, and how many it changed."""
    changed = [subject for subject, op in subjects_of(core.store, run).items() if op not in _OF_EDGES]
    nodes = (core.store.read(subject) for subject in changed[:_SHOWN])
    return [stored.node for stored in nodes if stored is not None], len(changed)


def _counts(edits: Sequence[Edit]) -> dict[str, int]:
    """Return how many memories are restored, deleted and changed, and how many edges."""
    ops = [edit.op for edit in edits]
    edges = {edit.subject for edit in edits if edit.op in (Op.LINK, Op.UNLINK, Op.RELINK)}
    return {
        "restored": ops.count(Op.RESTORE),
        "forgotten": ops.count(Op.FORGET),
        "changed": ops.count(Op.UPDATE),
        "edges": len(edges),
    }


class _Following:
    """Updates index, metrics and cache after edits that were committed.

    A run changes no content, and of the learning state only delta_c, which no figure sums up; so updates
    concern only the index and the use counts.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._figures = core.derived.metrics

    def follow(self, edits: Sequence[Edit]) -> None:
        """Edges that go, then memories, then edges that come: this order counts each edge once."""
        of: dict[int, list[Edit]] = {}
        for edit in edits:
            of.setdefault(edit.op, []).append(edit)
        for edit in of.get(Op.UNLINK, ()):
            self._figures.unlinked(_edge_before(edit))
        linked = [decode_edge(*_written(edit, EDGES)) for edit in of.get(Op.LINK, ())]
        apart = {edge.id for edge in linked}
        nodes = [_node_before(edit) for edit in of.get(Op.FORGET, ())]
        for node, vector in self._with_vectors(nodes):
            self._core.cache.discard(node.id.bytes)
            self._core.derived.forgotten(node, vector, self._edges_of(node.id.bytes, apart))
        self._update(of.get(Op.UPDATE, ()))
        nodes = [_node_after(edit) for edit in of.get(Op.RESTORE, ())]
        for node, vector in self._with_vectors(nodes):
            self._core.derived.restored(node, vector, self._edges_of(node.id.bytes, apart))
        for edge in linked:
            self._figures.linked(edge)

    def _with_vectors(self, nodes: Sequence[MemoryNode]) -> Iterator[tuple[MemoryNode, bytes]]:
        vectors = self._core.store.vectors
        for start in range(0, len(nodes), VECTORS_AT_ONCE):
            some = nodes[start : start + VECTORS_AT_ONCE]
            packed = vectors.get_many([node.commit_seq for node in some])
            yield from zip(some, (vector or b"" for vector in packed), strict=True)

    def _update(self, edits: Sequence[Edit]) -> None:
        nodes = [_node_after(edit) for edit in edits]
        for node in nodes:
            self._core.cache.discard(node.id.bytes)
            if node.access_count:
                self._figures.touched(node)
        self._core.derived.index.update_all(nodes)

    def _edges_of(self, node: bytes, apart: set[UUID]) -> list[GraphEdge]:
        if not self._core.store.counters.edges:
            return []
        return [edge for edge in self._core.store.edges.of(node) if edge.id not in apart]


def _written(edit: Edit, family: str) -> tuple[bytes, bytes]:
    """Return (key, record) that an edit wrote in that family; an edge's record comes first."""
    return next(
        (write.key, write.value)
        for write in edit.writes
        if write.family == family and write.value is not None
    )


def _node_after(edit: Edit) -> MemoryNode:
    key, record = _written(edit, NODES)
    uses = next(
        (write.value for write in edit.writes if write.family == ACCESS and write.value is not None), None
    )
    return decode_node(key, record, None if uses is None else decode_access(key, uses)).node


def _node_before(edit: Edit) -> MemoryNode:
    image = edit.image(NODES)
    assert image is not None and image.before is not None, "an edit of a memory keeps what it was"
    return decode_node(edit.subject, image.before).node


def _edge_before(edit: Edit) -> GraphEdge:
    image = edit.image(EDGES)
    assert image is not None and image.before is not None, "an edge that goes was there"
    return decode_edge(image.key, image.before)
