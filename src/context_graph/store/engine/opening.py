"""Opens and creates database folders: one process at a time, and without half-made states.

RocksDB takes its own lock late: before that it moves and removes its information logs, and we list and read
the database's files. Two processes that do so at once each see files vanish, which looks like damage. So
who opens a database holds a flock on its folder until RocksDB's lock is taken. The kernel frees it when
the holder dies, and no file is left behind.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from rocksdict import AccessType, Options, Rdict

from context_graph.errors import FormatVersionError, StoreError, StoreLockedError
from context_graph.store.engine.failures import (
    call,
    damaged_database,
    lock_holder,
    missing_family,
    refuse_held,
    translate,
)
from context_graph.store.engine.integrity_seal import (
    choose_log_folder,
    has_database,
    leftovers,
    log_folder,
    note_losses,
)
from context_graph.store.engine.tuning import (
    DEFAULT_TUNING,
    FamilyTuning,
    Schema,
    Tuning,
    database_options,
    family_options,
)
from context_graph.system.processes import exists

_WAIT_S: Final = 5.0
"""How long to wait for a process that looks at the files: milliseconds, unless it was stopped halfway."""
_STEP_S: Final = 0.002
EMPTIED: Final = "the database that was here is gone: its folder was empty, and a new one was begun"


@contextmanager
def opening(folder: Path, *, read_only: bool) -> Iterator[None]:
    """Keep other processes and threads from opening the database at ``folder``; readers may open it side
    by side.

    A reader of a database that somebody has open does not wait. If the folder can't be locked (it is missing,
    may not be read, or its file system has no locks), nothing is locked: opening it reports the fault. Raises
    StoreLockedError: Somebody has it open, or has been about to open it for 5 s.
    """
    handle = _take(folder, read_only=read_only)
    try:
        if not read_only:
            refuse_held(folder)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _take(folder: Path, *, read_only: bool) -> int | None:
    """Return the locked descriptor of ``folder``, None where there is nothing to lock or to wait for."""
    end = time.monotonic() + _WAIT_S
    while True:
        if read_only and lock_holder(folder) is not None:
            return None
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if _lock(handle, fcntl.LOCK_SH if read_only else fcntl.LOCK_EX) and _same(handle, folder):
                return handle
        except OSError:
            os.close(handle)
            return None
        os.close(handle)
        if not read_only:
            refuse_held(folder)
        if time.monotonic() > end:
            raise StoreLockedError(
                f"another process has been opening {folder} for {_WAIT_S:g} s; try again when it has ended"
            )
        time.sleep(_STEP_S)


def _lock(handle: int, kind: int) -> bool:
    """Return whether the lock was free; OSError where the file system has none."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _same(handle: int, folder: Path) -> bool:
    """Return whether ``folder`` is what ``handle`` is open on: a restore may have replaced it."""
    return os.path.samestat(os.fstat(handle), os.stat(folder))


def prepare_folder(path: Path, fill: Callable[[Path], None], *, create: bool) -> None:
    """Make the database at ``path``, which has no CURRENT; refuse when it looks like one that had.

    A folder that is there and empty had one, since none is ever made without: the loss is recorded. ``fill``
    makes a database in an empty folder. Raises DatabaseCorruptionError, StoreError.
    """
    lost = leftovers(path)
    if lost:
        raise damaged_database(
            f"no CURRENT file, but {lost[0]} and {len(lost) - 1} more files of a database", path
        )
    if not create:
        raise StoreError(f"there is no database at {path}")
    # Made aside and renamed: a crash in the middle must not leave a database that lacks column families.
    draft = path.with_name(f"{path.name}.creating-{os.getpid()}")
    was_emptied = path.is_dir()
    try:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        _remove_drafts(path)
        os.mkdir(draft, mode=0o700)
        fill(draft)
        if was_emptied:
            note_losses(draft, [EMPTIED])
        os.rename(draft, path)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if not has_database(path):  # else another process made it first, and that one is as good
            raise translate(error, path) from error
    except StoreError:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _remove_drafts(path: Path) -> None:
    """Remove what dead processes, and we earlier, left of databases they were making at ``path``."""
    for draft in path.parent.glob(f"{path.name}.creating-*"):
        pid = draft.name.rpartition("-")[2]
        if pid == str(os.getpid()) or not (pid.isdigit() and exists(int(pid))):
            shutil.rmtree(draft, ignore_errors=True)


def check_markers(
    path: Path, schema: Schema, get: Callable[[str, bytes], bytes | None], families: Container[str]
) -> None:
    """Check that this build knows a database's format, and that all families it promises are there.

    ``get`` finds a record by family and key. FormatVersionError: a format or layout that this build does not
    know, or no format. MissingColumnFamilyError: a family that a marker promises is not there.
    """
    version = get(schema.marker_family, schema.format_key)
    if version != schema.format_version:
        text = "none" if version is None else version[:32].decode("utf-8", "backslashreplace")
        raise FormatVersionError(
            f"{path} has store format {text}, this build expects {schema.format_version.decode()}: "
            "it belongs to another version of context-graph, or to something else. To take over what it "
            "holds, export it with that version (`memory export`, `session export`), move its folder away "
            "and import"
        )
    for name, known in schema.markers.items():
        marker = get(schema.marker_family, name)
        if marker is None:
            continue
        if marker not in known:
            raise FormatVersionError(
                f"{path} has {name.decode()} layout {marker[:32]!r}, "
                f"this build expects {next(iter(known))!r}: "
                "it was written by a newer version of context-graph; use that one"
            )
        for family in known[marker]:
            if family not in families:
                raise missing_family(family)


class Database(NamedTuple):
    """An open RocksDB, its column families, and the options that hold its statistics."""

    db: Rdict
    families: list[str]
    options: Options


def open_rocksdb(
    path: Path,
    schema: Schema,
    tuning: Tuning,
    *,
    read_only: bool,
    complete: bool = False,
    lenient: bool = False,
) -> Database:
    """Open the database with all its families.

    With ``complete`` MissingColumnFamilyError is raised if one of the schema's is not in it; ``lenient``
    skips damaged log records and tables instead of failing on them (copies only).
    """
    families: list[str] = call(path, Rdict.list_cf, str(path))
    missing = [family for family in schema.families if family not in families]
    if complete and missing:
        raise missing_family(missing[0])
    if read_only:
        logs, access = log_folder(path), AccessType.read_only(False)
    else:
        logs, access = choose_log_folder(path, tuning.wal_dir), AccessType.read_write()
    database = database_options(tuning, log_folder=None if logs == path else logs, lenient=lenient)
    options = {family: options_of(schema, family, tuning) for family in families}
    return Database(call(path, Rdict, str(path), database, options, access), families, database)


def rebuild_rocksdb(path: Path) -> None:
    """Run RocksDB's own repair, in place: what can be read of tables and logs becomes a database again.

    It moves files away and drops damaged tables: for copies only (`store.salvage.repair`).
    """
    call(path, Rdict.repair, str(path), database_options())


def create_rocksdb(schema: Schema, path: Path) -> None:
    """Make an empty database with the schema's families in the folder ``path``."""
    options = {family: options_of(schema, family, DEFAULT_TUNING) for family in schema.families}
    db: Rdict = call(path, Rdict, str(path), database_options(creating=True), options)
    # In every family, and flushed to a table: tables carry the name of their family, so that RocksDB's repair
    # can tell whose a log record is even when the MANIFEST, the only other place of that name, is lost.
    for family in schema.families:
        handle = call(path, db.get_column_family, family)
        call(path, handle.put, schema.format_key, schema.format_version)
        call(path, handle.flush)
        handle.close()
    db.close()


def options_of(schema: Schema, family: str, tuning: Tuning) -> Options:
    """RocksDB's options for one family of ``schema``."""
    return family_options(schema.tuning.get(family, FamilyTuning()), tuning)


def require_utf8(folder: Path) -> None:
    """Raise StoreError unless the path is UTF-8: RocksDict takes it as text."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"{str(folder)!r} is not valid UTF-8; set CONTEXT_GRAPH_HOME to a path that is"
        ) from error
