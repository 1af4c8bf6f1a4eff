"""A store's view of itself, as one part for Memex: its figures, the pulse of every answer, the status."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from struct import Struct
from typing import Final
from uuid import UUID

from context_graph.errors import UNREADABLE_RECORD
from context_graph.memory.curation import Curation, Effort, Pair, Reader
from context_graph.memory.likeness import MAX_CHARS, short_name
from context_graph.memory.status import ActiveConcept, MemeticStatus, MostUsed
from context_graph.memory.utl import Measured, Utl
from context_graph.memory.utl_metrics import CONTRADICTS, UtlMetrics
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import CognitivePulse, MemoryNode, SuggestedAction

__all__ = ["Introspection"]

NEAR: Final = 0.75
"""Estimated cosine from which a new memory is compared word by word with the one it is like."""
PULSE_EFFORT: Final = Effort(candidates=4, seconds=0.0002, chars=500)
"""What one answer's pulse spends on curation candidates: it stays below 1 ms (REQ-CORE-019)."""
STATUS_EFFORT: Final = Effort(candidates=512, seconds=0.1, chars=MAX_CHARS)
DIGITS: Final = 4

_HEAD: Final = Struct("<4sIIII")
"""Magic, CRC-32 of what follows the head, bytes of the figures, pairs, memories used most. Never renumber."""
_MAGIC: Final = b"CGI\x01"


class Introspection:
    """The figures of one store with what follows from them. Not thread-safe: used under Memex's lock."""

    def __init__(self, utl: Utl, pairs: Iterable[Pair] = ()) -> None:
        self._utl = utl
        self._curation = Curation(pairs)
        self._used = MostUsed()

    def measure(
        self,
        node_id: UUID,
        embedding: bytes,
        *,
        importance: float,
        links: int = 0,
        session_id: str | None = None,
    ) -> Measured:
        """What a memory would be to the store; see `Utl.measure`."""
        return self._utl.measure(
            node_id, embedding, importance=importance, links=links, session_id=session_id
        )

    def added(
        self,
        node: MemoryNode,
        embedding: bytes,
        edges: Iterable[GraphEdge] = (),
        *,
        measured: Measured | None = None,
    ) -> None:
        """A memory was stored or restored, with its edges."""
        edges = list(edges)
        if measured is None:  # restored, or read back: what it is like now
            measured = self._utl.measure(node.id, embedding, importance=node.importance)
        self._utl.added(node, embedding, edges, measured=measured)
        if measured.near is not None and measured.near_cosine >= NEAR:
            self._curation.noticed(node.id, measured.near)
        for edge in edges:
            self._curation.linked(edge)
        self._used.touched(node)

    def removed(self, node: MemoryNode, embedding: bytes, edges: Iterable[GraphEdge] = ()) -> None:
        """A memory was forgotten; ``edges`` are all of it, both directions."""
        self._utl.removed(node, embedding, edges)
        self._curation.removed(node.id)
        self._used.removed(node.id)

    def linked(self, edge: GraphEdge) -> None:
        """An edge was stored."""
        self._utl.linked(edge)
        self._curation.linked(edge)

    def unlinked(self, edge: GraphEdge) -> None:
        """An edge was taken out."""
        self._utl.unlinked(edge)
        self._curation.linked(edge)

    def updated(self, before: MemoryNode, after: MemoryNode) -> None:
        """Fields of a memory changed, but not its content or embedding."""
        self._utl.updated(before, after)

    def touched(self, node: MemoryNode) -> None:
        """A memory was used; it has its new access count."""
        self._used.touched(node)
        self._curation.touched(node.id)

    def metrics(self) -> UtlMetrics:
        """The store's figures now."""
        return self._utl.metrics()

    def pack(self, embedding: bytes) -> bytes | None:
        """An embedding as the figures compare it; None when it says nothing."""
        return self._utl.pack(embedding)

    def pulse(self, reader: Reader, now_ms: int, *, empty_recall: bool = False) -> CognitivePulse:
        """The header of an answer (REQ-CORE-003, 019), from the state of the store now.

        Args:
            empty_recall: The answer found no memory: explore (EC-CORE-004).

        Cost: 5 us, and where curation candidates wait at least one of them: below 0.7 ms, mostly 0.3.
        """
        return self._pulse(self._look(reader, PULSE_EFFORT, now_ms), empty_recall)

    def _look(self, reader: Reader, effort: Effort, now_ms: int) -> bool:
        return self._curation.look(reader, self._utl.alone, effort, now_ms)

    def _pulse(self, pending: bool, empty_recall: bool) -> CognitivePulse:
        metrics = self._utl.metrics()
        # The action is decided on the figures as shown, so that nobody sees 0.7 treated as above 0.7.
        entropy, coherence = round(metrics.entropy, DIGITS), round(metrics.coherence, DIGITS)
        if empty_recall:
            action = SuggestedAction.EXPLORE
        else:
            action = SuggestedAction.for_state(entropy, coherence, curation_pending=pending)
        return CognitivePulse(entropy, coherence, action)

    def status(self, reader: Reader, now_ms: int, *, dream_available: bool) -> MemeticStatus:
        """The whole of it (REQ-CORE-017).

        Args:
            dream_available: Whether a consolidation could run now.

        Cost: 0.1 ms, and up to 0.1 s where many curation candidates wait.
        """
        pulse = self._pulse(self._look(reader, STATUS_EFFORT, now_ms), empty_recall=False)
        nodes = (_readable(reader, node) for node in self._used.best())
        return MemeticStatus(
            coherence_score=pulse.coherence,
            entropy_level=pulse.entropy,
            top_active_concepts=tuple(
                ActiveConcept(node.id, short_name(node.content), node.access_count)
                for node in nodes
                if node is not None
            ),
            suggested_action=pulse.suggested_action,
            dream_available=dream_available,
            curation_tasks=tuple(self._curation.tasks()),
            metrics=self._utl.metrics(),
        )

    def to_bytes(self) -> bytes:
        """The state, to be read by `from_bytes`: some 54 bytes a memory."""
        figures = self._utl.to_bytes()
        pairs = [sorted(pair) for pair in self._curation.pairs()]
        used = self._used.counts()
        parts = [figures, *(node.bytes for pair in pairs for node in pair)]
        parts += [node.bytes + count.to_bytes(4, "little") for node, count in used.items()]
        body = b"".join(parts)
        return _HEAD.pack(_MAGIC, zlib.crc32(body), len(figures), len(pairs), len(used)) + body

    @classmethod
    def from_bytes(cls, packed: bytes, common: bytes) -> Introspection:
        """The state that `to_bytes` wrote, with the same ``common``.

        Raises:
            ValueError: Other bytes, or damaged ones; `rebuilt` gives the same figures from the records.
        """
        if len(packed) < _HEAD.size:
            raise ValueError("not the bytes of a store's figures: too few")
        magic, checksum, figures, pairs, used = _HEAD.unpack_from(packed)
        at = _HEAD.size + figures
        if magic != _MAGIC or len(packed) != at + 32 * pairs + 20 * used:
            raise ValueError("not the bytes of a store's figures: of another length or version")
        if checksum != zlib.crc32(packed[_HEAD.size :]):
            raise ValueError("not the bytes of a store's figures: damaged")
        ids = [UUID(bytes=packed[at + 16 * i : at + 16 * (i + 1)]) for i in range(2 * pairs)]
        made = cls(
            Utl.from_bytes(packed[_HEAD.size : at], common),
            map(frozenset, zip(ids[::2], ids[1::2], strict=True)),
        )
        at += 32 * pairs
        for i in range(at, len(packed), 20):
            made._used.put(UUID(bytes=packed[i : i + 16]), int.from_bytes(packed[i + 16 : i + 20], "little"))
        return made

    @classmethod
    def rebuilt(
        cls, nodes: Iterable[tuple[MemoryNode, bytes]], edges: Iterable[GraphEdge], common: bytes
    ) -> Introspection:
        """The state of a store from its live records, in order of commit; its figures equal the kept ones."""
        made = cls(Utl(common))
        for node, embedding in nodes:
            made.added(node, embedding)
        for edge in edges:
            made._utl.linked(edge)
            if edge.relationship_type == CONTRADICTS:
                made._curation.linked(edge)
        return made


def _readable(reader: Reader, node: UUID) -> MemoryNode | None:
    """The memory, None also where its record is damaged."""
    try:
        return reader.get(node)
    except UNREADABLE_RECORD:
        return None
