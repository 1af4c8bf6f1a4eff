"""Runs Typer's commands and words its errors as ours: `context-graph-cli: what is wrong; the cure`, once."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from context_graph.cli.console.terminal import complain

if TYPE_CHECKING:
    import typer

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


def plain_help() -> Any:
    """Return the class of Typer's commands whose help says `[ID]` and `TEXT…`, without types or more
    brackets."""
    from typer.core import TyperCommand

    class PlainCommand(TyperCommand):
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

    return PlainCommand


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
    (
        *(
            "forget",
            "clear",
            "prune",
            "remove",
            "restore",
            "repair",
            "stop",
            "consolidate",
            "leave",
            "revoke",
        ),
        *("reword", "adopt", "reindex"),
    )
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
