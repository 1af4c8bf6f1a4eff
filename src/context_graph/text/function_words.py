"""Tells the words by which a sentence is built, or somebody is polite, from those that say what it is about.

A word is one of these in its text's own language only: the German article `die` is an English verb. Lists of
some fifty languages come from `stopwordsiso`; what people answer, thank and go on with is in
`courtesies.toml`. In scripts without spaces two neighbouring letters are a word.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from context_graph.text.english import STOP_WORDS

ENGLISH: Final = frozenset(word.decode() for word in STOP_WORDS) | frozenset(
    """
    about above after again all also am any around because before below between both but can could down each
    either else ever few he here hers if into just let may me might more most must neither no nor not off once
    only onto other out over own please same shall should some such than then there these those though
    through too under until up upon very via was whether whom whose within without yes yet
    """.split()  # noqa: SIM905 - a list of them would take a page
)
"""Few on purpose: a list of the language would have `system`, `test` and `page`."""
_UNPARTED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]+"
)
"""Runs of scripts in which no space parts words, or particles are joined to them."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SCRIPTS: Final = (
    re.compile("[\u3041-\u30ff]"),
    re.compile("[\u3400-\u9fff]"),
    re.compile("[\uac00-\ud7a3]"),
    re.compile("[\u0e00-\u0e7f]"),
    re.compile("[\u0400-\u04ff]"),
    re.compile("[\u0370-\u03ff]"),
    re.compile("[\u0590-\u05ff]"),
    re.compile("[\u0600-\u06ff]"),
    re.compile("[\u0900-\u097f]"),
)
_WRITTEN_SO: Final = (
    *(("ja",), ("zh",), ("ko",), ("th",), ("ru", "uk", "bg"), ("el",), ("he",), ("ar", "fa", "ur")),
    ("hi", "mr"),
)
"""Languages by a letter that they are written in; the others, in Latin letters, by their words."""
_LATIN: Final = (
    *("en", "de", "fr", "es", "pt", "it", "nl", "sv", "da", "no", "fi", "pl", "cs", "tr", "id", "vi"),
    *("ro", "hu", "sk", "hr", "sl", "ca", "et", "lt", "lv", "af"),
)
_KATAKANA: Final = re.compile("[\u30a1-\u30fe]{3,}")
_SOUNDS: Final = 4
_HIRAGANA: Final = re.compile("[\u3041-\u309f]+")
_LONGEST: Final = 12
_SEEN_CHARS: Final = 2000
"""Of a text, to tell its language."""
_LONG_NUMBER: Final = 3
"""Digits; a shorter one names a choice."""
_SMALL_CHARS: Final = 200
"""A longer text is no courtesy."""


@cache
def _courtesies() -> dict[str, frozenset[str]]:
    """Return language -> its words and phrases, in lower case. Reads a file the first time, in 2 ms."""
    with (Path(__file__).parent / "courtesies.toml").open("rb") as file:
        words: dict[str, str] = tomllib.load(file)["words"]
    return {code: frozenset(part.strip() for part in text.split(",")) for code, text in words.items()}


@cache
def _function_words(code: str) -> frozenset[str]:
    """Return the function words of a language, in lower case."""
    if code == "en":
        return ENGLISH
    from stopwordsiso import stopwords  # it reads 0.2 MB: texts in English don't need it

    return frozenset(stopwords(code))


@lru_cache(maxsize=64)
def language_of(text: str) -> str:
    """Return the ISO 639-1 code of ``text``, by script and commonest words; English if nothing tells."""
    seen = text[:_SEEN_CHARS].lower()
    if not seen.isascii() and (codes := _written_so(seen)):
        return max(codes, key=lambda code: _hits(seen, code)) if len(codes) > 1 else codes[0]
    if _hits(seen, "en") * 4 >= len(_WORD.findall(seen)) > 4:  # the other lists need not be read
        return "en"
    return max(_LATIN, key=lambda code: _hits(seen, code))


def _written_so(text: str) -> tuple[str, ...]:
    """Return the languages of a script other than Latin that a fifth of the letters are of; () for none."""
    letters = sum(map(str.isalpha, text))
    scripts = zip(_SCRIPTS, _WRITTEN_SO, strict=True)
    return next((codes for script, codes in scripts if len(script.findall(text)) * 5 > letters), ())


def _hits(text: str, code: str) -> int:
    known, kind = _function_words(code), _courtesies().get(code, frozenset())
    return sum(word in known or word in kind for word in _WORD.findall(text))


def says_nothing(text: str) -> bool:
    """Return whether ``text`` has only courtesies of one language, and choices: `yes, go on`, `option 2`."""
    text = text.strip().lower().replace("’", "'")
    if len(text) > _SMALL_CHARS:
        return False
    if _UNPARTED.search(text):
        code = language_of(text)
        known = _courtesies().get(code, frozenset()) | _courtesies()["en"]
        runs = (*_UNPARTED.findall(text), *_WORD.findall(without_pairs(text)))
        return all(_is_made_of(run, known) for run in runs)
    words = [word for word in _WORD.findall(text) if not (word.isdigit() and len(word) < _LONG_NUMBER)]
    return any(all(word in kind for word in words) for kind in _courtesies().values())


def _is_made_of(run: str, known: frozenset[str]) -> bool:
    """Return whether ``run`` is one phrase of ``known`` after the other."""
    ends = {0}
    for at in range(len(run)):
        if at in ends:
            ends.update(at + size for size in range(1, _LONGEST + 1) if run[at : at + size] in known)
    return len(run) in ends


def pairs_in(text: str) -> list[str]:
    """Return each two neighbouring letters of the runs of ``text`` in scripts without spaces, each once.

    Katakana writes sounds, of which two are in any other word: of a word in it each four neighbouring
    letters, or all of a shorter one.
    """
    pairs: dict[str, None] = {}
    for run in _UNPARTED.findall(text):
        begin = 0
        for word in _KATAKANA.finditer(run):
            pairs.update(dict.fromkeys(map("".join, pairwise(run[begin : word.start() + 1]))))
            size = min(_SOUNDS, len(word[0]))
            pairs.update(dict.fromkeys(word[0][at : at + size] for at in range(len(word[0]) - size + 1)))
            begin = word.end() - 1
        pairs.update(dict.fromkeys(map("".join, pairwise(run[begin:]))))
    return list(pairs)


def without_pairs(text: str) -> str:
    """Return ``text`` with a blank for each run of a script without spaces."""
    return _UNPARTED.sub(" ", text)


def is_function_word(word: str, code: str) -> bool:
    """Return whether ``word``, or a pair of letters, only builds sentences in that language."""
    word = word.lower()
    known = _function_words(code)
    if word in known or word in _courtesies().get(code, ()):
        return True
    if _UNPARTED.match(word):
        return _HIRAGANA.fullmatch(word) is not None or any(letter in known for letter in word)
    return False
