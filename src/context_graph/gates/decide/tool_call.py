"""Reads a tool call: the projects that it acts on, and the requirements that it triggers there.

A file counts for its checkout, a command for the folder that it runs in.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache as once
from itertools import pairwise

from context_graph.gates.event import GateEvent
from context_graph.gates.rules import Requirement, Rules, covers
from context_graph.gates.shell.command import Command, could_be, is_plain, names, shown
from context_graph.gates.shell.folders import GIT_VARIABLES
from context_graph.gates.shell.on_disk import OnDisk
from context_graph.gates.shell.patterns import IGNORE_CASE, matches
from context_graph.gates.shell.runs import SHELLS, git_call, holds_git, runs
from context_graph.gates.shell.starters import may_start, texts_started
from context_graph.gates.shell.wrappers import names_packages
from context_graph.gates.state.project import Project
from context_graph.git.aliases import git_aliases

_COMMANDS = 200
"""Commands of a line that are judged one by one; those beyond are, all together, for each folder."""

_PLACES = 256
"""Folders for which they are."""

_CHANGES = 16
"""Options of one git call that name a folder and are followed."""

_MOVES = ("cd", "pushd", "git", "GIT_", "-C", "-D", "dir", "-w")
"""What a line has that runs anything in another folder."""

_PATHS = (
    *("file_path", "notebook_path", "path", "relative_path", "filePath", "filepath", "file", "uri"),
    *("target_file", "source", "destination", "paths", "files"),
)
"""Names that tools, MCP servers' too, give to their arguments for files."""


@dataclass(slots=True)
class Part:
    """One project that a call acts on, and the commands of the call that run there ([] for all of it)."""

    project: Project
    commands: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Those that run in other projects, or in none."""

    def triggered(self, rules: Rules, event: GateEvent) -> list[Requirement]:
        """The active requirements that the call triggers here."""
        repo = self.project.repo

        @once  # files are read once a call, however many requirements ask
        def aliases() -> Mapping[str, str]:
            return (
                git_aliases(repo.common_dir, event.home, repo.git_dir)
                if repo
                else git_aliases("", event.home)
            )

        found = matching(rules, event.hook.tool_name, event.hook.tool_input, aliases)
        if not found or not self.elsewhere:
            return found
        here, there = (
            {
                entry.name
                for text in texts
                for entry in matching(rules, event.hook.tool_name, {"command": text}, aliases)
            }
            for texts in (self.commands, self.elsewhere)
        )
        return [entry for entry in found if entry.name in here or entry.name not in there]


def project_of(event: GateEvent) -> Project | None:
    """The project of the session's working folder, else of the folder that the client was started in."""
    return event.projects.find(event.cwd, event.project_dir)


def acted_on(event: GateEvent) -> list[Part]:
    """The governed projects that a tool call acts on; where it names none, the working folder's.

    Cost: a few stat calls a file or folder that the call names.
    """
    command = command_of(event.hook.tool_input)
    if command:
        return _of_command(event, command)
    own = project_of(event)
    found: list[Project] = []
    for path in targets_of(event.hook.tool_input):
        there = _of_file(path, event) or own
        if there is not None and there.repo is not None and not any(map(there.is_same, found)):
            found.append(there)
    if not found and own is not None and own.repo is not None:
        found = [own]
    return [Part(project) for project in found]


def _of_command(event: GateEvent, command: str) -> list[Part]:
    found: list[Part] = []
    outside: list[str] = []
    for folder, text in command_folders(command, event.cwd, event.home):
        project = event.projects.find(folder, event.project_dir)
        if project is None or project.repo is None:
            outside.append(text)
            continue
        part = next((part for part in found if part.project.is_same(project)), None)
        if part is None:
            part = Part(project)
            found.append(part)
        part.commands.append(text)
    for part in found:
        others = [text for other in found if other is not part for text in other.commands]
        part.elsewhere = [*outside, *others]
    return found


def _of_file(path: str, event: GateEvent) -> Project | None:
    folder = os.path.dirname(event.projects.resolved(os.path.join(event.cwd, os.path.expanduser(path))))
    known = (event.cwd, event.project_dir)
    found = event.projects.find(folder, known=known) if folder else None
    return found if found is not None and found.repo is not None else None


def command_folders(command: str, cwd: str, home: str = "") -> list[tuple[str, str]]:
    """(folder, text) of each simple command, in order; one entry for all if nothing changes the folder.

    A command that a loop runs in several folders is given with each, and so is one whose folder is a glob, or
    only a run would tell: with each that it may be. A folder that does not exist is not entered; a line that
    can't be fully parsed also belongs to ``cwd``. The texts are rebuilt from the words.

    Cost: time grows with the command's length; a few stat calls for each folder that is named.
    """
    if not any(word in command for word in _MOVES):
        return [(cwd, command)]
    reading = runs(command, {"PWD": cwd, **({"HOME": home} if home else {})})
    disk = OnDisk(cwd)
    found: list[tuple[str, str]] = []
    beyond: dict[str, list[str]] = {}
    for one in reading.commands:
        if not one.words or one.wraps or one.program in ("cd", "pushd", "popd"):
            continue
        text = shlex.join(map(shown, one.words))
        for folder in _folders_of(one, disk):
            if len(found) < _COMMANDS:
                found.append((folder, text))
            else:
                beyond.setdefault(folder if folder in beyond or len(beyond) < _PLACES else cwd, []).append(
                    text
                )
    found += [(folder, "\n".join(texts)) for folder, texts in beyond.items()]
    if not found or reading.broken or len(beyond) >= _PLACES:
        found.append((cwd, command))
    return found


def _folders_of(one: Command, disk: OnDisk) -> list[str]:
    """The folders that the command works in: its shell's, or those that git's variables and options name."""
    places = one.places or [one.folder]
    if not one.is_git:
        return places
    options = git_call(one.words).options
    named = [value for name, value in [*one.exported, *one.assigned] if name in GIT_VARIABLES]
    named += [value for name, value in options if name in ("--git-dir", "--work-tree")]
    for value in [value for name, value in options if name == "-C"][:_CHANGES]:
        entered = [there for folder in places for there in disk.named(folder, value) or [folder]]
        places = list(dict.fromkeys(entered))[:_PLACES]
    found: list[str] = []
    for folder in places:
        found += [there for value in named[-_CHANGES:] for there in disk.named(folder, value)] or [folder]
    return list(dict.fromkeys(found))


# What a call triggers


Aliases = Callable[[], Mapping[str, str]]


def matching(
    rules: Rules,
    tool_name: str,
    tool_input: object,
    aliases: Aliases | None = None,
) -> list[Requirement]:
    """The active requirements that this call triggers, in the order of the configuration.

    A ``command_pattern`` is searched anywhere in the raw command, upper and lower case alike, quoted text
    included: it is the user's own and is not parsed as a shell would. ``git:`` reads the command's words.
    ``aliases`` gives git's configured ones; it is asked only where a git command might need them.
    """
    named = rules.for_tool(tool_name)
    return [entry for entry in named if _triggers(entry, tool_name, tool_input, aliases)]


def _triggers(
    entry: Requirement,
    tool_name: str,
    tool_input: object,
    aliases: Aliases | None,
) -> bool:
    for tool, pattern, verbs in entry.triggers:
        if not covers(tool, tool_name, command=bool(pattern or verbs)):
            continue
        if not pattern and not verbs:
            return True
        command = command_of(tool_input)
        if not command:
            continue
        if verbs and not git_hits(command, verbs.split(), aliases):
            continue
        if not pattern or matches(pattern, command, IGNORE_CASE):
            return True
    return False


def described(trigger: list[str]) -> str:
    """A trigger as lists show it: its tool, with its pattern or git's verbs."""
    tool, pattern, verbs = trigger
    given = ", ".join(part for part in (pattern, f"git {verbs}" if verbs else "") if part)
    return f"{tool}({given})" if given else tool


_FLAGS = names(
    "-a -v -q -s -f --all --amend --no-edit --no-verify --quiet --verbose --signoff --allow-empty "
    "--force --force-with-lease --tags --set-upstream --porcelain --atomic --follow-tags --short --status"
)
"""Options of commit and push that take no value."""

_DROPPED = str.maketrans("", "", "'\"\\\n")


def git_hits(
    command: str, verbs: Collection[str], aliases: Aliases | None = None, *, inner: bool = True
) -> bool:
    """Whether the command runs git with one of ``verbs``, however it is written.

    Options before the verb, quotes, paths, wrappers, inner shells and aliases are seen through; words that
    are only quoted, searched for or printed don't count. What can't be read counts if it names both. With
    ``inner`` it also looks at the programs that a text for an interpreter (`python -c`) starts.
    """
    plain = command.translate(_DROPPED)
    named = "git" in plain.lower()
    if not named and "$" not in plain and "`" not in plain:
        return False
    reading = runs(command)
    if reading.broken and "git" in plain and any(verb in plain for verb in verbs):
        return True
    configured: dict[str, str] | None = None
    for one in reading.commands:
        if not one.words:
            continue
        if one.is_git and not one.wraps:
            if configured is None:
                configured = dict(aliases() if aliases is not None else {})
            configured.update(_configured(one.words))
        elif _starts_git(one, verbs, named=named, inner=inner):
            return True
        elif not _may_be_git(one, named=named):
            continue
        if not one.wraps and _is_verb(one.words, verbs, configured or {}, more=one.more):
            return True
    return False


def _may_be_git(one: Command, *, named: bool) -> bool:
    """Whether a program that only a run would tell may be git: if the line names git at all."""
    return named and not one.wraps and not is_plain(one.program) and could_be(one.program, "git")


def _starts_git(one: Command, verbs: Collection[str], *, named: bool, inner: bool) -> bool:
    """Whether a program that is not git starts it with one of ``verbs``.

    One that is given `git VERB` as words may, unless it is known to do something else with them.
    """
    if inner and any(
        git_hits(text, verbs, inner=False) for text in texts_started(one.program, one.texts(), "git")
    ):
        return True
    if not is_plain(one.program):
        return _may_be_git(one, named=named) and holds_git(one.words, verbs)
    if (one.wraps and one.program not in SHELLS) or one.program == "command":  # command -v
        return False
    return not names_packages(one.words) and holds_git(may_start(one.words), verbs)


def _configured(words: list[str]) -> dict[str, str]:
    """The aliases that a `git config` sets."""
    call = git_call(words)
    if call.verb != "config":
        return {}
    keys = [
        (word[6:].removesuffix(".command").lower(), value)
        for word, value in pairwise(call.rest)
        if word[:6].lower() == "alias."
    ]
    return dict(keys)


def _only_shows(rest: list[str]) -> bool:
    """Whether git, with these words behind its verb, changes nothing: `--help`, `-h` alone, `--dry-run`.

    The word counts only where it can't be the value of the option before it.
    """
    if rest == ["-h"] or rest[:1] == ["--help"]:
        return True
    for at, word in enumerate(rest):
        if word == "--" or not is_plain(word):
            return False
        before = rest[at - 1] if at else ""
        if word in ("--help", "--dry-run") and (before[:1] != "-" or before in _FLAGS):
            return not any(one.startswith("--no-") or not is_plain(one) for one in rest[at + 1 :])
    return False


def _is_verb(words: list[str], verbs: Collection[str], configured: Mapping[str, str], *, more: bool) -> bool:
    program = words[0]
    known = dict(configured)
    for _ in range(5):
        call = git_call(words)
        verb = call.verb
        known.update(call.aliases)
        if verb in verbs:
            return more or not _only_shows(call.rest)
        if not is_plain(program):
            return False
        if not verb:
            return more  # `xargs git`: the verb comes at run time
        if "\0" in verb or "\1" in verb or "\2" in verb:
            return True
        value = known.pop(verb.lower(), "")
        if not value:
            return False
        if value.startswith("!"):
            return git_hits(value[1:], verbs, lambda: known)
        words = [program, *value.split(), *call.rest]
    return False


def command_of(tool_input: object) -> str:
    """The shell command of a call; empty if it has none."""
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    return command if isinstance(command, str) else ""


def targets_of(tool_input: object, root: str = "") -> list[str]:
    """The files that a call names; those that are given relative to a project stand below ``root``."""
    if not isinstance(tool_input, dict):
        return []
    found: list[str] = []
    for key in _PATHS:
        value = tool_input.get(key)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and path:
                path = path.removeprefix("file://")
                joined = f"{root}/{path}" if root and key == "relative_path" and path[0] != "/" else path
                found += [] if "://" in path else [joined]
    return found
