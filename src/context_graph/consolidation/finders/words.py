"""Measures how much a short text says, and finds the words that are rare in a store.

The score is a count, low for a greeting, a thank-you or a stub. Courtesies, agreement and function words
count nothing; a number, path or name counts more than a word; a question counts less than a statement.
Unknown words count fully, so a text in another language is never taken for a greeting.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from context_graph.consolidation.snapshot import Snapshot
from context_graph.text.english import STOP_WORDS, WORK_WORDS, stem
from context_graph.text.phrases import word_set

MAX_CHARS: Final = 2000
"""Characters that are read of a text: a longer one says enough before that."""
LABEL: Final = 0.4
"""A speaker or key before a colon."""
NAMES: Final = 1.5
"""A number, path, identifier or sign."""
CAPITAL: Final = 1.2
ADDRESSED: Final = 0.25
"""A name at the end of a phrase, as in *Thanks, Ann!*."""
ATTITUDE: Final = 0.75
"""Liking, wanting, needing: it says something about somebody."""
WEAK: Final = 0.3
"""A word that is as often polite as factual, or a single letter."""
TURN: Final = 0.45
"""A word that is often a mere turn of speech: one of them says nothing, two do."""
ASKED: Final = 0.6
"""Share of a question's words that counts."""

_LABEL: Final = re.compile(r"\s*+[^\W\d_a-z][\w.'-]*+(?: [^\W\d_a-z][\w.'-]*+)?:\s")
_NAMES: Final = re.compile(r"\d|[_/\\@#$%=<>()\[\]{}|`]|[a-z][A-Z]|\w\.\w|--|::")
_TAIL: Final = re.compile(r"['’](?:s|re|ll|ve|m|d|t)$")
_INNER: Final = re.compile(r"['’-]")
_EDGES: Final = ".,;:!?\"'“”‘’()[]{}*…-–—~«»¿¡"
_STUBS: Final = frozenset(["n/a", "[x]", "[ ]", "w/e", "+1", "-1", "(y)", ":)", ":("])


_COMMON: Final = word_set(
    """
    about ahead all also am any anyone anything aren around back because being both came can could didn
    doesn doing don done each either else even ever every everyone everything few get gets getting go goes
    going got hasn haven having here hers herself himself if isn itself just let lets letting ll
    made make makes many may maybe might mine more most much must myself neither next of ones only onto or
    other others ours over own per perhaps quite rather re really same shall should shouldn since some
    somehow someone something somewhere still such than theirs then there these thing things those though
    through too try trying under until up upon us ve very via wasn way ways weren whatever whenever whether
    while whom whose within won wouldn yet yours yourself yourselves
    """
)
_COURTESY: Final = word_set(
    """
    absolutely ack acknowledged agree agreed ah aha alright amazing appreciate appreciated aw awesome aww
    besides best better big bit brb brilliant bye care certainly cheers congrats congratulations cool course
    crossed cute damn dear definitely ditto dokie easy enjoy exactly excellent excited exciting fab
    fantastic feel feeling feels felt fine fingers fun glad good goodbye gorgeous gosh gotcha grateful great
    guess guys haha hahaha happy hear heard hearing hehe hello help helpful hey hi hiya hmm hooray hope
    hopefully hoping howdy hug hugs huh hurray incredible indeed inspiring interesting jeez joy k keeping
    kidding kind kinda knew know lately later laugh lgtm lol look looking looks lot lots lovely luck lucky
    mate matter nah nevermind nice nit nope noted np obviously oh ok okay okey okie omg ooh oops ouch
    perfect pity please pleased pleasure pls posted pretty proud really right rofl roger see seeing
    seem seems seen sense soon sorry sort sound sounded sounds sup super sure surely surprise sweet take
    takes talk talking tell thank thankful thanks that thats thing think thinking thought thrilled thx
    together told totally true truly ttyl ty ugh uh um understandable understood welcome well whatever whoa
    wish wishes wishing wonderful worries worry wow ya yay yea yeah yep yes yikes yo yup
    """
)
_FILLERS: Final = word_set(
    """
    adipiscing amet asdf asdfgh blah consectetur dolor elit hjkl ipsum lorem qwerty sit xxx yyy zzz
    """
)
"""They never say anything."""
_CODE: Final = word_set(
    """
    bar baz blank continue done dummy example fixme foo go na nil none null ping placeholder pong proceed qux
    sample stub tba tbd test testing tests todo undefined untitled wip
    """
)
"""Placeholders if nothing else is said; beside other words they are about a program: *null means missing*."""
_BLANKS: Final = _FILLERS | _CODE
_ATTITUDES: Final = word_set(
    """
    asked hate hates like liked likes love loved loves mean meant need needed needs said want wanted wants
    work worked works
    """
)
_WEAK: Final = word_set(
    """
    above again always away bad below day days down evening hold job keep keeps mind minute moment morning
    never news night no not off one out plan plans problem safe sec second time today tomorrow tonight tough
    understand wait watch week weekend without
    """
)
_LITTLE: Final = dict.fromkeys(_WEAK, WEAK) | dict.fromkeys(word_set("gone less means say says"), TURN)
_EMPTY: Final = _COMMON | _COURTESY | frozenset(word.decode() for word in STOP_WORDS)


def informative_words(text: str) -> float:
    """Return how many informative words ``text`` has; 0 for a greeting, 3 for a fact."""
    label = _LABEL.match(text)
    start = label.end() if label else 0
    total = LABEL if label else 0.0
    phrase, first, blanks, codes = 0.0, True, False, 0
    seen: set[str] = set()
    for raw in text[start : start + MAX_CHARS].split():
        key, worth, number, spoken_to, ends = _word(raw)
        if key not in seen:
            seen.add(key)
            if worth < 0.0:
                blanks = True
                codes += key in _CODE
            elif spoken_to and not first:
                phrase += ADDRESSED
            elif not (blanks and number):  # testing 123
                phrase += worth
        first = False
        if ends:
            total += phrase * ends
            phrase, first = 0.0, True
    total += phrase
    return total + codes if codes and total > LABEL else total


class _Word(NamedTuple):
    """Holds the text between two spaces."""

    key: str
    worth: float
    """-1 for a blank."""
    number: bool
    spoken_to: bool
    """Where it does not begin a phrase, it is a name at the end of one."""
    ends: float
    """0 if it ends no sentence; else the share of the sentence's words that counts."""


@lru_cache(maxsize=32_768)
def _word(raw: str) -> _Word:
    word = raw.strip(_EDGES)
    key = word.lower()
    worth = _worth(word, key)
    ends = 0.0
    if raw[-1] in ".!?…":
        ends = ASKED if "?" in raw[-3:] else 1.0
    spoken_to = worth == CAPITAL and raw[-1] in "!?,." and word[1:].islower()
    return _Word(key, worth, key.isdigit(), spoken_to, ends)


def _worth(word: str, key: str) -> float:
    if not key or key in _STUBS or not any(map(str.isalnum, key)):
        return 0.0
    if key in _BLANKS:
        return -1.0
    if _NAMES.search(word):
        return NAMES
    parts = [_TAIL.sub("", key), *_INNER.split(key)] if not key.isalpha() else [key]
    if parts[0] in _EMPTY or all(part in _EMPTY or len(part) < 2 for part in parts[1:] or parts):
        return 0.0
    if parts[0] in _ATTITUDES or (len(parts) > 1 and parts[1] in _ATTITUDES):
        return ATTITUDE
    if parts[0] in _LITTLE:
        return _LITTLE[parts[0]]
    if not word.isascii():
        return max(1.0, len(word) / 3.0)  # some scripts put no space between words
    if "-" in key:
        return float(min(2, sum(len(part) > 1 and part not in _EMPTY for part in parts[1:])))
    if word[0].isupper():
        return CAPITAL
    return 1.0 if len(key) > 1 else WEAK


_WORD: Final = re.compile(r"[^\W\d_][\w'-]*(?:[./][\w-]+)*")
_SIGNS: Final = "'-./"
_STOPPED: Final = frozenset(word.decode() for word in (*STOP_WORDS, *WORK_WORDS))
SAMPLE: Final = 2000
"""Memories from which the rarity of words is estimated."""
WORDS: Final = 3
KNOWN: Final = 8192
"""Texts whose words are cached: several finders ask for the same."""
RARE: Final = 0.02
"""Largest share of memories with a rare word; in a small store, some ten memories."""
FEW: Final = 10
MOST: Final = 0.4
"""Share of the members that must have a word for it to be theirs."""
FEWER: Final = 3.0


class RareWords:
    """Knows how often words occur in a store, from up to 2,000 of its memories at equal distances.

    Cost: some 60 ms at 2,000 memories.
    """

    def __init__(self, snap: Snapshot) -> None:
        rows = np.linspace(0, len(snap) - 1, min(len(snap), SAMPLE)).astype(int).tolist() if len(snap) else []
        self._seen = Counter(root for row in rows for root in _stems(snap.text(row)))
        self._texts = len(rows)
        self._read = len(rows) / max(1, len(snap))

    def terms(self, texts: Sequence[str], limit: int = WORDS) -> list[str]:
        """Return the words that most of ``texts`` share and that are rare elsewhere, most informative first.

        A word of only one text does not count, unless there is only one text.
        """
        forms: dict[str, Counter[str]] = {}
        shared: Counter[str] = Counter()
        for text in texts:
            stems = _stems(text)
            shared.update(stems.keys())
            for root, form in stems.items():
                forms.setdefault(root, Counter())[form] += 1
        least = max(min(2, len(texts)), MOST * len(texts))
        worth = {}
        for root, count in shared.items():
            others = max(0.0, self._seen[root] - self._read * count)
            elsewhere = (others + 0.5) / max(1.0, self._texts - self._read * len(texts) + 1)
            if count >= least and count >= FEWER * elsewhere * len(texts):
                worth[root] = -count * math.log(elsewhere)
        best = sorted(worth, key=lambda root: (-worth[root], root))[:limit]
        return [min(forms[root], key=lambda form: (-forms[root][form], form)) for root in best]

    def label(self, texts: Iterable[str]) -> str:
        """`terms`, joined by commas; empty if the texts share no informative word."""
        return ", ".join(self.terms(list(texts)))

    def shared(self, text: str, other: str) -> int:
        """Rare words that both texts have."""
        most = max(RARE * self._texts, FEW)
        return sum(self._seen[root] <= most for root in _stems(text).keys() & _stems(other).keys())


@lru_cache(maxsize=KNOWN)
def _stems(text: str) -> Mapping[str, str]:
    """Stem -> the form of its first occurrence, in lower case."""
    forms: dict[str, str] = {}
    for match in _WORD.finditer(text[:MAX_CHARS]):
        word = _ended(match[0]).lower()
        if len(word) > 2 and word not in _STOPPED:
            forms.setdefault(stem(word), word)
    return forms


def _ended(word: str) -> str:
    """Without signs and one-letter parts at its end: *setup.c*, *7.4.0-* become *setup* and *7*."""
    word = word.rstrip(_SIGNS)
    while len(word) > 2 and word[-2] in "./":
        word = word[:-2].rstrip(_SIGNS)
    return word
