"""Records how the client's files were before `setup` changed them, so that it can be undone.

The record lies in the data root. Without it, or for a file that was edited since, `setup --remove` only
removes our entries.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from context_graph.claude.settings.changes import Change

_FOLDER: Final = "setup"
_VERSION: Final = 1


@dataclass(slots=True)
class _Entry:
    before: str | None
    after: str
    """Digest of what was written."""


class Record:
    """What `setup` has written in one scope."""

    def __init__(self, root: Path, key: str) -> None:
        """
        Args:
            root: The data root.
            key: The scope's.
        """
        self._path = root / _FOLDER / f"{key}.json"
        self._entries: dict[str, _Entry] = {}
        self.folders: list[Path] = []
        """Those that were made for it, the outer ones first."""
        self._load()

    @property
    def is_known(self) -> bool:
        """Whether `setup` was run here, by this user."""
        return bool(self._entries)

    def original(self, path: Path, now: str | None) -> tuple[bool, str | None]:
        """Return (whether the file is still as we wrote it, how it was before)."""
        entry = self._entries.get(str(path))
        if entry is None or now is None or entry.after != _digest(now):
            return False, None
        return True, entry.before

    def note(self, changes: Sequence[Change]) -> None:
        """Record files that are about to be written. Raises OSError if that fails."""
        for change in changes:
            if not change.is_needed or change.after is None:
                continue
            known, before = self.original(change.path, change.before)
            self._entries[str(change.path)] = _Entry(
                before if known else change.before, _digest(change.after)
            )
            for folder in reversed(Path(os.path.realpath(change.path)).parents):
                if not folder.exists() and folder not in self.folders:
                    self.folders.append(folder)
        self._save()

    def forget(self) -> None:
        """Remove the record, after everything was undone."""
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()

    def _load(self) -> None:
        try:
            content: dict[str, Any] = json.loads(self._path.read_bytes())
            if content["version"] != _VERSION:
                return
            self._entries = {path: _Entry(**entry) for path, entry in content["files"].items()}
            self.folders = [Path(folder) for folder in content["folders"]]
        except (OSError, ValueError, KeyError, TypeError):
            return  # none, or no use: what is ours is told by its form

    def _save(self) -> None:
        os.makedirs(self._path.parent, mode=0o700, exist_ok=True)
        files = {
            path: {"before": entry.before, "after": entry.after} for path, entry in self._entries.items()
        }
        content = {"version": _VERSION, "files": files, "folders": [str(folder) for folder in self.folders]}
        draft = self._path.with_suffix(".new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as sink:
            json.dump(content, sink)
        os.replace(draft, self._path)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
