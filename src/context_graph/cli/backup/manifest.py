"""Writes and checks `backup.json`, which lists a backup's files with size and SHA-256; copies files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Final

from context_graph.errors import InvalidInputError

NAME: Final = "backup.json"
DATABASE: Final = "db"
FORMAT: Final = "context-graph/backup"
VERSION: Final = 1
_BLOCK: Final = 1 << 20
_PLAIN: Final[dict[str, type]] = {
    **dict.fromkeys(("project", "store", "program_version"), str),
    **dict.fromkeys(("created_at_ms", "memories", "sessions", "last_commit"), int),
}


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


def digest(path: Path) -> File:
    """Return the size and SHA-256 of the file ``path``; raises OSError."""
    with open(path, "rb") as source:
        return File(path.name, os.fstat(source.fileno()).st_size, file_digest(source, "sha256").hexdigest())


def write(folder: Path, manifest: Manifest) -> None:
    """Write `backup.json` into ``folder``, durably; raises OSError."""
    document = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    handle = os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        json.dump(document, out, indent=2)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())


def read(folder: Path) -> Manifest:
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
        raise InvalidInputError(
            f"{path} has version {record.get('version')!r}; this program reads version {VERSION}"
        )
    try:
        plain = {name: kind(record[name]) for name, kind in _PLAIN.items()}
        files = (
            File(str(entry["name"]), int(entry["bytes"]), str(entry["sha256"])) for entry in record["files"]
        )
        manifest = Manifest(**plain, files=tuple(files))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{path} lacks or misstates {error}") from error
    if any(
        file.name != os.path.basename(file.name) or file.name in ("", ".", "..") for file in manifest.files
    ):
        raise InvalidInputError(f"{path}: a file's name leads out of its folder")
    return manifest


def check(folder: Path, manifest: Manifest) -> None:
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
