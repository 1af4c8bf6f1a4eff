"""What lifts and lowers a memory beside its own words, each rule by itself, through a real store."""

from __future__ import annotations

from tests.support.memories import WHY

from context_graph.memory.memex import Memex

OTHERS = (
    "Retry the payment webhook with exponential backoff",
    "The parser keeps comments when it rewrites a file",
    "Redis holds the sessions, Postgres the accounts",
    "Tests of the scheduler need a frozen clock",
    "The login form rejects passwords shorter than twelve characters",
)


def score_of(memex: Memex, query: str, content: str) -> float:
    return next(hit.score for hit in memex.recall(query, top_k=50).nodes if hit.node.content == content)


def test_one_that_asks_comes_behind_one_that_tells(memex: Memex) -> None:
    """A question is no answer, though its words are nearer to those of who asks."""
    asks, tells = "Should staging listen on port 8443?", "Staging listens on port 8443 now."
    for content in (*OTHERS, asks, tells):
        memex.store(content, rationale=WHY)
    query = "which port does staging listen on"
    assert score_of(memex, query, tells) > score_of(memex, query, asks)


def test_what_stands_in_the_session_of_a_good_hit_is_lifted(memex: Memex) -> None:
    """Of two equal memories the one whose session holds what was asked for, with others in between."""
    hit, beside = "The staging database was moved to port 8443", "It took two hours on Tuesday"
    for content in (hit, OTHERS[0], OTHERS[1], beside):
        memex.store(content, rationale=WHY, session_id="moving")
    apart = memex.store(f"{beside}.", rationale=WHY, session_id="elsewhere")
    for content in OTHERS[2:]:
        memex.store(content, rationale=WHY, session_id="elsewhere")
    parts = {
        hit.node.content: hit.parts
        for hit in memex.recall("which port was the staging database moved to", top_k=50).nodes
    }
    assert parts[beside]["others"] > parts[apart.content]["others"]
