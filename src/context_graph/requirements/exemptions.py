"""Calls that no gate holds back, and calls that none may make while a person's word is wanted."""

from __future__ import annotations

import os

from context_graph.requirements.client_memory import chosen_folders, client_setting, is_client_memory
from context_graph.requirements.own_commands import is_own_command
from context_graph.requirements.project import Project, is_inside
from context_graph.requirements.protected import ABOVE, HOME_OF, Protected, Touch
from context_graph.requirements.rules import SHELLS, Rules
from context_graph.requirements.triggers import command_of, targets_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.requirements.event import GateEvent

__all__ = ["human_only_objection", "is_exempt", "objection_of"]

_FILE_TOOLS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})


def is_exempt(tool_name: str, tool_input: object, project: Project, claude_dir: str, cwd: str) -> bool:
    """Whether the call writes a plan or the client's own memory, or is one of our own commands alone.

    A plan lies below the client's plans folder, that of its setting ``plansDirectory``, or .claude/plans or
    docs/plans of this very project; links are resolved first, so that none leads out.
    """
    if tool_name in SHELLS:
        return is_own_command(command_of(tool_input))
    if (tool_name not in _FILE_TOOLS and not tool_name.startswith("mcp__")) or command_of(tool_input):
        return False
    targets = targets_of(tool_input, project.root)
    if not targets:
        return False
    folders = _plan_folders(project, claude_dir)
    left = [path for path in targets if not any(is_inside(path, folder, cwd) for folder in folders)]
    left = [path for path in left if not _is_memory(path, project, claude_dir, cwd)]
    if not left:
        return True
    # Behind a link, or where the client's settings put plans, only a Markdown file is one.
    if not all(path.endswith(".md") for path in left):
        return False
    linked = [*map(os.path.realpath, folders), *_plans_directory(project, claude_dir)]
    return all(any(_is_markdown_inside(path, folder, cwd) for folder in linked) for path in left)


def _is_memory(path: str, project: Project, claude_dir: str, cwd: str) -> bool:
    """Whether it is a file of the client's own memory."""
    tops = {project.root, project.repo.top} if project.repo else {project.root}
    chosen = chosen_folders(claude_dir, project.root)
    return is_client_memory(path, claude_dir, cwd=cwd, tops=tops, chosen=chosen)


def _plan_folders(project: Project, claude_dir: str) -> list[str]:
    folders = [os.path.realpath(claude_dir) + "/plans"] if claude_dir else []
    tops = {project.root, project.repo.top} if project.repo else {project.root}
    return folders + [f"{top.rstrip('/')}/{name}" for top in tops for name in (".claude/plans", "docs/plans")]


def _is_markdown_inside(path: str, folder: str, cwd: str) -> bool:
    try:
        real = os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    except (OSError, ValueError):
        return False
    return real.endswith(".md") and is_inside(real, folder)


def _plans_directory(project: Project, claude_dir: str) -> list[str]:
    """Where the client's ``plansDirectory`` puts plans, links resolved; never the project's root."""
    home = f"{project.root.rstrip('/')}/.claude"
    for path in (f"{home}/settings.local.json", f"{home}/settings.json", f"{claude_dir}/settings.json"):
        given = client_setting(path, "plansDirectory")
        if given:
            try:
                folder = os.path.realpath(os.path.join(project.root, os.path.expanduser(given)))
            except (OSError, ValueError):
                return []
            above = f"{os.path.realpath(project.root)}/".startswith(folder.rstrip("/") + "/")
            return [] if above else [folder]
    return []


def objection_of(event: GateEvent, project: Project, rules: Rules) -> Touch:
    """``human_only_objection`` to the call of ``event``."""
    return human_only_objection(
        event.tool_name,
        event.tool_input,
        project,
        rules,
        event.claude_dir,
        event.cwd,
        home=event.home,
        cache_dir=event.cache_dir,
    )


def human_only_objection(
    tool_name: str,
    tool_input: object,
    project: Project,
    rules: Rules,
    claude_dir: str,
    cwd: str,
    *,
    home: str = "",
    cache_dir: str = "",
) -> Touch:
    """The human_only requirements that the call might satisfy or switch off by itself, and how."""
    protected = [entry.name for entry in rules.active if entry.human_only]
    if not protected or not isinstance(tool_input, dict):
        return Touch()
    ours = Protected(project, claude_dir, cache_dir)
    for command in _commands(tool_name, tool_input):
        from context_graph.requirements.touching import mentions, touch

        found = touch(command, protected, ours, cwd, home)
        if found.why:
            return found
        if tool_name not in SHELLS and command != command_of(tool_input) and mentions(command):
            return Touch(
                "the text that this call runs names a file that the requirements depend on", protected
            )
    if tool_name not in _FILE_TOOLS and (not tool_name.startswith("mcp__") or _only_reads(tool_name)):
        return Touch()
    least = HOME_OF if not _removes(tool_name) else ABOVE
    for text in _texts(tool_input) if tool_name.startswith("mcp__") else targets_of(tool_input):
        path = _as_path(text, home)
        if path and ours.reach(path, cwd) >= least:
            return Touch(f"`{path[:100]}` is, or holds, a file that the requirements depend on", protected)
    return Touch()


_RUN = ("command", "cmd", "commandLine", "command_line", "script", "code")
"""Names that tools give to what they run."""


def _commands(tool_name: str, tool_input: dict[str, object]) -> list[str]:
    """The texts that a call runs."""
    if tool_name in SHELLS:
        command = command_of(tool_input)
        return [command.replace("\\", "/") if tool_name == "PowerShell" else command] if command else []
    if not tool_name.startswith("mcp__"):
        return []
    found = (tool_input.get(key) for key in _RUN)
    return [text for text in found if isinstance(text, str) and text]


_READS = frozenset(
    (
        "read",
        "get",
        "list",
        "search",
        "find",
        "view",
        "show",
        "stat",
        "tree",
        "grep",
        "glob",
        "head",
        "diff",
        "log",
    )
)
_REMOVES = ("move", "rename", "delete", "remove", "trash", "rmdir", "unlink", "rm", "mv")
_STRINGS = 1000
_PATH_CHARS = 4096


def _verbs(tool_name: str) -> list[str]:
    """The words of an MCP tool's own name: mcp__files__moveFile has move and file."""
    name = tool_name.rpartition("__")[2]
    spaced = "".join(f" {char.lower()}" if char.isupper() else char for char in name)
    return spaced.replace("_", " ").replace("-", " ").replace(".", " ").split()


def _only_reads(tool_name: str) -> bool:
    words = _verbs(tool_name)
    return words[:1] != [] and words[0] in _READS and not _removes(tool_name) and "replace" not in words


def _removes(tool_name: str) -> bool:
    return any(word in _REMOVES for word in _verbs(tool_name))


def _texts(value: object) -> list[str]:
    """Every text in an MCP tool's arguments, at most 1,000, at any depth."""
    found: list[str] = []
    waiting, seen = [value], 0
    while waiting and len(found) < _STRINGS and seen < 10 * _STRINGS:
        seen += 1
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            waiting += list(one.values())[:_STRINGS]
        elif isinstance(one, list):
            waiting += one[:_STRINGS]
    return found


def _as_path(text: str, home: str) -> str:
    """``text`` as a path, for whatever can be one; a file's URI is its path, ``~`` the home."""
    if not 0 < len(text) <= _PATH_CHARS or "\n" in text or any(char < "\6" for char in text):
        return ""
    if text[:5].lower() == "file:":
        from urllib.parse import unquote

        text = unquote(text[5:])
        text = "/" + text.lstrip("/") if text.startswith("///") or not text.startswith("//") else text[2:]
        text = text.removeprefix("localhost")
    if text.startswith("~/") or text == "~":
        return home + text[1:]
    return text
