"""Makes a Typer application of the commands: for help, and for the messages about wrong words.

These are worded as ours are: `context-graph-cli: what is wrong; the cure`, once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from context_graph.cli.console.calling import Finished
from context_graph.cli.console.terminal import complain
from context_graph.cli.words import ALONE, GROUPS, PROGRAM, WITHIN, Argument, Command, Option, alone, below

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
    for name, group in GROUPS.items():
        if name in named:
            inner = typer.Typer(help=group.help, rich_markup_mode=None)
            commands = below(name) if called not in _HELP_WORDS else ()
            chosen = [candidate for candidate in commands if candidate.word.partition(" ")[0] == command]
            _fill(inner, name, chosen or commands)
            app.add_typer(inner, name=name, short_help=group.short)
    _fill(app, "", (alone(word) for word in ALONE if word in named))
    return app


def _fill(app: typer.Typer, group: str, commands: Iterable[Command]) -> None:
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
        within_it = inner.get(within, app)
        within_it.command(word, cls=_PlainCommand, short_help=command.short, help=text)(_function(command))


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


_USAGE: Final = 2
"""Typer's code for a wrong word, which `main` turns into the command's own."""


def run_typer(app: typer.Typer, words: list[str], program: str) -> int:
    """Run the command that ``words`` name; its exit code, 2 for words that it does not take.

    A command's own errors come through as they are. Typer's classes are known by their names: its newer
    versions bring a click of their own.
    """
    try:
        return int(app(args=words, prog_name=program, standalone_mode=False) or 0)
    except SystemExit as left:
        if isinstance(left.__context__, BrokenPipeError):  # of which Typer makes exit code 1
            raise left.__context__ from None
        raise
    except RuntimeError as error:
        if type(error).__name__ != "Abort":
            raise
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None
        return 1
    except Exception as error:
        message_of = getattr(error, "format_message", None)
        if message_of is None:
            raise
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            print(message_of())
            return 0
        path = context.command_path if context is not None else program
        message = _worded(error)
        message += " " if message.endswith("?") else "; "
        complain(f"{message}`{path} --help` says what it takes")
        return _USAGE


class _PlainCommand(TyperCommand):
    """A command whose help says `[ID]` and `TEXT…`, without types or more brackets."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(argument.metavar for argument in self._arguments())]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments = [(argument.metavar, argument.help or "") for argument in self._arguments()]
        others = [row for row in self.get_params(ctx) if row not in self._arguments()]
        options = list(filter(None, (option.get_help_record(ctx) for option in others)))
        for name, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)

    def _arguments(self) -> list[Any]:
        return [parameter for parameter in self.params if parameter.param_type_name == "argument"]


def _worded(error: Any) -> str:
    """Return what is wrong, without Typer's "Error:"."""
    if type(error).__name__ == "MissingParameter":
        return f"{_name(error)} is missing"
    message = str(error.format_message()).strip().rstrip(".")
    if message.startswith("No such command"):
        return _no_such_command(error, message.split("'")[1])
    if "unexpected extra argument" in message:
        return f"too many words: {message.partition('(')[2].partition('(')[2].rstrip(')') or message}"
    message, _, like = message.partition(" (Possible options: ")
    message = message[:1].lower() + message[1:].replace(". Did you mean", "; did you mean")
    return f"{message}; did you mean {like.rstrip(')')}?" if like else message


def _no_such_command(error: Any, word: str) -> str:
    below = dict(error.ctx.command.commands)
    groups = {name: group.commands for name, group in below.items() if getattr(group, "commands", None)}
    commands = [*below, *(f"{name} {inner}" for name, inners in groups.items() for inner in inners)]
    meant = meant_by(word, commands)
    return f"no such command {word!r:.60}" + (f"; did you mean '{meant}'?" if meant else "")


def _name(error: Any) -> str:
    """Return the option or argument that is wrong, as it is typed."""
    parameter = error.param
    if parameter.param_type_name == "argument":
        return str(parameter.metavar).rstrip("…")
    return str(max(parameter.opts, key=len))


_SYNONYMS: Final = {
    **dict.fromkeys(("get", "read", "cat", "view", "print", "open", "describe", "info"), ("show",)),
    **dict.fromkeys(("add", "remember", "save", "new", "create", "put", "note"), ("store", "init")),
    **dict.fromkeys(("find", "query", "ask", "grep", "lookup"), ("recall", "search")),
    **dict.fromkeys(("rm", "del", "delete", "remove", "drop", "erase"), ("forget", "clear", "prune")),
    **dict.fromkeys(("ls", "all", "index"), ("list",)),
    **dict.fromkeys(("change", "update", "modify", "set"), ("edit",)),
    **dict.fromkeys(("revert", "back", "rollback"), ("undo",)),
    **dict.fromkeys(("unforget", "recover", "undelete"), ("restore",)),
    **dict.fromkeys(("log", "changes", "versions"), ("history", "log")),
    **dict.fromkeys(("merge", "dream", "clean", "dedupe"), ("consolidate",)),
    **dict.fromkeys(("dump",), ("export",)),
    **dict.fromkeys(("load",), ("import",)),
    **dict.fromkeys(("install", "init", "configure"), ("setup", "init")),
    **dict.fromkeys(("uninstall",), ("setup",)),
    **dict.fromkeys(("health", "check", "diagnose"), ("doctor", "check")),
    **dict.fromkeys(("state", "health"), ("status",)),
    **dict.fromkeys(("approve", "done", "met"), ("satisfy",)),
    **dict.fromkeys(("kill", "quit"), ("stop",)),
    **dict.fromkeys(("ui", "tui", "browse"), ("view",)),
    **dict.fromkeys(("html",), ("report",)),
    **dict.fromkeys(("version",), ("--version",)),
}
"""What other programs call it -> what it is called here; the first that is there counts."""
_CHANGES: Final = frozenset(
    {
        *("forget", "clear", "prune", "remove", "restore", "repair", "stop", "consolidate", "leave"),
        *("revoke", "reword", "adopt", "reindex"),
    }
)
"""Never proposed to who may have wanted to look: only by a synonym, or for what is surely a slip of it."""
_LIKE: Final = 0.6
_SLIP: Final = 0.8


def meant_by(word: str, commands: Collection[str]) -> str:
    """Return the one of ``commands`` that ``word`` may mean; "" for none.

    Args:
        commands: Each as it is typed, such as `show`, or `memory show`.
    """
    import difflib  # only who mistyped pays for it

    word = word.lower()
    by_last = {command.rpartition(" ")[2]: command for command in reversed(list(commands))}
    for name in (word, *_SYNONYMS.get(word, ())):
        if name in by_last:
            return by_last[name]
    for name in difflib.get_close_matches(word, by_last, n=3, cutoff=_LIKE):
        likeness = difflib.SequenceMatcher(None, word, name).ratio()
        if name not in _CHANGES or (likeness >= _SLIP and name[0] == word[:1]):
            return by_last[name]
    return ""
