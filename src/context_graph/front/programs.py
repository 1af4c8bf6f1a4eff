"""Finds and starts the Python programs: the owner, the gates, and the CLI. Twin of
ext/launcher/src/programs.rs.

Where the launcher looks for scripts, this already runs in the interpreter that has them. CONTEXT_GRAPH_PYTHON
names another one for both.
"""

from __future__ import annotations

import os
import sys

from context_graph.errors import ContextGraphError
from context_graph.system.streams import keep_to_ourselves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from context_graph.front.paths import Places

OWNER, CLI, GATE = "context_graph.owner", "context_graph.cli", "context_graph.gates"
_SCRIPTS = {OWNER: "context-graph-owner", CLI: "context-graph-py", GATE: "context-graph-py"}
"""The names by which people know them."""
STARTED, OWNED = "started", "owned"
"""How an attempt to start an owner ended; OWNED: somebody holds the lock, and serves, starts or is leaving.
How an attempt to start an owner ended; OWNED: somebody holds the lock, and serves, starts or is leaving."""


class NotFoundError(Exception):
    """Where a program was looked for, and the cure."""


def find(module: str, env: Mapping[str, str], base: str = "") -> list[str]:
    """The command line that runs ``module``.

    A relative CONTEXT_GRAPH_PYTHON is meant from ``base`` (empty: the working folder).

    Raises:
        NotFoundError
    """
    named = env.get("CONTEXT_GRAPH_PYTHON", "")
    looked: list[str] = []
    if not named:
        found = sys.executable or None
    else:
        if "/" in named and not named.startswith("/") and base:
            named = f"{base}/{named}"
        found = _on_disk(named, env, looked)
    if found is None:
        raise NotFoundError(
            f"{_SCRIPTS[module]} was not found; looked at {', '.join(looked)}; install context-graph or set "
            "CONTEXT_GRAPH_PYTHON"
        )
    # -P: a folder `context_graph` in the working folder, which anybody's repository may hold, must not be
    # imported.
    return [found, "-P", "-m", module]


def _on_disk(name: str, env: Mapping[str, str], looked: list[str]) -> str | None:
    """``name`` as a path, or looked up on PATH if it has no slash.

    Relative PATH entries are left out: they would let the working folder decide what runs.
    """
    folders = (env.get("PATH") or "/usr/local/bin:/usr/bin:/bin").split(":")
    candidates = (
        [name] if "/" in name else [f"{folder}/{name}" for folder in folders if folder.startswith("/")]
    )
    for path in candidates:
        if os.access(path, os.X_OK):
            return path
        looked.append(path)
    return None


def exec_cli(env: Mapping[str, str], args: Sequence[str]) -> str:
    """Become the Python CLI with the same arguments; returns only if that can't be, with the reason."""
    import signal

    try:
        words = find(CLI, env)
    except NotFoundError as error:
        return str(error)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # an exec hands ignored ones on
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(words[0], [*words, *args])
    except OSError as error:
        return f"{words[0]} can't be run: {error.strerror}"


class Starter:
    """Starts owners of one data root."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def start(self, env: Mapping[str, str]) -> tuple[str, str]:
        """STARTED, OWNED, or "" and why it failed.

        The lock is taken here and handed over with its descriptor, so two are never started (invariant 1).
        """
        from pathlib import Path

        from context_graph.wire.client.spawn import start_owner

        try:
            # It will run in `/`, so its program must not be relative.
            command = find(OWNER, env, self._places.cwd)
            keep_to_ourselves()
            with start_owner(Path(self._places.root), env, command=command, heard=False) as starting:
                return (STARTED if starting.pid else OWNED), ""
        except (NotFoundError, ContextGraphError, OSError) as error:
            return "", str(error)

    def is_free(self) -> bool:
        """Whether nobody holds the lock: no owner serves, starts or is leaving."""
        from pathlib import Path

        from context_graph.config import lock_path
        from context_graph.wire.run_folder import is_locked

        try:
            return not is_locked(lock_path(Path(self._places.root)))
        except OSError:
            return False
