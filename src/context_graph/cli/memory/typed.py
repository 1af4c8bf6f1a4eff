"""Makes Typer's `memory …` commands from operations: for help, and for words that are not plain."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

import typer

from context_graph.cli.command_table import DB_PATH, JSON, OUTPUT
from context_graph.cli.memory import files as memory_files
from context_graph.cli.memory.actions import ASSUMED, COMMANDS, EDIT, SAME, run
from context_graph.cli.memory.call import Row
from context_graph.cli.memory.edit import EDITED, edit
from context_graph.cli.memory.moved import adopt
from context_graph.cli.typer_words import typer_function
from context_graph.cli.words import Argument, Option
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


def taken(arguments: type[Called]) -> tuple[tuple[Parameter, Row], ...]:
    """The parameters that the command of an operation has, each with its row of the table.

    Filters are options like the others; session is then the memories' session.
    """
    found: list[Parameter] = []
    for one in parameters(arguments):
        if one.name == "filters":
            found += parameters(Filters)
        elif one.extra("only") != "tool" and (one.name != "session_id" or arguments in _OF_A_SESSION):
            found.append(one)
    rows = [_row(one) for one in found]
    # Arguments are read in the order of the rows, options in any.
    return tuple(sorted(zip(found, rows, strict=True), key=lambda pair: not pair[1].is_argument))


def _row(one: Parameter) -> Row:
    name = one.extra("option") or f"--{one.wire.replace('_', '-')}"
    if not name.startswith("--"):
        kind = "words" if one.extra("stdin") else "word" if one.required else "word?"
        return Row(name, one.wire, kind)
    if one.kind is Instant:
        return Row(name, one.wire, "time")
    return Row(name, one.wire, "|".join(choices(one.kind)) or _KINDS.get(one.origin, "text"))


def table() -> dict[str, tuple[Row, ...]]:
    """What `cli.memory.table` lists; tools/docs/built.py writes it there."""
    return {_command(one): tuple(row for _, row in taken(one.arguments)) for one in OPERATIONS if one.short}


def _command(operation: Operation) -> str:
    return operation.verb.rpartition(".")[2]


def _word(one: Parameter, row: Row) -> Option | Argument:
    """The parameter as Typer takes it, with its help."""
    words = one.extra("command") or one.words
    if row.kind == "words":
        words = words[:-1] + "; several words need no quotes; - reads stdin."
    elif row.kind == "list":
        words = words[:-1] + "; may be given again."
    metavar = one.extra("metavar") or _METAVARS.get(row.kind, "TEXT")
    default = None if row.kind in ("flag", "list") else ASSUMED.get(row.wire) or _default(one)
    return row.word(help=words, metavar=metavar, default=default)


def _default(one: Parameter) -> str | None:
    if one.default is None or one.default == "":
        return None
    return f"{one.default:g}" if isinstance(one.default, float) else str(one.default)


def _add(word: str, short: str, told: str, taken: Sequence[Option | Argument]) -> None:
    def called(**given: Any) -> None:
        run(word, given)

    options = [one for one in (*taken, OUTPUT, JSON, DB_PATH) if isinstance(one, Option)]
    arguments = [one for one in taken if isinstance(one, Argument)]
    app.command(word, short_help=short)(typer_function(options, arguments, told, called))


_EDIT: Final = (
    EDIT[0].word(help=NODE_ID),
    EDIT[1].word(help=EDITED),
)

app = typer.Typer(
    help="Store, find, show, link and forget what this project remembers; consolidate it; move it as files.",
    rich_markup_mode=None,
)

_SECOND: Final = {first: second for second, first in SAME.items()}

for _one in OPERATIONS:
    if _one.short:
        _name, _told = _command(_one), inspect.getdoc(_one.arguments) or ""
        _ways = [_word(parameter, row) for parameter, row in taken(_one.arguments)]
        _ways += COMMANDS[_name].more
        _add(_name, _one.short, _told, _ways)
        if second := _SECOND.get(_name):
            _same = _told.replace(f"context-graph-cli memory {_name}", f"context-graph-cli memory {second}")
            _add(
                second,
                f"The same as {_name}",
                f"The same as `memory {_name}`: {_told[0].lower()}{_same[1:]}",
                _ways,
            )
        if _name == "show":
            _add("edit", "Change the text of a memory", inspect.getdoc(edit) or "", _EDIT)
memory_files.add_to(app)
app.command("adopt", short_help="Take over the memories of a folder that was moved")(adopt)
