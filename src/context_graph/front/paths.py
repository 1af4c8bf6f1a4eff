"""Finds where one call works, and what its environment says. An empty variable counts as unset.

Twin of ext/launcher/src/paths.rs and env.rs; ``config.places`` has the rules of places.
"""

from __future__ import annotations

import os

from context_graph.config import places
from context_graph.errors import ConfigError
from context_graph.wire.layout import ENV_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PATH_MAX = 4095
"""Longest path that is worked with, bytes: Linux refuses longer ones."""


class Places:
    """Where one call works; every path is absolute and without `.`, `..` or doubled slashes.

    Attributes:
        cwd: The working folder of the process.
        top: Top folder of the project's repository, shared by its worktrees.
    """

    __slots__ = ("cwd", "project", "root", "store", "top")

    def __init__(self, root: str, cwd: str, project: str, top: str, store: str) -> None:
        self.root, self.cwd, self.project, self.top, self.store = root, cwd, project, top, store


def locate(env: Mapping[str, str], db_path: str | None = None) -> Places:
    """All places of a call.

    Raises:
        ConfigError, PathNotAllowedError: Saying what happened, with which value, and the cure.
    """
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = "/"  # a folder that has been removed leaves nothing better than the top of all
    root, store, top, project = places.locate(db_path, env, cwd)
    if max(len(os.fsencode(root)), len(os.fsencode(store))) > PATH_MAX:
        raise ConfigError("a path is longer than 4095 bytes; use shorter folder names")
    return Places(root, cwd, project, top, store)


def session_id(env: Mapping[str, str]) -> str:
    """The session that the client names."""
    return env.get("CLAUDE_CODE_SESSION_ID", "")


def is_debug(env: Mapping[str, str]) -> bool:
    """Whether to say on standard error what is done and why."""
    return env.get("CONTEXT_GRAPH_DEBUG") == "1"


def travelling(env: Mapping[str, str]) -> bytes:
    """What travels with a request, `NAME=value` separated by NUL."""
    given = [f"{name}={env[name]}" for name in ENV_NAMES if env.get(name)]
    return b"\0".join(map(os.fsencode, given))
