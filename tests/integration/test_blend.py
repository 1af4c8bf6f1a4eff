"""What lifts and lowers a memory beside its own words, each rule by itself, through a real store."""

from __future__ import annotations

from tests.memory_support import WHY

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


def test_of_two_that_say_the_same_the_one_that_asks_comes_second(memex: Memex) -> None:
    """A question is no answer; its words alone are as good."""
    asks, tells = "staging runs on port 8443?", "staging runs on port 8443."
    for content in (*OTHERS, asks, tells):
        memex.store(content, rationale=WHY)
    assert score_of(memex, "which port does staging run on", tells) > score_of(
        memex, "which port does staging run on", asks
    )


def test_what_stands_in_the_session_of_a_good_hit_is_lifted(memex: Memex) -> None:
    """Of two equal memories the one whose session holds what was asked for, with others in between."""
    hit, beside = "The staging database was moved to port 8443", "It took two hours on Tuesday"
    for content in (hit, OTHERS[0], OTHERS[1], beside):
        memex.store(content, rationale=WHY, session_id="moving")
    apart = memex.store(f"{beside}.", rationale=WHY, session_id="elsewhere")
    for content in OTHERS[2:]:
        memex.store(content, rationale=WHY, session_id="elsewhere")
    query = "which port was the staging database moved to"
    assert score_of(memex, query, beside) > score_of(memex, query, apart.content)
