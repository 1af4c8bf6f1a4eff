"""Counts how a session tested, built, linted and ran, form by form of a command, and follows its to-dos.

The counts only grow, so that what a session did since it was last looked at is a difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from context_graph.model import EventParts
from context_graph.notes.command_lines import (
    Command,
    commands_in,
    failed_tests,
    hid_failure,
    line_of,
    written_by,
)
from context_graph.notes.failures import ABSENT
from context_graph.text import phrases
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened
from context_graph.text.shell_lines import read_line

Way = dict[str, Any]
"""kind, key, ok, failed, options (option -> runs without failure), example (the last run without
failure), error (of the last failed run), then (what was run next without failure)."""

MAX_WAYS: Final = 16
MAX_FAILING: Final = 8
MAX_MADE: Final = 24
_ERROR_CHARS: Final = 100
_NOT_RUN: Final = linear(
    r"(?i)file or directory not found|no tests ran|no tests? (?:were )?found|collected 0 items|^usage:|"
    r"unrecognized arguments|errors? during collection|error collecting"
)
"""Nothing was tested, whatever the exit code."""
_NARROWS: Final = (" -k ", " -m ", "::", "--lf", "--last-failed", " -t ", " -run ", "--grep")
_ENTERS: Final = linear(r"cd (\S+) && ")
_LINE: Final = linear(r":\d+(?::\d+)?$")


def take_runs(
    ways: dict[str, Way],
    failing: dict[str, str],
    passed: list[str],
    made: list[str],
    typed: str,
    output: str,
    *,
    failed: bool,
    root: str,
) -> None:
    """Count a call of the shell.

    Args:
        ways: Form -> its counts, in order of the last run.
        failing: Runs of tests whose last outcome was a failure -> the tests that failed, or the error.
        passed: Runs of tests that worked once, the last ones.
        made: Files that the session itself wrote: a script among them is no way of this project.
        typed: The command, paths relative to ``root``.
    """
    line = line_of(typed)
    written = (path for each in read_line(typed).commands for path in each.writes)
    for path in (*written_by(line), *written):
        note_made(made, path.removeprefix("./"))
    commands = [_without_scratch(command, made) for command in commands_in(line)]
    if failed and commands:
        # Of a chain that failed nobody says how far it came; most often its point is what failed.
        commands = [next((each for each in reversed(commands) if each.kind), commands[-1])]
    for command in commands:
        raw = command.raw.removeprefix(f"cd {root.rstrip('/')} && ") if root else command.raw
        command = replace(command, raw=raw)
        broke = failed or hid_failure(command, output)
        _count(ways, command, output, failed=broke)
        if command.kind == "test":
            _note_outcome(failing, passed, made, command, output, failed=broke)


def note_made(made: list[str], path: str) -> None:
    """Note that the session wrote the file ``path``; keeps the newest `MAX_MADE`."""
    if path in made:
        made.remove(path)
    made.append(path)
    del made[:-MAX_MADE]


def _without_scratch(command: Command, made: list[str]) -> Command:
    """Return the command, as a snippet if it runs a script of the session's own, or in a folder it made."""
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
    for option in () if failed else command.options:
        if option in way["options"] or len(way["options"]) < MAX_WAYS:
            way["options"][option] = way["options"].get(option, 0) + 1
    if failed:
        way["error"] = phrases.error_line(output, _ERROR_CHARS)
    elif command.kind:
        way["example"] = command.raw
        _note_what_worked(ways, command)
    ways[command.form] = way
    if len(ways) > MAX_WAYS:
        least = next((form for form, way in ways.items() if not way["kind"] and not way["failed"]), None)
        del ways[least or next(iter(ways))]


def _note_what_worked(ways: dict[str, Way], command: Command) -> None:
    for form, other in ways.items():
        if form != command.form and other["kind"] == command.kind and not other["ok"] and not other["then"]:
            other["then"] = command.form


def _note_outcome(
    failing: dict[str, str],
    passed: list[str],
    made: list[str],
    command: Command,
    output: str,
    *,
    failed: bool,
) -> None:
    if not failed:
        for run in list(failing):
            why = failing.pop(run)
            left = None if _covers(command, run) else _without_passed(command, run, why)
            if left is not None:
                failing[left[0]] = left[1]
        passed[:] = [*(run for run in passed if run != command.raw), command.raw][-MAX_FAILING:]
        return
    files = _files(command.raw, command.form)
    if ABSENT.found(output) or _NOT_RUN.found(output) or (files and all(path in made for path in files)):
        return  # what an environment lacks, and a script of the session's own, is no failing test
    failing.pop(command.raw, None)
    failing[command.raw] = ", ".join(failed_tests(output)) or phrases.error_line(output, _ERROR_CHARS)
    if len(failing) > MAX_FAILING:
        del failing[next(iter(failing))]


def _covers(passed: Command, failed: str) -> bool:
    """Return whether a run that worked is of all the tests of one that failed, or more."""
    if passed.raw == failed:
        return True
    same = [
        command for command in commands_in(failed) if command.kind == "test" and command.key == passed.key
    ]
    if not same or any(mark in f"{_behind(passed.raw, passed.form)} " for mark in _NARROWS):
        return False
    of_it, wanted = _files(passed.raw, passed.form), _files(failed, same[0].form)
    return not of_it or bool(wanted and all(any(_is_below(path, top) for top in of_it) for path in wanted))


def _without_passed(passed: Command, run: str, why: str) -> tuple[str, str] | None:
    """Return a failed run and its tests without the files whose tests passed since; None if none is left."""
    if any(mark in f"{_behind(passed.raw, passed.form)} " for mark in _NARROWS):
        return run, why
    done = [path for path in _files(passed.raw, passed.form) if "/" in path or "." in path]
    names = why.split(", ")
    located = [name for name in names if "::" in name]
    left = [name for name in names if name not in located or not _is_among(name.split("::")[0], done)]
    words = run.split(" ")
    rest = [word for word in words if not _is_among(_LINE.sub("", word.split("::")[0]), done)]
    wanted = [
        path for command in commands_in(run) if command.kind == "test" for path in _files(run, command.form)
    ]
    over = (located and not left) or (wanted and len(words) - len(rest) == len(wanted))
    return None if over else (" ".join(rest), ", ".join(left) or why)


def _is_among(path: str, tops: Iterable[str]) -> bool:
    """Return whether a path is one of ``tops`` or below it, where each may begin in a folder of its own."""
    return any(_is_below(path, top) or path.endswith(f"/{top}") or top.endswith(f"/{path}") for top in tops)


def has_passed(run: str, passed: Iterable[str]) -> bool:
    """Whether one of the runs that ``passed`` is of all the tests of ``run``, or more."""
    commands = (command for raw in passed for command in commands_in(raw))
    return any(_covers(command, run) for command in commands if command.kind == "test")


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top.rstrip('/')}/")


def _files(raw: str, form: str) -> list[str]:
    """Return what a run of tests was given to run, each without the test's own name."""
    rest = _behind(raw, form).split(" | ")[0]
    return [word.split("::")[0] for word in rest.split() if not word.startswith(("-", "2>", ">"))]


def _behind(raw: str, form: str) -> str:
    """Return what stands behind the program and its module."""
    return raw.rsplit(form, 1)[-1]


_STATES: Final = frozenset({"pending", "in_progress"})
_DONE: Final = frozenset({"completed", "deleted"})
_MAX_TASKS: Final = 64
_SUBJECT_CHARS: Final = 100


def take(tasks: dict[str, list[str]], parts: EventParts) -> None:
    """Update ``tasks`` (id -> [state, subject] of each open task) by a call that succeeded."""
    if len(parts.todo) != 3 or not parts.todo[0]:
        return
    number, state, subject = parts.todo
    if state in _DONE:
        tasks.pop(number, None)
        return
    known = tasks.get(number)
    if known is None and not subject:
        return
    before = known or ["pending", ""]
    tasks[number] = [state if state in _STATES else before[0], subject[:_SUBJECT_CHARS] or before[1]]
    while len(tasks) > _MAX_TASKS:
        del tasks[next(iter(tasks))]


def open_todos(parts: EventParts) -> list[str]:
    """Return what a to-do list still has open, the item in progress first."""
    items = [(todo[0], todo[1]) for todo in parts.todos if len(todo) == 2 and todo[1]]
    items.sort(key=lambda item: item[0] != "in_progress")
    return [shortened(what, _SUBJECT_CHARS) for state, what in items if state not in _DONE]
