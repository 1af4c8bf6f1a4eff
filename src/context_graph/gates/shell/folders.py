"""Follows `cd`, `pushd` and git's variables through the commands of a line: in which folder each runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from context_graph.gates.shell.command import STAR, UNKNOWN, Command, is_plain, names
from context_graph.gates.shell.on_disk import OnDisk, entered

GIT_VARIABLES = names("GIT_DIR GIT_WORK_TREE")
_MOVING = names("cd pushd popd")
_EXPORTING = names("export declare typeset readonly local")
_FOLDERS = 4
_PLACES = 64
_GLOBS = 8


@dataclass(frozen=True, slots=True)
class _Position:
    """A shell's place: the folders it certainly is in, one after the other, and all that it may be in."""

    places: list[str]
    possible: list[str]


class _Shell:
    """The folders of one shell of a line, with those saved by pushd, and git's variables in it."""

    def __init__(self, position: _Position, variables: Mapping[str, str]) -> None:
        self.stack = [position]
        self.then: _Position | None = None
        """Where it stands after the next command, which runs where `cd X ||` could not enter X."""
        self.before: _Position | None = None
        """Where `cd -` leads."""
        self.variables = dict(variables)


class _Folders:
    """The shells of one line, and which of the folders are there."""

    def __init__(self, cwd: str, home: str, starts: Mapping[tuple[int, ...], str]) -> None:
        self.home, self.starts = home, starts
        start = _Shell(_Position([cwd], [cwd]), {})
        self.shells: dict[tuple[int, ...], _Shell] = {(0,): start}
        self.disk = OnDisk(cwd)

    def of(self, shell: tuple[int, ...]) -> tuple[tuple[int, ...], _Shell]:
        """The nearest shell around that is known; one that begins in a folder of its own becomes known."""
        missing, known = [], shell
        while known not in self.shells:
            missing.append(known)
            known = known[:-1] or (0,)
        for one in reversed(missing):
            if one in self.starts:
                parent = self.shells[known]
                position = self.within(parent.stack[-1], self.starts[one])
                self.shells[one], known = _Shell(position, parent.variables), one
        return known, self.shells[known]

    def own(self, shell: tuple[int, ...]) -> _Shell:
        """That shell itself, which is about to change."""
        known, found = self.of(shell)
        if known != shell:
            found = self.shells[shell] = _Shell(found.stack[-1], found.variables)
        return found

    def within(self, position: _Position, target: str) -> _Position:
        """``position`` after a move to ``target`` that must succeed."""
        found = [one for place in position.places for one in self.disk.named(place, target)]
        places = list(dict.fromkeys(found))[:_PLACES]
        possible = [entered(one, target) or UNKNOWN for one in position.possible]
        return _Position(places or position.places, list(dict.fromkeys(possible))[:_FOLDERS])


def follow_folders(
    commands: Sequence[Command], cwd: str, home: str, starts: Mapping[tuple[int, ...], str]
) -> None:
    """Note in each command where it runs; a subshell begins in its parent's folder.

    ``starts`` has the shells that a program starts in another folder. Cost: up to 68 stat calls for a `cd`,
    20,000 for all; a listing of 2,000 entries where a folder is a glob, or not known.
    """
    folders = _Folders(cwd, home, starts)
    for command in commands:
        known, shell = folders.of(command.shell)
        position = shell.stack[-1]
        if command.chdir:
            position = folders.within(position, command.chdir)
        command.places, command.folders = position.places, position.possible
        command.folder = position.places[0]
        if known == command.shell and shell.then is not None:
            shell.stack[-1], shell.then = shell.then, None
        if shell.variables:
            command.exported = list(shell.variables.items())
        if command.ends in ("|", "|&", "&"):
            continue
        if command.program in _MOVING:
            _move(command, folders.own(command.shell), folders)
        else:
            _export(command, folders)


def _export(command: Command, folders: _Folders) -> None:
    """Keep git's variables that the command sets for those after it."""
    rest = command.words[1:]
    if command.program in _EXPORTING:
        given = [(name, value) for name, _, value in (word.partition("=") for word in rest) if value]
    else:
        given = [] if command.words else command.assigned
    set_now = [(name, value) for name, value in given if name in GIT_VARIABLES]
    gone = [name for name in rest if name in GIT_VARIABLES] if command.program == "unset" else []
    if set_now or gone:
        shell = folders.own(command.shell)
        shell.variables.update(set_now)
        for name in gone:
            shell.variables.pop(name, None)


def _move(command: Command, shell: _Shell, folders: _Folders) -> None:
    program, here = command.program, shell.stack[-1]
    if program == "popd":
        if len(shell.stack) > 1:
            shell.stack.pop()
        return
    back = shell.before if command.words[1:] == ["-"] else None
    position = back or _moved(command, here, folders)
    if position.places != here.places:
        shell.before = here
    if program == "pushd":
        shell.stack.append(position)
    elif command.ends == "||":
        shell.then = position
    else:
        shell.stack[-1] = position


def _moved(command: Command, here: _Position, folders: _Folders) -> _Position:
    """Where a `cd` leads. With several words, as a loop's variable has them, to each of them; with a glob, to
    each that fits it; with what only a run would tell, to any below.
    """
    words = [word for word in command.words[1:] if not word.startswith("-") or word == "-"]
    words = words or ([folders.home] if command.program == "cd" else [])
    targets = [UNKNOWN if word in ("", "-") else word for word in words] or [UNKNOWN]
    go = entered if "-P" in command.words else _logically
    pairs = list(islice(((place, target) for target in targets for place in here.places), _PLACES))
    tried = [go(place, target) for place, target in pairs if is_plain(target)]
    places = [path for path in dict.fromkeys(tried) if folders.disk.is_there(path)]
    missed = len(targets) > 1 and len(places) < len(tried)
    for place, target in pairs:
        if not is_plain(target):
            places += folders.disk.named(place, target)
            missed |= UNKNOWN in target or command.ends != "&&"
    new = [_followed(go(one, target)) for target in targets[:_FOLDERS] for one in here.possible]
    there = [one for one in new if folders.disk.is_there(one)]
    sure = command.ends == "&&" or len(there) == len(new)
    stays = not places or missed
    return _Position(
        list(dict.fromkeys([*places, *(here.places if stays else [])]))[:_PLACES],
        list(dict.fromkeys(new if sure else [*new, *here.possible]))[:_FOLDERS],
    )


def _followed(path: str) -> str:
    """``path``, or any where it has too many marks to be compared with others."""
    return path if path and path.count(STAR) + path.count(UNKNOWN) <= _GLOBS else UNKNOWN


def _logically(folder: str, target: str) -> str:
    """As ``entered``, for a `cd`, which takes `..` for the folder before it even behind a link."""
    path = entered(folder, target)
    return os.path.normpath(path) if ".." in target and is_plain(path) and path else path
