"""What a memory keeps of those that were merged into it, and how that goes when one is deleted for good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from uuid import UUID

from context_graph.model.memory import MemoryNode
from context_graph.store.graph import GraphStore, StoredNode
from context_graph.store.graph_layout import TOMBSTONES
from context_graph.store.graph_records import decode_tombstone

__all__ = ["MERGED_FROM", "holders_without"]

MERGED_FROM: Final = "merged_from"
"""In the survivor's metadata: a list of objects with ``id`` and ``content``, oldest merge first."""


def holders_without(store: GraphStore, node_id: UUID) -> list[StoredNode]:
    """The memories that keep a text of that one because it was merged into them, each as it is without it."""
    found: dict[bytes, StoredNode] = {}
    waiting = [node_id.bytes]
    while waiting:
        for holder in _merged_into(store, waiting.pop()):
            there = None if holder in found else store.read(holder)
            if there is not None:
                found[holder] = there._replace(node=_without(there.node, node_id))
                waiting.append(holder)
    return list(found.values())


def _merged_into(store: GraphStore, node: bytes) -> Iterator[bytes]:
    """What a memory was merged into, now or at some time of its history."""
    stones = [store.tombstone(node)]
    for entry in store.history.of(node):
        image = entry.image(TOMBSTONES)
        if image is not None and image.before is not None:
            stones.append(decode_tombstone(node, image.before))
    for stone in stones:
        if stone is not None and stone.merged_into is not None:
            yield stone.merged_into.bytes


def _without(node: MemoryNode, gone: UUID) -> MemoryNode:
    kept = node.metadata.get(MERGED_FROM)
    if not isinstance(kept, list):
        return node
    rest = [one for one in kept if not (isinstance(one, dict) and one.get("id") == str(gone))]
    return replace(node, metadata={**node.metadata, MERGED_FROM: rest})
