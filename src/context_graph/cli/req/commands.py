"""Has the `req …` commands of the table, and runs them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from context_graph.cli.console.terminal import complain, print_folded, shown
from context_graph.cli.req import run as req_run
from context_graph.cli.req.table import ACTIONS, Action
from context_graph.cli.words import Command
from context_graph.config import locate
from context_graph.errors import UsageError
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.gates.event import CACHE_FOLDER


def plain(words: Sequence[str]) -> tuple[Command, Sequence[str]] | None:
    """Return the command that ``words`` (behind `req`) name, and what is left of them.

    No word at all means `status`; `config NAME` means `config show NAME`, as in the original.
    """
    name, rest = _named(words)
    return None if name is None else (_command(name), rest)


def _named(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        return "status", words
    for length in (1, 2):
        name = " ".join(words[:length])
        if len(words) >= length and name in ACTIONS:
            return name, words[length:]
    if words[0] == "config" and words[1:2] not in (["-h"], ["--help"]):
        return "config show", words[1:]
    return None, words


def _command(name: str) -> Command:
    action = ACTIONS[name]
    takes = (*((action.words,) if action.words else ()), *action.options)
    return Command(name, partial(_run, name), action.short, takes, action.help, action.codes)


def _run(name: str, /, *, as_json: bool = False, **values: Any) -> int:
    """Run the command with what was given; its exit code.

    Raises:
        UsageError: What the user has to mend; exit code 1.
    """
    options = {key: value for key, value in values.items() if value not in (None, "", False)}
    try:
        return _done(ACTIONS[name], options, as_json=as_json)
    except OSError as error:
        raise unwritable(f"`req {name}` could not be done", error) from error


def _done(action: Action, values: dict[str, Any], *, as_json: bool) -> int:
    try:
        here = os.getcwd()
    except FileNotFoundError as error:
        raise UsageError(
            "the working folder has been removed; change to one that is there, and try again"
        ) from error
    site = locate(None)
    context = CommandContext(
        here,
        os.environ,
        cache_dir=f"{site.root}/{CACHE_FOLDER}",
        pid=os.getppid(),
        terminal=sys.stdin is not None and sys.stdin.isatty(),
        session=values.get("session", ""),
    )
    hidden = {option.parameter for option in action.options if option.shown}
    answer = action.run(context, **{key: value for key, value in values.items() if key not in hidden})
    records = answer.pop("records", [])
    problem = req_run.report(records, store=os.fspath(site.store), project=os.fspath(site.project))
    if problem:
        complain(problem)
    if as_json:
        print(json.dumps(answer))
    elif text := action.text(answer, values, context):
        print_folded(shown(text))
    return int(action.fails(answer))


COMMANDS: Final = tuple(_command(name) for name in ACTIONS)
