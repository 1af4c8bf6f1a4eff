"""Defines the keys of requirements.yaml: allowed values, default and purpose of each.

`req keys` shows this; a test compares it with the tables of docs/gates.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

TEMPLATE_FIELDS = (
    *("blocking_message", "short_message", "success_message", "header", "action_label", "fallback_text"),
)
"""The fields of a messages/<requirement>.yaml."""

_TEXT = 10_000
_ITEMS = 200
SCOPES = ("session", "branch", "permanent", "single_use")


@dataclass(slots=True)
class Problems:
    """The faults found, as [level, text] pairs in the order of finding."""

    entries: list[list[str]] = field(default_factory=list)

    def error(self, where: str, text: str) -> None:
        self._add("error", where, text)

    def warning(self, where: str, text: str) -> None:
        self._add("warning", where, text)

    def note(self, where: str, text: str) -> None:
        self._add("note", where, text)

    def _add(self, level: str, where: str, text: str) -> None:
        if len(self.entries) < _ITEMS:
            self.entries.append([level, f"{where}: {text}"])

    def unknown(
        self, where: str, raw: Mapping[object, object], known: Collection[str], foreign: Collection[str] = ()
    ) -> None:
        """Report unknown keys, each with the known key that was probably meant."""
        for key in raw:
            if key in known:
                continue
            path = f"{where}.{key}".lstrip(".")
            if key in foreign:
                self.note(path, "a key of the original; it has no effect here")
                continue
            import difflib  # for a mistake alone

            near = difflib.get_close_matches(str(key), list(known), 1)
            self.warning(path, f"unknown key{f', did you mean {near[0]}?' if near else ''}")


def show(value: object) -> str:
    """Return ``value`` shortened for a message."""
    if value is None:
        return "nothing"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_number(value: object) -> bool:
    """Return whether ``value`` is a finite number (true and false are none)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _texts(value: object) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value[:_ITEMS]
    return None


def _scopes(value: object) -> list[str] | None:
    texts = _texts(value)
    return texts if texts is not None and set(texts) <= set(SCOPES) else None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of values. ``read`` gives None for a wrong one."""

    wanted: str
    read: Callable[[Any], Any]
    default: Any
    shown: str


_FLAG = Kind("true or false", lambda value: value if isinstance(value, bool) else None, False, "true, false")
_WORDS = Kind("text", lambda value: value[:_TEXT] if isinstance(value, str) else None, "", "text")
_SECONDS = Kind(
    "a number of seconds", lambda value: value if is_number(value) and value >= 0 else None, 0, "seconds"
)
_LIMIT = Kind(
    "a number of seconds, more than 0 and at most 1",
    lambda value: value if is_number(value) and 0 < value <= 1 else None,
    1,
    "seconds, at most 1",
)


def _list(wanted: str, shown: str = "", read: Callable[[Any], Any] = _texts) -> Kind:
    return Kind(wanted, read, [], shown)


_BRIEFING = Kind(
    "compact or standard", lambda value: value if value in ("compact", "standard") else None, "compact", ""
)
_EDITS = Kind("any or tools", lambda value: value if value in ("any", "tools") else None, "any", "")
_ONE_OF = Kind("", lambda value: None, None, "")
"""Kind of the keys that `schema` reads itself: a wrong value there drops the requirement."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key. With ``default`` None the kind's holds; ``type`` and ``shown`` override its description."""

    name: str
    kind: Kind
    meaning: str
    default: Any = None
    type: str = ""
    shown: str | None = None
    attribute: str = ""
    """Where the value goes, if not to an attribute of the key's own name."""

    @property
    def absent(self) -> Any:
        """The value where the key is absent."""
        return self.kind.default if self.default is None else self.default

    @property
    def default_shown(self) -> str:
        """The default as YAML has it; empty where there is nothing to say."""
        if self.shown is not None:
            return self.shown
        value = self.absent
        if isinstance(value, list):
            return f"[{', '.join(value)}]" if value else ""
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    def read(self, where: str, mapping: Mapping[object, object], problems: Problems) -> Any:
        """Return the value in ``mapping``; the default if it is missing or wrong. A wrong one is reported."""
        raw = mapping.get(self.name.rpartition(".")[2])
        if raw is None:
            return self.absent
        value = self.kind.read(raw)
        if value is None:
            problems.error(
                where, f"{show(raw)} is not {self.kind.wanted}; {show(self.absent)} is used instead"
            )
            return self.absent
        return value


TOP = (
    Key("version", _ONE_OF, '"1.0"; not looked at'),
    Key("enabled", _ONE_OF, "false switches everything off", True),
    Key("inherit", _ONE_OF, "whether the global file counts (project file only)", True),
    Key(
        "requirements",
        _ONE_OF,
        "name to requirement, at most 200; a name is printable text of at most 100 characters",
        shown="none",
    ),
    Key("hooks", _ONE_OF, "what is said and asked at which event"),
)
_DENIAL = "what lists say; also the denial's text where there is no message"
_FILLED_IN = (
    "what the denial says; {session_id}, {branch}, {project_dir}, {auto_resolve_skill} and {name} are filled "
    "in, for a dynamic one {value}, {warn_threshold} and {block_threshold} too"
)
ENTRY = (
    Key("enabled", _FLAG, "only true enables"),
    Key(
        "type",
        _ONE_OF,
        "blocking is met by satisfying it, guard by a condition, dynamic by a number",
        "blocking",
        "blocking, guard, dynamic",
    ),
    Key("scope", _ONE_OF, "how far being satisfied reaches", "session", ", ".join(SCOPES)),
    Key(
        "trigger_tools",
        _ONE_OF,
        "the calls it is asked for at: names of tools, {git: commit}, or {tool: Bash, command_pattern: "
        "REGEX}",
        ["Edit", "Write", "MultiEdit", "NotebookEdit"],
        "list",
    ),
    Key(
        "edits",
        _EDITS,
        "with a trigger on an edit tool: whether files that commands changed count too, at Stop and when "
        "git commits",
        type="any, tools",
    ),
    Key("stop_only", _FLAG, "never denies a call; asked for at Stop"),
    Key("human_only", _ONE_OF, "only a person may satisfy it", False, "true, false"),
    Key("message", _WORDS, _FILLED_IN),
    Key("short_message", _WORDS, _DENIAL),
    Key("description", _WORDS, _DENIAL),
    Key("checklist", _list("a list of texts", "list of texts"), "shown below the message, the first 12"),
    Key(
        "satisfied_by_skill",
        _list("a skill's name or a list of such", "name or list of names"),
        "skills whose success satisfies it, beside those of the original",
    ),
    Key("auto_resolve_skill", _WORDS, "the skill that a denial recommends"),
    Key("replan_ttl", _SECONDS, "how long a skill's satisfaction holds; 0 for ever"),
    Key("evidence", _ONE_OF, "a file that must be there as well", type="mapping"),
    Key("guard_type", _ONE_OF, "guards: which condition", type="protected_branch, single_session"),
    Key(
        "protected_branches",
        _list("a list of branch names", "list of names or globs"),
        "guards: *, ? and […] as in release/*",
        ["master", "main"],
    ),
    Key("calculator", _ONE_OF, "dynamic: lines changed on this branch", type="branch_size_calculator"),
    Key(
        "command",
        _ONE_OF,
        "dynamic: a program that prints the number, instead of calculator",
        type="shell line, or list of words",
    ),
    Key(
        "thresholds",
        _ONE_OF,
        "dynamic: from block on the call is denied; warn shows in req status",
        type="{warn, block}",
    ),
    Key("cache_ttl", _SECONDS, "dynamic: how long a number is kept", 60),
    Key("approval_ttl", _SECONDS, "dynamic: how long an approval holds", 300),
    Key("timeout", _LIMIT, "dynamic: time for one calculation; all of one call together have 0.8 s"),
    Key("blocking_message", _WORDS, "dynamic: the same as message"),
)
_VERDICT = (
    "a word that must stand in its section ## Verdict or in that heading's line (## Verdict: APPROVED), case "
    "not counting; NOT APPROVED, [ ] APPROVED and APPROVED: no don't say it"
)
EVIDENCE = (
    Key(
        "dirs",
        _list("a list of folders"),
        "folders, searched for *.md at any depth",
        [".claude/plans"],
        attribute="dirs",
    ),
    Key("require_markers", _list("a list of texts"), "texts that it must all hold", attribute="markers"),
    Key("require_verdict", _WORDS, _VERDICT, attribute="verdict"),
    Key("max_age_seconds", _SECONDS, "how old the file may be; 0 for any age", attribute="max_age"),
)
_GUIDANCE = (
    "when a tool has failed three times in a row, and each time after: what is open, and that a failed call "
    "meets nothing"
)
_DANGEROUS = (
    "refuse rm -r of /, ~, ., *, .git or the whole project, forced pushes (+main too), hard resets, git "
    "clean -f and tables dropped by a database's program at the permission dialog; what would run is judged, "
    "also in bash -c, not what a message or a search quotes"
)
_SCOPE_LIST = _list("a list of scopes", read=_scopes)
HOOKS = (
    Key("session_start.inject_context", _FLAG, "the status at a session's start", True),
    Key("session_start.briefing_format", _BRIEFING, "standard gives each open requirement a line"),
    Key("session_start.custom_header", _WORDS, "a line before it"),
    Key(
        "session_start.carry_over.enabled",
        _FLAG,
        "carry satisfactions to a new session (sources startup, clear and fork)",
        True,
        attribute="carry_over",
    ),
    Key(
        "session_start.carry_over.window_seconds",
        _SECONDS,
        "how old they may be, counted from the first satisfaction however often carried",
        300,
        attribute="carry_window",
    ),
    Key(
        "session_start.carry_over.scopes",
        _SCOPE_LIST,
        "never guards, single_use or human_only",
        ["session"],
        attribute="carry_scopes",
    ),
    Key("stop.verify_requirements", _FLAG, "whether Stop asks at all", True),
    Key("stop.verify_scopes", _SCOPE_LIST, "for which scopes", ["session"]),
    Key("session_end.clear_session_state", _FLAG, "forget this session's own satisfactions when it ends"),
    Key("prompt_submit.reminder", _FLAG, "what is open, with each prompt"),
    Key("plan_exit.summary", _FLAG, "what is open when plan mode ends", True, attribute="plan_exit_summary"),
    Key("tool_failure.guidance", _FLAG, _GUIDANCE, True, attribute="failure_guidance"),
    Key("permission_request.auto_deny_dangerous", _FLAG, _DANGEROUS, True),
    Key(
        "permission_request.deny",
        _list("a list of regular expressions"),
        "more of them, as regular expressions",
        attribute="deny_patterns",
    ),
)


def _reference() -> list[dict[str, str]]:
    rows = []
    for below, keys in (
        ("", TOP),
        ("requirements.NAME.", ENTRY),
        ("requirements.NAME.evidence.", EVIDENCE),
        ("hooks.", HOOKS),
    ):
        for key in keys:
            kind = (key.type or key.kind.shown) if keys is ENTRY else ""
            row = {
                "key": below + key.name,
                "type": kind,
                "default": key.default_shown,
                "meaning": key.meaning,
            }
            rows.append(row)
    return rows


REFERENCE = _reference()
"""``key``, ``type``, ``default`` and ``meaning`` of each, empty where there is nothing to say."""

ENTRY_KEYS = {key.name for key in ENTRY}
EVIDENCE_KEYS = {key.name for key in EVIDENCE}
TOP_KEYS = {key.name for key in TOP}
_HOOKS_ELSEWHERE = {
    *("plan_enter", "lazy_dev", "session_learning", "wip_tracking", "obsidian"),
    *("qdrant", "retrieval", "agent_teams", "langfuse"),
}
_OTHER_KEYS = {"prompt_submit": {"brainstorm_nudge"}}


def simple_fields(where: str, raw: Mapping[object, object], problems: Problems) -> dict[str, Any]:
    """Return the fields in which a wrong value only loses the field: the requirement holds without it."""
    simple = (key for key in ENTRY if key.kind is not _ONE_OF)
    entry = {key.name: key.read(f"{where}.{key.name}", raw, problems) for key in simple}
    human = raw.get("human_only", False)
    entry["human_only"] = human is not False
    if not isinstance(human, bool):
        problems.error(f"{where}.human_only", f"{show(human)} is neither true nor false; taken as true")
    return entry


def evidence(where: str, raw: object, problems: Problems) -> dict[str, Any] | None:
    """Return the artefact that a requirement needs; None if it needs none."""
    if raw is None or raw is False or raw == {}:
        return None
    where += ".evidence"
    if not isinstance(raw, dict):
        problems.error(where, f"{show(raw)} is not a mapping; no artefact is asked for")
        return None
    problems.unknown(where, raw, EVIDENCE_KEYS)
    return {key.attribute: key.read(f"{where}.{key.name}", raw, problems) for key in EVIDENCE}


def hook_settings(value: object, problems: Problems) -> dict[str, Any]:
    """Return all settings of ``hooks:`` with their defaults, in one flat mapping."""
    if value is not None and not isinstance(value, dict):
        problems.error("hooks", f"{show(value)} is not a mapping; the defaults apply")
    hooks = value if isinstance(value, dict) else {}
    sections = dict.fromkeys(key.name.rpartition(".")[0] for key in HOOKS)
    tops = {path.partition(".")[0] for path in sections}
    problems.unknown("hooks", hooks, tops, foreign=_HOOKS_ELSEWHERE)
    settings: dict[str, Any] = {}
    for path in sections:
        section = _section(hooks, path, problems)
        names = [key.name.removeprefix(f"{path}.") for key in HOOKS if key.name.startswith(f"{path}.")]
        known = {name.partition(".")[0] for name in names} | _OTHER_KEYS.get(path, set())
        problems.unknown(f"hooks.{path}", section, known)
        for key in HOOKS:
            if key.name.rpartition(".")[0] == path and key.kind is not _ONE_OF:
                name = key.attribute or key.name.rpartition(".")[2]
                settings[name] = key.read(f"hooks.{key.name}", section, problems)
    settings["deny_patterns"] = _patterns(settings["deny_patterns"], problems)
    return settings


def _section(hooks: Mapping[object, object], path: str, problems: Problems) -> Mapping[object, object]:
    section: object = hooks
    for part in path.split("."):
        section = section.get(part) if isinstance(section, dict) else None
    if section is not None and not isinstance(section, dict):
        problems.error(f"hooks.{path}", f"{show(section)} is not a mapping; the defaults apply")
    return section if isinstance(section, dict) else {}


def _patterns(patterns: list[str], problems: Problems) -> list[str]:
    kept = []
    for pattern in patterns:
        try:
            re.compile(pattern)
            kept.append(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            problems.error(
                "hooks.permission_request.deny", f"{show(pattern)} is not a pattern ({error}); dropped"
            )
    return kept
