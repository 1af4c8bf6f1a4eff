"""Everything that one evaluation looks at: the project, a branch and its state, a session, the time."""

from __future__ import annotations

import time

from context_graph.requirements.config import load_rules
from context_graph.requirements.git import Repo
from context_graph.requirements.project import Project
from context_graph.requirements.registry import Registry
from context_graph.requirements.rules import Rules
from context_graph.requirements.state import BranchState
from context_graph.requirements.state_files import StateFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.requirements.cache import GateCache

__all__ = ["Scene", "rules_of"]

CALCULATIONS_S = 0.8
"""A hook that does not answer soon is given up, and then its call passes."""


class Scene:
    """One session on one branch of one project at one time; ``at_branch`` gives it for another branch."""

    __slots__ = (
        "branch",
        "cache_dir",
        "checked_out",
        "claude_dir",
        "files",
        "may_run",
        "now",
        "registry",
        "repo",
        "root",
        "rules",
        "session_id",
        "state",
        "until",
    )

    def __init__(
        self,
        project: Project,
        repo: Repo,
        rules: Rules,
        *,
        branch: str,
        session_id: str,
        now: float,
        claude_dir: str,
        cache_dir: str = "",
        cache: GateCache | None = None,
        may_run: bool = True,
        checked_out: bool = True,
    ) -> None:
        self.root, self.repo, self.rules = project.work, repo, rules
        self.branch, self.session_id, self.now = branch, session_id, now
        self.claude_dir, self.cache_dir, self.may_run = claude_dir, cache_dir, may_run
        self.checked_out = checked_out
        """Whether ``branch`` is what the working tree holds; only then can its size be told."""
        self.until = time.monotonic() + CALCULATIONS_S
        """When all calculations of this scene together must have ended."""
        self.registry = Registry(claude_dir, cache)
        self.files = StateFiles(repo.common_dir, project.work, cache)
        self.state = self.files.load(branch, now)

    def at_branch(self, state: BranchState) -> Scene:
        """This scene on the branch of ``state``."""
        other: Scene = object.__new__(Scene)
        for name in Scene.__slots__:
            setattr(other, name, getattr(self, name))
        other.state, other.branch = state, state.branch
        other.checked_out = self.checked_out and state.branch == self.branch
        return other


def rules_of(project: Project, claude_dir: str, cache_dir: str, cache: GateCache | None) -> Rules:
    """The project's rules, through ``cache`` where there is one."""
    if cache is not None:
        return cache.rules(project.root, claude_dir, cache_dir)
    return load_rules(project.root, claude_dir, cache_dir)[0]
