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

from context_graph.memory.saying import Word
from context_graph.memory.word_classes import TIED

__all__ = ["same_order"]

MAX_WORDS: Final = 80
"""Of a sentence whose phrases are moved; longer ones must have one order."""
MAX_MOVED: Final = 4
"""Words of a possessor, and between it and what it has."""
_STAYS: Final = frozenset(["", "'s", "of", "or", "than", "versus"])
"""Marks of words that do not move by themselves."""

Words = Sequence[Word]


def same_order(one: Sequence[Words], other: Sequence[Words], *, we: bool = False) -> bool:
    """Whether two texts with the same words, sentence by sentence, say the same.

    Args:
        we: One of them speaks of `we`: `we use X` is `X is used`, as `use X` is not.
    """
    ours = [word for sentence in one for word in sentence]
    theirs = [word for sentence in other for word in sentence]
    if _alike(ours, theirs):
        return True
    rest, others = _units(one), _units(other)
    if len(rest) != len(others):
        return len(ours) <= MAX_WORDS and _reworded(ours, theirs, we)
    for unit in list(rest):
        twin = next((there for there in others if _alike(unit, there)), None)
        if twin is not None:
            rest.remove(unit)
            others.remove(twin)
    return all(
        any(_bag(unit) == _bag(there) and _reworded(unit, there, we) for there in others) for unit in rest
    ) and Counter(map(_bag, rest)) == Counter(map(_bag, others))


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
    """The same words, joined by the same marks, in the same order."""
    return len(one) == len(other) and all(
        ours.word == theirs.word and ours.mark == theirs.mark for ours, theirs in zip(one, other, strict=True)
    )


def _reworded(one: Words, other: Words, we: bool) -> bool:
    if max(len(one), len(other)) > MAX_WORDS:
        return False
    return any(_moved(form, other) for form in _forms(one, we)) or any(
        _moved(one, form) for form in _forms(other, we)
    )


def _forms(words: Words, we: bool) -> Iterator[Words]:
    """The sentence, and what it is in the active voice, and with its definition turned round."""
    yield words
    yield from _active(words, we)
    yield from _turned(words)


def _active(words: Words, we: bool) -> Iterator[Words]:
    """`B is called by A in C` -> `A calls B in C`; without an agent, `B is called in C` -> `calls B in C`."""
    verb = next((at for at, word in enumerate(words) if word.be and word.past), None)
    if verb is None:
        return
    start = max((at for at in range(verb + 1) if words[at].fronted), default=0)
    agent = next((at for at in range(verb + 1, len(words)) if words[at].mark == "by"), None)
    if agent is None and (start == verb or not we):
        return
    before, patient = words[:start], _bare(words[start:verb])
    acts = [words[verb]._replace(be=False, fronted=False)]
    if agent is None:
        yield [*before, *acts, *patient, *words[verb + 1 :]]
        return
    end = next((at for at in range(agent + 1, len(words)) if words[at].mark or words[at].fronted), len(words))
    between = words[verb + 1 : agent]
    yield [*before, *_bare(words[agent:end]), *acts, *patient, *between, *words[end:]]


def _turned(words: Words) -> Iterator[Words]:
    """`the owner of X is A` -> `A is the owner of X`, and back."""
    at = next((at for at, word in enumerate(words) if word.be), None)
    if not at or sum(word.be for word in words) > 1 or words[at].past or words[at].mark:
        return
    left, right = words[:at], words[at:]
    if any(word.fronted for word in (*left[1:], *right)) or any(" " in word.word for word in right):
        return
    if any(word.definite or word.mark == "'s" for word in words):
        turned = [right[0]._replace(be=False, fronted=left[0].fronted), *right[1:]]
        yield [*turned, left[0]._replace(be=True, fronted=False), *left[1:]]
        if right[0].definite and len(right) > 1 and right[1].mark == "of":  # A is the owner of X -> A owns X
            yield [*left, right[0]._replace(be=False), *_bare(right[1:])]
        if left[0].definite and len(left) > 1 and left[1].mark == "of":
            yield [*_bare(right), left[0], *_bare(left[1:])]


def _bare(words: Words) -> list[Word]:
    """These words without what joined the first of them."""
    return [words[0]._replace(mark="", be=False, fronted=False), *words[1:]] if words else []


def _moved(one: Words, other: Words) -> bool:
    """Whether only what may move has moved."""
    ours, theirs = _owned(one, other), _owned(other, one)
    if _alike(ours, theirs):
        return True
    places = _places(ours, theirs)
    if places is None:
        return False
    theirs = [word._replace(word=f"{at}") for at, word in enumerate(theirs)]
    ours = [word._replace(word=f"{place}") for word, place in zip(ours, places, strict=True)]
    tiles = list(_tiles(ours, places))
    fixed = [tile for tile in tiles if not _free(tile, ours, theirs)]
    return _in_order(fixed, ours, theirs) and _marks_in_order(tiles, ours)


def _places(ours: Words, theirs: Words) -> list[int] | None:
    """Where each of our words is in theirs; None if they are not the same words, or it can't be told.

    Which is which of equal words is told by the words beside them.
    """
    there: dict[str, list[int]] = {}
    for at, word in enumerate(theirs):
        there.setdefault(word.word, []).append(at)
    if Counter(word.word for word in ours) != {word: len(places) for word, places in there.items()}:
        return None
    places: list[int] = []
    for at, word in enumerate(ours):
        found = there[word.word]
        if len(found) > 1:
            around = _around(ours, at)
            for sides in (slice(0, 2), slice(0, 1), slice(1, 2)):
                found = [
                    place for place in there[word.word] if _around(theirs, place)[sides] == around[sides]
                ]
                if found:
                    break
            if len(found) != 1:
                return None
        places.append(found[0])
    return places if len(set(places)) == len(places) else None


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


def _in_order(tiles: Sequence[Tile], ours: Words, theirs: Words) -> bool:
    """Whether what stays is in one order and joined by the same marks, but for lists."""
    if not all(_same_inside(tile, ours, theirs) for tile in tiles):
        return False
    wanted = sorted(tiles, key=lambda tile: tile[1])
    at = 0
    while at < len(tiles):
        if tiles[at] == wanted[at] and ours[tiles[at][0]].mark == theirs[tiles[at][1]].mark:
            at += 1
            continue
        size = _list_size(tiles[at:], ours, 0)
        if size < 2 or size != _list_size(wanted[at:], theirs, 1):
            return False
        if set(tiles[at : at + size]) != set(wanted[at : at + size]):
            return False
        if ours[tiles[at][0]].mark != theirs[wanted[at][1]].mark:
            return False
        at += size
    return True


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


def _marks_in_order(tiles: Sequence[Tile], ours: Words) -> bool:
    """Phrases of one preposition keep their order: `the test of A before that of B`."""
    marks: dict[str, int] = {}
    for at, there, _ in tiles:
        mark = ours[at].mark
        if mark in ("", "'s"):
            continue
        if marks.get(mark, -1) > there:
            return False
        marks[mark] = there
    return True


def _owned(words: Words, other: Words) -> list[Word]:
    """``words`` with `X's Y` and `X Y` put as `Y of X` where ``other`` puts it so."""
    result = list(words)
    for at, word in enumerate(other):
        if word.mark != "of" or at == 0:
            continue
        found = _possessor(result, other, at)
        if found is not None:
            start, size, head = found
            owner = [result[start]._replace(mark="of", fronted=False), *result[start + 1 : start + size]]
            had = [result[start + size]._replace(mark=result[start].mark, fronted=result[start].fronted)]
            had += result[start + size + 1 : head + 1]
            had[0] = had[0]._replace(be=result[start].be, definite=result[start].definite)
            result[start : head + 1] = [*had, *owner]
    return result


def _possessor(words: Words, other: Words, at: int) -> tuple[int, int, int] | None:
    """Where the words after `of` at ``at`` stand before what they have: (start, words, place of the head)."""
    head = other[at - 1].word
    for start, word in enumerate(words):
        if word.word != other[at].word or word.mark == "of":
            continue
        size = 1
        while (
            size < MAX_MOVED
            and start + size < len(words)
            and at + size < len(other)
            and words[start + size].word == other[at + size].word
            and words[start + size].mark == other[at + size].mark == ""
        ):
            size += 1
        for last in range(start + size, min(start + size + MAX_MOVED, len(words))):
            if words[last].mark not in (("", "'s") if last == start + size else ("",)) or words[last].fronted:
                break
            if words[last].word == head:
                after, there = last + 1, at + size
                alike = _is_next(words, after) == _is_next(other, there) or words[start + size].mark == "'s"
                return (start, size, last) if alike else None
    return None


def _is_next(words: Words, at: int) -> bool:
    """Whether a form of `be` follows: as in `the gateway timeout is 5`, not in `Alice manages Bob`."""
    return at < len(words) and words[at].be
