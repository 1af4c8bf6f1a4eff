"""Compares two statements: does one say the other again, or does it end it?"""

from __future__ import annotations

import re
from typing import Final

from context_graph.notes.said.about import about, stem
from context_graph.notes.said.content import MOST_CHARS, read_content
from context_graph.notes.said.language import language_of
from context_graph.notes.said.statement import Statement
from context_graph.notes.said.swaps import swap_in
from context_graph.notes.said.values import OF_NUMBER, values_by_kind
from context_graph.text.paraphrase import same_meaning

_VALUE: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME: Final = re.compile(r"\w[\w.+#/-]*")
_NAME_PIECE: Final = re.compile(r"[^\W_]+")
_VAGUE: Final = frozenset("new keep code use old write put make file script live belong move port".split())  # noqa: SIM905
"""Topics that any two sentences may share."""
_SAME: Final = 0.6
_SUBJECT: Final = 0.5
_NEARLY_ALL: Final = 0.75
_HALF: Final = 0.5
"""Share of what was forbidden or asked for that is named by one who changed his mind."""
_FEW: Final = 2
"""Other words of a sentence that is about one thing."""


def repeated(statement: Statement, other: Statement) -> bool:
    """Return whether both say the same, if in other words: alike in what they want, in numbers and most
    topics."""
    if statement.text.casefold().strip(" .!") == other.text.casefold().strip(" .!"):
        return True
    if (statement.wants == "dont") != (other.wants == "dont") or _values(statement) != _values(other):
        return False
    if _topics(statement) != _topics(other) and ("ends" in _kinds(statement)) != ("ends" in _kinds(other)):
        return False
    if statement.about.paths != other.about.paths or replaces(statement, other) or replaces(other, statement):
        return False
    if same_meaning(statement.text, other.text):
        return True
    if (
        bool(statement.chosen)
        and bool(other.chosen)
        and statement.chosen.casefold() != other.chosen.casefold()
    ):
        return False
    return _shared(_topics(statement), _topics(other)) >= _SAME


def replaces(new: Statement, old: Statement) -> bool:
    """Return whether ``new``, the later one, ends ``old``.

    It gives up what the old one asks for, forbids or allows just it, or has another value of the same thing.
    In doubt it does not.
    """
    if new.text.casefold() == old.text.casefold():
        return False
    return _gives_up(new, old) or _turns(new, old) or _other_value(new, old) or _is_new_value(new, old)


def says_change(statement: Statement) -> bool:
    """Return whether a statement says that something is otherwise now."""
    return bool(statement.instead_of or {"ends", "over", "revised"} & _kinds(statement))


def ending(text: str) -> Statement | None:
    """Return the statement of ``text`` if it says that something holds no longer, else None. Cost: some 100
    us."""
    of, begin = language_of(text), text[:MOST_CHARS]
    says_over = any(mark.kind == "ends" for mark in of.marks(of.words(begin)))
    if not says_over and not swap_in(begin, of).instead_of:
        return None
    return read_content("rule", text, of, 0.0)


def ends(new: Statement, old: str) -> bool:
    """Return whether ``new``, as `ending` gives it, says plainly that ``old`` is over.

    Nearly all that ``old`` is about stands in it, and not each is about something that the other does not
    name: what is over for search may hold for payments. Stricter than `replaces`, for texts that nobody said
    about one project's rules. Cost: most are told apart by their topics; the others are read.
    """
    of = language_of(old)
    topics, topics_now = frozenset(about(old[:MOST_CHARS], of).topics), _topics(new)
    shared = len(topics & topics_now) / len(topics) if topics else 0.0
    if shared < _NEARLY_ALL or (topics - topics_now and topics_now - topics - _names(new.chosen)):
        return False
    return replaces(new, read_content("rule", old, of, 0.0))


def _gives_up(new: Statement, old: Statement) -> bool:
    """It says that what the old one asks for, or says, is over."""
    gone = _names(new.instead_of)
    if not gone or gone & _names(new.chosen):
        return False
    if old.instead_of and gone <= _names(old.instead_of):
        return False  # it was given up before
    if old.chosen:
        return bool(gone & _names(old.chosen))
    if old.wants == "dont":
        return False
    subject = _topics(new) & _topics(old)
    ends = "ends" in _kinds(new)
    return _says_all(old.text, gone) and (
        ends or bool(subject - gone) or len(_topics(old) - gone) <= _few(old)
    )


def _turns(new: Statement, old: Statement) -> bool:
    """It allows what was forbidden, or forbids what was asked for, of the same thing."""
    if (new.wants == "dont") == (old.wants == "dont") or bool(new.chosen and old.instead_of):
        return False
    if _values(new) != _values(old):
        return False
    if "revised" in _kinds(new):
        before = frozenset(about(old.instead_of, language_of(old.text)).topics) or _topics(old)
        return len(_topics(new) & before) >= _HALF * len(before) > 0
    return _shared(_topics(new), _topics(old)) >= _SAME


def _other_value(new: Statement, old: Statement) -> bool:
    """It is the same thing's other number, or its other name where it says that this is new."""
    new_topics, old_topics = _topics(new), _topics(old)
    numbers, before = _values(new), _values(old)
    if numbers and before and not numbers & before:
        if _units(new) != _units(old):
            return False
        new_topics, old_topics = new_topics - numbers, old_topics - before
        return bool(new_topics & old_topics) and _shared(new_topics, old_topics) >= _SUBJECT
    if numbers != before and not (before and numbers > before and "ends" in _kinds(new)):
        return False
    if not ({"ends", "now"} & _kinds(new)) and not (new.wants == old.wants == "fact"):
        return False
    added, gone = new_topics - old_topics, old_topics - new_topics
    shared = new_topics & old_topics
    return bool(shared) and 0 < len(added) <= 2 and 0 < len(gone) <= 2 and len(shared) >= len(gone)


def _is_new_value(new: Statement, old: Statement) -> bool:
    """It says that something changed, shares its subject, and has another value of a kind that the old one
    has: a number of the same unit, a folder, a host or branch, a language. Or it names the old value beside
    another one.
    """
    if not {"ends", "over", "now", "revised"} & _kinds(new) or new.wants == "dont":
        return False
    before, now = values_by_kind(old.text), values_by_kind(new.text)
    for kind in before.keys() & now.keys():
        if before[kind] < now[kind]:
            return True
        values = before[kind] | now[kind]
        pieces = {piece for value in (*values, kind) for piece in _NAME_PIECE.findall(value)}
        shared = (
            (_topics(new) & _topics(old)) - pieces - {stem(piece, "english") for piece in pieces} - _VAGUE
        )
        if shared and not before[kind] & now[kind]:
            return True
    return False


def _units(statement: Statement) -> frozenset[str]:
    """Return the kinds of a statement's numbers."""
    return frozenset(kind for kind in values_by_kind(statement.text) if kind.startswith(OF_NUMBER))


def _topics(statement: Statement) -> frozenset[str]:
    return frozenset(statement.about.topics)


def _values(statement: Statement) -> frozenset[str]:
    return frozenset(_VALUE.findall(statement.text))


def _names(text: str) -> frozenset[str]:
    return frozenset(name.rstrip(".").casefold() for name in _NAME.findall(text))


def _says_all(text: str, names: frozenset[str]) -> bool:
    """Return whether all ``names`` are words of ``text``, or parts of it where words have no blanks between
    them."""
    if language_of(text).signs:
        return all(name in text.casefold() for name in names)
    return names <= _names(text)


def _few(statement: Statement) -> int:
    """Return how many topics a sentence about one thing has besides its name: a word is some pairs of
    signs."""
    return 2 * _FEW if language_of(statement.text).signs else _FEW


def _kinds(statement: Statement) -> frozenset[str]:
    of = language_of(statement.text)
    return frozenset(mark.kind for mark in of.marks(of.words(statement.text)))


def _shared(words: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that both have, of all that either has."""
    return len(words & other) / len(words | other) if words and other else 0.0
