"""Which memories never become one, however like their embeddings are (D5.2).

What two texts say is judged by `memory.likeness`, as for the curation tasks, so that what is called a
duplicate there is merged here. What is added: a session's summary is never merged, because its session
rewrites it; nor are memories of different projects or modalities, because whoever asks for the one does not
find the other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from context_graph.dream.snapshot import Snapshot
from context_graph.memory.saying import saying
from context_graph.model.memory import CAPTURED

__all__ = ["Kind", "kind_of", "may_merge"]

KEPT_SOURCES: Final = frozenset({CAPTURED})

Kind = tuple[int, str, int]
"""Memories of different kinds are never merged: project, modality, and what the words of the text are."""


def may_merge(snap: Snapshot, row: int) -> bool:
    """Whether a memory may become one with any other."""
    return snap.source[row] not in KEPT_SOURCES


def kind_of(snap: Snapshot, row: int) -> Kind:
    """The kind of a memory; reads its text."""
    return int(snap.project[row]), snap.modality[row], _words(snap.text(row))


@lru_cache(maxsize=4096)
def _words(text: str) -> int:
    return hash(saying(text).key)
