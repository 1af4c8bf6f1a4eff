"""JSON with the place of every value in its text, so that an edit leaves all other bytes alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["Node", "parse_json_text"]

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_SCALAR: Final = json.JSONDecoder()
_DEEPEST: Final = 200


@dataclass(slots=True)
class Node:
    """A value and where it stands: ``text[start:end]``. Members and items are nodes themselves.

    Attributes:
        members: Of an object: key to value; of two equal keys the later, as JSON readers have it.
        key_starts: Where each member's key begins.
        items: Of a list.
    """

    value: Any
    start: int
    end: int
    members: dict[str, Node] = field(default_factory=dict)
    key_starts: dict[str, int] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)


def parse_json_text(text: str) -> Node:
    """The document as a tree with places.

    Raises:
        ValueError: If ``text`` is not one JSON value, with line and column.
    """
    try:
        json.loads(
            text, parse_constant=_refuse_constant
        )  # the standard reader's messages, and its strictness
    except RecursionError as error:
        raise ValueError(f"nested deeper than {_DEEPEST} levels") from error
    return _value(text, _skip(text, 0), 0)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    if text[at] == "{":
        return _object(text, at, depth)
    if text[at] == "[":
        return _list(text, at, depth)
    value, end = _SCALAR.raw_decode(text, at)
    return Node(value, at, end)


def _object(text: str, start: int, depth: int) -> Node:
    node = Node({}, start, start)
    at = _skip(text, start + 1)
    while text[at] != "}":
        key_start = at
        key, at = _SCALAR.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # over the colon
        member = _value(text, at, depth + 1)
        node.value[key] = member.value
        node.members[key], node.key_starts[key] = member, key_start
        at = _over_comma(text, member.end)
    node.end = at + 1
    return node


def _list(text: str, start: int, depth: int) -> Node:
    node = Node([], start, start)
    at = _skip(text, start + 1)
    while text[at] != "]":
        item = _value(text, at, depth + 1)
        node.value.append(item.value)
        node.items.append(item)
        at = _over_comma(text, item.end)
    node.end = at + 1
    return node


def _over_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at
