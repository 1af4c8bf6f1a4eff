"""Where a checkout's HEAD is, and whether something was committed there since: read from git's files.

A reftable can't be read that way; git itself is asked then.
"""

from __future__ import annotations

import os

from context_graph.requirements.files import open_regular
from context_graph.requirements.git import Repo, ask_git, head_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["has_moved", "tip_of"]

_PACKED_BYTES = 64 << 20
_LOG_BYTES = 1 << 20
_WAIT_S = 1.0


def tip_of(repo: Repo) -> dict[str, Any]:
    """``head`` (its text: a reference's name, or a commit), ``tip`` (the commit, "" if there is none yet) and
    ``log`` (bytes of HEAD's log, -1 without one).

    Cost: three small reads; one of packed-refs where the branch has no file of its own.
    """
    head = head_text(repo.git_dir)
    return {"head": head, "tip": _resolve(repo, head), "log": _log_size(repo)}


def has_moved(repo: Repo, before: dict[str, Any]) -> bool:
    """Whether a commit was made in this checkout since ``before``; another branch checked out is none.

    Where HEAD's log does not tell a checkout from a commit, HEAD at another commit counts as moved.
    """
    now = tip_of(repo)
    if now["tip"] == before.get("tip"):
        return False
    if now["head"] == before.get("head"):
        return True
    old = str(before.get("head", ""))
    if old.startswith("ref:") and _resolve(repo, old) not in ("", before.get("tip")):
        return True
    actions = _actions_since(repo, before.get("log"))
    return actions is None or any(not one.startswith(b"checkout:") for one in actions)


def _resolve(repo: Repo, head: str) -> str:
    if not head.startswith("ref:"):
        return head
    name = head[len("ref:") :].strip()
    if name == "refs/heads/.invalid" or os.path.isdir(repo.common_dir + "/reftable"):
        done = ask_git(repo, "rev-parse", "-q", "--verify", "HEAD", timeout_s=_WAIT_S)
        return os.fsdecode(done.stdout.strip()) if done is not None else ""
    for folder in dict.fromkeys((repo.git_dir, repo.common_dir)):
        try:
            with open_regular(f"{folder}/{name}") as source:
                found = source.read(256).strip()
        except (OSError, ValueError):
            continue
        return os.fsdecode(found)
    return _packed(repo, name)


def _packed(repo: Repo, name: str) -> str:
    try:
        with open_regular(repo.common_dir + "/packed-refs") as source:
            data = source.read(_PACKED_BYTES)
    except (OSError, ValueError):
        return ""
    at = data.find(b" " + os.fsencode(name) + b"\n")
    return data[max(0, data.rfind(b"\n", 0, at) + 1) : at].decode("ascii", "replace") if at >= 0 else ""


def _log_size(repo: Repo) -> int:
    try:
        return os.stat(repo.git_dir + "/logs/HEAD").st_size
    except OSError:
        return -1


def _actions_since(repo: Repo, size: object) -> list[bytes] | None:
    """What HEAD's log says was done since it had ``size`` bytes; None if it does not say."""
    if not isinstance(size, int) or size < 0:
        return None
    try:
        with open_regular(repo.git_dir + "/logs/HEAD") as source:
            source.seek(size)
            data = source.read(_LOG_BYTES)
    except (OSError, ValueError):
        return None
    lines = [line.partition(b"\t")[2] for line in data.splitlines() if b"\t" in line]
    return lines or None
