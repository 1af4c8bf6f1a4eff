"""Makes a checked copy of this project's store, and restores one: `backup` and `restore`."""

from __future__ import annotations

import json
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from context_graph.backup import make as making
from context_graph.backup import manifest
from context_graph.backup.put_back import put_back
from context_graph.cli.calling import ask, finish
from context_graph.cli.options import DbPath, Json
from context_graph.cli.output.bar import bar
from context_graph.cli.output.tables import counted
from context_graph.config import locate
from context_graph.errors import UsageError

_CHECKPOINT_S = 60.0

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The backup's folder.")]


def backup(folder: Folder, db_path: DbPath = None, json_: Json = False) -> None:
    """Copy this project's store, sessions and memories, into a new folder, while it stays in use.

    The owner makes a checkpoint of the database, in 5 to 50 ms; this command copies it, opens the copy to see
    that it can be used, and writes a list of its files with their SHA-256. FOLDER must be new or empty.

    Exit codes: 0 the backup is whole and durable; 1 it could not be made, and why, and nothing is left of it.

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
    print(json.dumps(view) if json_ else f"backup {place}: {_line(made)}")


def restore(
    folder: Folder,
    check: Annotated[
        bool, typer.Option("--check", help="Only compare the backup with its list; change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")] = False,
    db_path: DbPath = None,
    json_: Json = False,
) -> None:
    """Make a backup the store of this project; what was there is kept in a folder beside it.

    Every file is compared with the backup's list and the copy is opened before anything changes. The owner is
    stopped; the next command or hook starts one. Events that wait in the spool are applied after.

    Exit codes: 0 done, or the check is good; 1 the backup is not as it was written, or it could not be done,
    and nothing was changed. Never 2.

    Example: context-graph-cli restore ~/backups/project-monday --check
    """
    place = locate(db_path)
    source = Path(os.path.abspath(folder))
    found = manifest.read(source)
    if check:
        manifest.check(source, found)
        print(json.dumps({"checked": True, **_view(found)}) if json_ else f"good: {_line(found)}")
        return
    if not yes:
        _confirm(found, place.store)
    with bar("restoring", found.bytes) as advance:
        kept, holds = put_back(source, found, place, advance)
    if json_:
        print(json.dumps({"store": str(place.store), "kept": str(kept) if kept else None, **holds}))
        return
    print(f"restored into {place.store}: {_amount(holds['memories'], holds['sessions'])}")
    if kept:
        print(f"what was there before is kept in {kept}")


def _confirm(found: manifest.Manifest, store: Path) -> None:
    if not sys.stdin.isatty():
        raise UsageError("nobody is here to ask; give --yes to replace the store")
    print(f"backup: {_line(found)}\nit takes the place of {store}, which is kept beside it")
    if not typer.confirm("Go on?"):
        raise typer.Exit(1)


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
