"""The single fields of a configuration: which there are, what each may hold, what an absent one means."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

__all__ = [
    "ENTRY_KEYS",
    "EVIDENCE_KEYS",
    "TEMPLATE_FIELDS",
    "Problems",
    "evidence",
    "hook_settings",
    "is_number",
    "show",
    "simple_fields",
]

TEMPLATE_FIELDS = (
    "blocking_message",
    "short_message",
    "success_message",
    "header",
    "action_label",
    "fallback_text",
)
"""The fields of a messages/<requirement>.yaml."""

_TEXT = 10_000
_ITEMS = 200
_SCOPES = ("session", "branch", "permanent", "single_use")


class Problems:
    """What was found wrong, as [level, text] pairs in the order of finding."""

    def __init__(self) -> None:
        self.found: list[list[str]] = []

    def error(self, where: str, text: str) -> None:
        self._add("error", where, text)

    def warning(self, where: str, text: str) -> None:
        self._add("warning", where, text)

    def note(self, where: str, text: str) -> None:
        self._add("note", where, text)

    def _add(self, level: str, where: str, text: str) -> None:
        if len(self.found) < _ITEMS:
            self.found.append([level, f"{where}: {text}"])

    def unknown(
        self,
        where: str,
        given: Mapping[object, object],
        known: Collection[str],
        elsewhere: Collection[str] = (),
    ) -> None:
        """Name the keys that nothing reads, with the one that was likely meant."""
        for key in given:
            if key in known:
                continue
            path = f"{where}.{key}".lstrip(".")
            if key in elsewhere:
                self.note(path, "a key of the original; it has no effect here")
                continue
            import difflib

            near = difflib.get_close_matches(str(key), list(known), 1)
            self.warning(path, f"unknown key{f', did you mean {near[0]}?' if near else ''}")


def show(value: object) -> str:
    """``value`` as it may stand in a message: short."""
    if value is None:
        return "nothing"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_number(value: object) -> bool:
    """Whether ``value`` is a finite number (true and false are none)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: object) -> str | None:
    return value[:_TEXT] if isinstance(value, str) else None


def _texts(value: object) -> list[str] | None:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value[:_ITEMS]
    return None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _seconds(value: object) -> float | None:
    return value if is_number(value) and value >= 0 else None  # type: ignore[return-value,operator]


def _limit(value: object) -> float | None:
    return value if is_number(value) and 0 < value <= 1 else None  # type: ignore[return-value,operator]


def _scopes(value: object) -> list[str] | None:
    found = _texts(value)
    return found if found is not None and set(found) <= set(_SCOPES) else None


_SIMPLE: dict[str, tuple[Callable[[object], object], object, str]] = {
    "enabled": (_flag, False, "true or false"),
    "stop_only": (_flag, False, "true or false"),
    "message": (_text, "", "text"),
    "short_message": (_text, "", "text"),
    "description": (_text, "", "text"),
    "blocking_message": (_text, "", "text"),
    "auto_resolve_skill": (_text, "", "text"),
    "checklist": (_texts, [], "a list of texts"),
    "satisfied_by_skill": (_texts, [], "a skill's name or a list of such"),
    "protected_branches": (_texts, ["master", "main"], "a list of branch names"),
    "replan_ttl": (_seconds, 0, "a number of seconds"),
    "cache_ttl": (_seconds, 60, "a number of seconds"),
    "approval_ttl": (_seconds, 300, "a number of seconds"),
    "timeout": (_limit, 1, "a number of seconds, more than 0 and at most 1"),
}
"""Field: its check (None from it means wrong), its default, what it must be."""

ENTRY_KEYS = {
    *_SIMPLE,
    *("type", "scope", "trigger_tools", "evidence", "guard_type", "human_only"),
    *("calculator", "command", "thresholds"),
}


EVIDENCE_KEYS = {"dirs", "require_markers", "require_verdict", "max_age_seconds"}


def simple_fields(where: str, raw: Mapping[object, object], problems: Problems) -> dict[str, Any]:
    """The fields whose wrong value costs no more than the field: the requirement holds without it."""
    entry: dict[str, Any] = {}
    for key, (read, default, wanted) in _SIMPLE.items():
        entry[key] = _read(f"{where}.{key}", raw, key, read, default, wanted, problems)
    human = raw.get("human_only", False)
    entry["human_only"] = human is not False
    if not isinstance(human, bool):
        problems.error(f"{where}.human_only", f"{show(human)} is neither true nor false; taken as true")
    return entry


def _read(
    where: str,
    raw: Mapping[object, object],
    key: str,
    read: Callable[[object], object],
    default: object,
    wanted: str,
    problems: Problems,
) -> Any:
    given = raw.get(key)
    if given is None:
        return default
    value = read(given)
    if value is None:
        problems.error(where, f"{show(given)} is not {wanted}; {show(default)} holds instead")
        return default
    return value


def evidence(where: str, raw: object, problems: Problems) -> dict[str, Any] | None:
    """What a requirement's artefact must be; None where none is asked for."""
    if raw is None or raw is False or raw == {}:
        return None
    where += ".evidence"
    if not isinstance(raw, dict):
        problems.error(where, f"{show(raw)} is no mapping; no artefact is asked for")
        return None
    problems.unknown(where, raw, EVIDENCE_KEYS)
    return {
        "dirs": _read(f"{where}.dirs", raw, "dirs", _texts, [], "a list of folders", problems),
        "markers": _read(
            f"{where}.require_markers", raw, "require_markers", _texts, [], "a list of texts", problems
        ),
        "verdict": _read(f"{where}.require_verdict", raw, "require_verdict", _text, "", "text", problems),
        "max_age": _read(
            f"{where}.max_age_seconds", raw, "max_age_seconds", _seconds, 0, "a number of seconds", problems
        ),
    }


_HOOKS: dict[str, dict[str, tuple[str, Callable[[object], object], object, str]]] = {
    "session_start": {
        "inject_context": ("inject_context", _flag, True, "true or false"),
        "custom_header": ("custom_header", _text, "", "text"),
    },
    "session_start.carry_over": {
        "enabled": ("carry_over", _flag, True, "true or false"),
        "window_seconds": ("carry_window", _seconds, 300, "a number of seconds"),
        "scopes": ("carry_scopes", _scopes, ["session"], "a list of scopes"),
    },
    "stop": {
        "verify_requirements": ("verify_requirements", _flag, True, "true or false"),
        "verify_scopes": ("verify_scopes", _scopes, ["session"], "a list of scopes"),
    },
    "session_end": {"clear_session_state": ("clear_session_state", _flag, False, "true or false")},
    "prompt_submit": {"reminder": ("reminder", _flag, False, "true or false")},
    "permission_request": {
        "auto_deny_dangerous": ("auto_deny_dangerous", _flag, True, "true or false"),
        "deny": ("deny_patterns", _texts, [], "a list of regular expressions"),
    },
    "plan_exit": {"summary": ("plan_exit_summary", _flag, True, "true or false")},
    "tool_failure": {"guidance": ("failure_guidance", _flag, True, "true or false")},
}
_HOOKS_ELSEWHERE = {"plan_enter", "lazy_dev", "session_learning", "wip_tracking", "obsidian"} | {
    *("qdrant", "retrieval", "agent_teams", "langfuse")
}
_OTHER_KEYS = {"session_start": {"briefing_format", "carry_over"}, "prompt_submit": {"brainstorm_nudge"}}


def hook_settings(given: object, problems: Problems) -> dict[str, Any]:
    """All settings of ``hooks:`` with their defaults, in one flat mapping."""
    if given is not None and not isinstance(given, dict):
        problems.error("hooks", f"{show(given)} is no mapping; the defaults hold")
    hooks = given if isinstance(given, dict) else {}
    problems.unknown("hooks", hooks, {key for key in _HOOKS if "." not in key}, elsewhere=_HOOKS_ELSEWHERE)
    found: dict[str, Any] = {}
    for path, keys in _HOOKS.items():
        section = _section(hooks, path, problems)
        problems.unknown(f"hooks.{path}", section, keys.keys() | _OTHER_KEYS.get(path, set()))
        for key, (name, read, default, wanted) in keys.items():
            found[name] = _read(f"hooks.{path}.{key}", section, key, read, default, wanted, problems)
    found["standard_briefing"] = _briefing(hooks, problems)
    found["deny_patterns"] = _patterns(found["deny_patterns"], problems)
    return found


def _section(hooks: Mapping[object, object], path: str, problems: Problems) -> Mapping[object, object]:
    section: object = hooks
    for part in path.split("."):
        section = section.get(part) if isinstance(section, dict) else None
    if section is not None and not isinstance(section, dict):
        problems.error(f"hooks.{path}", f"{show(section)} is no mapping; the defaults hold")
    return section if isinstance(section, dict) else {}


def _briefing(hooks: Mapping[object, object], problems: Problems) -> bool:
    start = hooks.get("session_start")
    value = start.get("briefing_format", "compact") if isinstance(start, dict) else "compact"
    if value not in ("compact", "standard"):
        problems.error(
            "hooks.session_start.briefing_format",
            f"{show(value)} is not compact or standard; compact holds",
        )
    return bool(value == "standard")


def _patterns(patterns: list[str], problems: Problems) -> list[str]:
    import re

    kept = []
    for pattern in patterns:
        try:
            re.compile(pattern)
            kept.append(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            problems.error(
                "hooks.permission_request.deny",
                f"{show(pattern)} is no pattern ({error}); dropped",
            )
    return kept
