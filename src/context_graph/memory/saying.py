"""What a text says, as far as its words tell: those that carry meaning, and how each is joined to the rest.

Not a parser: it knows short lists of English function words (`word_classes`) and takes every other word,
number, name, path, sign and quotation for something that is said. Texts in other languages are therefore
compared by all their words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NamedTuple

from context_graph.memory.word_classes import (
    DETERMINERS,
    IRREGULAR,
    JOINING,
    LEAD_IN,
    MARKS,
    NEGATIONS,
    NOW_TOO,
    OPTIONAL,
    PAST,
    PRESENT,
    REGULARLY,
    SAME,
    SAYS,
    SILENT,
    TIMES,
    WHEN,
)

__all__ = ["Saying", "Word", "same_word", "saying", "spelt"]


class Word(NamedTuple):
    """A word that carries meaning."""

    word: str
    """As it is compared: lower case, its stem, one word for synonyms; what is exact, in lower case."""
    mark: str = ""
    """What joins it to the words before: of, by, in, for, …; "'s" after a possessor; "" nothing."""
    told: str = ""
    """The mark's own word: in, on and at share one mark."""
    joined: bool = False
    """After an `and`, or a comma in a list."""
    fronted: bool = False
    """The first of a sentence or of what follows a comma."""
    be: bool = False
    """After a form of `be`."""
    past: bool = False
    """Ends in -ed, or is known as such."""
    definite: bool = False
    """After `the`."""
    has: bool = False
    """After a form of `have`."""
    says: bool = False
    """A form of `say` or the like."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A text, ready to be compared with others."""

    key: tuple[str, ...]
    """Its words, sorted: texts that say the same have equal keys."""
    sentences: tuple[tuple[Word, ...], ...]
    exact: tuple[str, ...]
    """Sorted: what must be equal to the letter, as it is written: numbers, ids, paths, quotations."""
    optional: frozenset[str]
    past: bool
    """Something in it is said to have been."""
    text: str
    """Without spaces at its ends, each run of spaces one."""


_WORD: Final = (
    r"(?:(?<![\w)])[-+](?=\d)|[@#$~]|\.{0,2}/|~/|(?<![\w-])--?(?=[A-Za-z]))?"
    r"\w++(?:(?:[.@/\\-]|:(?=\d)){1,200}+\w++)*+(?:%|\+\+|\#(?!\w))?/?"
)
_TOKEN: Final = re.compile(
    rf"""(?P<quote>`[^`\n]{{1,400}}`|"[^"\n]{{1,200}}"|“[^”\n]{{1,200}}”|«[^»\n]{{1,200}}»|(?<!\w)'[^'\n]{{1,200}}'(?!\w)
    |‘[^’\n]{{1,200}}’(?!\w))
    |(?P<link>\w{{1,32}}+://[^\s<>"]+)
    |(?P<owner>(?<=\w)['’]s\b|(?<=s)['’](?!\w))
    |(?P<word>{_WORD})
    |(?P<sign>\S)""",
    re.VERBOSE,
)
_PLAIN: Final = re.compile(r"[^\W\d_]++(?:-[^\W\d_]++)*+")
_TICKET: Final = re.compile(r"[A-Za-z]++-?\d++(?:[.-]\d++)*+")
"""AB-12, v1.2: the same in any case."""
_CONTRACTED: Final = re.compile(r"(?i)\b(\w{1,24}?)n['’]t\b|\b(\w++)['’](re|ve|ll|m|d)\b")
_FULL: Final = {
    "wo": "will",
    "sha": "shall",
    "re": " are",
    "ve": " have",
    "ll": " will",
    "m": " am",
    "d": " would",
}
_IS: Final = re.compile(r"(?i)\b(it|that|there|what|he|she|here|where|who|let)['’]s\b")
_ENDED: Final = re.compile(r"\s*+(?:[,.;!]|$|(?:by|in|on|at|for|from|with|to|and)\b)")
_FOLLOWING: Final = re.compile(r"\s++(\w++)")
_LEAD: Final = re.compile(rf"(?i)(^|[.!?;]\s++){LEAD_IN}(?:\s++that\b\s*+|\s*+[:,—–-]++\s*+)")
_TAIL: Final = re.compile(rf"(?i)[,;—–-]\s*+{LEAD_IN}(?:\s++that)?+\s*+([.!]*+)\s*+$")
_NAMED: Final = re.compile(r"[\w`\"'“‘$#@/~]")
_MARKS: Final = re.compile(r"([^\w\s\x00-\x7f]{64})")
_MARGIN: Final = 200
"""Signs before the first word of a line; more of them are no quotation, list or heading."""
_QUIET: Final = frozenset(".,;:()[]{}…•·_'\"`’‘“”-–—")
_ENDS: Final = frozenset(".!?;…")
_BREAKS: Final = frozenset(",:()[]–—-")
_AT_LINE: Final = frozenset(">*#|")


def saying(text: str) -> Saying:
    """What ``text`` says. Cost: some 1.5 us a word."""
    plain = " ".join(text.split())
    reader = _Reader(text)
    sentences = tuple(tuple(sentence) for sentence in reader.read() if sentence)
    key = [word.word for sentence in sentences for word in sentence]
    return Saying(
        tuple(sorted(key)),
        sentences,
        tuple(sorted(reader.exact)),
        frozenset(reader.optional),
        reader.past,
        plain,
    )


@cache
def _stemmer() -> Callable[[str], str]:
    import Stemmer  # type: ignore[import-not-found]  # here: the owner starts without it

    return Stemmer.Stemmer("english", 10_000).stemWord  # type: ignore[no-any-return]


class _Reader:
    """Goes through a text once, token by token."""

    def __init__(self, text: str) -> None:
        self._text = spelt(text)
        self._sentences: list[list[Word]] = [[]]
        self.exact: list[str] = []
        self.optional: set[str] = set()
        self.past = False
        self._clear(fronted=True)
        self._negated = ""

    def read(self) -> list[list[Word]]:
        for found in _TOKEN.finditer(self._text):
            kind, token = found.lastgroup, found[0]
            if kind == "word":
                self._word(token, found.end())
            elif kind == "owner":
                self._mark = "'s"
            elif kind == "sign":
                self._sign(token, found.start())
            else:
                self._exact(token.rstrip(".,;:!?)") if kind == "link" else " ".join(token[1:-1].split()))
        self._flush()
        return self._sentences

    def _clear(self, *, fronted: bool = False) -> None:
        self._mark, self._told = "", ""
        self._joined, self._be, self._definite, self._has = False, False, False, False
        self._fronted = fronted

    def _add(self, word: str, *, past: bool = False) -> None:
        if self._negated:
            word, self._negated = f"{self._negated} {word}", ""
        self._sentences[-1].append(
            Word(
                word,
                mark=self._mark,
                told=self._told,
                joined=self._joined,
                fronted=self._fronted,
                be=self._be,
                past=past,
                definite=self._definite,
                has=self._has,
                says=word in SAYS,
            )
        )
        self._clear()

    def _flush(self) -> None:
        """A negation that nothing follows stands for itself."""
        if self._negated:
            word, self._negated = self._negated, ""
            self._add(word)

    def _exact(self, token: str) -> None:
        self.exact.append(token)
        self._add(token.lower())

    def _sign(self, sign: str, at: int) -> None:
        if sign in _ENDS and not self._text[at + 1 : at + 2].strip() and not self._numbers(sign):
            if sign == "?":
                self._add("?")
            self._flush()
            if self._sentences[-1]:
                self._sentences.append([])
            self._clear(fronted=True)
        elif sign in _BREAKS:
            self._fronted = True
        elif not self._is_quiet(sign, at):
            self._add(sign)

    def _numbers(self, sign: str) -> bool:
        """Whether a full stop only follows the number of an item: `2. Then deploy`."""
        sentence = self._sentences[-1]
        return sign == "." and len(sentence) == 1 and sentence[0].word.isdigit()

    def _is_quiet(self, sign: str, at: int) -> bool:
        """Whether a sign only sets the text: markup, an exclamation, what has no form of its own."""
        if sign in _QUIET or unicodedata.category(sign) in ("Cf", "Mn"):
            return True
        before, after = self._text[at - 1 : at], self._text[at + 1 : at + 2]
        if sign == "*":
            return bool(before.strip() or after.strip()) or self._begins_line(at)
        if sign == "!":
            return not (after.isalnum() or after == "=")
        return sign in _AT_LINE and self._begins_line(at)

    def _begins_line(self, at: int) -> bool:
        start = self._text.rfind("\n", max(0, at - _MARGIN - 1), at) + 1
        if not start and at > _MARGIN:
            return False
        return not self._text[start:at].strip(" >*#|\t")

    def _word(self, token: str, end: int) -> None:
        lower = token.lower()
        if not _PLAIN.fullmatch(token):
            if lower not in SILENT:
                self._exact(lower if _TICKET.fullmatch(token) else token)
        elif "-" in token:
            for part in lower.split("-"):
                self._add(same_word(part))
        else:
            self._plain(token, lower, end)

    def _plain(self, token: str, lower: str, end: int) -> None:
        if lower in DETERMINERS:
            if self._names(token, end):
                self._add(lower)
            self._definite = lower == "the"
        elif lower in PRESENT or lower in PAST:
            self._be = self._be or lower not in ("does", "do", "did", "has", "had")
            self._has = self._has or lower == "has"
            self.past = self.past or lower in PAST
        elif lower in MARKS:
            self._mark, self._told = MARKS[lower], lower
        elif lower in JOINING:
            self._joined = True
        elif lower in NEGATIONS:
            self._flush()
            if lower == "cannot":
                self._add("can")
            self._negated = "not" if lower == "cannot" else lower
        elif lower in OPTIONAL:
            self.optional.add(OPTIONAL[lower])
            self._has = self._has or lower == "have"
        elif lower not in SILENT:
            self._content(token, lower, end)

    def _counted(self) -> bool:
        """Whether a number stands before: what follows is its unit."""
        return bool(self._sentences[-1]) and self._sentences[-1][-1].word[-1:].isdigit()

    def _content(self, token: str, lower: str, end: int) -> None:
        if len(token) < 4 and token != lower and self._counted():
            self._exact(token)  # MB is not Mb
            return
        past = lower in IRREGULAR or (len(lower) > 3 and lower.endswith("ed") and _stemmer()(lower) != lower)
        if past and lower not in NOW_TOO and not self._be and not self._follows_be():
            self.past = True
        if self._is_time(lower, end):
            self._mark = self._mark or "time"
        self._add(same_word(lower), past=past)

    def _is_time(self, lower: str, end: int) -> bool:
        if lower in WHEN or (lower in REGULARLY and _ENDED.match(self._text, end)):
            return True
        if lower not in ("every", "each"):
            return False
        found = _FOLLOWING.match(self._text, end)
        return found is not None and found[1].lower().removesuffix("s") in TIMES

    def _follows_be(self) -> bool:
        return bool(self._sentences[-1]) and self._sentences[-1][-1].be

    def _names(self, token: str, end: int) -> bool:
        """Whether an article is a name: `service A calls`, `plan a`."""
        follows = self._text[end : end + 40].lstrip()
        return (token == "A" and not self._fronted and not self._text.isupper()) or (
            token in ("a", "A") and not _NAMED.match(follows)
        )


def _composed(text: str) -> str:
    """A letter and its marks as one character. A run of marks that no script has stays as it is: normalizing
    takes the square of its length."""
    if text.isascii():
        return text
    parts = _MARKS.split(text)
    return "".join([unicodedata.normalize("NFC", part) for part in parts])


def spelt(text: str) -> str:
    """Without what only announces, and with contractions in full."""
    text = _composed(text)
    text = _LEAD.sub(r"\1", text.strip())
    if tail := _TAIL.search(text):
        text = text[: tail.start()].rstrip() + tail[1]
    if "'" in text or "’" in text:
        text = _IS.sub(r"\1 is", text)
        text = _CONTRACTED.sub(
            lambda found: (
                f"{_FULL.get(found[1].lower(), found[1])} not"
                if found[1]
                else found[2] + _FULL[found[3].lower()]
            ),
            text,
        )
    return text


@lru_cache(maxsize=65_536)
def same_word(word: str) -> str:
    """One word for all forms and plain synonyms of ``word`` (lower case)."""
    if word in SAME:
        return SAME[word]
    stem = _stemmer()(word)
    return SAME.get(stem, stem)
