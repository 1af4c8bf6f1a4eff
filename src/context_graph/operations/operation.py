"""Describes an operation: its arguments, its verb, its tool and its command.

Every session of every client pays for the bytes of tools/list (below 8 KB in all, invariant 9), so a tool's
words there must change what a model does. The sentences for people are longer. A docstring is the command's
help; an operation without `short` has no command, one without `tool` no tool.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec

from context_graph.operations.parameters import about, text

READS: Final = {"readOnlyHint": True, "openWorldHint": False}
ADDS: Final = {"destructiveHint": False, "openWorldHint": False}
"""Also for tools that answer with memories: they record that these were used."""
DESTROYS: Final = {"destructiveHint": True, "openWorldHint": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation: its arguments and the names by which it is called."""

    arguments: "type[Called]"
    verb: str = ""
    """In a request to the owner; the command's name is its last word."""
    short: str = ""
    """The command's line in a list of commands."""
    tool: str = ""
    alias: str = ""
    """A second name of the tool, for clients that use it."""
    says: str = ""
    """The tool's description in tools/list."""
    hints: Mapping[str, bool] = field(default_factory=lambda: ADDS)
    """The tool's annotations."""
    result: tuple[str, ...] = ()
    """The fields of every answer; higher verbosity adds more."""


DEFINED: Final[dict[str, list[Operation]]] = {}
"""By the module that defines them; `operations.OPERATIONS` has them in order."""


def operation(verb: str = "", **names: Any) -> Callable[[type[Any]], type[Any]]:
    """Define the operation that takes the decorated arguments; ``names`` are `Operation`'s fields."""

    def define(arguments: type[Any]) -> type[Any]:
        found = Operation(arguments=arguments, verb=verb, **names)
        DEFINED.setdefault(arguments.__module__, []).append(found)
        return arguments

    return define


_SESSION: Final = "Session that asks, at most 100 characters; default: $CLAUDE_CODE_SESSION_ID."
LEVELS: Final = "0 ids only, 1 text and ids, 2 links, scores and conflicts as well."


class Called(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The arguments that every operation takes."""

    session_id: Annotated[str, text(_SESSION, 100, metavar="ID")] | None = None


class Shown(Called):
    """Also takes how much the answer tells."""

    verbosity_level: (
        Annotated[int, about(f"For this call: {LEVELS}", schema={"enum": [0, 1, 2]}, only="tool")] | None
    ) = None
