"""Files from one folder to a new one, durable, each with its checksum."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from context_graph.backup.manifest import File

__all__ = ["copy_files", "sync_folder"]

_BLOCK: Final = 1 << 20


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
    found = hashlib.sha256()
    size = 0
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(source, "rb") as reading, os.fdopen(handle, "wb") as writing:
        while block := reading.read(_BLOCK):
            found.update(block)
            writing.write(block)
            size += len(block)
            advance(len(block))
        writing.flush()
        os.fsync(writing.fileno())
    return File(target.name, size, found.hexdigest())


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable; raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
