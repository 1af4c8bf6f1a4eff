"""Makes commands from operations: options from the arguments, JSON to the owner, the answer rendered."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, NoReturn

import typer

from context_graph.cli.calling import ask, finish, read_stdin
from context_graph.cli.options import DbPath, Json
from context_graph.cli.terminal import shown
from context_graph.errors import InvalidInputError, InvalidParamsError, UsageError
from context_graph.operations.consolidations import Consolidate, Goals
from context_graph.operations.memories import Filters, Store
from context_graph.operations.operation import Called, Instant, Operation, Parameter, choices, parameters

Work = Callable[[str, dict[str, Any], "str | None"], Any]
"""(verb, arguments, --db-path) -> the answer."""

CALL_S: Final = 30.0
_TEXT_BYTES: Final = 1024 * 1024
"""More than 65,536 characters can take; the owner names the limit."""
_OF_A_SESSION: Final = (Store, Consolidate, Goals)
"""What these do depends on the session that asks."""
_METAVARS: Final = {int: "N", float: "X", str: "TEXT", dict: "JSON", Instant: "TIME"}


_OUTPUT: Final = {
    "output": (
        Annotated[Literal["text", "json"], typer.Option("--format", help="text, or json as with --json.")],
        "text",
    ),
    "as_json": (Json, False),
    "db_path": (DbPath, None),
}


def ask_memory(verb: str, given: Mapping[str, Any], db_path: str | None, *, timeout_s: float = CALL_S) -> Any:
    """The reply's JSON; a reply that failed ends the command as it says.

    Args:
        given: The verb's arguments; those that are None are left out.
    """
    body = json.dumps({k: v for k, v in given.items() if v is not None}, ensure_ascii=False)
    sent = body.encode("utf-8", "replace")  # an argument need not be UTF-8
    reply = ask(verb, {}, sent, db_path=db_path, timeout_s=timeout_s)
    if reply.exit_code:
        finish(reply)
    return json.loads(reply.stdout)


def add_command(
    app: typer.Typer,
    operation: Operation,
    text: Callable[[Any], str],
    work: Work = ask_memory,
    more: Mapping[str, tuple[Any, Any]] | None = None,
) -> None:
    """Give ``app`` the command of ``operation``.

    Args:
        text: The answer as lines for people.
        work: What it does, if more than to ask the owner.
        more: Options that only the command has: annotation and default by name.
    """
    taken = {one.wire: one for one in _taken(operation.arguments)}

    def called(output: str, as_json: bool, db_path: str | None, **given: Any) -> None:
        sent = {name: _value(taken[name], value) if name in taken else value for name, value in given.items()}
        found = work(operation.verb, {k: v for k, v in sent.items() if v not in (None, "", [])}, db_path)
        if masked := found.get("masked"):
            told = ", ".join(f"{count} {kind}" for kind, count in masked.items())
            print(f"masked before it was written: {told}", file=sys.stderr)
        whole = as_json or output == "json"
        print(json.dumps(found, ensure_ascii=False) if whole else shown(text(found)))

    options = {name: _option(one) for name, one in taken.items()} | dict(more or {}) | _OUTPUT
    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
    )
    called.__doc__ = operation.arguments.__doc__
    app.command(operation.verb.rpartition(".")[2], short_help=operation.short)(called)


def _taken(arguments: type[Called]) -> Iterator[Parameter]:
    """The command's parameters: filters are options like the others; session is then the memories'
    session.
    """
    for one in parameters(arguments):
        if one.name == "filters":
            yield from parameters(Filters)
        elif one.name == "session_id" and arguments not in _OF_A_SESSION:
            continue
        elif one.extra("only") != "tool":
            yield one


def _option(one: Parameter) -> tuple[Any, Any]:
    """The Typer annotation of a parameter, and its default."""
    kind, name = one.origin, one.extra("option") or f"--{one.wire.replace('_', '-')}"
    words = one.words[:-1] + "; - reads stdin." if one.extra("stdin") else one.words
    if not name.startswith("--"):
        if one.required or one.extra("stdin"):
            return Annotated[str, typer.Argument(metavar=name, help=words)], inspect.Parameter.empty
        return Annotated[str | None, typer.Argument(metavar=f"[{name}]", help=words)], None
    given: dict[str, Any] = {"help": words, "metavar": one.extra("metavar") or _METAVARS.get(kind)}
    if kind is bool:
        return Annotated[bool, typer.Option(name, help=words)], False
    if choices(one.kind):
        return Annotated[one.kind, typer.Option(name, help=words)], one.default
    if kind is list:
        given["help"] = words[:-1] + "; may be given again."
        return Annotated[list[str] | None, typer.Option(name, **given)], None
    if kind in (int, float):
        given |= {"min": one.meta.ge, "max": one.meta.le}
        return Annotated[kind | None, typer.Option(name, **given)], one.default
    return Annotated[str | None, typer.Option(name, **given)], one.default or None


def _value(one: Parameter, value: Any) -> Any:
    if one.extra("stdin"):
        return _text_given(one.name, value)
    if one.required and not value and one.extra("check"):
        try:
            one.extra("check")(None)
        except InvalidParamsError as error:
            told = f"{error}: say with --{one.name} {one.words[0].lower()}{one.words[1:]}"
            raise UsageError(told) from None
    return _object(value) if one.origin is dict and value is not None else value


def _text_given(name: str, text: str) -> str:
    """``text``, or for `-` standard input without its last newline; a terminal is not read from."""
    found = _piped() if text == "-" else text
    if not found:
        where = " on standard input" if text == "-" else ""
        raise InvalidInputError(f"the {name}{where} is empty; give at least one character")
    return found


def _piped() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        raise InvalidInputError("-: nothing is piped in; give the text as an argument, or pipe it")
    given = read_stdin(_TEXT_BYTES)
    try:
        return given.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"stdin: not UTF-8 at byte {error.start}; encode it as UTF-8") from error


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"--metadata: {text[:60]!r} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInputError(f"--metadata: {text[:60]!r} is no JSON object")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")
