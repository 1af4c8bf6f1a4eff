"""Tells once when files that decide what the gates do have changed, and keeps our hooks in a running session.

What the requirements themselves ask is compared where they are read (``seen``); here are the hooks in the
client's settings, without which no gate is asked, and the state of the branch.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from context_graph.gates.decide.decision import Decision
from context_graph.gates.decide.protected_files import settings_files
from context_graph.gates.state.project import Project
from context_graph.system.small_files import read_object

_BYTES = 1 << 20
_SHOWN = 3
_OFF = "disableAllHooks"
_SOURCES = ("user_settings", "project_settings", "local_settings")
"""What a change of the settings that may be refused is of; a policy's can't be."""
_PLUGIN = "context-graph@"


def tell_changes(decision: Decision, project: Project) -> None:
    """Tell user and model of changes since this was last asked, while human_only requirements hold.

    Cost: a stat for each of some six files.
    """
    seen, branch = decision.event.seen, decision.event.seen.branch(project.root)
    if not branch:
        return
    decision.configuration_changed(project)
    settings = _settings(decision, project)
    now = {path: mark for path, (mark, _) in settings.items()}
    before = seen.files(project.root)
    states = before.keys() - now.keys()  # also of branches that it has left
    if project.repo is not None:
        states |= {decision.files(project).path_of(branch)}
    now.update({path: "there" for path in states if os.path.exists(path)})
    changed = [path for path, mark in before.items() if now.get(path, "") != mark]
    seen.keep_files(project.root, now, _calls(settings), decision.event.at)
    for path in changed:
        decision.tell_both(f"{path} was changed, and it decides what the requirements can hold")


def at_config_change(decision: Decision) -> None:
    """Keep from the session a change of the client's settings that drops hooks of ours while a human_only
    requirement holds. What a plugin's own files or an administrator say is not looked at.
    """
    event = decision.event
    if event.hook.source not in _SOURCES:
        return
    for project in decision.session_projects():
        seen = event.seen.hooks(project.root) if event.seen.branch(project.root) else []
        calls = _calls(_settings(decision, project))
        lost = [name for name in seen if name not in calls]
        shown = ", ".join(lost[:_SHOWN]) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
        names = [entry.name for entry in decision.rules(project).active if entry.human_only]
        if lost and names:
            reason = (
                f"the settings no longer call our hooks of {shown}, and {', '.join(names)} is for a "
                "person alone (human_only): this session keeps its hooks. If the change is meant, run "
                "`context-graph-cli req accept` in a terminal and save the settings again"
            )
            decision.result.tell_user(reason)
            decision.result.refuse("block", reason, names)
            return


def own_hooks(settings: dict[str, Any]) -> dict[str, bool]:
    """Return events under which some command names us, however it is written, and whether it blocks where it
    fails; `plugin` if our plugin is on.
    """
    hooks, plugins = settings.get("hooks"), settings.get("enabledPlugins")
    named = {}
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        text = json.dumps(groups)
        if "context-graph" in text and "hooks" in text:
            named[event] = '"onFailure": "block"' in text
    for name, enabled in plugins.items() if isinstance(plugins, dict) else ():
        if name.startswith(_PLUGIN) and enabled:
            named["plugin"] = False
    return named


def _settings(decision: Decision, project: Project) -> dict[str, tuple[str, list[str]]]:
    """Return what each settings file says about hooks: a digest, and the events that call us."""
    paths = settings_files(project, decision.event.claude_dir, decision.event.project_dir)
    return {path: decision.cache.document(path, _hooks_of) for path in paths}


def _hooks_of(path: str) -> tuple[str, list[str]]:
    settings = read_object(path, _BYTES)
    kept = {key: settings[key] for key in ("hooks", _OFF, "enabledPlugins") if key in settings}
    mark = hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16] if kept else ""
    return mark, [_OFF] if settings.get(_OFF) is True else sorted(own_hooks(settings))


def _calls(settings: dict[str, tuple[str, list[str]]]) -> list[str]:
    """Return the events for which the client calls us, by all of its files; none where one turns all hooks
    off."""
    events = {name for _, events in settings.values() for name in events}
    return [] if _OFF in events else sorted(events)
