"""A compiled configuration: what the cascade of files says, checked, with every default filled in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["SHELL", "SHELLS", "HookSettings", "Requirement", "Rules", "covers", "glob_match"]

SHELL = "Bash"
"""The name that a trigger gives the client's shells."""

SHELLS = frozenset((SHELL, "PowerShell", "Monitor"))
"""The client's tools that run a command."""

_ONE_TOOL = frozenset(("Task", "Agent"))
"""Two names of the client's for the tool that starts a subagent."""


def covers(tool: str, tool_name: str, *, command: bool) -> bool:
    """Whether a trigger on ``tool`` is about calls of ``tool_name``.

    ``Bash`` is every shell of the client's; where the trigger looks at the ``command``, MCP tools' too.
    """
    if tool == tool_name or ("*" in tool and glob_match(tool, tool_name)):
        return True
    if tool == SHELL:
        return tool_name in SHELLS or (command and tool_name.startswith("mcp__"))
    return tool in _ONE_TOOL and tool_name in _ONE_TOOL


class Requirement:
    """One valid entry of ``requirements:``. See docs/requirements.md for what each key means."""

    __slots__ = (
        "approval_ttl",
        "auto_resolve_skill",
        "block",
        "blocking_message",
        "cache_ttl",
        "calculator",
        "checklist",
        "command",
        "description",
        "enabled",
        "evidence",
        "guard_type",
        "human_only",
        "message",
        "name",
        "protected_branches",
        "replan_ttl",
        "satisfied_by_skill",
        "scope",
        "short_message",
        "stop_only",
        "templates",
        "timeout",
        "triggers",
        "type",
        "warn",
    )

    def __init__(self, data: dict[str, Any]) -> None:
        self.name: str = data["name"]
        self.enabled: bool = data["enabled"]
        self.type: str = data["type"]
        self.scope: str = data["scope"]
        self.triggers: list[list[str]] = data["triggers"]
        self.stop_only: bool = data["stop_only"]
        self.human_only: bool = data["human_only"]
        self.message: str = data["message"]
        self.short_message: str = data["short_message"]
        self.description: str = data["description"]
        self.checklist: list[str] = data["checklist"]
        self.satisfied_by_skill: list[str] = data["satisfied_by_skill"]
        self.auto_resolve_skill: str = data["auto_resolve_skill"]
        self.replan_ttl: float = data["replan_ttl"]
        self.evidence: dict[str, Any] | None = data["evidence"]
        self.guard_type: str = data["guard_type"]
        self.protected_branches: list[str] = data["protected_branches"]
        self.calculator: str = data["calculator"]
        self.command: str | list[str] = data["command"]
        self.warn: float | None = data["warn"]
        self.block: float | None = data["block"]
        self.cache_ttl: float = data["cache_ttl"]
        self.approval_ttl: float = data["approval_ttl"]
        self.timeout: float = data["timeout"]
        self.blocking_message: str = data["blocking_message"]
        self.templates: dict[str, str] = data["templates"]

    @property
    def per_session(self) -> bool:
        """Whether a satisfaction belongs to one session; guards and approvals always do."""
        return self.scope in ("session", "single_use") or self.type in ("guard", "dynamic")


_TOOLS = 1000
"""Tools whose requirements are remembered."""


class HookSettings:
    """The keys of ``hooks:`` that we know."""

    __slots__ = (
        "auto_deny_dangerous",
        "carry_over",
        "carry_scopes",
        "carry_window",
        "clear_session_state",
        "custom_header",
        "deny_patterns",
        "failure_guidance",
        "inject_context",
        "plan_exit_summary",
        "reminder",
        "standard_briefing",
        "verify_requirements",
        "verify_scopes",
    )

    def __init__(self, data: dict[str, Any]) -> None:
        self.inject_context: bool = data["inject_context"]
        self.standard_briefing: bool = data["standard_briefing"]
        self.custom_header: str = data["custom_header"]
        self.carry_over: bool = data["carry_over"]
        self.carry_window: float = data["carry_window"]
        self.carry_scopes: list[str] = data["carry_scopes"]
        self.verify_requirements: bool = data["verify_requirements"]
        self.verify_scopes: list[str] = data["verify_scopes"]
        self.clear_session_state: bool = data["clear_session_state"]
        self.reminder: bool = data["reminder"]
        self.auto_deny_dangerous: bool = data["auto_deny_dangerous"]
        self.deny_patterns: list[str] = data["deny_patterns"]
        self.plan_exit_summary: bool = data["plan_exit_summary"]
        self.failure_guidance: bool = data["failure_guidance"]


class Rules:
    """The whole cascade. ``readable`` is false when the project's own file can't be used at all."""

    __slots__ = ("_by_tool", "enabled", "hooks", "problems", "readable", "requirements")

    def __init__(self, data: dict[str, Any]) -> None:
        self.readable: bool = data["readable"]
        self.enabled: bool = data["enabled"]
        self.problems: list[list[str]] = data["problems"]
        self.hooks = HookSettings(data["hooks"])
        self.requirements = [Requirement(entry) for entry in data["requirements"]]
        self._by_tool: dict[str, list[Requirement]] = {}

    @property
    def active(self) -> list[Requirement]:
        """Those that can be asked for now."""
        return [entry for entry in self.requirements if entry.enabled] if self.enabled else []

    def get(self, name: str) -> Requirement | None:
        """The requirement of that name, enabled or not."""
        return next((entry for entry in self.requirements if entry.name == name), None)

    def for_tool(self, tool_name: str) -> list[Requirement]:
        """Those that name the tool in a trigger; what it runs is ``triggers``' matter."""
        found = self._by_tool.get(tool_name)
        if found is None:
            found = [entry for entry in self.active if _names(entry, tool_name)]
            if len(self._by_tool) < _TOOLS:
                self._by_tool[tool_name] = found
        return found

    def told(self, *levels: str) -> list[str]:
        """The texts of the problems of those levels (error, warning, note)."""
        return [text for level, text in self.problems if level in levels]


def _names(entry: Requirement, tool_name: str) -> bool:
    return any(covers(tool, tool_name, command=bool(pattern or git)) for tool, pattern, git in entry.triggers)


def glob_match(pattern: str, name: str) -> bool:
    """Whether ``name`` is ``pattern``, where ``*`` is any text and ``?`` any one character; case counts."""
    star = text = -1
    at = in_name = 0
    while in_name < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, text, at = at, in_name, at + 1
        elif at < len(pattern) and pattern[at] in ("?", name[in_name]):
            at, in_name = at + 1, in_name + 1
        elif star >= 0:
            text += 1
            at, in_name = star + 1, text
        else:
            return False
    return pattern[at:].strip("*") == ""
