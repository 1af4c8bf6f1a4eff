"""What `setup` and `setup --remove` are to change, worked out before anything is written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from context_graph.errors import InvalidInputError
from context_graph.hooks_config.changes import Change, read_text
from context_graph.setup.entries import add_server, add_to_settings, drop_server, take_from_settings
from context_graph.setup.record import Record
from context_graph.setup.scope import Scope

__all__ = ["Options", "Setup", "plan_removal", "plan_setup", "plugin_folder", "remove_folders"]


@dataclass(frozen=True, slots=True)
class Options:
    """What is wanted beside the hooks."""

    servers: bool = True
    skills: bool = True
    permissions: bool = True
    status_line: bool = False


@dataclass(slots=True)
class Setup:
    """Changes to be made, and what a person should know of them."""

    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def needed(self) -> list[Change]:
        """Those that change something."""
        return [change for change in self.changes if change.is_needed]


def plugin_folder() -> Path:
    """The Claude Code plugin that comes with the package: hooks, server, skills."""
    return Path(__file__).parent.parent / "data" / "plugin"


def plan_setup(scope: Scope, record: Record, options: Options) -> Setup:
    """Hooks, and what else ``options`` say, merged into what is there. Reads, writes nothing.

    Raises:
        InvalidInputError: A file that can't be merged; names it.
        ConfigError: A file that can't be read.
    """
    made = Setup()
    for name, text in _skills() if options.skills else ():
        _plan_skill(made, record, scope.skills / name / "SKILL.md", text)
    if options.servers and scope.servers is not None:
        made.changes.append(_merged(scope.servers, add_server))
    elif options.servers:
        made.notes.append(
            "the memory tools: run  claude mcp add --scope user context-graph -- context-graph-cli mcp"
        )
    wanted = options.permissions, options.status_line
    made.changes.append(
        _merged(
            scope.settings,
            lambda text: add_to_settings(text, permissions=wanted[0], status_line=wanted[1]),
        )
    )
    return made


def plan_removal(scope: Scope, record: Record) -> Setup:
    """The files as they were before `setup`; of those edited since, all but what is ours.

    Raises as `plan_setup`.
    """
    made = Setup()
    made.changes.append(_undone(record, scope.settings, take_from_settings))
    if scope.servers is not None:
        made.changes.append(_undone(record, scope.servers, drop_server))
    else:
        made.notes.append("the memory tools: run  claude mcp remove --scope user context-graph")
    for name, text in _skills():
        path = scope.skills / name / "SKILL.md"
        now = read_text(path)
        ours, before = record.original(path, now)
        if ours or now == text:
            made.changes.append(Change(path, now, before))
        elif now is not None:
            made.notes.append(f"{path} has been edited and stays")
    return made


def remove_folders(scope: Scope, record: Record) -> None:
    """Take away folders that `setup` made, and skills' folders of ours, if nothing is in them."""
    skills = [scope.skills / name for name, _ in _skills()]
    for folder in [*skills, *(reversed(record.folders) if record.is_known else [scope.skills])]:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _skills() -> list[tuple[str, str]]:
    found = sorted((plugin_folder() / "skills").glob("*/SKILL.md"))
    return [(path.parent.name, path.read_text(encoding="utf-8")) for path in found]


def _plan_skill(made: Setup, record: Record, path: Path, text: str) -> None:
    now = read_text(path)
    if now is None or now == text or record.original(path, now)[0]:
        made.changes.append(Change(path, now, text))
    else:
        made.notes.append(f"{path} is there and not ours; it stays as it is")


def _merged(path: Path, merge: Callable[[str], str]) -> Change:
    before = read_text(path)
    try:
        return Change(path, before, merge(before or ""))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def _undone(record: Record, path: Path, take_out: Callable[[str], str]) -> Change:
    now = read_text(path)
    if now is None:
        return Change(path, None, None)
    as_written, before = record.original(path, now)
    if as_written:
        return Change(path, now, before)
    try:
        return Change(path, now, take_out(now))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error
