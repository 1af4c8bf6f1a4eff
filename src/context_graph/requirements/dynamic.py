"""Dynamic requirements: a number against thresholds, kept for a while so that no hook pays for it each time.

The number comes from git (lines changed since the branch left its base) or from a command of the
user's. Both are processes: they run only when the kept value is too old, within a time limit, and never
where ``may_run`` is false. A calculation that fails is kept as failed, so that it is not tried on every call.
"""

from __future__ import annotations

import os
import time

from context_graph.requirements import plain_json
from context_graph.requirements.files import read_bytes, write_atomic
from context_graph.requirements.rules import Requirement
from context_graph.requirements.scene import Scene
from context_graph.requirements.verdict import CalculationError, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["current_value", "judge"]

_RETRY_S = 30.0
"""How long a failure is believed."""

_BYTES = 64 * 1024


def judge(requirement: Requirement, scene: Scene) -> Verdict:
    """The verdict without an approval: unmet from ``thresholds.block`` on.

    A value that can't be had lets the call pass, with ``unknown`` set and the reason in ``why``.
    """
    value, why = current_value(requirement, scene)
    if value is None:
        verdict = Verdict(requirement, True, why)
        verdict.unknown = bool(why)
        verdict.deferred = not why
        return verdict
    block = requirement.block
    if block is not None and value >= block:
        verdict = Verdict(requirement, False, f"{value:g}, the limit is {block:g}")
    elif requirement.warn is not None and value >= requirement.warn:
        verdict = Verdict(requirement, True, f"{value:g}, from {requirement.warn:g} on a warning")
    else:
        verdict = Verdict(requirement, True, f"{value:g}")
    verdict.value = value
    return verdict


def current_value(requirement: Requirement, scene: Scene) -> tuple[float | None, str]:
    """The number, or None and why not; None and "" where a process would have to run and may not."""
    if not scene.checked_out:
        return None, "its branch is not checked out"
    path = _kept_path(requirement, scene)
    kept = _read(path)
    age = scene.now - kept.get("at", -1e18)
    if "value" in kept and 0 <= age < requirement.cache_ttl:
        return kept["value"], ""
    if "error" in kept and 0 <= age < max(requirement.cache_ttl, _RETRY_S):
        return kept.get("value"), str(kept["error"])
    if not scene.may_run:
        return None, ""
    value: float | None
    try:
        value, error = _calculate(requirement, scene), ""
        kept = {"value": value, "at": scene.now}
    except CalculationError as why:
        # An older number is better than none: the branch did not shrink because git was slow.
        value, error = kept.get("value"), f"{requirement.name} could not be calculated: {why}"
        kept = {**kept, "at": scene.now, "error": error}
    _keep(path, kept)
    return value, error


def _calculate(requirement: Requirement, scene: Scene) -> float:
    until = min(time.monotonic() + requirement.timeout, scene.until)
    if requirement.command:
        from context_graph.requirements.calculators import run_command

        return run_command(requirement.command, scene, until)
    from context_graph.requirements.calculators import branch_size

    return branch_size(scene, until)


def _kept_path(requirement: Requirement, scene: Scene) -> str:
    if not scene.cache_dir:
        return ""
    what = "\0".join((scene.root, scene.branch, requirement.name, str(requirement.command)))
    value = 0xCBF29CE484222325
    for byte in what.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{scene.cache_dir}/value-{value:016x}.json"


def _read(path: str) -> dict[str, Any]:
    if not path:
        return {}
    try:
        kept = plain_json.loads(read_bytes(path, _BYTES))
        if not isinstance(kept, dict) or not isinstance(kept["at"], (int, float)):
            return {}
        if not isinstance(kept.get("value", 0), (int, float)):
            return {}
        return kept
    except (OSError, ValueError, KeyError, RecursionError):
        return {}


def _keep(path: str, kept: dict[str, Any]) -> None:
    if not path:
        return
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        write_atomic(path, plain_json.dumps(kept).encode(), sync=False)
    except (OSError, ValueError):
        pass  # the next call calculates again
