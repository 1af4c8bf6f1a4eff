"""Finds what a sentence asks for and what it gives up for it: `pnpm` and `npm` in `use pnpm, not npm`."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from context_graph.notes.said.about import names
from context_graph.notes.said.language import Language, language

_REACH: Final = 4
"""Words that a name is looked for in; in scripts without spaces twice as many signs."""
_CUT: Final = frozenset(
    [
        *("keep", "choose", "must", "house", "standing", "me", "you", "task", "reason", "now", "be", "ends"),
        "again",
    ]
)
"""Kinds of words that are no part of a thing's name."""
_EDGES: Final = "\"'`“”„«»()"
_UNIT: Final = re.compile(
    r"[^\s,;:.!?，。；：、！？()]+(?:[.:][^\s,;:.!?，。；：、！？()]+)*|[,;:.!?，。；：、！？]"
)
_SIGN: Final = re.compile(r"[A-Za-z0-9_+#/-]+(?:[.][A-Za-z0-9_+#/-]+)*|\S")
_ENDS: Final = frozenset(",;:.!?，。；：、！？")
_COMMAS: Final = frozenset(",;，；、")


class Swap(NamedTuple):
    """What is asked for and what is given up; "" where that is not said."""

    chosen: str
    instead_of: str


class _Way(NamedTuple):
    """A way to say it: names of holes, `new` or `old`, and the units between them."""

    parts: tuple[str | tuple[str, ...], ...]


@cache
def _ways(code: str) -> dict[str, tuple[_Way, ...]]:
    """Return the ways of a language by the first unit of their words."""
    of = language(code)
    by_first: dict[str, list[_Way]] = {}
    for template in of.swaps:
        parts: list[str | tuple[str, ...]] = []
        for part in template.replace("{", "\0").replace("}", "\0").split("\0"):
            if part in ("new", "old"):
                parts.append(part)
            elif part.strip():
                parts.append(tuple(_units(part, of)))
        words = next(part for part in parts if isinstance(part, tuple))
        by_first.setdefault("," if words[0] in _COMMAS else words[0], []).append(_Way(tuple(parts)))
    return {first: tuple(ways) for first, ways in by_first.items()}


def _units(text: str, of: Language) -> list[str]:
    """Words and the signs between them; in scripts without spaces each sign, but foreign words whole."""
    units = (_SIGN if of.signs else _UNIT).findall(text.lower().replace("’", "'"))
    return [unit if unit in _ENDS else unit.strip(_EDGES) or unit for unit in units]


def swap_in(text: str, of: Language) -> Swap:
    """Return what ``text`` asks for and gives up: by the way of saying it that names most. Linear in its
    length."""
    units = _units(text, of)
    best = Swap("", "")
    ways = _ways(of.code)
    for at, unit in enumerate(units):
        for way in ways.get("," if unit in _COMMAS else unit, ()):
            named = _matched(way, units, at, of)
            if named is not None:
                swap = Swap(named.get("new", ""), named.get("old", ""))
                if all(swap) and not all(best):
                    best = swap
                elif not {*swap} & {*best} - {""}:
                    best = Swap(best.chosen or swap.chosen, best.instead_of or swap.instead_of)
    return best


def _matched(way: _Way, units: list[str], at: int, of: Language) -> dict[str, str] | None:
    """Return the names that ``way`` gives where its first words stand at ``at``; None where they do not."""
    reach = 2 * _REACH if of.signs else _REACH
    parts = way.parts
    named: dict[str, str] = {}
    if isinstance(parts[0], str):
        start = at
        while start > max(0, at - reach) and units[start - 1] not in _ENDS:
            start -= 1
        named[parts[0]] = _name(units[start:at], of, last=True)
        parts = parts[1:]
    while parts:
        words = parts[0]
        if isinstance(words, str) or not _stands(words, units, at):
            return None
        at += len(words)
        parts = parts[1:]
        if not parts or not isinstance(parts[0], str):
            continue
        end = at
        until = parts[1] if len(parts) > 1 else None
        while end < min(len(units), at + reach) and not (
            _stands(until, units, end) if isinstance(until, tuple) else units[end] in _ENDS
        ):
            end += 1
        named[parts[0]] = _name(units[at:end], of, last=False)
        at, parts = end, parts[1:]
    return named


def _stands(words: tuple[str, ...], units: list[str], at: int) -> bool:
    there = units[at : at + len(words)]
    return len(there) == len(words) and all(
        unit == other or (unit in _COMMAS and other in _COMMAS)
        for unit, other in zip(words, there, strict=True)
    )


def _name(units: list[str], of: Language, *, last: bool) -> str:
    """Return the part of ``units`` that is a name: its ``last`` words, or its first, up to one that is
    none."""
    if of.signs:
        foreign = [unit for unit in units if unit[0].isascii() and unit[0].isalpha()]
        if foreign:
            return foreign[-1 if last else 0]
        return "".join(unit for unit in units if unit not in _ENDS).strip(_EDGES)
    kept: list[str] = []
    for unit in reversed(units) if last else units:
        plain = of.words(unit)
        kinds = {mark.kind for mark in of.marks(plain)}
        is_cut = unit in _ENDS or bool(plain and plain[0] in of.common) or bool(kinds & _CUT)
        cut = is_cut and unit not in names().programs
        if last and not kept and "house" in kinds:
            continue  # `we use npm here, not yarn`
        if cut and (kept or last or "reason" in kinds):
            break
        if not cut:
            kept.append(unit)
    return " ".join(reversed(kept) if last else kept)
