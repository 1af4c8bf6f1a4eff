"""Makes the `memory …` commands from operations, with the help that `cli.memory.table` leaves out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Final

from context_graph.cli.memory import files, moved
from context_graph.cli.memory.actions import SAME, command
from context_graph.cli.memory.call import ASSUMED, word
from context_graph.cli.memory.edit import EDITED, edit
from context_graph.cli.words import Argument, Command, Option
from context_graph.operations import OPERATIONS
from context_graph.operations.consolidations import Consolidate, Goals
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

_OF_A_SESSION: Final = (Store, Consolidate, Goals)
"""What these do depends on the session that asks."""
_KINDS: Final = {int: "int", float: "float", bool: "flag", list: "list", dict: "json"}
_METAVARS: Final = {"int": "N", "float": "X", "json": "JSON", "time": "TIME"}

Row = tuple[str, str, str]
"""What `call.word` takes."""


def taken(arguments: type[Called]) -> tuple[tuple[Parameter, Row], ...]:
    """The parameters that the command of an operation has, each with its row of the table.

    Filters are options like the others; session is then the memories' session.
    """
    listed: list[Parameter] = []
    for one in parameters(arguments):
        if one.name == "filters":
            listed += parameters(Filters)
        elif one.extra("only") != "tool" and (one.name != "session_id" or arguments in _OF_A_SESSION):
            listed.append(one)
    rows = [_row(one) for one in listed]
    # Arguments are read in the order of the rows, options in any.
    return tuple(sorted(zip(listed, rows, strict=True), key=lambda pair: pair[1][0].startswith("-")))


def _row(one: Parameter) -> Row:
    name = one.extra("option") or f"--{one.wire.replace('_', '-')}"
    if not name.startswith("--"):
        kind = "words" if one.extra("stdin") else "word" if one.required else "word?"
        return name, one.wire, kind
    if one.kind is Instant:
        return name, one.wire, "time"
    return name, one.wire, "|".join(choices(one.kind)) or _KINDS.get(one.origin, "text")


def table() -> dict[str, tuple[Row, ...]]:
    """What `cli.memory.table` lists; tools/docs/built.py writes it there."""
    return {_word(one): tuple(row for _, row in taken(one.arguments)) for one in OPERATIONS if one.short}


def _word(operation: Operation) -> str:
    return operation.verb.rpartition(".")[2]


def _described(one: Parameter, row: Row) -> Option | Argument:
    """The parameter as a command takes it, with its help."""
    kind = row[2]
    help = one.extra("command") or one.words
    if kind == "words":
        help = help[:-1] + "; several words need no quotes; - reads stdin."
    elif kind == "list":
        help = help[:-1] + "; may be given again."
    default = None if kind in ("flag", "list") or one.wire in ASSUMED else _default(one)
    metavar = one.extra("metavar") or _METAVARS.get(kind, "TEXT")
    return word(*row, help=help, metavar=metavar, default=default)


def _default(one: Parameter) -> str | None:
    if one.default is None or one.default == "":
        return None
    return f"{one.default:g}" if isinstance(one.default, float) else str(one.default)


def _commands() -> Iterator[Command]:
    second = {first: name for name, first in SAME.items()}
    for one in OPERATIONS:
        if not one.short:
            continue
        name, help = _word(one), inspect.getdoc(one.arguments) or ""
        takes = [_described(parameter, row) for parameter, row in taken(one.arguments)]
        yield command(name, takes, one.short, help)
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
