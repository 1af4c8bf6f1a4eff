"""Which requirements a tool call triggers."""

from __future__ import annotations

from context_graph.requirements.rules import Requirement, Rules, glob_match

__all__ = ["SHELL", "command_of", "matching", "targets_of"]

SHELL = "Bash"
"""The one tool whose command a ``command_pattern`` is matched with."""

_PATHS = ("file_path", "notebook_path", "path")


def matching(rules: Rules, tool_name: str, tool_input: object) -> list[Requirement]:
    """The active requirements that this call triggers, in the order of the configuration.

    A pattern is searched anywhere in the raw command, upper and lower case alike, quoted text included: it
    is the user's own and is not parsed as a shell would.
    """
    named = rules.for_tool(tool_name)
    return [entry for entry in named if _triggers(entry, tool_name, tool_input)]


def _triggers(entry: Requirement, tool_name: str, tool_input: object) -> bool:
    for tool, pattern in entry.triggers:
        if tool != tool_name and not ("*" in tool and glob_match(tool, tool_name)):
            continue
        if not pattern:
            return True
        if tool_name == SHELL:
            from context_graph.requirements.patterns import IGNORE_CASE, matches

            if matches(pattern, command_of(tool_input), IGNORE_CASE):
                return True
    return False


def command_of(tool_input: object) -> str:
    """The shell command of a call; empty if it has none."""
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    return command if isinstance(command, str) else ""


def targets_of(tool_input: object) -> list[str]:
    """The files that a call names."""
    if not isinstance(tool_input, dict):
        return []
    found = (tool_input.get(key) for key in _PATHS)
    return [path for path in found if isinstance(path, str) and path]
