"""Exempts calls that no gate blocks: plans, the client's own memory, and our own commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence

from context_graph.gates.decide.client_memory import chosen_folders, client_setting, is_client_memory
from context_graph.gates.decide.touching import FILE_TOOLS
from context_graph.gates.decide.triggers import command_of, targets_of
from context_graph.gates.rules import SHELLS
from context_graph.gates.shell.command import Command, is_plain
from context_graph.gates.shell.programs import HARMLESS, OWN_ALIAS, OWN_PROGRAM
from context_graph.gates.shell.shell import read
from context_graph.gates.state.project import Project, is_inside

EXEMPT = HARMLESS | {"satisfy", "approve"}
_LONGEST = 4096


def is_exempt(tool_name: str, tool_input: object, project: Project, claude_dir: str, cwd: str) -> bool:
    """Whether the call writes a plan or the client's own memory, or is one of our own commands alone.

    A plan lies below the client's plans folder, that of its setting ``plansDirectory``, or .claude/plans or
    docs/plans of this very project; links are resolved first, so that none leads out.
    """
    if tool_name in SHELLS:
        return is_own_command(command_of(tool_input))
    if (tool_name not in FILE_TOOLS and not tool_name.startswith("mcp__")) or command_of(tool_input):
        return False
    targets = targets_of(tool_input, project.root)
    if not targets:
        return False
    tops = {project.root, project.repo.top} if project.repo else {project.root}
    chosen = chosen_folders(claude_dir, project.root)
    plans = [os.path.realpath(claude_dir) + "/plans"] if claude_dir else []
    plans += [f"{top.rstrip('/')}/{name}" for top in tops for name in (".claude/plans", "docs/plans")]
    left = [
        path
        for path in targets
        if not any(is_inside(path, folder, cwd) for folder in plans)
        and not is_client_memory(path, claude_dir, cwd=cwd, tops=tops, chosen=chosen)
    ]
    # Behind a link, or where the client's settings put plans, only a Markdown file is one.
    linked = [*map(os.path.realpath, plans), *_plans_directory(project, claude_dir)] if left else []
    return all(_is_markdown_inside(path, linked, cwd) for path in left)


def _is_markdown_inside(path: str, folders: Collection[str], cwd: str) -> bool:
    try:
        real = os.path.realpath(os.path.join(cwd, os.path.expanduser(path)))
    except (OSError, ValueError):
        return False
    return path.endswith(".md") and real.endswith(".md") and any(is_inside(real, one) for one in folders)


def _plans_directory(project: Project, claude_dir: str) -> list[str]:
    """Where the client's ``plansDirectory`` puts plans, links resolved; never the project's root."""
    home = f"{project.root.rstrip('/')}/.claude"
    paths = (f"{home}/settings.local.json", f"{home}/settings.json", f"{claude_dir}/settings.json")
    given = next(filter(None, (client_setting(path, "plansDirectory") for path in paths)), "")
    if not given:
        return []
    try:
        folder = os.path.realpath(os.path.join(project.root, os.path.expanduser(given)))
    except (OSError, ValueError):
        return []
    above = f"{os.path.realpath(project.root)}/".startswith(folder.rstrip("/") + "/")
    return [] if above else [folder]


def is_own_command(command: str) -> bool:
    """Whether the command consists only of calls of ``req`` that no gate may block.

    They may follow ``cd FOLDER &&`` and send their output to each other or to /dev/null. The program must be
    the one that PATH finds, or ours by its full path.
    """
    if OWN_ALIAS not in command or len(command) > _LONGEST or "#" in command:
        return False
    reading = read(command, {"HOME": os.environ.get("HOME", "")})
    if reading.broken or not all(map(_is_simple, reading.commands)):
        return False
    calls = [one.words for one in reading.commands if one.words[0] != "cd" or one.ends != "&&"]
    return bool(calls) and all(map(_is_call, calls))


def _is_simple(one: Command) -> bool:
    """Whether it stands alone: no file, input, substitution or subshell beside it."""
    quiet = all(target == "/dev/null" or target.startswith("&") for _, target in one.redirects)
    alone = one.source is None and one.shell == (0,) and one.ends in ("", "&&", ";", "\n")
    plain = bool(one.words) and all(map(is_plain, one.words))
    return quiet and alone and plain and not one.assigned and not one.captured and one.stdin is None


def _is_call(words: Sequence[str]) -> bool:
    program, rest = words[0], words[1:]
    if program != OWN_ALIAS:
        if (program != OWN_PROGRAM and not _is_ours(program)) or rest[:1] != [OWN_ALIAS]:
            return False
        rest = rest[1:]
    return rest[:1] != [] and (rest[0] in EXEMPT or rest[:2] == ["config", "show"])


def _is_ours(program: str) -> bool:
    """Whether a full path leads to our own program, or to nothing at all."""
    if not program.startswith("/") or not program.endswith("/" + OWN_PROGRAM):
        return False
    if not os.path.lexists(program):
        return True
    folders = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(":")]
    ours = {os.path.realpath(f"{folder}/{OWN_PROGRAM}") for folder in folders if folder.startswith("/")}
    return os.path.realpath(program) in ours
