"""The door to RocksDB: the only module that imports rocksdict.

It absorbs what RocksDict leaves to its callers: every failure is a bare Exception with RocksDB's text (told
apart in `failures.translate`, nowhere else), a key of the wrong type is a KeyError like a missing one (types
are checked first), its iterators end silently on a damaged block (ours ask for the status), and closing
leaves the database locked while any iterator or handle lives (the engine keeps track of all of them).

One Engine is one open database. Not thread-safe.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeVar

from rocksdict import (
    AccessType,
    BlockBasedOptions,
    Cache,
    Checkpoint,
    ColumnFamily,
    DBCompressionType,
    DBRecoveryMode,
    Options,
    Rdict,
    RdictIter,
    WriteBatch,
    WriteBufferManager,
    WriteOptions,
)

from context_graph.errors import FormatVersionError, StoreClosedError, StoreError
from context_graph.store import seal
from context_graph.store.failures import (
    damaged_database,
    lock_holder,
    missing_family,
    refuse_held,
    translate,
)
from context_graph.store.layout import FAMILIES, FORMAT_KEY, FORMAT_VERSION, SYSTEM

__all__ = ["Batch", "Durability", "Engine", "Scan", "lock_holder", "open_as_it_is", "rebuild", "translate"]

Durability = Literal["normal", "power"]
T = TypeVar("T")

KIB: Final = 1024
WRITE_BUFFER_BYTES: Final = 2 * KIB * KIB  # of one family; small, since ten stores may be open
ALL_BUFFERS_BYTES: Final = 6 * KIB * KIB  # of all stores in this process together
CACHE_BYTES: Final = 4 * KIB * KIB  # of all stores in this process together
ARENA_BYTES: Final = 64 * KIB  # what an empty family already costs
WAL_BYTES: Final = 8 * KIB * KIB  # a crash replays at most this much
TABLE_BYTES: Final = 4 * KIB * KIB
LEVEL_BYTES: Final = 16 * KIB * KIB
BLOOM_BITS: Final = 10  # seed 000 REQ-SESSION-04; about 1 % of misses read a block
MAX_OPEN_FILES: Final = 64
LOG_BYTES: Final = 256 * KIB
MANIFEST_BYTES: Final = 256 * KIB  # the seal reads all of it at each opening

_shared: tuple[Cache, WriteBufferManager] | None = None


def _shared_memory() -> tuple[Cache, WriteBufferManager]:
    """One block cache and one write-buffer budget for the process, however many stores it opens."""
    global _shared
    if _shared is None:
        _shared = Cache(CACHE_BYTES), WriteBufferManager(ALL_BUFFERS_BYTES, False)
    return _shared


def _options(*, creating: bool = False) -> Options:
    cache, buffers = _shared_memory()
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_bloom_filter(BLOOM_BITS, False)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options = Options(raw_mode=True)
    options.create_if_missing(creating)
    options.create_missing_column_families(creating)
    options.set_block_based_table_factory(table)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_write_buffer_manager(buffers)
    options.set_arena_block_size(ARENA_BYTES)
    options.set_max_write_buffer_number(3)
    options.set_target_file_size_base(TABLE_BYTES)
    options.set_max_bytes_for_level_base(LEVEL_BYTES)
    options.set_max_total_wal_size(WAL_BYTES)
    options.set_max_open_files(MAX_OPEN_FILES)
    options.set_max_background_jobs(2)  # one flush, one compaction: the least RocksDB runs well with
    options.set_max_file_opening_threads(1)
    options.set_table_cache_num_shard_bits(2)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(LOG_BYTES)
    options.set_max_manifest_file_size(MANIFEST_BYTES)
    options.set_manifest_preallocation_size(16 * KIB)
    options.set_stats_dump_period_sec(0)  # idle costs nothing
    options.set_stats_persist_period_sec(0)
    # The default drops every write behind a damaged log record without a word; this one reports it, and
    # still takes a record that a crash cut off at the end.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    return options


class Batch:
    """Writes that become visible and durable together, or not at all. Used once."""

    __slots__ = ("_batch", "_handles")

    def __init__(self, handles: dict[str, ColumnFamily]) -> None:
        self._batch: WriteBatch | None = WriteBatch(raw_mode=True)
        self._handles = handles

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Set ``key`` to ``value`` in ``family``."""
        _require_bytes(key, value)
        self._open().put(key, value, self._handle(family))

    def delete(self, family: str, key: bytes) -> None:
        """Remove ``key``; nothing happens if it is not there."""
        _require_bytes(key)
        self._open().delete(key, self._handle(family))

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Remove the keys from ``start`` up to but not including ``end``."""
        _require_bytes(start, end)
        self._open().delete_range(start, end, self._handle(family))

    def _open(self) -> WriteBatch:
        if self._batch is None:
            raise StoreError("this batch has been written; begin another")
        return self._batch

    def _handle(self, family: str) -> ColumnFamily:
        if not self._handles:
            raise StoreClosedError("this batch's store is closed")
        try:
            return self._handles[family]
        except KeyError:
            raise missing_family(family) from None

    def take(self) -> WriteBatch:
        """The engine's: the batch, which is then used up."""
        batch, self._batch = self._open(), None
        return batch


class Scan(Iterator[tuple[bytes, bytes]]):
    """Keys and values in order, of the database as it was when the scan began.

    Raises:
        DatabaseCorruptionError: At the first damaged block, instead of ending there.
        StoreClosedError: When the engine was closed meanwhile.
    """

    __slots__ = ("__weakref__", "_iter", "_path", "_reverse", "_until")

    def __init__(self, cursor: RdictIter, start: bytes, until: bytes, reverse: bool, path: Path) -> None:
        self._iter: RdictIter | None = cursor
        self._until = until
        self._reverse = reverse
        self._path = path
        _seek(cursor, start, until, reverse)

    def __next__(self) -> tuple[bytes, bytes]:
        cursor = self._iter
        if cursor is None:
            raise StoreClosedError(f"{self._path} was closed during a scan")
        if not cursor.valid():
            _call(self._path, cursor.status)
            raise StopIteration
        key: bytes = cursor.key()
        if (key < self._until) if self._reverse else (bool(self._until) and key >= self._until):
            raise StopIteration
        value: bytes = cursor.value()
        if self._reverse:
            cursor.prev()
        else:
            cursor.next()
        return key, value

    def release(self) -> None:
        """Let go of the database; the engine does so on closing."""
        self._iter = None


def _seek(cursor: RdictIter, start: bytes, until: bytes, reverse: bool) -> None:
    if not reverse:
        if start:
            cursor.seek(start)
        else:
            cursor.seek_to_first()
        return
    if not start:
        cursor.seek_to_last()
        return
    cursor.seek_for_prev(start)
    if cursor.valid() and cursor.key() == start:  # start is exclusive in reverse, as the end is forwards
        cursor.prev()


class Engine:
    """An open database with the store's column families. Make one with `Engine.open`."""

    def __init__(self, path: Path, db: Rdict, families: list[str], *, sync: bool, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._db: Rdict | None = db
        self._families = {name: db.get_column_family(name) for name in families}
        self._handles = {name: db.get_column_family_handle(name) for name in families}
        self._scans: weakref.WeakSet[Scan] = weakref.WeakSet()
        self._write_options = WriteOptions()
        self._write_options.sync = sync

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        durability: Durability = "normal",
        read_only: bool = False,
    ) -> Engine:
        """Open the database folder ``path``.

        Args:
            create: Make a missing database (complete or not at all, folder 0700).
            durability: ``normal`` survives the death of every process; ``power`` adds an fsync to each write.
            read_only: Also possible while another process holds the database; sees it as it is now.

        Raises:
            StoreLockedError: Another process, or this one, has it open; names the holder if it can.
            DatabaseCorruptionError: Its files are damaged. Nothing is changed, replaced or deleted.
            MissingColumnFamilyError: One of the store's families is not in it. It is not made anew.
            FormatVersionError: Another format version.
            StoreFullError, StoreReadOnlyError, StoreError: As they say.
        """
        folder = Path(os.path.abspath(path))
        if not read_only:
            refuse_held(folder)
        if not seal.has_database(folder):
            _prepare(folder, create=create and not read_only)
        if not read_only or lock_holder(folder) is None:
            seal.check_files(folder)
        found: list[str] = _call(folder, Rdict.list_cf, str(folder))
        for family in FAMILIES:
            if family not in found:
                raise missing_family(family)
        engine = _open(cls, folder, found, sync=durability == "power", read_only=read_only)
        try:
            engine._check_format()
            sequence = engine.sequence()
            if not read_only:
                seal.check_sequence(folder, sequence)
                seal.write_seal(folder, sequence)
        except BaseException:
            engine._release()
            raise
        return engine

    @property
    def families(self) -> tuple[str, ...]:
        """All column families in the database, the store's and others."""
        return tuple(self._families)

    def get(self, family: str, key: bytes) -> bytes | None:
        """The value of ``key``, None if there is none."""
        _require_bytes(key)
        value: bytes | None = _call(self.path, self._family(family).get, key)
        return value

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Set one key. For several, a batch."""
        _require_bytes(key, value)
        _call(self.path, self._family(family).put, key, value, self._write_options)

    def delete(self, family: str, key: bytes) -> None:
        """Remove one key; nothing happens if it is not there."""
        _require_bytes(key)
        _call(self.path, self._family(family).delete, key, self._write_options)

    def batch(self) -> Batch:
        """An empty batch for `write`."""
        self._open_db()
        return Batch(self._handles)

    def write(self, batch: Batch) -> None:
        """Apply ``batch`` atomically; it is durable (see durability) when this returns."""
        _call(self.path, self._open_db().write, batch.take(), self._write_options)

    def scan(self, family: str, start: bytes = b"", until: bytes = b"", *, reverse: bool = False) -> Scan:
        """Keys in [start, until), ascending; empty bounds are open.

        ``reverse`` goes down from the key before ``start`` to ``until`` inclusive.
        """
        _require_bytes(start, until)
        scan = Scan(_call(self.path, self._family(family).iter), start, until, reverse, self.path)
        self._scans.add(scan)
        return scan

    def property(self, family: str, name: str) -> str | None:
        """A RocksDB property such as ``rocksdb.estimate-num-keys``; None for an unknown name."""
        value: str | None = _call(self.path, self._family(family).property_value, name)
        return value

    def sequence(self) -> int:
        """RocksDB's number of the last write; it only grows."""
        number: int = _call(self.path, self._open_db().latest_sequence_number)
        return number

    def flush(self) -> None:
        """Write what is in memory to tables; the logs are then empty. Not needed for durability."""
        for family in self._families.values():
            _call(self.path, family.flush)

    def compact(self) -> None:
        """Merge all tables and drop what was deleted. Not needed in the normal course."""
        self.flush()
        for family in self._families.values():
            _call(self.path, family.compact_range, None, None)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """A consistent copy of the database in the new folder ``path`` (hard links where possible).

        Raises:
            StoreError: If ``path`` exists.
        """
        _call(self.path, Checkpoint(self._open_db()).create_checkpoint, os.fspath(path))

    def close(self) -> None:
        """Flush and close; scans in progress end with StoreClosedError. Safe to call twice.

        Raises:
            StoreFullError, StoreError: If the last flush failed; the database is closed all the same, and
                its log still holds what was not flushed.
        """
        if self._db is None:
            return
        try:
            sequence = self.sequence()
            if not self.read_only:
                self.flush()
        finally:
            self._release()
        if not self.read_only:
            seal.write_seal(self.path, sequence)

    def _release(self) -> None:
        """Drop everything that keeps the database open; RocksDB unlocks it with the last of them."""
        for scan in list(self._scans):
            scan.release()
        self._handles.clear()
        families, self._families = self._families, {}
        db, self._db = self._db, None
        for handle in (*families.values(), db):
            # Closing flushes, which fails on a full disk; the log has it all, and close() has said so.
            with suppress(Exception):
                if handle is not None:
                    handle.close()

    def _open_db(self) -> Rdict:
        if self._db is None:
            raise StoreClosedError(f"{self.path} is closed")
        return self._db

    def _family(self, family: str) -> Rdict:
        self._open_db()
        try:
            return self._families[family]
        except KeyError:
            raise missing_family(family) from None

    def _check_format(self) -> None:
        found = self.get(SYSTEM, FORMAT_KEY)
        if found != str(FORMAT_VERSION).encode():
            text = "none" if found is None else found[:32].decode("utf-8", "backslashreplace")
            raise FormatVersionError(
                f"{self.path} has store format {text}, this build expects {FORMAT_VERSION}: "
                "it belongs to another version of context-graph, or to something else"
            )


def rebuild(path: Path) -> None:
    """RocksDB's own repair, in place: what can be read of tables and logs becomes a database again.

    It moves files away and drops damaged tables: for copies only (context_graph.store.repair).
    """
    _call(path, Rdict.repair, str(path), _options())


def open_as_it_is(path: Path, *, lenient: bool) -> Engine:
    """A damaged database, read-only, with the families it still names and without our checks.

    ``lenient`` skips damaged log records instead of failing. It writes a LOG file: for copies only
    (context_graph.store.repair).
    """
    found: list[str] = _call(path, Rdict.list_cf, str(path))
    return _open(Engine, path, found, sync=False, read_only=True, lenient=lenient)


def _call(path: Path, function: Callable[..., T], *args: object) -> T:
    try:
        return function(*args)
    except Exception as error:  # RocksDict raises bare Exceptions
        raise translate(error, path) from error


def _open(
    kind: type[Engine],
    path: Path,
    families: list[str],
    *,
    sync: bool,
    read_only: bool,
    lenient: bool = False,
) -> Engine:
    access = AccessType.read_only(False) if read_only else AccessType.read_write()
    database = _options()
    if lenient:
        database.set_wal_recovery_mode(DBRecoveryMode.skip_any_corrupted_record())
    options = {family: _options() for family in families}
    db: Rdict = _call(path, Rdict, str(path), database, options, access)
    return kind(path, db, families, sync=sync, read_only=read_only)


def _prepare(path: Path, *, create: bool) -> None:
    """Make the database at ``path``, which has no CURRENT; refuse when it looks like one that had."""
    lost = seal.leftovers(path)
    if lost:
        raise damaged_database(
            f"no CURRENT file, but {lost[0]} and {len(lost) - 1} more files of a database", path
        )
    if not create:
        raise StoreError(f"there is no database at {path}")
    # Made aside and renamed: a crash in the middle must not leave a database that lacks column families.
    draft = path.with_name(f"{path.name}.creating-{os.getpid()}")
    try:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        _remove_drafts(path)
        os.mkdir(draft, mode=0o700)
        _create(draft)
        os.rename(draft, path)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if not seal.has_database(path):  # else another process made it first, and that one is as good
            raise translate(error, path) from error
    except StoreError:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _remove_drafts(path: Path) -> None:
    """What processes left that died while they made the database at ``path``, and an own earlier one."""
    for draft in path.parent.glob(f"{path.name}.creating-*"):
        pid = draft.name.rpartition("-")[2]
        if pid == str(os.getpid()) or not os.path.exists(f"/proc/{pid}"):
            shutil.rmtree(draft, ignore_errors=True)


def _create(path: Path) -> None:
    options = {family: _options(creating=True) for family in FAMILIES}
    db: Rdict = _call(path, Rdict, str(path), _options(creating=True), options)
    # In every family, and flushed to a table: tables carry the name of their family, so that RocksDB's repair
    # can tell whose a log record is even when the MANIFEST, the only other place of that name, is lost.
    for family in FAMILIES:
        handle = _call(path, db.get_column_family, family)
        _call(path, handle.put, FORMAT_KEY, str(FORMAT_VERSION).encode())
        _call(path, handle.flush)
        handle.close()
    db.close()


def _require_bytes(*values: object) -> None:
    for value in values:
        if type(value) is not bytes:
            raise TypeError(f"keys and values are bytes, got {type(value).__name__}")
