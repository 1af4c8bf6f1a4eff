"""Imports memories from JSONL or Markdown. Everything is checked before the first write.

An id that exists already is skipped, so an interrupted import is finished by running it again.
"""

from __future__ import annotations

import os
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from typing import Any, BinaryIO, Final
from uuid import UUID

import orjson

from context_graph.errors import ContextGraphError, InvalidInputError
from context_graph.memory.exchange import records
from context_graph.memory.exchange.records import (
    COUNTED,
    FORMAT,
    FORMAT_VERSION,
    PAGE_ROWS,
    Memories,
    read_markdown,
)
from context_graph.memory.runs import new_act
from context_graph.memory.writing import drafted
from context_graph.model.edge import Direction, GraphEdge
from context_graph.model.memory import MemoryNode, Tombstone
from context_graph.model.spaces import LAYOUT
from context_graph.store.graph.history import Act
from context_graph.store.graph.records import encode_json

MAX_PROBLEMS: Final = 50
"""Listed one by one; all are counted."""
MAX_OPEN: Final = 4
IDLE_S: Final = 600.0
"""Seconds without a request after which an import is dropped. What it wrote stays; it can be run again."""
SILENT_S: Final = 10.0
"""The same if another import needs its place: a running command asks several times a second."""

Located = tuple[str, Mapping[str, Any]]
"""(where it stands, for messages; the object)"""


@dataclass(slots=True)
class Import:
    """One import in progress: `check_*` every part, `checked`, then `write_*` every part again.

    It keeps only the ids of the input, some 100 bytes per memory or link.
    """

    memex: Memories
    overwrite: bool = False
    act: Act = field(default_factory=lambda: new_act("import", "library", ""))
    """The act by which it is undone."""
    problems: list[str] = field(default_factory=list)
    """The first MAX_PROBLEMS faults, each with its place."""
    problem_count: int = 0
    added: int = 0
    replaced: int = 0
    skipped: int = 0
    links: int = 0
    tombstones: int = 0
    masked: Counter[str] = field(default_factory=Counter)
    """Kind of secret -> how many were taken out of what was written."""
    _ids: set[bytes] = field(default_factory=set)
    _relations: set[bytes] = field(default_factory=set)
    """Digests of what each link says."""
    _ends: dict[bytes, str] = field(default_factory=dict)
    """Ends of links that no memory before them had, with the place of one such link."""
    _counts: list[int] = field(default_factory=lambda: [0, 0, 0])
    _is_ours: bool = False
    _has_other_spaces: bool = False
    """Its embeddings are of other spaces, and are made anew."""
    _end: Mapping[str, Any] | None = None
    _is_checked: bool = False
    _waiting: list[GraphEdge] = field(default_factory=list)
    """Links whose ends come later in the input, as Markdown files' may."""

    def check_lines(self, lines: Sequence[str], first_line: int) -> None:
        """Check lines of JSONL, numbered from ``first_line``."""
        for where, row in self._parsed(lines, first_line):
            self._check(where, row)

    def check_files(self, files: Sequence[Mapping[str, str]]) -> None:
        """Check Markdown files, each {"name", "text"}."""
        for where, row in self._from_files(files):
            self._check(where, row)

    def checked(self) -> None:
        """Check what only the whole input shows, after all parts have been checked."""
        for node_id, where in self._ends.items():
            if node_id not in self._ids and self.memex.stored(UUID(bytes=node_id)) is None:
                self._problem(
                    where, f"link to {UUID(bytes=node_id)}, which is neither in the input nor in the store"
                )
        if self._is_ours:
            self._check_end()
        self._is_checked = not self.problem_count

    def _check_end(self) -> None:
        """Compare the counts; after a faulty line, other counts mean nothing."""
        expected = [self._end.get(name) for name in COUNTED] if self._end else None
        if expected is None:
            self._problem("the end", "the input was cut short: its end line is missing")
        elif expected != self._counts and not self.problem_count:
            promised, actual = (
                ", ".join(f"{n} {name}" for n, name in zip(counts, COUNTED, strict=True))
                for counts in (expected, self._counts)
            )
            self._problem(
                "the end", f"the input was cut short or changed: it should have {promised}, has {actual}"
            )

    def write_lines(self, lines: Sequence[str], first_line: int) -> None:
        """Write checked lines in one batch.

        Raises:
            InvalidInputError: The input was not checked, or is faulty.
            StoreError: The write failed; nothing of this batch is stored.
        """
        self._write([row for _, row in self._parsed(lines, first_line)])

    def write_files(self, files: Sequence[Mapping[str, str]]) -> None:
        """Write Markdown files that were checked; one batch. Raises as write_lines."""
        self._write([row for _, row in self._from_files(files)])

    @property
    def faults(self) -> str:
        """Their number in words."""
        return "1 fault" if self.problem_count == 1 else f"{self.problem_count} faults"

    def report(self) -> dict[str, Any]:
        """Return the result: counts, and under ``masked`` the secrets removed, if any, by kind."""
        names = ("added", "replaced", "skipped", "links", "tombstones")
        masked = {"masked": dict(sorted(self.masked.items()))} if self.masked else {}
        return {name: getattr(self, name) for name in names} | masked

    def _parsed(self, lines: Sequence[str], first_line: int) -> Iterator[Located]:
        for number, line in enumerate(lines, first_line):
            where = f"line {number}"
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                self._problem(where, f"not JSON: {error}")
                continue
            if isinstance(row, dict):
                yield where, row
            else:
                self._problem(where, "must be a JSON object")

    def _from_files(self, files: Sequence[Mapping[str, str]]) -> Iterator[Located]:
        for file in files:
            try:
                node, edges = read_markdown(file["text"])
            except InvalidInputError as error:
                self._problem(file["name"], str(error))
                continue
            yield file["name"], {"type": "memory", **node}
            for edge in edges:
                yield file["name"], {"type": "link", **edge}

    def _problem(self, where: str, what: str) -> None:
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"{where}: {what}")

    def _check(self, where: str, row: Mapping[str, Any]) -> None:
        try:
            kind, value = _thing(row)
            if kind == "header":
                self._is_ours = True
                self._has_other_spaces = (row.get("provider") or {}).get("spaces") != LAYOUT
            elif kind == "end":
                self._end = row
            elif isinstance(value, MemoryNode):
                self._counts[0] += 1
                if value.id.bytes in self._ids:
                    raise InvalidInputError(f"id {value.id} appears twice")
                self._ids.add(value.id.bytes)
                encode_json("metadata", value.metadata)
                drafted(value)
            elif isinstance(value, GraphEdge):
                self._counts[1] += 1
                self._check_edge(where, value)
            else:
                self._counts[2] += 1
        except ContextGraphError as error:
            self._problem(where, str(error))

    def _check_edge(self, where: str, edge: GraphEdge) -> None:
        ends = (edge.source_id.bytes, edge.target_id.bytes)
        if ends[0] == ends[1]:
            raise InvalidInputError(f"link {edge.id} leads from a memory to itself; a link needs two")
        relation = blake2b(b"".join((*ends, edge.relationship_type.encode())), digest_size=16).digest()
        if relation in self._relations:
            raise InvalidInputError(
                f"link {edge.id} is there already: the same type from {edge.source_id} to {edge.target_id}"
            )
        self._relations.add(relation)
        encode_json("metadata", edge.metadata)
        for end in ends:
            if end not in self._ids:
                self._ends.setdefault(end, where)

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        if not self._is_checked:
            raise InvalidInputError(
                "the input has not been checked to its end without faults; nothing is written"
            )
        nodes: list[MemoryNode] = []
        edges: list[GraphEdge] = self._waiting
        stones: list[Tombstone] = []
        deleted: dict[UUID, Tombstone] = {}
        for row in rows:
            _, value = _thing(row)
            if isinstance(value, MemoryNode):
                if self._is_wanted(value):
                    nodes.append(replace(value, embedding=None) if self._has_other_spaces else value)
                    if "deleted" in row:
                        gone = row["deleted"]
                        deleted[value.id] = Tombstone(value.id, gone["at_ms"], gone["reason"], soft=True)
            elif isinstance(value, GraphEdge):
                if not self._is_said(value):
                    edges.append(value)
            elif isinstance(value, Tombstone):
                stones.append(value)
        coming = {node.id for node in nodes}
        ready = [edge for edge in edges if self._has_ends(edge, coming)]
        done = {edge.id for edge in ready}
        self._waiting = [edge for edge in edges if edge.id not in done]
        with self.memex.masking() as masked:
            self.memex.put_many(nodes, edges=ready, deleted=deleted, tombstones=stones)
        self.masked.update(masked)
        self.links += len(ready)
        self.tombstones += len(stones)

    def _is_wanted(self, node: MemoryNode) -> bool:
        there = self.memex.stored(node.id) is not None
        if there and not self.overwrite:
            self.skipped += 1
            return False
        self.replaced += there
        self.added += not there
        return True

    def _is_said(self, edge: GraphEdge) -> bool:
        """Return whether a link with another id says the same already; that one stays."""
        if self.memex.stored(edge.source_id) is None:
            return False
        return any(
            link.id != edge.id
            and (link.target_id, link.relationship_type) == (edge.target_id, edge.relationship_type)
            for link in self.memex.edges(edge.source_id, Direction.OUT)
        )

    def _has_ends(self, edge: GraphEdge, coming: set[UUID]) -> bool:
        return all(
            end in coming or self.memex.stored(end) is not None for end in (edge.source_id, edge.target_id)
        )


def _thing(row: Mapping[str, Any]) -> tuple[str, MemoryNode | GraphEdge | Tombstone | None]:
    """Return (kind, value) of one object of an export."""
    if row.get("format") == FORMAT:
        if row.get("version") != FORMAT_VERSION:
            raise InvalidInputError(f"version is {row.get('version')!r}, this build reads {FORMAT_VERSION}")
        return "header", None
    kind = row.get("type")
    fields = {name: value for name, value in row.items() if name not in ("type", "deleted")}
    if kind == "memory":
        _check_deleted(row.get("deleted"))
        return kind, records.node_from_json(fields)
    if kind == "link":
        return kind, records.edge_from_json(fields)
    if kind == "tombstone":
        return kind, records.tombstone_from_json(fields)
    if kind == "end":
        return kind, None
    raise InvalidInputError(f"type is {kind!r}, must be memory, link, tombstone or end")


def _check_deleted(value: object) -> None:
    if value is None:
        return
    if not isinstance(value, dict) or set(value) != {"at_ms", "reason"}:
        raise InvalidInputError('deleted must be an object {"at_ms": …, "reason": …}')
    fields = {"deleted_at_ms": value["at_ms"], "reason": value["reason"]}
    records.tombstone_from_json({"id": str(UUID(int=0)), "soft": True, **fields})


def import_jsonl(memex: Memories, source: BinaryIO, *, overwrite: bool = False) -> dict[str, Any]:
    """Read what `export_jsonl` wrote; returns counts: added, replaced, skipped, links, tombstones, masked.

    ``source`` is read twice.

    Raises:
        InvalidInputError: The input is faulty: each fault with its line. Nothing is written.
        StoreError: A write failed; earlier batches are stored, and the same call goes on after them.
    """
    work = Import(memex, overwrite)
    for first, lines in _batched(source):
        work.check_lines(lines, first)
    work.checked()
    if work.problem_count:
        raise InvalidInputError(f"{work.faults}; nothing was written\n" + "\n".join(work.problems))
    source.seek(0)
    for first, lines in _batched(source):
        work.write_lines(lines, first)
    return work.report()


def _batched(lines: BinaryIO, size: int = PAGE_ROWS) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first, lines) of a JSONL file; InvalidInputError if not UTF-8."""
    number = 1
    while batch := list(islice(lines, size)):
        decoded = []
        for at, line in enumerate(batch, number):
            try:
                decoded.append(line.decode())
            except UnicodeDecodeError as error:
                raise InvalidInputError(f"line {at}: not UTF-8 at byte {error.start}") from error
        yield number, decoded
        number += len(batch)


@dataclass(slots=True)
class _Open:
    store: str
    work: Import
    used_at: float = field(default_factory=time.monotonic)


class Imports:
    """The imports of one owner, each with a token and bound to its store; each takes many requests."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def begin(self, store: str, work: Import) -> str:
        """Start an import and return its token; InvalidInputError if MAX_OPEN others are active."""
        now = time.monotonic()
        for token in [token for token, opened in self._open.items() if now - opened.used_at > IDLE_S]:
            del self._open[token]
        if len(self._open) >= MAX_OPEN:
            longest = min(self._open, key=lambda token: self._open[token].used_at)
            if now - self._open[longest].used_at < SILENT_S:
                raise InvalidInputError(
                    f"{MAX_OPEN} imports are on their way already; try again when one is done"
                )
            del self._open[longest]
        token = os.urandom(8).hex()
        self._open[token] = _Open(store, work)
        return token

    def get(self, store: str, token: str) -> Import:
        """Return the import of that token; InvalidInputError if this store has none."""
        opened = self._open.get(token)
        if opened is None or opened.store != store:
            raise InvalidInputError("no such import is on its way; run it again: what is there is skipped")
        opened.used_at = time.monotonic()
        return opened.work

    def end(self, token: str) -> None:
        """Forget it."""
        self._open.pop(token, None)
