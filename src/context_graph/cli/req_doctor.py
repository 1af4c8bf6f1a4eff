"""What `req doctor` looks at beside the project: whether the client's settings call us at all."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.place import Place

__all__ = ["installation"]

_GATING = ("PreToolUse", "PostToolUse", "Stop", "SessionStart")
_CURE = "`context-graph-cli hooks generate-config`"


def installation(place: Place, root: str) -> list[dict[str, str]]:
    """Findings about hooks and data root: ``level`` (error, warning, note, ok), ``what``, ``cure``."""
    found: list[dict[str, str]] = []
    hooked: set[str] = set()
    for path in _settings_files(place):
        settings, problem = _read(path)
        if problem:
            found.append(_finding("error", f"{path}: {problem}: the client drops the whole file", "mend it"))
        if settings.get("disableAllHooks") is True:
            found.append(_finding("error", f"{path}: disableAllHooks is true: no gate runs", "remove it"))
        hooked |= _our_events(settings)
    missing = [event for event in _GATING if event not in hooked]
    if missing:
        text = f"no settings file calls the hooks of {', '.join(missing)}: nothing is enforced there"
        found.append(_finding("warning", text, _CURE))
    folder = root if os.path.isdir(root) else os.path.dirname(root)
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        text = f"the data root {root} can't be written: refusals are not logged, no owner starts"
        found.append(_finding("warning", text, "make it writable or set CONTEXT_GRAPH_HOME"))
    return found


def _settings_files(place: Place) -> list[str]:
    project = place.project.root + "/.claude"
    return [f"{place.claude_dir}/settings.json", f"{project}/settings.json", f"{project}/settings.local.json"]


def _read(path: str) -> tuple[dict[str, Any], str]:
    try:
        with open(path, encoding="utf-8") as source:
            value = json.load(source)
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"not read: {error}"
    return (value, "") if isinstance(value, dict) else ({}, "no JSON object")


def _our_events(settings: dict[str, Any]) -> set[str]:
    """Events under which some command names us, however it is written."""
    hooks = settings.get("hooks")
    named = set()
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        text = json.dumps(groups)
        if "context-graph" in text and "hooks" in text:
            named.add(event)
    return named


def _finding(level: str, what: str, cure: str) -> dict[str, str]:
    return {"level": level, "what": what, "cure": cure}
