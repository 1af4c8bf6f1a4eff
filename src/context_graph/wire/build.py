"""Tells which of two builds of this package is the later one. ext/launcher/src/programs.rs is the twin.

Two builds of one version are told apart by when they were installed: a checkout, a branch or a copy of the
package has no number of its own, but its files have a time.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Final

import context_graph

_PACKAGE: Final = Path(context_graph.__file__).parent
_SCRIPT: Final = "context-graph-owner"
_NUMBERS: Final = re.compile(r"(?:^|(?<=\.))\d{1,18}")


@cache
def client_build() -> str:
    """Return the version of this package with the time of its newest file, such as `0.1.0+build.1764283920`.

    A process keeps what it said first: what is installed later is not what it runs. Costs 2 ms, once.
    """
    return _named(_newest_file(_PACKAGE))


@cache
def owner_build() -> str:
    """Return what this owner runs: `installed_build` as it was at the owner's start."""
    return installed_build()


def installed_build() -> str:
    """Return what an owner would run that starts now. Never below what a client says that would start it: the
    native launcher knows no package, but the script that it runs, which installers write last. Costs 2 ms.
    """
    return _with_script(_newest_file(_PACKAGE))


class InstalledBuild:
    """`installed_build`, asked again and again: the package is looked through only after something in it was
    written. Else it costs 0.01 ms, and on systems without inotify 2 ms each time.
    """

    def __init__(self) -> None:
        from context_graph.system.folders import WRITTEN, FolderWatch

        folders = [Path(path) for path, _, _ in os.walk(_PACKAGE) if Path(path).name != "__pycache__"]
        self._watch = FolderWatch(folders, WRITTEN)
        self._newest = 0

    def look(self) -> str:
        """Return the build."""
        if self._watch.is_stirred() or not self._newest:
            self._newest = _newest_file(_PACKAGE)
        return _with_script(self._newest)

    def close(self) -> None:
        """Stop watching."""
        self._watch.close()


def is_newer(other: str, own: str) -> bool:
    """Return whether build ``other`` is above ``own``, by their leading numbers; not if unreadable."""
    return other != own and _numbers(other) > _numbers(own)


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in _NUMBERS.findall(version)]
    while numbers and not numbers[-1]:
        numbers.pop()  # 1.2 and 1.2.0 are one version
    return tuple(numbers)


def _with_script(newest: int) -> str:
    script = Path(sys.argv[0])
    if script.name != _SCRIPT:
        script = Path(sys.executable).with_name(_SCRIPT)
    return _named(max(newest, _written(script)))


def _named(seconds: int) -> str:
    version = context_graph.__version__
    return f"{version}+build.{seconds}" if seconds else version


def _newest_file(folder: Path) -> int:
    """Return Unix seconds of the last change below ``folder``, bytecode left out; 0 if unreadable."""
    newest = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    newest = max(newest, int(entry.stat(follow_symlinks=False).st_mtime))
                elif entry.name != "__pycache__":
                    newest = max(newest, _newest_file(Path(entry.path)))
    except OSError:  # an installer is at it
        pass
    return newest


def _written(path: Path) -> int:
    try:
        return int(path.stat().st_mtime)
    except OSError:
        return 0
