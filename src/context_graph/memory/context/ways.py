"""Counts how a session tested, built, linted and ran: each form of a command, and how it went.

The counts only grow, so that what a session did since it was last looked at is a difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from context_graph.notes.command_lines import Command, commands_in, failed_by, line_of, written_by
from context_graph.notes.failures import ABSENT
from context_graph.text import phrases
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

Way = dict[str, Any]
"""kind, key, ok, failed, options (option -> runs), example (the last run without failure), error (of the last
failed run), then (what was run next without failure)."""

MAX_WAYS: Final = 16
MAX_FAILING: Final = 8
MAX_MADE: Final = 24
_ERROR_CHARS: Final = 100
_NAMED: Final = linear(
    r"(?m)^(?:FAILED|ERROR) (\S+::\S+)|^(?:FAIL|ERROR): (\S+(?: \([\w.]+\))?)|^\s*--- FAIL: (\S+)|"
    r"^test (\S+) \.\.\. FAILED|^\s+(?:●|✕|✗|×) (.+)|^not ok \d+ (.+)"
)
_ENTERS: Final = linear(r"cd (\S+) && ")
_NAMES: Final = 6
_NAME_CHARS: Final = 80


def take_runs(
    ways: dict[str, Way],
    failing: dict[str, str],
    made: list[str],
    given: str,
    output: str,
    *,
    failed: bool,
    root: str,
) -> None:
    """Count a call of the shell.

    Args:
        ways: Form -> its counts, in order of the last run.
        failing: Runs of tests whose last outcome was a failure -> the tests that failed, or the error.
        made: Files that the session itself wrote: a script among them is no way of this project.
        given: The command, paths relative to ``root``.
    """
    line = line_of(given)
    for path in written_by(line):
        note_made(made, path)
    commands = [_without_scratch(one, made) for one in commands_in(line)]
    if failed and commands:
        # Of a chain that failed nobody says how far it came; most often its point is what failed.
        commands = [next((one for one in reversed(commands) if one.kind), commands[-1])]
    for command in commands:
        raw = command.raw.removeprefix(f"cd {root.rstrip('/')} && ") if root else command.raw
        command = replace(command, raw=raw)
        broke = failed or (command.hidden and bool(command.kind) and failed_by(output))
        _count(ways, command, output, failed=broke)
        if command.kind == "test":
            _note_outcome(failing, command, output, failed=broke)


def note_made(made: list[str], path: str) -> None:
    """Note that the session wrote the file ``path``; keeps the newest `MAX_MADE`."""
    if path in made:
        made.remove(path)
    made.append(path)
    del made[:-MAX_MADE]


def ways_of_counts(
    commands: Mapping[str, int], failures: Mapping[str, str], overcome: Mapping[str, str]
) -> dict[str, Way]:
    """The ways in a summary that an earlier build made: it counted whole commands, without their folder."""
    ways: dict[str, Way] = {}
    for line, count in commands.items():
        for command in commands_in(line):
            error = failures.get(line, "")
            _count(ways, command, error, failed=bool(error))
            ways[command.form]["failed" if error else "ok"] += count - 1
            if line in overcome:
                ways[command.form]["failed"] += 1
    return ways


def _without_scratch(command: Command, made: list[str]) -> Command:
    """A script of the session's own is as good as a snippet, and so is what runs in a folder it made."""
    entered = _ENTERS.match(command.raw)
    folder = f"{entered[1].rstrip('/')}/" if entered else ""
    if folder + command.script in made or (folder and any(path.startswith(folder) for path in made)):
        program = command.form.split()[0]
        return Command("", program, program.rsplit("/", 1)[-1].rstrip("0123456789."), command.raw)
    return command


def _count(ways: dict[str, Way], command: Command, output: str, *, failed: bool) -> None:
    way = ways.pop(command.form, None) or {
        "kind": command.kind,
        "key": command.key,
        "ok": 0,
        "failed": 0,
        "options": {},
        "example": "",
        "error": "",
        "then": "",
    }
    way["failed" if failed else "ok"] += 1
    for option in command.options:
        if option in way["options"] or len(way["options"]) < MAX_WAYS:
            way["options"][option] = way["options"].get(option, 0) + 1
    if failed:
        way["error"] = phrases.error_line(output, _ERROR_CHARS)
    elif command.kind:
        way["example"] = command.raw
        _note_what_worked(ways, command)
    ways[command.form] = way
    if len(ways) > MAX_WAYS:
        least = next((form for form, one in ways.items() if not one["kind"] and not one["failed"]), None)
        del ways[least or next(iter(ways))]


def _note_what_worked(ways: dict[str, Way], command: Command) -> None:
    for form, other in ways.items():
        if form != command.form and other["kind"] == command.kind and not other["ok"] and not other["then"]:
            other["then"] = command.form


def _note_outcome(failing: dict[str, str], command: Command, output: str, *, failed: bool) -> None:
    if failed and ABSENT.found(output):
        return  # what an environment lacks is no failing test
    if failed:
        failing.pop(command.raw, None)
        names = [shortened(next(filter(None, found.groups())), _NAME_CHARS) for found in _first(output)]
        failing[command.raw] = ", ".join(dict.fromkeys(names)) or phrases.error_line(output, _ERROR_CHARS)
        if len(failing) > MAX_FAILING:
            del failing[next(iter(failing))]
        return
    whole = not _arguments(command)
    for raw in [one for one in failing if one == command.raw or (whole and command.form in one)]:
        del failing[raw]


def _first(output: str) -> list[Any]:
    return [found for _, found in zip(range(_NAMES), _NAMED.finditer(output), strict=False)]


def _arguments(command: Command) -> bool:
    """Whether the run was of certain tests, not of all."""
    rest = command.raw.rsplit(command.form, 1)[-1]
    return any(not word.startswith(("-", "2>", ">")) for word in rest.split())
