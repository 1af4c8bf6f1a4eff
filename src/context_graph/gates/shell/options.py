"""Reads options as getopt does: letters in a cluster, values joined to them, long names cut short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise


def letters(words: Sequence[str], taking: str = "") -> Iterator[tuple[str, str]]:
    """Each letter of the short options in ``words`` with its value; only those in ``taking`` have one.

    A value is the rest of the word, or the next word. Nothing behind ``--`` is an option.
    """
    for word, after in pairwise([*words, ""]):
        if word == "--":
            return
        if word[:1] != "-" or word[:2] == "--":
            continue
        for at, letter in enumerate(word[1:], 2):
            if letter in taking:
                yield letter, word[at:] or after
                break
            yield letter, ""


def long_values(words: Sequence[str], name: str) -> list[str]:
    """The values of a long option, joined by ``=`` or the next word, also where its name is cut short."""
    found = []
    for word, after in pairwise([*words, ""]):
        given, equals, value = word.partition("=")
        if len(given) > 2 and name.startswith(given):
            found.append(value if equals else after)
    return found


def operands(words: Sequence[str], taking: str = "", long: Sequence[str] = ()) -> list[str]:
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
        elif word[:2] == "--":
            skip = word in long
        else:
            at = next((at for at, letter in enumerate(word) if at and letter in taking), 0)
            skip = at == len(word) - 1 and at > 0
    return found
