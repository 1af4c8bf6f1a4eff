"""Makes the `memory …` commands from operations, with the help that `cli.memory.table` leaves out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Final

from context_graph.cli.memory import files, moved
from context_graph.cli.memory.actions import SAME, command
from context_graph.cli.memory.call import ASSUMED, EDITED, edit, word
from context_graph.cli.words import Argument, Command, Option
from context_graph.operations import OPERATIONS
from context_graph.operations.filters import Filters
from context_graph.operations.memories import Store
from context_graph.operations.operation import (
    NODE_ID,
    Called,
    Instant,
    Operation,
    Parameter,
    choices,
    parameters,
)
from context_graph.operations.whole_stores import Consolidate, Goals

_OF_A_SESSION: Final = (Store, Consolidate, Goals)
"""What these do depends on the session that asks."""
_KINDS: Final = {int: "int", float: "float", bool: "flag", list: "list", dict: "json"}
_METAVARS: Final = {"int": "N", "float": "X", "json": "JSON", "time": "TIME"}

_SAID_TO: Final = 1_000_000
"""A larger limit is none that anybody meets."""

Row = tuple[str, str, str]
"""What `call.word` takes."""


def taken(arguments: type[Called]) -> tuple[tuple[Parameter, Row], ...]:
    """Return the parameters that the command of an operation has, each with its row of the table.

    Filters are options like the others; session is then the memories' session.
    """
    listed: list[Parameter] = []
    for parameter in parameters(arguments):
        if parameter.name == "filters":
            listed += parameters(Filters)
        elif parameter.extra("only") != "tool" and (
            parameter.name != "session_id" or arguments in _OF_A_SESSION
        ):
            listed.append(parameter)
    rows = [_row(parameter) for parameter in listed]
    # Arguments are read in the order of the rows, options in any.
    return tuple(sorted(zip(listed, rows, strict=True), key=lambda pair: pair[1][0].startswith("-")))


def _row(parameter: Parameter) -> Row:
    name = parameter.extra("option") or f"--{parameter.wire.replace('_', '-')}"
    if not name.startswith("--"):
        kind = "words" if parameter.extra("stdin") else "word" if parameter.required else "word?"
        return name, parameter.wire, kind
    if parameter.kind is Instant:
        return name, parameter.wire, "time"
    if parameter.meta.le is not None:
        limits = f"{parameter.meta.ge} {parameter.meta.le}"
        return name, parameter.wire, f"{_KINDS[parameter.origin]} {limits}"
    return name, parameter.wire, "|".join(choices(parameter.kind)) or _KINDS.get(parameter.origin, "text")


def table() -> dict[str, tuple[Row, ...]]:
    """Return what `cli.memory.table` lists; tools/docs/built.py writes it there."""
    return {
        _word(operation): tuple(row for _, row in taken(operation.arguments))
        for operation in OPERATIONS
        if operation.short
    }


def _word(operation: Operation) -> str:
    return operation.verb.rpartition(".")[2]


def _described(parameter: Parameter, row: Row) -> Option | Argument:
    """Return the parameter as a command takes it, with its help."""
    kind = row[2]
    help = parameter.extra("command") or parameter.words
    if kind == "words":
        help = help[:-1] + "; several words need no quotes; - reads stdin."
    elif kind == "list":
        help = help[:-1] + "; may be given again."
    default = None if kind in ("flag", "list") or parameter.wire in ASSUMED else _default(parameter)
    least, most = parameter.meta.ge, parameter.meta.le
    if most is not None and f"{least:g} to {most:g}" not in help and most < _SAID_TO:
        help = f"{help[:-1]}, {least:g} to {most:g}."
    metavar = parameter.extra("metavar") or _METAVARS.get(kind.partition(" ")[0], "TEXT")
    return word(*row, help=help, metavar=metavar, default=default)


def _default(parameter: Parameter) -> str | None:
    if parameter.default is None or parameter.default == "":
        return None
    return f"{parameter.default:g}" if isinstance(parameter.default, float) else str(parameter.default)


def _commands() -> Iterator[Command]:
    second = {first: name for name, first in SAME.items()}
    for operation in OPERATIONS:
        if not operation.short:
            continue
        name, help = _word(operation), inspect.getdoc(operation.arguments) or ""
        takes = [_described(parameter, row) for parameter, row in taken(operation.arguments)]
        yield command(name, takes, operation.short, help)
        if other := second.get(name):
            same = help.replace(f"context-graph-cli memory {name}", f"context-graph-cli memory {other}")
            text = f"The same as `memory {name}`: {help[0].lower()}{same[1:]}"
            yield command(other, takes, f"The same as {name}", text)
        if name == "show":
            words = (
                word("ID", "id", "word", help=NODE_ID),
                word("--content", "content", "text", help=EDITED),
            )
            yield command("edit", words, "Change the text of a memory", inspect.getdoc(edit) or "")


COMMANDS: Final = (*_commands(), *files.COMMANDS, *moved.COMMANDS)
