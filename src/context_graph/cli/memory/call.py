"""Reads the words of a `memory …` command, sends them to the owner as JSON, and shows the answer.

Used with and without Typer, which would cost five times as much as all else that `memory recall` does: so
values are converted here, and every message about a wrong one is ours.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from context_graph.cli.command_table import DB_PATH, JSON, OUTPUT
from context_graph.cli.console.calling import ask, finish, read_stdin
from context_graph.cli.console.terminal import print_folded, shown
from context_graph.cli.words import Argument, Option
from context_graph.errors import CommandLineError, InvalidInputError
from context_graph.wire.frames import CLIENT_PID

CALL_S: Final = 30.0
_TEXT_BYTES: Final = 1024 * 1024
"""More than 65,536 characters can take; the owner names the limit."""
_SHOWN_CHARS: Final = 60

Work = Callable[[str, dict[str, Any], "str | None"], Any]
"""(verb, arguments, --db-path) -> the answer."""


class Row(NamedTuple):
    """An option, or with a name without dashes an argument, of a command."""

    name: str
    wire: str
    """Its name in the request to the owner."""
    kind: str
    """text, flag, int, float, list, json or time; words joined by `|` for a choice; of arguments word, word?
    (it may be left out) or words, which are joined, or read from standard input for `-`."""

    @property
    def is_argument(self) -> bool:
        return not self.name.startswith("-")

    def word(self, *, help: str = "", metavar: str = "TEXT", default: str | None = None) -> Option | Argument:
        """The row as `words.read_words` and Typer take it."""
        if self.is_argument:
            name = {"required": self.kind != "word?", "many": self.kind == "words"}
            return Argument(self.name, self.wire, help, **name)
        choices = tuple(self.kind.split("|")) if "|" in self.kind else ()
        shown = "" if self.kind == "flag" or choices else metavar
        many = self.kind == "list"
        return Option(self.name, help, shown, choices, default, many=many, field=self.wire)


def ask_memory(
    verb: str,
    given: Mapping[str, Any],
    db_path: str | None,
    *,
    timeout_s: float = CALL_S,
    is_awaited: bool = False,
) -> Any:
    """The reply's JSON; a reply that failed ends the command as it says.

    Args:
        given: The verb's arguments; those that are None are left out.
        is_awaited: Whether what is asked for is to end with this process.
    """
    body = json.dumps({k: v for k, v in given.items() if v is not None}, ensure_ascii=False)
    sent = body.encode("utf-8", "replace")  # an argument need not be UTF-8
    params = {CLIENT_PID: str(os.getpid())} if is_awaited else {}
    reply = ask(verb, params, sent, db_path=db_path, timeout_s=timeout_s)
    if reply.exit_code:
        finish(reply)
    return json.loads(reply.stdout)


class Action(NamedTuple):
    """What a command does and shows."""

    text: Callable[[Any], str]
    """The answer as lines for people."""
    work: Work = ask_memory
    """What it does, if more than to ask the owner."""
    more: tuple[Option, ...] = ()
    """Options that only the command has."""


def rows_of(rows: Sequence[tuple[str, str, str]], action: Action) -> tuple[Row, ...]:
    """All rows of a command: the operation's, the action's and those that every command has."""
    own = (*action.more, OUTPUT, JSON, DB_PATH)
    return (*(Row(*row) for row in rows), *(Row(one.name, one.parameter, one.kind) for one in own))


def perform(verb: str, action: Action, rows: Sequence[Row], given: Mapping[str, Any]) -> None:
    """Do what a command is for and print the answer.

    Args:
        given: Values by wire names, as words; None, False and "" are options that were not given.
    """
    kinds = {row.wire: row for row in rows}
    sent = {
        name: converted(kinds[name], value)
        for name, value in given.items()
        if kinds[name].is_argument or not (value is None or value is False or value in ("", []))
    }
    output, as_json = sent.pop(OUTPUT.parameter, "text"), sent.pop(JSON.parameter, False)
    db_path = sent.pop(DB_PATH.parameter, None)
    found = action.work(verb, {k: v for k, v in sent.items() if v is not None}, db_path)
    if masked := found.get("masked"):
        told = ", ".join(f"{count} {kind}" for kind, count in masked.items())
        print(f"masked before it was written: {told}", file=sys.stderr)
    if as_json or output == "json":
        print(json.dumps(found, ensure_ascii=False))
    else:
        print_folded(shown(action.text(found)))


def converted(row: Row, value: Any) -> Any:
    """``value``, as it was typed, as the owner takes it.

    Raises:
        CommandLineError: It is not of the row's kind; names the option, the value and what is taken.
    """
    kind, name = row.kind, row.name
    if kind == "words":
        return text_given(row.wire, value if isinstance(value, str) else " ".join(value or ()))
    if kind in ("word", "word?", "text", "flag", "list"):
        return value
    if kind == "json":
        return _object(name, value)
    if kind == "time":
        from context_graph.cli.console.moments import moment  # few commands are given a time

        return moment(name, value)
    if kind in ("int", "float"):
        return _number(name, value, whole=kind == "int")
    if value not in kind.split("|"):
        raise CommandLineError(f"{name} is {_cut(value)}; choose one of {kind.replace('|', ', ')}")
    return value


def _number(name: str, text: str, *, whole: bool) -> float:
    try:
        found = int(text) if whole else float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise CommandLineError(f"{name} is {_cut(text)}; give a {'whole ' * whole}number")
    return found


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")


def text_given(name: str, text: str) -> str:
    """``text``, or for `-` standard input without its last newline; a terminal is not read from."""
    found = _piped() if text == "-" else text
    if not found:
        where = " on standard input" if text == "-" else ""
        raise CommandLineError(f"the {name}{where} is empty; give at least one character")
    return found


def _piped() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        raise CommandLineError("-: nothing is piped in; give the text as an argument, or pipe it")
    given = read_stdin(_TEXT_BYTES)
    try:
        return given.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"stdin: not UTF-8 at byte {error.start}; encode it as UTF-8") from error


def _object(name: str, text: str) -> dict[str, Any]:
    cure = 'give one such as {"area": "api"}'
    try:
        found = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise CommandLineError(f"{name}: {_cut(text)} is no JSON ({error}); {cure}") from error
    if not isinstance(found, dict):
        raise CommandLineError(f"{name}: {_cut(text)} is no JSON object; {cure}")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")
