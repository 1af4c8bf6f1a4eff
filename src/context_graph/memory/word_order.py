"""Whether two orders of the same words say the same.

What may move: a phrase that brings its preposition along (`for the gateway, we use it` / `we use it for
the gateway`), the members of a list, whole sentences; `X's Y` is `Y of X`, `B is called by A` is `A calls
B`, and `the owner of X is A` is `A is the owner of X`. Everything else keeps its place: who does what to
whom is told by the order of words, so where a doubt is left the texts differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from context_graph.memory.rewording import forms_of, owned
from context_graph.memory.saying import Word
from context_graph.memory.word_classes import KINDS, ORDERED, TIED

__all__ = ["same_order"]

MAX_WORDS: Final = 80
"""Of a sentence whose phrases are moved; longer ones must have one order."""
MAX_REWORDED: Final = 40
"""Sentences that are told in other words, one by one; texts in which more are differ."""
_STAYS: Final = frozenset(["", "'s", "of", "or", "than", "versus"])
"""Marks of words that do not move by themselves."""

Words = Sequence[Word]


def same_order(
    one: Sequence[Words], other: Sequence[Words], *, optional: frozenset[str] = frozenset()
) -> bool:
    """Whether two texts with the same words, sentence by sentence, say the same.

    Args:
        optional: What one of them may have and the other not (`Saying.optional`): `we use X` is `X is used`,
            as `use X` is not.
    """
    ours = [word for sentence in one for word in sentence]
    theirs = [word for sentence in other for word in sentence]
    if _alike(ours, theirs):
        return True
    rest, others = _units(one), _units(other)
    if len(rest) != len(others):
        return len(ours) <= MAX_WORDS and _reworded(ours, theirs, optional)
    rest, others = _without_twins(rest, others)
    if len(rest) > MAX_REWORDED or Counter(map(_bag, rest)) != Counter(map(_bag, others)):
        return False
    return all(
        any(_bag(unit) == _bag(there) and _reworded(unit, there, optional) for there in others)
        for unit in rest
    )


def _without_twins(
    ours: Sequence[list[Word]], theirs: Sequence[list[Word]]
) -> tuple[list[list[Word]], list[list[Word]]]:
    """Both without the sentences that the other has too, wherever it has them."""
    waiting: dict[tuple[tuple[str, str], ...], list[list[Word]]] = {}
    for unit in theirs:
        waiting.setdefault(_joined(unit), []).append(unit)
    rest = []
    for unit in ours:
        alike = waiting.get(_joined(unit), [])
        at = next((at for at, there in enumerate(alike[:MAX_REWORDED]) if _alike(unit, there)), None)
        if at is None:
            rest.append(unit)
        else:
            alike[at] = alike[-1]
            alike.pop()
    return rest, [unit for units in waiting.values() for unit in units]


def _joined(words: Words) -> tuple[tuple[str, str], ...]:
    return tuple((word.word, word.mark) for word in words)


def _bag(words: Words) -> tuple[str, ...]:
    return tuple(sorted(word.word for word in words))


def _units(sentences: Sequence[Words]) -> list[list[Word]]:
    """Sentences, each with those after it that rest on it."""
    units: list[list[Word]] = []
    for sentence in sentences:
        if units and any(word.word in TIED for word in sentence):
            units[-1].extend(sentence)
        else:
            units.append(list(sentence))
    return units


def _alike(one: Words, other: Words) -> bool:
    """The same words, joined by the same marks, in the same order and voice."""
    return len(one) == len(other) and all(
        ours.word == theirs.word and ours.mark == theirs.mark and _one_voice(ours, theirs)
        for ours, theirs in zip(one, other, strict=True)
    )


def _one_voice(ours: Word, theirs: Word) -> bool:
    """Not `blocks` against `is blocked`."""
    passive, other = (ours, theirs) if ours.be else (theirs, ours)
    return not (passive.be and passive.past) or other.past


def _reworded(one: Words, other: Words, optional: frozenset[str]) -> bool:
    if max(len(one), len(other)) > MAX_WORDS:
        return False
    theirs = list(forms_of(other, optional))
    return any(_moved(form, there) for form in forms_of(one, optional) for there in theirs)


def _moved(one: Words, other: Words) -> bool:
    """Whether only what may move has moved."""
    ours, theirs = owned(one, other), owned(other, one)
    if _alike(ours, theirs):
        return True
    places = _places(ours, theirs)
    if places is None or not all(
        _one_voice(word, theirs[place]) for word, place in zip(ours, places, strict=True)
    ):
        return False
    listed = not any(word.word in ORDERED for word in ours)
    if listed and _same_clauses(ours, theirs):
        return True
    named = _named(ours)
    theirs = [word._replace(word=f"{at}") for at, word in enumerate(theirs)]
    ours = [word._replace(word=f"{place}") for word, place in zip(ours, places, strict=True)]
    tiles = list(_tiles(ours, places))
    fixed = [tile for tile in tiles if not _free(tile, ours, theirs)]
    return _in_order(fixed, ours, theirs, named, listed) and _marks_in_order(tiles, ours, theirs)


def _same_clauses(ours: Words, theirs: Words) -> bool:
    """Whether both have the same clauses of two words or more between their commas, in whatever order."""
    clauses = [
        Counter(tuple((word.word, word.mark) for word in clause) for clause in _clauses(words))
        for words in (ours, theirs)
    ]
    return clauses[0] == clauses[1] and all(len(clause) > 1 for clause in clauses[0])


def _clauses(words: Words) -> Iterator[Words]:
    start = 0
    for at in range(1, len(words) + 1):
        if at == len(words) or words[at].fronted or (words[at].joined and not words[at].mark):
            yield words[start:at]
            start = at


def _places(ours: Words, theirs: Words) -> list[int] | None:
    """Where each of our words is in theirs; None if they are not the same words, or it can't be told.

    Which is which of equal words is told by the words beside them.
    """
    there: dict[str, list[int]] = {}
    for at, word in enumerate(theirs):
        there.setdefault(word.word, []).append(at)
    if Counter(word.word for word in ours) != {word: len(places) for word, places in there.items()}:
        return None
    found = [_twin(ours, at, theirs, there[word.word]) for at, word in enumerate(ours)]
    taken = set(found)
    for at, word in enumerate(ours):
        if found[at] is None:
            rest = [place for place in there[word.word] if place not in taken]
            found[at] = rest[0] if len(rest) == 1 else None
            taken.add(found[at])
    places = [place for place in found if place is not None]
    return places if len(places) == len(set(places)) == len(ours) else None


def _twin(ours: Words, at: int, theirs: Words, places: Sequence[int]) -> int | None:
    if len(places) == 1:
        return places[0]
    around = _around(ours, at)
    for sides in (slice(0, 2), slice(0, 1), slice(1, 2)):
        alike = [place for place in places if _around(theirs, place)[sides] == around[sides]]
        if alike:
            return alike[0] if len(alike) == 1 else None
    return None


def _around(words: Words, at: int) -> tuple[str, str]:
    before = words[at - 1].word if at else ""
    return before, words[at + 1].word if at + 1 < len(words) else ""


Tile = tuple[int, int, int]
"""Where a run of words that both have begins in the one and in the other, and how long it is."""


def _tiles(ours: Words, places: Sequence[int]) -> Iterator[Tile]:
    start = 0
    for at in range(1, len(ours) + 1):
        if at == len(ours) or places[at] != places[at - 1] + 1 or ours[at].mark not in ("", "of", "'s"):
            yield start, places[start], at - start
            start = at


def _free(tile: Tile, ours: Words, theirs: Words) -> bool:
    """Whether a tile brings its preposition along and still belongs to the same words, or to the sentence."""
    at, there, length = tile
    mark = ours[at].mark
    if ours[at].fronted and theirs[there].fronted and ours[at + length - 1].says:
        return _same_inside(tile, ours, theirs)
    if mark in _STAYS or mark != theirs[there].mark or not _same_inside(tile, ours, theirs):
        return False
    if ours[at].fronted or theirs[there].fronted:
        return True
    if at and there and ours[at - 1].word == theirs[there - 1].word:
        return True
    return _held_by(at, ours) == _held_by(there, theirs)


def _held_by(at: int, words: Words) -> str:
    """The word that a phrase hangs on: the last before it that is in no such phrase."""
    while at > 0:
        at -= 1
        while at > 0 and words[at].mark in ("", "of", "'s") and not _begins(words, at):
            return words[at].word
        if words[at].mark in _STAYS:
            return words[at].word
    return ""


def _begins(words: Words, at: int) -> bool:
    """Whether the word before this one belongs to a phrase with a preposition that goes on up to it."""
    return False if at == 0 else words[at - 1].mark not in _STAYS and words[at].mark == ""


def _same_inside(tile: Tile, ours: Words, theirs: Words) -> bool:
    at, there, length = tile
    return all(ours[at + k].mark == theirs[there + k].mark for k in range(1, length))


def _in_order(tiles: Sequence[Tile], ours: Words, theirs: Words, named: frozenset[int], listed: bool) -> bool:
    """Whether what stays is in one order and joined by the same marks, but for lists and names."""
    if not all(_same_inside(tile, ours, theirs) for tile in tiles):
        return False
    wanted = sorted(tiles, key=lambda tile: tile[1])
    at = 0
    while at < len(tiles):
        if tiles[at] == wanted[at] and ours[tiles[at][0]].mark == theirs[tiles[at][1]].mark:
            at += 1
            continue
        if set(tiles[at : at + 2]) == set(wanted[at : at + 2]) and _is_name(
            tiles[at : at + 2], ours, theirs, named
        ):
            at += 2
            continue
        size = _list_size(tiles[at:], ours, 0) if listed else 1
        if size < 2 or size != _list_size(wanted[at:], theirs, 1):
            return False
        if set(tiles[at : at + size]) != set(wanted[at : at + size]):
            return False
        if ours[tiles[at][0]].mark != theirs[wanted[at][1]].mark:
            return False
        at += size
    return True


def _is_name(pair: Sequence[Tile], ours: Words, theirs: Words, named: frozenset[int]) -> bool:
    """Whether two tiles side by side are a name and what it names: `service orders`, `the orders service`."""
    if len(pair) < 2:
        return False
    (one, there, size), (other, where, length) = pair
    heads = (ours[one], ours[other], theirs[there], theirs[where])
    return (
        (one + size - 1 in named or other + length - 1 in named)
        and other == one + size
        and there == where + length
        and not ours[other].mark
        and not theirs[there].mark
        and ours[one].mark == theirs[where].mark
        and not any(word.definite for word in (ours[other], theirs[there]))
        and not any(word.be or word.joined for word in heads)
    )


def _named(ours: Words) -> frozenset[int]:
    """Places of our words that say what a name names."""
    return frozenset(at for at, word in enumerate(ours) if word.word in KINDS)


def _list_size(tiles: Sequence[Tile], words: Words, side: int) -> int:
    """How many tiles from the first are members of one list: `a, b and c`."""
    size = 1
    while size < len(tiles):
        first = words[tiles[size][side]]
        if not (first.joined or first.fronted) or first.mark:
            break
        size += 1
    members = (words[tile[side] + k] for tile in tiles[:size] for k in range(tile[2]))
    return size if any(word.joined for word in members) else 1


def _marks_in_order(tiles: Sequence[Tile], ours: Words, theirs: Words) -> bool:
    """Whether phrases of one preposition keep their order: `the test of A before that of B`."""
    return not any(
        ours[one].mark == ours[other].mark not in ("", "'s")
        and there > where
        and not (
            ours[one].told == theirs[there].told != ours[other].told == theirs[where].told  # on A at B
        )
        for at, (one, there, _) in enumerate(tiles)
        for other, where, _ in tiles[at + 1 :]
    )
