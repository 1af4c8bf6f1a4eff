"""Follows lists of files' names through the variables, substitutions and files of a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from context_graph.gates.shell.command import DECLARING, Command, names
from context_graph.gates.shell.listings import Listed
from context_graph.gates.shell.programs import CONTENT_PRINTERS, COUNTERS

KEEPING = names("read for select mapfile readarray")
"""Programs that keep what they read for later commands."""

_READING = CONTENT_PRINTERS | {"xargs"}
_LOOPS = 64
"""Loops of one line whose input is followed."""

_FILES = 64
"""Files of one line that a list is written to and that are followed."""


class Lists:
    """Which variables and files have a list of names, and what of our files' names is in it."""

    def __init__(self) -> None:
        self._variables: dict[str, Listed] = {}
        self._files: dict[str, Listed] = {}
        self._printed: dict[int, Listed] = {}
        self._wrappers: list[int] = []

    def taken(self, command: Command) -> Listed:
        """What the command is given of our files' names by a list that has left its pipe."""
        found = [self._variables[name] for name in command.takes if name in self._variables]
        found += [self._printed[id(one)] for one in command.inside if id(one) in self._printed]
        if self._files:
            read = [target for _, target in command.inputs]
            read += command.words[1:] if command.program in _READING else []
            found += [self._files[word] for word in read if word in self._files]
        return max(found, default=Listed.NOTHING)

    def note(self, command: Command, given: Listed, *, passed_on: bool) -> None:
        """Keep what the command prints and what its variables have: ``given``.

        ``passed_on``: its pipe takes that further.
        """
        counted = command.program in COUNTERS
        if command.captured and not passed_on:
            self._wrappers.append(id(command))
            if not command.wraps:  # what a wrapper starts prints for it
                self._printed.update(dict.fromkeys(self._wrappers, Listed.NOTHING if counted else given))
                self._wrappers.clear()
        for sign, target in written_to(command):
            if target in self._files or len(self._files) < _FILES:
                before = self._files.get(target, given) if ">>" in sign else Listed.NOTHING
                self._files[target] = max(before, Listed.NOTHING if counted else given)
        for one in _set_by(command):
            name = one.removesuffix("+").removesuffix("[]")
            before = self._variables.get(name, given) if name != one else given
            if given or name in self._variables:
                self._variables[name] = max(given, before)


def written_to(command: Command) -> list[tuple[str, str]]:
    """The redirections by which a file gets what the command prints."""
    return [
        (sign, target)
        for sign, target in command.redirects
        if ">" in sign and sign[:1] != "2" and target[:1] != "&" and target != "/dev/null"
    ]


def only_sets(command: Command) -> bool:
    """Whether the command does no more than set variables: what takes them can be told by their names."""
    return not command.captured and (
        not command.words or command.program == "for" or command.program in DECLARING
    )


def _set_by(command: Command) -> Iterable[str]:
    """The variables that the command sets; one that it adds to has a sign behind its name."""
    rest = command.words[1:]
    yield from (name for name, _ in command.assigned)
    if command.program in DECLARING:
        yield from (word.partition("=")[0] for word in rest if "=" in word)
    elif command.program in ("for", "select"):
        yield from rest[:1]
    elif command.program in KEEPING:
        yield from (word for word in rest if word[:1] != "-")
        yield "REPLY"
        yield "MAPFILE"


def fed_first(commands: Sequence[Command]) -> list[Command]:
    """The commands of a line in the order in which names go through them: what feeds a loop, which stands
    behind it (`done < <(git ls-files)`), comes before the loop's ``read``.
    """
    found: list[Command] = []
    loops = 0
    open_reads: list[Command] = []
    for command in commands:
        if command.program in KEEPING and command.source is None and command.program != "for":
            open_reads.append(command)
        feeds = not command.words and not command.assigned
        feeds &= command.stdin is not None or bool(command.inputs)
        reader = open_reads.pop() if feeds and open_reads and loops < _LOOPS else None
        if reader is not None:
            loops += 1
            reader.inside, reader.takes = [*reader.inside, *command.inside], reader.takes | command.takes
            reader.redirects += command.inputs
            first = _place_of(command.inside[0], found) if command.inside else len(found)
            moved = found[first:]
            del found[first:]
            at = _place_of(reader, found)
            found[at:at] = moved
        found.append(command)
    return found


def _place_of(command: Command, among: Sequence[Command]) -> int:
    """Where the command itself stands, looked for from the end; the end where it does not."""
    return next((at for at in range(len(among) - 1, -1, -1) if among[at] is command), len(among))
