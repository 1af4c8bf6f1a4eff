"""Lets an index in memory follow a store: it takes in what was stored since it last looked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, TypeVar

from context_graph.model.memory import MemoryNode
from context_graph.store.graph.node_records import StoredNode

K = TypeVar("K")
V = TypeVar("V")

STEP: Final = 200
"""Memories that one step reads, some 10 ms."""


class Follower(ABC):
    """An index over a store's memories. Not thread-safe."""

    def __init__(self) -> None:
        self.seen = 0
        """The commit up to which memories were read."""

    def read(self, stored: Iterable[StoredNode], seq: int, most: int = STEP) -> bool:
        """Take in memories by commit, at most ``most``; whether that were all up to the commit ``seq``."""
        for number, row in enumerate(stored):
            if number == most:
                return False
            self._take(row.node, deleted=row.deleted)
            self.seen = max(self.seen, row.node.commit_seq)
        self.seen = max(self.seen, seq)
        return True

    def take(self, nodes: Iterable[MemoryNode]) -> None:
        """Take in memories that are there."""
        for node in nodes:
            self._take(node, deleted=False)

    @abstractmethod
    def _take(self, node: MemoryNode, *, deleted: bool) -> None:
        """Take in a memory as it is now, or let go of one that was deleted."""


def keep_newest(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Put ``value`` in as the newest of at most ``most``; the one that came first leaves."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > most:
        kept.popitem(last=False)
