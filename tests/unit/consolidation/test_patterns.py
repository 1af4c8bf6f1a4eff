"""Patterns: what is done in one order again and again is found, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from uuid import UUID

import pytest
from benches.consolidation.planted_sequences import Score, planted, score
from benches.consolidation.snapshots import of_memories

from context_graph.consolidation.finders import patterns
from context_graph.consolidation.plan import Pattern
from context_graph.memory.embed import default_provider
from context_graph.model.memory import MemoryNode

FACTS = (
    *("Deploys happen from main only", "The API key lives in the vault", "Alice prefers tabs over spaces"),
    *("The database is Postgres 15", "Port 8080 belongs to nginx", "Bob reviews Rust code on Mondays"),
)


def memories(texts: Iterable[str | tuple[str, str]], **given: object) -> list[MemoryNode]:
    nodes = []
    for number, item in enumerate(texts):
        text, session = (item, None) if isinstance(item, str) else item
        nodes.append(
            MemoryNode(
                id=UUID(int=number + 1),
                content=text,
                rationale="kept because a test needs it",
                created_at_ms=1_700_000_000_000 + number,
                last_accessed_ms=1_700_000_000_000,
                session_id=session,
                embedding=default_provider().encode(text).embedding,
                **given,  # type: ignore[arg-type]
            )
        )
    return nodes


def found(nodes: Sequence[MemoryNode], **given: int) -> list[Pattern]:
    return patterns.find(of_memories(nodes), range(len(nodes)), **given)


def descriptions(*texts: str | tuple[str, str]) -> list[tuple[str, int]]:
    return [(one.description, one.memory_count) for one in found(memories(texts))]


def test_a_sequence_of_tools_in_three_memories_is_a_pattern_and_in_two_is_none() -> None:
    told = [f"Read a{n}.py -> Edit a{n}.py -> Bash pytest" for n in range(3)]
    assert descriptions(*FACTS, *told) == [("read → edit → pytest", 3)]
    assert descriptions(*FACTS, *told[:2]) == []


def test_members_are_named_and_confidence_grows_with_their_number() -> None:
    told = [
        f"For ticket {n} I searched the logs, read the code, fixed it and ran the tests" for n in range(9)
    ]
    (few,) = found(memories([*FACTS, *told[:4]]))
    (many,) = found(memories([*FACTS, *told]))
    assert few.members == tuple(UUID(int=len(FACTS) + n) for n in range(1, 5))
    assert 0.5 <= few.confidence < many.confidence < 1.0
    assert few.pattern_id == many.pattern_id


def test_the_same_actions_in_another_order_are_another_pattern() -> None:
    one = [f"Session {n}: Grep, Edit, Bash, git push" for n in range(6)]
    other = [f"Session {n}: git push, Bash, Edit, Grep" for n in range(6)]
    third = [f"Session {n}: pip, TodoWrite, Write" for n in range(6)]
    assert sorted(descriptions(*one, *other, *third)) == [
        ("grep → edit → run → push", 6),
        ("pip → todowrite → write", 6),
        ("push → run → edit → grep", 6),
    ]


def test_one_memory_an_action_is_strung_together_by_session() -> None:
    steps = ("Grep TODO in pkg", "Read pkg/main.py", "Edit pkg/main.py", "Bash: pytest pkg")
    told = [(step, f"session {n}") for n in range(4) for step in steps]
    assert descriptions(*FACTS, *told) == [("grep → read → edit → pytest", 16)]
    assert descriptions(*FACTS, *(step for step, _ in told)) == []


def test_the_summaries_of_sessions_are_not_read() -> None:
    texts = [f"Read a{n}.py -> Edit a{n}.py -> Bash pytest" for n in range(5)]
    assert found(memories(texts)) != []
    assert found(memories(texts, source="capture")) == []


def test_shuffled_actions_and_unrelated_memories_are_no_pattern() -> None:
    draw = random.Random(4)
    steps = [
        "searched the log",
        "edited the file",
        "ran the tests",
        "deployed the service",
        "asked Bob",
        "removed it",
    ]
    told = []
    for _ in range(400):
        draw.shuffle(steps)
        told.append("I " + ", then ".join(steps[: draw.randint(3, 6)]))
    assert descriptions(*told) == []
    assert descriptions(*FACTS) == []
    assert found([]) == []


def test_no_more_than_asked_for() -> None:
    nodes = planted(11, members=12, unrelated=50).nodes
    assert len(found(nodes, max_patterns=3)) == 3
    assert found(nodes, max_patterns=0) == []


@pytest.mark.parametrize("seed", [21, 22])
def test_planted_workflows_are_found_among_a_thousand_others(seed: int) -> None:
    truth = planted(seed)
    made: Score = score([one.members for one in found(truth.nodes)], truth)
    assert made.workflows_found == len(truth.workflows)
    assert made.f1 >= 0.9


def test_only_the_given_rows_are_read() -> None:
    nodes = memories([*FACTS, *(f"Read a{n}.py -> Edit a{n}.py -> Bash pytest" for n in range(5))])
    assert patterns.find(of_memories(nodes), range(len(FACTS) + 2)) == []
