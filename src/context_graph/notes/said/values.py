"""Reads the values that a sentence gives: numbers with their units, paths, names with a joint, languages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from context_graph.notes.said.about import names
from context_graph.notes.said.language import language_of

_NUMBER: Final = re.compile(
    r"(?<![\w./-])(\d+(?:[.:]\d+)*)(?![\w/-]|\.\w)(?: ?(%|[a-z]{2,}s|ms|mb|gb|kb|px))?"
)
"""A number that stands alone, and its unit: a sign, or a word in the plural."""
_JOINED: Final = re.compile(
    r"(?<![\w/.-])(?:[a-z]\w*(?:[.-]\w+)*-?\d[\w.-]*|[a-z][\w-]*(?:\.[a-z][\w-]+)+)(?![\w/])"
)
"""A host, a region, a version with its name: `eu-west-1`, `pg-blue.internal`."""
_PATH: Final = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?")
OF_NUMBER: Final = "number of "


@lru_cache(maxsize=512)  # each rule is compared with all others
def values_by_kind(text: str) -> dict[str, frozenset[str]]:
    """Return what a sentence gives as values, by kind: numbers of each unit, paths, names with a joint,
    languages.
    """
    of, lower = language_of(text), text.casefold()
    values: dict[str, set[str]] = {}
    for number, unit in _NUMBER.findall(lower):
        values.setdefault(OF_NUMBER + ("" if unit in of.common else unit), set()).add(number)
    for path in _PATH.findall(lower):
        values.setdefault("path", set()).add(path.rstrip("/."))
    for name in _JOINED.findall(lower):
        values.setdefault("name", set()).add(name.rstrip("."))
    for word in of.words(lower):
        if word in names().tongues:
            values.setdefault("language", set()).add(names().tongues[word])
    return {kind: frozenset(each) for kind, each in values.items()}
