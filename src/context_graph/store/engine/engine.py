"""Reads and writes a RocksDB database; only this module, `batches`, `opening` and `tuning` import rocksdict.

It handles what RocksDict leaves to its callers. Every failure is a bare Exception with RocksDB's text
(classified in `failures.translate`, nowhere else). A key of the wrong type raises KeyError like a missing one
(types are checked first). Its iterators end silently on a damaged block (ours ask for the status). Closing
leaves the database locked while any iterator or handle lives (the engine keeps track of all of them).

One Engine is one open database. A `Schema` tells it about the records. Not thread-safe.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from rocksdict import (
    BottommostLevelCompaction,
    Checkpoint,
    CompactOptions,
    Rdict,
    RdictIter,
    ReadOptions,
    WriteOptions,
)

from context_graph.errors import StoreClosedError, StoreError
from context_graph.store.engine import integrity_seal
from context_graph.store.engine.batches import ABSENT, Batch, Together, require_bytes
from context_graph.store.engine.failures import call, lock_holder, missing_family, refuse_held
from context_graph.store.engine.integrity_seal import Evidence, LogMark, losses, note_losses, tell_losses
from context_graph.store.engine.opening import (
    Database,
    check_markers,
    create_rocksdb,
    open_rocksdb,
    opening,
    options_of,
    prepare_folder,
    require_utf8,
)
from context_graph.store.engine.tuning import DEFAULT_TUNING, Schema, Tuning
from context_graph.system import watchdog
from context_graph.system.folders import settle
from context_graph.wire.store_folder import take

_LOG: Final = logging.getLogger(__name__)


class Engine:
    """An open database with the store's column families. Make one with `Engine.open`."""

    def __init__(
        self, path: Path, schema: Schema, database: Database, tuning: Tuning, *, read_only: bool
    ) -> None:
        self.path = path
        self.schema = schema
        self.read_only = read_only
        self.tuning = tuning
        db, families, self._options = database  # the options hold the database's statistics
        self._db: Rdict | None = db
        self._families = {name: db.get_column_family(name) for name in families}
        self._handles = {name: db.get_column_family_handle(name) for name in families}
        self._scans: weakref.WeakSet[Cursor] = weakref.WeakSet()
        self._mark: LogMark | None = None
        self._together: Together | None = None
        self._write_options = WriteOptions()
        self._write_options.sync = tuning.durability == "power" and tuning.wal
        # A property, which RocksDict's stub has as a method.
        self._write_options.disable_wal = not tuning.wal  # type: ignore[method-assign,assignment]

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        schema: Schema,
        *,
        create: bool = True,
        read_only: bool = False,
        tuning: Tuning = DEFAULT_TUNING,
    ) -> Engine:
        """Open the database folder ``path``.

        Args:
            schema: What must be in it, and what a new one is made of.
            create: Make a missing database (complete or not at all, folder 0700).
            tuning: What is configurable.
            read_only: Also possible while another process holds the database; sees it as it is now.

        Raises:
            StoreLockedError: Another process, or this one, has it open; names the holder if it can.
            DatabaseCorruptionError: Its files are damaged. Nothing is changed, replaced or deleted.
            MissingColumnFamilyError: One of the schema's families is not in it. It is not made anew.
            FormatVersionError, StoreFullError, StoreReadOnlyError: As they say.
            StoreError: ``path`` is not UTF-8; or as it says.
        """
        folder = Path(os.path.abspath(path))
        require_utf8(folder)
        if not read_only:
            refuse_held(folder)
        settle(folder)  # a restore may have been killed while it took this place
        if not integrity_seal.has_database(folder):
            prepare_folder(folder, partial(create_rocksdb, schema), create=create and not read_only)
        if not read_only:
            take(folder.parent)  # whoever may change the store makes it untrue
        with opening(folder, read_only=read_only):
            return cls._open_checked(folder, schema, tuning, read_only=read_only)

    @classmethod
    def _open_checked(cls, folder: Path, schema: Schema, tuning: Tuning, *, read_only: bool) -> Engine:
        if not read_only or lock_holder(folder) is None:
            integrity_seal.check_files(folder)
        waiting = 0 if read_only else integrity_seal.log_bytes(folder)
        evidence = None if read_only else Evidence.of(folder)
        if waiting:
            _LOG.info("%s: replaying %d bytes of write-ahead log", folder, waiting)
        database = open_rocksdb(folder, schema, tuning, read_only=read_only, complete=True)
        engine = cls(folder, schema, database, tuning, read_only=read_only)
        del database  # an error would keep it, and with it the database open (`failures.call`)
        if waiting:
            _LOG.info("%s: write-ahead log replayed up to write %d", folder, engine.sequence())
        try:
            check_markers(folder, schema, engine.get, engine.families)
            sequence = engine.sequence()
            if evidence is not None:
                integrity_seal.check_sequence(folder, sequence)
                note_losses(folder, evidence.losses(sequence))
                integrity_seal.write_seal(folder, sequence)
                if tuning.wal:
                    engine._mark = LogMark(folder, sequence)
        except BaseException:
            engine._release()
            raise
        return engine

    @property
    def families(self) -> tuple[str, ...]:
        """All column families in the database, the store's and others."""
        return tuple(self._families)

    def create_family(self, family: str) -> None:
        """Add an empty column family that is not there yet."""
        db, options = self._open_db(), options_of(self.schema, family, self.tuning)
        self._families[family] = call(self.path, db.create_column_family, family, options)
        self._handles[family] = call(self.path, db.get_column_family_handle, family)

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of ``key``, None if there is none."""
        require_bytes(key)
        if self._together is not None and (waiting := self._together.get(family, key)) is not ABSENT:
            return cast("bytes | None", waiting)
        value: bytes | None = call(self.path, self._family(family).get, key)
        return value

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of ``keys``, in one call; None where there is none."""
        require_bytes(*keys)
        self._write_together()
        records: Any = call(self.path, self._family(family).get, list(keys)) if keys else []
        values: list[bytes | None] = records
        return values

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Set one key. For several, a batch."""
        require_bytes(key, value)
        if self._together is not None:
            self._together.put(family, key, value)
            return
        call(self.path, self._family(family).put, key, value, self._write_options)
        self._written()

    def delete(self, family: str, key: bytes) -> None:
        """Remove one key; nothing happens if it is not there."""
        require_bytes(key)
        if self._together is not None:
            self._together.delete(family, key)
            return
        call(self.path, self._family(family).delete, key, self._write_options)
        self._written()

    def batch(self) -> Batch:
        """Return an empty batch for `write`."""
        self._open_db()
        return Batch(self._handles) if self._together is None else Together(self._handles)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make what is written inside durable as one batch at the end.

        Reads see what was written before; a scan can't, and has it written first. After an error inside, what
        was not yet written is dropped.
        """
        self._open_db()
        self._together = Together(self._handles)
        try:
            yield
            self._write_together()
        finally:
            self._together = None

    def _write_together(self) -> None:
        changes = self._together
        if changes is None or not changes:
            return
        batch = Batch(self._handles)
        changes.pour(batch)
        call(self.path, self._open_db().write, batch.take(), self._write_options)
        self._together = Together(self._handles)
        self._written()
        watchdog.progress()

    def write(self, batch: Batch) -> None:
        """Apply ``batch`` atomically; it is durable (see durability) when this returns."""
        if self._together is not None and isinstance(batch, Together):
            batch.pour(self._together)
            return
        call(self.path, self._open_db().write, batch.take(), self._write_options)
        self._written()
        watchdog.progress()

    def scan(
        self,
        family: str,
        start: bytes = b"",
        until: bytes = b"",
        *,
        reverse: bool = False,
        whole: bool = False,
    ) -> Cursor:
        """Keys in [start, until), ascending; empty bounds are open.

        ``reverse`` goes down from the key before ``start`` to ``until`` inclusive. ``whole`` is for a pass
        over all of a large family: a third faster, and nothing of it stays in the cache.
        """
        require_bytes(start, until)
        self._write_together()
        cursor = call(self.path, open_cursor, self._family(family), whole)
        scan = Cursor(cursor, start, until, reverse, self.path)
        self._scans.add(scan)
        return scan

    def rows(self, family: str, start: bytes = b"", *, whole: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """As `scan`, without the mark of the format."""
        mark = self.schema.format_key
        return (row for row in self.scan(family, start, whole=whole) if row[0] != mark)

    def property(self, family: str, name: str) -> str | None:
        """Return a RocksDB property such as ``rocksdb.estimate-num-keys``; None for an unknown name."""
        value: str | None = call(self.path, self._family(family).property_value, name)
        return value

    def statistics(self) -> dict[str, int]:
        """RocksDB's tickers since this database was opened, such as ``rocksdb.bloom.filter.useful``."""
        counts = {}
        for line in (self._options.get_statistics() or "").splitlines():
            name, mark, count = line.partition(" COUNT : ")
            if mark and count.isdigit():
                counts[name] = int(count)
        return counts

    def sequence(self) -> int:
        """RocksDB's number of the last write; it only grows."""
        number: int = call(self.path, self._open_db().latest_sequence_number)
        return number

    def flush(self, family: str | None = None) -> None:
        """Write what is in memory of one family, or of all, to tables. Not needed for durability."""
        for handle in self._families.values() if family is None else (self._family(family),):
            call(self.path, handle.flush)
        if self._mark is not None:
            self._mark.look(self.sequence())

    def losses(self) -> list[dict[str, Any]]:
        """Return the losses found when the database was opened, now or earlier: ``at_ms``, ``what``."""
        return losses(self.path)

    def tell_losses(self) -> list[str]:
        """Return the losses that were not reported yet; they count as reported from now on."""
        return tell_losses(self.path)

    def write_seal(self) -> None:
        """Note in the folder which write was the last: see `store.engine.integrity_seal`."""
        integrity_seal.write_seal(self.path, self.sequence())

    def compact_range(self, family: str, start: bytes, end: bytes) -> None:
        """Rewrite the tables that hold [start, end] of ``family``: what was deleted there leaves the disk."""
        handle = self._family(family)
        call(self.path, handle.flush)
        # Forced: else a table of the lowest level stays as it is, with what was deleted in it.
        choice = CompactOptions()
        choice.set_bottommost_level_compaction(BottommostLevelCompaction.force())
        call(self.path, handle.compact_range, start, end, choice)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Make a consistent copy of the database in the new folder ``path`` (hard links where possible).

        Raises StoreError if ``path`` exists.
        """
        call(self.path, Checkpoint(self._open_db()).create_checkpoint, os.fspath(path))

    def reopen(self) -> None:
        """Close and open again, in place: after a failed write RocksDB refuses every further one.

        What was acknowledged is in the log, so nothing of it is lost. Scans in progress end. Raises as
        `open`; reading then goes on as far as it can, and `reopen` may be tried again.
        """
        self._release()
        try:
            self._adopt(read_only=self.read_only)
        except StoreError:
            with suppress(StoreError):  # a full disk: reading needs no room
                self._adopt(read_only=True)
            raise

    def _adopt(self, *, read_only: bool) -> None:
        """Open another engine and take over its database."""
        other = Engine.open(self.path, self.schema, create=False, read_only=read_only, tuning=self.tuning)
        self._db, self._families, self._handles = other._db, other._families, other._handles
        self._options = other._options
        if self._together is not None:
            self._together.reopened(self._handles)
        self._mark, other._mark = other._mark, None
        other._db, other._families, other._handles = None, {}, {}

    def close(self) -> None:
        """Flush and close; scans in progress end with StoreClosedError. Safe to call twice.

        Raises StoreFullError, StoreError if the last flush failed; the database is closed all the same, and
        its log still holds what was not flushed.
        """
        if self._db is None:
            return
        try:
            sequence = self.sequence()
            if not self.read_only:
                self.flush()
                integrity_seal.write_seal(self.path, sequence)
                if self._mark is not None:
                    self._mark.finish(sequence)
        finally:
            self._release()

    def _release(self) -> None:
        """Drop everything that keeps the database open; RocksDB unlocks it with the last of them."""
        for scan in list(self._scans):
            scan.release()
        self._handles.clear()
        if self._mark is not None:
            self._mark.close()
            self._mark = None
        families, self._families = self._families, {}
        db, self._db = self._db, None
        for handle in (*families.values(), db):
            # Closing flushes, which fails on a full disk; the log has it all, and close() has said so.
            with suppress(Exception):
                if handle is not None:
                    handle.close()

    def _written(self) -> None:
        if self._mark is not None and self._db is not None:
            self._mark.note(self._db.latest_sequence_number())

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


def open_as_it_is(path: Path, schema: Schema, *, lenient: bool) -> Engine:
    """Open a damaged database, read-only, with the families it still names and without our checks.

    ``lenient`` skips damaged log records and tables instead of failing. It writes a LOG file: for copies only
    (`store.salvage.repair`).
    """
    database = open_rocksdb(path, schema, DEFAULT_TUNING, read_only=True, lenient=lenient)
    return Engine(path, schema, database, DEFAULT_TUNING, read_only=True)


AHEAD_BYTES: Final = 2 << 20
"""Read ahead of a pass over a whole family."""
_ROWS: Final = 1024


class Cursor(Iterator[tuple[bytes, bytes]]):
    """Keys and values in order, of the database as it was when the scan began.

    Raises DatabaseCorruptionError at the first damaged block, instead of ending there. Raises
    StoreClosedError: When the engine was closed meanwhile.
    """

    __slots__ = ("__weakref__", "_iter", "_left", "_path", "_reverse", "_until")

    def __init__(self, cursor: RdictIter, start: bytes, until: bytes, reverse: bool, path: Path) -> None:
        self._iter: RdictIter | None = cursor
        self._until = until
        self._reverse = reverse
        self._path = path
        self._left = _ROWS
        _seek(cursor, start, until, reverse)

    def __next__(self) -> tuple[bytes, bytes]:
        cursor = self._iter
        if cursor is None:
            raise StoreClosedError(f"{self._path} was closed during a scan")
        if not cursor.valid():
            del cursor  # an error would keep it, and with it the database open (`failures.call`)
            call(self._path, self._iter.status)  # type: ignore[union-attr]
            raise StopIteration
        key: bytes = cursor.key()
        if (key < self._until) if self._reverse else (bool(self._until) and key >= self._until):
            raise StopIteration
        value: bytes = cursor.value()
        if self._reverse:
            cursor.prev()
        else:
            cursor.next()
        self._left -= 1
        if not self._left:  # a pass over a large family ends: it is no work that gets nowhere
            self._left = _ROWS
            watchdog.progress()
        return key, value

    def release(self) -> None:
        """Release the database; the engine does so on closing."""
        self._iter = None


def open_cursor(family: Rdict, whole: bool) -> RdictIter:
    """Return a cursor over ``family``; ``whole`` reads ahead, and leaves the cache to others."""
    if not whole:
        return family.iter()
    options = ReadOptions()
    options.fill_cache(False)  # type: ignore[call-arg]  # RocksDict's stub has it as a property
    options.set_readahead_size(AHEAD_BYTES)
    return family.iter(options)


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
