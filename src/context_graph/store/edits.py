"""Changes that were worked out beforehand, as records: what a consolidation's batch is made of.

They are made from a store as it was at some commit, and written to it later; so each says what must
not have changed in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from context_graph.store.history_layout import Image

__all__ = ["Edit", "Group", "Uses", "Write"]


class Write(NamedTuple):
    """One record that is put, or removed."""

    family: str
    key: bytes
    value: bytes | None
    """None removes it."""


class Edit(NamedTuple):
    """One change of a memory or an edge: one commit number."""

    op: int
    """`graph_records.Op`; none that changes a content."""
    subject: bytes
    """Id, 16 bytes."""
    writes: Sequence[Write]
    images: Sequence[Image]
    """What it overwrites, for the history."""
    ends: Sequence[bytes] = ()
    """Of an edge: the memories at its ends."""

    def image(self, family: str) -> Image | None:
        """The image of that family; None if it has none."""
        return next((one for one in self.images if one.family == family), None)


class Uses(NamedTuple):
    """How often a memory was used, for one that has no record of its accesses."""

    id: bytes
    times: int
    last_ms: int


class Group(NamedTuple):
    """Changes that are made together or not at all."""

    items: Sequence[tuple[str, int]]
    """What its maker wants done by it: kind, and place among those of the kind."""
    needs: Sequence[bytes]
    """Ids of memories and edges that must be as they were."""
    edits: Sequence[Edit]
    uses: Sequence[Sequence[Uses]]
    """Merges: the survivor, then the others, whose accesses become its own."""
