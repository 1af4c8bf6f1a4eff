"""Defines options that several of Typer's commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from context_graph.cli.command_table import DB_PATH, JSON, OUTPUT, SESSION_ID

DbPath = Annotated[str | None, typer.Option(DB_PATH.name, metavar=DB_PATH.metavar, help=DB_PATH.help)]
SessionId = Annotated[
    str | None, typer.Option(SESSION_ID.name, metavar=SESSION_ID.metavar, help=SESSION_ID.help)
]
_OUTPUT = Annotated[str | None, typer.Option(OUTPUT.name, metavar="|".join(OUTPUT.choices), help=OUTPUT.help)]
Json = Annotated[bool, typer.Option(JSON.name, help=JSON.help)]


def both_forms(command: Callable[..., None]) -> Callable[..., None]:
    """``command``, which has a parameter ``json_``, with `--format json` beside `--json`."""
    hints = get_type_hints(command, include_extras=True)

    def call(*, json_: bool, output: str, **given: Any) -> None:
        OUTPUT.check(output)
        command(json_=json_ or output == "json", **given)

    parameters = [
        one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for one in inspect.signature(command).parameters.values()
    ]
    at = next(number for number, one in enumerate(parameters) if one.name == "json_")
    parameters.insert(
        at,
        inspect.Parameter(
            "output", inspect.Parameter.KEYWORD_ONLY, default=OUTPUT.default, annotation=_OUTPUT
        ),
    )
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call
