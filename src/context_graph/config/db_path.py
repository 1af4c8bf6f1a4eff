"""The check a store path given by option or variable must pass (REQ-HOOKS-30, seed 001 section 6.1)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from context_graph.errors import PathNotAllowedError

__all__ = ["check_db_path"]

_PATH_MAX_BYTES: Final = 4096


def _refuse(path: str, reason: str, cure: str) -> PathNotAllowedError:
    return PathNotAllowedError(f"db path {path!r} {reason}; {cure}")


def check_db_path(
    named: str, *, root: Path, cwd: Path, folders: Iterable[Path], env: Mapping[str, str]
) -> Path:
    """The absolute store folder that ``named`` means, if it stays inside an allowed root.

    Allowed roots: the data root and its parent, HOME, the working and project folders, the temp
    folders, and $CONTEXT_GRAPH_ALLOWED_ROOTS (colon-separated). Below its root no component may
    be a link unless CONTEXT_GRAPH_ALLOW_LINKS=1.

    Raises:
        PathNotAllowedError: Naming the path, the reason and the cure.
    """
    if not named or "\0" in named:
        raise _refuse(named, "is empty or holds a NUL", "name a folder")
    if len(os.fsencode(named)) > _PATH_MAX_BYTES:
        raise _refuse(named[:80], f"is longer than {_PATH_MAX_BYTES} bytes", "use a shorter path")
    if ".." in named.split("/"):
        raise _refuse(named, "has a '..' component", "write the path without it")
    path = os.path.normpath(os.path.join(cwd, named))
    allowed = _roots_above(path, _allowed_roots(root, cwd, folders, env))
    if not allowed:
        raise _refuse(
            named, "is outside the allowed roots", "add its parent to CONTEXT_GRAPH_ALLOWED_ROOTS to allow it"
        )
    _check_links(named, path, max(allowed, key=len), allow=env.get("CONTEXT_GRAPH_ALLOW_LINKS") == "1")
    return Path(path)


def _allowed_roots(root: Path, cwd: Path, folders: Iterable[Path], env: Mapping[str, str]) -> set[str]:
    implied = [str(place) for place in (root, root.parent, cwd, *folders)]
    implied += ["/tmp", "/var/tmp", env.get("HOME", ""), env.get("TMPDIR", "")]
    roots = {os.path.normpath(place) for place in implied if place.startswith("/")} - {"/"}
    asked = env.get("CONTEXT_GRAPH_ALLOWED_ROOTS", "").split(":")
    return roots | {os.path.normpath(place) for place in asked if place.startswith("/")}


def _roots_above(path: str, roots: Iterable[str]) -> list[str]:
    return [root for root in roots if path.startswith(root.rstrip("/") + "/")]


def _check_links(named: str, path: str, root: str, *, allow: bool) -> None:
    place = root.rstrip("/")
    for part in path[len(place) + 1 :].split("/"):
        place = f"{place}/{part}"
        try:
            mode = os.lstat(place).st_mode
        except FileNotFoundError:
            return
        except OSError as error:
            raise _refuse(
                named, f"can't be checked ({error.strerror})", "name a folder you can read"
            ) from error
        if stat.S_ISLNK(mode):
            if not allow:
                raise _refuse(
                    named, f"goes through the link {place!r}", "set CONTEXT_GRAPH_ALLOW_LINKS=1 to allow it"
                )
            mode = os.stat(place).st_mode if os.path.exists(place) else stat.S_IFDIR
        if not stat.S_ISDIR(mode):
            raise _refuse(named, f"runs into {place!r}, which is no folder", "name a folder")
