"""Sentences that say the same as a sentence, by rules of grammar that hold whatever the words are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from context_graph.memory.saying import Word

__all__ = ["forms_of", "owned"]

MAX_MOVED: Final = 4
"""Words of a possessor, and between it and what it has."""

Words = Sequence[Word]


def forms_of(words: Words, optional: frozenset[str]) -> Iterator[Words]:
    """The sentence, and other sentences that say the same.

    Args:
        optional: A passive without an agent has an active form only where a text speaks of `we` or `its`.
    """
    yield words
    yield from _active(words, optional)
    yield from _turned(words)
    yield from _having(words)


def _active(words: Words, optional: frozenset[str]) -> Iterator[Words]:
    """`B is called by A in C` -> `A calls B in C`; without an agent, `B is called in C` -> `calls B in C`."""
    verb = next((at for at, word in enumerate(words) if word.be and word.past), None)
    if verb is None:
        return
    start = max((at for at in range(verb + 1) if words[at].fronted), default=0)
    agent = next((at for at in range(verb + 1, len(words)) if words[at].mark == "by"), None)
    if start == verb and agent is None:
        return
    before, patient = words[:start], _bare(words[start:verb])
    acts = [words[verb]._replace(be=False, fronted=False)]
    if agent is None:
        owner = next((at for at, word in enumerate(patient) if word.mark == "of"), 0)
        if "it" in optional and owner:  # the state of X is kept in Y -> X keeps its state in Y
            yield [*before, *_bare(patient[owner:]), *acts, *patient[:owner], *words[verb + 1 :]]
        if "we" in optional:
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


def _having(words: Words) -> Iterator[Words]:
    """`there is an X in Y` -> `Y has an X`; `Y has an X of 5` -> `the X of Y is 5`."""
    if len(words) > 1 and words[0].be and not any(word.word == "?" for word in words):
        place = next((at for at in range(1, len(words)) if words[at].mark == "in"), None)
        if place is not None and not any(word.fronted for word in words[1:]):
            yield [*_bare(words[place:]), *_bare(words[:place])]
    had = next((at for at, word in enumerate(words) if word.has), 0)
    size = next((at for at in range(had + 1, len(words)) if words[at].mark == "of"), None)
    if had and size is not None and words[size].word[:1].isdigit():
        amount = [words[size]._replace(mark="", told="", be=True), *words[size + 1 :]]
        for mark in ("of", "for"):
            owner = [words[0]._replace(mark=mark, told=mark, fronted=False), *words[1:had]]
            yield [*_bare(words[had:size]), *owner, *amount]


def _bare(words: Words) -> list[Word]:
    """These words without what joined the first of them."""
    return (
        [words[0]._replace(mark="", told="", be=False, has=False, fronted=False), *words[1:]] if words else []
    )


def owned(words: Words, other: Words) -> list[Word]:
    """``words`` with `X's Y` put as `Y of X`, and `X Y` as `Y of X` or `Y for X`, where the other does."""
    result = list(words)
    for at, word in enumerate(other):
        if word.mark not in ("of", "for") or at == 0:
            continue
        found = _possessor(result, other, at)
        if found is not None:
            start, size, head = found
            owner = [
                result[start]._replace(mark=word.mark, told=word.mark, fronted=False),
                *result[start + 1 : start + size],
            ]
            had = [result[start + size]._replace(mark=result[start].mark, fronted=result[start].fronted)]
            had += result[start + size + 1 : head + 1]
            had[0] = had[0]._replace(be=result[start].be, definite=result[start].definite)
            result[start : head + 1] = [*had, *owner]
    return result


def _possessor(words: Words, other: Words, at: int) -> tuple[int, int, int] | None:
    """Where the words after `of` at ``at`` stand before what they have: (start, words, place of the head)."""
    head = other[at - 1].word
    for start, word in enumerate(words):
        if word.word != other[at].word or word.mark in ("of", "for"):
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
                if words[start + size].mark == "'s":  # a message for Ada is not Ada's
                    return (start, size, last) if other[at].mark == "of" else None
                alike = _is_next(words, last + 1) == _is_next(other, at + size)
                return (start, size, last) if alike else None
    return None


def _is_next(words: Words, at: int) -> bool:
    """Whether a form of `be` follows: as in `the gateway timeout is 5`, not in `Alice manages Bob`."""
    return at < len(words) and words[at].be
