"""Which skills satisfy a requirement: those its configuration names, and those of the original's plugin.

The original satisfies requirements of certain names by skills of its own, which no configuration mentions;
a project that came from it relies on them. Their names begin with the plugin's, so no other skill is meant.
"""

from __future__ import annotations

from context_graph.requirements.rules import Requirement

__all__ = ["satisfied_by"]

_PLUGIN = "requirements-framework:"
_PLAN = ("arch-review", "plan-review")
_BUILT_IN = {
    "commit_plan": _PLAN,
    "adr_reviewed": _PLAN,
    "tdd_planned": _PLAN,
    "solid_reviewed": _PLAN,
    "pre_commit_review": ("pre-commit",),
    "pre_pr_review": ("quality-check", "deep-review"),
    "codex_reviewer": ("codex-review",),
}
"""Requirement: the plugin's skills that satisfy it (seed 004, section 5)."""


def satisfied_by(entry: Requirement, skill: str, *, typed: bool = False) -> bool:
    """Whether the success of ``skill`` (without its slash) satisfies ``entry``; never a human_only one.

    Who types one may leave the plugin's name out, as the client lets them.
    """
    if entry.human_only or not skill:
        return False
    if any(skill == known.strip().removeprefix("/") for known in entry.satisfied_by_skill):
        return True
    own = skill.removeprefix(_PLUGIN)
    return (typed or own != skill) and own in _BUILT_IN.get(entry.name, ())
