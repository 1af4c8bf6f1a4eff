"""Which project governs a call: where its configuration lies, and which repository its state belongs to."""

from __future__ import annotations

import os

from context_graph.requirements.git import Head, Repo, find_repo, parents, read_head, repo_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CONFIG", "LOCAL_CONFIG", "Project", "find_project", "is_inside"]

CONFIG = "/.claude/requirements.yaml"
LOCAL_CONFIG = "/.claude/requirements.local.yaml"


class Project:
    """A folder with a requirements file; without a repository (``repo`` None) nothing can be enforced."""

    __slots__ = ("repo", "root")

    def __init__(self, root: str, repo: Repo | None) -> None:
        self.root, self.repo = root, repo

    def head(self) -> Head:
        """Where its HEAD is; no repository reads as state none."""
        return Head("", "none") if self.repo is None else read_head(self.repo)


def find_project(
    cwd: str, hint: str, *, claude_dir: str, targets: Callable[[], list[str]] = list
) -> Project | None:
    """The project that governs a call made in ``cwd``.

    The nearest folder with a requirements file, upwards from ``cwd``; so ``cd src``, a nested repository and
    a submodule don't leave the gate. Where there is none, the one of ``hint`` (CLAUDE_PROJECT_DIR), so a
    folder elsewhere doesn't either. A linked worktree decides by its own files: without any it is not
    governed, unless the call's target lies in the hinted project.

    Args:
        cwd: The call's working folder; relative or vanished ones count as none.
        hint: The project the client was started in; "" if unknown.
        claude_dir: The client's own folder: its requirements.yaml is the global file, not a project's.
        targets: Gives the files that the call names; asked only where they matter.

    Cost: two stat calls a level.
    """
    here, own, hinted = _resolved(cwd), _resolved(claude_dir), _resolved(hint)
    below = bool(here and hinted) and f"{here}/".startswith(hinted.rstrip("/") + "/")
    found, worktree = _upwards(here, own, hinted if below else here) if here else (None, None)
    if found is not None and found.repo is not None:
        return found
    if not hinted or (below and worktree is None):
        return found  # the way upwards led through it
    other, _ = _upwards(hinted, own, hinted)
    if other is None or other.repo is None:
        return found or other
    elsewhere = worktree is not None and worktree.common_dir == other.repo.common_dir
    if elsewhere and not any(is_inside(path, other.repo.top, here) for path in targets()):
        return found
    return other


def _resolved(path: str) -> str:
    """``path`` with links resolved; empty for what is no absolute path (or can be none)."""
    if not path.startswith("/"):
        return ""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return ""


def is_inside(path: str, folder: str, cwd: str = "/") -> bool:
    """Whether ``path``, links resolved, lies below ``folder`` (taken as it is)."""
    try:
        real = os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    except (OSError, ValueError):
        return False
    return real.startswith(folder.rstrip("/") + "/")


def _upwards(start: str, claude_dir: str, trusted: str) -> tuple[Project | None, Repo | None]:
    """The project at or above ``start``; else the linked worktree that ended the search, if one did.

    A file counts if its folder belongs to the owner of ``start`` or of ``trusted``.
    """
    places = parents(start)
    for place in places:
        base = place.rstrip("/")
        if (
            os.path.lexists(base + CONFIG)
            and base + "/.claude" != claude_dir
            and _same_owner((start, trusted), place)
        ):
            return Project(place, find_repo(place)), None
        if os.path.isfile(base + "/.git"):
            repo = repo_at(place)
            if repo is not None and repo.linked:
                return None, repo
    return None, None


def _same_owner(known: tuple[str, str], place: str) -> bool:
    # Somebody else's file above us (in /tmp, say) must not run its calculators as us.
    if place in known:
        return True
    try:
        owner = os.stat(place).st_uid
        return any(os.stat(path).st_uid == owner for path in known)
    except OSError:
        return True  # the call's folder has vanished: those that are left decide
