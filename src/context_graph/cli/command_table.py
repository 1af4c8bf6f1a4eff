"""Lists all commands: which groups there are, and which module has whose; loads only what is named.

A module has its commands in ``COMMANDS``. Help, completion, the man page and the tables of docs/commands.md
come from there. Imports no Typer, which costs 0.1 s a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Final

from context_graph.cli.words import Command

PROGRAM: Final = "context-graph-cli"


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that begin with the same word."""

    short: str
    """In the words of a list, where ``help`` would be cut at 80 columns."""
    help: str
    module: str
    """Below this package."""
    quick: str = ""
    """A module with ``plain``, for a group whose help is dear, or whose words are no mere names."""


GROUPS: Final = {
    "memory": Group(
        "What this project remembers",
        "Store, find, show, link and forget what this project remembers; consolidate it; move it as files.",
        "memory.typed",
        "memory.actions",
    ),
    "session": Group(
        "Sessions and what they were about",
        "List, show, export and import sessions; begin and save one by hand.",
        "session",
    ),
    "consciousness": Group(
        "How well a session keeps to its goal",
        "How well a session keeps to what it is about: on one line, as a warning, as context, in numbers.",
        "consciousness",
    ),
    "req": Group(
        "What must be met before a tool runs",
        "Requirements: what must be met before a tool runs or a session stops.",
        "req.commands",
        "req.commands",
    ),
    "hub": Group(
        "A team's memories through a PostgreSQL",
        "A team's memories through a PostgreSQL of its own.",
        "exchange.hub_batch",
    ),
    "hooks": Group(
        "What the client calls, and its configuration",
        "Serve the client's hook events, and write the configuration that calls them.",
        "hooks",
    ),
    "owner": Group(
        "The process that holds the stores",
        "Start, stop and inspect the owner, the process that holds the stores. Any command starts it.",
        "owner",
    ),
}
WITHIN: Final = {
    "req config": "What all files say together",
    "req git-hooks": "Have git ask, for programs other than Claude Code",
}
"""Groups within groups."""
ALONE: Final = {
    "setup": "setup",
    "status": "status",
    "doctor": "doctor.command",
    "view": "view",
    "report": "view",
    "sync": "exchange.sync",
    "backup": "backup.command",
    "restore": "backup.command",
    "repair": "backup.command",
    "mcp": "native",
    "help": "about_itself",
    "completion": "about_itself",
}
"""Commands of one word, by the module that has them."""


def find(words: Sequence[str]) -> tuple[Command, Sequence[str]] | None:
    """Return the command that ``words`` begin with, and what is left of them; None for no such command."""
    if not words:
        return None
    name, rest = words[0], words[1:]
    if name in ALONE:
        return alone(name), rest
    group = GROUPS.get(name)
    if group is None:
        return None
    if group.quick:
        match: tuple[Command, Sequence[str]] | None = _module(group.quick).plain(rest)
        return match
    return next(((command, rest[1:]) for command in below(name) if rest[:1] == [command.word]), None)


def alone(word: str) -> Command:
    """Return the command of that one word."""
    commands: tuple[Command, ...] = _module(ALONE[word]).COMMANDS
    return next(command for command in commands if command.word == word)


def below(group: str) -> tuple[Command, ...]:
    """Return the commands of a group, in the order of its help."""
    commands: tuple[Command, ...] = _module(GROUPS[group].module).COMMANDS
    return commands


def every_command() -> Iterator[tuple[str, Command]]:
    """Yield each command by all its words. Loads all modules, which takes 0.1 s."""
    for group in GROUPS:
        for command in below(group):
            yield f"{group} {command.word}", command
    for word in ALONE:
        yield word, alone(word)


def _module(name: str) -> ModuleType:
    return import_module(f"context_graph.cli.{name}")
