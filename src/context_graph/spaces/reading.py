"""Reads a text, or the two texts of an event, into bags of what it names: one definition for all spaces.

Identity compares bags of events with those of a session's goals; a memory's embedding has them as slices, of
the sizes in `model.spaces`.
"""

from __future__ import annotations

from typing import Final

from context_graph.kernels import features
from context_graph.model.spaces import SPACES
from context_graph.text.english import HEADS, WORK_WORDS

BAG_OF: Final = {
    "Paths": "path",
    "Structure": "package",
    "Files": "file",
    "Edited": "defined",
    "Seen": "code",
    "Dotted": "dotted",
    "Errors": "error",
    "Trigrams": "trigram",
}
"""Space -> its bag (the kernels' features.BAGS). Semantic, Temporal, Causal, Steps and Terms are
made of a text's pieces."""
NO_BAG: Final = 255
BAGS: Final = bytes(
    features.BAGS.index(BAG_OF[space]) if space in BAG_OF else NO_BAG for space in SPACES[2:-1]
)
"""Of the spaces between Temporal and Terms, in their order."""


def reader() -> features.EventFeatures:
    """Return what reads texts into bags; not thread-safe."""
    return features.EventFeatures(WORK_WORDS, HEADS)
