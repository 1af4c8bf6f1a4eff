"""Writes into records what other machines told: ordinary commits, so that index, recall and view see them.

What can't be written yet, such as a link whose memories have not come, waits under the id of what it waits
for, and is looked at again when that has come, not before. Writing the same again changes nothing, so a
process that died in between only does it once more.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from context_graph.errors import GraphQueryError, InvalidInputError, InvalidParamsError
from context_graph.memory import editing
from context_graph.memory.core import Core
from context_graph.memory.exchange import records
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import TOLD_BY, USER_REQUESTED, MemoryNode, Tombstone
from context_graph.store.graph.node_records import Access
from context_graph.sync import values
from context_graph.sync.change import GONE, KEPT, LINK, MEMORY, TOMBSTONE, Register
from context_graph.sync.notes import SyncNotes

_LOG: Final = logging.getLogger(__name__)
_AT_ONCE: Final = 64
_UNFIT: Final = (InvalidInputError, InvalidParamsError, GraphQueryError)
"""What a change can be though each of its fields is as it must be."""
_EMBEDDED: Final = frozenset({"content", "rationale", "tags"})
"""Another value of one of these needs another embedding."""


@dataclass(slots=True)
class _Batch:
    """What is written in one commit."""

    nodes: list[MemoryNode] = field(default_factory=list)
    deleted: dict[UUID, Tombstone] = field(default_factory=dict)
    edges: list[GraphEdge] = field(default_factory=list)
    done: list[Register] = field(default_factory=list)


def apply_queued(core: Core, notes: SyncNotes) -> bool:
    """Write _AT_ONCE memories, and as many links; whether there are more. Raises StoreError."""
    if memories := notes.queued(MEMORY, _AT_ONCE):
        _write_memories(core, notes, memories)
    notes.queue_awaited(_AT_ONCE)
    for register in notes.queued(LINK, _AT_ONCE):
        _write_link(core, notes, register)
    notes.commit()
    return notes.has_queued()


def _write_memories(core: Core, notes: SyncNotes, some: Iterable[Register]) -> None:
    batch = _Batch()
    for register in some:
        node_id = UUID(register.subject)
        if register.removed:
            if core.store.read(node_id.bytes) is not None:
                editing.forget(core, node_id, soft=False, reason=USER_REQUESTED)
            _done(notes, register)
            continue
        try:
            node = _node(core, register)
        except _UNFIT as error:  # what each change told was fit, what they tell together is not
            _leave_out(register.subject, error)
            _done(notes, register)
            continue
        if node is None:
            notes.unqueue(register, awaited=register.subject)
            continue
        batch.nodes.append(node)
        stone = register.values.get(TOMBSTONE)
        if stone is not None:
            batch.deleted[node_id] = values.stone_of(node_id, stone)
        batch.done.append(register)
    _put(core, batch.nodes, batch.deleted)
    for register in batch.done:
        _write_uses(core, notes, register)
        _done(notes, register)
        notes.come(register.subject)
    notes.commit()


def _put(core: Core, nodes: Sequence[MemoryNode], deleted: Mapping[UUID, Tombstone]) -> None:
    """Store them in one batch; if one can't be stored, each by itself, and that one is left out."""
    if not nodes:
        return
    try:
        editing.put_nodes(
            core, nodes, deleted={node.id: deleted[node.id] for node in nodes if node.id in deleted}
        )
    except _UNFIT as error:
        if len(nodes) == 1:
            _leave_out(str(nodes[0].id), error)
            return
        for node in nodes:
            _put(core, [node], deleted)


def _node(core: Core, register: Register) -> MemoryNode | None:
    """Return the memory as it is to be; None while too little is known of it."""
    node_id = UUID(register.subject)
    there = core.store.read(node_id.bytes)
    fresh = {name: value for name, value in register.values.items() if name in values.NODE_FIELDS}
    if there is None:
        if not set(values.NEEDED[MEMORY]) <= set(fresh):
            return None
        return values.node_of(register.subject, fresh, register.values.get(TOLD_BY))
    if not fresh:
        embedding = core.store.vectors.get(there.node.commit_seq)
        return replace(there.node, embedding=embedding)
    now = values.node_values(there.node, core.redactor)
    told_by = register.values.get(TOLD_BY) or there.node.metadata.get(TOLD_BY)
    made = values.node_of(register.subject, {**now, **fresh}, told_by)
    same = all(now[name] == fresh[name] for name in _EMBEDDED & set(fresh))
    kept = {name: getattr(made, name) for name in values.NODE_FIELDS}
    return replace(
        there.node, **kept, embedding=core.store.vectors.get(there.node.commit_seq) if same else None
    )


def _write_uses(core: Core, notes: SyncNotes, register: Register) -> None:
    key = UUID(register.subject).bytes
    access = notes.table.access(key)
    if register.times > access.times:
        batch = notes.table.batch()
        notes.table.put_access(batch, key, Access(register.times, max(register.last_ms, access.last_ms)))
        notes.table.commit(batch)


def _write_link(core: Core, notes: SyncNotes, register: Register) -> None:
    source, target, relationship = values.ends_of(register.subject)
    there = core.store.edges.find(source.bytes, target.bytes, relationship)
    if register.values.get(GONE):
        if there is not None:
            editing.remove_edge(core, there.id)
        _done(notes, register)
        return
    fresh = {name: value for name, value in register.values.items() if name not in KEPT}
    missing = next((end for end in (source, target) if core.store.read(end.bytes) is None), None)
    if missing is not None or (there is None and "id" not in fresh):
        notes.unqueue(register, awaited="" if missing is None else str(missing))
        return
    known: dict[str, Any] = {} if there is None else records.edge_to_json(there)
    parts = {**{name: value for name, value in known.items() if name in values.EDGE_FIELDS}, **fresh}
    wanted = values.edge_of(register.subject, parts)
    if there is not None and there.id != wanted.id:
        editing.remove_edge(core, there.id)
        there = None
    if there is None and core.store.edges.get(wanted.id.bytes) is not None:
        notes.unqueue(register, awaited=str(wanted.id))
        return  # another link has that id; a poisoned change, and nothing that may replace it
    if there is not None:
        wanted = replace(
            wanted,
            traversal_count=there.traversal_count,
            last_traversed_ms=there.last_traversed_ms,
            steering_reward=there.steering_reward,
        )
    try:
        editing.put_nodes(core, (), edges=[wanted])
    except _UNFIT as error:
        _leave_out(register.subject, error)
    notes.keep_link(str(wanted.id), register)
    _done(notes, register)


def _leave_out(subject: str, error: Exception) -> None:
    _LOG.warning("%s, told by another machine, is left out: %s", subject, error)


def _done(notes: SyncNotes, register: Register) -> None:
    register.forget_values()
    notes.keep(register)
    notes.unqueue(register)
