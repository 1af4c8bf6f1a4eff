"""Describes an operation (its verb, tool and command) and its parameters, and reads them from JSON.

Every session pays for the tools that its client loads at once (at most 2 KB, see `Operation.loaded`), and for
the others when it looks them up, so a tool's words in tools/list must change what a model does. The
sentences for people are longer. A docstring is the command's help; an operation without `short` has no
command, one without `tool` no tool. Errors in arguments are worded as in seed 003.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from context_graph.errors import InvalidParamsError
from context_graph.model.memory import parse_time

_SHOWN_CHARS: Final = 60
_JSON_TYPES: Final[dict[Any, str]] = {
    **{bool: "boolean", int: "integer", float: "number"},
    **{str: "string", list: "array", dict: "object"},
}
_MUST_BE: Final[dict[Any, str]] = {
    **{bool: "true or false", int: "an integer", float: "a number"},
    **{str: "a string", list: "an array", dict: "an object"},
}
A = TypeVar("A", bound=msgspec.Struct)


class Instant(int):
    """Unix milliseconds, in JSON also an ISO 8601 time; without an offset it is UTC."""


def about(
    words: str,
    *,
    tool: str = "",
    schema: Mapping[str, Any] | None = None,
    bounded: bool = False,
    option: str = "",
    metavar: str = "",
    stdin: bool = False,
    only: Literal["", "tool", "command"] = "",
    wire: str = "",
    flag: str = "",
    command: str = "",
    listed: bool = True,
    check: Callable[[Any], None] | None = None,
    **bounds: Any,
) -> msgspec.Meta:
    """Describe a parameter in one sentence for --help and the docs.

    Args:
        tool: Its description in tools/list, where every session pays for each byte; "" for none.
        schema: JSON schema in tools/list, if it differs from the type's.
        bounded: tools/list shows its bounds, as it does for numbers.
        option: The command's option, if not ``--`` and the name; "ID" without dashes is an argument.
        metavar: Stands for the option's value in --help.
        stdin: The command reads it from standard input for `-`.
        only: Only the tool has it, or only the command.
        wire: Its name in a request to the owner, if different.
        flag: Name of a flag, in the option and the request, that means false.
        command: Its sentence in --help, if the one for tools does not fit there.
        listed: tools/list describes it; else a loaded tool only names it, and takes it all the same.
        check: Raises InvalidParamsError in seed 003's words for a wrong value, or None for a missing one.
        bounds: Of msgspec: ge, le, min_length, max_length.
    """
    extra: dict[str, Any] = {
        **{"tool": tool, "schema": schema, "bounded": bounded, "option": option, "metavar": metavar},
        **{"stdin": stdin, "only": only, "wire": wire, "flag": flag, "check": check},
        "command": command,
        "listed": listed,
    }
    return msgspec.Meta(description=words, extra=extra, **bounds)


def unit(words: str, **more: Any) -> msgspec.Meta:
    """Describe a number in [0, 1]."""
    return about(words, ge=0, le=1, **more)


def text(words: str, most: int, least: int = 1, **more: Any) -> msgspec.Meta:
    """Describe a text of ``least`` to ``most`` characters."""
    return about(words, min_length=least, max_length=most, **more)


def node_named(words: str, option: str = "ID", **more: Any) -> msgspec.Meta:
    """Describe a memory's id, or another argument that a command takes without a name."""
    return text(words, 4096, option=option, **more)


NODE_ID: Final = "A memory's id, or its first characters: at least four, and as many as fit no other."


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation, as `about` describes it."""

    name: str
    kind: Any
    """The type without bounds, and without None."""
    meta: msgspec.Meta
    default: Any
    required: bool

    @property
    def words(self) -> str:
        """Its description."""
        return self.meta.description or ""

    def extra(self, name: str) -> Any:
        """Return an argument that `about` was given."""
        return (self.meta.extra or {}).get(name)

    @property
    def listed(self) -> bool:
        """Whether tools/list describes it."""
        return bool(self.extra("listed"))

    @property
    def wire(self) -> str:
        """Its name in a request to the owner."""
        return self.extra("flag") or self.extra("wire") or self.name

    @property
    def origin(self) -> Any:
        """list, dict, or the type itself; list for a tuple, str for a choice of words."""
        origin = get_origin(self.kind) or self.kind
        return str if choices(self.kind) else list if origin is tuple else origin

    @property
    def item(self) -> tuple[Any, msgspec.Meta]:
        """Type and bounds of a list's entries."""
        return _bare(get_args(self.kind)[0])


@cache
def parameters(arguments: type[msgspec.Struct]) -> tuple[Parameter, ...]:
    """Return the parameters of an operation: its own first, shared ones last."""
    hints = _hints(arguments)
    inherited = {field.name for base in arguments.__bases__ for field in _fields(base)}
    fields = sorted(_fields(arguments), key=lambda field: field.name in inherited)
    named = []
    for row in fields:
        kind, meta = _bare(hints[row.name])
        default = row.default_factory() if callable(row.default_factory) else row.default
        named.append(Parameter(row.name, kind, meta, None if row.required else default, row.required))
    return tuple(named)


def _hints(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """As `typing.get_type_hints`, but faster: the definitions' hints are evaluated already."""
    hints: dict[str, Any] = {}
    for base in reversed(arguments.__mro__):
        hints |= vars(base).get("__annotations__", {})
    if any(isinstance(hint, str) for hint in hints.values()):
        return get_type_hints(arguments, include_extras=True)
    return hints


def _fields(struct: type) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(struct) if issubclass(struct, msgspec.Struct) else ()


def _bare(hint: Any) -> tuple[Any, msgspec.Meta]:
    if get_origin(hint) in (Union, UnionType):
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    if get_origin(hint) is Annotated:
        return hint.__origin__, hint.__metadata__[0]
    return hint, msgspec.Meta()


def choices(kind: Any) -> tuple[str, ...]:
    """Return the words of a Literal or an Enum; () for anything else."""
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(member.value) for member in kind)
    return ()


def read(arguments: type[A], params: Mapping[str, Any], name: str, hidden: Collection[str] = ()) -> A:
    """Return the arguments of the operation ``name``, checked. null counts as missing, 3.0 as 3.

    ``hidden`` are parameters that this caller does not have. Raises InvalidParamsError, which names the
    parameter, its limit and what was given (ERR-CORE-004 to 006).
    """
    values = {key: value for key, value in params.items() if value is not None}
    known = {parameter.name: parameter for parameter in parameters(arguments) if parameter.name not in hidden}
    if left := sorted(set(values) - set(known)):
        listed = ", ".join(sorted(known))
        raise InvalidParamsError.of(left[0][:_SHOWN_CHARS], f"is not a parameter of {name}; it has {listed}")
    for key, value in values.items():
        if type(value) is float and value.is_integer() and known[key].kind is int:
            values[key] = int(value)
    try:
        return msgspec.convert(values, arguments, dec_hook=_instant)
    except msgspec.ValidationError as error:
        raise _explained(str(error), known, values) from None


def _instant(kind: type, value: object) -> Any:
    try:
        return Instant(parse_time("time", value))
    except InvalidParamsError as error:  # in msgspec's terms, which then says where
        raise ValueError from error


def _explained(error: str, known: Mapping[str, Parameter], values: Mapping[str, Any]) -> InvalidParamsError:
    """Explain msgspec's error in our words: it says where, the parameter says what is expected."""
    _, _, path = error.rpartition(" - at `$.")
    wrong = path.rstrip("`").partition("[")[0].partition(".")[0]
    if wrong in known:
        return _caught(known[wrong], values[wrong])
    missing = next(
        parameter for parameter in known.values() if parameter.required and parameter.name not in values
    )
    return _caught(missing, None)


def _caught(parameter: Parameter, value: Any) -> InvalidParamsError:
    try:
        if parameter.extra("check"):
            parameter.extra("check")(value)
        if parameter.kind is Instant:
            parse_time(parameter.name, value)
    except InvalidParamsError as error:
        return error
    if value is None:
        return InvalidParamsError.of(parameter.name, "is required")
    return _fault(parameter, value)


def _fault(parameter: Parameter, value: Any) -> InvalidParamsError:
    name, kind, meta = parameter.name, parameter.origin, parameter.meta
    if not (type(value) is kind or (kind is float and type(value) is int)):
        actual = _JSON_TYPES.get(type(value), "something else")
        return InvalidParamsError.of(name, f"must be {_MUST_BE[kind]}, not {actual}")
    if words := choices(parameter.kind):
        return InvalidParamsError.of(name, f"is {_shown(value)}, must be one of {', '.join(words)}")
    if kind is int:
        rule = f"must be between {meta.ge} and {meta.le}"
        return InvalidParamsError(
            f"{name} {rule}",
            parameter=name,
            what=f"is {value}, {rule}",
            detail=f"Invalid params: {name} - {rule} (received: {value})",
        )
    if kind is float:
        return InvalidParamsError.of(name, f"is {value!r}, must be between {meta.ge:g} and {meta.le:g}")
    if kind is str:
        rule = f"must have {meta.min_length or 0} to {meta.max_length} characters"
        return InvalidParamsError.of(name, f"{rule}, has {len(value)}")
    return _list_fault(parameter, value)


def _list_fault(parameter: Parameter, value: Sequence[Any]) -> InvalidParamsError:
    name, (item, meta), most = parameter.name, parameter.item, parameter.meta.max_length
    if most is not None and len(value) > most:
        return InvalidParamsError.of(name, f"has {len(value)} entries; at most {most} are allowed")
    if words := choices(item):
        wrong = next(word for word in value if word not in words)
        return InvalidParamsError.of(name, f"holds {_shown(wrong)}; known are {', '.join(words)}")
    rule = f"a string of {meta.min_length} to {meta.max_length} characters"
    return InvalidParamsError.of(name, f"has an entry that is not {rule if item is str else _MUST_BE[item]}")


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")


READS: Final = {"readOnlyHint": True, "openWorldHint": False}
ADDS: Final = {"destructiveHint": False, "openWorldHint": False}
"""Also for tools that answer with memories: they record that these were used."""
DESTROYS: Final = {"destructiveHint": True, "openWorldHint": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation: its arguments and the names by which it is called."""

    arguments: "type[Called]"
    verb: str = ""
    """The verb of a request to the owner; the command's name is its last word."""
    short: str = ""
    """The command's line in a list of commands."""
    tool: str = ""
    alias: str = ""
    """A second name of the tool, for clients that use it."""
    says: str = ""
    """The tool's description in tools/list."""
    loaded: bool = False
    """The client shows the tool to its model from the start, where it defers others."""
    search: str = ""
    """Words by which a client that defers the tool finds it."""
    hints: Mapping[str, bool] = field(default_factory=lambda: ADDS)
    """The tool's annotations."""
    result: tuple[str, ...] = ()
    """The fields of every answer; higher verbosity adds more."""


DEFINED: Final[list[Operation]] = []
"""What `operation` has defined so far; `operations.OPERATIONS` is all of it."""


def operation(verb: str = "", **names: Any) -> Callable[[type[Any]], type[Any]]:
    """Define the operation that takes the decorated arguments; ``names`` are `Operation`'s fields."""

    def define(arguments: type[Any]) -> type[Any]:
        DEFINED.append(Operation(arguments=arguments, verb=verb, **names))
        return arguments

    return define


_SESSION: Final = "Session that asks, at most 100 characters; default: $CLAUDE_CODE_SESSION_ID."
LEVELS: Final = "0 ids only, 1 text and ids, 2 links, scores and conflicts as well."


class Called(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The arguments that every operation takes."""

    session_id: Annotated[str, text(_SESSION, 100, metavar="ID", listed=False)] | None = None


class Shown(Called):
    """Also takes how much the answer tells."""

    verbosity_level: (
        Annotated[
            int, about(f"For this call: {LEVELS}", schema={"enum": [0, 1, 2]}, only="tool", listed=False)
        ]
        | None
    ) = None
