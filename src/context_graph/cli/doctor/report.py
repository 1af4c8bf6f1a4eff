"""Runs the whole examination, in an order in which a fault of one part explains that of the next."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_graph import __version__
from context_graph.claude.hooks.origin import CANARY_PREFIX
from context_graph.claude.install.plan import plugin_folder
from context_graph.cli.doctor.canary_memory import MemoryTrial, server_in_use, try_memory
from context_graph.cli.doctor.client_files import is_trusted, settings_files
from context_graph.cli.doctor.findings import ERROR, NOTE, WARNING, Finding, is_sound
from context_graph.cli.doctor.hook_trial import TRIED, HookTrial, try_hooks
from context_graph.cli.doctor.hooks_in_use import HooksInUse, hooks_in_use, packaged_hooks
from context_graph.cli.doctor.native_memory import native_memory
from context_graph.cli.doctor.owner_view import ask_owner, cure_of, daily_cost, look_findings, owner_state
from context_graph.cli.doctor.surroundings import client_version, disk_use, governance, shut_folders
from context_graph.config import Location, checkout_top, locate, project_dir
from context_graph.errors import ContextGraphError


@dataclass(slots=True)
class Report:
    """All results; each part as in `doctor --json`."""

    place: Location
    folder: Path
    """The project as the client knows it: in a linked worktree that one's top."""
    hooks: dict[str, Any] = field(default_factory=dict)
    memory_tools: dict[str, Any] = field(default_factory=dict)
    owner: dict[str, Any] = field(default_factory=dict)
    store: dict[str, Any] = field(default_factory=dict)
    disk: dict[str, Any] = field(default_factory=dict)
    requirements: dict[str, Any] = field(default_factory=dict)
    client: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether there is nothing to mend."""
        return is_sound(self.findings)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        parts = ("hooks", "memory_tools", "owner", "store", "disk", "requirements", "client", "cost")
        return {
            "sound": self.sound,
            "version": __version__,
            "project": str(self.folder),
            "root": str(self.place.root),
            **{name: getattr(self, name) for name in parts},
            "findings": [finding.as_dict() for finding in self.findings],
        }


def examine(env: Mapping[str, str], db_path: str | None = None) -> Report:
    """Try hooks and memory tools with canaries, and examine what they depend on. Starts an owner if none
    runs.

    Raises:
        ConfigError, PathNotAllowedError: Data root or store can't be told from the environment.
    """
    place = locate(db_path, env)
    folder = checkout_top(project_dir(env))
    report = Report(place, folder)
    report.disk, findings = disk_use(place.root, place.store)
    report.findings += [*findings, *shut_folders(place.root, place.store)]
    report.owner, findings = owner_state(place, env)
    report.findings += findings
    usable = "store_ready_ms" in report.owner
    settings, findings = settings_files(folder, env)
    report.findings += findings
    # The children must mean the same store as this command.
    child_env = {**env, "CONTEXT_GRAPH_DB_PATH": str(place.store)} if db_path is not None else dict(env)
    _hooks(report, hooks_in_use(folder, settings, env), child_env, look=usable)
    server, findings = server_in_use(folder, settings, env, plugin_folder())
    report.findings += findings
    trial = try_memory(server, folder, child_env) if usable else MemoryTrial()
    report.findings += trial.findings
    report.memory_tools = {
        "source": server.source or None,
        "tools": trial.tools,
        "steps_ms": {name: round(took, 3) for name, took in trial.steps_ms.items()},
    }
    if usable:
        _look(report, env)
        report.disk, _ = disk_use(place.root, place.store)  # with what the trials have left
    report.requirements, findings = governance(folder, place.root, env)
    report.findings += findings
    _client(report, env)
    report.client["memory"], findings = native_memory(report.folder, settings, env)
    report.findings += findings
    return report


def _canary_id() -> str:
    return CANARY_PREFIX + secrets.token_hex(8)


def _hooks(report: Report, in_use: HooksInUse, env: Mapping[str, str], *, look: bool) -> None:
    report.findings += in_use.findings
    tried, configured = in_use, bool(in_use.hooks)
    if not configured:
        text = "no settings file and no installed plugin has our hooks here, so nothing is recorded"
        cure = "`context-graph-cli setup`, unless you start claude with --plugin-dir"
        report.findings.append(Finding(WARNING, text, cure))
        plugin = plugin_folder()
        tried = HooksInUse(packaged_hooks(plugin, report.folder))
    trial: HookTrial = try_hooks(tried, report.place, report.folder, _canary_id(), env, look=look)
    report.findings += trial.findings
    report.hooks = {
        "configured": configured,
        "sources": sorted({str(hook.source) for hook in tried.hooks}),
        "tried": {
            event: {"median_ms": round(median, 3), "worst_ms": round(max(trial.runs_ms[event]), 3)}
            for event, median in trial.medians().items()
        },
        "floor_ms": round(trial.floor_ms, 3),
        "sent": trial.sent,
        "recorded": trial.recorded,
    }
    for event in TRIED:
        if tried.hooks and not tried.of(event):
            report.findings.append(Finding(NOTE, f"{event} was not tried: no hook is registered for it"))


def _look(report: Report, env: Mapping[str, str]) -> None:
    try:
        report.store = ask_owner("doctor.look", {}, report.place, env)
    except ContextGraphError as error:
        report.findings.append(Finding(ERROR, f"the store can't be examined: {error}", cure_of(error)))
        return
    report.findings += look_findings(report.store)
    report.cost = daily_cost(report.store)
    now_ms = time.time_ns() // 1_000_000
    ages = {
        "last_event_age_s": report.store.get("sessions", {}).get("last_event_ms"),
        "last_capture_age_s": report.store.get("memory", {}).get("last_capture_ms"),
    }
    report.store["ages"] = {
        name: None if at_ms is None else max(0.0, (now_ms - at_ms) / 1000) for name, at_ms in ages.items()
    }


def _client(report: Report, env: Mapping[str, str]) -> None:
    version, findings = client_version(env)
    report.findings += findings
    trusted = is_trusted(report.folder, env)
    report.client = {"version": version or None, "trusted": trusted}
    if trusted is not True:
        why = "you have not told Claude Code yet whether you trust" if trusted is None else "you don't trust"
        text = f"{why} {report.folder}, so it ignores the permissions in the project's settings"
        report.findings.append(Finding(NOTE, text, "start `claude` there once and choose Yes"))
