"""Holds a turn's edits as they ended: one that goes on from an earlier edit is told with it, one that was
undone is not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from context_graph.text.patterns import linear
from context_graph.text.sentences import common_ends, shortened

MOST: Final = 6
_SIDE_CHARS: Final = 600
_TOLD: Final = 4
_BEFORE_CHARS: Final = 120
_AFTER_CHARS: Final = 260
_LEAST_PART: Final = 4
"""Characters of a text that is looked for in another one."""
_MOST_LINES: Final = 160
_BRINGS_IN: Final = linear(
    r"^(?:import |from \S+ import |use [\w:{]|using |require[ (]|require_relative |#include|alias [A-Z])|"
    r"^(?:const|let|var) [\w{}, ]+ = require\("
)
_PRINTS: Final = linear(
    r"^(?:print(?:ln)?!?|e?println!|dbg!|pp?|puts|echo|printf|var_dump|NSLog|console\.\w+|"
    r"IO\.(?:puts|inspect)|System\.(?:out|err)\.print\w*|fmt\.Print\w*|"
    r"(?:logging|logger|log)\.debug|breakpoint|debugger)(?:[ (;!]|$)"
)
_AWAY: Final = ('"/tmp/', "'/tmp/")
"""What is written there is looked at once."""
_REMARK: Final = linear(r"^(?:#|//|--|;;|%|/\*|\*)(?:\s|$)")
_WORD: Final = linear(r"\w.*\w.*\w")

Row = list[str]
"""[file, what was there, what is there now, what it is in]; each side on one line, "" for nothing."""


def with_edit(rows: Sequence[Row], path: str, old: str, new: str, place: str = "") -> list[Row]:
    """Return ``rows`` with what an edit put in place of what, as it stands now."""
    kept = list(rows)
    for before, after in hunks(old, new):
        kept = _with_row(kept, [path, before, after, place])
    return kept[-MOST:]


def _with_row(rows: list[Row], row: Row) -> list[Row]:
    path, before, after, place = row
    kept: list[Row] = []
    for known in rows:
        if known[0] != path:
            kept.append(known)
        elif before == known[2] != "":
            before, place = known[1], place or known[3]
        elif known[1] == before and known[2] == after:
            continue
        elif _is_part(before, known[2]):
            before, after = known[1], known[2].replace(before, after, 1)
        elif _is_part(known[2], before):
            before = before.replace(known[2], known[1], 1)
        else:
            kept.append(known)
    before, after = before.strip(), after.strip()
    if before == after or max(len(before), len(after)) > _SIDE_CHARS:
        return kept
    return [*kept, [path, before, after, place]]


def _is_part(text: str, whole: str) -> bool:
    return len(text) >= _LEAST_PART and text != whole and text in whole


def hunks(old: str, new: str) -> list[tuple[str, str]]:
    """Return the lines of ``old`` that ``new`` has not, with those it has in their place, each in one line:
    a pair for each place where they differ."""
    before, after = ([line.strip() for line in text.splitlines() if line.strip()] for text in (old, new))
    start, end = common_ends(before, after)
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    if len(before) + len(after) > _MOST_LINES:
        return [(one_line(before), one_line(after))]
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(one_line(before[a:b]), one_line(after[c:d])) for name, a, b, c, d in codes if name != "equal"]


def one_line(lines: Sequence[str]) -> str:
    """Return lines of source as one; remarks only where there is nothing else."""
    bare = [line.strip() for line in lines if line.strip()]
    return " ".join([line for line in bare if not _REMARK.match(line)] or bare)


def are_incidental(lines: Collection[str]) -> bool:
    """Return whether lines of source only import names or print: that is no change of what they are in."""
    return bool(lines) and all(_BRINGS_IN.found(line) or _PRINTS.found(line) for line in lines)


def edits_text(rows: Sequence[Row], files: Mapping[str, Collection[str]]) -> list[str]:
    """Return a line for each edit of ``files``: ``Edit: `x = 1` -> `x = right` ``. What prints is
    none; what brings a name in is told where nothing else was changed.

    Args:
        files: Each with the functions and classes that are told of it. A single file, and a single name of
            one, is told there only.
    """
    kept = [row for row in rows if row[0] in files and _says_something(row)]
    others = [row for row in kept if not _brings_in(row)]
    lines = []
    for path, before, after, *place in (others or kept)[-_TOLD:]:
        where = next((f"in {name}: " for name in place if name and list(files[path]) != [name]), "")
        lines.append(f"Edit: {f'{path}: ' if len(files) > 1 else ''}{where}{_act(before, after)}")
    return lines


def _says_something(row: Row) -> bool:
    sides = [side for side in row[1:3] if side]
    says = any(_WORD.found(side) for side in sides) and not any(away in row[2] for away in _AWAY)
    return says and not all(_PRINTS.found(side) or _REMARK.match(side) for side in sides)


def _brings_in(row: Row) -> bool:
    return all(_BRINGS_IN.found(side) for side in row[1:3] if side)


def _act(before: str, after: str) -> str:
    old, new = shortened(before, _BEFORE_CHARS), shortened(after, _AFTER_CHARS)
    if before and after:
        return f"`{old}` -> `{new}`"
    return f"added `{new}`" if after else f"removed `{old}`"
