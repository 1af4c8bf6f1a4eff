"""Which words are rare in a store: what tells memories apart, and what two of them really share."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

import numpy as np

from context_graph.dream.snapshot import Snapshot
from context_graph.identity.vocabulary import STOP_WORDS as WORK_WORDS
from context_graph.memory.words import STOP_WORDS

__all__ = ["RareWords"]

_WORD: Final = re.compile(r"[^\W\d_][\w'-]*(?:[./][\w-]+)*")
_SIGNS: Final = "'-./"
_COMMON: Final = frozenset(word.decode() for word in (*STOP_WORDS, *WORK_WORDS))
SAMPLE: Final = 2000
"""Memories by which it is told which words are rare."""
MAX_CHARS: Final = 2000
"""Of each text that are looked at."""
WORDS: Final = 3
KNOWN: Final = 8192
"""Texts whose words are remembered: the same ones are asked for by several finders."""
RARE: Final = 0.02
"""Share of all memories that have a rare word, at most; in a small store, some ten memories."""
FEW: Final = 10


class RareWords:
    """Knows how often words occur in a store.

    Args:
        snap: The store; up to 2,000 of its memories are read, at equal distances.

    Cost: some 60 ms at 2,000 memories.
    """

    def __init__(self, snap: Snapshot) -> None:
        rows = np.linspace(0, len(snap) - 1, min(len(snap), SAMPLE)).astype(int).tolist() if len(snap) else []
        self._seen = Counter(stem for row in rows for stem in _stems(snap.text(row)))
        self._texts = len(rows)

    def terms(self, texts: Sequence[str], limit: int = WORDS) -> list[str]:
        """The words that most of ``texts`` share and that are rare elsewhere, most telling first.

        A word of one text alone tells nothing of the others, unless there is but one text.
        """
        forms: dict[str, Counter[str]] = {}
        shared: Counter[str] = Counter()
        for text in texts:
            found = _stems(text)
            shared.update(found.keys())
            for stem, form in found.items():
                forms.setdefault(stem, Counter())[form] += 1
        least = min(2, len(texts))
        worth = {
            stem: count * math.log((self._texts + 2) / (self._seen[stem] + 1))
            for stem, count in shared.items()
            if count >= least
        }
        best = sorted(worth, key=lambda stem: (-worth[stem], stem))[:limit]
        return [min(forms[stem], key=lambda form: (-forms[stem][form], form)) for stem in best]

    def label(self, texts: Iterable[str]) -> str:
        """`terms`, joined by commas; empty where the texts share no telling word."""
        return ", ".join(self.terms(list(texts)))

    def shared(self, one: str, other: str) -> int:
        """Rare words that both texts have."""
        most = max(RARE * self._texts, FEW)
        return sum(self._seen[stem] <= most for stem in _stems(one).keys() & _stems(other).keys())


@lru_cache(maxsize=KNOWN)
def _stems(text: str) -> Mapping[str, str]:
    """Stem -> the form of its first occurrence, in lower case."""
    stem = _stemmer()
    found: dict[str, str] = {}
    for match in _WORD.finditer(text[:MAX_CHARS]):
        word = _ended(match[0]).lower()
        if len(word) > 2 and word not in _COMMON:
            found.setdefault(stem(word), word)
    return found


def _ended(word: str) -> str:
    """Without signs and parts of one letter at its end: *setup.c*, *7.4.0-* are *setup* and *7*."""
    word = word.rstrip(_SIGNS)
    while len(word) > 2 and word[-2] in "./":
        word = word[:-2].rstrip(_SIGNS)
    return word


@cache
def _stemmer() -> Callable[[str], str]:
    import Stemmer  # type: ignore[import-not-found]  # here, as in memory.embed

    return lru_cache(maxsize=65_536)(Stemmer.Stemmer("english", 0).stemWord)
