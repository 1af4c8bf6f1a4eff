"""Converts memories, edges and tombstones to JSON objects and back, checking each field, and memories to
Markdown files and back; exports them page by page: as JSONL without loss, as Markdown for people.

Times are Unix milliseconds, ids UUIDs as text, an embedding base64 of its 6,144 bytes. The objects have
exactly the fields of `MemoryNode`, `GraphEdge` and `Tombstone`, whose types say what a field may hold, so a
new field needs no change here. A Markdown file has front matter with all fields, then the content:

    ---
    id: 5f3c…
    created: 2026-01-31T09:30:00.123Z
    tags: ["build"]
    ---
    The content, to the end of the file.

Each value is JSON, or bare text if that can't be mistaken for JSON, so that a person may edit it. Links are
in the file of the memory they leave. Embeddings and deleted memories are only in JSONL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, Final, NamedTuple, Protocol, TypeVar
from uuid import UUID

import msgspec
import orjson

from context_graph.errors import InvalidInputError, InvalidParamsError
from context_graph.model.edge import Direction, GraphEdge, NeurotransmitterWeights
from context_graph.model.memory import MemoryNode, Tombstone, check_depth, check_range
from context_graph.store.graph.node_records import StoredNode

_MOST_MS: Final = (1 << 63) - 1
_MOST: Final = {
    **dict.fromkeys(("created_at_ms", "last_traversed_ms", "deleted_at_ms"), _MOST_MS),
    "traversal_count": (1 << 32) - 1,
}
Made = TypeVar("Made")


def node_to_json(node: MemoryNode) -> dict[str, Any]:
    """Return all fields of ``node`` except its commit number; the embedding if it is loaded."""
    document: dict[str, Any] = msgspec.to_builtins(node)
    del document["commit_seq"]
    if node.embedding is None:
        del document["embedding"]
    return {**document, "tags": list(node.tags)}


def node_from_json(document: Mapping[str, Any]) -> MemoryNode:
    """Return the memory of such an object; fields that have a default may be missing.

    Raises InvalidInputError: Names the field, what it holds and what it must be.
    """
    values = dict(document)
    values.setdefault("rationale", "imported without a rationale")
    values.setdefault("last_accessed_ms", document.get("created_at_ms", 0))
    node = _made(MemoryNode, values)
    try:
        node.validate()
    except InvalidParamsError as error:
        raise InvalidInputError(str(error)) from error
    return node


def edge_to_json(edge: GraphEdge) -> dict[str, Any]:
    """Return all fields of ``edge``."""
    document: dict[str, Any] = msgspec.to_builtins(edge)
    return document


def edge_from_json(document: Mapping[str, Any]) -> GraphEdge:
    """Return the edge of such an object. Raises as node_from_json."""
    edge = _made(GraphEdge, document)
    if "domain" not in document or "neurotransmitter_weights" in document:
        return edge
    return replace(edge, neurotransmitter_weights=NeurotransmitterWeights.for_domain(edge.domain))


def tombstone_to_json(tombstone: Tombstone) -> dict[str, Any]:
    """Return all fields of ``tombstone``."""
    document: dict[str, Any] = msgspec.to_builtins(tombstone)
    return document


def tombstone_from_json(document: Mapping[str, Any]) -> Tombstone:
    """Return the tombstone of such an object. Raises as node_from_json."""
    return _made(Tombstone, document)


def _made(kind: type[Made], document: Mapping[str, Any]) -> Made:
    names = [field.name for field in fields(kind) if field.name != "commit_seq"]  # type: ignore[arg-type]
    unknown = sorted(set(document) - set(names))
    if unknown:
        raise InvalidInputError(f"{unknown[0]} is no known field; the fields are {', '.join(names)}")
    try:
        if isinstance(document.get("metadata"), dict):
            check_depth("metadata", document["metadata"])
        made = msgspec.convert(document, kind)
        for name in _MOST.keys() & document.keys():
            check_range(name, document[name], 0, _MOST[name])
    except (msgspec.ValidationError, InvalidParamsError) as error:
        raise InvalidInputError(str(error)) from error
    return made


_TIMES: Final = {"created": "created_at_ms", "accessed": "last_accessed_ms"}
_FIRST: Final = (
    *("id", "created", "rationale", "importance", "tags", "pinned", "source", "project", "session_id"),
    *("agent_id", "modality", "johari_quadrant", "utl_state", "semantic_cluster"),
)
_LAST: Final = ("accessed", "access_count", "metadata", "links")
_APART: Final = ("content", "embedding", "commit_seq", *_TIMES.values(), *_FIRST, *_LAST)
_ORDER: Final = (
    *_FIRST,
    *(field.name for field in fields(MemoryNode) if field.name not in _APART),
    *_LAST,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BARE: Final = re.compile(r"[A-Za-z][\w .,:/()+\-]*")
_SLUG_WORD: Final = re.compile(r"[a-z0-9]+")
_JSON_BEGINS: Final = re.compile(r"-?\d|(?:true|false|null)\b")
_JSON_WORDS: Final = frozenset({"true", "false", "null", "NaN", "Infinity"})
_BARE_FIELDS: Final = ("id", "created", "accessed")
_MARK: Final = "---"


def markdown_of(node: Mapping[str, Any], links: Sequence[Mapping[str, Any]]) -> str:
    """Return the file of a memory, given as `records` writes it, with the edges that leave it."""
    head = {name: value for name, value in node.items() if name not in ("content", "embedding")}
    for shown, name in _TIMES.items():
        head[shown] = _iso(head.pop(name))
    head["links"] = [{key: value for key, value in link.items() if key != "source_id"} for link in links]
    lines = [
        f"{name}: {_value(name, head[name])}" for name in _ORDER if head.get(name) not in (None, [], {}, ())
    ]
    return "\n".join((_MARK, *lines, _MARK, node["content"])) + "\n"


def read_markdown(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return (memory, edges that leave it) of such a file, as `records` reads them.

    Raises InvalidInputError: It has no front matter, or a line can't be read; names the line.
    """
    text = text.removeprefix("\ufeff")
    head, mark, content = _split(text)
    if not mark:
        raise InvalidInputError(f"line 1: no front matter between two lines of {_MARK}")
    values: dict[str, Any] = {}
    for number, line in enumerate(head, 2):
        name, colon, value = line.partition(":")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not colon or name.strip() not in _ORDER:
            raise InvalidInputError(
                f"line {number}: {name.strip()[:40]!r} is no known field; the fields are {', '.join(_ORDER)}"
            )
        values[name.strip()] = _read_value(value.strip(), number)
    for shown, name in _TIMES.items():
        if shown in values:
            values[name] = _ms(shown, values.pop(shown))
    links = values.pop("links", [])
    if not isinstance(links, list) or not all(isinstance(link, dict) for link in links):
        raise InvalidInputError("links must be a list of JSON objects")
    edges = [{**link, "source_id": values.get("id")} for link in links]
    return {**values, "content": content}, edges


def file_name(node: Mapping[str, Any]) -> str:
    """Return a name that sorts by time and tells what is inside; the id in it makes it unique."""
    words = _SLUG_WORD.findall(node["content"][:200].lower())[:6]
    slug = "-".join(words)[:48].strip("-") or "memory"
    return f"{str(_iso(node['created_at_ms']))[:10]}-{slug}-{node['id']}.md"


def _split(text: str) -> tuple[list[str], str, str]:
    """Return (front matter's lines, its closing mark or "", content without the file's last newline)."""
    lines = text.split("\n")
    if lines[0].rstrip() != _MARK:
        return [], "", ""
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() == _MARK:
            content = "\n".join(lines[at + 1 :])
            return [line.rstrip("\r") for line in lines[1:at]], _MARK, content.removesuffix("\n")
    return [], "", ""


def _value(name: str, value: Any) -> str:
    if isinstance(value, str):
        plain = _BARE.fullmatch(value) and value == value.strip() and value not in _JSON_WORDS
        if plain or name in _BARE_FIELDS:
            return value
    return json.dumps(value, ensure_ascii=False)


def _read_value(text: str, number: int) -> Any:
    if text[:1] not in ('"', "[", "{") and not _JSON_BEGINS.match(text):
        return text
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InvalidInputError(f"line {number}: the JSON is nested too deep") from error
    except ValueError as error:
        if text[:1] in ('"', "[", "{"):
            raise InvalidInputError(f"line {number}: {text[:40]!r} is no JSON: {error}") from error
        return text  # 2026-01-31T…, or an id that begins with a digit


def _iso(at_ms: int) -> str | int:
    """ISO 8601 in UTC to the millisecond; a time beyond the calendar stays a number."""
    try:
        at = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return at_ms
    return f"{at.strftime('%Y-%m-%dT%H:%M:%S')}.{at.microsecond // 1000:03d}Z"


def _ms(name: str, value: Any) -> int:
    if type(value) is int:
        return value
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInputError(f"{name} is {value!r}, must be an ISO 8601 time") from error
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return round((at - _EPOCH) / timedelta(milliseconds=1))


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
            row = node_to_json(stored.node)
            links = [edge_to_json(edge) for edge in memex.edges(stored.node.id, Direction.OUT)]
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
            row = node_to_json(node)
            if stored.deleted and (stone := memex.tombstone(node.id)) is not None:
                row["deleted"] = {"at_ms": stone.deleted_at_ms, "reason": stone.reason}
            yield 0, str(node.commit_seq), row
        stage, at = 1, ""
    if stage == 1:
        for edge in memex.all_edges(after=UUID(at) if at else None):
            yield 1, str(edge.id), edge_to_json(edge)
        stage, at = 2, ""
    for stone in memex.tombstones(after=UUID(at) if at else None):
        yield 2, str(stone.id), None if stone.soft else tombstone_to_json(stone)


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
