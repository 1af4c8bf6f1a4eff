"""Runs the `req …` commands of the table.

Agents run these commands between two tool calls, and Typer's parser costs 0.1 s or more, so plain words are
parsed here. Anything else, such as `--help` or a wrong option, goes to Typer, whose commands are made from
the table.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from context_graph.cli.console.terminal import shown
from context_graph.cli.req import run as req_run
from context_graph.cli.req.table import COMMANDS, Command
from context_graph.config import locate
from context_graph.errors import CommandLineError, UsageError
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.gates.event import CACHE_FOLDER

if TYPE_CHECKING:
    import typer


def call_directly(words: Sequence[str]) -> int | None:
    """Run the command that ``words`` (behind `req`) say, if they are plain: its exit code; else None."""
    found = read_words(words)
    return None if found is None else _run(*found)


def read_words(words: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
    """(command, parameters) of the words behind `req`; None where they are not plain.

    No word at all means `status`; `config NAME` means `config show NAME`, as in the original.
    """
    name, rest = _command(words)
    if name is None:
        return None
    command = COMMANDS[name]
    options = {word: one for one in command.options for word in (one.name, one.short)}
    given: dict[str, Any] = {}
    plain: list[str] = []
    left = iter(rest)
    for word in left:
        if not word.startswith("-"):
            plain.append(word)
            continue
        option_name, joined, value = word.partition("=")
        option = options.get(option_name)
        if option is None or (not option.metavar and joined):
            return None
        try:
            found = (value if joined else next(left)) if option.metavar else True
        except StopIteration:
            return None
        given[option.parameter] = found
    if command.words is None or (len(plain) > 1 and not command.words.many):
        return None if plain else (name, given)
    given[command.words.parameter] = plain if command.words.many else "".join(plain)
    return name, given


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
    output = given.pop("format", "text")
    if output not in ("text", "json"):
        raise CommandLineError(f"--format is {output!r:.60}; choose one of text, json")
    as_json = given.pop("json", False) or output == "json"
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
        print(f"context-graph-cli: {problem}", file=sys.stderr)
    text = json.dumps(found) if as_json else shown(command.text(found, given, context))
    if text:
        print(text)
    return int(command.fails(found))


def build_app() -> typer.Typer:
    """The commands as Typer knows them: for help, and for the words about wrong options."""
    import typer

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
        register(_typed(name, command))
    return app


def _typed(name: str, command: Command) -> Callable[..., None]:
    """A function whose signature tells Typer what the command takes."""
    import typer

    from context_graph.cli.console.calling import Finished

    def call(**given: Any) -> None:
        chosen = {key: value for key, value in given.items() if value not in (None, "", False)}
        if "names" in given:
            chosen["names"] = list(given["names"] or ())
        raise Finished(_run(name, chosen))

    parameters: list[tuple[str, Any, Any]] = []
    words = command.words
    if words is not None:
        argument = typer.Argument(metavar=words.metavar, help=words.help)
        kind: Any = list[str] | None if words.many else str
        parameters.append((words.parameter, Annotated[kind, argument], None if words.many else ""))
    for one in command.options:
        names = (one.name, one.short) if one.short else (one.name,)
        option = typer.Option(*names, metavar=one.metavar or None, help=one.help)
        kind = bool if not one.metavar else str if one.default is not None else str | None
        parameters.append((one.parameter, Annotated[kind, option], one.default if one.metavar else False))
    call.__doc__ = inspect.cleandoc(command.help)
    call.__annotations__ = {name: kind for name, kind, _ in parameters}
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, kind, default in parameters
        ]
    )
    return call
