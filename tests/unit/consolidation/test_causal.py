"""Links that a consolidation makes: what one memory names as effect is what another names as cause (E3)."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.support.topics import TOPICS, node_id, snapshot_of, talk, texts_on

from context_graph.consolidation.finders import causal
from context_graph.consolidation.finders.causal import links
from context_graph.consolidation.finders.clusters import find
from context_graph.consolidation.plan import Cluster, NewLink
from context_graph.consolidation.snapshot import Snapshot
from context_graph.model.edge import GraphEdge

CHAINS = (
    (
        "The log rotation was broken, so the disk of the build server filled up.",
        "Because the disk of the build server was full, the nightly database backup failed.",
        "The failed nightly backup caused the loss of three customer invoices.",
    ),
    (
        "The new release of the parser leaks memory because it never frees its token cache.",
        "The parser's memory leak led to worker processes being killed by the kernel.",
    ),
    (
        "The firewall rule blocked port 5432, therefore the migration script timed out.",
        "The migration script timed out, so the orders table has no index.",
        "Because the orders table has no index, the checkout page is slow.",
    ),
)
PLAIN = (
    "The build server has a disk of 200 GB.",
    "Nightly backups of the database run at two.",
    "The parser is written in Rust and has a token cache.",
    "The orders table has twelve columns.",
    "The checkout page shows the price with tax.",
    "Port 5432 is PostgreSQL's.",
)
TEXTS = [*(text for chain in CHAINS for text in chain), *PLAIN]


def steps() -> set[tuple[int, int]]:
    """(row, row) of each cause and the effect that follows it in its chain."""
    found, row = set(), 0
    for chain in CHAINS:
        found |= {(row + step, row + step + 1) for step in range(len(chain) - 1)}
        row += len(chain)
    return found


def rows(link: NewLink) -> tuple[int, int]:
    return (link.source.int >> 64) - 1, (link.target.int >> 64) - 1


def causes(found: list[NewLink]) -> set[tuple[int, int]]:
    return {rows(link) for link in found if link.why == "causal"}


def edge(source: int, target: int, kind: str = "related_to") -> GraphEdge:
    return GraphEdge(
        id=UUID(int=99 + source), source_id=node_id(source), target_id=node_id(target), relationship_type=kind
    )


def one_cluster(snap: Snapshot) -> list[Cluster]:
    return [Cluster(UUID(int=1), tuple(snap.ids), "all", 0.5)]


def test_an_effect_leads_to_what_has_it_as_cause() -> None:
    """Seed 002: relationships by E3 (Causal)."""
    found = links(snapshot_of(TEXTS), [])
    assert causes(found) == steps()
    for link in found:
        assert link.relationship_type == "causes"
        assert 0.75 <= link.weight <= 1.0
        assert 0.2 <= link.confidence <= 1.0


def test_texts_that_name_no_cause_get_no_causal_link() -> None:
    texts = [*PLAIN, *talk(20), *(text for topic in TOPICS for text in texts_on(topic, 5))]
    assert not causes(links(snapshot_of(texts), []))


def test_one_statement_said_twice_is_no_cause_of_itself() -> None:
    text = CHAINS[0][0]
    assert not causes(links(snapshot_of([text, text.lower(), f"{text} Indeed."]), []))


def test_thanks_for_reasons_are_no_causes() -> None:
    """Turns of phrase have causal words, and match everything."""
    texts = [f"Thanks, Sam! I'm so happy because you helped me with {thing}." for thing in TOPICS]
    texts += [f"Thanks, Evan! You helped me, so I got {thing} right." for thing in TOPICS]
    assert not causes(links(snapshot_of(texts), []))


def test_memories_that_are_linked_already_stay_as_they_are() -> None:
    linked = sorted(steps())[0]
    found = links(snapshot_of(TEXTS, [edge(*linked)]), [])
    assert causes(found) == steps() - {linked}


def test_memories_that_were_removed_get_no_links() -> None:
    gone = 1
    snap = snapshot_of(TEXTS)
    found = links(snap, [], [row for row in range(len(TEXTS)) if row != gone])
    assert causes(found) == {pair for pair in steps() if gone not in pair}


def test_in_a_large_store_causes_are_looked_for_inside_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal, "COMPARED_ROWS", 2)
    snap = snapshot_of(TEXTS)
    assert not causes(links(snap, []))
    assert causes(links(snap, one_cluster(snap))) == steps()


def test_members_of_a_cluster_that_are_each_others_nearest_are_related() -> None:
    pair = [
        "The keel, the rudder and the anchor are in the harbour with the mainsail and the tide",
        "With the tide, the mainsail: rudder, keel and anchor in the harbour",
    ]
    texts = [*pair, *texts_on("sailing", 10), *texts_on("billing", 12)]
    snap = snapshot_of(texts)
    found = [link for link in links(snap, find(snap, range(len(texts)))) if link.why == "cluster"]
    assert (0, 1) in {rows(link) for link in found}
    topic = [*(["sailing"] * 12), *(["billing"] * 12)]
    for link in found:
        one, other = rows(link)
        assert topic[one] == topic[other]
        assert link.relationship_type == "related_to"
        assert 0.25 <= link.weight <= 0.5
    ends = [end for link in found for end in rows(link)]
    assert len(ends) == len(set(ends)), "a memory has one nearest"


@pytest.mark.parametrize("direction", [(0, 1), (1, 0)])
def test_related_memories_with_an_edge_get_no_second_one(direction: tuple[int, int]) -> None:
    pair = ["The keel and the rudder of the boat need paint", "Paint for the boat: its keel and its rudder"]
    snap = snapshot_of(pair, [edge(*direction)])
    assert links(snap, one_cluster(snap)) == []


def test_small_talk_is_not_related() -> None:
    snap = snapshot_of(["ok, thanks, bye!", "thanks, ok, bye!", "thanks and bye"])
    assert links(snap, one_cluster(snap)) == []


def test_an_empty_store_has_no_links() -> None:
    assert links(snapshot_of([]), []) == []


def test_the_links_of_a_run_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal, "MAX_CAUSAL", 2)
    found = links(snapshot_of(TEXTS), [])
    assert len(found) == 2
    strongest = sorted((link.weight for link in found), reverse=True)
    monkeypatch.setattr(causal, "MAX_CAUSAL", 2000)
    assert [link.weight for link in links(snapshot_of(TEXTS), [])][:2] == strongest
