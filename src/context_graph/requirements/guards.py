"""Guards: conditions that are looked at anew each time."""

from __future__ import annotations

from context_graph.requirements.rules import Requirement, glob_match
from context_graph.requirements.scene import Scene

__all__ = ["objection"]


def objection(requirement: Requirement, scene: Scene) -> str:
    """Why the guard holds the call back; empty if it does not. An unknown kind of guard never does."""
    if requirement.guard_type == "protected_branch":
        if any(_matches(pattern, scene.branch) for pattern in requirement.protected_branches):
            return f"{scene.branch} is a protected branch; work on a branch of its own"
        return ""
    if requirement.guard_type == "single_session":
        earlier = scene.registry.others_in(scene.root, scene.session_id, scene.now)
        if earlier:
            return f"session {earlier[0][0]} was in this project first and is still running"
    return ""


def _matches(pattern: str, branch: str) -> bool:
    if "[" in pattern:
        from fnmatch import fnmatchcase

        return fnmatchcase(branch, pattern)
    return glob_match(pattern, branch)
