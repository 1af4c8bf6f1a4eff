"""Which memories never become one, however like their embeddings are (D5.2)."""

from __future__ import annotations

from typing import Final

from context_graph.memory.capture import SOURCE as CAPTURE
from context_graph.memory.likeness import same_saying
from context_graph.model.memory import MemoryNode

__all__ = ["KEPT_SOURCES", "same_memory"]

KEPT_SOURCES: Final = frozenset({CAPTURE})
"""Whose memories have an identity of their own: a session's summary is rewritten by its session."""


def same_memory(one: MemoryNode, other: MemoryNode) -> bool:
    """Whether two memories may become one: of one project and modality, and saying the same."""
    return (
        one.project == other.project
        and one.modality == other.modality
        and not {one.source, other.source} & KEPT_SOURCES
        and same_saying(one.content, other.content)
    )
