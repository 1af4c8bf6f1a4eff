"""Reads unified diffs: which file, in which function or class, what was there and what is there now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from context_graph.text.definitions import MAX_CHARS, defined_by
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

_HEAD: Final = linear(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)")
_FILE: Final = "+++ "
_MARKS: Final = ("+", "-", " ", "")
_SIDE_CHARS: Final = 300
"""Of a change on each side."""


def patched_in(diff: str, most: int = 24) -> list[list[str]]:
    """Return [file, what was there, what is there now, *functions and classes] of each change in a unified
    diff, at most ``most``. Linear in its length.
    """
    rows: list[list[str]] = []
    path = heading = ""
    body, is_torn = list[str](), False
    for line in [*diff[:MAX_CHARS].splitlines(), "@@ -0 +0 @@"]:
        head = _HEAD.fullmatch(line)
        if head or line.startswith((_FILE, "--- ", "diff ")):
            rows += [[path, *row] for row in _changes(body, heading) if path][: most - len(rows)]
            body = []
        if head:
            heading, is_torn = head[1], False
        elif line.startswith(_FILE):
            path = line[len(_FILE) :].removeprefix("b/").split("\t")[0].removeprefix("/dev/null")
        elif line[:1] in _MARKS and not is_torn:
            body.append(line)
        elif not line.startswith("\\ No newline"):
            is_torn, body = True, []  # something was left out here
    return rows


def _changes(lines: Sequence[str], heading: str) -> Iterator[list[str]]:
    """Yield what each run of changed lines took away and put there, and what that is in."""
    old, new, above = list[str](), list[str](), list[str]()
    for line in [*lines, " "]:
        if line[:1] == "-":
            old.append(line[1:])
        elif line[:1] == "+":
            new.append(line[1:])
        else:
            if old or new:
                yield [_side(old), _side(new), *_names(old, new, above, heading)]
            above += [*new, line[1:]]
            old, new = [], []


def _side(lines: Sequence[str]) -> str:
    return shortened("\n".join(lines), _SIDE_CHARS)


def _names(old: Sequence[str], new: Sequence[str], above: Sequence[str], heading: str) -> list[str]:
    """Return the definition that changed lines stand in, if one is told, and those that they begin.

    The heading is what the first line of all stands in: a line without indent stands in nothing.
    """
    first = next((line for line in (*new, *old) if line.strip()), "")
    depth, around = _indent(first), list[str]()
    for line in reversed(above):
        if line.strip() and _indent(line) < depth:
            depth = _indent(line)
            around += filter(None, [defined_by(line)])
    if depth and not around:
        around = [*filter(None, [defined_by(heading)])]
    begun = (defined_by(line) for line in (*old, *new))
    return list(dict.fromkeys([*around[::-1], *filter(None, begun)]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
