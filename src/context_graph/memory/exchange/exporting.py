"""Exports memories page by page: as JSONL without loss, as Markdown for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, BinaryIO, Final, NamedTuple, Protocol
from uuid import UUID

import orjson

from context_graph.errors import InvalidInputError
from context_graph.memory.exchange import records
from context_graph.memory.exchange.records import file_name, markdown_of
from context_graph.model.edge import Direction, GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.store.graph.node_records import StoredNode

FORMAT: Final = "context-graph/memories"
FORMAT_VERSION: Final = 1
KINDS: Final = ("memory", "link", "tombstone")
"""What a line's ``type`` says, in order."""
COUNTED: Final = ("memories", "links", "tombstones")
"""The names of their counts in the end line."""
PAGE_ROWS: Final = 256
"""Lines, or files, of a page at most."""
PAGE_BYTES: Final = 1_000_000


class Memories(Protocol):
    """What an export or import uses of Memex."""

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


class Page(NamedTuple):
    """A part of an export."""

    text: str
    memories: int
    """Memories in it."""
    next_cursor: str | None
    """Where the next page begins; None after the last."""


def export_page(memex: Memories, cursor: str = "", *, embeddings: bool = False) -> Page:
    """Return one page of JSONL: whole lines, some PAGE_BYTES at most.

    ``cursor`` is "" for the first page, then the last page's; ``embeddings`` adds each memory's vector.

    Raises:
        InvalidInputError: Not a cursor of an export.
        CorruptedMemoryError: A record can't be read; names it.
    """
    first, place, counts = _read_cursor(cursor)
    before = counts[0]
    head = {"format": FORMAT, "version": FORMAT_VERSION, "embeddings": embeddings}
    lines = [] if cursor else [_line({**head, "provider": memex.provider_record()})]
    size = 0
    for stage, at, row in _rows(memex, first, place, embeddings):
        if row is not None:
            counts[stage] += 1
            lines.append(_line({"type": KINDS[stage], **row}))
            size += len(lines[-1])
        if len(lines) >= PAGE_ROWS or size >= PAGE_BYTES:
            following = ":".join((str(stage), at, *map(str, counts)))
            return Page("".join(lines), counts[0] - before, following)
    lines.append(_line({"type": "end", **dict(zip(COUNTED, counts, strict=True))}))
    return Page("".join(lines), counts[0] - before, None)


def export_jsonl(memex: Memories, out: BinaryIO, *, embeddings: bool = False) -> int:
    """Write the whole store to ``out`` as JSONL, a page at a time; returns the number of memories."""
    cursor: str | None = ""
    count = 0
    while cursor is not None:
        page = export_page(memex, cursor, embeddings=embeddings)
        out.write(page.text.encode())
        count += page.memories
        cursor = page.next_cursor
    return count


def markdown_page(memex: Memories, cursor: str = "") -> tuple[list[dict[str, str]], str | None]:
    """Return (files as {"name", "text"}, next cursor): the live memories as Markdown."""
    _, at, _ = _read_cursor(cursor)
    files: list[dict[str, str]] = []
    size, seq = 0, int(at or 0)
    for stored in memex.stored_after(seq):
        seq = stored.node.commit_seq
        if not stored.deleted:
            row = records.node_to_json(stored.node)
            links = [records.edge_to_json(edge) for edge in memex.edges(stored.node.id, Direction.OUT)]
            text = markdown_of(row, links)
            files.append({"name": file_name(row), "text": text})
            size += len(text)
        if len(files) >= PAGE_ROWS or size >= PAGE_BYTES:
            return files, f"0:{seq}:0:0:0"
    return files, None


def _rows(
    memex: Memories, stage: int, at: str, embeddings: bool
) -> Iterator[tuple[int, str, dict[str, Any] | None]]:
    """Yield (stage, place after it, object) of all that follows ``at``."""
    if stage == 0:
        for stored in memex.stored_after(int(at or 0)):
            node = stored.node
            if embeddings:
                node = replace(node, embedding=memex.embedding_at(node.commit_seq))
            row = records.node_to_json(node)
            if stored.deleted and (stone := memex.tombstone(node.id)) is not None:
                row["deleted"] = {"at_ms": stone.deleted_at_ms, "reason": stone.reason}
            yield 0, str(node.commit_seq), row
        stage, at = 1, ""
    if stage == 1:
        for edge in memex.all_edges(after=UUID(at) if at else None):
            yield 1, str(edge.id), records.edge_to_json(edge)
        stage, at = 2, ""
    for stone in memex.tombstones(after=UUID(at) if at else None):
        yield 2, str(stone.id), None if stone.soft else records.tombstone_to_json(stone)


def _line(value: Mapping[str, Any]) -> str:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE).decode()


def _read_cursor(cursor: str) -> tuple[int, str, list[int]]:
    if not cursor:
        return 0, "", [0, 0, 0]
    try:
        stage, at, *counts = cursor.split(":")
        if stage not in ("0", "1", "2") or len(counts) != len(KINDS):
            raise ValueError(cursor)
        return int(stage), at, [int(count) for count in counts]
    except ValueError as error:
        raise InvalidInputError(f"cursor {cursor[:60]!r} is none that an export gave") from error
