"""Makes a Typer application of the commands: for help, and for the messages about wrong words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from context_graph.cli.command_table import ALONE, GROUPS, PROGRAM, WITHIN, alone, below
from context_graph.cli.console.calling import Finished
from context_graph.cli.console.usage import plain_help
from context_graph.cli.words import Argument, Command, Option

HELP = (
    "Memory, a drift alarm and requirement gates for Claude Code: what one session found out, the next "
    "one knows."
)

_HELP_WORDS = ("--help", "-h")


def build_app(called: str = "", command: str = "") -> typer.Typer:
    """Build the Typer application; only with what ``called`` names and, in such a group, ``command``.

    A name that is no command counts as none. All commands cost 0.2 s more, for their modules; for `--help`
    groups are listed without what is in them.
    """
    app = typer.Typer(
        name=PROGRAM,
        help=HELP,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(help=HELP)
    def root(version: bool = typer.Option(False, "--version", "-V", help="Print the version.")) -> None: ...

    known = {*GROUPS, *ALONE}
    named = {called} if called in known else known
    plain = plain_help()
    for name, group in GROUPS.items():
        if name in named:
            inner = typer.Typer(help=group.help, rich_markup_mode=None)
            commands = below(name) if called not in _HELP_WORDS else ()
            chosen = [candidate for candidate in commands if candidate.word.partition(" ")[0] == command]
            _fill(inner, name, chosen or commands, plain)
            app.add_typer(inner, name=name, short_help=group.short)
    _fill(app, "", (alone(word) for word in ALONE if word in named), plain)
    return app


def _fill(app: typer.Typer, group: str, commands: Iterable[Command], plain: Any) -> None:
    """Add the commands to ``app``, and groups within it as they come."""
    inner: dict[str, typer.Typer] = {}
    for command in commands:
        within, _, word = command.word.rpartition(" ")
        if within and within not in inner:
            inner[within] = typer.Typer(help=WITHIN[f"{group} {within}"], rich_markup_mode=None)
            app.add_typer(inner[within], name=within)
        # A backspace alone on a line is click's mark for a paragraph that is not to be wrapped: an example
        # that is wrapped can't be copied.
        text = command.help.replace("\n\nExample:", "\n\n\b\nExample:")
        register = inner.get(within, app).command(word, cls=plain, short_help=command.short, help=text)
        register(_function(command))


def _function(command: Command) -> Callable[..., None]:
    """Return what Typer calls for a command: with texts, as `read_words` has them."""

    def call(**values: Any) -> None:
        raise Finished(command.call(values))

    ways = [*map(_argument, command.arguments), *map(_option, command.options)]
    call.__annotations__ = {way.name: way.annotation for way in ways}
    call.__signature__ = inspect.Signature(ways)  # type: ignore[attr-defined]
    return call


def _argument(word: Argument) -> inspect.Parameter:
    kind: Any = list[str] if word.many else str
    argument = typer.Argument(metavar=word.shown, help=word.help)
    if word.required:
        return _parameter(word.field, kind, argument)
    return _parameter(word.field, kind | None, argument, None)


def _option(word: Option) -> inspect.Parameter:
    names = (f"{word.name}/{word.off}" if word.off else word.name, *filter(None, [word.short]))
    default = None if word.many or (word.is_flag and not word.default) else word.default
    option = typer.Option(*names, metavar=word.takes or None, help=word.help)
    kind: Any = bool if word.is_flag else list[str] if word.many else str
    if word.required:
        return _parameter(word.parameter, kind, option)
    return _parameter(word.parameter, kind | None, option, default)


def _parameter(name: str, kind: Any, taken: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    annotation = Annotated[kind, taken]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
