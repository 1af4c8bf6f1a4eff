"""Edits files: a JSON document in its own indentation and line endings, all other bytes stay.

And plans changes of files, shows them as a diff, then writes each file whole or not at all.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from context_graph.errors import ConfigError, InvalidInputError
from context_graph.system.small_files import replacing

_DEFAULT_UNIT: Final = "  "


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str


class JsonEditor:
    """Collects edits of one document; `applied` gives the result."""

    def __init__(self, text: str, root: Node) -> None:
        self._text = text
        self.root = root
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._unit = self._indent_unit()
        self._edits: list[_Edit] = []

    def append_members(self, node: Node, members: Mapping[str, Any], depth: int) -> None:
        """Add ``members`` at the end of the object ``node``, whose members are at that depth (root: 1)."""
        if not members:
            return
        last = max(node.members.values(), key=lambda member: member.end, default=None)
        indent = self._line_indent(min(node.key_starts.values())) if node.key_starts else None
        indent = self._unit_times(depth) if indent is None else indent
        gap = ", " if self._unit is None else f",{self._newline}{indent}"
        text = gap.join(
            f"{json.dumps(key, ensure_ascii=False)}: {self._dumped(value, indent)}"
            for key, value in members.items()
        )
        if last is not None:
            self._edits.append(_Edit(last.end, last.end, gap + text))
        elif self._unit is None:
            self._edits.append(_Edit(node.start, node.end, "{" + text + "}"))
        else:
            outer = indent.removesuffix(self._unit)
            whole = f"{{{self._newline}{indent}{text}{self._newline}{outer}}}"
            self._edits.append(_Edit(node.start, node.end, whole))

    def append_items(self, node: Node, values: Sequence[Any], depth: int) -> None:
        """Add ``values`` at the end of the list ``node``, whose items are at that depth."""
        if not values:
            return
        if not node.items:
            self.replace_items(node, values, depth)
            return
        last = node.items[-1].end
        indent = self._line_indent(node.items[0].start)
        gap = ", " if indent is None else f",{self._newline}{indent}"
        text = "".join(gap + self._dumped(value, indent or "") for value in values)
        self._edits.append(_Edit(last, last, text))

    def replace_items(self, node: Node, pieces: Sequence[Any], depth: int) -> None:
        """Make the list ``node`` one of ``pieces``: its own items, which keep their text, and new values."""
        inner = self._line_indent(node.items[0].start) if node.items else None
        inner = self._unit_times(depth) if inner is None else inner
        texts = [
            self._text[piece.start : piece.end] if isinstance(piece, Node) else self._dumped(piece, inner)
            for piece in pieces
        ]
        if self._unit is None:
            whole = "[" + ", ".join(texts) + "]"
        else:
            outer = inner.removesuffix(self._unit)
            lines = f",{self._newline}{inner}".join(texts)
            whole = f"[{self._newline}{inner}{lines}{self._newline}{outer}]"
        self._edits.append(_Edit(node.start, node.end, whole))

    def applied(self) -> str:
        """Return the document with all edits."""
        text = self._text
        for edit in sorted(self._edits, key=lambda edit: edit.start, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text

    def _dumped(self, value: Any, indent: str) -> str:
        text = json.dumps(value, indent=self._unit, ensure_ascii=False)
        return text.replace("\n", self._newline + indent)

    def _indent_unit(self) -> str | None:
        """Return what one level is indented by; None for a document on one line that says something."""
        if not self.root.key_starts:
            return _DEFAULT_UNIT
        first = self._line_indent(min(self.root.key_starts.values()))
        if first is None and "\n" not in self._text.strip():
            return None
        return first or _DEFAULT_UNIT

    def _line_indent(self, at: int) -> str | None:
        """Return the white space before ``at`` if it is the first text on its line."""
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        starts_line = self._text.rfind("\n", 0, at) >= 0
        return line if starts_line and not line.strip() else None

    def _unit_times(self, depth: int) -> str:
        return "" if self._unit is None else self._unit * depth


def without(text: str, path: Sequence[str | int]) -> str:
    """Return ``text`` without the member or item at ``path`` (keys and positions from the root).

    Raises:
        ValueError: The text is no JSON.
        LookupError: There is nothing at ``path``.
    """
    node = parse_json_text(text)
    for step in path[:-1]:
        node = node.members[step] if isinstance(step, str) else node.items[step]
    if isinstance(path[-1], str):
        spans = sorted((node.key_starts[key], member.end) for key, member in node.members.items())
        at = spans.index((node.key_starts[path[-1]], node.members[path[-1]].end))
    else:
        spans = [(item.start, item.end) for item in node.items]
        at = range(len(spans))[path[-1]]
    if len(spans) == 1:
        return text[: node.start + 1] + text[node.end - 1 :]
    if at:
        return text[: spans[at - 1][1]] + text[spans[at][1] :]
    return text[: spans[0][0]] + text[spans[1][0] :]


_SPACE: Final = re.compile(r"[ \t\n\r]*")
_SCALAR: Final = json.JSONDecoder()
_DEEPEST: Final = 200


@dataclass(slots=True)
class Node:
    """A value and where it is: ``text[start:end]``. Members and items are nodes themselves.

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
    """Return the document as a tree with places.

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
    raise ValueError(f"{name} is not JSON")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


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


_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Change:
    """One file: its text now (None: not there), its text to be (None: not there), the mode of a new file."""

    path: Path
    before: str | None
    after: str | None
    mode: int = 0o644

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    @property
    def lines(self) -> tuple[int, int]:
        """Number of lines added and removed."""
        marks = [line[0] for line in _diff_lines(self, context=0)[2:]]
        return marks.count("+"), marks.count("-")


def diff_of(changes: Sequence[Change]) -> str:
    """Return a unified diff of all ``changes``; empty when there is nothing to do."""
    parts = [line for change in changes for line in _diff_lines(change, context=3)]
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts
    )


def _diff_lines(change: Change, context: int) -> list[str]:
    return list(
        difflib.unified_diff(
            (change.before or "").splitlines(keepends=True),
            (change.after or "").splitlines(keepends=True),
            "/dev/null" if change.before is None else str(change.path),
            "/dev/null" if change.after is None else str(change.path),
            n=context,
        )
    )


def edited(text: str, edit: Callable[[str], str]) -> str:
    """Return ``text`` after ``edit``, which does not see the byte order mark of some editors."""
    rest = text.removeprefix(_MARK)
    return text[: len(text) - len(rest)] + edit(rest)


def apply_changes(changes: Sequence[Change]) -> list[Path]:
    """Write what is needed, each file atomically, in this order; the paths that were changed.

    Raises:
        ConfigError: If a file can't be written. Those before it are as they were again, or are named.
    """
    done: list[Change] = []
    for change in changes:
        if not change.is_needed:
            continue
        way_back = Change(change.path, change.after, change.before, _mode_of(change))
        try:
            _apply(change)
        except OSError as error:
            left = _taken_back(done)
            more = f"; {', '.join(map(str, left))} could not be restored" if left else ""
            raise ConfigError(f"{change.path} can't be written: {error.strerror}{more}") from error
        done.append(way_back)
    return [change.path for change in done]


def _mode_of(change: Change) -> int:
    try:
        return os.stat(change.path).st_mode & 0o7777
    except OSError:
        return change.mode


def _taken_back(ways_back: Sequence[Change]) -> list[Path]:
    """Undo the changes, the last first; the paths where that failed."""
    left = []
    for change in reversed(ways_back):
        try:
            _apply(change)
        except OSError:
            left.append(change.path)
    return left


def read_text(path: Path) -> str | None:
    """Return the file's text with its own line ends; None if there is no file.

    Raises:
        InvalidInputError: It is not UTF-8.
        ConfigError: It can't be read.
    """
    try:
        with open(path, encoding="utf-8", newline="") as source:  # newline: CRLF must survive
            return source.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: not UTF-8 at byte {error.start}; it was not changed") from error
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error


def _apply(change: Change) -> None:
    path = Path(os.path.realpath(change.path))  # a link stays a link; its target is replaced
    if change.after is None:
        os.unlink(path)  # of a link that led nowhere what was made at its end
        return
    os.makedirs(path.parent, exist_ok=True)
    mode = os.stat(path).st_mode & 0o7777 if path.exists() else change.mode
    with replacing(path, mode=mode, is_durable=True) as out:
        out.write(change.after.encode())
