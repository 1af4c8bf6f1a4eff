"""A memory's learning state and a result's numbers react to what is stored, and only to that."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_graph.memory.embed import default_provider
from context_graph.memory.metrics.metrics import Metrics, common_of, learning_score, result_metrics
from context_graph.memory.metrics.store_metrics import SWEEP_AT_LEAST, StoreMetrics
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import JohariQuadrant, MemoryNode, UTLState

DIVERSE = [
    "Penguins huddle together to survive Antarctic winters",
    "Bread dough needs to rest for an hour before baking",
    "The database migration failed because of a missing index",
    "Chess openings repay careful study of pawn structures",
    "Solar panels lose efficiency when they get too hot",
    "The violin was restored by a luthier in Cremona",
    "Tax returns are due at the end of July this year",
    "Volcanic soil is good for growing wine grapes",
]
AUTH = [
    "JWT tokens are signed by the login service",
    "The login service signs JWT tokens with a private key",
    "JWT tokens from the login service expire after a day",
    "The private key of the login service signs JWT tokens",
    "Expired JWT tokens are refused by the login service",
    "The login service issues new JWT tokens",
]
PENGUINS = [
    "Penguins live in the cold south",
    "Penguins of the cold south eat fish",
    "The cold south is where penguins live and eat fish",
    "Fish is what penguins eat in the south",
]


@dataclass
class World:
    """A StoreMetrics with memories in it, as Memex would keep it."""

    utl: StoreMetrics = field(default_factory=lambda: StoreMetrics(common_of(default_provider())))
    nodes: list[MemoryNode] = field(default_factory=list)
    embeddings: dict[UUID, bytes] = field(default_factory=dict)
    edges: list[GraphEdge] = field(default_factory=list)
    count: int = 0

    def store(self, text: str, *, session: str | None = None, importance: float = 0.5) -> MemoryNode:
        self.count += 1
        node_id = UUID(int=self.count)
        embedding = default_provider().encode(text).embedding
        found = self.utl.measure(node_id, embedding, importance=importance, session_id=session)
        node = MemoryNode(
            id=node_id,
            content=text,
            rationale="needed by a test",
            created_at_ms=0,
            last_accessed_ms=0,
            importance=importance,
            utl_state=found.state,
            johari_quadrant=found.quadrant,
            semantic_cluster=found.topic,
            session_id=session,
        )
        self.utl.added(node, embedding, measured=found)
        self.nodes.append(node)
        self.embeddings[node.id] = embedding
        return node

    def link(self, one: MemoryNode, other: MemoryNode, kind: str = "related_to") -> GraphEdge:
        number = UUID(int=1000 + len(self.edges))
        edge = GraphEdge(id=number, source_id=one.id, target_id=other.id, relationship_type=kind)
        self.utl.linked(edge)
        self.edges.append(edge)
        return edge

    def edges_of(self, node: MemoryNode) -> list[GraphEdge]:
        return [edge for edge in self.edges if node.id in (edge.source_id, edge.target_id)]

    def forget(self, node: MemoryNode) -> None:
        self.utl.removed(node, self.embeddings[node.id], self.edges_of(node))

    def state(self) -> dict[str, object]:
        """What is kept of the memories, but for their place in the kernel."""
        return {"links": self.utl._links, "alone": sorted(self.utl._alone()), "memories": self.utl._memories}

    def of_result(self, nodes: Sequence[MemoryNode]) -> Metrics:
        packed = [self.utl.pack(self.embeddings[node.id]) for node in nodes]
        return result_metrics(nodes, packed, self.edges)


def world(texts: Iterable[str]) -> World:
    made = World()
    for text in texts:
        made.store(text)
    return made


def figures(metrics: Metrics) -> tuple[float, float, float]:
    return metrics.entropy, metrics.coherence, metrics.learning_score


def test_the_first_memory_has_the_defaults_and_an_unknown_quadrant() -> None:
    """REQ-CORE-006, REQ-CORE-002, TC-CORE-007: nothing to compare with is the one time they stay."""
    node = World().store(DIVERSE[0])
    assert node.utl_state == UTLState()
    assert node.johari_quadrant is JohariQuadrant.UNKNOWN
    assert node.semantic_cluster == node.id


def test_a_text_that_says_nothing_can_not_be_measured() -> None:
    """REQ-CORE-006: a memory without a single known word belongs to no topic and keeps the defaults."""
    made = world(DIVERSE[:3])
    node = made.store("   ")
    assert node.utl_state == UTLState()
    assert node.semantic_cluster is None
    assert made.utl._memories == 4


def test_surprise_is_the_novelty_against_the_store() -> None:
    """REQ-CORE-006: high for a new subject, low for a related text, none for the same text again."""
    made = world(AUTH + DIVERSE[2:5])
    new = made.store(DIVERSE[0]).utl_state.delta_s
    related = made.store("The login service rotates the key of its JWT tokens").utl_state.delta_s
    same = made.store(AUTH[1]).utl_state.delta_s
    assert new > 0.85
    assert 0.1 < related < 0.8
    assert same == 0.0


def test_coherence_change_is_what_a_memory_brings_to_the_mean() -> None:
    """REQ-CORE-006: by links and by what few others have as well, whatever it is about."""
    made = world(AUTH + DIVERSE[2:5])

    def fit(text: str, **given: int) -> float:
        embedding = default_provider().encode(text).embedding
        return made.utl.measure(UUID(int=99), embedding, importance=0.5, **given).state.delta_c

    assert fit(DIVERSE[0]) == fit(AUTH[0]) == 0.0
    assert 0.0 < fit(DIVERSE[0], links=1) < fit(DIVERSE[0], links=2) == 0.5 < fit(DIVERSE[0], links=4) < 1.0
    assert fit(AUTH[0], anchors=3) < fit(AUTH[0], anchors=3, links=1) < fit(AUTH[0], anchors=9, links=1)


@pytest.mark.parametrize("importance", [0.0, 0.3, 0.7, 1.0])
def test_the_emotional_weight_follows_importance(importance) -> None:
    """REQ-CORE-006: w_e in [0.5, 1.5]."""
    made = world(DIVERSE)
    weight = made.store("The table has twelve columns", importance=importance).utl_state.w_e
    assert weight == pytest.approx(0.5 + importance)


def test_the_phase_is_how_far_a_session_moves_from_one_memory_to_the_next() -> None:
    """REQ-CORE-006: phi in [0, pi]."""
    made = World()
    made.store(AUTH[0], session="a")
    assert made.store(AUTH[0], session="a").utl_state.phi == pytest.approx(0.0, abs=0.05)
    far = made.store(DIVERSE[0], session="a").utl_state.phi
    near = made.store(PENGUINS[0], session="a").utl_state.phi
    assert 0.0 < near < far <= math.pi / 2
    assert made.store(AUTH[1], session="b").utl_state.phi == 0.0
    assert made.store(AUTH[2]).utl_state.phi == 0.0


def test_every_quadrant_can_be_reached() -> None:
    """REQ-CORE-002, US-CORE-09: from a memory's own surprise and coherence."""
    made = world([*AUTH, *DIVERSE[2:5], PENGUINS[0]])

    def quadrant(text: str, **given: int) -> JohariQuadrant:
        embedding = default_provider().encode(text).embedding
        return made.utl.measure(UUID(int=99), embedding, importance=0.5, **given).quadrant

    assert quadrant(DIVERSE[0]) is JohariQuadrant.BLIND
    assert quadrant(AUTH[1]) is JohariQuadrant.HIDDEN
    assert quadrant(AUTH[1], anchors=9) is quadrant(AUTH[1], links=3) is JohariQuadrant.OPEN
    assert quadrant(DIVERSE[7], anchors=9) is quadrant(DIVERSE[7], links=3) is JohariQuadrant.UNKNOWN


def test_learning_needs_both_surprise_and_coherence() -> None:
    """REQ-CORE-006: L = f((delta_S * delta_C) * w_e * cos phi)."""
    assert learning_score(0.5, 0.5, 1.0, 1.0) == 0.5
    assert learning_score(0.0, 1.0, 1.0, 1.0) == learning_score(1.0, 0.0, 1.0, 1.0) == 0.0
    assert learning_score(1.0, 1.0, 1.5, 1.0) == 1.0
    assert learning_score(0.5, 0.5, 1.0, -0.5) == 0.0
    assert (
        learning_score(0.4, 0.5, 1.0, 0.9)
        < learning_score(0.5, 0.5, 1.0, 0.9)
        < learning_score(0.5, 0.5, 1.2, 0.9)
    )


def test_a_result_has_figures_of_its_own() -> None:
    """REQ-CORE-024, REQ-CORE-025: how unlike they are, and the density of their edges, whatever else there
    is; what contradicts another lowers coherence and raises entropy."""
    made = world(AUTH + DIVERSE)
    alike, unlike = made.of_result(made.nodes[:4]), made.of_result(made.nodes[6:10])
    assert alike.entropy < unlike.entropy
    assert alike.coherence > unlike.coherence
    made.link(made.nodes[6], made.nodes[7])
    denser = made.of_result(made.nodes[6:10])
    assert denser.coherence > unlike.coherence
    made.link(made.nodes[8], made.nodes[9], "contradicts")
    opposed = made.of_result(made.nodes[6:10])
    assert opposed.coherence < denser.coherence
    made.link(made.nodes[0], made.nodes[1], "contradicts")
    assert made.of_result(made.nodes[:4]).entropy > alike.entropy
    made.link(made.nodes[8], made.nodes[2])
    assert made.of_result(made.nodes[6:10]) == opposed


def test_one_memory_alone_has_its_own_state_and_none_has_nothing() -> None:
    """REQ-CORE-024, REQ-CORE-025: no constants where there is nothing."""
    made = world(AUTH)
    state = made.nodes[-1].utl_state
    alone = made.of_result(made.nodes[-1:])
    assert (alone.entropy, alone.coherence) == (state.delta_s, state.delta_c)
    assert figures(made.of_result([])) == (0.0, 0.0, 0.0)


def test_a_state_that_was_written_reads_back_equal_and_damage_is_noticed() -> None:
    """Invariant 7."""
    made = world(AUTH + DIVERSE)
    made.link(made.nodes[0], made.nodes[1], "contradicts")
    made.link(made.nodes[2], made.nodes[3])
    packed = made.utl.to_bytes()
    common = common_of(default_provider())
    again = StoreMetrics.from_bytes(packed, common)
    assert again.to_bytes() == packed
    for at in range(0, len(packed), 97):
        damaged = packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :]
        with pytest.raises(ValueError, match="not the bytes"):
            StoreMetrics.from_bytes(damaged, common)
    with pytest.raises(ValueError, match="not the bytes"):
        StoreMetrics.from_bytes(packed[:20], common)
    with pytest.raises(ValueError, match="another version"):
        StoreMetrics.from_bytes(b"CGI\x01" + packed[4:], common)


def test_taking_back_the_places_of_memories_that_went_changes_no_figure() -> None:
    made = world(AUTH + DIVERSE)
    made.link(made.nodes[0], made.nodes[1], "contradicts")
    made.link(made.nodes[2], made.nodes[3])
    before, passing = made.state(), made.nodes[0]
    going = made.embeddings[passing.id]
    for number in range(SWEEP_AT_LEAST + 1):
        other = replace(passing, id=UUID(int=10**6 + number), semantic_cluster=None)
        made.utl.added(other, going)
        made.utl.removed(other, going)
    assert made.state() == before
    assert [made.utl._links.get(node.id.bytes, 0) for node in made.nodes[:4]] == [0, 0, 1, 1]
    found = made.utl.measure(UUID(int=2 * 10**6), made.embeddings[made.nodes[3].id], importance=0.5)
    assert found.near == made.nodes[3].id.bytes


KINDS = ("related_to", "causes", "contradicts", "supersedes")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_whatever_happened_what_is_kept_is_that_of_what_is_left(seed) -> None:
    """Invariant 7: as in a state made anew from what is left."""
    chance = random.Random(seed)
    made, gone = World(), []
    for _ in range(40):
        roll = chance.random()
        if roll < 0.5 or len(made.nodes) - len(gone) < 3:
            words = chance.sample(" ".join(AUTH + PENGUINS + DIVERSE).split(), 6)
            made.store(" ".join(words), session=chance.choice([None, "a", "b"]), importance=chance.random())
            continue
        live = [node for node in made.nodes if node not in gone]
        if roll < 0.7:
            made.link(*chance.sample(live, 2), chance.choice(KINDS))
        elif roll < 0.85:
            gone.append(chance.choice(live))
            made.forget(gone[-1])
        elif gone:
            node = gone.pop(chance.randrange(len(gone)))
            made.utl.added(node, made.embeddings[node.id], made.edges_of(node))
    left = [(node, made.embeddings[node.id]) for node in made.nodes if node not in gone]
    rebuilt = World(utl=StoreMetrics.rebuilt(left, made.edges, common_of(default_provider())))
    assert rebuilt.state() == made.state()
