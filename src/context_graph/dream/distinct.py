"""Which memories never become one, however like their embeddings are (D5.2).

What two texts say is judged by `memory.likeness`, as for the curation tasks, so that what is called a
duplicate there is merged here. What is added: a session's summary is never merged, because its session
rewrites it; nor are memories of different projects or modalities, because whoever asks for the one does not
find the other.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from context_graph.dream.snapshot import Snapshot
from context_graph.memory.saying import same_word, spelt
from context_graph.memory.word_classes import (
    DETERMINERS,
    JOINING,
    MARKS,
    NEGATIONS,
    OPTIONAL,
    PAST,
    PRESENT,
    SILENT,
)
from context_graph.model.memory import CAPTURED

__all__ = ["Kind", "kind_of", "may_merge"]

KEPT_SOURCES: Final = frozenset({CAPTURED})

Kind = tuple[int, str, int]
"""Memories of different kinds are never merged: project, modality, and what words the text has."""

_WORDS: Final = re.compile(r"\w+")
_PREFACES: Final = frozenset(
    [
        *("remember", "note", "keep", "kept", "mind", "bear", "aware", "forget", "worth", "noting", "record"),
        *(
            "reminder",
            "information",
            "your",
            "fyi",
            "btw",
            "way",
            "important",
            "heads",
            "up",
            "fact",
            "course",
        ),
        *("just", "you", "know", "other", "words", "noted", "recap", "t", "s", "can"),
    ]
)
"""What may stand in a preface, or be read otherwise in a contraction."""
_LIGHT: Final = frozenset(
    {*DETERMINERS, *JOINING, *MARKS, *NEGATIONS, *OPTIONAL, *PAST, *PRESENT, *SILENT, *_PREFACES}
)
_MASK: Final = (1 << 64) - 1


def may_merge(snap: Snapshot, row: int) -> bool:
    """Whether a memory may become one with any other."""
    return snap.source[row] not in KEPT_SOURCES


def kind_of(snap: Snapshot, row: int) -> Kind:
    """The kind of a memory; reads its text. Some 5 us."""
    return int(snap.project[row]), snap.modality[row], rough_sum(snap.text(row))


def rough_sum(text: str) -> int:
    """A number that texts which say the same have in common: what their telling words add up to.

    Much cheaper than `saying`, and nearly as telling; the same in one process only.
    """
    if not text.isascii() or "'" in text:
        text = spelt(text)
    return sum(map(_weight, _WORDS.findall(text.lower()))) & _MASK


@lru_cache(maxsize=65_536)
def _weight(word: str) -> int:
    kept = same_word(word)
    return 0 if word in _LIGHT or kept in _LIGHT else hash(kept) & _MASK
