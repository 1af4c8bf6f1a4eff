"""Measures a store as it changes: topics, novelty, links, what is to be reviewed, and what is unsettled.

The metrics depend on which memories and edges there are, not on their order (invariant 7).
"""

from __future__ import annotations

import heapq
import json
import math
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from context_graph.errors import UNREADABLE_RECORD
from context_graph.identity.consciousness import johari_knowledge
from context_graph.kernels import topics as kernel
from context_graph.memory.metrics.metrics import (
    ENDED_BY,
    ActiveConcept,
    MemeticStatus,
    Shares,
    Tellings,
    action_for,
)
from context_graph.memory.metrics.review_tasks import (
    CONTRADICTS,
    Effort,
    Reader,
    ReviewTasks,
    may_be_orphan,
)
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import CognitivePulse, JohariQuadrant, MemoryNode, SuggestedAction, UTLState
from context_graph.text.paraphrase import MAX_CHARS
from context_graph.text.sentences import short_name

TOPIC_SLOTS: Final = 128
"""Topics that are kept apart; beyond that a memory joins the nearest. A write compares with each."""
JOIN_COSINE: Final = 0.35
"""Cosine to a topic's centre from which a memory belongs to it (docs/dev/memory-metrics.md)."""
SESSIONS: Final = 256
"""Sessions whose last memory is kept, for the phase."""
SWEEP_AT_LEAST: Final = 4096
"""Removed memories after which their space is freed; or as many as are left, if those are more."""
NEAR: Final = 0.75
"""Estimated cosine from which a new memory is compared word by word with its nearest."""
PULSE_EFFORT: Final = Effort(candidates=4, seconds=0.0002, chars=500)
"""What one pulse spends on review candidates: it stays below 1 ms (REQ-CORE-019)."""
MAX_COMPARED: Final = 5
"""Memories of an answer that are compared with each other before it is given."""
STATUS_EFFORT: Final = Effort(candidates=4096, seconds=0.5, chars=MAX_CHARS)
MAX_CONCEPTS: Final = 5
KEPT_CONCEPTS: Final = 64
"""Candidates for the top five: some may be deleted before they are shown."""
DIGITS: Final = 4

_MAGIC: Final = b"CGM\x02"
_HEAD: Final = Struct("<4sII")
"""Magic, CRC-32 of the rest, bytes of JSON. Never renumber."""


HALF: Final = 8
"""Anchors with which a memory is half connected; the median is 6 in talk, 11 in session summaries."""
PER_LINK: Final = 4
"""Anchors that a link counts as."""


class Measured(NamedTuple):
    """A memory's measurements before it is stored."""

    state: UTLState
    quadrant: JohariQuadrant
    topic: UUID | None
    """Its `semantic_cluster`: the topic it joins, its own id if it starts one, None without a vector."""
    near: bytes | None
    """Id of the most similar memory, if the texts are nearly the same."""
    near_cosine: float
    """Estimated from 256 bits: within 0.1 at 0.8, within 0.02 near 1."""
    packed: bytes | None


class StoreMetrics:
    """The running metrics of one store. Not thread-safe: Memex calls it under its lock.

    Call `measure` before a memory is written, and `added` after it is durable. ``common`` is what all texts
    share in the embedder's Semantic space (`metrics.common_of`).

    Memory: some 80 bytes a memory, 0.7 MB of topics, and signature tables that grow to 4 MB.
    """

    def __init__(self, common: bytes = b"") -> None:
        self._common = common
        self._kernel = kernel.Topics(TOPIC_SLOTS, JOIN_COSINE)
        self._topic_of_slot: list[UUID | None] = [None] * TOPIC_SLOTS
        self._slot_of_topic: dict[UUID, int] = {}
        self._memories = 0
        self._links: dict[bytes, int] = {}
        """Of each memory that has any: its edges to others, contradictions left out."""
        self._last_of_session: OrderedDict[str, bytes] = OrderedDict()
        self._gone = 0
        self._review = ReviewTasks()
        self._uses: dict[UUID, int] = {}

    # Memories and edges that come and go

    def measure(
        self,
        node_id: UUID,
        embedding: bytes,
        *,
        importance: float,
        anchors: int = 0,
        links: int = 0,
        session_id: str | None = None,
    ) -> Measured:
        """Return what a memory with that embedding would be to the store; nothing changes. Cost: some 10 us.

        The first memory of a store, and one whose embedding is empty, gets seed 003's defaults.

        Args:
            embedding: 6144 bytes.
            importance: [0, 1].
            anchors: Words and tags that few others have as well (`MemoryIndex.anchors`).
            links: Edges that are stored with it.
            session_id: For the phase: the distance to what its session stored last.

        Source: seed 003 REQ-CORE-006, D3.6.
        """
        packed = self.pack(embedding)
        if packed is None or not self._memories:
            topic = None if packed is None else node_id
            return Measured(UTLState(), JohariQuadrant.UNKNOWN, topic, None, 0.0, packed)
        slot, cosine, _, near, near_cosine = self._kernel.place(packed)
        before = self._last_of_session.get(session_id) if session_id else None
        state = UTLState(
            delta_s=1.0 - kernel.likeness(max(cosine, near_cosine)),
            delta_c=connection(anchors, links),
            w_e=min(1.5, max(0.5, 0.5 + importance)),
            phi=0.0 if before is None else math.acos(kernel.mean_cosine((before, packed))),
        )
        return Measured(
            state=state,
            quadrant=johari_knowledge(state.delta_s, state.delta_c),
            topic=node_id if slot < 0 else self._topic_of_slot[slot],
            near=near,
            near_cosine=near_cosine,
            packed=packed,
        )

    def added(
        self,
        node: MemoryNode,
        embedding: bytes,
        edges: Iterable[GraphEdge] = (),
        *,
        measured: Measured | None = None,
    ) -> None:
        """Count a stored or restored memory with its edges; edges to memories that are not counted are
        ignored.

        ``measured`` is the answer of `measure`, if it was asked. Raises ValueError if it is counted already.
        """
        if measured is None:
            measured = self.measure(node.id, embedding, importance=node.importance)
        packed = measured.packed
        slot = self._kernel.add(node.id.bytes, self._slot_for(node, packed), packed)
        if slot >= 0 and self._topic_of_slot[slot] is None:
            topic = node.semantic_cluster or node.id
            self._topic_of_slot[slot] = topic
            self._slot_of_topic[topic] = slot
        self._memories += 1
        if measured.near is not None and measured.near_cosine >= NEAR:
            self._review.noticed(node.id, UUID(bytes=measured.near))
        self._review.arrived(node)
        for edge in edges:
            self.linked(edge)
        if packed is not None and node.session_id:
            self._remember(node.session_id, packed)
        self._count_uses(node)

    def _slot_for(self, node: MemoryNode, packed: bytes | None) -> int:
        """Return the slot of its recorded topic, else -1 for a free one, or the nearest topic's."""
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
        """Stop counting a memory and its edges of both directions; an uncounted one changes nothing."""
        self._review.removed(node.id)
        self._uses.pop(node.id, None)
        if node.id.bytes not in self._kernel:
            return
        for edge in edges:
            self._count(edge, -1)
        slot = self._kernel.slot(node.id.bytes)
        self._links.pop(node.id.bytes, None)
        self._kernel.remove(node.id.bytes, None if slot < 0 else self.pack(embedding))
        self._memories -= 1
        if slot >= 0 and not self._kernel.members(slot):
            topic, self._topic_of_slot[slot] = self._topic_of_slot[slot], None
            if topic is not None:
                del self._slot_of_topic[topic]
        self._gone += 1
        if self._gone % SWEEP_AT_LEAST == 0 and self._gone >= self._memories:
            self._kernel.load_bytes(self._kernel.to_bytes())  # which has nothing of those that went
            self._gone = 0

    def linked(self, edge: GraphEdge) -> None:
        """Count a new edge; one to a memory that is not counted changes no metric."""
        self._count(edge, 1)
        self._review.linked(edge)

    def unlinked(self, edge: GraphEdge) -> None:
        """Stop counting an edge."""
        self._count(edge, -1)
        self._review.linked(edge)

    def updated(self, after: MemoryNode) -> None:
        """Take in a memory's changed fields: one that was accepted, say, is no orphan."""
        if not may_be_orphan(after):
            self._review.touched(after.id)

    def touched(self, node: MemoryNode) -> None:
        """Note a use; ``node`` has its new access count."""
        self._count_uses(node)
        self._review.touched(node.id)

    def _count_uses(self, node: MemoryNode) -> None:
        if node.access_count:
            self._uses[node.id] = node.access_count
            if len(self._uses) >= 2 * KEPT_CONCEPTS:
                self._uses = dict(heapq.nlargest(KEPT_CONCEPTS, self._uses.items(), key=_by_count))

    def _count(self, edge: GraphEdge, by: int) -> None:
        a, b = edge.source_id.bytes, edge.target_id.bytes
        if a == b or a not in self._kernel or b not in self._kernel or edge.relationship_type == CONTRADICTS:
            return
        for node in (a, b):
            links = self._links.pop(node, 0) + by
            if links > 0:
                self._links[node] = links

    # What is asked

    def pack(self, embedding: bytes) -> bytes | None:
        """Return an embedding in the form that the metrics compare; None if it is empty."""
        return kernel.pack(embedding, self._common)

    def shares(self, tellings: Tellings) -> Shares:
        """Return how much of what was told lately is in doubt, and how much was used. Cost: some 20 us."""
        return tellings.shares(self._review.is_contradicted)

    def _alone(self) -> list[UUID]:
        """Memories without a link that are the only one of their topic. Cost: 1 us a thousand memories."""
        return [UUID(bytes=node) for node in self._kernel.lone() if node not in self._links]

    def pulse(
        self,
        reader: Reader,
        now_ms: int,
        tellings: Tellings,
        *,
        empty_recall: bool = False,
        touched: Sequence[UUID] = (),
    ) -> CognitivePulse:
        """Return the header of an answer (REQ-CORE-003, 019).

        After an empty recall it is to explore (EC-CORE-004), and to clarify where a ``touched`` memory is in
        doubt: another contradicts it, or what it rests on had changed when it was told.

        Args:
            tellings: What was told lately.
            touched: The memories that the answer brings.

        Cost: some 20 us, plus one candidate, if any wait: mostly 0.3 ms, below 0.7 ms.
        """
        self._review.answered(reader, touched[:MAX_COMPARED])
        shares, action, _ = self._suggested(reader, now_ms, tellings, PULSE_EFFORT)
        values = round(shares.entropy, DIGITS), round(shares.coherence, DIGITS)
        if empty_recall:
            return CognitivePulse(*values, SuggestedAction.EXPLORE)
        about = self._review.contradiction_of(touched) or tellings.change_of(touched)
        return CognitivePulse(*values, SuggestedAction.CLARIFY if about else action, about)

    def contradicted(self, reader: Reader, nodes: Sequence[UUID]) -> dict[UUID, UUID]:
        """Return those of one answer's ``nodes`` that another memory contradicts, with that one."""
        self._review.answered(reader, nodes[:MAX_COMPARED])
        pairs = ((node, self._review.opponent(node)) for node in nodes)
        return {node: other for node, other in pairs if other is not None}

    def _suggested(
        self, reader: Reader, now_ms: int, tellings: Tellings, effort: Effort
    ) -> tuple[Shares, SuggestedAction, str]:
        """Return the shares, what to do (docs/dev/memory-metrics.md has the table), and why."""
        is_pair_waiting = self._review.look(reader, self._alone, effort, now_ms)
        entropy, coherence, memories = shares = self.shares(tellings)
        if not self._memories:
            return shares, SuggestedAction.EXPLORE, "there are no memories yet"
        if is_pair_waiting:
            return shares, SuggestedAction.CURATE, "curation_tasks wait"
        if not memories:
            return shares, SuggestedAction.READY, "nothing was told yet"
        reason = (
            f"of the {memories} memories told last, {entropy:.0%} are in doubt and {coherence:.0%} were used"
        )
        return shares, action_for(shares), reason

    def status(
        self, reader: Reader, now_ms: int, tellings: Tellings, *, dream_available: bool
    ) -> MemeticStatus:
        """Return the pulse's numbers, the most used memories, and review tasks (REQ-CORE-017).

        ``dream_available`` says whether a consolidation could run now. Cost: 0.1 ms, up to 0.5 s if many
        review candidates wait.
        """
        shares, action, reason = self._suggested(reader, now_ms, tellings, STATUS_EFFORT)
        best = heapq.nlargest(MAX_CONCEPTS, self._uses.items(), key=_by_count)
        nodes = (_readable(reader, node) for node, _ in best)
        return MemeticStatus(
            coherence_score=round(shares.coherence, DIGITS),
            entropy_level=round(shares.entropy, DIGITS),
            top_active_concepts=tuple(
                ActiveConcept(node.id, short_name(node.content), node.access_count)
                for node in nodes
                if node is not None
            ),
            suggested_action=action,
            reason=reason,
            ended_by=ENDED_BY[action],
            dream_available=dream_available,
            curation_tasks=tuple(self._review.tasks()),
        )

    # On disk

    def to_bytes(self) -> bytes:
        """Return the state without what belongs to running sessions: some 50 bytes a memory."""
        state = {
            "memories": self._memories,
            "topics": {topic.hex: slot for topic, slot in sorted(self._slot_of_topic.items())},
            "links": {node.hex(): count for node, count in sorted(self._links.items())},
            "review": [[node.hex for node in sorted(pair)] for pair in self._review.pairs()],
            "apart": [node.hex for node in self._review.apart()],
            "uses": {node.hex: count for node, count in self._uses.items()},
        }
        names = json.dumps(state, separators=(",", ":")).encode()
        body = names + self._kernel.to_bytes()
        return _HEAD.pack(_MAGIC, zlib.crc32(body), len(names)) + body

    @classmethod
    def from_bytes(cls, packed: bytes, common: bytes = b"") -> StoreMetrics:
        """Return the state that `to_bytes` wrote, with the same ``common``.

        Raises ValueError for other or damaged bytes; `rebuilt` then gives the same metrics from the records.
        """
        body = packed[_HEAD.size :]
        magic, checksum, length = _HEAD.unpack(packed[: _HEAD.size].ljust(_HEAD.size, b"\0"))
        if magic != _MAGIC or checksum != zlib.crc32(body) or length > len(body):
            raise ValueError("not the bytes of a store's metrics: damaged, or of another version")
        made, state = cls(common), json.loads(body[:length])
        made._kernel.load_bytes(body[length:])
        made._memories = state["memories"]
        for name, slot in state["topics"].items():
            topic = UUID(hex=name)
            made._topic_of_slot[slot] = topic
            made._slot_of_topic[topic] = slot
        made._links = {bytes.fromhex(node): count for node, count in state["links"].items()}
        pairs = (frozenset(map(UUID, pair)) for pair in state["review"])
        made._review = ReviewTasks(pairs, map(UUID, state.get("apart", ())))
        made._uses = {UUID(hex=node): count for node, count in state["uses"].items()}
        return made

    @classmethod
    def rebuilt(
        cls, nodes: Iterable[tuple[MemoryNode, bytes]], edges: Iterable[GraphEdge], common: bytes = b""
    ) -> StoreMetrics:
        """Return the state made from the live records, in order of commit; equal to one kept up to date."""
        made = cls(common)
        for node, embedding in nodes:
            made.added(node, embedding)
        for edge in edges:
            made.linked(edge)
        return made


def connection(anchors: float, links: float) -> float:
    """delta_c in [0, 1): 0 without anchors and links, 0.5 with 8 anchors, or 2 links.

    Args:
        anchors: Words and tags that it shares with few others (`MemoryIndex.anchors`).
        links: Edges to other memories, contradictions left out.
    """
    weight = anchors + PER_LINK * links
    return weight / (weight + HALF)


def _by_count(entry: tuple[UUID, int]) -> tuple[int, int]:
    return entry[1], -entry[0].int


def _readable(reader: Reader, node: UUID) -> MemoryNode | None:
    """Return the memory, None also where its record is damaged."""
    try:
        return reader.get(node)
    except UNREADABLE_RECORD:
        return None
