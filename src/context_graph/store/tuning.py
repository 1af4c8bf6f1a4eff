"""How RocksDB is set up: memory, logs, filters. One of three modules that import rocksdict.

Two kinds of families share a database. Sessions are small and many stores may be open, so their buffers are.
Memories come in at 7 KB each, most of it a vector that does not compress: larger buffers, no compression.
All buffers together and all cached blocks together are bounded for the process, however many stores it opens.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    WriteBufferManager,
)

from context_graph.store.graph_layout import EMBEDDINGS, MEMORY_FAMILIES, NODES

__all__ = ["BLOOM_BITS", "DEFAULT_TUNING", "Durability", "Tuning", "database_options", "family_options"]

Durability = Literal["normal", "power"]

KIB: Final = 1024
MIB: Final = KIB * KIB
WRITE_BUFFER_BYTES: Final = MIB  # of one family of sessions; small, since ten stores may be open
SMALL_MEMORY_BUFFER_BYTES: Final = 2 * MIB  # of a family of memories
MEMORY_BUFFER_BYTES: Final = {EMBEDDINGS: 8 * MIB, NODES: 4 * MIB}
ALL_BUFFERS_BYTES: Final = 24 * MIB  # of all stores in this process together
CACHE_BYTES: Final = 4 * MIB  # blocks of sessions, of all stores together
MEMORY_CACHE_BYTES: Final = 24 * MIB  # blocks of memories, of all stores together
ARENA_BYTES: Final = 64 * KIB  # what an empty family already costs
WAL_BYTES: Final = (
    48 * MIB
)  # a crash replays at most this much; smaller means a flush of every family so often
TABLE_BYTES: Final = 4 * MIB
MEMORY_TABLE_BYTES: Final = 16 * MIB
LEVEL_BYTES: Final = 16 * MIB
MEMORY_LEVEL_BYTES: Final = 64 * MIB
BLOOM_BITS: Final = 10  # seed 000 REQ-SESSION-04, seed 003 REQ-CORE-009; about 1 % of misses read a block
MAX_OPEN_FILES: Final = 128
LEAST_OPEN_FILES: Final = 24  # RocksDB takes no fewer than 20
FILES_BESIDE: Final = 24  # logs, manifest, lock, what a flush or a compaction writes, our own files
LOG_BYTES: Final = 256 * KIB
MANIFEST_BYTES: Final = 256 * KIB  # the seal reads all of it at each opening

_shared: tuple[Cache, Cache, WriteBufferManager] | None = None


@dataclass(frozen=True, slots=True)
class Tuning:
    """What of RocksDB's setup is configurable (REQ-CORE-008, REQ-CORE-009)."""

    durability: Durability = "normal"
    """``normal`` survives the death of every process; ``power`` adds an fsync to each write."""
    wal: bool = True
    """False for tests only: what is not flushed is then lost with the process."""
    wal_dir: Path | None = None
    """Folder below which the write-ahead logs of each database get a folder; None: in the database's own."""
    bloom_bits: int = BLOOM_BITS
    """Bits a key of the bloom filters of new tables; 10 for some 1 % of false positives."""


DEFAULT_TUNING: Final = Tuning()


def open_files() -> int:
    """Tables that a database keeps open: fewer where the process may have few descriptors (`ulimit -n`)."""
    return max(LEAST_OPEN_FILES, min(MAX_OPEN_FILES, _file_limit() // 8))


def most_stores(clients: int) -> int:
    """Databases that may be open at once beside so many clients, at least one."""
    left = _file_limit() - FILES_BESIDE - clients
    return max(1, left // (open_files() + FILES_BESIDE))


def _file_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def _shared_memory() -> tuple[Cache, Cache, WriteBufferManager]:
    """Block caches and one write-buffer budget for the process, however many stores it opens."""
    global _shared
    if _shared is None:
        _shared = Cache(CACHE_BYTES), Cache(MEMORY_CACHE_BYTES), WriteBufferManager(ALL_BUFFERS_BYTES, False)
    return _shared


def database_options(
    tuning: Tuning = DEFAULT_TUNING,
    *,
    log_folder: Path | None = None,
    creating: bool = False,
    lenient: bool = False,
) -> Options:
    """Options of a database as a whole, and of its default family.

    Args:
        log_folder: Where its write-ahead logs are, when not beside its tables.
        lenient: Skip damaged log records instead of failing on them (copies only).
    """
    options = family_options("default", tuning)
    options.create_if_missing(creating)
    options.create_missing_column_families(creating)
    options.set_write_buffer_manager(_shared_memory()[2])
    options.set_max_total_wal_size(WAL_BYTES)
    options.set_max_open_files(open_files())
    options.set_max_background_jobs(2)  # one flush, one compaction: the least RocksDB runs well with
    options.set_max_file_opening_threads(1)
    options.set_table_cache_num_shard_bits(2)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(LOG_BYTES)
    options.set_max_manifest_file_size(MANIFEST_BYTES)
    options.set_manifest_preallocation_size(16 * KIB)
    options.set_stats_dump_period_sec(0)  # idle costs nothing
    options.set_stats_persist_period_sec(0)
    options.enable_statistics()
    options.set_allow_concurrent_memtable_write(
        False
    )  # one thread writes at a time: its locks are for nothing
    if log_folder is not None:
        options.set_wal_dir(str(log_folder))
    # The default drops every write behind a damaged log record without a word; tolerate_… reports it, and
    # still takes a record that a crash cut off at the end.
    options.set_wal_recovery_mode(
        DBRecoveryMode.skip_any_corrupted_record()
        if lenient
        else DBRecoveryMode.tolerate_corrupted_tail_records()
    )
    return options


def family_options(family: str, tuning: Tuning = DEFAULT_TUNING) -> Options:
    """Options of one column family."""
    memories = family in MEMORY_FAMILIES
    sessions_cache, memories_cache, _ = _shared_memory()
    table = BlockBasedOptions()
    table.set_block_cache(memories_cache if memories else sessions_cache)
    table.set_bloom_filter(tuning.bloom_bits, False)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    compression = DBCompressionType.none() if family == EMBEDDINGS else DBCompressionType.lz4()
    options.set_compression_type(compression)
    usual = SMALL_MEMORY_BUFFER_BYTES if memories else WRITE_BUFFER_BYTES
    options.set_write_buffer_size(MEMORY_BUFFER_BYTES.get(family, usual))
    options.set_arena_block_size(ARENA_BYTES)
    options.set_max_write_buffer_number(3)
    options.set_target_file_size_base(MEMORY_TABLE_BYTES if memories else TABLE_BYTES)
    options.set_max_bytes_for_level_base(MEMORY_LEVEL_BYTES if memories else LEVEL_BYTES)
    return options
