"""Copies a store, puts a copy back, and salvages a damaged store: `backup`, `restore`, `repair`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from context_graph.cli.backup import make as making
from context_graph.cli.backup import manifest
from context_graph.cli.backup.put_back import put_back, put_salvaged
from context_graph.cli.console.calling import Finished, ask, finish
from context_graph.cli.console.tables import counted
from context_graph.cli.console.terminal import bar, confirmed
from context_graph.cli.words import DB_PATH, JSON, OUTPUT, Argument, Command, Option
from context_graph.config import Location, locate
from context_graph.errors import CommandLineError, StoreLockedError, UsageError

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
    backup = manifest.read(source)
    if check:
        manifest.check(source, backup)
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


def _confirm(backup: manifest.Manifest, store: Path) -> None:
    if not sys.stdin.isatty():
        raise UsageError("this replaces the store, so it asks first: run it in a terminal")
    print(f"backup: {_line(backup)}\nit replaces {store}, which is kept beside it")
    if not confirmed("Continue?"):
        raise Finished(1)


def _view(made: manifest.Manifest) -> dict[str, Any]:
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


def _line(made: manifest.Manifest) -> str:
    return (
        f"{_amount(made.memories, made.sessions)}, {made.bytes} bytes in {len(made.files)} files, "
        f"of {made.project or made.store}, {_time(made)}"
    )


def _amount(memories: int, sessions: int) -> str:
    return f"{counted(memories, 'memory', 'memories')}, {counted(sessions, 'session')}"


def _time(made: manifest.Manifest) -> str:
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

    All column families are copied, so that the new folder can replace the old one; what could not be read
    is listed. The owner must not hold the store: stop it first (`context-graph-cli owner stop`). With
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
    kept = put_salvaged(place, lambda draft: report.update(_salvage(source, draft, cf)))
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
    Command(
        "backup", backup, "Copy this project's store while it is in use", (_FOLDER, DB_PATH, OUTPUT, JSON)
    ),
    Command(
        "restore",
        restore,
        "Put a backup in the store's place",
        (
            _FOLDER,
            Option("--check", "Only compare the backup with its list of files; change nothing."),
            Option("--yes", "Restore without asking.", short="-y"),
            DB_PATH,
            OUTPUT,
            JSON,
        ),
    ),
    Command(
        "repair",
        repair,
        "Salvage a damaged store",
        (
            Option("--cf", "Column family to report on, or all.", "FAMILY", default="all"),
            DB_PATH,
            Option(
                "--to",
                "Folder for the new database; it must not exist. Default: beside the damaged one.",
                "FOLDER",
                kind="path",
            ),
            Option("--replace", "Put it in the damaged one's place, which is kept beside it."),
            OUTPUT,
            JSON,
        ),
    ),
)
