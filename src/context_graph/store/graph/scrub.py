"""Removes from the disk what was deleted for good, and merges the small tables that this makes.

RocksDB drops its log only once every family's buffer is in a table, so each such deletion makes a table of a
record or two in most families. Keys rise with time in most of them, and RocksDB moves a table that overlaps
no other down a level unchanged. So without the merge each deletion would leave some 3 more tables, each with
0.9 KB of this process's memory, for as long as the store lives.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from context_graph.errors import StoreError
from context_graph.model.memory import MemoryNode
from context_graph.store.engine.batches import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.graph.history import CHANGE_PREFIX
from context_graph.store.graph.records import decode_meta, encode_meta
from context_graph.store.graph.vector_table import VectorTable
from context_graph.store.layout import HISTORY, META, NODES, SYNC_PREFIX, after

_LOG: Final = logging.getLogger(__name__)
K = TypeVar("K", bytes, int)
_DUE_KEY: Final = b"scrub"
SINGLE_RANGES: Final = 8
"""Places that are rewritten one by one; more than these in one pass over all that lies between."""
MERGE_EVERY: Final = 32
"""Deletions from one look for small tables to the next; the first after opening looks as well."""
RUN_TABLES: Final = 16
"""Small tables in a row that are worth merging."""
SMALL_BYTES: Final = 1 << 20
"""A larger table is never merged again, so that each record is rewritten a bounded number of times."""
_TABLES: Final = "rocksdb.sstables"
# "--- level 6 --- ...", then a line for each table: number, bytes, sequence numbers, first and last key.
_LEVEL: Final = re.compile(r"--- level (\d++) ---")
_TABLE: Final = re.compile(
    r" \d++:(\d++)\[[^]]*+\]\['([0-9A-F]*+)' seq:\d++, type:\d++ \.\. '([0-9A-F]*+)' seq:\d++, type:\d++\]"
)


class Table(NamedTuple):
    """A live table of one family."""

    first: bytes
    last: bytes
    level: int
    size: int
    """Bytes on the disk."""


class _Due(NamedTuple):
    """What is still to be scrubbed."""

    nodes: list[tuple[bytes, int]]
    """Id and commit number of each memory that was removed or rewritten."""
    facts: Sequence[str]
    """Names of facts about the store that were rewritten."""


class Scrubber:
    """Takes deleted memories off the disk of one store. Not thread-safe."""

    def __init__(self, engine: Engine, vectors: VectorTable) -> None:
        self._engine = engine
        self._vectors = vectors
        self._done = 0

    def note(self, batch: Batch, nodes: Iterable[MemoryNode], facts: Iterable[str] = ()) -> None:
        """Add to ``batch``: these are to be scrubbed, after a crash at the next opening.

        Args:
            facts: Names of facts about the store that held a text of them.
        """
        before = self._due()
        due = [*before.nodes, *((node.id.bytes, node.commit_seq) for node in nodes)]
        content = {
            "due": [[node_id.hex(), seq] for node_id, seq in due],
            "facts": sorted({*before.facts, *facts}),
        }
        batch.put(META, _DUE_KEY, encode_meta(_DUE_KEY, content))

    def scrub(self) -> None:
        """Have RocksDB drop what these memories left in tables and logs. Raises StoreError.

        Cost: a flush, and the tables that they stood in are rewritten.
        """
        due, facts = self._due()
        if not due:
            return
        self._engine.flush()
        for first, last in _ranges([node_id for node_id, _ in due]):
            self._engine.compact_range(NODES, first, last + b"\0")
        for low, high in _ranges([seq for _, seq in due]):
            self._vectors.scrub(low, high)
        for name in facts:
            self._engine.compact_range(META, name.encode(), name.encode() + b"\0")
        # A memory from another machine was kept there until it was written.
        self._engine.compact_range(META, SYNC_PREFIX, after(SYNC_PREFIX))
        self._engine.compact_range(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX))
        self._engine.delete(META, _DUE_KEY)
        if self._done % MERGE_EVERY == 0:
            try:
                merge_small_tables(self._engine)
            except StoreError as error:  # what was to leave the disk has left it
                _LOG.warning("small tables stay as they are: %s", error)
        self._done += 1

    def _due(self) -> _Due:
        record = self._engine.get(META, _DUE_KEY)
        meta = {} if record is None else decode_meta(_DUE_KEY, record)
        nodes = [(bytes.fromhex(node_id), int(seq)) for node_id, seq in meta.get("due", ())]
        return _Due(nodes, meta.get("facts", ()))


def _ranges(keys: Sequence[K]) -> list[tuple[K, K]]:
    """First and last key of what is rewritten in one go: each by itself, or all of many."""
    if len(keys) <= SINGLE_RANGES:
        return [(key, key) for key in dict.fromkeys(keys)]
    return [(min(keys), max(keys))]


def merge_small_tables(engine: Engine) -> int:
    """Make few tables of runs of small ones; how many were merged. Cost: less than 1 ms when there are none.

    Raises StoreError if a compaction failed; nothing is lost by it.
    """
    merged = 0
    for family in engine.families:
        for run in _small_runs(tables(engine, family)):
            engine.compact_range(family, run[0].first, max(table.last for table in run))
            merged += len(run)
    return merged


def tables(engine: Engine, family: str) -> list[Table]:
    """Return the tables of ``family`` below level 0 (where RocksDB merges them itself), by first key."""
    tables, level = [], 0
    for line in (engine.property(family, _TABLES) or "").splitlines():
        if head := _LEVEL.match(line):
            level = int(head[1])
        elif level and (entry := _TABLE.match(line)):
            first, last = bytes.fromhex(entry[2]), bytes.fromhex(entry[3])
            tables.append(Table(first, last, level, int(entry[1])))
    return sorted(tables)


def _small_runs(tables: list[Table]) -> Iterator[list[Table]]:
    """Runs of small tables with no larger one's first key between them: of each level, merging one rewrites
    a single larger table at most."""
    run: list[Table] = []
    for table in (*tables, None):
        if table is not None and table.size < SMALL_BYTES:
            run.append(table)
            continue
        if len(run) >= RUN_TABLES:
            yield run
        run = []
