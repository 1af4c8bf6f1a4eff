"""Finds what a tool call acts on: projects, files, and the git commands that its shell line surely runs.

git's own hooks judge what is not certain.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache as once
from functools import partial
from itertools import islice
from posixpath import join
from types import FrameType

from context_graph.gates.event import GateEvent
from context_graph.gates.rules import Requirement, Rules, covers
from context_graph.gates.state.project import Project
from context_graph.git.repository import git_aliases
from context_graph.text.shell_lines import UNKNOWN, ShellCommand, read_line

Aliases = Callable[[], Mapping[str, str]]

_VALUED = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--attr-source")
)
_ELSEWHERE = frozenset(("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"))
_CHANGING = frozenset(("init", "clone", "switch", "checkout", "worktree"))
"""Behind one of these another repository or branch may be meant."""

_SHOWING = {"commit": frozenset(("--short", "--porcelain", "--long")), "push": frozenset(("-n",))}
_BETWEEN = str.maketrans("_-.", "   ")
_READING = frozenset(
    ("get", "list", "show", "search", "read", "find", "view", "diff", "log", "describe", "fetch")
)
"""What a tool does that only tells of commits and pushes."""
_PLUMBING = {"send-pack": "push"}
"""What does the same as another verb and asks no hook."""

_HELPING = frozenset(("--dry-run", "--help", "-h"))
_ALIASES = 5


@dataclass(slots=True)
class GitCall:
    """One call of git; ``folder`` is None where only a run would tell."""

    folder: str | None
    verb: str
    rest: list[str]
    aliases: dict[str, str] = field(default_factory=dict)
    """Those that its own options set."""

    @property
    def only_shows(self) -> bool:
        """Whether it changes nothing."""
        words = frozenset(self.rest)
        return bool(words & _HELPING or words & _SHOWING.get(self.verb, frozenset()))


def git_call(command: ShellCommand) -> GitCall | None:
    """Return the call of git that ``command`` is; None for any other program."""
    return _parsed(command.words[1:], command) if command.program == "git" else None


def _parsed(words: list[str], command: ShellCommand) -> GitCall:
    call = GitCall(command.folder, "", [])
    if _ELSEWHERE & command.assigned.keys():
        call.folder = None
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option, equals, value = words[at].partition("=")
        if option in _VALUED and not equals:
            at += 1
            value = "".join(words[at : at + 1])
        if option in ("--git-dir", "--work-tree") or (option == "-C" and UNKNOWN in value):
            call.folder = None
        elif option == "-C" and (call.folder is not None or value.startswith("/")):
            call.folder = join(call.folder or "", value)
        elif option == "-c" and value.lower().startswith("alias."):
            name, _, text = value[6:].partition("=")
            call.aliases[name.lower()] = text
        at += 1
    verb = "".join(words[at : at + 1])
    call.verb, call.rest = _PLUMBING.get(verb, verb), words[at + 1 :]
    return call


def git_calls(line: str, cwd: str, home: str = "", aliases: Aliases | None = None) -> Iterator[GitCall]:
    """Yield the calls of git that ``line``, run in ``cwd``, surely makes there, aliases resolved.

    They end where the line makes a repository or goes to another branch: git's own hooks know what is meant.

    Cost: one pass over the line; ``aliases`` is asked where a verb may be one.
    """
    for command in read_line(line, cwd, {"HOME": home, "PWD": cwd} if home else {"PWD": cwd}).commands:
        call = git_call(command)
        if call is None:
            continue
        for made in _resolved(call, command, aliases):
            if made.verb in _CHANGING:
                return
            yield made


def _resolved(call: GitCall, command: ShellCommand, aliases: Aliases | None) -> Iterator[GitCall]:
    known = dict(aliases()) if aliases is not None and call.verb not in ("commit", "push") else {}
    known.update(call.aliases)
    for _ in range(_ALIASES):
        text = known.pop(call.verb.lower(), "")
        if not text:
            break
        if text.startswith("!"):
            yield from git_calls(text[1:], call.folder or "", aliases=lambda: known)
            return
        there = call.folder
        call = _parsed([*text.split(), *call.rest], command)
        call.folder = there
    yield call


def mcp_runs_git(tool_name: str, verbs: Collection[str]) -> bool:
    """Return whether a tool of an MCP server is one of git's ``verbs`` by name: `mcp__git__git_commit`."""
    server, _, tool = tool_name.removeprefix("mcp__").partition("__")
    if not tool or "git" not in f"{server} {tool}".lower():
        return False
    words = words_of(tool)
    return any(verb in words for verb in verbs) and _READING.isdisjoint(words)


def words_of(tool: str) -> list[str]:
    """Return the words of a tool's name: moveFile and move_file have move and file."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in tool)
    return spaced.translate(_BETWEEN).split()


def runs_git(
    line: str,
    verbs: Collection[str],
    cwd: str,
    home: str = "",
    *,
    aliases: Aliases | None = None,
    here: Callable[[str], bool] = lambda _: True,
) -> bool:
    """Return whether ``line`` surely runs git with one of ``verbs`` in a folder that counts (``here``)."""
    return any(
        call.verb in verbs and not call.only_shows and call.folder is not None and here(call.folder)
        for call in git_calls(line, cwd, home, aliases)
    )


_COMMANDS = 200
"""Commands of a line whose folders are looked at."""

_PATHS = (
    *("file_path", "notebook_path", "path", "relative_path", "filePath", "filepath", "file", "uri"),
    *("target_file", "source", "destination", "paths", "files"),
)
"""Names that tools, MCP servers' too, give to their arguments for files."""


@dataclass(slots=True)
class Part:
    """One project that a call acts on, and the commands of the call that plainly run there."""

    project: Project
    commands: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Those that run in other projects, or in none."""

    def triggered(self, rules: Rules, event: GateEvent) -> list[Requirement]:
        """Return the active requirements that the call triggers here."""
        hook, runs = event.hook, self._runs(event)
        entries = matching(rules, hook.tool_name, hook.tool_input, runs)
        if not entries or not self.elsewhere:
            return entries
        here, there = (
            {entry.name for entry in matching(rules, hook.tool_name, {"command": "\n".join(texts)}, _any_git)}
            for texts in (self.commands, self.elsewhere)
        )
        return [entry for entry in entries if entry.name in here or entry.name not in there]

    def _runs(self, event: GateEvent) -> Runs:
        """Tells whether a line surely runs git with one of some verbs in this very working tree."""
        repo, projects = self.project.repo, event.projects

        @once  # files are read once a call, however many requirements ask
        def aliases() -> Mapping[str, str]:
            return git_aliases(repo.common_dir, event.home, repo.git_dir) if repo else {}

        def is_here(folder: str) -> bool:
            there = projects.repo_of(folder)
            return repo is not None and there is not None and there.git_dir == repo.git_dir

        return partial(runs_git, cwd=event.cwd, home=event.home, aliases=aliases, here=is_here)


def project_of(event: GateEvent) -> Project | None:
    """Return the project of the session's working folder, else of the one that the client was started in."""
    return event.projects.find(event.cwd, event.project_dir)


def acted_on(event: GateEvent) -> list[Part]:
    """Return the governed projects that a tool call acts on; where it names none, the working folder's.

    Cost: a few stat calls a file or folder that the call names.
    """
    command = command_of(event.hook.tool_input)
    if command:
        return _of_command(event, command)
    own = project_of(event)
    projects: list[Project] = []
    for path in targets_of(event.hook.tool_input):
        there = _of_file(path, event) or own
        if there is not None and there.repo is not None and not any(map(there.is_same, projects)):
            projects.append(there)
    if not projects and own is not None and own.repo is not None:
        projects = [own]
    return [Part(project) for project in projects]


def _of_command(event: GateEvent, command: str) -> list[Part]:
    """Return the working folder's project, and those of other folders that the command plainly works in."""
    own = project_of(event)
    parts = [Part(own)] if own is not None and own.repo is not None else []
    outside: list[str] = []
    for simple in read_line(command, event.cwd, {"HOME": event.home}).commands[:_COMMANDS]:
        call = git_call(simple)
        folder = simple.folder if call is None else call.folder
        if folder is None or simple.program in ("cd", "pushd", "popd") or not os.path.isdir(folder):
            continue
        hint = "" if event.projects.repo_of(folder) else event.project_dir
        project, text = event.projects.find(folder, hint), shlex.join(simple.words)
        if project is None or project.repo is None:
            outside.append(text)
            continue
        part = next((part for part in parts if part.project.is_same(project)), None)
        if part is None:
            part = Part(project)
            parts.append(part)
        part.commands.append(text)
    for part in parts:
        others = [text for other in parts if other is not part for text in other.commands]
        part.elsewhere = [*outside, *others]
    return parts


def _of_file(path: str, event: GateEvent) -> Project | None:
    folder = os.path.dirname(event.projects.resolved(os.path.join(event.cwd, os.path.expanduser(path))))
    known = (event.cwd, event.project_dir)
    project = event.projects.find(folder, known=known) if folder else None
    return project if project is not None and project.repo is not None else None


Runs = Callable[[str, list[str]], bool]
"""Whether a line runs git with one of these verbs."""


def _any_git(_line: str, _verbs: list[str]) -> bool:
    return True


_ANYWHERE: Runs = partial(runs_git, cwd="/")


def matching(rules: Rules, tool_name: str, tool_input: object, runs: Runs = _ANYWHERE) -> list[Requirement]:
    """Return the active requirements that this call triggers, in the order of the configuration.

    A ``command_pattern`` is searched anywhere in the raw command, upper and lower case alike, quoted text
    included: it is the user's own and is not parsed as a shell would. ``git:`` asks ``runs``.
    """
    named = rules.for_tool(tool_name)
    return [entry for entry in named if _triggers(entry, tool_name, tool_input, runs)]


def _triggers(entry: Requirement, tool_name: str, tool_input: object, runs: Runs) -> bool:
    for tool, pattern, verbs in entry.triggers:
        if not covers(tool, tool_name, command=bool(pattern or verbs)):
            continue
        if not pattern and not verbs:
            return True
        command = command_of(tool_input)
        if not command:
            if verbs and not pattern and mcp_runs_git(tool_name, verbs.split()):
                return True
            continue
        if verbs and not runs(command, verbs.split()):
            continue
        if not pattern or matches(pattern, command, IGNORE_CASE):
            return True
    return False


def described(trigger: list[str]) -> str:
    """Return a trigger as lists show it: its tool, with its pattern or git's verbs."""
    tool, pattern, verbs = trigger
    details = ", ".join(part for part in (pattern, f"git {verbs}" if verbs else "") if part)
    return f"{tool}({details})" if details else tool


def command_of(tool_input: object) -> str:
    """Return the shell command of a call; empty if it has none."""
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    return command if isinstance(command, str) else ""


def targets_of(tool_input: object, root: str = "") -> list[str]:
    """Return the files that a call names; those that are given relative to a project stand below ``root``."""
    if not isinstance(tool_input, dict):
        return []
    paths: list[str] = []
    for key in _PATHS:
        value = tool_input.get(key)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and path:
                path = path.removeprefix("file://")
                joined = f"{root}/{path}" if root and key == "relative_path" and path[0] != "/" else path
                paths += [] if "://" in path else [joined]
    return paths


_VALUES = 10_000


def named_texts(tool_input: object) -> Iterator[tuple[str, str]]:
    """Yield the texts in a call's arguments at any depth, each with its name; of 10,000 values."""
    waiting: list[tuple[str, object]] = [("", tool_input)]
    for _ in range(_VALUES):
        if not waiting:
            return
        name, value = waiting.pop()
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, dict):
            waiting += [(str(key), part) for key, part in islice(value.items(), _VALUES)]
        elif isinstance(value, list):
            waiting += [(name, part) for part in islice(value, _VALUES)]
    yield "", "too many to look at"


IGNORE_CASE = int(re.IGNORECASE)

SEARCH_S = 0.1
"""Processor seconds for one search; honest patterns take some microseconds."""


class _TooLongError(Exception):
    """The search was ended."""


_began = -1.0
"""Thread time at which the running search began; negative when none runs."""


def matches(pattern: str, text: str, flags: int = 0) -> bool:
    """Return whether ``pattern`` is found in ``text``; also True when that can't be said within ``SEARCH_S``.

    What can't be judged counts as found: else a long enough command would walk past the gate. Off the main
    thread, as in a library, there is no limit.
    """
    global _began
    compiled = re.compile(pattern, flags)
    if threading.current_thread() is not threading.main_thread():
        return compiled.search(text) is not None
    if signal.getsignal(signal.SIGVTALRM) is not _expired:
        signal.signal(signal.SIGVTALRM, _expired)
    _began = time.thread_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, SEARCH_S, SEARCH_S)
        return compiled.search(text) is not None
    except _TooLongError:
        return True
    finally:
        _began = -1.0
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)


def _expired(_number: int, _frame: FrameType | None) -> None:
    # The timer counts all threads of the process: only this one's own time ends the search.
    if 0.0 <= _began <= time.thread_time() - SEARCH_S * 0.9:
        raise _TooLongError
