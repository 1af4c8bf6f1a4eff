"""Opens a RocksDB database; only this module, `cursor` and `tuning` import rocksdict.

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
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from rocksdict import (
    AccessType,
    BottommostLevelCompaction,
    Checkpoint,
    CompactOptions,
    Options,
    Rdict,
    WriteOptions,
)

from context_graph import watchdog
from context_graph.errors import StoreClosedError, StoreError
from context_graph.folder_swap import settle
from context_graph.store.engine import integrity_seal
from context_graph.store.engine.cursor import Batch, Cursor, open_cursor, require_bytes
from context_graph.store.engine.failures import call, lock_holder, missing_family, refuse_held
from context_graph.store.engine.integrity_seal import Evidence, LogMark, losses, note_losses, tell_losses
from context_graph.store.engine.opening import check_markers, opening, prepare_folder
from context_graph.store.engine.tuning import (
    DEFAULT_TUNING,
    Durability,
    FamilyTuning,
    Schema,
    Tuning,
    database_options,
    family_options,
)

_LOG: Final = logging.getLogger(__name__)


class Engine:
    """An open database with the store's column families. Make one with `Engine.open`."""

    def __init__(
        self,
        path: Path,
        schema: Schema,
        db: Rdict,
        families: list[str],
        options: Options,
        tuning: Tuning,
        *,
        read_only: bool,
    ) -> None:
        self.path = path
        self.schema = schema
        self.read_only = read_only
        self.tuning = tuning
        self._options = options  # holds the database's statistics
        self._db: Rdict | None = db
        self._families = {name: db.get_column_family(name) for name in families}
        self._handles = {name: db.get_column_family_handle(name) for name in families}
        self._scans: weakref.WeakSet[Cursor] = weakref.WeakSet()
        self._mark: LogMark | None = None
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
        durability: Durability = "normal",
        read_only: bool = False,
        tuning: Tuning | None = None,
    ) -> Engine:
        """Open the database folder ``path``.

        Args:
            schema: What must be in it, and what a new one is made of.
            create: Make a missing database (complete or not at all, folder 0700).
            durability: ``normal`` survives the death of every process; ``power`` adds an fsync to each write.
            tuning: The rest of what is configurable, and ``durability`` with it.
            read_only: Also possible while another process holds the database; sees it as it is now.

        Raises:
            StoreLockedError: Another process, or this one, has it open; names the holder if it can.
            DatabaseCorruptionError: Its files are damaged. Nothing is changed, replaced or deleted.
            MissingColumnFamilyError: One of the schema's families is not in it. It is not made anew.
            FormatVersionError: Another format version.
            StoreFullError, StoreReadOnlyError: As they say.
            StoreError: ``path`` is not UTF-8; or as it says.
        """
        folder = Path(os.path.abspath(path))
        tuning = tuning or Tuning(durability=durability)
        _require_utf8(folder)
        if not read_only:
            refuse_held(folder)
        settle(folder)  # a restore may have been killed while it took this place
        if not integrity_seal.has_database(folder):
            prepare_folder(folder, partial(_create, schema), create=create and not read_only)
        with opening(folder, read_only=read_only):
            return cls._open_checked(folder, schema, tuning, read_only=read_only)

    @classmethod
    def _open_checked(cls, folder: Path, schema: Schema, tuning: Tuning, *, read_only: bool) -> Engine:
        if not read_only or lock_holder(folder) is None:
            integrity_seal.check_files(folder)
        found: list[str] = call(folder, Rdict.list_cf, str(folder))
        for family in schema.families:
            if family not in found:
                raise missing_family(family)
        waiting = 0 if read_only else integrity_seal.log_bytes(folder)
        evidence = None if read_only else Evidence.of(folder)
        if waiting:
            _LOG.info("%s: replaying %d bytes of write-ahead log", folder, waiting)
        engine = _open(folder, schema, found, tuning, read_only=read_only)
        if waiting:
            _LOG.info("%s: write-ahead log replayed up to write %d", folder, engine.sequence())
        try:
            check_markers(folder, schema, engine.get, engine.families)
            sequence = engine.sequence()
            if evidence is not None:
                integrity_seal.check_sequence(folder, sequence)
                _note_losses(folder, evidence.losses(sequence))
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
        options = _family_options(self.schema, family, self.tuning)
        db = self._open_db()
        self._families[family] = call(self.path, db.create_column_family, family, options)
        self._handles[family] = call(self.path, db.get_column_family_handle, family)

    def get(self, family: str, key: bytes) -> bytes | None:
        """The value of ``key``, None if there is none."""
        require_bytes(key)
        value: bytes | None = call(self.path, self._family(family).get, key)
        return value

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of ``keys``, in one call; None where there is none."""
        require_bytes(*keys)
        found: Any = call(self.path, self._family(family).get, list(keys)) if keys else []
        values: list[bytes | None] = found
        return values

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Set one key. For several, a batch."""
        require_bytes(key, value)
        call(self.path, self._family(family).put, key, value, self._write_options)
        self._written()

    def delete(self, family: str, key: bytes) -> None:
        """Remove one key; nothing happens if it is not there."""
        require_bytes(key)
        call(self.path, self._family(family).delete, key, self._write_options)
        self._written()

    def batch(self) -> Batch:
        """An empty batch for `write`."""
        self._open_db()
        return Batch(self._handles)

    def write(self, batch: Batch) -> None:
        """Apply ``batch`` atomically; it is durable (see durability) when this returns."""
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
        cursor = call(self.path, open_cursor, self._family(family), whole)
        scan = Cursor(cursor, start, until, reverse, self.path)
        self._scans.add(scan)
        return scan

    def rows(self, family: str, start: bytes = b"", *, whole: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """As `scan`, without the mark of the format."""
        mark = self.schema.format_key
        return (row for row in self.scan(family, start, whole=whole) if row[0] != mark)

    def property(self, family: str, name: str) -> str | None:
        """A RocksDB property such as ``rocksdb.estimate-num-keys``; None for an unknown name."""
        value: str | None = call(self.path, self._family(family).property_value, name)
        return value

    def statistics(self) -> dict[str, int]:
        """RocksDB's tickers since this database was opened, such as ``rocksdb.bloom.filter.useful``."""
        found = {}
        for line in (self._options.get_statistics() or "").splitlines():
            name, mark, count = line.partition(" COUNT : ")
            if mark and count.isdigit():
                found[name] = int(count)
        return found

    def sequence(self) -> int:
        """RocksDB's number of the last write; it only grows."""
        number: int = call(self.path, self._open_db().latest_sequence_number)
        return number

    def flush(self, family: str | None = None) -> None:
        """Write what is in memory of one family, or of all, to tables. Not needed for durability."""
        for one in self._families.values() if family is None else (self._family(family),):
            call(self.path, one.flush)
        if self._mark is not None:
            self._mark.look(self.sequence())

    def losses(self) -> list[dict[str, Any]]:
        """What was found to be lost when the database was opened, now or earlier: ``at_ms``, ``what``."""
        return losses(self.path)

    def tell_losses(self) -> list[str]:
        """The losses that were not reported yet; they count as reported from now on."""
        return tell_losses(self.path)

    def write_seal(self) -> None:
        """Note in the folder which write was the last: see `store.engine.integrity_seal`."""
        integrity_seal.write_seal(self.path, self.sequence())

    def compact_range(self, family: str, start: bytes, end: bytes) -> None:
        """Rewrite the tables that hold [start, end] of ``family``: what was deleted there leaves the disk."""
        handle = self._family(family)
        call(self.path, handle.flush)
        # Forced: else a table of the lowest level stays as it is, and what was deleted in it.
        choice = CompactOptions()
        choice.set_bottommost_level_compaction(BottommostLevelCompaction.force())
        call(self.path, handle.compact_range, start, end, choice)

    def checkpoint(self, path: str | os.PathLike[str]) -> None:
        """A consistent copy of the database in the new folder ``path`` (hard links where possible).

        Raises:
            StoreError: If ``path`` exists.
        """
        call(self.path, Checkpoint(self._open_db()).create_checkpoint, os.fspath(path))

    def reopen(self) -> None:
        """Close and open again, in place: after a failed write RocksDB refuses every further one.

        What was acknowledged is in the log, so nothing of it is lost. Scans in progress end.

        Raises:
            As `open`; reading then goes on as far as it can, and `reopen` may be tried again.
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
        self._mark, other._mark = other._mark, None
        other._db, other._families, other._handles = None, {}, {}

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


def _note_losses(folder: Path, lost: list[str]) -> None:
    for one in lost:
        _LOG.error("%s: %s; what is there is used", folder, one)
    if lost:
        note_losses(folder, lost)


def rebuild(path: Path) -> None:
    """Run RocksDB's own repair, in place: what can be read of tables and logs becomes a database again.

    It moves files away and drops damaged tables: for copies only (`store.salvage.repair`).
    """
    call(path, Rdict.repair, str(path), database_options())


def open_as_it_is(path: Path, schema: Schema, *, lenient: bool) -> Engine:
    """Open a damaged database, read-only, with the families it still names and without our checks.

    ``lenient`` skips damaged log records instead of failing. It writes a LOG file: for copies only
    (`store.salvage.repair`).
    """
    found: list[str] = call(path, Rdict.list_cf, str(path))
    return _open(path, schema, found, DEFAULT_TUNING, read_only=True, lenient=lenient)


def _open(
    path: Path, schema: Schema, families: list[str], tuning: Tuning, *, read_only: bool, lenient: bool = False
) -> Engine:
    if read_only:
        logs, access = integrity_seal.log_folder(path), AccessType.read_only(False)
    else:
        logs, access = integrity_seal.choose_log_folder(path, tuning.wal_dir), AccessType.read_write()
    database = database_options(tuning, log_folder=None if logs == path else logs, lenient=lenient)
    options = {family: _family_options(schema, family, tuning) for family in families}
    db: Rdict = call(path, Rdict, str(path), database, options, access)
    return Engine(path, schema, db, families, database, tuning, read_only=read_only)


def _create(schema: Schema, path: Path) -> None:
    options = {family: _family_options(schema, family, DEFAULT_TUNING) for family in schema.families}
    db: Rdict = call(path, Rdict, str(path), database_options(creating=True), options)
    # In every family, and flushed to a table: tables carry the name of their family, so that RocksDB's repair
    # can tell whose a log record is even when the MANIFEST, the only other place of that name, is lost.
    for family in schema.families:
        handle = call(path, db.get_column_family, family)
        call(path, handle.put, schema.format_key, schema.format_version)
        call(path, handle.flush)
        handle.close()
    db.close()


def _family_options(schema: Schema, family: str, tuning: Tuning) -> Options:
    return family_options(schema.tuning.get(family, FamilyTuning()), tuning)


def _require_utf8(folder: Path) -> None:
    """RocksDict takes paths as text."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"{str(folder)!r} is not UTF-8, which a store's folder must be; "
            "set CONTEXT_GRAPH_HOME to one that is"
        ) from error
