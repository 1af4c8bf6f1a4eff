"""Holds a checked configuration: what the cascade of files says, with every default filled in.

And keeps what the gates read between decisions, as long as a stat call confirms it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from context_graph.system.small_files import Signature, is_settled, signature


def names(text: str) -> frozenset[str]:
    """Return the words of ``text``."""
    return frozenset(text.split())


SHELL = "Bash"
"""The name that a trigger gives the client's shells."""

SHELLS = frozenset((SHELL, "PowerShell", "Monitor"))
"""The client's tools that run a command."""

FILE_TOOLS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
"""Its tools that change a file."""

_ONE_TOOL = frozenset(("Task", "Agent"))
"""Two names of the client's for the tool that starts a subagent."""

_TOOLS = 1000
"""Tools whose requirements are remembered."""


@dataclass(slots=True)
class Requirement:
    """One valid entry of ``requirements:``; docs/gates.md says what each key means.

    ``triggers`` are (tool, command_pattern, git's verbs with blanks between) each, empty where not given.
    """

    name: str
    enabled: bool
    type: str
    scope: str
    triggers: list[list[str]]
    edits: str
    stop_only: bool
    human_only: bool
    message: str
    short_message: str
    description: str
    checklist: list[str]
    satisfied_by_skill: list[str]
    auto_resolve_skill: str
    replan_ttl: float
    evidence: dict[str, Any] | None
    guard_type: str
    protected_branches: list[str]
    calculator: str
    command: str | list[str]
    warn: float | None
    block: float | None
    cache_ttl: float
    approval_ttl: float
    timeout: float
    blocking_message: str
    templates: dict[str, str]

    @classmethod
    def kept(cls, data: dict[str, Any]) -> Requirement:
        """Return a requirement from its recorded fields.

        Raises:
            KeyError: If a field is missing.
        """
        return cls(**{column.name: data[column.name] for column in fields(cls)})

    @property
    def per_session(self) -> bool:
        """Whether a satisfaction belongs to one session; guards and approvals always do."""
        return self.scope in ("session", "single_use") or self.type in ("guard", "dynamic")

    def names_git(self, verbs: frozenset[str]) -> bool:
        """Return whether a trigger names one of git's ``verbs``."""
        return any(not verbs.isdisjoint(named.split()) for _, _, named in self.triggers if named)

    def names_tool(self, tool_name: str) -> bool:
        return any(
            covers(tool, tool_name, command=bool(pattern or git)) for tool, pattern, git in self.triggers
        )


@dataclass(slots=True)
class HookSettings:
    """The keys of ``hooks:`` that we know."""

    inject_context: bool
    briefing_format: str
    custom_header: str
    carry_over: bool
    carry_window: float
    carry_scopes: list[str]
    verify_requirements: bool
    verify_scopes: list[str]
    clear_session_state: bool
    reminder: bool
    auto_deny_dangerous: bool
    deny_patterns: list[str]
    plan_exit_summary: bool
    failure_guidance: bool


@dataclass(slots=True)
class Rules:
    """The whole cascade. ``readable`` is false when the project's own file can't be used at all."""

    requirements: list[Requirement]
    hooks: HookSettings
    enabled: bool = True
    problems: list[list[str]] = field(default_factory=list)
    """[level, text] of each; level is error, warning or note."""
    readable: bool = True
    retained: list[str] = field(default_factory=list)
    """Names of what stays as the session has seen it, though the files ask for less now."""
    lost: bool = False
    """Nothing else is known than what is retained: the files can't be used."""
    _by_tool: dict[str, list[Requirement]] = field(default_factory=dict)

    @property
    def active(self) -> list[Requirement]:
        """Those that can be asked for now."""
        return [entry for entry in self.requirements if entry.enabled] if self.enabled else []

    def get(self, name: str) -> Requirement | None:
        """Return the requirement of that name, enabled or not."""
        return next((entry for entry in self.requirements if entry.name == name), None)

    def for_tool(self, tool_name: str) -> list[Requirement]:
        """Return those that name the tool in a trigger; what it runs is ``triggers``' matter."""
        entries = self._by_tool.get(tool_name)
        if entries is None:
            entries = [entry for entry in self.active if entry.names_tool(tool_name)]
            if len(self._by_tool) < _TOOLS:
                self._by_tool[tool_name] = entries
        return entries

    def problem_texts(self, *levels: str) -> list[str]:
        """Return the texts of the problems of those levels (error, warning, note)."""
        return [text for level, text in self.problems if level in levels]


def covers(tool: str, tool_name: str, *, command: bool) -> bool:
    """Return whether a trigger on ``tool`` is about calls of ``tool_name``.

    ``Bash`` is every shell of the client's; where the trigger looks at the ``command``, MCP tools' too.
    """
    if tool == tool_name or ("*" in tool and glob_match(tool, tool_name)):
        return True
    if tool == SHELL:
        return tool_name in SHELLS or (command and tool_name.startswith("mcp__"))
    return tool in _ONE_TOOL and tool_name in _ONE_TOOL


def glob_match(pattern: str, name: str) -> bool:
    """Return whether ``name`` is ``pattern``, ``*`` being any text, ``?`` a character; case counts."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


_Read = TypeVar("_Read")
Inputs = list[tuple[str, Signature | None]]
"""Files that rules were made from, absent ones too, with their signatures."""

_ENTRIES = 256


class GateCache:
    """Caches files for a long-lived process; every entry is checked by a stat before use.

    May be shared by threads: entries are replaced whole, and documents from here are never changed in place.
    """

    def __init__(self) -> None:
        self._rules: dict[tuple[str, str], tuple[Inputs, Rules]] = {}
        self._documents: dict[str, tuple[Signature, Any]] = {}
        self.counts: dict[tuple[str, str], dict[str, int]] = {}
        """Calls by tool that are not written down yet, by repository and session."""
        self.notes: dict[str, float] = {}
        """What was said to a session, so that it is not said on every call."""
        self.numbers: dict[tuple[str, ...], dict[str, Any]] = {}
        """The latest ``value`` of a dynamic requirement, when (``at``), the ``error`` of a failure since."""
        self._failures: dict[tuple[str, str], list[float]] = {}

    def rules(
        self, root: str, claude_dir: str, compiled: Callable[[str, str], tuple[Rules, Inputs]]
    ) -> Rules:
        """Return the rules that ``compiled(root, claude_dir)`` gives. Cost: a stat per file while nothing
        changes.
        """
        kept = self._rules.get((root, claude_dir))
        if kept is not None and all(signature(path) == sign for path, sign in kept[0]):
            return kept[1]
        rules, inputs = compiled(root, claude_dir)
        if all(is_settled(sign) for _, sign in inputs):
            _make_room(self._rules)
            self._rules[root, claude_dir] = (inputs, rules)
        return rules

    def document(self, path: str, read: Callable[[str], _Read]) -> _Read:
        """Return the result of ``read(path)``, read again only when the file changed; not to be changed."""
        sign = signature(path)
        if sign is None:
            self._documents.pop(path, None)
            return read(path)
        kept = self._documents.get(path)
        if kept is not None and kept[0] == sign:
            result: _Read = kept[1]
            return result
        value = read(path)
        if is_settled(sign):
            _make_room(self._documents)
            self._documents[path] = (sign, value)
        return value

    def forget_document(self, path: str) -> None:
        """Drop the cached document, so that ``path`` is read again."""
        self._documents.pop(path, None)

    def keep_number(self, key: tuple[str, ...], number: dict[str, Any]) -> None:
        """Keep what a calculation gave."""
        if key not in self.numbers:
            _make_room(self.numbers)
        self.numbers[key] = number

    def failures_of(self, session_id: str, tool: str) -> list[float]:
        """Return when calls of the tool failed since the last that did not; to be added to."""
        row = self._failures.get((session_id, tool))
        if row is None:
            _make_room(self._failures)
            row = self._failures[session_id, tool] = []
        return row

    def forget_failures(self, session_id: str, tool: str = "") -> None:
        """Begin anew for one tool of the session, or for all."""
        for key in [key for key in self._failures if key[0] == session_id and tool in ("", key[1])]:
            del self._failures[key]

    def first_time(self, note: str, now: float, every_s: float = 3600.0) -> bool:
        """Return whether ``note`` was not given within the last ``every_s`` seconds; records it."""
        last = self.notes.get(note)
        if last is not None and 0 <= now - last < every_s:
            return False
        _make_room(self.notes)
        self.notes[note] = now
        return True


def _make_room(entries: dict[Any, Any]) -> None:
    if len(entries) >= _ENTRIES:
        entries.clear()
