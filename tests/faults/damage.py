"""Ways to break a file, and the files of a data root and a project that there are to break."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FILES", "WAYS", "Case", "cases", "replace_tree"]


def _flip(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(max(1, len(data) // 200)):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _zero(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data) or 1)
    data[at : at + 512] = bytes(len(data[at : at + 512]))
    path.write_bytes(data)


def _cut(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size or 1))


def _empty(path: Path, rng: random.Random) -> None:
    path.write_bytes(b"")


def _garbage(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.randbytes(rng.randrange(1, 5000)))


def _folder(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _gone(path: Path, rng: random.Random) -> None:
    path.unlink()


WAYS: dict[str, Callable[[Path, random.Random], None]] = {
    "flip": _flip,
    "zero": _zero,
    "cut": _cut,
    "empty": _empty,
    "garbage": _garbage,
    "folder": _folder,
    "gone": _gone,
}

FILES = {
    "brief": "root:stores/*/brief.bin",
    "event log": "root:stores/*/events/*-*.log",
    "project note": "root:stores/*/project",
    "index": "root:stores/*/memory.index",
    "figures": "root:stores/*/memory.figures",
    "lock": "root:run/owner.lock",
    "log": "root:log/owner.log",
    "secret rules": "root:cache/*.json",
    "table": "root:stores/*/db/*.sst",
    "manifest": "root:stores/*/db/MANIFEST-*",
    "current": "root:stores/*/db/CURRENT",
    "database options": "root:stores/*/db/OPTIONS-*",
    "identity": "root:stores/*/db/IDENTITY",
    "seal": "root:stores/*/db/seal.json",
    "column families": "root:stores/*/db/rocksdict-config.json",
    "write-ahead log": "root:stores/*/db/*.log",
    "project settings": "project:.claude/context-graph.toml",
    "requirements": "project:.claude/requirements.yaml",
    "user settings": "home:.config/context-graph-cli/config.toml",
}
"""What may be damaged: folder and pattern."""


@dataclass(frozen=True)
class Case:
    """One file broken in one way."""

    what: str
    way: str

    @property
    def name(self) -> str:
        return f"{self.what}, {self.way}"

    @property
    def may_lose(self) -> bool:
        """A log that ends early, or is gone, looks as after a power cut: nothing tells what it held.

        And the log's lines are all there is of what they say.
        """
        return self.what == "event log" or (
            self.what == "write-ahead log" and self.way in ("cut", "empty", "gone")
        )

    def do(self, folders: dict[str, Path], rng: random.Random) -> Path | None:
        """Break one file of the kind; which, or None if there is none."""
        where, _, pattern = FILES[self.what].partition(":")
        there = sorted(path for path in folders[where].glob(pattern) if path.is_file())
        if not there:
            return None
        path = rng.choice(there)
        WAYS[self.way](path, rng)
        return path


def cases(rng: random.Random, count: int | None) -> list[Case]:
    """All, or ``count`` of them, no file twice before each came once."""
    every = [Case(what, way) for what in FILES for way in WAYS]
    rng.shuffle(every)
    seen: dict[str, int] = {}
    order = []
    for case in every:
        seen[case.what] = seen.get(case.what, 0) + 1
        order.append((seen[case.what], case))
    order.sort(key=lambda pair: pair[0])
    return [case for _, case in order][:count]


def replace_tree(source: Path, target: Path) -> None:
    """``target`` becomes a copy of ``source``, whatever was there."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("*.sock", "*.wake"))
