"""Whether one requirement is met: the single answer that gate, stop, status and status line give."""

from __future__ import annotations

from context_graph.requirements.rules import Requirement
from context_graph.requirements.scene import Scene
from context_graph.requirements.state import is_current
from context_graph.requirements.verdict import HUMAN, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["evaluate", "unmet"]


def evaluate(requirement: Requirement, scene: Scene) -> Verdict:
    """Whether ``requirement`` is met in ``scene``; its own triggers and the session's pause are not asked.

    Cost: dictionary look-ups; evidence reads a folder, a dynamic one may run a process (``scene.may_run``).
    """
    record = _satisfaction(requirement, scene)
    verdict = _judge(requirement, scene, record)
    verdict.branch = scene.branch
    return verdict


def unmet(requirements: list[Requirement], scene: Scene) -> list[Verdict]:
    """The verdicts of those that are not met (or not told yet)."""
    verdicts = (evaluate(entry, scene) for entry in requirements)
    return [verdict for verdict in verdicts if not verdict.met or verdict.deferred]


def _judge(requirement: Requirement, scene: Scene, record: dict[str, Any] | None) -> Verdict:
    if requirement.type == "guard":
        if record is not None:
            return Verdict(requirement, True, "overridden", record=record)
        from context_graph.requirements.guards import objection

        why = objection(requirement, scene)
        return Verdict(requirement, not why, why)
    if requirement.type == "dynamic":
        if record is not None:
            return Verdict(requirement, True, "approved", record=record)
        from context_graph.requirements.dynamic import judge

        return judge(requirement, scene)
    if record is None:
        return Verdict(requirement, False, _why_not(requirement, scene))
    if requirement.evidence is not None:
        from context_graph.requirements.evidence import missing

        why = missing(requirement.evidence, scene.root, scene.now)
        return Verdict(requirement, not why, why, record=record)
    return Verdict(requirement, True, "satisfied", record=record)


def _satisfaction(requirement: Requirement, scene: Scene) -> dict[str, Any] | None:
    """The satisfaction that counts now: the root's (also the override), else the session's."""
    name, now = requirement.name, scene.now
    approval = requirement.type == "dynamic"
    lasting = requirement.scope == "permanent" and not requirement.per_session
    root = scene.state.override(name)
    if (
        _counts(requirement, root)
        and is_current(root, now, approval=approval, lasting=lasting)
        and not _is_refused(requirement, scene)
    ):
        return root
    if not requirement.per_session:
        return None
    own = scene.state.record(name, scene.session_id)
    return own if _counts(requirement, own) and is_current(own, now, approval=approval) else None


def _is_refused(requirement: Requirement, scene: Scene) -> bool:
    """Whether the session took back for itself what holds for every other one."""
    return requirement.per_session and scene.state.refuses_override(requirement.name, scene.session_id)


def _counts(requirement: Requirement, record: dict[str, Any]) -> bool:
    return not requirement.human_only or record.get("satisfied_by") == HUMAN


def _why_not(requirement: Requirement, scene: Scene) -> str:
    records = [] if _is_refused(requirement, scene) else [scene.state.override(requirement.name)]
    if requirement.per_session:
        records.append(scene.state.record(requirement.name, scene.session_id))
    said = [record for record in records if record.get("satisfied") is True]
    if any(not _counts(requirement, record) for record in said):
        return "only a person's own satisfaction counts"
    return "its satisfaction has expired" if said else "not satisfied"
