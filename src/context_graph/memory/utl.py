"""What a store knows about itself, kept up to date with every write: topics, links, novelty, contradictions.

Everything is computed from the memories and edges that are there, never from when they came: a state that is
rebuilt from the records equals the one it replaces, within 1e-12 (the order of one sum; invariant 7).
"""

from __future__ import annotations

import json
import math
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import Final
from uuid import UUID

from context_graph._kernels import topics as kernel
from context_graph.identity.johari import johari_knowledge
from context_graph.memory.utl_metrics import CONTRADICTS, SETTLES, UtlMetrics, learning_score, with_conflict
from context_graph.model.edge import GraphEdge
from context_graph.model.johari import JohariQuadrant
from context_graph.model.memory import MemoryNode, UTLState
from context_graph.model.spaces import SLICES

__all__ = ["Measured", "Utl"]

TOPIC_SLOTS: Final = 128
"""Topics kept apart; beyond that a memory joins the nearest. A write compares with each."""
JOIN_COSINE: Final = 0.35
"""Cosine to a topic's centre from which a memory belongs to it (docs/memory-metrics.md)."""
PRIOR: Final = 4.0
"""Memories at which the store's entropy counts half: three notes are no confusion."""
SESSIONS: Final = 256
"""Sessions whose last memory is remembered, for the phase."""

SWEEP_AT_LEAST: Final = 4096
"""Memories that went before their places are taken back; as many as are left, if those are more."""

_ONE: Final = 1 << 32
_EMOTIONAL: Final = slice(4 * SLICES["Emotional"].start, 4 * SLICES["Emotional"].stop)
_NO_EMOTION: Final = bytes(_EMOTIONAL.stop - _EMOTIONAL.start)
_EMOTION_GAIN: Final = 0.25

_MAGIC: Final = b"CGU\x01"
_HEAD: Final = Struct("<4sIIqqqq")
"""Magic, CRC-32 of the rest, bytes of JSON, memories, the three sums. Never renumber."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a memory is to the store, before it is stored."""

    state: UTLState
    quadrant: JohariQuadrant
    topic: UUID | None
    """Its `semantic_cluster`: the topic it joins, its own id if it starts one, None without a vector."""
    near: UUID | None
    """The memory that is most like it, if one is nearly the same text."""
    near_cosine: float
    """Estimated from 256 bits: give or take 0.1 at 0.8, 0.02 near 1."""
    packed: bytes | None


class Utl:
    """The running figures of one store. Not thread-safe: Memex calls it under its lock.

    Ask `measure` before a memory is written (the answer goes into its record), tell `added` after it is
    durable. Memory: some 80 bytes a node, 0.7 MB of topics, 4 MB of signature tables that fill as nodes come.
    """

    def __init__(self, common: bytes = b"") -> None:
        """
        Args:
            common: What all texts share in the embedder's Semantic space (`common_ground.common_of`).
        """
        self._common = common
        self._kernel = kernel.Topics(TOPIC_SLOTS, JOIN_COSINE)
        self._topic_of_slot: list[UUID | None] = [None] * TOPIC_SLOTS
        self._slot_of_topic: dict[UUID, int] = {}
        self._memories = self._surprise = self._emotion = self._phase = 0  # sums, in units of 2**-32
        self._disputes: dict[frozenset[UUID], list[int]] = {}
        self._last_of_session: OrderedDict[str, bytes] = OrderedDict()
        self._metrics: UtlMetrics | None = None
        self._gone = 0

    def measure(
        self,
        node_id: UUID,
        embedding: bytes,
        *,
        importance: float,
        links: int = 0,
        session_id: str | None = None,
    ) -> Measured:
        """What a memory of that embedding would be to the store; nothing changes.

        The first of a store, and one whose embedding says nothing, can't be measured: seed 003's defaults.

        Args:
            embedding: 6144 bytes.
            importance: [0, 1].
            links: Edges that are stored with it.
            session_id: For the phase: how far it is from what its session stored before.

        Cost: some 10 us. Source: seed 003 REQ-CORE-006, D3.6.
        """
        packed = kernel.pack(embedding, self._common)
        if packed is None or not self._memories:
            topic = None if packed is None else node_id
            return Measured(UTLState(), JohariQuadrant.UNKNOWN, topic, None, 0.0, packed)
        slot, cosine, members, near, near_cosine = self._kernel.place(packed)
        fit = kernel.likeness(cosine) * members / (members + 1)
        state = UTLState(
            delta_s=1.0 - kernel.likeness(max(cosine, near_cosine)),
            delta_c=1.0 - (1.0 - fit) / (links + 1),
            w_e=_emotional_weight(importance, embedding),
            phi=self._phi(session_id, packed),
        )
        return Measured(
            state=state,
            quadrant=johari_knowledge(state.delta_s, state.delta_c),
            topic=node_id if slot < 0 else self._topic_of_slot[slot],
            near=None if near is None else UUID(bytes=near),
            near_cosine=near_cosine,
            packed=packed,
        )

    def _phi(self, session_id: str | None, packed: bytes) -> float:
        before = self._last_of_session.get(session_id) if session_id else None
        return 0.0 if before is None else math.acos(kernel.mean_cosine((before, packed)))

    def added(
        self,
        node: MemoryNode,
        embedding: bytes,
        edges: Iterable[GraphEdge] = (),
        *,
        measured: Measured | None = None,
    ) -> None:
        """Count a memory in, stored or restored, with its edges; those to memories not counted are left out.

        Args:
            measured: The answer of `measure` for it, which saves the work of packing it again.

        Raises:
            ValueError: It is counted already.
        """
        packed = kernel.pack(embedding, self._common) if measured is None else measured.packed
        slot = self._kernel.add(node.id.bytes, self._slot_for(node, packed), packed)
        if slot >= 0 and self._topic_of_slot[slot] is None:
            topic = node.semantic_cluster or node.id
            self._topic_of_slot[slot] = topic
            self._slot_of_topic[topic] = slot
        self._tally(node, 1)
        for edge in edges:
            self.linked(edge)
        if packed is not None and node.session_id:
            self._remember(node.session_id, packed)

    def _slot_for(self, node: MemoryNode, packed: bytes | None) -> int:
        """The slot of its recorded topic, else -1 for a free one; when none is free, the nearest topic's."""
        slot = self._slot_of_topic.get(node.semantic_cluster, -1) if node.semantic_cluster else -1
        if slot < 0 and packed is not None and len(self._slot_of_topic) == TOPIC_SLOTS:
            return self._kernel.place(packed)[0]
        return slot

    def _remember(self, session_id: str, packed: bytes) -> None:
        self._last_of_session[session_id] = packed
        self._last_of_session.move_to_end(session_id)
        if len(self._last_of_session) > SESSIONS:
            self._last_of_session.popitem(last=False)

    def removed(self, node: MemoryNode, embedding: bytes, edges: Iterable[GraphEdge] = ()) -> None:
        """Count a memory out, with its edges of both directions; one that is not counted changes nothing."""
        if self._kernel.links(node.id.bytes) < 0:
            return
        for edge in edges:
            self._count(edge, -1)
        slot = self._kernel.slot(node.id.bytes)
        self._kernel.remove(node.id.bytes, None if slot < 0 else kernel.pack(embedding, self._common))
        self._tally(node, -1)
        if slot >= 0 and not self._kernel.members(slot):
            topic, self._topic_of_slot[slot] = self._topic_of_slot[slot], None
            if topic is not None:
                del self._slot_of_topic[topic]
        self._gone += 1
        if self._gone % SWEEP_AT_LEAST == 0 and self._gone >= self._kernel.summary()[0]:
            self._kernel.load_bytes(self._kernel.to_bytes())  # which has nothing of those that went
            self._gone = 0

    def linked(self, edge: GraphEdge) -> None:
        """Count a new edge in; one to a memory that is not counted changes nothing."""
        self._count(edge, 1)

    def unlinked(self, edge: GraphEdge) -> None:
        """Count an edge out."""
        self._count(edge, -1)

    def updated(self, before: MemoryNode, after: MemoryNode) -> None:
        """Count a memory's own state as it is now; its topic and links stay."""
        if self._kernel.links(before.id.bytes) >= 0 and before.utl_state != after.utl_state:
            self._tally(before, -1)
            self._tally(after, 1)

    def _count(self, edge: GraphEdge, by: int) -> None:
        a, b = edge.source_id.bytes, edge.target_id.bytes
        if a == b or self._kernel.links(a) < 0 or self._kernel.links(b) < 0:
            return
        self._metrics = None
        contradicts = edge.relationship_type == CONTRADICTS
        if not contradicts:
            self._kernel.link(a, b, False, by)
        if contradicts or edge.relationship_type in SETTLES:
            self._dispute(frozenset((edge.source_id, edge.target_id)), 0 if contradicts else 1, by)

    def _dispute(self, pair: frozenset[UUID], which: int, by: int) -> None:
        """Two memories contradict each other while an edge says so and none settles it."""
        counts = self._disputes.setdefault(pair, [0, 0])
        before = counts[0] > 0 and counts[1] == 0
        counts[which] = max(0, counts[which] + by)
        after = counts[0] > 0 and counts[1] == 0
        if before != after:
            one, other = pair
            self._kernel.link(one.bytes, other.bytes, True, 1 if after else -1)
        if not any(counts):
            del self._disputes[pair]

    def _tally(self, node: MemoryNode, sign: int) -> None:
        state = node.utl_state
        self._memories += sign
        self._surprise += sign * round(state.delta_s * _ONE)
        self._emotion += sign * round(state.w_e * _ONE)
        self._phase += sign * round(math.cos(state.phi) * _ONE)
        self._metrics = None

    def pack(self, embedding: bytes) -> bytes | None:
        """An embedding as these figures compare it, for `result_metrics`; None when it says nothing."""
        return kernel.pack(embedding, self._common)

    def metrics(self) -> UtlMetrics:
        """The store's figures now, 0 while it is empty. Cost: 4 us after a change, else nothing."""
        if self._metrics is None:
            self._metrics = self._computed()
        return self._metrics

    def _computed(self) -> UtlMetrics:
        memories, topics, diversity, connectedness, conflicted = self._kernel.summary()
        if not memories:
            return UtlMetrics()
        per_one = 1.0 / (_ONE * memories)
        novelty, conflict = self._surprise * per_one, conflicted / memories
        entropy = with_conflict(diversity, novelty, conflict, memories / (memories + PRIOR))
        coherence = connectedness * (1.0 - conflict)
        return UtlMetrics(
            entropy=entropy,
            coherence=coherence,
            learning_score=learning_score(entropy, coherence, self._emotion * per_one, self._phase * per_one),
            diversity=diversity,
            novelty=novelty,
            connectedness=connectedness,
            conflict=conflict,
            memories=memories,
            topics=topics,
        )

    def links(self, node_id: UUID) -> int:
        """Edges of a counted memory to others, contradictions left out; -1 for any other memory."""
        return self._kernel.links(node_id.bytes)

    def alone(self) -> list[UUID]:
        """Memories without a link that are the only one of their topic. Cost: 1 us a thousand memories."""
        return [UUID(bytes=node) for node in self._kernel.alone()]

    def to_bytes(self) -> bytes:
        """The state, without what belongs to running sessions: some 54 bytes a memory."""
        topics = {str(slot): topic.hex for topic, slot in sorted(self._slot_of_topic.items())}
        disputes = [
            [*(node.hex for node in sorted(pair)), *counts] for pair, counts in self._disputes.items()
        ]
        names = json.dumps([topics, sorted(disputes)], separators=(",", ":")).encode()
        sums = (self._memories, self._surprise, self._emotion, self._phase)
        body = names + self._kernel.to_bytes()
        return _HEAD.pack(_MAGIC, _checksum(sums, body), len(names), *sums) + body

    @classmethod
    def from_bytes(cls, packed: bytes, common: bytes = b"") -> Utl:
        """The state that `to_bytes` wrote.

        Raises:
            ValueError: Other bytes, or damaged ones; `rebuilt` gives the same state from the records.
        """
        made = cls(common)
        if len(packed) < _HEAD.size:
            raise ValueError("not the bytes of a Utl state: too few")
        magic, checksum, length, *sums = _HEAD.unpack_from(packed)
        body = packed[_HEAD.size :]
        if magic != _MAGIC or checksum != _checksum(tuple(sums), body):
            raise ValueError("not the bytes of a Utl state: damaged, or of another version")
        made._kernel.load_bytes(body[length:])
        topics, disputes = json.loads(body[:length])
        for slot, name in topics.items():
            topic = UUID(hex=name)
            made._topic_of_slot[int(slot)] = topic
            made._slot_of_topic[topic] = int(slot)
        for one, other, *counts in disputes:
            made._disputes[frozenset((UUID(hex=one), UUID(hex=other)))] = counts
        made._memories, made._surprise, made._emotion, made._phase = sums
        return made

    @classmethod
    def rebuilt(
        cls, nodes: Iterable[tuple[MemoryNode, bytes]], edges: Iterable[GraphEdge], common: bytes = b""
    ) -> Utl:
        """The state of a store from its live records: its figures equal those that were kept up to date."""
        made = cls(common)
        for node, embedding in nodes:
            made.added(node, embedding)
        for edge in edges:
            made.linked(edge)
        return made


def _checksum(sums: tuple[int, ...], body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(repr(sums).encode()))


def _emotional_weight(importance: float, embedding: bytes) -> float:
    """w_e in [0.5, 1.5]: 1 for ordinary importance, more where the text has emotion in it."""
    moved = embedding[_EMOTIONAL] != _NO_EMOTION
    return min(1.5, max(0.5, 0.5 + importance + (_EMOTION_GAIN if moved else 0.0)))
