"""Makes a backup from a checkpoint: copies it, has another process open the copy, then moves it into place.

`backup.json` lists a backup's files with size and SHA-256.
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
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from context_graph.errors import InvalidInputError, StoreError, error_for_code

NAME: Final = "backup.json"
DATABASE: Final = "db"
FORMAT: Final = "context-graph/backup"
VERSION: Final = 1
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class File:
    """One file of the database: its name, bytes and SHA-256 in hex."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A backup: when it was made (Unix ms), of which project and store, what is in it."""

    created_at_ms: int
    project: str
    store: str
    program_version: str
    memories: int
    sessions: int
    last_commit: int
    files: tuple[File, ...]

    @property
    def bytes(self) -> int:
        """Of the database's files together."""
        return sum(file.bytes for file in self.files)


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
        files = copy_files(Path(checkpoint["database"]), draft / DATABASE, advance)
        made = _checked(checkpoint, draft / DATABASE, files)
        write_manifest(draft, made)
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


def _checked(checkpoint: Mapping[str, Any], database: Path, files: tuple[File, ...]) -> Manifest:
    """Return the manifest, with what another process finds in the copy; what that leaves there goes again."""
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


def digest(path: Path) -> File:
    """Return the size and SHA-256 of the file ``path``; raises OSError."""
    with open(path, "rb") as source:
        return File(path.name, os.fstat(source.fileno()).st_size, file_digest(source, "sha256").hexdigest())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `backup.json` into ``folder``, durably; raises OSError."""
    document = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    handle = os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(document, out, indent=2)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of the backup in ``folder``.

    Raises:
        InvalidInputError: There is none, or it is not one of this format and version.
    """
    path = folder / NAME
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(
            f"{path}: {error.strerror}; name a folder that `context-graph-cli backup` made"
        ) from error
    except ValueError as error:
        raise InvalidInputError(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InvalidInputError(f"{path} has another format than {FORMAT!r}")
    if record.get("version") != VERSION:
        version = record.get("version")
        raise InvalidInputError(f"{path} has version {version!r}; this program reads version {VERSION}")
    try:
        manifest = msgspec.convert(record, Manifest)
    except msgspec.ValidationError as error:
        raise InvalidInputError(f"{path} lacks or misstates something: {error}") from error
    names = [file.name for file in manifest.files]
    if any(name != os.path.basename(name) or name in ("", ".", "..") for name in names):
        raise InvalidInputError(f"{path}: a file's name leads out of its folder")
    return manifest


def check_files(folder: Path, manifest: Manifest) -> None:
    """Compare every file of the backup in ``folder`` with what ``manifest`` says of it.

    Raises:
        InvalidInputError: Naming the files that lack, differ, or should not be there.

    Cost: it reads everything once.
    """
    wrong = []
    for file in manifest.files:
        try:
            actual = digest(folder / DATABASE / file.name)
        except OSError as error:
            wrong.append(f"{file.name}: {error.strerror}")
            continue
        if actual != file:
            wrong.append(f"{file.name}: differs from what was written")
    try:
        there = {entry.name for entry in os.scandir(folder / DATABASE)}
    except OSError:
        there = set()
    wrong += [
        f"{name}: is not part of the backup" for name in sorted(there - {f.name for f in manifest.files})
    ]
    if wrong:
        shown = "; ".join(wrong[:8]) + ("; …" if len(wrong) > 8 else "")
        raise InvalidInputError(f"backup {folder} is not as it was written: {shown}")


def copy_files(source: Path, target: Path, advance: Callable[[int], None]) -> tuple[File, ...]:
    """Copy the plain files of ``source`` into the new folder ``target`` (0700, files 0600), fsynced.

    Args:
        advance: Called with the number of bytes after each block.

    Raises:
        OSError: ``target`` exists, or something can't be read or written.
    """
    os.mkdir(target, mode=0o700)
    plain = [path for path in sorted(source.iterdir()) if path.is_file() and not path.is_symlink()]
    copied = tuple(_copy(path, target / path.name, advance) for path in plain)
    sync_folder(target)
    return copied


def _copy(source: Path, target: Path, advance: Callable[[int], None]) -> File:
    hasher = sha256()
    size = 0
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(source, "rb") as reading, os.fdopen(handle, "wb") as writing:
        while block := reading.read(_BLOCK):
            hasher.update(block)
            writing.write(block)
            size += len(block)
            advance(len(block))
        writing.flush()
        os.fsync(writing.fileno())
    return File(target.name, size, hasher.hexdigest())


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable; raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
