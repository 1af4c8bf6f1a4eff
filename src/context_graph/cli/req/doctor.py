"""Checks for `req doctor` whether the client's settings call our hooks at all."""

from __future__ import annotations

import json
import os
from typing import Any

from context_graph.gates.commands.command_context import CommandContext

_GATING = ("PreToolUse", "PostToolUse", "Stop", "SessionStart")
_CURE = "`context-graph-cli setup`"


def installation(context: CommandContext, root: str) -> list[dict[str, str]]:
    """Findings about hooks and data root: ``level`` (error, warning, note, ok), ``what``, ``cure``."""
    found: list[dict[str, str]] = []
    hooked: dict[str, bool] = {}
    for path in _settings_files(context):
        settings, problem = _read(path)
        if problem:
            found.append(_finding("error", f"{path}: {problem}: the client drops the whole file", "mend it"))
        if settings.get("disableAllHooks") is True:
            found.append(_finding("error", f"{path}: disableAllHooks is true: no gate runs", "remove it"))
        hooked.update(_our_events(settings))
    found += _about_hooks(context, hooked)
    folder = root if os.path.isdir(root) else os.path.dirname(root)
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        text = f"the data root {root} can't be written: refusals are not logged, no owner starts"
        found.append(_finding("warning", text, "make it writable or set CONTEXT_GRAPH_HOME"))
    return found


def missing_hooks(context: CommandContext) -> list[str]:
    """The client's events that a gate needs and no settings file calls us for."""
    hooked: dict[str, bool] = {}
    for path in _settings_files(context):
        hooked.update(_our_events(_read(path)[0]))
    return [event for event in _GATING if event not in hooked]


def _about_hooks(context: CommandContext, hooked: dict[str, bool]) -> list[dict[str, str]]:
    missing = [event for event in _GATING if event not in hooked]
    if missing:
        text = f"no settings file calls the hooks of {', '.join(missing)}"
        if _is_at_work(context):
            return [_finding("note", f"{text}; a plugin seems to, for they run", "")]
        level = "error" if context.governed else "warning"
        return [_finding(level, f"{text}: nothing is enforced there", _CURE)]
    if hooked["PreToolUse"]:
        text = (
            "gates are strict: where our program fails or is gone, every tool call of this project is blocked"
        )
        return [_finding("note", text, "`context-graph-cli setup --no-strict-gates` lets them pass again")]
    text = "where our program fails or is gone, tool calls pass unchecked"
    return [
        _finding("note", text, "`context-graph-cli setup --strict-gates` blocks them (client 2.1.330 on)")
    ]


def _is_at_work(context: CommandContext) -> bool:
    """Whether hooks have lately entered a live session of this project."""
    live = context.registry.live(context.now).values()
    return any(entry.get("project_dir") == context.project.work for entry in live)


def _settings_files(context: CommandContext) -> list[str]:
    tops = dict.fromkeys((context.project.root, context.project.work, context.repo.top))
    names = [f"{top}/.claude/{name}" for top in tops for name in ("settings.json", "settings.local.json")]
    return [f"{context.claude_dir}/settings.json", *names]


def _read(path: str) -> tuple[dict[str, Any], str]:
    try:
        with open(path, encoding="utf-8") as source:
            value = json.load(source)
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"not read: {error}"
    return (value, "") if isinstance(value, dict) else ({}, "no JSON object")


def _our_events(settings: dict[str, Any]) -> dict[str, bool]:
    """Events under which some command names us, however it is written, and whether it blocks where it
    fails."""
    hooks = settings.get("hooks")
    named = {}
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        text = json.dumps(groups)
        if "context-graph" in text and "hooks" in text:
            named[event] = '"onFailure": "block"' in text
    return named


def _finding(level: str, what: str, cure: str) -> dict[str, str]:
    return {"level": level, "what": what, "cure": cure}
