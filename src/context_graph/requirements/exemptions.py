"""Calls that no gate holds back, and calls that none may make while a person's word is wanted."""

from __future__ import annotations

import os

from context_graph.requirements.client_memory import chosen_folders, is_client_memory
from context_graph.requirements.config import layers
from context_graph.requirements.own_commands import is_own_command, may_reach_gates
from context_graph.requirements.project import Project, is_inside
from context_graph.requirements.rules import Rules
from context_graph.requirements.state_files import FOLDER
from context_graph.requirements.triggers import SHELL, command_of, targets_of

__all__ = ["human_only_objection", "is_exempt"]

_FILE_TOOLS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})


def is_exempt(tool_name: str, tool_input: object, project: Project, claude_dir: str, cwd: str) -> bool:
    """Whether the call writes a plan or the client's own memory, or is one of our own commands alone.

    A plan lies below the client's plans folder, or .claude/plans or docs/plans of this very project; links
    are resolved first, so that none leads out.
    """
    if tool_name == SHELL:
        return is_own_command(command_of(tool_input))
    if tool_name not in _FILE_TOOLS:
        return False
    targets = targets_of(tool_input)
    folders = [os.path.realpath(claude_dir) + "/plans"] if claude_dir else []
    tops = {project.root, project.repo.top} if project.repo else {project.root}
    folders += [f"{top.rstrip('/')}/{name}" for top in tops for name in (".claude/plans", "docs/plans")]
    chosen: list[str] | None = None
    for path in targets:
        if any(is_inside(path, folder, cwd) for folder in folders):
            continue
        chosen = chosen_folders(claude_dir, project.root) if chosen is None else chosen
        if not is_client_memory(path, claude_dir, cwd=cwd, tops=tops, chosen=chosen):
            return False
    return bool(targets)


def human_only_objection(
    tool_name: str, tool_input: object, project: Project, rules: Rules, claude_dir: str, cwd: str
) -> list[str]:
    """The human_only requirements that the call might satisfy or switch off behind a person's back."""
    protected = [entry.name for entry in rules.active if entry.human_only]
    if not protected or not isinstance(tool_input, dict):
        return []
    command = command_of(tool_input)
    if command:
        return protected if may_reach_gates(command, protected) else []
    if tool_name not in _FILE_TOOLS and not tool_name.startswith("mcp__"):
        return []
    targets = targets_of(tool_input)
    return protected if any(_is_ours(path, project, claude_dir, cwd) for path in targets) else []


def _is_ours(path: str, project: Project, claude_dir: str, cwd: str) -> bool:
    real = os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    files = [os.path.realpath(name) for _, name in layers(project.root, claude_dir)]
    files.append(os.path.realpath(claude_dir + "/sessions.json"))
    folder = project.repo.common_dir + FOLDER if project.repo else ""
    return real in files or (bool(folder) and real.startswith(os.path.realpath(folder) + "/"))
