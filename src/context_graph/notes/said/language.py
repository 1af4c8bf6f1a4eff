"""Finds in a text what marks the kind of its sentences, in the languages whose lists are in `languages`.

A list names one kind of evidence: words that bind to every time, words that bind to this time, words that
forbid, words for tasks, and so on. What weight each has is learned (`weights.json`), once for all languages.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

LANGUAGES: Final = ("en", "de", "fr", "es", "pt", "zh", "ja", "ru")
"""ISO 639-1, English first: it is what a text is taken for that shows no signs of another."""
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_KANA: Final = re.compile(r"[\u3040-\u30ff]")
_CYRILLIC: Final = re.compile(r"[\u0400-\u04ff]")
_LATIN: Final = re.compile(r"[a-zA-Z\u00c0-\u024f]")
_WORD: Final = re.compile(r"\w+")
_APOSTROPHE: Final = re.compile(r"(?<=\w)['’](?=\w)")
_BESIDE: Final = frozenset(
    {
        *("access", "base", "denied", "naming", "revised", "style", "symptom", "tell", "unit"),
        *("everywhere", "habit", "speak", "tongue"),
    }
)
"""Kinds that hide no other: `is never` is a report's word, and `never` in it forbids all the same."""
_SEEN_CHARS: Final = 2000
"""Characters of a text that are read to tell its language."""
_MOST_SIGNS: Final = 400
"""Signs of one clause in a script without spaces: a longer one is no sentence."""


class Mark(NamedTuple):
    """One mark in a text."""

    kind: str
    start: int
    """Where it begins: a word's number, or a sign's in scripts without spaces."""
    end: int


@dataclass(frozen=True, slots=True, eq=False)  # one object a language
class Language:
    """The marks of one language."""

    code: str
    signs: bool
    """Whether it is written without spaces."""
    common: frozenset[str]
    """Words by which the language is told."""
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    """Each first word, or sign, with the phrases it begins and their kinds."""
    endings: dict[str, tuple[str, ...]]
    """Beginnings of words, with the kinds of those words."""
    stemmer: str
    """Snowball's name of the language; "" where words are not inflected."""
    swaps: tuple[str, ...]
    """Ways to say that one thing takes the place of another: `{new} instead of {old}`."""

    def words(self, text: str) -> list[str]:
        """Return its words, or its signs, in lower case."""
        lower = text.lower()
        if self.signs:
            return list(lower[:_MOST_SIGNS])
        return _WORD.findall(_APOSTROPHE.sub("" if self.code == "en" else " ", lower))

    def marks(self, words: list[str]) -> list[Mark]:
        """Return the marks among ``words``, in order, but none inside a longer one: as `this` in `in this
        repo`.

        Linear in their number.
        """
        marks: list[Mark] = []
        for at, word in enumerate(words):
            for phrase, kind in self.phrases.get(word, ()):
                size = len(phrase)
                if size == 1 or tuple(words[at : at + size]) == phrase:
                    marks.append(Mark(kind, at, at + size))
            if not self.signs:
                marks += [Mark(kind, at, at + 1) for kind in _beginning(self.code, word)]
        return _outermost(marks)


def _outermost(marks: list[Mark]) -> list[Mark]:
    """Return ``marks`` without those that lie inside a longer one that hides them."""
    kept: list[Mark] = []
    widest = (0, 0)
    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        if mark.kind in _BESIDE:
            kept.append(mark)
            continue
        if mark.end > widest[1]:
            widest = (mark.start, mark.end)
        if mark.end - mark.start == widest[1] - widest[0]:
            kept.append(mark)
    return kept


@lru_cache(maxsize=8192)
def _beginning(code: str, word: str) -> tuple[str, ...]:
    endings = language(code).endings
    return tuple(kind for size in range(2, len(word) + 1) for kind in endings.get(word[:size], ()))


@cache
def language(code: str) -> Language:
    """Return the marks of ``code``. Reads its file the first time, in some 2 ms."""
    with (Path(__file__).parent / "languages" / f"{code}.toml").open("rb") as file:
        content = tomllib.load(file)
    signs = content["script"] == "signs"
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    endings: dict[str, list[str]] = {}
    for kind, listed in content["marks"].items():
        for word in dict.fromkeys(part.strip().lower() for part in listed.split(",")):
            if word.endswith("*"):
                endings.setdefault(word[:-1], []).append(kind)
                continue
            phrase = tuple(word) if signs else tuple(word.replace("-", " ").split())
            phrases.setdefault(phrase[0], []).append((phrase, kind))
    return Language(
        code,
        signs,
        frozenset(part.strip() for part in content["common"].split(",")),
        {first: tuple(rest) for first, rest in phrases.items()},
        {first: tuple(kinds) for first, kinds in endings.items()},
        content["stemmer"],
        tuple(content["swaps"]),
    )


def language_of(text: str) -> Language:
    """Return the language of ``text``: by its script, and between those in Latin letters by its common
    words."""
    seen = text[:_SEEN_CHARS]
    latin = len(_LATIN.findall(seen))
    kana, han = len(_KANA.findall(seen)), len(_HAN.findall(seen))
    if kana + han >= 2 and (kana + han) * 6 >= latin:
        return language("ja" if kana * 8 >= han and kana > 1 else "zh")
    cyrillic = len(_CYRILLIC.findall(seen))
    if cyrillic * 2 >= latin and cyrillic:
        return language("ru")
    words = _WORD.findall(_APOSTROPHE.sub(" ", seen.lower()))
    among = [language(code) for code in ("en", "de", "fr", "es", "pt")]
    counts = [sum(2 * (word in of.common) + (word in of.phrases) for word in words) for of in among]
    return among[counts.index(max(counts))]
