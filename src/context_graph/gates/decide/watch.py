"""Tells once when files that decide what the gates do have changed, and keeps our hooks in a running session.

What the requirements themselves ask is compared where they are read (``seen``); here are the hooks in the
client's settings, without which no gate is asked, and the state of the branch. Tools that would edit any of
these files are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from itertools import islice
from typing import Any

from context_graph.gates.config.config import layers
from context_graph.gates.decide.decision import Decision
from context_graph.gates.decide.tool_call import named_texts, words_of
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import FILE_TOOLS, names
from context_graph.gates.state.project import Project
from context_graph.gates.state.state_files import FOLDER
from context_graph.git.repository import parents
from context_graph.system.small_files import read_object, real_path

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
    """Return the events for which the client calls us, by all of its files; none if one turns all off."""
    events = {name for _, events in settings.values() for name in events}
    return [] if _OFF in events else sorted(events)


SETTINGS = ("settings.json", "settings.local.json")
"""The client's settings say which hooks run: without ours no gate is asked."""

_READING = names("read get list search find view show stat tree grep glob head diff log")
_REMOVING = names("move rename delete remove trash rmdir unlink rm mv")
_STRINGS = 1000
"""Texts of a call that are looked at."""
_PATH_CHARS = 4096


def edited_file(event: GateEvent, project: Project) -> str:
    """Return the path by which an edit tool or an MCP editor would write one of the files; empty if it would
    not.

    An MCP tool that removes or moves also may not have a folder that holds them. Cost: resolving each path.
    """
    tool, values = event.hook.tool_name, event.hook.tool_input
    foreign = tool.startswith("mcp__")
    verbs = frozenset(words_of(tool.rpartition("__")[2])) if foreign else frozenset[str]()
    removes = bool(verbs & _REMOVING)
    reads = bool(verbs & _READING) and not removes and "replace" not in verbs
    if reads or not (foreign or tool in FILE_TOOLS):
        return ""
    files, trees = protected_paths(project, event.claude_dir, event.cache_dir)
    above = {place for path in (*files, *trees) for place in parents(path)[1:]} if removes else set[str]()
    for _, text in islice(named_texts(values), _STRINGS):
        real = real_path(_as_path(text), event.cwd)
        if real in files or real in above or any(f"{real}/".startswith(f"{tree}/") for tree in trees):
            return text
    return ""


def protected_paths(project: Project, claude_dir: str, cache_dir: str = "") -> tuple[list[str], list[str]]:
    """Return the files, and the folders that belong to the gates alone; links are resolved."""
    files = [path for _, path in layers(project.root, claude_dir)] + settings_files(project, claude_dir)
    files += [claude_dir + "/sessions.json"] if claude_dir else []
    trees = [cache_dir] if cache_dir else []
    if project.repo is not None:
        trees.append(project.repo.common_dir + FOLDER)
        files += [f"{folder}/HEAD" for folder in (project.repo.git_dir, project.repo.common_dir)]
    return [real_path(path) for path in files], [real_path(path) for path in trees]


def settings_files(project: Project, claude_dir: str, project_dir: str = "") -> list[str]:
    """Return the client's settings that may call our hooks, also where it was started (``project_dir``)."""
    top = project.repo.top if project.repo is not None else ""
    tops = [path.rstrip("/") for path in (project.root, project.work, top, project_dir) if path]
    homes = dict.fromkeys([claude_dir] * bool(claude_dir) + [f"{path}/.claude" for path in tops])
    return [f"{home}/{name}" for home in homes for name in SETTINGS]


def _as_path(text: str) -> str:
    """Return ``text`` as a path, for whatever can be one; a file's URI is its path."""
    if not 0 < len(text) <= _PATH_CHARS or "\n" in text or "\0" in text:
        return ""
    if text[:5].lower() != "file:":
        return text
    from urllib.parse import unquote

    path = unquote(text[5:])
    return "/" + path.lstrip("/").removeprefix("localhost/") if path.startswith("//") else path
