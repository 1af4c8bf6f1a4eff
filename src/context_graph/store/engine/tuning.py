"""Configures RocksDB: memory, logs, filters. One of three modules that import rocksdict.

All buffers together and all cached blocks together are bounded for the process, however many stores it opens.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from rocksdict import BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, Options, WriteBufferManager

Durability = Literal["normal", "power"]

KIB: Final = 1024
MIB: Final = KIB * KIB
ALL_BUFFERS_BYTES: Final = 24 * MIB  # of all stores in this process together
CACHE_BYTES: Final = 4 * MIB  # blocks of small families, of all stores together
LARGE_CACHE_BYTES: Final = 24 * MIB  # blocks of large families, of all stores together
ARENA_BYTES: Final = 64 * KIB  # what an empty family already costs
WAL_BYTES: Final = 48 * MIB  # a crash replays at most this much; less means flushing every family so often
BLOOM_BITS: Final = 10  # seed 000 REQ-SESSION-04, seed 003 REQ-CORE-009; about 1 % of misses read a block
MAX_OPEN_FILES: Final = 128
LEAST_OPEN_FILES: Final = 24  # RocksDB takes no fewer than 20
FILES_BESIDE: Final = 24  # logs, manifest, lock, what a flush or a compaction writes, our own files
LOG_BYTES: Final = 256 * KIB
MANIFEST_BYTES: Final = 256 * KIB  # the seal reads all of it at each opening

_shared: tuple[Cache, Cache, WriteBufferManager] | None = None


@dataclass(frozen=True, slots=True)
class Tuning:
    """The configurable part of RocksDB's setup (REQ-CORE-008, REQ-CORE-009)."""

    durability: Durability = "normal"
    """``normal`` survives the death of every process; ``power`` adds an fsync to each write."""
    wal: bool = True
    """False for tests only: what is not flushed is then lost with the process."""
    wal_dir: Path | None = None
    """Folder below which the write-ahead logs of each database get a folder; None: in the database's own."""
    bloom_bits: int = BLOOM_BITS
    """Bits a key of the bloom filters of new tables; 10 for some 1 % of false positives."""


DEFAULT_TUNING: Final = Tuning()


class FamilyTuning(NamedTuple):
    """The setup of one column family. Many stores may be open, so the defaults are small."""

    buffer_bytes: int = MIB
    table_bytes: int = 4 * MIB
    level_bytes: int = 16 * MIB
    large: bool = False
    """Its blocks are in the larger of the two caches."""
    compressed: bool = True


class Schema(NamedTuple):
    """Describes the records to the engine: their families, how to recognise them, how to set them up."""

    families: tuple[str, ...]
    """The families that every database must have; others in it are opened and left alone."""
    format_key: bytes
    """In each of them; in ``marker_family`` it is read when a database is opened."""
    format_version: bytes
    marker_family: str
    markers: Mapping[bytes, Mapping[bytes, tuple[str, ...]]]
    """Keys in ``marker_family`` that need not be there -> their values, the present one first -> the families
    that such a database must have besides."""
    tuning: Mapping[str, FamilyTuning]
    """Options of the families that are set up in another way than is usual."""


class Write(NamedTuple):
    """One record that is put, or removed."""

    family: str
    key: bytes
    value: bytes | None
    """None removes it."""


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
        _shared = Cache(CACHE_BYTES), Cache(LARGE_CACHE_BYTES), WriteBufferManager(ALL_BUFFERS_BYTES, False)
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
        lenient: Skip damaged log records and tables instead of failing on them (copies only).
    """
    options = family_options(FamilyTuning(), tuning)
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
    # One thread writes at a time: locks among writers would be wasted.
    options.set_allow_concurrent_memtable_write(False)
    if log_folder is not None:
        options.set_wal_dir(str(log_folder))
    # The default drops every write behind a damaged log record without a word; tolerate_… reports it, and
    # still takes a record that a crash cut off at the end.
    options.set_wal_recovery_mode(
        DBRecoveryMode.skip_any_corrupted_record()
        if lenient
        else DBRecoveryMode.tolerate_corrupted_tail_records()
    )
    if lenient:  # a table that can't be opened is met where it is read, and the others are
        options.set_paranoid_checks(False)
    return options


def family_options(family: FamilyTuning, tuning: Tuning = DEFAULT_TUNING) -> Options:
    """Options of one column family."""
    cache, large_cache, _ = _shared_memory()
    table = BlockBasedOptions()
    table.set_block_cache(large_cache if family.large else cache)
    table.set_bloom_filter(tuning.bloom_bits, False)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    options.set_compression_type(DBCompressionType.lz4() if family.compressed else DBCompressionType.none())
    options.set_write_buffer_size(family.buffer_bytes)
    options.set_arena_block_size(ARENA_BYTES)
    options.set_max_write_buffer_number(3)
    options.set_target_file_size_base(family.table_bytes)
    options.set_max_bytes_for_level_base(family.level_bytes)
    return options
