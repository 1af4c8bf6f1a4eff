"""Tries the hooks: sends canary events through them, then looks for these in the store."""

from __future__ import annotations

import json
import secrets
import shutil
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from context_graph.config import Location
from context_graph.doctor.canary_event import HookRun, run_command, run_hook
from context_graph.doctor.findings import ERROR, NOTE, WARNING, Finding
from context_graph.doctor.hooks_in_use import Hook, HooksInUse
from context_graph.doctor.owner_view import ask_owner
from context_graph.errors import ContextGraphError

TRIED: Final = ("PreToolUse", "PostToolUse")
"""The two that each tool call waits for. A start or a prompt would change what the model is told."""
_RUNS: Final = 5
_PROGRAM: Final = "context-graph-cli"
_OWNER: Final = "`context-graph-cli owner status`, and log/owner.log in the data root, may say why"


@dataclass(slots=True)
class HookTrial:
    """The results of the hooks' commands."""

    runs_ms: dict[str, list[float]] = field(default_factory=dict)
    """By event, each run's milliseconds."""
    floor_ms: float = 0.0
    """The same of a shell that does nothing."""
    sent: int = 0
    recorded: int | None = None
    """How many the store has; None where it was not asked."""
    findings: list[Finding] = field(default_factory=list)

    def medians(self) -> dict[str, float]:
        """By event."""
        return {event: statistics.median(runs) for event, runs in self.runs_ms.items() if runs}


def try_hooks(
    found: HooksInUse,
    place: Location,
    folder: Path,
    session_id: str,
    env: Mapping[str, str],
    *,
    look: bool,
) -> HookTrial:
    """Send canaries through the commands of ``found`` and see whether the store has each of them.

    Args:
        folder: What the client takes for the project's folder.
        look: Whether to ask the store; without, what the commands do where there is none to use is seen.
    """
    trial = HookTrial()
    nothing = [run_command(["/bin/sh", "-c", "true "], b"{}\n", folder, env, 10.0) for _ in range(_RUNS)]
    trial.floor_ms = statistics.median(run.took_ms for run in nothing)
    sent: dict[str, str] = {}
    spooled = 0
    for event in TRIED:
        for hook in found.of(event):
            for number in range(_RUNS):
                tool_use_id = f"toolu_doctor_{secrets.token_hex(8)}"
                run = run_hook(hook, session_id, folder, env, tool_use_id)
                trial.runs_ms.setdefault(event, []).append(run.took_ms)
                spooled += _waits_in_spool(place.store, tool_use_id)
                sent[tool_use_id] = event
                trial.sent += 1
                if number == 0:
                    trial.findings += _faults(hook, run)
    if look:
        _look_for(trial, sent, spooled, place, session_id, env)
    return trial


def _faults(hook: Hook, run: HookRun) -> list[Finding]:
    """The faults that the client would not accept."""
    where = f"the {hook.event} hook of {hook.source}"
    if run.timed_out:
        return [Finding(ERROR, f"{where} did not end within its {hook.timeout_s:g} s", _OWNER)]
    found = []
    if run.exit_code == 2:
        found.append(
            Finding(ERROR, f"{where} ends with 2, which blocks every tool call: {_said(run)}", _OWNER)
        )
    elif run.exit_code:
        found.append(Finding(ERROR, f"{where} ends with {run.exit_code}: {_said(run)}", _OWNER))
    elif run.stderr.strip():
        found.append(Finding(WARNING, f"{where} complains: {_said(run)}", _OWNER))
    told = run.stdout.strip()
    if told and not run.exit_code and not _is_object(told):
        found.append(Finding(NOTE, f"{where} prints plain text, which does not reach the model"))
    return found


def _cure_of_lost(trial: HookTrial, spooled: int, env: Mapping[str, str]) -> str:
    """The likely reason for lost canaries: hooks without their program silently do nothing."""
    if not trial.recorded and not spooled and shutil.which(_PROGRAM, path=env.get("PATH", "")) is None:
        return (
            f"{_PROGRAM} is not on PATH, so hooks that call it by name do nothing: "
            "`context-graph-cli setup --link` links it into ~/.local/bin; then start the client again"
        )
    return (
        "see that there is room on the disk, and that the hook's context-graph-cli is of this "
        "installation and has the same data root"
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _said(run: HookRun) -> str:
    return (run.stderr.strip() or run.stdout.strip() or "nothing said")[:300]


def _waits_in_spool(store: Path, tool_use_id: str) -> bool:
    """Whether the canary is in the spool, because its hook did not reach the owner in time."""
    needle = tool_use_id.encode()
    try:
        return any(needle in path.read_bytes() for path in (store / "spool").glob("events*"))
    except OSError:
        return False


def _look_for(
    trial: HookTrial,
    sent: Mapping[str, str],
    spooled: int,
    place: Location,
    session_id: str,
    env: Mapping[str, str],
) -> None:
    try:
        answer = ask_owner("doctor.canary", {"session": session_id}, place, env)
    except ContextGraphError as error:
        trial.findings.append(Finding(ERROR, f"the canary events can't be read back: {error}", _OWNER))
        return
    events: list[dict[str, Any]] = answer["events"]
    there = {one["tool_use_id"] for one in events}
    trial.recorded = len(there & set(sent))
    for event in TRIED:
        of_event = [one for one, kind in sent.items() if kind == event]
        lost = [one for one in of_event if one not in there]
        if lost:
            text = f"{len(lost)} of {len(of_event)} {event} canaries are not in the store {place.store}"
            trial.findings.append(Finding(ERROR, text, _cure_of_lost(trial, spooled, env)))
    if spooled:
        text = f"{spooled} of {len(sent)} canaries were spooled: their hooks did not reach the owner in time"
        trial.findings.append(Finding(WARNING, text, _OWNER))
