"""Tells projects apart by their checkouts, and asks the person where that does not do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from context_graph.cli.console.terminal import confirmed, print_folded, shown
from context_graph.errors import InvalidInputError

_GIT_S: Final = 5.0
_MAX_URL: Final = 500


def remote_of(top: Path) -> str:
    """Return the checkout's remote `origin` without scheme, user or suffix; empty if it has none.

    A path counts for none: it leads elsewhere on another machine, and is nobody else's business.
    """
    url = _git(top, "config", "--get", "remote.origin.url")[:_MAX_URL]
    scheme, _, rest = url.rpartition("://")
    if scheme == "file" or not (scheme or ":" in url.partition("/")[0]):
        return ""
    plain = rest.rpartition("@")[2].removesuffix("/").removesuffix(".git")
    return plain.replace(":", "/", 1).lower()


def first_commit_of(top: Path) -> str:
    """Return the oldest commit without a parent; empty without one, or where the history is cut."""
    if _git(top, "rev-parse", "--is-shallow-repository") != "false":
        return ""
    return _git(top, "rev-list", "--max-parents=0", "HEAD").rpartition("\n")[2]


def _git(top: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(top), *words], capture_output=True, timeout=_GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def is_meant(there: str, here: str, place: str, cure: str) -> bool:
    """Show both, and ask whether they are one project.

    Raises InvalidInputError: There is no terminal to ask at; with ``cure``.
    """
    words = f"{place} is of a project {there}; this is one {here}"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InvalidInputError(f"{words}; {cure}")
    print_folded(shown(words))
    return confirmed("Are they one project?")
