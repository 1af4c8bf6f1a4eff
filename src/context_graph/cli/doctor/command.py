"""Runs `doctor`: tries hooks and tools, and prints what is wrong and how to fix it.

The order is one in which a fault of one part explains that of the next.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from context_graph import __version__
from context_graph.claude.hooks.origin import CANARY_PREFIX
from context_graph.claude.install.plan import plugin_folder
from context_graph.cli.console.tables import counted, size, span
from context_graph.cli.console.terminal import show, shown
from context_graph.cli.doctor.canary_memory import MemoryTrial, server_in_use, try_memory
from context_graph.cli.doctor.client_files import (
    ERROR,
    NOTE,
    WARNING,
    Finding,
    is_sound,
    is_trusted,
    native_memory,
    settings_files,
)
from context_graph.cli.doctor.hook_trial import TRIED, HookTrial, try_hooks
from context_graph.cli.doctor.hooks_in_use import HooksInUse, hooks_in_use, packaged_hooks
from context_graph.cli.doctor.owner_view import ask_owner, cure_of, daily_cost, look_findings, owner_state
from context_graph.cli.doctor.surroundings import client_version, disk_use, governance, shut_folders
from context_graph.cli.words import Command
from context_graph.config import Location, checkout_top, locate, project_dir
from context_graph.errors import ContextGraphError
from context_graph.view.health import exchange_text


def doctor(as_json: bool, db_path: str | None) -> int:
    """Try out hooks and memory tools as Claude Code would; show their times, and each problem with its fix.

    It sends test events ("canaries") through the hook commands in the settings, and a test memory through
    the memory tools, reads them back and removes them; no session, count or identity changes. It also checks
    owner, event log, index, disk, requirements, the client's version and trust, and the tokens used per day.

    Exit codes: 0 nothing to fix; 1 problems, each with its fix.

    Example: context-graph-cli doctor --json
    """
    report = examine(os.environ, db_path)
    content = report.as_dict()
    if as_json:
        print(json.dumps(content, ensure_ascii=False))
    else:
        show(report_rows(content))
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print("\n" + shown(findings_text(content, width)))
    return int(not report.sound)


_MARKS: Final = {"error": "✗", "warning": "!", "note": "·"}


def report_rows(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Name and text of each part."""
    return [row for part in _PARTS for row in part(report)]


def findings_text(report: Mapping[str, Any], width: int | None = None) -> str:
    """Return what is wrong, worst first, each with its cure; lines of at most ``width``, if given."""
    findings = sorted(report["findings"], key=lambda finding: list(_MARKS).index(finding["level"]))
    lines = []
    for finding in findings:
        lines.append(_indented(f"{_MARKS[finding['level']]} ", finding["what"], width))
        if finding["cure"]:
            lines.append(_indented("    ", finding["cure"], width))
    problems = sum(finding["level"] != "note" for finding in findings)
    lines.append("nothing to fix" if not problems else f"{counted(problems, 'problem')} to fix")
    return "\n".join(lines)


def _indented(head: str, text: str, width: int | None) -> str:
    if width is None:
        return head + text
    return textwrap.fill(
        text,
        max(width, 2 * len(head) + 1),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,  # a path or command that is cut can't be copied
        break_on_hyphens=False,
    )


def _hooks(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    hooks = report["hooks"]
    for event, times in hooks.get("tried", {}).items():
        yield (
            f"hook {event}",
            f"{times['median_ms']:.1f} ms median, {times['worst_ms']:.1f} worst "
            f"(a shell that does nothing: {hooks['floor_ms']:.1f})",
        )
    sent, recorded = hooks.get("sent", 0), hooks.get("recorded")
    if recorded is None:
        yield "canary events", f"{sent} sent; the store can't be used, so doctor could not look for them"
    else:
        yield "canary events", f"{recorded} of {sent} recorded" + ", and removed again" * bool(recorded)
    yield "hooks from", ", ".join(hooks.get("sources", ())) or "-"


def _tools(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    tools = report["memory_tools"]
    steps = ", ".join(f"{name} {took:.1f}" for name, took in tools.get("steps_ms", {}).items())
    yield "memory tools", f"{counted(tools['tools'], 'tool')}; {steps} ms" if steps else "not tried"


def _owner(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    owner = report["owner"]
    if "pid" not in owner:
        yield "owner", "silent" if owner.get("was_running") else "none"
        return
    started = "" if owner["was_running"] else f", started for this in {owner.get('started_ms', 0):.0f} ms"
    yield (
        "owner",
        f"pid {owner['pid']}, version {owner['version']}, {size(owner['rss_bytes'])}, "
        f"up {span(owner['uptime_s'])}, answers in {owner['answered_ms']:.1f} ms{started}",
    )


def _store(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    store = report["store"]
    if not store:
        return
    sessions, memory, ages = store["sessions"], store["memory"], store["ages"]
    yield "store", store["store"]
    yield "events", f"{store['events_waiting']} waiting, {store['events_rejected']} rejected"
    yield "sessions", f"{sessions.get('count', 0)}, {_last('event', ages['last_event_age_s'])}"
    yield "captured", _last("session summary", ages["last_capture_age_s"])
    for exchange in store["exchanges"]:
        yield "exchange", exchange_text(exchange, time.time_ns() // 1_000_000)
    if "records" in memory:
        word = "agree" if memory["agrees"] else "DO NOT AGREE"
        yield (
            "memories",
            f"{memory['live']} kept, {memory['forgotten']} forgotten; "
            f"{counted(memory['records'], 'record')} and {counted(memory['rows'], 'index row')} {word}; "
            f"snapshot: {memory['snapshot']}",
        )
    else:
        yield "memories", "none yet"


def _disk(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    disk = report["disk"]
    if disk:
        free = f", {size(disk['free_bytes'])} free" if "free_bytes" in disk else ""
        yield "disk", f"{size(disk['store_bytes'])} for this store, {size(disk['root_bytes'])} for all{free}"


def _requirements(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    state = report["requirements"]
    if not state.get("governed"):
        yield "requirements", "none: this project has no .claude/requirements.yaml"
        return
    names = ", ".join(state["enabled"]) or "none"
    yield "requirements", f"{len(state['enabled'])} enabled on {state['branch'] or 'no branch'}: {names}"


def _client(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    client = report["client"]
    trust = {
        True: "trusts this folder",
        False: "does not trust this folder",
        None: "not asked yet whether it trusts this folder",
    }
    yield "claude", f"{client.get('version') or 'version unknown'}, {trust[client.get('trusted')]}"
    own = client["memory"]
    state = f"on: {own['files']} files, {size(own['bytes'])} in {own['folder']}" if own["on"] else "off"
    yield "claude's own memory", state
    oldest = f", the oldest {own['oldest_days']:.0f} days old" if own["transcripts"] else ""
    yield "transcripts", f"{own['transcripts']} here{oldest}; deleted after {own['cleanup_days']} days"


def _cost(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    cost = report["cost"]
    if "tool_schemas" not in cost:
        return
    yield (
        "tokens a session",
        f"{cost['session_start']} ({cost['tool_schemas']} loaded tools, "
        f"{cost.get('tool_names', 0)} names of others, "
        f"{cost['instructions']} instructions, {cost.get('skills', 0)} skills)",
    )
    day = cost["day"]
    if day is None:
        yield "tokens a day", "not measured yet: no session in the last week"
        return
    most = "at most " if cost["at_most"] else ""
    yield (
        "tokens a day",
        f"{most}{day['total']} (mean of {cost['days']} active days in the last 7): {day['starts']} starts, "
        f"{day['identity_lines']} lines of identity, {day['memories']} memories",
    )


_PARTS: Final = (_hooks, _tools, _owner, _store, _disk, _requirements, _client, _cost)


def _last(what: str, seconds: float | None) -> str:
    return f"no {what} yet" if seconds is None else f"the last {what} {span(seconds)} ago"


COMMANDS: Final = (Command.of(doctor, "Try hooks and memory tools out, and say what is wrong"),)


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
    _try_hooks(report, hooks_in_use(folder, settings, env), child_env, look=usable)
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
    _look_at_client(report, env)
    report.client["memory"], findings = native_memory(report.folder, settings, env)
    report.findings += findings
    return report


def _try_hooks(report: Report, in_use: HooksInUse, env: Mapping[str, str], *, look: bool) -> None:
    report.findings += in_use.findings
    tried, configured = in_use, bool(in_use.hooks)
    if not configured:
        text = "no settings file and no installed plugin has our hooks here, so nothing is recorded"
        cure = "`context-graph-cli setup`, unless you start claude with --plugin-dir"
        report.findings.append(Finding(WARNING, text, cure))
        plugin = plugin_folder()
        tried = HooksInUse(packaged_hooks(plugin, report.folder))
    trial: HookTrial = try_hooks(
        tried, report.place, report.folder, CANARY_PREFIX + secrets.token_hex(8), env, look=look
    )
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


def _look_at_client(report: Report, env: Mapping[str, str]) -> None:
    version, findings = client_version(env)
    report.findings += findings
    trusted = is_trusted(report.folder, env)
    report.client = {"version": version or None, "trusted": trusted}
    if trusted is not True:
        why = "you have not told Claude Code yet whether you trust" if trusted is None else "you don't trust"
        text = f"{why} {report.folder}, so it ignores the permissions in the project's settings"
        report.findings.append(Finding(NOTE, text, "start `claude` there once and choose Yes"))
