"""Names the functions and classes in source text, and those around a place in it, for many languages.

One pattern knows a definition by its line, as a person who skims a file does. A language that it does not
know gives no names; text that is no source hardly ever gives any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from context_graph.text.patterns import linear
from context_graph.text.sentences import common_ends

MAX_CHARS: Final = 262_144
"""Of a text, how much is looked at."""
_UPWARD: Final = 4000
"""Lines that are looked at above a place."""
_LEVELS: Final = 3
_LINE_CHARS: Final = 240
_DEFINES: Final = linear(
    r"(?m)^[ \t+-]*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|"
    r"abstract|async|unsafe|override|open|sealed|data|inline|const|extern|partial|virtual|suspend)\s+)*"
    r"(?:(?:def|defp|defmacro|fn|fun|func|function|sub)\s*\*?\s+(?:\([^)\n]{0,80}\)\s*)?(?:self\.)?([A-Za-z_]\w*[?!]?)|"
    r"(?:class|struct|enum|trait|interface|object|defmodule|module|impl|protocol|record|namespace)\s+"
    r"(?:<[^>\n]{0,60}>\s*)?([A-Za-z_][\w.]*(?:::\w+)*)|"
    r"(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*(?:async\s*)?(?:function|\([^)\n]{0,120}\)\s*=>|\w+\s*=>)|"
    r"type\s+([A-Za-z_]\w*)\s+(?:struct|interface|=)|"
    r"(?:[A-Za-z_][\w<>\[\],.*&:]*\s+){1,3}\**([A-Za-z_]\w*)\s*\([^;\n]{0,160}\)\s*"
    r"(?:const\s*)?(?:throws [\w, ]+)?\{)"
)
_NO_NAME: Final = frozenset(
    """if for while switch catch return else elif with match do try new not in is and or of as the
    a""".split()  # noqa: SIM905 - a list of them would take a page
)


def defined_by(line: str) -> str:
    """Return the function or class that a line of source begins; "" for any other line."""
    match = _DEFINES.match(line[:_LINE_CHARS])
    return _name(match) if match else ""


def defined_in(text: str, most: int = 12) -> list[str]:
    """Return the first ``most`` names that ``text`` defines, each once, in order; none of those within a
    function, which may be a text that it writes. Cost: 20 us for 4 KB.
    """
    names: dict[str, None] = {}
    around, end = -1, 0  # the indent of the function before, and where its line ends
    for match in _DEFINES.finditer(text[:MAX_CHARS]):
        depth, name = _indent(match[0]), _name(match)
        if 0 <= around < depth and not _leaves(text[end : match.start()], around):
            continue
        around, end = depth if match[1] or match[3] else -1, match.end()
        if name:
            names[name] = None
        if len(names) == most:
            break
    return list(names)


def _leaves(lines: str, depth: int) -> bool:
    """Return whether one of some lines, the first left out, is no farther in than ``depth``."""
    return any(_indent(line) <= depth and line.strip(" \t)]}{:->") for line in lines.split("\n")[1:])


def around(text: str, at: int) -> list[str]:
    """Return the names of the definitions that the line at ``at`` stands in, the outermost first.

    A definition is around it if its line is less indented. Cost: a look at 4,000 lines at most.
    """
    text = text[:MAX_CHARS]
    while at < len(text) and text[at] in "\r\n":
        at += 1
    begin = text.rfind("\n", 0, at) + 1
    here = text[begin : begin + _LINE_CHARS]
    depth, names = _indent(here), list[str]()
    for line in _upward(text, begin):
        if depth == 0 or len(names) == _LEVELS:
            break
        indent = _indent(line)
        if line.strip() and indent < depth:
            name = defined_by(line)
            if name:
                names.append(name)
                depth = indent
    return names[::-1]


def changed_by(old: str, new: str) -> list[str]:
    """Return the names that the changed lines between two texts define, after the one that they stand in."""
    before, after = old[:MAX_CHARS].splitlines(), new[:MAX_CHARS].splitlines()
    head, tail = common_ends(before, after)
    changed = [*before[head : len(before) - tail], *after[head : len(after) - tail]]
    names = dict.fromkeys(name for line in changed if (name := defined_by(line)))
    first = next((line for line in changed if line.strip()), "")
    above = next((line for line in reversed(before[:head]) if defined_by(line)), None)
    if above is not None and _indent(above) < _indent(first):
        names = dict.fromkeys([defined_by(above), *names])
    return list(names)


def _name(match: Any) -> str:
    name = next((group for group in match.groups() if group), "")
    return "" if name in _NO_NAME or len(name) < 2 else str(name)


def _upward(text: str, begin: int) -> Iterator[str]:
    """Yield the lines before ``begin``, the nearest first."""
    for _ in range(_UPWARD):
        if begin <= 0:
            return
        start = text.rfind("\n", 0, begin - 1) + 1
        yield text[start : min(begin - 1, start + _LINE_CHARS)]
        begin = start


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
