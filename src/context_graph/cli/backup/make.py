"""Makes a backup from a checkpoint: copies it, has another process open the copy, then moves it into
place.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from context_graph.cli.backup import manifest
from context_graph.cli.backup.manifest import Manifest, copy_files, sync_folder
from context_graph.errors import InvalidInputError, StoreError, error_for_code

_LOOK: Final = """
import json, sys
from context_graph.errors import ContextGraphError
from context_graph.store.graph.graph import GraphStore
from context_graph.store.sessions.sessions import SessionStore
try:
    store = GraphStore.read_only(sys.argv[1])
    found = {"memories": store.counters.nodes, "sessions": SessionStore(store.engine).count()}
    found["last_commit"] = store.counters.seq
    store.close()
except ContextGraphError as error:
    found = {"code": error.code, "error": str(error)}
print(json.dumps(found))
"""


def place_for(folder: Path) -> Path:
    """Return ``folder``, absolute, if a backup can be made there.

    Raises:
        InvalidInputError: It exists and holds something, or the folder above it does not exist.
    """
    place = Path(os.path.abspath(folder))
    try:
        if any(place.iterdir()):
            raise InvalidInputError(f"{place} is not empty; name a new folder for the backup")
    except FileNotFoundError:
        pass
    except NotADirectoryError as error:
        raise InvalidInputError(f"{place} is a file; name a new folder for the backup") from error
    except OSError as error:
        raise InvalidInputError(f"{place}: {error.strerror}") from error
    if not place.parent.is_dir():
        raise InvalidInputError(f"{place.parent} is no folder; make it first")
    return place


def bytes_of(database: Path) -> int:
    """Return bytes of the files in ``database``; raises OSError."""
    return sum(entry.stat().st_size for entry in os.scandir(database) if entry.is_file())


def make(checkpoint: Mapping[str, Any], place: Path, advance: Callable[[int], None]) -> Manifest:
    """Copy the checkpoint that the owner answered to `backup.checkpoint` to ``place``.

    Killed at any instant it leaves at most a folder `….partial`, never a backup that is not whole.

    Raises:
        InvalidInputError: Something can't be written.
        StoreError: The copy does not open; then it does not stay.
    """
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}.partial")
    try:
        os.mkdir(draft, mode=0o700)
        files = copy_files(Path(checkpoint["database"]), draft / manifest.DATABASE, advance)
        made = _checked(checkpoint, draft / manifest.DATABASE, files)
        manifest.write(draft, made)
        sync_folder(draft)
        os.rename(draft, place)  # takes the place of an empty folder, too
        sync_folder(place.parent)
    except OSError as error:
        _discard(draft)
        raise InvalidInputError(f"backup {place}: {error.filename or ''}: {error.strerror}") from error
    except BaseException:
        _discard(draft)
        raise
    return made


def _checked(checkpoint: Mapping[str, Any], database: Path, files: tuple[manifest.File, ...]) -> Manifest:
    """Return the manifest, with what a process of its own finds in the copy; what that leaves there goes
    again."""
    contents = probe(database)
    copied = {file.name for file in files}
    for entry in list(os.scandir(database)):
        if entry.name not in copied:
            os.unlink(entry.path)
    return Manifest(
        created_at_ms=time.time_ns() // 1_000_000,
        project=str(checkpoint["project"]),
        store=str(checkpoint["store"]),
        program_version=str(checkpoint["version"]),
        memories=contents["memories"],
        sessions=contents["sessions"],
        last_commit=contents["last_commit"],
        files=files,
    )


def _discard(draft: Path) -> None:
    with contextlib.suppress(OSError):
        shutil.rmtree(draft)


def probe(database: Path) -> dict[str, int]:
    """Open the database folder ``database`` read-only: its memories, sessions and last_commit.

    RocksDB leaves a log file of its own in it.

    Raises:
        StoreError: It does not open; its subclass says why.
    """
    return run_apart(_LOOK, f"opening {database}", database)


def run_apart(script: str, what: str, *arguments: Path | str) -> dict[str, Any]:
    """Run ``script`` in a Python of its own; the JSON object that it prints.

    A front end may not import the store, and if RocksDB crashes, it should crash elsewhere.

    Args:
        what: What it does, for the message if it fails.

    Raises:
        StoreError: It printed no JSON, or an error, of which a subclass may tell the kind.
    """
    command = [sys.executable, "-P", "-c", script, *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise StoreError(f"{what} ended with {done.returncode}: {last or 'no message'}") from error
    if "error" in answer:
        kind = error_for_code(str(answer["code"]))
        # Never 2 here: that code means that a session start met corruption.
        raise (kind if kind.exit_code != 2 else StoreError)(str(answer["error"]))
    return answer
