"""Finds the projects that a call acts on: for a file by its checkout, for a command by its folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache as once
from typing import TYPE_CHECKING

from context_graph.gates.decide.triggers import command_of, matching, targets_of
from context_graph.gates.files import read_bytes
from context_graph.gates.shell.command import Command, is_plain, shown
from context_graph.gates.state.project import Project, find_project, resolved

if TYPE_CHECKING:
    from context_graph.gates.cache import GateCache
    from context_graph.gates.event import GateEvent
    from context_graph.gates.rules import Requirement, Rules

_COMMANDS = 200
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@+%")
_ALIASES_BYTES = 256 << 10


@dataclass(slots=True)
class Part:
    """One project that a call acts on, and the commands of the call that run there ([] for all of it)."""

    project: Project
    commands: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Those that run in other projects."""

    def triggered(self, rules: Rules, event: GateEvent) -> list[Requirement]:
        """The active requirements that the call triggers here."""
        repo = self.project.repo

        @once  # files are read once a call, however many requirements ask
        def aliases() -> Mapping[str, str]:
            return git_aliases(repo.common_dir if repo else "", event.home)

        found = matching(rules, event.tool_name, event.tool_input, aliases)
        if not found or not self.elsewhere:
            return found
        here, there = (
            {
                entry.name
                for text in texts
                for entry in matching(rules, event.tool_name, {"command": text}, aliases)
            }
            for texts in (self.commands, self.elsewhere)
        )
        return [entry for entry in found if entry.name in here or entry.name not in there]


def project_of(event: GateEvent) -> Project | None:
    """The project of the session's working folder, else of the folder that the client was started in."""
    return find_project(event.cwd, event.project_dir, claude_dir=event.claude_dir)


def acted_on(event: GateEvent) -> list[Part]:
    """The governed projects that a tool call acts on; where it names none, the working folder's.

    Cost: a few stat calls a file or folder that the call names.
    """
    command = command_of(event.tool_input)
    if command:
        return _of_command(event, command)
    own = project_of(event)
    found: list[Project] = []
    for path in targets_of(event.tool_input):
        there = _of_file(path, event) or own
        if there is not None and there.repo is not None and not any(map(there.is_same, found)):
            found.append(there)
    if not found and own is not None and own.repo is not None:
        found = [own]
    return [Part(project) for project in found]


def _of_command(event: GateEvent, command: str) -> list[Part]:
    found: list[Part] = []
    for folder, text in command_folders(command, event.cwd, event.home):
        project = find_project(folder, event.project_dir, claude_dir=event.claude_dir)
        if project is None or project.repo is None:
            continue
        part = next((part for part in found if part.project.is_same(project)), None)
        if part is None:
            part = Part(project)
            found.append(part)
        part.commands.append(text)
    for part in found:
        part.elsewhere = [text for other in found if other is not part for text in other.commands]
    return found


def _of_file(path: str, event: GateEvent) -> Project | None:
    folder = os.path.dirname(resolved(os.path.join(event.cwd, os.path.expanduser(path))))
    known = (event.cwd, event.project_dir)
    found = find_project(folder, "", claude_dir=event.claude_dir, known=known) if folder else None
    return found if found is not None and found.repo is not None else None


def session_projects(event: GateEvent, cache: GateCache | None) -> list[Project]:
    """The projects that the session works in: the working folder's first, then those it was seen in."""
    from context_graph.gates.state.registry import Registry

    folders = Registry(event.claude_dir, cache).folders(event.session_id)
    seen = (find_project(folder, "", claude_dir=event.claude_dir) for folder in folders)
    found: list[Project] = []
    for project in (project_of(event), *seen):
        if project is not None and project.repo is not None and not any(map(project.is_same, found)):
            found.append(project)
    return found


def command_folders(command: str, cwd: str, home: str = "") -> list[tuple[str, str]]:
    """(folder, text) of each simple command, in order; one entry for all if nothing changes the folder.

    A folder that does not exist, or that only a run would tell, is not entered; a line that can't be fully
    parsed also belongs to ``cwd``. The texts are rebuilt from the words.

    Cost: time grows with the command's length; a few stat calls for each folder that is named.
    """
    if not any(word in command for word in ("cd", "pushd", "git", "GIT_")):
        return [(cwd, command)]
    from context_graph.gates.shell.runs import runs

    reading = runs(command, {"PWD": cwd, **({"HOME": home} if home else {})})
    found = [
        (_folder_of(one), " ".join(_quoted(shown(word)) for word in one.words))
        for one in reading.commands[:_COMMANDS]
        if one.words and not one.wraps and one.program not in ("cd", "pushd", "popd")
    ]
    if not found or reading.broken or len(reading.commands) > _COMMANDS:
        found.append((cwd, command))
    return found


def _folder_of(one: Command) -> str:
    """The folder that the command works in: its shell's, or the one that git's variables and options name."""
    if not one.is_git:
        return one.folder
    from context_graph.gates.shell.runs import entered, git_call

    named = [value for name, value in one.assigned if name in ("GIT_DIR", "GIT_WORK_TREE")]
    options = git_call(one.words).options
    named += [value for name, value in options if name in ("-C", "--git-dir", "--work-tree")]
    folder = one.folder
    for value in filter(is_plain, named):
        there = entered(folder, value)
        folder = there if value and os.path.isdir(there) else folder
    return folder


def _quoted(word: str) -> str:
    return word if word and _BARE.issuperset(word) else "'" + word.replace("'", "'\\''") + "'"


def git_aliases(common_dir: str, home: str) -> dict[str, str]:
    """Alias to value, of the repository's and the user's git configuration. Included files are not read.

    Cost: a read of up to three small files. A file that can't be read has none.
    """
    found: dict[str, str] = {}
    paths = [f"{home}/.config/git/config", f"{home}/.gitconfig"] if home else []
    for path in [*paths, f"{common_dir}/config"] if common_dir else paths:
        try:
            found.update(_aliases_in(read_bytes(path, _ALIASES_BYTES).decode("utf-8", "replace")))
        except (OSError, ValueError):
            continue
    return found


def _aliases_in(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in map(str.strip, text.replace("\\\n", " ").splitlines()):
        if line.startswith("["):
            section, _, line = line[1:].partition("]")
            kind, _, name = section.partition(" ")
            inside, line = kind.strip().lower() == "alias", line.strip()
            name = name.strip().strip('"')
        if not inside or line[:1] in ("", "#", ";"):
            continue
        key, _, value = map(str.strip, line.partition("="))
        if value[:1] == value[-1:] == '"' and len(value) > 1:
            value = value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        # [alias "ci"] command = commit is the newer way to write it.
        found[(name or key).lower()] = value
    return found
