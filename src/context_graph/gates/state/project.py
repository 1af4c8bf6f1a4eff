"""Finds the project that governs a folder: the place of its configuration, and the branch that counts."""

from __future__ import annotations

import os
from collections.abc import Container
from dataclasses import dataclass

from context_graph.gates.rules import Rules
from context_graph.git.repository import Head, Repo, find_repo, main_checkout, parents, read_head, repo_at
from context_graph.system.small_files import real_path

CONFIG = "/.claude/requirements.yaml"
LOCAL_CONFIG = "/.claude/requirements.local.yaml"


@dataclass(slots=True)
class Project:
    """A folder with a requirements file; without a repository (``repo`` None) nothing can be enforced."""

    root: str
    repo: Repo | None
    work: str = ""
    """The folder that is worked in: ``root`` itself, or the same folder of a linked worktree that has no file
    of its own and is governed by the main checkout's."""
    rules: Rules | None = None
    """What the configuration says, once somebody has read it for this call."""

    def __post_init__(self) -> None:
        self.work = self.work or self.root

    def head(self) -> Head:
        """Return where its HEAD is; no repository reads as state none."""
        return Head("", "none") if self.repo is None else read_head(self.repo)

    def is_same(self, other: Project) -> bool:
        """Return whether both mean one configuration and one working tree."""
        return self.root == other.root and self.work == other.work


def find_project(cwd: str, hint: str, *, claude_dir: str) -> Project | None:
    """Return the project that governs work in ``cwd``, as `Projects.find` says; for callers that ask once."""
    return Projects(claude_dir).find(cwd, hint)


class Projects:
    """Finds projects for one decision, and looks at each folder once in it.

    Args:
        claude_dir: The client's own folder: its requirements.yaml is the global file, not a project's.
        governed: Folders that still govern if their file is gone.
    """

    def __init__(self, claude_dir: str, governed: Container[str] = ()) -> None:
        self._claude_dir, self._governed = claude_dir, governed
        self._resolved: dict[str, str] = {}
        self._looks: dict[str, tuple[bool, bool]] = {}

    def find(self, cwd: str, hint: str = "", *, known: tuple[str, ...] = ()) -> Project | None:
        """Return the project that governs work in ``cwd``.

        The nearest folder with a requirements file, upwards from ``cwd``; so ``cd src``, a nested repository
        and a submodule don't leave the gate. A linked worktree without a file is governed by the main
        checkout's, with its own branch. Where there is none, the one of ``hint`` (CLAUDE_PROJECT_DIR), so a
        folder elsewhere doesn't leave it either.

        Args:
            cwd: The folder; relative or vanished ones count as none.
            hint: The project the client was started in; "" if unknown.
            known: Folders of the user's, where ``cwd`` is not known to be one: a file counts if its folder
                belongs to the owner of one of them.

        Cost: two stat calls a level, once a decision.
        """
        here, hinted = self.resolved(cwd), self.resolved(hint)
        below = bool(here and hinted) and f"{here}/".startswith(hinted.rstrip("/") + "/")
        trusted = tuple(filter(None, map(self.resolved, known))) or ((here, hinted) if below else (here,))
        project = self._upwards(here, trusted, hinted) if here else None
        if project is not None and project.repo is not None:
            return project
        other = self._upwards(hinted, (hinted,), "") if hinted else None
        return project if other is None or (other.repo is None and project is not None) else other

    def repo_of(self, folder: str) -> Repo | None:
        """Return the repository that git would use in ``folder``; None where either is missing."""
        here = self.resolved(folder)
        return find_repo(here) if here and os.path.isdir(here) else None

    def resolved(self, path: str) -> str:
        """`resolved`, of each path once."""
        real = self._resolved.get(path)
        if real is None:
            real = self._resolved[path] = resolved(path)
        return real

    def _upwards(self, start: str, trusted: tuple[str, ...], hinted: str) -> Project | None:
        """Return the project at or above ``start``; a linked worktree ends it at its main checkout."""
        for place in parents(start):
            governed, linked = self._look(place)
            if governed and _same_owner(trusted, place):
                return Project(place, find_repo(place))
            repo = repo_at(place) if linked else None
            if repo is not None and repo.linked:
                return self._by_main_checkout(start, repo, trusted, hinted)
        return None

    def _by_main_checkout(
        self, start: str, worktree: Repo, trusted: tuple[str, ...], hinted: str
    ) -> Project | None:
        """Return the project of a folder in a worktree without a file: the main checkout's for the same
        folder."""
        top = main_checkout(worktree, hinted)
        if not top:
            return None
        for place in parents(top.rstrip("/") + start[len(worktree.top) :]):
            base = place.rstrip("/")
            if self._look(place)[0] and _same_owner(trusted, place):
                return Project(place, worktree, worktree.top.rstrip("/") + base[len(top.rstrip("/")) :])
            if place == top:
                break
        return None

    def _look(self, place: str) -> tuple[bool, bool]:
        """Return whether ``place`` has a project's requirements file, and whether its .git is a file."""
        look = self._looks.get(place)
        if look is None:
            base = place.rstrip("/")
            file = os.path.lexists(base + CONFIG) or place in self._governed
            governed = file and base + "/.claude" != self.resolved(self._claude_dir)
            look = self._looks[place] = (governed, os.path.isfile(base + "/.git"))
        return look


def resolved(path: str) -> str:
    """Return ``path`` with links resolved; empty for what is no absolute path (or can be none)."""
    return real_path(path) if path.startswith("/") else ""


def is_inside(path: str, folder: str, cwd: str = "/") -> bool:
    """Return whether ``path``, links resolved, lies below ``folder`` (taken as it is)."""
    return real_path(path, cwd).startswith(folder.rstrip("/") + "/")


def _same_owner(known: tuple[str, ...], place: str) -> bool:
    # Somebody else's file above us (in /tmp, say) must not run its calculators as us.
    if place in known:
        return True
    try:
        owner = os.stat(place).st_uid
        return any(os.stat(path).st_uid == owner for path in known)
    except OSError:
        return True  # the call's folder has vanished: those that are left decide
