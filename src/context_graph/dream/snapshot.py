"""A store's live memories as arrays, at one commit: what every finder of a consolidation works on.

A finder is a pure function of a snapshot; it changes nothing and reads nothing else. So the same work can be
done in another process, or by another machine that has the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from context_graph.model.memory import MemoryNode
from context_graph.model.path import TraversedPath
from context_graph.model.spaces import SLICES

__all__ = ["BLOCK_ROWS", "Links", "Snapshot", "numbered", "unit_rows"]

BLOCK_ROWS: Final = 4096
"""Rows of 1536 float32 that are in memory at a time: 24 MiB."""

_SIZES: Final = {name: part.stop - part.start for name, part in SLICES.items()}

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(slots=True)
class Links:
    """The edges between the rows of a snapshot, as columns; an edge to a memory outside it is left out."""

    ids: list[UUID]
    source: I32
    """Rows."""
    target: I32
    kind: list[str]
    weight: F64
    confidence: F64
    reward: F64
    traversals: I64
    shortcut: NDArray[np.bool_]


@dataclass(slots=True)
class Snapshot:
    """n live memories in order of commit, oldest first."""

    seq: int
    """The last commit that is in it."""
    taken_ms: int
    total: int
    """Live memories in the store; more than n when the run is limited to the newest."""
    ids: list[UUID]
    created_ms: I64
    accessed_ms: I64
    accesses: I64
    importance: F64
    pinned: NDArray[np.bool_]
    session: I32
    """Which memories are of one session: a number from 1, 0 for none."""
    project: I32
    """The same of projects."""
    modality: list[str]
    """text, image, audio or video."""
    size: I32
    """UTF-8 bytes of the content."""
    utl: F64
    """float64[n, 4]: delta_s, delta_c, w_e, phi (model.memory.UTLState)."""
    source: list[str]
    """Who stored each: tool, capture, import, cli, library."""
    degree: I32
    """Edges of each memory, of both directions."""
    links: Links
    read_node: Callable[[UUID], MemoryNode]
    read_text: Callable[[int], str]
    """Row -> content."""
    read_blocks: Callable[[int], Iterator[tuple[int, F32]]]
    """Rows to a block -> (first row, float32[k, 1536] as stored), in order."""
    paths: list[TraversedPath] = field(default_factory=list)
    """Ways along edges that answers took; may lead through memories that are not in here."""
    unreadable: set[int] = field(default_factory=set)
    """Rows whose embedding a pass found missing or damaged, and gave as zeros: to be left alone."""
    left_out: int = 0
    """Memories and edges whose records can't be read; they are no rows of this."""
    _wanted: tuple[str, ...] = ()
    _spaces: dict[str, F32] = field(default_factory=dict)
    _row: dict[UUID, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def row_of(self, node_id: UUID) -> int | None:
        """The memory's row; None if it is not in here."""
        if not self._row:
            self._row = {one: row for row, one in enumerate(self.ids)}
        return self._row.get(node_id)

    def node(self, row: int) -> MemoryNode:
        """The whole memory; some 20 us."""
        return self.read_node(self.ids[row])

    def text(self, row: int) -> str:
        """The memory's content; some 1 us if it is short, 8 us else."""
        return self.read_text(row)

    def blocks(self, rows: int = BLOCK_ROWS) -> Iterator[tuple[int, F32]]:
        """(first row, float32[k, 1536] as stored), in order; one pass over the store, some 7 us a row."""
        wanted = [name for name in self._wanted if name not in self._spaces]
        self._wanted = ()
        made = {name: np.empty((len(self), _SIZES[name]), np.float32) for name in wanted}
        for start, block in self.read_blocks(rows):
            for name, values in made.items():
                values[start : start + len(block)] = block[:, SLICES[name]]
            yield start, block
        for name, values in made.items():
            self._spaces[name] = unit_rows(values)

    def want(self, *names: str) -> None:
        """Have these spaces at hand after the next whole pass over the store, which somebody makes anyway."""
        self._wanted = names

    def load(self, *names: str) -> None:
        """Have these spaces at hand, in one pass over the store."""
        if all(name in self._spaces for name in names):
            return
        self.want(*names)
        for _ in self.blocks():
            pass

    def space(self, name: str) -> F32:
        """float32[n, size] of one space, each row of length 1, or zeros where the text says nothing in it."""
        self.load(name)
        return self._spaces[name]

    def release(self, *names: str) -> None:
        """Give the memory of these spaces back."""
        for name in names:
            self._spaces.pop(name, None)


def unit_rows(values: F32) -> F32:
    """``values`` with each row divided by its length, in place; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))
    np.divide(values, lengths[:, None], out=values, where=lengths[:, None] > 0)
    return values


def numbered(names: Iterable[str | bytes | None]) -> I32:
    """Each name's number in order of appearance, from 1; 0 for none."""
    known: dict[str | bytes, int] = {}
    return np.array([known.setdefault(name, len(known) + 1) if name else 0 for name in names], np.int32)
