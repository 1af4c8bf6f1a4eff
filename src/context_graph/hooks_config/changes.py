"""Changes of files as a plan: their diff, then their writing, each file whole or not at all."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from context_graph.errors import ConfigError, InvalidInputError

__all__ = ["Change", "apply_changes", "diff_of", "read_text"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file: its text now (None: not there), its text to be (None: not there), the mode of a new file."""

    path: Path
    before: str | None
    after: str | None
    mode: int = 0o644

    @property
    def is_needed(self) -> bool:
        return self.before != self.after


def diff_of(changes: Sequence[Change]) -> str:
    """A unified diff of all ``changes``; empty when there is nothing to do."""
    parts = [
        line
        for change in changes
        for line in difflib.unified_diff(
            (change.before or "").splitlines(keepends=True),
            (change.after or "").splitlines(keepends=True),
            "/dev/null" if change.before is None else str(change.path),
            "/dev/null" if change.after is None else str(change.path),
        )
    ]
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts
    )


def apply_changes(changes: Sequence[Change]) -> list[Path]:
    """Write what is needed, each file atomically, in this order; the paths that were changed.

    Raises:
        ConfigError: If a file can't be written; those before it stand, none is half written.
    """
    changed = []
    for change in changes:
        if change.is_needed:
            try:
                _apply(change)
            except OSError as error:
                raise ConfigError(f"{change.path} can't be written: {error.strerror}") from error
            changed.append(change.path)
    return changed


def read_text(path: Path) -> str | None:
    """The file's text with its own line ends; None if there is no file.

    Raises:
        InvalidInputError: It is not UTF-8.
        ConfigError: It can't be read.
    """
    try:
        with open(path, encoding="utf-8", newline="") as source:  # newline: CRLF must survive
            return source.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: not UTF-8 at byte {error.start}; it was not touched") from error
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error


def _apply(change: Change) -> None:
    path = Path(os.path.realpath(change.path))  # a link stays a link; its target is replaced
    if change.after is None:
        os.unlink(change.path)
        return
    os.makedirs(path.parent, exist_ok=True)
    mode = os.stat(path).st_mode & 0o7777 if path.exists() else change.mode
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(change.after)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
