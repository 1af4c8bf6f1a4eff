"""Reads the values that a sentence gives: numbers with their units, paths, names with a joint, languages."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from context_graph.notes.said.about import names
from context_graph.notes.said.language import language_of
from context_graph.text.patterns import linear

OF_NUMBER: Final = "number of "
_TOKEN: Final = linear(r"[\w./:%-]+")
_NUMBER: Final = linear(r"(\d+(?:[.:]\d+)*)(%|[a-z]{1,3})?")
_UNIT: Final = linear(r" ?(%|[a-z]{3,}s|ms|mb|gb|kb|px)(?:[^\w]|$)")
"""A sign, or a word in the plural, right behind a number."""
_UNIT_CHARS: Final = 20
_NO_UNIT: Final = frozenset({"always", "this", "was", "has", "does", "unless", "besides", "across"})
_JOINED: Final = linear(r"[a-z]\w*[.-][\w.-]*\d[\w.-]*|[a-z]+\d[\w.-]*|[a-z][\w-]*(?:\.[a-z][\w-]+)+")
"""A host, a region, a version with its name: `eu-west-1`, `pg-blue.internal`."""


@lru_cache(maxsize=512)  # each rule is compared with all others
def values_by_kind(text: str) -> dict[str, frozenset[str]]:
    """Return what a sentence gives as values, by kind: numbers of each unit, paths, names with a joint,
    languages. Linear in its length.
    """
    of, lower = language_of(text), text.casefold()
    values: dict[str, set[str]] = {}
    for match in _TOKEN.finditer(lower):
        token = match[0].rstrip(".:/-")
        number = _NUMBER.fullmatch(token)
        if number:
            behind = _UNIT.match(lower[match.end() : match.end() + _UNIT_CHARS])
            unit = number[2] or (behind[1] if behind and behind[1] not in _NO_UNIT else "")
            values.setdefault(OF_NUMBER + unit, set()).add(number[1])
        elif "/" in token.strip("/"):
            values.setdefault("path", set()).add(token)
        elif _JOINED.fullmatch(token):
            values.setdefault("name", set()).add(token)
    for word in of.words(lower):
        if word in names().tongues:
            values.setdefault("language", set()).add(names().tongues[word])
    return {kind: frozenset(each) for kind, each in values.items()}
