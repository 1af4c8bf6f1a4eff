"""Reads what a text says: its words that carry meaning, and what joins each to the rest.

Not a parser: it knows short lists of English function words (`english`) and treats every other word, number,
name, path, sign and quotation as content. So texts in other languages are compared by all their words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final, NamedTuple

from context_graph.text.english import (
    DETERMINERS,
    IRREGULAR,
    JOINING,
    MARKS,
    NEGATIONS,
    NOW_TOO,
    OPTIONAL,
    PAST,
    PRESENT,
    SILENT,
    TIED,
    same_word,
    spelt,
    stem,
)


class Word(NamedTuple):
    """A word that carries meaning."""

    word: str
    """As it is compared: lower case, its stem, one word for synonyms; what is exact, in lower case."""
    mark: str = ""
    """What joins it to the words before: of, by, in, for, …; "'s" after a possessor; "" nothing."""
    joined: bool = False
    """After an `and`."""
    fronted: bool = False
    """The first of a sentence or of what follows a comma."""
    be: bool = False
    """After a form of `be`."""
    past: bool = False
    """Ends in -ed, or is known as such."""
    definite: bool = False
    """After `the`, or `we`."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A text, ready to be compared with others."""

    key: tuple[str, ...]
    """Its words, sorted: texts that mean the same have equal keys."""
    sentences: tuple[tuple[Word, ...], ...]
    """One that rests on the sentence before it (`it`, `then`) is part of that."""
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
    |(?P<owner>(?<=\w)['’][sS]\b|(?<=[sS])['’](?!\w))
    |(?P<word>{_WORD})
    |(?P<sign>\S)""",
    re.VERBOSE,
)
_PLAIN: Final = re.compile(r"[^\W\d_]++(?:-[^\W\d_]++)*+")
_TICKET: Final = re.compile(r"[A-Za-z]++-?\d++(?:[.-]\d++)*+")
"""AB-12, v1.2: the same in any case."""
_NAMED: Final = re.compile(r"[\w`\"'“‘$#@/~]")
_MARGIN: Final = 200
"""Signs before the first word of a line; more of them are no quotation, list or heading."""
_QUIET: Final = frozenset(".,;:()[]{}…•·_'\"`’‘“”-–—")
_ENDS: Final = frozenset(".!?;…")
_BREAKS: Final = frozenset(",:()[]–—-")
_AT_LINE: Final = frozenset(">*#|")


def read_meaning(text: str) -> Meaning:
    """Return the meaning of ``text``. Cost: some 1.5 us a word."""
    reader = _Reader(text)
    sentences = reader.read()
    return Meaning(
        tuple(sorted(word.word for sentence in sentences for word in sentence)),
        sentences,
        tuple(sorted(reader.exact)),
        frozenset(reader.optional),
        reader.past,
        " ".join(text.split()),
    )


class _Reader:
    """Reads a text once, token by token."""

    def __init__(self, text: str) -> None:
        self._text = spelt(text)
        self._sentences: list[list[Word]] = [[]]
        self.exact: list[str] = []
        self.optional: set[str] = set()
        self.past = False
        self._clear(fronted=True)
        self._negated = ""

    def read(self) -> tuple[tuple[Word, ...], ...]:
        for match in _TOKEN.finditer(self._text):
            kind, token = match.lastgroup, match[0]
            if kind == "word":
                self._word(token, match.end())
            elif kind == "owner":
                self._mark = "'s"
            elif kind == "sign":
                self._sign(token, match.start())
            else:
                self._exact(token.rstrip(".,;:!?)") if kind == "link" else " ".join(token[1:-1].split()))
        self._flush()
        units: list[tuple[Word, ...]] = []
        for sentence in filter(None, self._sentences):
            if units and any(word.word in TIED for word in sentence):
                units[-1] += tuple(sentence)
            else:
                units.append(tuple(sentence))
        return tuple(units)

    def _clear(self, *, fronted: bool = False) -> None:
        self._mark = ""
        self._joined = self._be = self._definite = False
        self._fronted = fronted

    def _add(self, word: str, *, past: bool = False) -> None:
        if self._negated:
            word, self._negated = f"{self._negated} {word}", ""
        self._sentences[-1].append(
            Word(
                word,
                mark=self._mark,
                joined=self._joined,
                fronted=self._fronted,
                be=self._be,
                past=past,
                definite=self._definite,
            )
        )
        self._clear()

    def _flush(self) -> None:
        """Keep a negation that nothing follows as a word of its own."""
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
        """Return whether a full stop only follows the number of an item: `2. Then deploy`."""
        sentence = self._sentences[-1]
        return sign == "." and len(sentence) == 1 and sentence[0].word.isdigit()

    def _is_quiet(self, sign: str, at: int) -> bool:
        """Return whether a sign only formats the text: punctuation, markup, a zero-width sign."""
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
            self.past = self.past or lower in PAST
        elif lower in MARKS:
            self._mark = MARKS[lower]
        elif lower in JOINING:
            self._joined = True
        elif lower in NEGATIONS:
            self._flush()
            if lower == "cannot":
                self._add("can")
            self._negated = "not" if lower == "cannot" else lower
        elif lower in OPTIONAL:
            self.optional.add(OPTIONAL[lower])
            self._definite = self._definite or lower == "we"
        elif lower not in SILENT:
            self._content(token, lower)

    def _counted(self) -> bool:
        """Return whether a number comes before, so that the next word is its unit."""
        return bool(self._sentences[-1]) and self._sentences[-1][-1].word[-1:].isdigit()

    def _content(self, token: str, lower: str) -> None:
        if len(token) < 4 and token != lower and self._counted():
            self._exact(token)  # MB is not Mb
            return
        past = lower in IRREGULAR or (len(lower) > 3 and lower.endswith("ed") and stem(lower) != lower)
        follows_be = bool(self._sentences[-1]) and self._sentences[-1][-1].be
        if past and lower not in NOW_TOO and not self._be and not follows_be:
            self.past = True
        self._add(same_word(lower), past=past)

    def _names(self, token: str, end: int) -> bool:
        """Return whether an article is a name: `service A calls`, `plan a`."""
        follows = self._text[end : end + 40].lstrip()
        return (token == "A" and not self._fronted and not self._text.isupper()) or (
            token in ("a", "A") and not _NAMED.match(follows)
        )
