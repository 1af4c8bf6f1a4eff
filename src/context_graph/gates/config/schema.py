"""Checks a merged configuration and fills in its defaults; every fault is reported.

Problems have three levels. An *error* means that something is not enforced as written (SessionStart reports
it), a *warning* that it is probably a mistake, a *note* that a key of the original has no effect here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_graph.gates.config import fields
from context_graph.gates.config.fields import SCOPES, TOP_KEYS
from context_graph.gates.rules import SHELL, SHELLS, HookSettings, Requirement, Rules

MAX_REQUIREMENTS = 200
_NAME = 100
_PATTERN = 2000
_TRIGGERS = 100
_VERBS = 20
_VERB = re.compile(r"[a-z][a-z0-9-]*")

DEFAULT_TRIGGERS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
"""MultiEdit is a tool of older clients."""

TYPES = ("blocking", "guard", "dynamic")
GUARDS = ("protected_branch", "single_session")
CALCULATOR = "branch_size_calculator"

_KNOWN_TOOLS = {
    name.lower(): name
    for name in (
        *("Bash", "Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "Task", "Agent"),
        *("Monitor", "PowerShell", "ExitPlanMode", "EnterPlanMode", "Skill", "WebFetch", "WebSearch"),
    )
}
_WITHOUT_COMMAND = frozenset(_KNOWN_TOOLS.values()) - SHELLS
_LIKE_GIT = re.compile(r"\bgit(\\s[+*]|\[\\s\][+*]| )")
_PATTERN_MISSES = (
    "its command_pattern is searched in the command as written, so `git -C . commit` may pass it; "
    "`git: commit` in its place reads the command's words"
)
_TOOL_NAME = re.compile(r"[\w*:-]+")
"""What the client allows in a tool's name, and our wildcard; a matcher of its settings (`A|B`) is none."""

TRIGGER_KEYS = {"tool", "command_pattern", "git"}

WITHOUT_EFFECT = {"strict_preflight", "logging", "console", "debug", "workflow", "budgets"}
"""Top-level keys of the original that have no effect here."""


class Dropped(Exception):
    """This requirement can't be used; the text says why."""


def check(merged: Mapping[object, object], templates: Mapping[str, dict[str, str]]) -> Rules:
    """Check ``merged`` and make rules of it.

    Args:
        merged: The cascade, deeply merged.
        templates: Message files by requirement, already checked.

    Cost: milliseconds; done when a file changed.
    """
    problems = fields.Problems()
    problems.unknown("", merged, TOP_KEYS, foreign=WITHOUT_EFFECT)
    enabled = merged.get("enabled", True)
    if not isinstance(enabled, bool):
        problems.error("enabled", f"{fields.show(enabled)} is neither true nor false; taken as true")
        enabled = True
    hooks = HookSettings(**fields.hook_settings(merged.get("hooks"), problems))
    entries = _requirements(merged.get("requirements"), templates, problems)
    for entry in entries:
        if entry.enabled:
            _warn_if_it_never_fires(entry, hooks, problems)
    return Rules(entries, hooks, enabled, problems.entries)


def blank_entry(name: str) -> Requirement:
    """Return a requirement with only its name known."""
    return _entry(name, {}, {}, fields.Problems())


def _requirements(
    value: object, templates: Mapping[str, dict[str, str]], problems: fields.Problems
) -> list[Requirement]:
    if value is None:
        return []
    if not isinstance(value, dict):
        problems.error("requirements", f"{fields.show(value)} is not a mapping; no requirement is enforced")
        return []
    if len(value) > MAX_REQUIREMENTS:
        problems.error("requirements", f"{len(value)} entries; all past {MAX_REQUIREMENTS} are dropped")
    entries = []
    for name, raw in list(value.items())[:MAX_REQUIREMENTS]:
        try:
            entries.append(_entry(name, raw, templates, problems))
        except Dropped as why:
            problems.error(f"requirements.{name}"[:_NAME], f"{why}; this requirement is dropped")
    return entries


def _entry(
    name: object, raw: object, templates: Mapping[str, dict[str, str]], problems: fields.Problems
) -> Requirement:
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= _NAME:
        raise Dropped(f"the name must be printable text of 1 to {_NAME} characters (quote it)")
    if name.startswith("-"):
        raise Dropped("a name can't begin with '-': no command could say it")
    if not isinstance(raw, dict):
        raise Dropped(f"{fields.show(raw)} is not a mapping")
    where = f"requirements.{name}"
    problems.unknown(where, raw, fields.ENTRY_KEYS)
    entry = fields.simple_fields(where, raw, problems)
    kind = _choice(raw, "type", TYPES, "blocking")
    return Requirement(
        name=name,
        templates=dict(templates.get(name, {})),
        type=kind,
        scope=_choice(raw, "scope", SCOPES, "session"),
        triggers=_triggers(where, raw, problems),
        evidence=fields.evidence(where, raw.get("evidence"), problems),
        guard_type=_guard_type(kind, raw),
        **_dynamic(kind, raw),
        **entry,
    )


def _choice(raw: Mapping[object, object], key: str, allowed: tuple[str, ...], default: str) -> str:
    value = raw.get(key, default)
    if not isinstance(value, str) or value not in allowed:
        raise Dropped(f"{key} {fields.show(value)} is none of {', '.join(allowed)}")
    return value


def _guard_type(kind: str, raw: Mapping[object, object]) -> str:
    value = raw.get("guard_type")
    if kind != "guard":
        return ""
    if not isinstance(value, str) or not value:
        raise Dropped(f"a guard needs guard_type, one of {', '.join(GUARDS)}")
    return value


def _triggers(where: str, raw: Mapping[object, object], problems: fields.Problems) -> list[list[str]]:
    tools = raw.get("trigger_tools")
    if tools is None:
        return [[tool, "", ""] for tool in DEFAULT_TRIGGERS]
    if isinstance(tools, (str, dict)):
        tools = [tools]
    if not isinstance(tools, list) or len(tools) > _TRIGGERS:
        raise Dropped(f"trigger_tools {fields.show(tools)} is not a list of at most {_TRIGGERS} tools")
    return [_trigger(where, item, problems) for item in tools]


def _trigger(where: str, item: object, problems: fields.Problems) -> list[str]:
    if isinstance(item, str) and item.strip():
        return [item.strip(), "", ""]
    if not isinstance(item, dict):
        raise Dropped(f"trigger_tools has {fields.show(item)}; give a tool's name, or a mapping with tool")
    problems.unknown(f"{where}.trigger_tools", item, TRIGGER_KEYS)
    verbs = _git_verbs(item["git"]) if item.get("git") is not None else ""
    tool, pattern = item.get("tool", SHELL if verbs else None), item.get("command_pattern")
    if not isinstance(tool, str) or not tool.strip():
        raise Dropped(f"trigger_tools has an entry whose tool is {fields.show(tool)}")
    if pattern is None:
        return [tool.strip(), "", verbs]
    if not isinstance(pattern, str) or len(pattern) > _PATTERN:
        raise Dropped(f"command_pattern {fields.show(pattern)} is not text of at most {_PATTERN} characters")
    try:
        re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        raise Dropped(f"command_pattern {fields.show(pattern)} is no regular expression: {error}") from None
    return [tool.strip(), pattern, verbs]


def _git_verbs(value: object) -> str:
    verbs = [value] if isinstance(value, str) else value
    if not isinstance(verbs, list) or not 0 < len(verbs) <= _VERBS:
        raise Dropped(
            f"git {fields.show(value)} is neither a git command (commit) nor a list of 1 to {_VERBS}"
        )
    for verb in verbs:
        if not isinstance(verb, str) or not _VERB.fullmatch(verb):
            raise Dropped(f"git {fields.show(verb)} is not a git command; give one word such as commit")
    return " ".join(verbs)


def _dynamic(kind: str, raw: Mapping[object, object]) -> dict[str, Any]:
    values: dict[str, Any] = {"calculator": "", "command": "", "warn": None, "block": None}
    if kind != "dynamic":
        return values
    calculator: Any = raw.get("calculator")
    command = raw.get("command")
    if isinstance(calculator, dict):
        calculator, command = None, calculator.get("command", command)
    if command is not None:
        values["command"] = _command(command)
    elif calculator == CALCULATOR:
        values["calculator"] = CALCULATOR
    else:
        why = f"calculator {fields.show(calculator)} is unknown" if calculator else "no calculator is named"
        raise Dropped(f"{why}; use {CALCULATOR}, or command: with a program that prints a number")
    thresholds = raw.get("thresholds", {})
    if not isinstance(thresholds, dict):
        raise Dropped(f"thresholds {fields.show(thresholds)} is not a mapping of warn and block")
    for key in ("warn", "block"):
        value = thresholds.get(key)
        if value is not None and not fields.is_number(value):
            raise Dropped(f"thresholds.{key} {fields.show(value)} is not a number")
        values[key] = value
    return values


def _command(value: object) -> str | list[str]:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return value
    raise Dropped(f"command {fields.show(value)} is neither a shell line nor a list of words")


def _warn_if_it_never_fires(entry: Requirement, hooks: HookSettings, problems: fields.Problems) -> None:
    where = f"requirements.{entry.name}"
    for why in _reasons_never_to_fire(entry, hooks):
        problems.warning(where, f"can never fire: {why}")
    for tool, pattern, verbs in entry.triggers:
        proper = _KNOWN_TOOLS.get(tool.lower())
        if proper and proper != tool:
            problems.warning(where, f"no tool is called {tool!r}; the client's is {proper!r}")
        if not _TOOL_NAME.fullmatch(tool):
            problems.warning(
                where, f"no tool can be called {tool!r}; name each one by itself, '*' stands for any text"
            )
        if (pattern or verbs) and tool in _WITHOUT_COMMAND:
            problems.warning(
                where, f"{tool} runs no command: its {'git' if verbs else 'command_pattern'} never matches"
            )
        if pattern and _LIKE_GIT.search(pattern):
            problems.note(where, _PATTERN_MISSES)


def _reasons_never_to_fire(entry: Requirement, hooks: HookSettings) -> list[str]:
    why = _no_trigger_matches(entry.triggers)
    if entry.stop_only:
        if not hooks.verify_requirements:
            why.append("it is stop_only, and hooks.stop.verify_requirements is false")
        elif entry.scope not in hooks.verify_scopes:
            why.append(f"it is stop_only, and hooks.stop.verify_scopes lacks {entry.scope!r}")
    if entry.type == "guard":
        if entry.guard_type not in GUARDS:
            why.append(f"guard_type {entry.guard_type!r} is none of {', '.join(GUARDS)}")
        elif entry.guard_type == "protected_branch" and not entry.protected_branches:
            why.append("protected_branches is empty")
    if entry.type == "dynamic" and entry.block is None:
        why.append("it has no thresholds.block")
    return why


def _no_trigger_matches(triggers: list[list[str]]) -> list[str]:
    if not triggers:
        return ["trigger_tools is empty"]
    if not any(_TOOL_NAME.fullmatch(tool) for tool, _, _ in triggers):
        return ["none of its trigger_tools can be a tool's name"]
    if all((pattern or verbs) and tool in _WITHOUT_COMMAND for tool, pattern, verbs in triggers):
        return ["a command_pattern or git: matches with tools that run a command alone"]
    return []
