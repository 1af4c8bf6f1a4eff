"""Salience on real embeddings: trivial texts are below the default threshold, use and goals raise it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from benches.consolidation.snapshots import of_memories
from hypothesis import given, settings
from hypothesis import strategies as st

from context_graph.consolidation.finders import salience
from context_graph.consolidation.finders.words import informative_words
from context_graph.consolidation.plan import Goal, GoalLevel
from context_graph.consolidation.snapshot import Snapshot
from context_graph.memory.embed import default_provider
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import MemoryNode, Modality
from context_graph.model.spaces import SPACES, WEIGHTS

DAY = 86_400_000
NOW = 1_700_000_000_000
THRESHOLD = 0.3

SAYS_LITTLE = (
    "ok",
    "Thanks!",
    "thank you so much",
    "Hey, how are you?",
    "Sounds good, talk to you soon!",
    "lol",
    "TODO",
    "n/a",
    "testing 123",
    "...",
    "Yes, exactly!",
    "No worries at all.",
    "See you tomorrow!",
    "That's so nice to hear",
    "Good night",
    "👍",
    "asdf",
    "done",
    "Noted.",
    "Sam: Wow, that's awesome!",
    "Sam: Great, thanks! Have a good one!",
    "hmm, let me think about it",
    "Lorem ipsum dolor",
    "this is a test",
    "just testing",
    "foo bar baz",
    "ok, test done",
    "I must say!",
    "By all means!",
    "Glad that's gone!",
)
FACTS = (
    "use pnpm, not npm",
    "API listens on port 8080",
    "Anna is allergic to nuts",
    "never force-push to main",
    "I like sushi",
    "Release every Friday",
    "We chose Postgres",
    "server in Frankfurt",
    "Mia owns search",
    "He broke his arm",
    "Lives in Oslo",
    "The build failed because the cache was stale",
    "parse_args() raises ValueError",
    "Sam: I adopted two kittens",
    "prefers dark mode",
    "Tests need docker",
    "次のリリースは金曜日です",
    "Der Server steht in Frankfurt",
)
ABOUT_CODE = (
    "No emojis",
    "None means unlimited",
    "null means missing",
    "stub the clock",
    "bar is gone",
    "bar depends on foo",
    "say less",
    "I like tests",
    "no mocks",
    "Done means deployed",
    "nil is empty",
    "continue on error",
    "todo lives in Linear",
    "ping before deploy",
    "be brief",
    "use tabs",
    "keep it short",
    "blank lines matter",
)
"""Code words are no courtesies: these were forgotten after a day."""


def memory(number: int, content: str, **fields: Any) -> MemoryNode:
    fields = {"created_at_ms": NOW - 30 * DAY, "last_accessed_ms": NOW - 30 * DAY, **fields}
    embedding = default_provider().encode(content).embedding
    return MemoryNode(
        id=UUID(int=number + 1), content=content, rationale="kept for a test", embedding=embedding, **fields
    )


def snapshot(contents: Sequence[str], edges: Sequence[GraphEdge] = (), **fields: Any) -> Snapshot:
    nodes = [memory(number, content, **fields) for number, content in enumerate(contents)]
    return of_memories(nodes, edges, taken_ms=NOW)


def score_of(content: str, **fields: Any) -> float:
    return float(salience.score(snapshot([content], **fields))[0])


@pytest.mark.parametrize("text", SAYS_LITTLE)
def test_what_says_little_is_below_the_default_threshold(text: str) -> None:
    assert score_of(text) < THRESHOLD


@pytest.mark.parametrize("text", FACTS)
def test_a_short_fact_is_not(text: str) -> None:
    assert score_of(text) >= THRESHOLD


@pytest.mark.parametrize("text", ABOUT_CODE)
@pytest.mark.parametrize("source", ["tool", "cli", "library"])
def test_what_somebody_stored_by_itself_is_not_forgotten_for_being_short(text: str, source: str) -> None:
    assert score_of(text, source=source) >= THRESHOLD


def test_a_code_word_says_nothing_where_nothing_else_is_said() -> None:
    assert (
        informative_words("null")
        == informative_words("test, test")
        == informative_words("this is a test")
        == 0.0
    )
    assert informative_words("null means missing") > informative_words("means missing")


def test_a_score_is_the_weighted_mean_of_thirteen_and_an_empty_space_counts_nothing() -> None:
    snap = snapshot(["The build failed because the cache was stale"])
    spaces = salience.by_space(snap)
    assert spaces.shape == (1, 13)
    assert spaces[0, SPACES.index("Causal")] > 0.5
    assert spaces[0, SPACES.index("Seen")] == 0.0
    held = np.array(WEIGHTS) * (spaces[0] > 0.0)
    assert salience.score(snap) == pytest.approx(spaces @ held / held.sum())
    assert salience.score(snap) == pytest.approx(spaces.max()), "a space without content takes nothing away"


def test_uses_by_sessions_raise_a_score_and_each_less_than_the_one_before() -> None:
    node = memory(0, "The build failed because the cache was stale")
    scores = [salience.score(of_memories([node], taken_ms=NOW, used={node.id: n}))[0] for n in range(4)]
    gains = np.diff(scores)
    assert (gains > 0.0).all() and (np.diff(gains) < 0.0).all()


def summary(number: int, files: Sequence[str], calls: int = 10, **fields: Any) -> MemoryNode:
    state = {"changed": dict.fromkeys(files, 1), "read": {}, "tool_calls": calls}
    return memory(number, "Goal: fix it", source="capture", metadata={"capture": state}, **fields)


def test_a_summary_whose_file_others_touched_and_one_of_more_work_score_more() -> None:
    nodes = [
        summary(0, ["src/busy.py", "src/own.py"]),
        summary(1, ["src/busy.py"]),
        summary(2, ["src/quiet.py"]),
        summary(3, ["src/other.py"], calls=30),
        summary(4, ["setup.py"]),
        summary(5, ["setup.py"]),
    ]
    scores = salience.score(of_memories(nodes, taken_ms=NOW))
    assert scores[0] == scores[1] > scores[2] == scores[4] == scores[5]
    assert scores[3] > scores[2]


def test_a_note_counts_the_work_of_its_session() -> None:
    def note(number: int, session: str) -> MemoryNode:
        return memory(number, "Limits count per key", source="note", session_id=session)

    nodes = [
        summary(0, ["src/busy.py"], session_id="a"),
        summary(1, ["src/busy.py"], session_id="b"),
        summary(2, ["src/quiet.py"], session_id="c"),
        *(note(number, session) for number, session in enumerate("abcd", 3)),
        memory(7, "Limits count per key"),
    ]
    scores = salience.score(of_memories(nodes, taken_ms=NOW))
    assert scores[3] == scores[4] > scores[5] > scores[6] == scores[7], "d has no summary"


def test_a_file_that_many_summaries_name_tells_nothing_of_any() -> None:
    every = [summary(n, ["src/runner.py", f"src/own{n}.py"]) for n in range(9)]
    assert np.ptp(salience.score(of_memories(every, taken_ms=NOW))) == 0.0
    alone = [summary(n, [f"src/own{n}.py"]) for n in range(9)]
    assert np.array_equal(
        salience.score(of_memories(every, taken_ms=NOW)), salience.score(of_memories(alone, taken_ms=NOW))
    )


@pytest.mark.parametrize("state", [None, 7, {}, {"changed": [1], "read": None, "tool_calls": "x"}])
def test_a_summary_without_a_record_of_its_work_is_scored_by_its_words(state: object) -> None:
    plain = memory(0, "Goal: fix it", source="capture")
    odd = replace(plain, metadata={"capture": state})
    scores = [salience.score(of_memories([one], taken_ms=NOW))[0] for one in (plain, odd)]
    assert scores[0] == scores[1] > 0.0


def test_importance_accesses_and_links_raise_a_score() -> None:
    text = "Ansible provisions all hosts in Frankfurt"
    plain = score_of(text)
    assert score_of(text, importance=0.05) < THRESHOLD < score_of(text, importance=0.3) <= plain
    assert score_of(text, importance=0.75) > plain
    assert score_of(text, access_count=4) > plain
    assert score_of(text, access_count=4, last_accessed_ms=NOW) > score_of(text, access_count=4)
    nodes = [memory(0, text), memory(1, "Ann wrote the playbooks")]
    edge = GraphEdge(id=UUID(int=99), source_id=nodes[0].id, target_id=nodes[1].id)
    linked = salience.score(of_memories(nodes, [edge], taken_ms=NOW))
    assert linked[0] > plain


def test_use_does_not_make_a_greeting_worth_keeping_but_a_fact_of_no_importance() -> None:
    assert score_of("Thanks!", access_count=3) < THRESHOLD
    assert score_of("The server is in Frankfurt", importance=0.15) < THRESHOLD
    assert score_of("The server is in Frankfurt", importance=0.15, access_count=6) >= THRESHOLD


def test_a_goal_raises_what_serves_it_more_than_what_does_not() -> None:
    texts = ["We want to migrate the billing database to Postgres", "We want to paint the garden fence green"]
    snap = snapshot(texts)
    centroid = default_provider().encode("We need to migrate all billing databases to Postgres").embedding
    goal = Goal(UUID(int=7), "", GoalLevel.TACTICAL, 0.9, 0.9, (), centroid)
    lift = salience.by_space(snap, [goal]) - salience.by_space(snap)
    meaning = SPACES.index("Semantic")
    assert lift[0, meaning] > lift[1, meaning] >= 0.0
    assert (lift >= 0.0).all()
    assert salience.score(snap, [replace(goal, centroid=b"")]) == pytest.approx(salience.score(snap))


def test_what_is_like_the_memories_in_use_gains() -> None:
    used = [f"The invoice service retries a payment {n} times before it gives up" for n in range(20)]
    others = [f"Rosemary in pot {n} likes a sunny window" for n in range(20)]
    nodes = [memory(n, text, access_count=5 if n < 20 else 0) for n, text in enumerate(used + others)]
    nodes += [memory(40, "The invoice service stores a payment in Postgres", importance=0.4)]
    nodes += [memory(41, "Basil and thyme grow in the kitchen window", importance=0.4)]
    fresh = [replace(node, access_count=0) for node in nodes]
    lift = salience.score(of_memories(nodes, taken_ms=NOW)) - salience.score(of_memories(fresh, taken_ms=NOW))
    assert lift[40] > lift[41] + 1e-4


def test_a_memory_that_is_no_text_or_that_the_embedder_cannot_read_is_not_taken_for_empty() -> None:
    assert score_of("สวัสดีครับ เราใช้เซิร์ฟเวอร์") >= THRESHOLD
    picture = memory(0, "aGVsbG8=", modality=Modality.IMAGE)
    shown = replace(picture, embedding=default_provider().encode("ok").embedding)
    assert salience.score(of_memories([shown], taken_ms=NOW))[0] > score_of("ok")


def test_nothing_is_no_error() -> None:
    assert salience.score(of_memories([], taken_ms=NOW)).shape == (0,)


def test_progress_is_told_block_by_block() -> None:
    told: list[tuple[int, int]] = []
    salience.score(snapshot(["one fact about Oslo", "ok"]), progress=lambda *at: told.append(at))
    assert told == [(2, 2)]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(min_size=1), st.floats(0, 1), st.integers(0, 1 << 31), st.integers(0, NOW)),
        min_size=1,
        max_size=6,
    )
)
def test_any_memory_scores_between_0_and_1_and_the_same_every_time(
    given: list[tuple[str, float, int, int]],
) -> None:
    snap = of_memories(
        [
            memory(n, text, importance=importance, access_count=accesses, last_accessed_ms=at)
            for n, (text, importance, accesses, at) in enumerate(given)
        ],
        taken_ms=NOW,
    )
    first = salience.score(snap)
    assert ((first >= 0.0) & (first <= 1.0)).all()
    assert np.array_equal(first, salience.score(snap))


@given(st.text())
def test_telling_is_a_finite_amount_of_any_text(text: str) -> None:
    assert 0.0 <= informative_words(text) < 100_000.0


def test_a_question_tells_less_than_its_answer_and_a_repeated_word_nothing() -> None:
    assert informative_words("Is the parser slow?") < informative_words("The parser is slow.")
    assert informative_words("cache cache cache") == informative_words("cache")
    assert informative_words("Thanks, Ann!") < informative_words("Ann owns billing")
