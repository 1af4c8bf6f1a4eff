"""Chooses what of a memory is told in so many tokens: whole sentences, whole names of files and symbols.

A change tells why and how before where; its title only as far as the prompt does not say it. Of any other
text the sentences count that share most with the prompt. A question gets the sentences that come nearest to
it, of all the memories that may answer it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from context_graph.text.phrases import sentences
from context_graph.text.quoting import words_of
from context_graph.text.sentences import shortened

Count = Callable[[str], int]
"""The exact number of tokens of a text."""
Near = Callable[[str], float]
"""How near a text comes to what is asked by its meaning, [-1, 1]."""

_FILES: Final = ("Changed: ", "Looked at: ", "Worked on: ")
_DETAILS: Final = "Details: "
"""How the line begins that says more of what a change was for: a prompt of the like says it better."""
_LABEL: Final = re.compile(r"(The user chose|[A-Z][a-z]++(?: by)?+)(?: \(\d++ times\))?+: ?")
_WORTH: Final = {
    **{
        "Cause": 3.0,
        "Fix": 3.0,
        "Done": 2.6,
        "Solved by": 3.0,
        "Error": 2.6,
        "Decided": 2.6,
        "The user chose": 3.0,
        "Edit": 2.6,
    },
    **{"Learned": 2.6, "Plan": 2.0, "Tested": 0.6, "Commit": 0.6, "Ran": 0.2, "Then": 0.4, "Asked": 0.4},
}
"""What a line says, by how it begins (`notes.make`, `context.summary`)."""
_PAIRS: Final = {"Asked": "The user chose", "Error": "Solved by"}
_WHOLE: Final = frozenset({*_PAIRS.values(), "Edit"})
"""Lines that say nothing in part."""
_EDIT: Final = "Edit: "
"""One that takes more than half of the room says less than what it is for."""
_NO_ANSWERS: Final = ("Asked: ", "From: ")
_REQUEST: Final = "asked for: "
_FIRST_CHARS: Final = 160
_MORE: Final = re.compile(r"\d{1,9} more")
_MOST_PARTS: Final = 4000
"""Words, or letters, of a text that is cut."""
_ENDS: Final = ".!?:;,…。！？"
_PLAIN: Final = 1.0
_TITLE: Final = 2.0
_FILE: Final = 2.4
_LESS: Final = 0.2
"""What each further file is worth less."""
_SHARED: Final = 3.0
"""What the sentence gains that has most of the prompt's words; each counts by how few sentences have it."""
_NEAR: Final = 8.0
_USUAL: Final = 0.25
"""What a sentence gains for each cosine beyond the usual one."""
_LIKELIER: Final = 0.3
"""What the sentences of a text lose for each log-odds by which another text is likelier."""
_LITTLE: Final = 1e-3
_SAID: Final = 0.6
"""Share of a title's words from which the prompt says it already."""
_SYMBOLS: Final = 4


@dataclass(frozen=True, slots=True)
class _Unit:
    text: str
    worth: float
    is_file: bool = False
    is_request: bool = False
    """Of a change: what somebody asked for, not what was done."""


def passage(content: str, asked: frozenset[str], limit: int, count: Count) -> str:
    """Return what of ``content`` is told in at most ``limit`` tokens; all of it if it fits. Gaps are marked.

    Args:
        asked: Words of the prompt (`words_of`).

    Cost: some 20 us a sentence.
    """
    content = "\n".join(line for line in content.splitlines() if not line.startswith(_DETAILS)) or content
    if count(content) <= limit:
        return content
    units = _ranked(list(_units(content, asked)), asked)
    units = [
        replace(unit, worth=0.0) if unit.text.startswith(_EDIT) and 2 * count(unit.text) > limit else unit
        for unit in units
    ]
    if not units:
        return shortened_to(content, limit, count)
    order = sorted(range(len(units)), key=lambda at: (-units[at].worth, at))
    if count(units[order[0]].text) >= limit - 1:
        return shortened_to(units[order[0]].text, limit, count)
    kept, room = set[int](), limit - 1
    for at in order:
        cost = count(units[at].text) + 1
        if cost <= room and (units[at].worth >= _PLAIN or not kept):
            kept.add(at)
            room -= cost
    return _joined(units, kept)


def answers(
    likely: Sequence[tuple[str, float]], asked: frozenset[str], room: int, head: int, count: Count, near: Near
) -> list[str]:
    """Return what of each of some texts is told to a question in at most ``room`` tokens, "" for nothing: the
    sentences that come nearest, whichever texts they are of.

    Args:
        likely: Texts with their relevance, [0, 1].
        head: Tokens that each text costs besides.

    Cost: some 20 us a sentence.
    """
    parts = [
        [
            replace(
                unit,
                text=f"{_REQUEST}{unit.text}" if unit.is_request else unit.text,
                worth=_PLAIN if _adds(unit.text, asked) else 0.0,
            )
            for unit in _units(content, asked)
        ]
        for content, _ in likely
    ]
    places = [(at, place) for at, units in enumerate(parts) for place in range(len(units))]
    ranked = _ranked([unit for units in parts for unit in units], asked, near)
    odds = [math.log((relevance + _LITTLE) / (1.0 - relevance + _LITTLE)) for _, relevance in likely]
    worth = [
        unit.worth - _PLAIN + _LIKELIER * (odds[at] - max(odds))
        for unit, (at, _) in zip(ranked, places, strict=True)
    ]
    kept: list[set[int]] = [set() for _ in parts]
    for number in sorted(range(len(places)), key=lambda number: -worth[number]):
        at, place = places[number]
        cost = count(ranked[number].text) + 1 + (0 if kept[at] else head)
        if cost <= room and worth[number] > 0.0:
            kept[at].add(place)
            room -= cost
    return [_joined(units, chosen) for units, chosen in zip(parts, kept, strict=True)]


def _adds(text: str, asked: frozenset[str]) -> bool:
    """Return whether a sentence may answer: not what an earlier session was asked or ran, nor what asks the
    same.
    """
    if text.startswith(_NO_ANSWERS):
        return False
    return not text.endswith(("?", "？")) or not _are_said(words_of(text), asked)


def _are_said(words: frozenset[str], asked: frozenset[str]) -> bool:
    return len(words & asked) >= _SAID * len(words)


def shortened_to(text: str, limit: int, count: Count) -> str:
    """Return the beginning of ``text`` in at most ``limit`` tokens, cut between words, or between letters
    where none of the words fits; "" if nothing does.
    """
    for parts, blank in ((text.split(), " "), (text.strip(), "")):
        low, high = 0, min(len(parts), _MOST_PARTS)
        while low < high:
            middle = (low + high + 1) // 2
            fits = count(blank.join(parts[:middle])) < limit
            low, high = (middle, high) if fits else (low, middle - 1)
        if low:
            return blank.join(parts[:low]) + "…"
    return ""


def _joined(units: list[_Unit], kept: set[int]) -> str:
    """Return the units that are kept in their order; what is left out between and behind them is marked, not
    before the first: each begins a sentence.
    """
    if not kept:
        return ""
    text, last = "", -1
    for at in sorted(kept):
        if text:
            ends = text[-1] in _ENDS
            between = "; " if units[at].is_file and units[last].is_file else " " if ends else ". "
            text += " … " if at > last + 1 else between
        text, last = text + units[at].text, at
    return text if last == len(units) - 1 else f"{text} …"


def _units(content: str, asked: frozenset[str]) -> Iterator[_Unit]:
    is_change = any(f"\n{label}" in content for label in (*_FILES, "Removed: "))
    for number, line in enumerate(_paired(content.splitlines())):
        if line.startswith(_FILES):
            label, _, listed = line.partition(": ")
            for place, item in enumerate(listed.split("; ")):
                text = _with_few_symbols(item)
                if not _MORE.fullmatch(item):
                    first = f"{label}: {text}" if place == 0 else text
                    yield _Unit(first, _FILE - _LESS * place, is_file=True)
            continue
        label = match[1] if (match := _LABEL.match(line)) else ""
        is_request = number == 0 and is_change and not label
        for part in (line,) if label in _WHOLE else sentences(line) or (line,):
            yield _Unit(part, _worth(part, label, number, asked), is_request=is_request)


def _paired(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines; what was chosen with the question, and what solved an error with that, are one line, in
    this order: a question alone, or an error, helps nobody.
    """
    for first, second in _PAIRS.items():
        begin = next((line for line in lines if line.startswith(first)), "")
        end = next((line for line in lines if line.startswith(f"{second}: ")), "")
        if begin and end:
            yield f"{end.rstrip('.')}. {shortened(begin, _FIRST_CHARS)}"
            lines = [line for line in lines if line not in (begin, end)]
    yield from lines


def _worth(part: str, label: str, number: int, asked: frozenset[str]) -> float:
    if label in _WORTH:
        return _WORTH[label]
    if number == 0 and not part.endswith(":"):
        words = words_of(part)
        return 0.0 if words and _are_said(words, asked) else _TITLE
    return _PLAIN


def _ranked(units: list[_Unit], asked: frozenset[str], near: Near | None = None) -> list[_Unit]:
    """Return ``units`` with what each gains by its meaning, and by the words that it shares with the prompt;
    a title that says no more than the prompt gains nothing.
    """
    shared = [words_of(unit.text) & asked if unit.worth > 0.0 else frozenset[str]() for unit in units]
    holders = Counter(word for words in shared for word in words)
    gains = [sum(math.log1p(len(units) / holders[word]) for word in words) for words in shared]
    most = max(gains, default=0.0) or 1.0
    close = [near(unit.text) if near is not None and unit.worth > 0.0 else 0.0 for unit in units]
    return [
        replace(unit, worth=unit.worth + _SHARED * gain / most + _NEAR * max(0.0, cosine - _USUAL))
        for unit, gain, cosine in zip(units, gains, close, strict=True)
    ]


def _with_few_symbols(item: str) -> str:
    """Return a file with at most four of what changed in it: `src/a.py (parse, Reader, …)`."""
    path, _, inside = item.partition(" (")
    names = inside.removesuffix(")").split(", ") if inside else []
    if len(names) <= _SYMBOLS:
        return item
    return f"{path} ({', '.join(names[:_SYMBOLS])}, …)"
