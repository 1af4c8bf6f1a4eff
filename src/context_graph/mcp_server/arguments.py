"""A tool call's arguments, read one by one: types, ranges, and no name that nobody reads."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from context_graph.errors import InvalidParamsError
from context_graph.memory.filters import parse_time

__all__ = ["Arguments"]

_SHOWN_CHARS: Final = 60
_LIST_MAX: Final = 64
"""Entries of a list argument."""


class Arguments:
    """The arguments of one call. null counts as left out. Readers raise InvalidParamsError (ERR-CORE-004).

    Args:
        tool: Name of the tool, or of the argument that holds these.
    """

    def __init__(self, tool: str, values: Mapping[str, Any]) -> None:
        self._tool = tool
        self._values = {name: value for name, value in values.items() if value is not None}
        self._read: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether ``name`` is given."""
        return name in self._values

    def peek(self, name: str) -> Any:
        """As ``raw``, without counting as read."""
        return self._values.get(name)

    def raw(self, name: str) -> Any:
        """The value as it came; None if left out."""
        self._read.add(name)
        return self._values.get(name)

    def text(self, name: str, *, low: int = 1, high: int = 4096) -> str | None:
        """A text of ``low`` to ``high`` characters."""
        value = self.raw(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._wrong_type(name, "a string", value)
        if not low <= len(value) <= high:
            raise InvalidParamsError.of(name, f"must have {low} to {high} characters, has {len(value)}")
        return value

    def required(self, name: str, *, low: int = 1, high: int = 4096) -> str:
        """As ``text``, and it must be there."""
        value = self.text(name, low=low, high=high)
        if value is None:
            raise InvalidParamsError.of(name, "is required")
        return value

    def number(self, name: str, low: float, high: float) -> float | None:
        """A number in [low, high]."""
        value = self.raw(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong_type(name, "a number", value)
        if not low <= value <= high:
            raise InvalidParamsError.of(name, f"must be between {low:g} and {high:g}, is {value!r}")
        return float(value)

    def integer(self, name: str) -> int | None:
        """A whole number, also one written as 3.0; its range is the caller's to check."""
        value = self.raw(name)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong_type(name, "an integer", value)
        return value

    def between(self, name: str, low: int, high: int, default: int) -> int:
        """An integer in [low, high]; the message is the one of EC-CORE-005 and EC-CORE-006."""
        value = self.integer(name)
        if value is None:
            return default
        if not low <= value <= high:
            raise InvalidParamsError(
                f"{name} must be between {low} and {high}",
                parameter=name,
                detail=f"Invalid params: {name} - must be between {low} and {high} (received: {value})",
            )
        return value

    def flag(self, name: str, default: bool) -> bool:
        """true or false."""
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self._wrong_type(name, "true or false", value)
        return value

    def choice(self, name: str, choices: Iterable[str], default: str) -> str:
        """One of the words ``choices``."""
        value = self.text(name)
        if value is None:
            return default
        if value not in choices:
            raise InvalidParamsError.of(
                name, f"is {_shown(value)}, must be one of {', '.join(map(str, choices))}"
            )
        return value

    def texts(
        self, name: str, *, choices: Iterable[str] = (), high: int = 256, most: int = _LIST_MAX
    ) -> tuple[str, ...]:
        """A list of at most ``most`` texts of at most ``high`` characters; empty if left out."""
        found = []
        for value in self._list(name, most):
            if not isinstance(value, str) or not 1 <= len(value) <= high:
                raise InvalidParamsError.of(name, f"each entry must be a string of 1 to {high} characters")
            if choices and value not in choices:
                raise InvalidParamsError.of(
                    name, f"holds {_shown(value)}; known are {', '.join(map(str, choices))}"
                )
            found.append(value)
        return tuple(found)

    def uuid(self, name: str) -> UUID:
        """The id of a memory; required."""
        return self._uuid(name, self.required(name))

    def uuids(self, name: str) -> tuple[UUID, ...]:
        """A list of ids; empty if left out."""
        return tuple(self._uuid(name, value) for value in self._list(name))

    def mapping(self, name: str) -> dict[str, Any]:
        """A JSON object; empty if left out."""
        value = self.raw(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong_type(name, "an object", value)
        return value

    def inner(self, name: str) -> Arguments:
        """The arguments inside the object ``name``."""
        return Arguments(name, self.mapping(name))

    def instant_ms(self, name: str) -> int | None:
        """An ISO 8601 time (without an offset it is UTC) or Unix milliseconds, as Unix milliseconds."""
        value = self.raw(name)
        return None if value is None else parse_time(name, value)

    def base64(self, name: str, high: int) -> bytes:
        """The bytes of a base64 text of at most ``high`` characters, white space aside; required."""
        value = "".join(self.required(name, high=2 * high).split())
        if len(value) > high:
            raise InvalidParamsError.of(name, f"must have at most {high} characters, has {len(value)}")
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidParamsError.of(name, f"is not base64: {error}") from error

    def finish(self) -> None:
        """Complain about a name that was not asked for: a misspelt filter must not be ignored."""
        left = sorted(set(self._values) - self._read)
        if left:
            known = ", ".join(sorted(self._read))
            raise InvalidParamsError.of(
                left[0][:_SHOWN_CHARS], f"is no parameter of {self._tool}; it has {known}"
            )

    def _list(self, name: str, most: int = _LIST_MAX) -> Sequence[Any]:
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self._wrong_type(name, "an array", value)
        if len(value) > most:
            raise InvalidParamsError.of(name, f"has {len(value)} entries; at most {most} are taken")
        return value

    def _uuid(self, name: str, value: object) -> UUID:
        try:
            return UUID(value) if isinstance(value, str) else UUID(str(value))
        except ValueError:
            raise InvalidParamsError.of(name, f"{_shown(value)} is no id of a memory (a UUID)") from None

    @staticmethod
    def _wrong_type(name: str, wanted: str, value: object) -> InvalidParamsError:
        kinds = {
            bool: "boolean",
            int: "integer",
            float: "number",
            str: "string",
            list: "array",
            dict: "object",
        }
        return InvalidParamsError.of(
            name, f"must be {wanted}, not {kinds.get(type(value), 'something else')}"
        )


def _shown(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")
