"""Exempts calls that no gate blocks: plans, the client's own memory, and our own commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from context_graph.claude.own_memory import chosen_folders, client_setting, is_client_memory
from context_graph.gates.decide.tool_call import command_of, named_texts, targets_of
from context_graph.gates.event import GateEvent
from context_graph.gates.rules import FILE_TOOLS, SHELLS, names
from context_graph.gates.state.project import Project, is_inside
from context_graph.system.small_files import real_path
from context_graph.text.shell_lines import UNKNOWN, ShellCommand, read_line

OWN_PROGRAM, OWN_ALIAS = "context-graph-cli", "req"

EXEMPT = names("status list sessions log check doctor statusline keys pause resume satisfy approve")
"""What `req` may do whatever holds; it asks for a terminal itself where only a person may do it."""


def is_exempt(event: GateEvent, project: Project) -> bool:
    """Return whether the call writes a plan or the client's own memory, or is one of our own commands alone.

    An MCP call must bring nothing beside the files and their text that could name another file or run.
    A plan lies below the client's plans folder, that of its setting ``plansDirectory``, or .claude/plans or
    docs/plans of this very project; links are resolved first, so that none leads out.
    """
    hook = event.hook
    if hook.tool_name in SHELLS:
        return is_own_command(command_of(hook.tool_input))
    foreign = hook.tool_name.startswith("mcp__")
    if hook.tool_name not in FILE_TOOLS and not foreign:
        return False
    texts = [(key, text) for key, text in named_texts(hook.tool_input) if text]
    if foreign and not all(targets_of({key: text}) or _is_no_file(key.lower(), text) for key, text in texts):
        return False
    targets = [path for key, text in texts for path in targets_of({key: text}, project.root)]
    return bool(targets) and all(is_exempt_file(path, event, project) for path in targets)


def is_exempt_file(path: str, event: GateEvent, project: Project) -> bool:
    """Return whether ``path`` is a plan or the client's own memory."""
    claude_dir, cwd = event.claude_dir, event.cwd
    tops = {project.root, project.repo.top} if project.repo else {project.root}
    plans = [os.path.realpath(claude_dir) + "/plans"] if claude_dir else []
    plans += [f"{top.rstrip('/')}/{name}" for top in tops for name in (".claude/plans", "docs/plans")]
    if any(is_inside(path, folder, cwd) for folder in plans):
        return True
    chosen = chosen_folders(claude_dir, project.root)
    if is_client_memory(path, claude_dir, cwd=cwd, tops=tops, chosen=chosen):
        return True
    # Behind a link, or where the client's settings put plans, only a Markdown file is one.
    real, places = (
        real_path(path, cwd),
        [*map(os.path.realpath, plans), *_plans_directory(project, claude_dir)],
    )
    is_markdown = path.endswith(".md") and real.endswith(".md")
    return is_markdown and any(is_inside(real, folder) for folder in places)


_TEXTS = names(
    "edits changes patches line_edits content contents text body new_string old_string new_text old_text "
    "newtext oldtext newstring oldstring file_text new_str old_str insert_text replacement repl regex needle "
    "search replace new_source oldcontent newcontent old_content new_content"
)
"""What tools call the text that they write, and the text that it replaces; in lower case."""

_MANNERS = names("encoding mode description summary explanation reason edit_mode cell_type cell_id")
"""What tools call a word on how or why they write."""


def _is_no_file(key: str, text: str) -> bool:
    """Return whether an argument can be no file, and nothing that is run."""
    return key in _TEXTS or (key in _MANNERS and "/" not in text and "\\" not in text)


def _plans_directory(project: Project, claude_dir: str) -> list[str]:
    """Return where the client's ``plansDirectory`` puts plans, links resolved; never the project's root."""
    home = f"{project.root.rstrip('/')}/.claude"
    paths = (f"{home}/settings.local.json", f"{home}/settings.json", f"{claude_dir}/settings.json")
    setting = next(filter(None, (client_setting(path, "plansDirectory") for path in paths)), "")
    folder = real_path(setting, project.root)
    if not folder:
        return []
    above = f"{os.path.realpath(project.root)}/".startswith(folder.rstrip("/") + "/")
    return [] if above else [folder]


def is_own_command(command: str) -> bool:
    """Return whether the command consists only of calls of ``req`` that no gate may block.

    They may follow ``cd FOLDER &&`` and send their output to each other or to /dev/null. The program must be
    the one that PATH finds, or ours by its full path.
    """
    if OWN_ALIAS not in command:
        return False
    line = read_line(command, values={"HOME": os.environ.get("HOME", "")})
    calls = [command for command in line.commands if command.program != "cd"]
    if not line.whole or not calls or not all(map(_is_quiet, line.commands)):
        return False
    return all(_is_call(call.words) for call in calls)


def _is_quiet(command: ShellCommand) -> bool:
    """Return whether it has no file, input or variable beside it, and no word that only a run would tell."""
    plain = not any(UNKNOWN in word for word in command.words)
    writes_nothing = all(path == "/dev/null" for path in command.writes)
    return plain and writes_nothing and not (command.assigned or command.text)


def _is_call(words: Sequence[str]) -> bool:
    program, rest = words[0], words[1:]
    if program != OWN_ALIAS:
        if (program != OWN_PROGRAM and not _is_ours(program)) or rest[:1] != [OWN_ALIAS]:
            return False
        rest = rest[1:]
    return rest[:1] != [] and (rest[0] in EXEMPT or rest[:2] == ["config", "show"])


def _is_ours(program: str) -> bool:
    """Return whether a full path leads to our own program, or to nothing at all."""
    if not program.startswith("/") or not program.endswith("/" + OWN_PROGRAM):
        return False
    if not os.path.lexists(program):
        return True
    folders = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(":")]
    own = {os.path.realpath(f"{folder}/{OWN_PROGRAM}") for folder in folders if folder.startswith("/")}
    return os.path.realpath(program) in own
