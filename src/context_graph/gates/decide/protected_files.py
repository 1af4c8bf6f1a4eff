"""Names the files that decide what the gates of a project do, and refuses the tools that would edit them.

What a command does to them is found afterwards, by their content.
"""

from __future__ import annotations

from itertools import islice

from context_graph.gates.config.config import layers
from context_graph.gates.decide.git_calls import words_of
from context_graph.gates.decide.tool_call import named_texts
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import FILE_TOOLS, names
from context_graph.gates.state.project import Project
from context_graph.gates.state.state_files import FOLDER
from context_graph.git.repository import parents
from context_graph.system.small_files import real_path

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
    """Return the client's settings that may call our hooks, those where it was started (``project_dir``)
    too."""
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
