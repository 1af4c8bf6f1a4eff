"""Finds what must be deleted for good together with a memory: what was merged into it, and what quotes it.

A survivor quotes the memories that were merged into it, and these stay beside it, soft-deleted, for the
retention. Deleting the survivor for good also deletes them, those merged into them, and every other quote.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from uuid import UUID

from context_graph.errors import UNREADABLE_RECORD
from context_graph.model.memory import MERGED_FROM, TOMBSTONE_LOST, MemoryNode, Tombstone
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.node_records import StoredNode, decode_node
from context_graph.store.graph.records import decode_tombstone
from context_graph.store.layout import GOALS_FACT, MAP_FACT, NODES, TOMBSTONES

_QUOTES: Final = f'"{MERGED_FROM}":'.encode()
"""Bytes that the record of each memory has that quotes others (metadata is JSON)."""


class Left(NamedTuple):
    """A merged memory that stays although its survivor is deleted for good."""

    id: UUID
    why: str


@dataclass(frozen=True, slots=True)
class Together:
    """What a deletion for good changes."""

    merged: list[StoredNode]
    """Deleted too."""
    holders: list[StoredNode]
    """Others that quote, or quoted, a deleted text; each without the quote."""
    left: list[Left]


def deleted_together(store: GraphStore, node_id: UUID) -> Together:
    """Return what is deleted for good with that memory. Cost: some 3 us a memory and tombstone."""
    work = _Search(store)
    work.follow(node_id.bytes)
    going = {UUID(bytes=node_id) for node_id in work.gone}
    return Together(list(work.merged.values()), list(_holders(store, going)), list(work.left.values()))


class _Search:
    def __init__(self, store: GraphStore) -> None:
        self.gone: dict[bytes, None] = {}
        """Ids whose texts must go: of memories that go, and of those of them that are gone already."""
        self.merged: dict[bytes, StoredNode] = {}
        self.left: dict[bytes, Left] = {}
        self._store = store
        self._into = _merged_into(store)

    def follow(self, first: bytes) -> None:
        """Take ``first``, what was merged into it, into that, and so on."""
        waiting = [first]
        while waiting:
            survivor = waiting.pop()
            self.gone[survivor] = None
            for member in self._merged_with(survivor):
                if member not in self.gone and self._goes(member):
                    self.left.pop(member, None)
                    waiting.append(member)

    def _merged_with(self, survivor: bytes) -> dict[bytes, None]:
        members = dict.fromkeys(self._into[survivor])
        try:
            stored = self._store.read(survivor)
        except UNREADABLE_RECORD:
            return members
        return members if stored is None else members | dict.fromkeys(_quoted(stored.node))

    def _goes(self, member: bytes) -> bool:
        """Return whether that memory is deleted too; records it, or why it stays."""
        try:
            stored, stone = self._store.read(member), self._store.tombstone(member)
        except UNREADABLE_RECORD as error:
            self.left[member] = Left(UUID(bytes=member), f"it can't be read: {error}")
            return False
        if stored is None:
            return True
        why = self._stays(stored, stone)
        if why:
            self.left[member] = Left(UUID(bytes=member), why)
            return False
        self.merged[member] = stored
        return True

    def _stays(self, member: StoredNode, stone: Tombstone | None) -> str:
        if not member.deleted:
            return "it was restored after the merge"
        into = None if stone is None else stone.merged_into
        if into is None:
            if stone is None or stone.reason == TOMBSTONE_LOST:
                return ""  # a repair could not tell why it was forgotten: by the merge, for all that is known
            return "it was restored after the merge, and forgotten by itself"
        return "" if into.bytes in self.gone else f"it was merged into {into} since"


def _merged_into(store: GraphStore) -> Mapping[bytes, list[bytes]]:
    """Survivor -> what was merged into it, by today's tombstones and those before a restore."""
    merged: dict[bytes, list[bytes]] = defaultdict(list)
    for stone in (*store.tombstones(skip_damaged=True), *_stones_before(store)):
        if stone.merged_into is not None:
            merged[stone.merged_into.bytes].append(stone.id.bytes)
    return merged


def _stones_before(store: GraphStore) -> Iterator[Tombstone]:
    for entry in store.history.all(skip_damaged=True):
        image = entry.image(TOMBSTONES)
        if image is not None and image.before is not None:
            yield decode_tombstone(image.key, image.before)


def _holders(store: GraphStore, going: set[UUID]) -> Iterator[StoredNode]:
    """Yield the memories that stay and quote one of ``going``, now or in their history."""
    past = {
        entry.subject
        for entry in store.history.all(skip_damaged=True)
        for image in entry.images
        if image.family == NODES and image.before is not None and _may_quote(image.key, image.before, going)
    }
    for key, record in store.node_records():
        if UUID(bytes=key) in going or (key not in past and not _may_quote(key, record, going)):
            continue
        stored = store.read(key)
        if stored is not None:
            yield stored._replace(node=_without(stored.node, going))


def _may_quote(key: bytes, record: bytes, going: set[UUID]) -> bool:
    if _QUOTES not in record:
        return False
    try:
        return not going.isdisjoint(UUID(bytes=node_id) for node_id in _quoted(decode_node(key, record).node))
    except UNREADABLE_RECORD:
        return False


def _quoted(node: MemoryNode) -> Iterator[bytes]:
    """Yield the memories that ``node`` says were merged into it."""
    kept = node.metadata.get(MERGED_FROM)
    for entry in kept if isinstance(kept, list) else ():
        node_id = _id_of(entry)
        if node_id is not None:
            yield node_id.bytes


def _without(node: MemoryNode, going: set[UUID]) -> MemoryNode:
    kept = node.metadata.get(MERGED_FROM)
    if not isinstance(kept, list):
        return node
    rest = [entry for entry in kept if _id_of(entry) not in going]
    return node if rest == kept else replace(node, metadata={**node.metadata, MERGED_FROM: rest})


def _id_of(entry: Any) -> UUID | None:
    """Return the memory that an entry of a survivor is about; other metadata of that name has none."""
    try:
        return UUID(entry["id"])
    except (TypeError, KeyError, ValueError, AttributeError):
        return None


def facts_without_texts(store: GraphStore) -> dict[str, dict[str, Any] | None]:
    """Return what consolidations noted about the store in words of its memories, as it is without these
    words.

    Goals and the map quote memories and do not say which, so all words go; the next rem run finds them again.
    Drift says nothing of them.
    """
    facts: dict[str, dict[str, Any] | None] = {}
    if store.meta(GOALS_FACT) is not None:
        facts[GOALS_FACT] = None
    drawn = store.meta(MAP_FACT)
    if drawn is not None:
        facts[MAP_FACT] = {**drawn, "clusters": [], "patterns": []}
    return facts
