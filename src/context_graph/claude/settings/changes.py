"""Plans changes of files: shows them as a diff, then writes each file whole or not at all."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from context_graph.errors import ConfigError, InvalidInputError
from context_graph.system.small_files import replacing

_MARK: Final = "\ufeff"


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

    @property
    def lines(self) -> tuple[int, int]:
        """Number of lines added and removed."""
        marks = [line[0] for line in _diff_lines(self, context=0)[2:]]
        return marks.count("+"), marks.count("-")


def diff_of(changes: Sequence[Change]) -> str:
    """Return a unified diff of all ``changes``; empty when there is nothing to do."""
    parts = [line for change in changes for line in _diff_lines(change, context=3)]
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts
    )


def _diff_lines(change: Change, context: int) -> list[str]:
    return list(
        difflib.unified_diff(
            (change.before or "").splitlines(keepends=True),
            (change.after or "").splitlines(keepends=True),
            "/dev/null" if change.before is None else str(change.path),
            "/dev/null" if change.after is None else str(change.path),
            n=context,
        )
    )


def edited(text: str, edit: Callable[[str], str]) -> str:
    """Return ``text`` after ``edit``, which does not see the byte order mark of some editors."""
    rest = text.removeprefix(_MARK)
    return text[: len(text) - len(rest)] + edit(rest)


def apply_changes(changes: Sequence[Change]) -> list[Path]:
    """Write what is needed, each file atomically, in this order; the paths that were changed.

    Raises:
        ConfigError: If a file can't be written. Those before it are as they were again, or are named.
    """
    done: list[Change] = []
    for change in changes:
        if not change.is_needed:
            continue
        way_back = Change(change.path, change.after, change.before, _mode_of(change))
        try:
            _apply(change)
        except OSError as error:
            left = _taken_back(done)
            more = f"; {', '.join(map(str, left))} could not be restored" if left else ""
            raise ConfigError(f"{change.path} can't be written: {error.strerror}{more}") from error
        done.append(way_back)
    return [change.path for change in done]


def _mode_of(change: Change) -> int:
    try:
        return os.stat(change.path).st_mode & 0o7777
    except OSError:
        return change.mode


def _taken_back(ways_back: Sequence[Change]) -> list[Path]:
    """Undo the changes, the last first; the paths where that failed."""
    left = []
    for change in reversed(ways_back):
        try:
            _apply(change)
        except OSError:
            left.append(change.path)
    return left


def read_text(path: Path) -> str | None:
    """Return the file's text with its own line ends; None if there is no file.

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
        raise InvalidInputError(f"{path}: not UTF-8 at byte {error.start}; it was not changed") from error
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error


def _apply(change: Change) -> None:
    path = Path(os.path.realpath(change.path))  # a link stays a link; its target is replaced
    if change.after is None:
        os.unlink(path)  # of a link that led nowhere what was made at its end
        return
    os.makedirs(path.parent, exist_ok=True)
    mode = os.stat(path).st_mode & 0o7777 if path.exists() else change.mode
    with replacing(path, mode=mode, is_durable=True) as out:
        out.write(change.after.encode())
