"""Defines the parts of an export, for both directions, and what is needed of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol
from uuid import UUID

from context_graph.model.edge import Direction, GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store.graph.node_records import StoredNode

FORMAT: Final = "context-graph/memories"
FORMAT_VERSION: Final = 1
KINDS: Final = ("memory", "link", "tombstone")
"""What a line's ``type`` says, in the order in which they come."""
COUNTED: Final = ("memories", "links", "tombstones")
"""The names of their numbers in the end line."""
PAGE_ROWS: Final = 256
"""Lines, or files, of a page at the most."""


class Memories(Protocol):
    """The methods of Memex that an exchange needs; the docstrings there hold."""

    def stored(self, node_id: UUID | str) -> StoredNode | None: ...
    def stored_after(self, seq: int = 0) -> Iterator[StoredNode]: ...
    def embedding_at(self, seq: int) -> bytes | None: ...
    def tombstone(self, node_id: UUID | str) -> Tombstone | None: ...
    def tombstones(self, after: UUID | None = None) -> Iterator[Tombstone]: ...
    def all_edges(self, after: UUID | None = None) -> Iterator[GraphEdge]: ...
    def edges(self, node_id: UUID | str, direction: Direction = Direction.BOTH) -> Sequence[GraphEdge]: ...
    def provider_record(self) -> dict[str, Any] | None: ...
    def masking(self) -> AbstractContextManager[dict[str, int]]: ...
    def put_many(
        self,
        nodes: Sequence[MemoryNode],
        *,
        edges: Sequence[GraphEdge] = (),
        deleted: Mapping[UUID, Tombstone] | None = None,
        tombstones: Sequence[Tombstone] = (),
    ) -> list[MemoryNode]: ...
