"""Finds which of our hook commands the client would run in a project, from its settings and plugins."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from context_graph.claude.settings.hook_commands import hook_problems, runs_us
from context_graph.cli.doctor.client_files import (
    ERROR,
    NOTE,
    WARNING,
    Finding,
    SettingsFile,
    plugin_folders,
    read_object,
)

_SCRIPT_BYTES: Final = 64 * 1024
_VARIABLE: Final = re.compile(r"\$\{(\w++)\}")
_SETUP: Final = "`context-graph-cli setup`"


@dataclass(frozen=True, slots=True)
class Hook:
    """One command that the client runs for an event."""

    event: str
    command: str
    arguments: tuple[str, ...] | None
    """Of the form without a shell; None for the other."""
    timeout_s: float
    source: Path
    """The file that says so."""
    plugin: Path | None = None

    def argv(self, variables: Mapping[str, str]) -> list[str]:
        """As the client starts it."""
        if self.arguments is None:
            return ["/bin/sh", "-c", f"{self.command} "]
        words = (self.command, *self.arguments)
        return [_VARIABLE.sub(lambda match: variables.get(match[1], match[0]), word) for word in words]


@dataclass(slots=True)
class HooksInUse:
    """All hooks of ours, and what is wrong with their entries."""

    hooks: list[Hook] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def of(self, event: str) -> list[Hook]:
        """Return the hooks of one event. One in several settings files runs once, one in a plugin again."""
        of_event = [hook for hook in self.hooks if hook.event == event]
        return list({(hook.plugin, hook.command, hook.arguments): hook for hook in of_event}.values())


def hooks_in_use(project: Path, settings: list[SettingsFile], env: Mapping[str, str]) -> HooksInUse:
    """Return the hooks of ours that the client would run in ``project``."""
    in_use = HooksInUse()
    for file in settings:
        if file.content.get("disableAllHooks") is True:
            in_use.findings.append(
                Finding(ERROR, f"{file.path}: disableAllHooks is true, so no hook runs", "remove that line")
            )
        for problem in hook_problems(dict(file.content)):
            in_use.findings.append(
                Finding(ERROR, f"{file.path}: {problem}: Claude Code ignores the whole file", "fix it")
            )
        in_use.hooks += _ours(file.content, file.path, project)
    for folder in plugin_folders(settings, project, env):
        in_use.hooks += packaged_hooks(folder, project)
    if in_use.hooks:
        from context_graph.claude.events import REGISTERED  # `status` looks where there are none

        in_use.findings += _doubled(in_use, [event.name for event in REGISTERED])
        missing = [event.name for event in REGISTERED if not in_use.of(event.name)]
        if missing:
            text = f"no settings file calls us for {', '.join(missing)}"
            in_use.findings.append(Finding(WARNING, text, _SETUP))
    return in_use


def _doubled(in_use: HooksInUse, events: list[str]) -> list[Finding]:
    """Return problems with a plugin beside our settings, or commands that differ: all of them run."""
    twice = [event for event in events if len(in_use.of(event)) > 1]
    if not twice:
        return []
    sources = sorted({str(hook.source) for event in twice for hook in in_use.of(event)})
    text = f"more than one hook calls us for {', '.join(twice)}, and each of them runs: {', '.join(sources)}"
    cure = "keep one: `context-graph-cli setup --remove` removes those in settings, /plugin the plugin"
    return [Finding(NOTE, text, cure)]


def packaged_hooks(plugin: Path, project: Path) -> list[Hook]:
    """Return our hooks of the plugin in that folder."""
    path = plugin / "hooks" / "hooks.json"
    try:
        content = read_object(path)
    except ValueError:
        return []
    return list(_ours(content or {}, path, project, plugin))


def _ours(
    content: Mapping[str, Any], path: Path, project: Path, plugin: Path | None = None
) -> Iterator[Hook]:
    hooks = content.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for entry in _entries(groups):
            if not _calls_us(entry, project, plugin):
                continue
            arguments, limit = entry.get("args"), entry.get("timeout")
            yield Hook(
                event=event,
                command=str(entry["command"]),
                arguments=tuple(map(str, arguments)) if isinstance(arguments, list) else None,
                timeout_s=float(limit) if isinstance(limit, (int, float)) and limit > 0 else 60.0,
                source=path,
                plugin=plugin,
            )


def _entries(groups: object) -> Iterator[dict[str, Any]]:
    for group in groups if isinstance(groups, list) else ():
        inner = group.get("hooks") if isinstance(group, dict) else None
        for entry in inner if isinstance(inner, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("command"), str):
                yield entry


def _calls_us(entry: Mapping[str, Any], project: Path, plugin: Path | None) -> bool:
    """Return whether the command names us, or a script that does."""
    arguments = entry.get("args")
    arguments = arguments if isinstance(arguments, list) else []
    if runs_us(entry["command"], arguments):
        return True
    try:
        words = [*shlex.split(entry["command"]), *map(str, arguments)]
    except ValueError:
        return False
    variables = {"CLAUDE_PROJECT_DIR": str(project), "CLAUDE_PLUGIN_ROOT": str(plugin or "")}
    for word in words:
        for name, value in variables.items():
            word = word.replace(f"${{{name}}}", value).replace(f"${name}", value)
        script = os.path.join(project, word)
        if "/" in word and os.path.isfile(script) and _script_runs_us(script):
            return True
    return False


def _script_runs_us(script: str) -> bool:
    try:
        with open(script, "rb") as source:
            return runs_us(source.read(_SCRIPT_BYTES).decode("utf-8", "replace"))
    except OSError:
        return False
