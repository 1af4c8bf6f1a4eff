"""Finds the folders that a word may name: for a glob those that fit it, for a variable those below.

A listing is bounded, so that no tree makes a hook wait; of a larger one the folders nearest to its top count.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from context_graph.gates.shell.command import FRESH, UNKNOWN, could_be, is_plain

_PATH_CHARS = 4096
_LOOKS = 20_000
"""Folders of one line that are looked for; those beyond count as there."""

_ENTRIES = 2_000
"""Entries of folders that are listed for one line."""

_DEPTH = 12
"""How far below a folder one is looked for whose name only a run would tell; as far again in hidden ones."""

_LINKS = 4
"""How far below it links are followed."""

_WORDS = 16
"""Words of one line for which folders are looked through; further ones may name any of them."""

_WORD_CHARS = 256

_FOUND = 64
_PARTS = 16
_MARKS = ("/.git", "/.claude")
"""What a folder has that may be governed otherwise than the one above it."""


def entered(folder: str, target: str) -> str:
    """The folder that ``target`` names in ``folder``; empty for one that is too long to be any."""
    path = target if target.startswith(UNKNOWN) else os.path.join(folder, target)
    return path if len(path) < _PATH_CHARS else ""


class OnDisk:
    """The folders that are there, as far as one line asks for them; each is looked for once."""

    def __init__(self, start: str) -> None:
        self._start = start
        self._there: dict[str, bool] = {}
        self._listed: dict[str, list[str]] = {}
        self._named: dict[tuple[str, str], list[str]] = {}
        self._alone: dict[str, bool] = {}
        self._entries = _ENTRIES

    def is_there(self, path: str) -> bool:
        """Whether ``path`` is a folder, or lies in one that the line makes."""
        found = self._there.get(path)
        if found is None:
            if len(self._there) >= _LOOKS:
                return True
            asked = path.partition(FRESH)[0] or "."
            found = self._there[path] = is_plain(path) and os.path.isdir(asked)
        return found

    def named(self, folder: str, target: str) -> list[str]:
        """The folders that ``target`` may name in ``folder``: at most one for each repository or project.

        A target that begins with what only a run would tell may also lie below the line's first folder.
        """
        if is_plain(target):
            path = entered(folder, target) if target else ""
            return [path] if path and self.is_there(path) else []
        key = (folder, target)
        if key not in self._named and (len(self._named) >= _WORDS or len(target) > _WORD_CHARS):
            key = (self._start, UNKNOWN)
        if key not in self._named:
            self._named[key] = self._expanded(*key)
        return self._named[key]

    def _expanded(self, folder: str, target: str) -> list[str]:
        root, parts = ("/" if target.startswith("/") else folder), _parts(target)
        roots = list(dict.fromkeys((root, self._start))) if target.startswith(UNKNOWN) else [root]
        found = roots
        for part in parts:
            if is_plain(part):
                stepped = (os.path.join(one, part) for one in found)
                found = [one for one in stepped if self.is_there(one)]
            else:
                fitting = (below for one in found for below in self._fitting(one, part))
                found = list(dict.fromkeys(fitting))
        return self._one_each(found, roots)

    def _fitting(self, folder: str, part: str) -> Iterator[str]:
        """The folders that one part of a path may name; what isn't known may have slashes, and be empty."""
        if UNKNOWN not in part:
            yield from (one for one in self._inside(folder) if could_be(part, one.rpartition("/")[2]))
            return
        anything = part == UNKNOWN
        level = [folder]
        if anything:
            yield folder
        pattern = part if part.startswith(UNKNOWN) else os.path.join(folder, part)
        later: list[str] = []
        for depth in range(2 * _DEPTH):
            inside = [below for one in level for below in self._inside(one) if not _is_left_out(below)]
            yield from (one for one in inside if anything or could_be(pattern, one))
            if depth >= _LINKS:  # one may lead back up
                inside = [one for one in inside if not os.path.islink(one)]
            level = [one for one in inside if not _is_hidden(one)]
            later += [one for one in inside if _is_hidden(one)]
            if not level:  # hidden folders are looked through last, with what is left of the bound
                level, later = later, []

    def _inside(self, folder: str) -> list[str]:
        """The folders in ``folder`` by name, links to some included, while entries may still be listed."""
        found = self._listed.get(folder)
        if found is None:
            found = self._listed[folder] = []
            try:
                with os.scandir(folder) as entries:
                    while self._entries > 0 and (entry := next(entries, None)) is not None:
                        self._entries -= 1
                        if entry.is_dir():
                            found.append(entry.path)
            except (OSError, ValueError):
                pass
            found.sort()
        return found

    def _one_each(self, found: Sequence[str], roots: Sequence[str]) -> list[str]:
        """Of the folders that the same repository or project holds only the first."""
        kept: dict[str, str] = {}
        for path in found:
            kept.setdefault(self._holder(path, roots), path)
            if len(kept) >= _FOUND:
                break
        return list(kept.values())

    def _holder(self, path: str, roots: Sequence[str]) -> str:
        """The nearest folder, below one of ``roots``, that may be governed by itself; else that root."""
        while path not in roots and len(path) > 1 and not self._stands_alone(path):
            path = path.rpartition("/")[0]
        return path

    def _stands_alone(self, path: str) -> bool:
        found = self._alone.get(path)
        if found is None:
            marked = any(os.path.lexists(path + mark) for mark in _MARKS)
            found = self._alone[path] = marked or os.path.islink(path)
        return found


def _parts(target: str) -> list[str]:
    """The parts of a path; one with `..` behind what only a run would tell may be anything."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    first = next(at for at, part in enumerate(parts) if not is_plain(part))
    return [UNKNOWN] if ".." in parts[first:] or len(parts) > _PARTS else parts


def _is_hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith(".")


def _is_left_out(path: str) -> bool:
    return path.rpartition("/")[2] in ("node_modules", ".git")
