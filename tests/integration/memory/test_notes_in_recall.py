"""Notes of one session beside those of others: in recalls, lists and filters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.memories import open_memex

from context_graph.errors import InvalidParamsError
from context_graph.memory.filters import RecallFilters
from context_graph.model.memory import CAPTURED, NOTED, MemoryNode
from context_graph.model.note import NoteKind
from context_graph.operations.naming import filters_of


def node(session: str, text: str, kind: NoteKind | None, at: int) -> MemoryNode:
    return MemoryNode(
        id=uuid4(),
        content=text,
        rationale="kept by a test",
        created_at_ms=at,
        last_accessed_ms=at,
        session_id=session,
        source=CAPTURED if kind is None else NOTED,
        metadata={} if kind is None else {"kind": str(kind)},
    )


def fill(memex: object) -> None:
    goal = "Goal: The tariff importer drops rows with an empty postcode"
    change = "The tariff importer drops rows with an empty postcode\nChanged: tariffs/importer.py (read_row)"
    nodes = [node("s1", goal, None, 1), node("s1", change, NoteKind.CHANGE, 1)]
    for number in range(8):
        text = f"Error: tariff importer row {number} has no postcode\nSolved by: fill postcode {number}"
        nodes.append(node("s1", text, NoteKind.LESSON, 2 + number))
    nodes.append(node("s2", "Goal: The tariff importer reads the postcode of the sender", None, 20))
    nodes.append(node("s3", "Never send a postcode to the tariff importer's log", NoteKind.RULE, 30))
    memex.put_many(nodes)  # type: ignore[attr-defined]


def test_one_session_does_not_crowd_out_the_others(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        fill(memex)
        found = memex.recall("tariff importer postcode row", top_k=5).nodes
    sessions = [one.node.session_id for one in found]
    assert sessions.count("s1") == 3 and {"s2", "s3"} <= set(sessions)
    told = [
        one.node for one in found if one.node.session_id == "s1" and one.node.metadata.get("kind") != "lesson"
    ]
    assert [one.metadata.get("kind") for one in told] == ["change"], "in the place of its summary"


def test_a_session_s_commands_are_found_beside_its_change(tmp_path: Path) -> None:
    """Neither stands for the other: one says what was done, one how it is run."""
    with open_memex(tmp_path) as memex:
        fill(memex)
        way = "Commands that worked:\nTests: python -m pytest tests/importer"
        memex.put(node("s1", way, NoteKind.WAY, 40))
        matches = memex.recall("run the importer's pytest tests for postcode rows", top_k=5).nodes
    kinds = [match.node.metadata.get("kind") for match in matches]
    assert "way" in kinds and "change" in kinds


def test_a_question_that_was_asked_before_does_not_stand_before_its_answer(tmp_path: Path) -> None:
    question = "Why does the tariff importer drop rows with an empty postcode?"
    with open_memex(tmp_path) as memex:
        fill(memex)
        asked = node("s9", f"Goal: {question}", None, 50)
        memex.put(replace(asked, metadata={"searched": question}))
        first, *_ = memex.recall(question, top_k=20).nodes
        assert first.node.session_id == "s1" and first.node.metadata["kind"] == "change"
        worked = node("s8", "Goal: Draw the chart of tariffs", None, 60)
        memex.put(replace(worked, metadata={"searched": "Draw the chart of tariffs\nnpx chartist --tariffs"}))
        assert memex.recall("chartist", top_k=1).nodes[0].node.id == worked.id


def test_all_are_still_there_behind_the_first(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        fill(memex)
        found = memex.recall("tariff importer postcode row", top_k=20).nodes
        assert len({one.node.id for one in found}) == memex.count() == 12
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True), "what was held back is no likelier than what was not"


def test_a_kind_is_a_filter_of_lists_and_recalls_after_a_restart_too(tmp_path: Path) -> None:
    for _ in range(2):
        with open_memex(tmp_path) as memex:
            if not memex.count():
                fill(memex)
            rules = filters_of({"kind": "Rule"})
            assert [one.session_id for one in memex.list(filters=rules).nodes] == ["s3"]
            assert [one.node.session_id for one in memex.recall("postcode", filters=rules).nodes] == ["s3"]
            assert len(memex.list(filters=RecallFilters(kind=NoteKind.LESSON)).nodes) == 8
    with pytest.raises(InvalidParamsError, match="must be one of rule, decision, lesson"):
        filters_of({"kind": "advice"})


def test_a_hidden_text_finds_its_memory_and_is_not_shown(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        one = node("s1", "Goal: Mend the importer", None, 1)
        memex.put(replace(one, metadata={"searched": "PostcodeNormalizer tariffs/importer.py"}))
        memex.put(node("s2", "Goal: Draw the chart of tariffs", None, 2))
        found = memex.recall("PostcodeNormalizer", top_k=1).nodes
    assert [each.node.content for each in found] == ["Goal: Mend the importer"]
