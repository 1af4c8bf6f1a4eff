"""Exempts calls that no gate blocks: plans, the client's own memory, and our own commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice

from context_graph.gates.decide.tool_call import command_of, targets_of
from context_graph.gates.event import GateEvent
from context_graph.gates.files import read_json
from context_graph.gates.rules import FILE_TOOLS, SHELLS, names
from context_graph.gates.state.project import Project, is_inside, real_path
from context_graph.text.shell_lines import UNKNOWN, ShellCommand, read_line

OWN_PROGRAM, OWN_ALIAS = "context-graph-cli", "req"

EXEMPT = names("status list sessions log check doctor statusline keys pause resume satisfy approve")
"""What `req` may do whatever holds; it asks for a terminal itself where only a person may do it."""

RUN = ("command", "cmd", "commandLine", "command_line", "script", "code")
"""Names that tools give to what they run."""


def is_exempt(event: GateEvent, project: Project) -> bool:
    """Whether the call writes a plan or the client's own memory, or is one of our own commands alone.

    An MCP call must bring nothing beside the files and their text that could name another file or run.
    A plan lies below the client's plans folder, that of its setting ``plansDirectory``, or .claude/plans or
    docs/plans of this very project; links are resolved first, so that none leads out.
    """
    hook = event.hook
    if hook.tool_name in SHELLS:
        return is_own_command(command_of(hook.tool_input))
    if hook.tool_name not in FILE_TOOLS and not hook.tool_name.startswith("mcp__"):
        return False
    targets = targets_of(hook.tool_input, project.root)
    if not targets or command_of(hook.tool_input):
        return False
    foreign = hook.tool_name.startswith("mcp__") and isinstance(hook.tool_input, dict)
    if foreign and not _only_writes_text(hook.tool_input):
        return False
    return all(is_exempt_file(path, event, project) for path in targets)


def is_exempt_file(path: str, event: GateEvent, project: Project) -> bool:
    """Whether ``path`` is a plan or the client's own memory."""
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
    return _is_markdown_inside(
        path, [*map(os.path.realpath, plans), *_plans_directory(project, claude_dir)], cwd
    )


_NESTED = names("edits changes patches line_edits")
_TEXTS = _NESTED | names(
    "content contents text body new_string old_string new_text old_text newtext oldtext newstring oldstring "
    "file_text new_str old_str insert_text replacement repl regex needle search replace new_source "
    "oldcontent newcontent old_content new_content"
)
"""What tools call the text that they write, and the text that it replaces; in lower case."""

_MANNERS = names("encoding mode description summary explanation reason edit_mode cell_type cell_id")
"""What tools call a word on how or why they write."""

_VALUES = 10_000
_DEPTH = 4


def _only_writes_text(given: Mapping[str, object]) -> bool:
    """Whether an MCP call names its files where they are looked for, and has only a text for them beside.

    What else it brings may be a file of its own, or something that it runs. Numbers and flags are neither.
    """
    for key, value in given.items():
        if key in RUN and value:
            return False
        found = targets_of({key: value})
        paths = value if isinstance(value, list) else [value]
        # One that is passed over, as the address of something remote is, counts as any other argument.
        if (not found or len(found) != len(paths)) and not _is_text(key, value):
            return False
    return True


def _is_text(key: str, value: object) -> bool:
    """Whether an argument is a text to write or to find, or nothing that could name a file."""
    waiting = [(key.lower(), value, 0)]
    for _ in range(_VALUES):
        if not waiting:
            return True
        name, one, depth = waiting.pop()
        if isinstance(one, str):
            if one and name not in _TEXTS and (name not in _MANNERS or "/" in one or "\\" in one):
                return False
        elif isinstance(one, dict | list) and one:
            if depth == _DEPTH or name not in (_NESTED if isinstance(one, dict) else _TEXTS):
                return False
            parts = one.items() if isinstance(one, dict) else ((name, part) for part in one)
            waiting += [(str(inner).lower(), part, depth + 1) for inner, part in islice(parts, _VALUES)]
    return False


def _is_markdown_inside(path: str, folders: Collection[str], cwd: str) -> bool:
    real = real_path(path, cwd)
    return path.endswith(".md") and real.endswith(".md") and any(is_inside(real, one) for one in folders)


def _plans_directory(project: Project, claude_dir: str) -> list[str]:
    """Where the client's ``plansDirectory`` puts plans, links resolved; never the project's root."""
    home = f"{project.root.rstrip('/')}/.claude"
    paths = (f"{home}/settings.local.json", f"{home}/settings.json", f"{claude_dir}/settings.json")
    given = next(filter(None, (client_setting(path, "plansDirectory") for path in paths)), "")
    folder = real_path(given, project.root)
    if not folder:
        return []
    above = f"{os.path.realpath(project.root)}/".startswith(folder.rstrip("/") + "/")
    return [] if above else [folder]


def is_own_command(command: str) -> bool:
    """Whether the command consists only of calls of ``req`` that no gate may block.

    They may follow ``cd FOLDER &&`` and send their output to each other or to /dev/null. The program must be
    the one that PATH finds, or ours by its full path.
    """
    if OWN_ALIAS not in command:
        return False
    line = read_line(command, values={"HOME": os.environ.get("HOME", "")})
    calls = [one for one in line.commands if one.program != "cd"]
    if not line.whole or not calls or not all(map(_is_quiet, line.commands)):
        return False
    return all(_is_call(one.words) for one in calls)


def _is_quiet(one: ShellCommand) -> bool:
    """Whether it has no file, input or variable beside it, and no word that only a run would tell."""
    plain = not any(UNKNOWN in word for word in one.words)
    return plain and not one.assigned and not one.text and all(path == "/dev/null" for path in one.writes)


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


# The client's own memory files, which it keeps for itself beside the work on the project

_SETTINGS_BYTES = 1_048_576
_MANAGED = (
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
)


def is_client_memory(
    path: str, claude_dir: str, *, cwd: str = "/", tops: Iterable[str] = (), chosen: Iterable[str] = ()
) -> bool:
    """Whether ``path`` lies in the client's own memory; links are resolved, so that none leads out.

    That is ``projects/<project>/memory`` and ``agent-memory`` below the client's folder (a team's shared
    memory is a folder in the first), a subagent's memory in ``.claude`` of the project, and ``chosen``.

    Args:
        path: Absolute, or relative to ``cwd``; ``~`` is the home.
        claude_dir: The client's folder, CLAUDE_CONFIG_DIR or ~/.claude; "" if unknown.
        tops: The project's top folders.
        chosen: What the setting autoMemoryDirectory names (`chosen_folders`). A folder that holds the
            project, or lies in it, is not believed: an agent can write that setting.

    Cost: resolving one path; no file is read.
    """
    real = real_path(path, cwd)
    if not real:
        return False
    if claude_dir:
        own = real_path(claude_dir).rstrip("/")
        parts = real[len(own) + 1 :].split("/") if real.startswith(own + "/") else []
        if len(parts) > 3 and parts[0] == "projects" and parts[2] == "memory":
            return True
        if len(parts) > 2 and parts[0] == "agent-memory":
            return True
    known = [real_path(top).rstrip("/") for top in tops]
    folders = [f"{top}/.claude/{name}" for top in known for name in ("agent-memory", "agent-memory-local")]
    for folder in chosen:
        at = real_path(folder).rstrip("/")
        if at.count("/") > 1 and not any(_one_holds_the_other(at, top) for top in known):
            folders.append(at)
    return any(real.startswith(folder + "/") for folder in folders)


def looks_like_client_memory(path: str) -> bool:
    """Whether the absolute ``path`` reads like the memory of a client whose folder is not known.

    The client names a project's folder by its path with dashes for slashes, so it begins with one. Good
    enough to leave a file out of a summary; a gate must ask `is_client_memory`.
    """
    parts = path.split("/")
    steps = zip(parts, parts[1:], parts[2:-1], strict=False)
    return path.startswith("/") and any(
        one == "projects" and two.startswith("-") and three == "memory" for one, two, three in steps
    )


def own_files_of(claude_dir: str, project: str) -> Callable[[str], bool]:
    """Tells of a path whether it is in the client's own memory, for work in ``project``."""
    chosen = chosen_folders(claude_dir, project)

    def is_own(path: str) -> bool:
        tops = [project] if project else []
        return looks_like_client_memory(path) or is_client_memory(path, claude_dir, tops=tops, chosen=chosen)

    return is_own


def chosen_folders(claude_dir: str, project: str = "") -> list[str]:
    """The folders that autoMemoryDirectory names in the settings that the client reads it from.

    Managed settings, the project's own .claude/settings.local.json, and the user's settings; never the
    checked-in .claude/settings.json. What can't be read names none.
    """
    files = [*_MANAGED]
    files += [f"{project.rstrip('/')}/.claude/settings.local.json"] if project else []
    files += [f"{claude_dir.rstrip('/')}/settings.json"] if claude_dir else []
    found = (client_setting(path, "autoMemoryDirectory") for path in files)
    return [os.path.expanduser(folder) for folder in found if folder.startswith(("/", "~/"))]


def client_setting(path: str, name: str) -> str:
    """The text that the client's settings file at ``path`` gives ``name``; "" where it can't be read.

    The file may be a project's own: a pipe is not waited for, and no more than 1 MiB is read.
    """
    settings = read_json(path, _SETTINGS_BYTES, needle=name)
    given = settings.get(name) if isinstance(settings, dict) else ""
    return given if isinstance(given, str) and "\0" not in given else ""


def _one_holds_the_other(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
