"""Checks hooks against the client's settings schema: faults for which the client silently ignores the file.

Every rule was observed in the client: a single hook entry of a wrong type disables every hook of the file and
its ``env``. The client ignores unknown keys and events, and so does this check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

_OTHERS: Final = ("PostToolBatch", "StopFailure", "Notification", "InstructionsLoaded")
_REQUIRED_TEXTS: Final = {
    "command": ("command",),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
}
_OPTIONAL: Final[dict[str, tuple[type, str]]] = {
    "async": (bool, "true or false"),
    "asyncRewake": (bool, "true or false"),
    "once": (bool, "true or false"),
    "if": (str, "text"),
    "statusMessage": (str, "text"),
    "shell": (str, "text"),
    "model": (str, "text"),
    "args": (list, "a list"),
    "headers": (dict, "an object"),
    "input": (dict, "an object"),
}


def hook_problems(settings: Any) -> list[str]:
    """Return what the client would reject in parsed ``settings``, each as ``path: what it must be``."""
    if not isinstance(settings, dict):
        return [f"settings: must be an object, not {_kind(settings)}"]
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        return [f"hooks: must be an object, not {_kind(hooks)}"]
    if not hooks:
        return []
    from context_graph.claude.events import EVENTS  # `status` asks where there are none

    known = {*(event.name for event in EVENTS), *_OTHERS}
    return [
        problem
        for event, groups in hooks.items()
        if event in known
        for problem in _event_problems(f"hooks.{event}", groups)
    ]


def _event_problems(path: str, groups: Any) -> Iterator[str]:
    if not isinstance(groups, list):
        yield f"{path}: must be a list, not {_kind(groups)}"
        return
    for at, group in enumerate(groups):
        place = f"{path}[{at}]"
        if not isinstance(group, dict):
            yield f"{place}: must be an object, not {_kind(group)}"
            continue
        if "matcher" in group and not isinstance(group["matcher"], str):
            yield f"{place}.matcher: must be text, not {_kind(group['matcher'])}"
        hooks = group.get("hooks")
        if not isinstance(hooks, list):
            yield f"{place}.hooks: must be a list, not {_kind(hooks)}"
            continue
        for number, hook in enumerate(hooks):
            yield from _hook_problems(f"{place}.hooks[{number}]", hook)


def _hook_problems(path: str, hook: Any) -> Iterator[str]:
    if not isinstance(hook, dict):
        yield f"{path}: must be an object, not {_kind(hook)}"
        return
    kind = hook.get("type")
    if not isinstance(kind, str) or kind not in _REQUIRED_TEXTS:
        yield f"{path}.type: must be one of {', '.join(_REQUIRED_TEXTS)}, not {kind!r}"
        return
    for name in _REQUIRED_TEXTS[kind]:
        if not isinstance(hook.get(name), str) or not hook[name]:
            yield f"{path}.{name}: must be text that is not empty, not {hook.get(name)!r}"
    if "timeout" in hook and not _is_seconds(hook["timeout"]):
        yield f"{path}.timeout: must be a number of seconds above 0, not {hook['timeout']!r}"
    if hook.get("onFailure", "block") not in ("continue", "block"):
        yield f"{path}.onFailure: must be continue or block, not {hook['onFailure']!r}"
    for name, (wanted, words) in _OPTIONAL.items():
        if name in hook and not isinstance(hook[name], wanted):
            yield f"{path}.{name}: must be {words}, not {hook[name]!r}"


def _is_seconds(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and value > 0


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
