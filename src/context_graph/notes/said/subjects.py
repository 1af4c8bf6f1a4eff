"""Tells what work is about in the broad: tests, docs, money, a database; the same in all languages."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from context_graph.notes.said.language import Language

_LONG: Final = 4
"""Letters from which on a word of the list is found in its inflected forms."""
_FORMS: Final = 3
"""Letters that an inflected form may have more."""


@dataclass(frozen=True, slots=True)
class _Subjects:
    words: dict[str, frozenset[str]]
    phrases: tuple[tuple[str, str], ...]
    parts: dict[str, frozenset[str]]
    endings: dict[str, frozenset[str]]
    programs: dict[str, frozenset[str]]


@cache
def _subjects() -> _Subjects:
    with (Path(__file__).parent / "subjects.toml").open("rb") as file:
        content: dict[str, Any] = tomllib.load(file)
    tables: dict[str, dict[str, set[str]]] = {"words": {}, "parts": {}, "endings": {}, "programs": {}}
    phrases: list[tuple[str, str]] = []
    for subject, lists in content.items():
        if subject == "source":
            continue
        for kind, listed in lists.items():
            for word in (part.strip().lower() for part in listed.split(",")):
                if kind == "words" and (" " in word or not word[0].isalpha() or word[0] >= "\u3040"):
                    phrases.append((word, subject))
                else:
                    tables[kind].setdefault(word, set()).add(subject)
    frozen = {
        kind: {word: frozenset(all_of) for word, all_of in table.items()} for kind, table in tables.items()
    }
    return _Subjects(frozen["words"], tuple(phrases), frozen["parts"], frozen["endings"], frozen["programs"])


@lru_cache(maxsize=512)
def subjects_of_text(text: str, of: Language) -> frozenset[str]:
    """Return the subjects that a sentence or a short prompt names. Linear in its length."""
    known = _subjects()
    subjects: set[str] = set()
    lower = text.lower()
    for phrase, subject in known.phrases:
        if phrase in lower:
            subjects.add(subject)
    words = (
        of.words(text) if not of.signs else "".join(sign if sign.isascii() else " " for sign in lower).split()
    )
    for word in words:
        for size in range(max(1, len(word) - _FORMS), len(word) + 1):
            if size == len(word) or size >= _LONG:
                subjects |= known.words.get(word[:size], frozenset())
    return frozenset(subjects)


def subjects_of_path(path: str) -> frozenset[str]:
    """Return the subjects that a file's folders, name and ending tell."""
    known, it = _subjects(), PurePosixPath(path.lower())
    subjects: set[str] = set(known.endings.get(it.suffix.lstrip("."), ()))
    for part in (*it.parts, it.stem, *it.stem.replace("-", "_").replace(".", "_").split("_")):
        subjects |= known.parts.get(part, frozenset())
    return frozenset(subjects)


def subjects_of_program(program: str) -> frozenset[str]:
    """Return the subjects that a program tells."""
    return _subjects().programs.get(program, frozenset())
