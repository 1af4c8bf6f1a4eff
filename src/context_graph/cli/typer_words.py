"""Makes Typer's commands of the table's options and arguments: for help, completion and wrong words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from context_graph.cli.words import Argument, Option


def typer_function(
    options: Sequence[Option], arguments: Sequence[Argument], told: str, run: Callable[..., None]
) -> Callable[..., None]:
    """What Typer takes for a command: it calls ``run`` with the values by name. ``told`` is its help."""

    def call(**given: Any) -> None:
        for one in options:
            one.check(given[one.parameter])
        run(**given)

    ways = [_argument(one) for one in arguments] + [_option(one) for one in options]
    call.__doc__ = inspect.cleandoc(told)
    call.__annotations__ = {one.name: one.annotation for one in ways}
    call.__signature__ = inspect.Signature(ways)  # type: ignore[attr-defined]
    return call


def _argument(one: Argument) -> inspect.Parameter:
    kind: Any = list[str] if one.many else str
    metavar = one.metavar if one.required or one.many else f"[{one.metavar}]"
    argument = typer.Argument(metavar=metavar, help=one.help)
    if one.required:
        return _parameter(one.field, Annotated[kind, argument], inspect.Parameter.empty)
    return _parameter(one.field, Annotated[kind | None, argument], None)


def _option(one: Option) -> inspect.Parameter:
    names = (one.name, one.short) if one.short else (one.name,)
    metavar = "|".join(one.choices) or one.metavar or None
    option = typer.Option(*names, metavar=metavar, help=one.help)
    kind: Any = bool if one.is_flag else list[str] | None if one.many else str | None
    return _parameter(one.parameter, Annotated[kind, option], False if one.is_flag else one.default)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
