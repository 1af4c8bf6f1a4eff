"""Memories that are forgotten, brought back or changed but for their content, as edits."""

from __future__ import annotations

from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store.edits import Edit, Write
from context_graph.store.graph import GraphStore
from context_graph.store.graph_batch import index_keys
from context_graph.store.graph_layout import INDEX, NODES, TOMBSTONES
from context_graph.store.graph_records import Op, encode_tombstone
from context_graph.store.history_layout import Image
from context_graph.store.node_records import encode_node

__all__ = ["forget_edit", "index_writes", "update_edit"]


def forget_edit(store: GraphStore, node: MemoryNode, stone: Tombstone) -> Edit:
    """A live memory is soft-deleted."""
    key = node.id.bytes
    writes = [
        Write(NODES, key, encode_node(key, node, deleted=True)),
        Write(TOMBSTONES, key, encode_tombstone(key, stone)),
        *index_writes(node, None),
    ]
    return Edit(Op.FORGET, key, writes, (_node_image(store, key), Image(TOMBSTONES, key, None)))


def update_edit(store: GraphStore, before: MemoryNode, after: MemoryNode) -> Edit:
    """A live memory has other fields.

    Raises:
        InvalidParamsError: A field that no record can hold.
    """
    key = after.id.bytes
    writes = [Write(NODES, key, encode_node(key, after)), *index_writes(before, after)]
    return Edit(Op.UPDATE, key, writes, (_node_image(store, key),))


def index_writes(before: MemoryNode | None, after: MemoryNode | None) -> list[Write]:
    """The secondary keys that go and come; None for a memory that is not live."""
    old = [] if before is None else index_keys(before)
    new = [] if after is None else index_keys(after)
    writes = [Write(INDEX, key, None) for key in old if key not in new]
    return writes + [Write(INDEX, key, after.id.bytes) for key in new if after and key not in old]


def _node_image(store: GraphStore, key: bytes) -> Image:
    return Image(NODES, key, store.engine.get(NODES, key))
