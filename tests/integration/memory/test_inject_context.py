"""inject_context and what each verbosity level shows, through Memex on a real database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.errors import InvalidParamsError
from context_graph.memory.context.distill import short_id
from context_graph.memory.embed import default_provider
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.memory.metrics.insights import INSIGHTS
from context_graph.model.memory import MemoryNode, VerbosityLevel
from context_graph.operations.mcp.answers import answer
from context_graph.operations.views import LEAST_CHARS, TEXT_CHARS, injection_view, node_view, recall_view
from context_graph.redact import Redactor

WHY = "needed by a test of injections"
RAW, TEXT, FULL = VerbosityLevel
NOTES = (
    "The API rate limit is 100 requests per minute",
    "JWT tokens should expire after 24 hours",
    "OAuth2 provides robust third-party authentication",
    "Authentication uses short-lived JWT access tokens with refresh tokens",
    "PostgreSQL 15 is the primary database, with logical replication",
    "Database migrations run with alembic before each deploy",
    "Deploys run from the main branch only, through GitHub Actions",
    "The CI pipeline takes about twelve minutes",
    "We use ruff for linting and mypy in strict mode",
    "The cache is enabled by default",
    "Users log in with their company account over SAML",
    "Passwords are hashed with argon2id and never logged",
    "The frontend is written in Svelte and served from a CDN",
    "Feature flags live in LaunchDarkly; the flag names start with team initials",
    "Penguins huddle together to survive Antarctic winters",
    "Bread dough needs to rest for an hour before baking",
    "We moved the session store from Redis to PostgreSQL in March because Redis lost sessions on failover; "
    "the migration script is scripts/move_sessions.py and must be run once per region. Sessions expire after "
    "30 minutes of inactivity.",
    "Bug 1432: login failed for users with a plus sign in the address, since the form decoded the query "
    "string twice. Fixed by removing the decode in auth/forms.py; a test in tests/test_forms.py covers it.",
    "The user prefers small commits with the reason in the message body, and wants docs updated in the same "
    "commit as the code.",
    "Load tests showed that the login endpoint stays below 120 ms at 200 requests per second as long as "
    "argon2id uses 19 MiB; more memory makes it slower than the limit.",
)
QUERIES = (
    "How does authentication work?",
    "Why does login fail for some users?",
    "what is the deploy process",
    "session expiry",
    "which database do we use",
)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory, redactor: Redactor) -> Iterator[Memex]:
    """A project's store with links; the tests only read it."""
    with Memex.open(tmp_path_factory.mktemp("notes"), redactor=redactor) as made:
        nodes = [made.store(text, rationale=WHY, session_id=f"s{i // 4}") for i, text in enumerate(NOTES)]
        made.link(nodes[1].id, nodes[3].id, "causes", weight=0.9)
        made.link(nodes[11].id, nodes[19].id, "causes")
        made.link(nodes[3].id, nodes[2].id, "part_of")
        yield made


@pytest.fixture
def memex(tmp_path: Path, redactor: Redactor) -> Iterator[Memex]:
    with Memex.open(tmp_path, redactor=redactor) as made:
        yield made


def store(memex: Memex, *texts: str, **how: Any) -> list[MemoryNode]:
    return [memex.store(text, rationale=WHY, **how) for text in texts]


def tokens(view: dict[str, Any], memex: Memex, level: VerbosityLevel) -> int:
    """Of a whole reply, with its label and pulse, as a client gets it."""
    found = answer(view, memex.pulse().as_dict(), quotes=level is not RAW)
    return default_provider().count_tokens(json.dumps(found.structured))


def test_an_injection_answers_with_text_counts_and_figures(notes) -> None:
    """REQ-CORE-016, TC-CORE-021, AC-CORE-03-01."""
    found = notes.inject("How does authentication work?", max_tokens=500)
    assert 0 < found.tokens_used == default_provider().count_tokens(found.context) <= 500
    assert "Authentication uses short-lived JWT" in found.context
    for node in found.nodes:
        assert f"[{short_id(node.id)}]" in found.context
        assert notes.ids_with_prefix(short_id(node.id).removeprefix("node_")) == [node.id]
    assert 0.0 < found.utl_metrics.entropy <= 1.0
    assert 0.0 < found.utl_metrics.coherence <= 1.0


def test_what_does_not_fit_is_distilled_and_the_ratio_says_how_much(memex) -> None:
    """REQ-CORE-016, AC-CORE-03-02: 1 - used / before, as in appendix B's 180 of 450 tokens: 0.6."""
    filler = " The meeting went on. Somebody took notes. It was late."
    texts = [
        f"Rule {i}: tokens of region {name} rotate daily.{filler}"
        for i, name in enumerate(("eu", "us", "ap"))
    ]
    store(memex, *(text * 3 for text in texts))
    found = memex.inject("how do tokens rotate", max_tokens=100)
    assert found.mode != "raw"
    assert found.tokens_before > 100 >= found.tokens_used
    assert found.compression_ratio == pytest.approx(1.0 - found.tokens_used / found.tokens_before)
    whole = memex.inject("how do tokens rotate", max_tokens=8192)
    assert (whole.mode, whole.compression_ratio) == ("raw", 0.0)
    assert whole.tokens_used == whole.tokens_before == found.tokens_before


def test_finding_nothing_is_no_error(memex) -> None:
    """REQ-CORE-016, EC-CORE-004."""
    found = memex.inject("anything")
    assert (found.context, found.tokens_used, found.tokens_before, found.nodes) == ("", 0, 0, ())
    assert found.compression_ratio == 0.0


@pytest.mark.parametrize("max_tokens", [0, 99, 8193, -1, 2048.0, True, "500", None])
def test_a_budget_out_of_range_is_refused(memex, max_tokens) -> None:
    """EC-CORE-006."""
    with pytest.raises(InvalidParamsError, match=r"^max_tokens must be between 100 and 8192$") as refused:
        memex.inject("anything", max_tokens=max_tokens)
    assert refused.value.rpc_code == -32602


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"mode": "poetic"}, "distillation_mode"),
        ({"priority": "urgent"}, "priority"),
        ({"include": ["gossip"]}, "include_metadata"),
    ],
)
def test_other_wrong_parameters_are_named(memex, given, named) -> None:
    """REQ-CORE-016, ERR-CORE-004."""
    with pytest.raises(InvalidParamsError, match=named):
        memex.inject("anything", **given)
    for query in ("", "x" * 4097):
        with pytest.raises(InvalidParamsError, match="query"):
            memex.inject(query)


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from([*QUERIES, "the", "zzz", "penguins? login: 100!"]),
    st.integers(100, 400),
    st.sampled_from(["auto", "raw", "narrative", "structured", "code_focused"]),
    st.sampled_from(["low", "normal", "high", "critical"]),
)
def test_no_injection_exceeds_its_budget(notes, query, max_tokens, mode, priority) -> None:
    """REQ-CORE-016: held exactly, by the tokenizer's count."""
    found = notes.inject(query, max_tokens=max_tokens, mode=mode, priority=priority)
    assert found.tokens_used == default_provider().count_tokens(found.context) <= max_tokens
    assert mode in ("auto", found.mode)


def test_priority_decides_how_much_is_looked_at(notes) -> None:
    """REQ-CORE-016: low takes the best and half the budget, critical all that may help."""
    counts = [
        len(notes.inject("How does authentication work?", priority=priority, max_tokens=8192).nodes)
        for priority in ("low", "normal", "high", "critical")
    ]
    assert counts == sorted(counts)
    assert 0 < counts[0] <= counts[1] < counts[3] == len(NOTES)
    assert notes.inject("login users", priority="low", max_tokens=100).tokens_used <= 50


def test_filters_hold_for_injections(notes) -> None:
    """REQ-CORE-016: nothing comes in that a filter keeps out."""
    found = notes.inject("login users", priority="critical", filters=RecallFilters(session_id="s4"))
    assert {node.session_id for node in found.nodes} == {"s4"}


def test_what_includes_names_is_worked_out_and_nothing_else(notes) -> None:
    """REQ-CORE-016: include_metadata."""
    query = "JWT tokens and third-party authentication"
    assert notes.inject(query).metadata == {}
    found = notes.inject(query, include=["neighborhood", "causal_links"])
    assert list(found.metadata) == ["neighborhood", "causal_links"]
    assert set(notes.inject(query, include=INSIGHTS).metadata) == set(INSIGHTS)


def test_causal_links_are_edges_of_causal_types(notes) -> None:
    """REQ-CORE-022: from the graph."""
    nodes = notes.inject("JWT tokens expire", include=["causal_links"])
    (link,) = nodes.metadata["causal_links"]
    assert link["relationship_type"] == "causes"
    assert NOTES[1] in {notes.get(link["source_id"]).content}
    assert 0.0 < link["weight"] < 1.0


def test_cones_hold_parts_by_edge_and_special_cases_by_their_words(memex) -> None:
    """REQ-CORE-022: entailment_cones."""
    general, special, part, other = store(
        memex,
        "The login service signs tokens",
        "The login service signs tokens with RS256 keys that are rotated every night by a cron job",
        "Keys are kept in a vault",
        "Penguins live in the south",
    )
    memex.link(part.id, general.id, "part_of")
    (cone,) = memex.insights([general, special, other]).named(["entailment_cones"])["entailment_cones"]
    assert cone == {
        "apex": str(general.id),
        "members": [{"id": str(part.id), "depth": 1}, {"id": str(special.id), "containment": 1.0}],
    }


def test_neighbours_are_linked_or_alike_and_not_in_the_answer(memex) -> None:
    """REQ-CORE-016: neighborhood."""
    one, linked, alike, _ = store(
        memex,
        "JWT tokens expire after 24 hours",
        "Bread dough rests for an hour",
        "JWT tokens expire after 24 hours, said Ada, and refresh tokens later",
        "Penguins live in the south",
    )
    memex.link(linked.id, one.id, "reminds_of", weight=0.8)
    found = memex.inject("JWT token expiry 24 hours", priority="critical", max_tokens=100, mode="raw")
    assert found.nodes[0].id in (one.id, alike.id)
    around = memex.insights([one]).named(["neighborhood"])["neighborhood"]
    assert [(entry["neighbor_id"], entry["relationship_type"]) for entry in around] == [
        (str(linked.id), "reminds_of")
    ]


def test_conflicts_are_stated_or_suspected(memex) -> None:
    """REQ-CORE-022: conflict_analysis."""
    nodes = store(
        memex,
        "The rate limit of the API is 100 per minute",
        "The rate limit of the API is 200 per minute",
        "Penguins live in the south",
    )
    memex.link(nodes[0].id, nodes[2].id, "contradicts")
    found = memex.insights(nodes).named(["conflicts"])["conflicts"]
    assert [(entry["kind"], set(entry["nodes"])) for entry in found] == [
        ("stated", {str(nodes[0].id), str(nodes[2].id)}),
        ("suspected", {str(nodes[0].id), str(nodes[1].id)}),
    ]
    memex.link(nodes[0].id, nodes[2].id, "supersedes")
    memex.link(nodes[0].id, nodes[1].id, "related_to")
    assert memex.insights(nodes).named(["conflicts"])["conflicts"] == []


def test_level_0_names_memories_in_some_hundred_tokens(notes) -> None:
    """REQ-CORE-020, TC-CORE-025, US-CORE-05: ids, no text, no analysis."""
    sizes = []
    for query in QUERIES:
        found = notes.inject(query)
        view = injection_view(notes, found, RAW)
        assert view["nodes_retrieved"] == [str(node.id) for node in found.nodes]
        assert view["context"] == ""
        assert not {"utl_metrics", "causal_links", "neighborhood"} & view.keys()
        sizes.append(tokens(view, notes, RAW))
    assert max(sizes) <= 215  # ids are random, and so is the number of their pieces
    assert 80 <= sum(sizes) / len(sizes) <= 160
    assert recall_view(notes, notes.recall(QUERIES[0], top_k=2), RAW, {})["nodes"][0].keys() == {"id"}


def test_level_1_gives_texts_and_ids_in_some_two_hundred_tokens(notes) -> None:
    """REQ-CORE-021, TC-CORE-026, appendix B."""
    sizes = []
    for query in QUERIES:
        view = injection_view(notes, notes.inject(query), TEXT)
        assert list(view) == [
            "context",
            "tokens_used",
            "tokens_before_distillation",
            "distillation_applied",
            "compression_ratio",
            "nodes_retrieved",
            "utl_metrics",
        ]
        sizes.append(tokens(view, notes, TEXT))
    assert max(sizes) <= 470  # likewise
    assert 180 <= sum(sizes) / len(sizes) <= 330
    node = recall_view(notes, notes.recall(QUERIES[0], top_k=2), TEXT, {})["nodes"][0]
    assert list(node) == ["id", "content", "importance", "relevance_score", "johari_quadrant", "created_at"]
    assert node["content"] in NOTES


def test_level_2_tells_all_that_is_known_in_some_eight_hundred_tokens(notes) -> None:
    """REQ-CORE-022, TC-CORE-027."""
    sizes = []
    for query in QUERIES:
        found = notes.inject(query)
        view = injection_view(notes, found, FULL)
        assert injection_view(notes, found, TEXT).items() <= view.items()
        assert {"causal_links", "entailment_cones", "conflict_analysis", "utl_scores"} <= view.keys()
        assert [scores["id"] for scores in view["utl_scores"]] == view["nodes_retrieved"]
        sizes.append(tokens(view, notes, FULL))
    assert max(sizes) <= 1000
    assert 450 <= sum(sizes) / len(sizes) <= 900


def test_the_levels_of_a_recall_grow(notes) -> None:
    """REQ-CORE-020 to REQ-CORE-022: ids; texts; scores of each node and what connects them."""
    found = notes.recall(QUERIES[0], top_k=5)
    sizes = [tokens(recall_view(notes, found, level, {}), notes, level) for level in VerbosityLevel]
    assert sizes[0] < sizes[1] < sizes[2]
    view = recall_view(notes, found, FULL, {})
    assert {"causal_links", "entailment_cones", "conflict_analysis", "utl_metrics"} <= view.keys()
    assert all(set(node["utl"]) >= {"delta_s", "delta_c", "w_e", "phi"} for node in view["nodes"])
    assert "next_cursor" in view


@pytest.mark.parametrize("level", [TEXT, FULL])
def test_long_contents_share_the_room_of_their_level_the_best_most(memex, level) -> None:
    """REQ-CORE-021, REQ-CORE-022, invariant 9: bounded replies; get_memory gives a text whole."""
    store(memex, "login short", *(f"login {i} " + f"word{i} " * 6000 for i in range(9)))
    view = recall_view(memex, memex.recall("login"), level, {})
    texts = [node["content"] for node in view["nodes"]]
    assert len(texts) == 10
    assert sum(map(len, texts)) <= TEXT_CHARS[level] + len(texts) * LEAST_CHARS
    cut = [node for node in view["nodes"] if node.get("truncated")]
    assert len(cut) == 9
    lengths = [len(node["content"]) for node in cut]
    assert lengths == sorted(lengths, reverse=True) and lengths[-1] == LEAST_CHARS
    assert cut[0]["content_chars"] > 36_000
    assert "login short" in texts
    whole = memex.get(UUID(cut[0]["id"]))
    assert whole is not None
    assert node_view(memex, whole, TEXT)["content"] == whole.content


def test_one_memory_is_shown_by_level(notes) -> None:
    """REQ-CORE-020 to REQ-CORE-022: get_memory."""
    node = notes.recall("JWT tokens expire", top_k=1).nodes[0].node
    assert node_view(notes, node, RAW) == {"id": str(node.id)}
    text = node_view(notes, node, TEXT)
    assert text["rationale"] == WHY
    assert text["content"] == node.content
    full = node_view(notes, node, FULL)
    assert text.items() <= full.items()
    assert {"causal_links", "neighborhood", "conflict_analysis", "utl", "semantic_cluster"} <= full.keys()
    assert json.loads(json.dumps(full)) == full
