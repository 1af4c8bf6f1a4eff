"""Reads options as getopt does: letters in a cluster, values joined to them, long names cut short."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise


def cluster(word: str, after: str, taking: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each letter of one word of short options with its value; only the first of those in ``taking`` has one.

    A value is the rest of the word, or the next word ``after``. Any other word has no letters.
    """
    if word[:1] != "-" or word[:2] == "--":
        return
    for at, letter in enumerate(word[1:], 2):
        if letter in taking:
            yield letter, word[at:] or after
            return
        yield letter, ""


def letters(words: Sequence[str], taking: Collection[str] = "") -> Iterator[tuple[str, str]]:
    """The letters of all short options in ``words``. Nothing behind ``--`` is an option."""
    for word, after in pairwise([*words, ""]):
        if word == "--":
            return
        yield from cluster(word, after, taking)


def takes_next(word: str, taking: Collection[str], long: Collection[str] = ()) -> bool:
    """Whether the value of an option is the next word; of a cluster the first letter with a value decides."""
    if word[:2] == "--":
        return word in long
    found = list(cluster(word, "", taking))
    return bool(found) and found[-1][0] in taking and not found[-1][1]


def long_values(words: Sequence[str], name: str) -> list[str]:
    """The values of a long option, joined by ``=`` or the next word, also where its name is cut short."""
    found = []
    for word, after in pairwise([*words, ""]):
        given, equals, value = word.partition("=")
        if len(given) > 2 and name.startswith(given):
            found.append(value if equals else after)
    return found


def operands(words: Sequence[str], taking: Collection[str] = "", long: Collection[str] = ()) -> list[str]:
    """The words that are neither options nor values of the options in ``taking`` and ``long``."""
    found: list[str] = []
    skip = ended = False
    for word in words:
        if skip:
            skip = False
        elif ended or word[:1] != "-" or word == "-":
            found.append(word)
        elif word == "--":
            ended = True
        else:
            skip = takes_next(word, taking, long)
    return found
