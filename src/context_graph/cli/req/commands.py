"""Runs the `req …` commands of the table.

Agents run these commands between two tool calls, and Typer's parser costs 0.1 s or more, so plain words are
parsed here. Anything else, such as `--help` or a wrong option, goes to Typer, whose commands are made from
the table.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from context_graph.cli.command_table import JSON, OUTPUT
from context_graph.cli.console.terminal import complain, print_folded, shown
from context_graph.cli.req import run as req_run
from context_graph.cli.req.table import COMMANDS, Command
from context_graph.cli.words import read_words
from context_graph.config import locate
from context_graph.errors import UsageError
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.gates.event import CACHE_FOLDER

if TYPE_CHECKING:
    import typer


def call_directly(words: Sequence[str]) -> int | None:
    """Run the command that ``words`` (behind `req`) say, if they are plain: its exit code; else None."""
    found = read(words)
    return None if found is None else _run(*found)


def read(words: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """(command, parameters) of the words behind `req`; None where they are not plain.

    No word at all means `status`; `config NAME` means `config show NAME`, as in the original.
    """
    name, rest = _command(words)
    if name is None:
        return None
    command = COMMANDS[name]
    values = read_words(rest, command.options, [command.words] if command.words else [])
    return None if values is None else (name, values)


def _command(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        return "status", words
    for length in (1, 2):
        name = " ".join(words[:length])
        if len(words) >= length and name in COMMANDS:
            return name, words[length:]
    if words[0] == "config" and words[1:2] not in (["-h"], ["--help"]):
        return "config show", words[1:]
    return None, words


def _run(name: str, given: dict[str, Any]) -> int:
    """Run the command with the parameters that read_words gives; its exit code.

    Raises:
        UsageError: What the user has to mend; exit code 1.
    """
    output = given.pop(OUTPUT.parameter, "text")
    OUTPUT.check(output)
    as_json = given.pop(JSON.parameter, False) or output == "json"
    words = COMMANDS[name].words
    if words is not None and words.many:
        given.setdefault(words.field, [])
    try:
        return _done(COMMANDS[name], given, as_json=as_json)
    except OSError as error:
        raise unwritable(f"`req {name}` could not be done", error) from error


def _done(command: Command, given: dict[str, Any], *, as_json: bool) -> int:
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
        session=given.get("session", ""),
    )
    hidden = {one.parameter for one in command.options if one.shown}
    found = command.run(context, **{key: value for key, value in given.items() if key not in hidden})
    records = found.pop("records", [])
    problem = req_run.report(records, store=os.fspath(site.store), project=os.fspath(site.project))
    if problem:
        complain(problem)
    if as_json:
        print(json.dumps(found))
    elif text := command.text(found, given, context):
        print_folded(shown(text))
    return int(command.fails(found))


def build_app() -> typer.Typer:
    """The commands as Typer knows them: for help, and for the words about wrong options."""
    import typer

    from context_graph.cli.typer_words import typer_function

    app = typer.Typer(
        help="Requirement gates: what must be met before a tool runs or a session stops.",
        rich_markup_mode=None,
    )
    groups = {
        "config": "The merged configuration",
        "git-hooks": "Hooks of a repository, for hosts without ours",
    }
    apps = {group: typer.Typer(help=text, rich_markup_mode=None) for group, text in groups.items()}
    for group, inner in apps.items():
        app.add_typer(inner, name=group)
    for name, command in COMMANDS.items():
        group, _, word = name.rpartition(" ")
        register = apps.get(group, app).command(word, short_help=command.short, epilog=command.codes)
        arguments = [command.words] if command.words else []
        register(typer_function(command.options, arguments, command.help, partial(_call, name)))
    return app


def _call(name: str, **given: Any) -> None:
    from context_graph.cli.console.calling import Finished

    raise Finished(_run(name, {key: value for key, value in given.items() if value not in (None, "", False)}))
