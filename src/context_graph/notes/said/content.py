"""Reads a statement: what it wants, for whom it holds, what it is about, what it gives up, and why."""

from __future__ import annotations

import re
from typing import Final

from context_graph.notes.said.about import about
from context_graph.notes.said.language import Language, Mark
from context_graph.notes.said.statement import About, Kind, Scope, Statement, Wants
from context_graph.notes.said.swaps import Swap, swap_in

_CLAUSE: Final = re.compile(r"[,;:，；：、。]")
MOST_CHARS: Final = 500
_LEAST_BEFORE: Final = 3
"""Words of what a reason is given for."""
_LONG_WORD: Final = 3
"""Letters of a word that begins a reason in the middle of a clause: `because`, not `as`."""
_POINTS: Final = 3
"""Words by which one points at what was done: `not like that`."""
_DENIES: Final = frozenset({"forbid"})
_SPOKEN: Final = frozenset({"speak", "tongue"})
"""Words for talking to the user, and for a language."""
_ASKS: Final = frozenset({"keep", "choose", "task"})


def read_content(kind: Kind, text: str, of: Language, score: float) -> Statement:
    """Return the statement that ``text``, one sentence of a user, makes."""
    text = text[:MOST_CHARS]
    order = _without_denial(text, of)
    words = of.words(order)
    marks = of.marks(words)
    kinds = frozenset(mark.kind for mark in marks)
    swap = swap_in(order, of)
    of_what = about(order, of)
    return Statement(
        kind=kind,
        text=text,
        wants=_wants(marks, kinds, swap),
        scope=_scope(kinds, of_what),
        about=of_what,
        chosen=swap.chosen,
        instead_of=swap.instead_of,
        reason=_reason(text, of),
        score=round(score, 2),
    )


def _without_denial(text: str, of: Language) -> str:
    """``text`` without what only says no to what was done: `no, not that way: always use pnpm`."""
    while (sign := _CLAUSE.search(text)) is not None:
        opening, rest = text[: sign.start()], text[sign.end() :]
        words = of.words(opening)
        marks = {mark.kind for mark in of.marks(words)}
        points = "this" in marks and len(words) <= (2 * _POINTS if of.signs else _POINTS)
        says_more = marks & _ASKS or (not points and about(opening, of).topics)
        if not marks & _DENIES or says_more or not rest.strip():
            break
        text = rest
    return text


def _wants(marks: list[Mark], kinds: frozenset[str], swap: Swap) -> Wants:
    if swap.chosen:
        return "do"
    denies = min((mark.start for mark in marks if mark.kind in _DENIES), default=-1)
    asks = min((mark.start for mark in marks if mark.kind in _ASKS), default=-1)
    if swap.instead_of or (denies >= 0 and (asks < 0 or denies <= asks + 1)):
        return "dont"
    if kinds & {"must", "standing", "choose", "prefer"} or asks == 0:
        return "do"
    return "fact"


def _scope(kinds: frozenset[str], of_what: About) -> Scope:
    """Return how far a statement holds. For all of the user's work only if it says so, or says what language
    he speaks; what is about him and how he is answered may be meant for this project.
    """
    if of_what.paths:
        return "project"
    if "everywhere" in kinds:
        return "everywhere"
    if "house" in kinds:
        return "project"
    if "habit" in kinds or kinds >= _SPOKEN:
        return "everywhere"
    return "user" if "person" in kinds else "project"


def _reason(text: str, of: Language) -> str:
    """Return the part that gives a reason: a clause that begins as one, or what follows a word like
    `because`."""
    for part in _CLAUSE.split(text)[1:]:
        words = of.words(part.strip())
        if any(mark.kind == "reason" and mark.start == 0 for mark in of.marks(words[:4])):
            return part.strip()
    if of.signs:
        return ""
    words = of.words(text)
    for mark in of.marks(words):
        word = words[mark.start]
        if mark.kind == "reason" and mark.start >= _LEAST_BEFORE and len(word) >= _LONG_WORD:
            return _from_word(text, word)
    return ""


def _from_word(text: str, word: str) -> str:
    at = text.lower().find(f" {word}")
    return text[at:].strip(" .!") if at >= 0 else ""
