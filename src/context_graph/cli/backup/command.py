"""Copies a store, puts a copy back, and salvages a damaged store: `backup`, `restore`, `repair`."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from context_graph.cli.backup import make as making
from context_graph.cli.backup.make import (
    DATABASE,
    Manifest,
    check_files,
    copy_files,
    probe,
    read_manifest,
    sync_folder,
)
from context_graph.cli.console.calling import Finished, ask, finish
from context_graph.cli.console.tables import counted
from context_graph.cli.console.terminal import bar, confirmed
from context_graph.cli.words import Argument, Command, Option
from context_graph.config import Location, locate, lock_path
from context_graph.errors import (
    CommandLineError,
    InvalidInputError,
    OwnerUnavailableError,
    StoreLockedError,
    UsageError,
)
from context_graph.system.folders import ASIDE, aside_folder, settle, swap
from context_graph.wire import run_folder
from context_graph.wire.client.spawn import stop_owner

_CHECKPOINT_S = 60.0


def backup(folder: Path, as_json: bool, db_path: str | None) -> None:
    """Copy this project's sessions and memories into a new folder, while the store stays in use.

    The owner makes a checkpoint of the database, in 5 to 50 ms; this command copies it, opens the copy to
    check it, and writes a list of its files with their SHA-256. FOLDER must be new or empty.

    Exit codes: 0 the backup is complete and durable; 1 it failed, and nothing is left of it.

    Example: context-graph-cli backup ~/backups/project-monday
    """
    place = making.place_for(folder)
    reply = ask("backup.checkpoint", {}, json.dumps({"pid": os.getpid()}).encode(), db_path=db_path,
                timeout_s=_CHECKPOINT_S)  # fmt: skip
    if reply.exit_code:
        finish(reply)
    checkpoint: dict[str, Any] = json.loads(reply.stdout)
    try:
        with bar("copying", making.bytes_of(Path(checkpoint["database"]))) as advance:
            made = making.make(checkpoint, place, advance)
    finally:
        shutil.rmtree(checkpoint["folder"], ignore_errors=True)
    view = {"folder": str(place), **_view(made)}
    print(json.dumps(view) if as_json else f"backup {place}: {_line(made)}")


def restore(folder: Path, check: bool, yes: bool, as_json: bool, db_path: str | None) -> None:
    """Restore this project's store from a backup; the current store is kept in a folder beside it.

    Before anything changes, every file is compared with the backup's list and the copy is opened. The owner
    is stopped; the next command or hook starts one. Events that wait in the log are applied afterwards.

    Exit codes: 0 done, or the check is good; 1 the backup was altered, or the restore failed, and nothing
    was changed.

    Example: context-graph-cli restore ~/backups/project-monday --check
    """
    place = locate(db_path)
    source = Path(os.path.abspath(folder))
    backup = read_manifest(source)
    if check:
        check_files(source, backup)
        print(json.dumps({"checked": True, **_view(backup)}) if as_json else f"good: {_line(backup)}")
        return
    if not yes:
        _confirm(backup, place.store)
    with bar("restoring", backup.bytes) as advance:
        kept, holds = put_back(source, backup, place, advance)
    if as_json:
        print(json.dumps({"store": str(place.store), "kept": str(kept) if kept else None, **holds}))
        return
    print(f"restored into {place.store}: {_amount(holds['memories'], holds['sessions'])}")
    if kept:
        print(f"the previous store is kept in {kept}")


def _confirm(backup: Manifest, store: Path) -> None:
    if not sys.stdin.isatty():
        raise UsageError("this replaces the store, so it asks first: run it in a terminal")
    print(f"backup: {_line(backup)}\nit replaces {store}, which is kept beside it")
    if not confirmed("Continue?"):
        raise Finished(1)


def _view(made: Manifest) -> dict[str, Any]:
    return {
        "created_at": _time(made),
        "project": made.project,
        "program_version": made.program_version,
        "memories": made.memories,
        "sessions": made.sessions,
        "last_commit": made.last_commit,
        "files": len(made.files),
        "bytes": made.bytes,
    }


def _line(made: Manifest) -> str:
    return (
        f"{_amount(made.memories, made.sessions)}, {made.bytes} bytes in {len(made.files)} files, "
        f"of {made.project or made.store}, {_time(made)}"
    )


def _amount(memories: int, sessions: int) -> str:
    return f"{counted(memories, 'memory', 'memories')}, {counted(sessions, 'session')}"


def _time(made: Manifest) -> str:
    return datetime.fromtimestamp(made.created_at_ms / 1000, UTC).isoformat(timespec="seconds")


_SALVAGE: Final = """
import dataclasses, json, sys
from context_graph.errors import ContextGraphError
from context_graph.store.salvage.repair import salvage
try:
    report = dataclasses.asdict(salvage(*sys.argv[1:4]))
except ContextGraphError as error:
    report = {"code": error.code, "error": str(error)}
print(json.dumps(report))
"""
_SHOWN: Final = 20


def repair(cf: str, to: Path | None, replace: bool, as_json: bool, db_path: str | None) -> int:
    """Copy everything readable in a damaged store into a new database. The damaged one is never changed.

    All that can be read is copied, so that the new folder can replace the old one; what can't is listed.
    The owner must not hold the store: stop it first (`context-graph-cli owner stop`). With
    --replace that is done, and the next command uses the new database.

    Exit codes: 0 nothing in FAMILY is lost; 1 something is, or the repair failed.

    Example: context-graph-cli repair --replace
    """
    place = locate(db_path)
    store = place.store
    source = store / "db" if (store / "db").is_dir() or not (store / "CURRENT").exists() else store
    if replace:
        return _replace(place, source, to, cf, as_json=as_json)
    target = (
        to if to is not None else source.with_name(f"{source.name}-salvaged-{time.strftime('%Y%m%dT%H%M%S')}")
    )
    report = _salvage(source, target, cf)
    print(json.dumps(report) if as_json else _salvaged(report))
    return int(not report["complete"])


def _replace(place: Location, source: Path, to: Path | None, cf: str, *, as_json: bool) -> int:
    if to is not None or source == place.store:
        raise CommandLineError("--replace is for a store's own database: leave --to out")
    report: dict[str, Any] = {}
    # The owner is stopped first, so that the salvage has all that is there.
    kept = _put(
        place, lambda draft: report.update(_salvage(source, draft, cf)), "repair of", stops_first=True
    )
    report |= {"target": str(source), "kept": str(kept)}
    print(json.dumps(report) if as_json else _salvaged(report))
    return int(not report["complete"])


def _salvage(source: Path, target: Path, cf: str) -> dict[str, Any]:
    try:
        return making.run_apart(_SALVAGE, f"the salvage of {source}", source, target, cf)
    except StoreLockedError as error:
        raise StoreLockedError(f"{error}; stop the owner first: `context-graph-cli owner stop`") from error


def _salvaged(report: Mapping[str, Any]) -> str:
    copied = ", ".join(f"{name} {count}" for name, count in report["copied"].items())
    lines = [f"salvaged {report['source']} into {report['target']}", f"copied records: {copied or 'none'}"]
    if report["rebuilt"]:
        lines.append("RocksDB's own repair was needed (on a copy)")
    lines += [f"missing family: {name}" for name in report["missing"]]
    # What damage advises is what has just been done.
    lines += [f"damage: {text.partition('; run `context-graph-cli repair')[0]}" for text in report["notes"]]
    unreadable = report["unreadable"]
    lines += [f"unreadable: {row['family']} {row['key']}: {row['reason']}" for row in unreadable[:_SHOWN]]
    if report["unreadable_count"] > _SHOWN:
        lines.append(f"and {report['unreadable_count'] - _SHOWN} more unreadable (--json lists them)")
    lines.append(
        f"nothing of {report['family']} is lost"
        if report["complete"]
        else f"not all of {report['family']} is there"
    )
    if "kept" in report:
        return "\n".join([*lines, f"it is in use now; the damaged one is kept in {report['kept']}"])
    source, target = (shlex.quote(report[name]) for name in ("source", "target"))
    damaged = shlex.quote(f"{report['source']}-damaged")
    lines += [
        "to use it:",
        "    context-graph-cli owner stop",
        f"    mv -T {source} {damaged} && mv -T {target} {source}",
    ]
    return "\n".join(lines)


_FOLDER: Final = Argument("FOLDER", "folder", "The backup's folder.", required=True, kind="path")
COMMANDS: Final = (
    Command.of(backup, "Copy this project's store while it is in use", _FOLDER),
    Command.of(
        restore,
        "Put a backup in the store's place",
        _FOLDER,
        Option("--check", "Only compare the backup with its list of files; change nothing."),
        Option("--yes", "Restore without asking.", short="-y"),
    ),
    Command.of(
        repair,
        "Salvage a damaged store",
        Option("--cf", "Column family to report on, or all.", "FAMILY", default="all"),
        Option(
            "--to",
            "Folder for the new database; it must not exist. Default: beside the damaged one.",
            "FOLDER",
            kind="path",
        ),
        Option("--replace", "Put it in the damaged one's place, which is kept beside it."),
    ),
)


_KEPT: Final = ("project", "events")
"""Beside the database, and not derived from it. What waits in the event log is applied afterwards."""
_DRAFT: Final = ".restoring-"
_ONE_LOCK: Final = ".restore.lock"
_LOCK_S: Final = 5.0


def put_back(
    backup: Path, contents: Manifest, place: Location, advance: Callable[[int], None]
) -> tuple[Path | None, dict[str, int]]:
    """Check the backup in the folder ``backup`` and make it the database of ``place.store``.

    The owner is stopped and can't start until it is done; hooks leave their events in the log meanwhile.
    Killed at any instant, the store's database is the old or the new one, whole, and the old one is there or
    in a folder `before-restore-…`. The next restore takes away what a killed one had not finished copying.

    Returns:
        Where the old database and what was derived from it are now (None: there was none); what the new one
        holds.

    Raises:
        InvalidInputError: The backup is not as it was written, or something can't be written.
        StoreError: The copy does not open; then nothing was changed.
        OwnerUnavailableError: The owner does not end.
        StoreLockedError: Another restore is at this store.
    """
    check_files(backup, contents)
    holds: dict[str, int] = {}

    def copied(draft: Path) -> None:
        copy_files(backup / DATABASE, draft, advance)
        holds.update(probe(draft))

    return _put(place, copied, "restore into", stops_first=False), holds


def _put(place: Location, fill: Callable[[Path], None], what: str, *, stops_first: bool) -> Path | None:
    """Have ``fill`` write a new folder, and make that the store's database, with no owner beside it."""
    store = place.store
    draft = store / f"{_DRAFT}{secrets.token_hex(4)}"
    try:
        os.makedirs(store, mode=0o700, exist_ok=True)
        with _only(store), contextlib.ExitStack() as owner:
            if stops_first:
                owner.enter_context(_alone(place.root))
            _clean(store)
            try:
                fill(draft)
                if not stops_first:
                    owner.enter_context(_alone(place.root))
                return _take_place(store, draft)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise InvalidInputError(f"{what} {store}: {error.filename or ''}: {error.strerror}") from error


@contextlib.contextmanager
def _only(store: Path) -> Iterator[None]:
    """Let no other restore work at ``store`` meanwhile: leftovers are then of killed ones."""
    lock = run_folder.take_lock(store / _ONE_LOCK)
    if lock is None:
        raise StoreLockedError(f"another restore into {store} is running; wait until it has ended")
    try:
        yield
    finally:
        os.close(lock)


def _clean(store: Path) -> None:
    """Remove what restores that were killed had begun: copies of backups, folders without content."""
    for left in store.glob(f"{_DRAFT}*"):
        shutil.rmtree(left, ignore_errors=True)
    for left in store.glob(f"{ASIDE}*"):
        with contextlib.suppress(OSError):  # not empty: it keeps something
            left.rmdir()


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    """The owner of ``root`` stopped, and its lock held, so that no hook starts one."""
    os.makedirs(lock_path(root).parent, mode=0o700, exist_ok=True)
    end = time.monotonic() + _LOCK_S
    while True:
        stop_owner(root)
        lock = run_folder.take_lock(lock_path(root))
        if lock is not None:
            break
        if time.monotonic() > end:  # hooks of running sessions start one as fast as we stop it
            raise OwnerUnavailableError(f"an owner of {root} is started again and again; end sessions first")
    try:
        yield
    finally:
        os.close(lock)


def _take_place(store: Path, draft: Path) -> Path | None:
    """Make ``draft`` the database of ``store``; where the old one is now.

    The order is for a kill in between. What is derived goes first: without it a database is whole, with that
    of another one it is wrong. And the draft, which may be thrown away, gets a name that is kept before the
    old database can come to have that name.
    """
    database = store / DATABASE
    settle(database)
    aside = aside_folder(store)
    for entry in list(os.scandir(store)):
        derived = entry.name not in (*_KEPT, DATABASE) and not entry.name.startswith((".", ASIDE))
        if derived:  # the owner makes it anew
            os.rename(entry.path, aside / entry.name)
    if database.exists():
        os.rename(draft, aside / DATABASE)
        sync_folder(aside)
        swap(aside / DATABASE, database)
    else:
        os.rename(draft, database)
    sync_folder(aside)
    sync_folder(store)
    if not any(aside.iterdir()):
        aside.rmdir()
        return None
    return aside
