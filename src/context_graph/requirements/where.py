"""Which projects a call acts on: a file's by the checkout it lies in, a command's by the folder it runs
in."""

from __future__ import annotations

import os

from context_graph.requirements.project import Project, find_project, resolved
from context_graph.requirements.triggers import command_of, targets_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from context_graph.requirements.cache import GateCache
    from context_graph.requirements.event import GateEvent
    from context_graph.requirements.rules import Requirement, Rules

__all__ = ["Part", "acted_on", "project_of", "session_projects"]


class Part:
    """One project that a call acts on, and the commands of the call that run there ([] for all of it)."""

    __slots__ = ("commands", "elsewhere", "project")

    def __init__(self, project: Project, commands: list[str], elsewhere: list[str]) -> None:
        self.project, self.commands, self.elsewhere = project, commands, elsewhere

    def triggered(self, rules: Rules, event: GateEvent) -> list[Requirement]:
        """The active requirements that the call triggers here."""
        from context_graph.requirements.triggers import matching

        known: list[dict[str, str]] = []

        def aliases() -> dict[str, str]:
            if not known:  # files are read once a call, however many requirements ask
                from context_graph.requirements.git_aliases import git_aliases

                repo = self.project.repo
                known.append(git_aliases(repo.common_dir if repo else "", event.home))
            return known[0]

        found = matching(rules, event.tool_name, event.tool_input, aliases)
        if not found or not self.elsewhere:
            return found
        here, there = (
            {
                entry.name
                for one in texts
                for entry in matching(rules, event.tool_name, {"command": one}, aliases)
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
        there = _of_folder(os.path.dirname(_absolute(path, event.cwd)), event) or own
        if there is not None and there.repo is not None and not any(there.is_same(one) for one in found):
            found.append(there)
    if not found and own is not None and own.repo is not None:
        found = [own]
    return [Part(project, [], []) for project in found]


def _of_command(event: GateEvent, command: str) -> list[Part]:
    from context_graph.requirements.command_folders import command_folders

    found: list[tuple[Project, list[str]]] = []
    for folder, text in command_folders(command, event.cwd, event.home):
        project = find_project(folder, event.project_dir, claude_dir=event.claude_dir)
        if project is None or project.repo is None:
            continue
        texts = next((texts for one, texts in found if one.is_same(project)), None)
        if texts is None:
            found.append((project, [text]))
        else:
            texts.append(text)
    every = [(project, text) for project, texts in found for text in texts]
    return [
        Part(project, texts, [text for other, text in every if other is not project])
        for project, texts in found
    ]


def _of_folder(folder: str, event: GateEvent) -> Project | None:
    if not folder:
        return None
    known = (event.cwd, event.project_dir)
    found = find_project(folder, "", claude_dir=event.claude_dir, known=known)
    return found if found is not None and found.repo is not None else None


def _absolute(path: str, cwd: str) -> str:
    return resolved(os.path.join(cwd, os.path.expanduser(path)))


def session_projects(event: GateEvent, cache: GateCache | None) -> list[Project]:
    """The projects that the session works in: the working folder's first, then those it was seen in."""
    from context_graph.requirements.registry import Registry

    found = []
    own = project_of(event)
    if own is not None and own.repo is not None:
        found.append(own)
    for folder in Registry(event.claude_dir, cache).folders(event.session_id):
        other = find_project(folder, "", claude_dir=event.claude_dir)
        if other is not None and other.repo is not None and not any(other.is_same(one) for one in found):
            found.append(other)
    return found
