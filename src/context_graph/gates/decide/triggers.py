"""Finds the requirements that a tool call triggers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from context_graph.gates.rules import Requirement, Rules, covers
from context_graph.gates.shell.patterns import IGNORE_CASE, matches
from context_graph.gates.shell.runs import git_call, runs

_PATHS = (
    *("file_path", "notebook_path", "path", "relative_path", "filePath", "filepath", "file", "uri"),
    *("target_file", "source", "destination", "paths", "files"),
)
"""Names that tools, MCP servers' too, give to their arguments for files."""


def matching(
    rules: Rules,
    tool_name: str,
    tool_input: object,
    aliases: Callable[[], Mapping[str, str]] | None = None,
) -> list[Requirement]:
    """The active requirements that this call triggers, in the order of the configuration.

    A ``command_pattern`` is searched anywhere in the raw command, upper and lower case alike, quoted text
    included: it is the user's own and is not parsed as a shell would. ``git:`` reads the command's words.
    ``aliases`` gives git's configured ones; it is asked only where a git command might need them.
    """
    named = rules.for_tool(tool_name)
    return [entry for entry in named if _triggers(entry, tool_name, tool_input, aliases)]


def _triggers(
    entry: Requirement,
    tool_name: str,
    tool_input: object,
    aliases: Callable[[], Mapping[str, str]] | None,
) -> bool:
    for tool, pattern, verbs in entry.triggers:
        if not covers(tool, tool_name, command=bool(pattern or verbs)):
            continue
        if not pattern and not verbs:
            return True
        command = command_of(tool_input)
        if not command:
            continue
        if verbs and not git_hits(command, verbs.split(), aliases):
            continue
        if not pattern or matches(pattern, command, IGNORE_CASE):
            return True
    return False


def described(trigger: list[str]) -> str:
    """A trigger as lists show it: its tool, with its pattern or git's verbs."""
    tool, pattern, verbs = trigger
    given = ", ".join(part for part in (pattern, f"git {verbs}" if verbs else "") if part)
    return f"{tool}({given})" if given else tool


_DROPPED = str.maketrans("", "", "'\"\\\n")


def git_hits(
    command: str, verbs: Collection[str], aliases: Callable[[], Mapping[str, str]] | None = None
) -> bool:
    """Whether the command runs git with one of ``verbs``, however it is written.

    Options before the verb, quotes, paths, wrappers, inner shells and aliases are seen through; words that
    are only quoted, searched for or printed don't count. What can't be read counts if it names both.
    """
    plain = command.translate(_DROPPED)
    if "git" not in plain and "$" not in plain and "`" not in plain:
        return False
    reading = runs(command)
    if reading.broken and "git" in plain and any(verb in plain for verb in verbs):
        return True
    configured: Mapping[str, str] | None = None
    for one in reading.commands:
        if one.wraps or one.program not in ("git", "git.exe", "\0"):
            continue
        if configured is None and one.program != "\0":
            configured = aliases() if aliases is not None else {}
        if _is_verb(one.words, verbs, configured or {}, more=one.more):
            return True
    return False


def _is_verb(words: list[str], verbs: Collection[str], configured: Mapping[str, str], *, more: bool) -> bool:
    program = words[0]
    known = dict(configured)
    for _ in range(5):
        call = git_call(words)
        verb = call.verb
        known.update(call.aliases)
        if verb in verbs:
            return True
        if "\0" in program:
            return False
        if not verb:
            return more  # `xargs git`: the verb comes at run time
        if "\0" in verb or "\1" in verb or "\2" in verb:
            return True
        value = known.pop(verb.lower(), "")
        if not value:
            return False
        if value.startswith("!"):
            return git_hits(value[1:], verbs, lambda: known)
        words = [program, *value.split(), *call.rest]
    return False


def command_of(tool_input: object) -> str:
    """The shell command of a call; empty if it has none."""
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    return command if isinstance(command, str) else ""


def targets_of(tool_input: object, root: str = "") -> list[str]:
    """The files that a call names; those that are given relative to a project stand below ``root``."""
    if not isinstance(tool_input, dict):
        return []
    found: list[str] = []
    for key in _PATHS:
        value = tool_input.get(key)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and path:
                path = path.removeprefix("file://")
                joined = f"{root}/{path}" if root and key == "relative_path" and path[0] != "/" else path
                found += [] if "://" in path else [joined]
    return found
