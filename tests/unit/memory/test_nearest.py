"""One sentence of a long memory may answer a question: it is judged, and told, by that sentence."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from context_graph.memory.asked import NAMES, STORED, closeness, nearest
from context_graph.memory.context.passages import answers
from context_graph.memory.embed import default_provider, dense_part
from context_graph.memory.relevance import SECOND, answer, brought, is_brought, of_memory
from context_graph.model.memory import NOTED, MemoryNode
from context_graph.model.note import KIND, NoteKind
from context_graph.text.phrases import is_question
from context_graph.text.quoting import words_of

POINTS = """How this project works:
- Orders are read from the queue by three workers, each with its own lock
- Invoices are numbered by year, and the counter starts again in January
- Style sheets are written by hand, no tool packs or compiles them
- The search index is built at night from the catalogue of products
- Passwords are hashed with argon2 before they reach the database"""
PROVIDER = default_provider()
FLOOR = 0.4


def meaning(text: str) -> memoryview[float]:
    return dense_part(PROVIDER.encode(text).embedding)


def test_the_nearest_of_ten_points_says_more_than_their_mean() -> None:
    question = "is there a compiler for our css style sheets?"
    whole = closeness(PROVIDER, meaning(question))(POINTS)
    assert nearest(PROVIDER, POINTS, meaning(question)) > whole + 0.1
    assert nearest(PROVIDER, POINTS, meaning(question)) > nearest(
        PROVIDER, POINTS, meaning("which wines go with goose?")
    )


@pytest.mark.parametrize("content", ["", " ", "x", "\n\n", "word " * 5000, "。" * 100])
def test_any_text_has_a_nearest_sentence(content: str) -> None:
    assert -1.0 <= nearest(PROVIDER, content, meaning("what is x")) <= 1.0


def test_what_is_told_of_lists_are_the_points_that_are_meant() -> None:
    """Whichever memory they stand in: the likeliest one need not hold the nearest sentence."""
    question = "is there a compiler for our css style sheets?"
    near, count = closeness(PROVIDER, meaning(question)), PROVIDER.count_tokens
    plan = "The plan of the week:\n- Answer the mails about the fair\n- Book a room for the talk on hashes"
    told = answers([(plan, 0.9), (POINTS, 0.6)], words_of("which compiler?"), 40, 8, count, near)
    assert told[0] == "" and "Style sheets are written by hand" in told[1] and "argon2" not in told[1]
    assert count(told[1]) <= 32
    assert answers([(POINTS, 0.6)], words_of("which compiler?"), 5, 8, count, near) == [""]
    likelier = answers([(POINTS, 0.6), (POINTS, 0.9)], words_of("which compiler?"), 34, 8, count, near)
    assert likelier[0] == "" and likelier[1] == told[1]


def test_a_question_needs_less_than_a_task() -> None:
    """A line that answers saves a search; a line beside a task may lead astray."""
    near = {"beyond": 0.1, "opening": 0.05, "cosine": 0.3, "passage": 0.5, "size": 0.9}
    assert is_brought(FLOOR, NoteKind.DECISION, 0.25, near, asks=True)
    assert not is_brought(FLOOR, NoteKind.DECISION, 0.25, near)
    assert not is_brought(FLOOR, NoteKind.DECISION, 0.9, {**near, "passage": 0.3}, asks=True)
    assert not is_brought(FLOOR, NoteKind.DECISION, 0.1, near, asks=True)


def row(kind: NoteKind, score: float, signs: dict[str, float], source: str = "library") -> Any:
    node = MemoryNode(
        id=uuid4(),
        content="Tests: make check",
        rationale="kept for a test",
        created_at_ms=1,
        last_accessed_ms=1,
        metadata={KIND: kind},
        source=source,
    )
    return SimpleNamespace(node=node, score=score, parts=signs)


SIGNS = {
    **dict.fromkeys(NAMES, 0.0),
    STORED: 0.6,
    "beyond": 0.5,
    "opening": 0.5,
    "cosine": 0.3,
    "passage": 0.4,
}


def test_what_a_session_left_is_told_where_it_answers_a_question_whatever_its_relevance() -> None:
    near = row(NoteKind.DECISION, 0.1, SIGNS, NOTED)
    far = row(NoteKind.DECISION, 0.9, {**SIGNS, "opening": 0.1, "beyond": 0.0, "passage": 0.2}, NOTED)
    assert brought([near, far], FLOOR, FLOOR, asks=True) == [near]
    assert near not in brought([near, far], FLOOR, FLOOR, asks=False)
    unjudged = row(NoteKind.DECISION, 0.9, {"cosine": 0.9}, NOTED)
    assert brought([unjudged], FLOOR, FLOOR, asks=True) == []


def test_a_finding_must_answer_better_than_a_decision() -> None:
    """It is long, and nearly every question finds some that looks alike."""
    signs = {**SIGNS, "opening": 0.46, "beyond": 0.2}
    rows = [row(kind, 0.5, signs, NOTED) for kind in (NoteKind.FINDING, NoteKind.DECISION)]
    assert brought(rows, FLOOR, FLOOR, asks=True) == rows[1:]


def test_beside_an_answer_others_need_not_take_their_bars() -> None:
    """The store knows what is asked about: which sentences are told is decided by how near they come."""
    weak = row(NoteKind.FINDING, 0.5, {**SIGNS, "opening": 0.3}, NOTED)
    strong = row(NoteKind.DECISION, 0.5, {**SIGNS, "opening": 0.9}, NOTED)
    none = row(NoteKind.FINDING, 0.5, {**SIGNS, "opening": 0.0, "passage": 0.0}, NOTED)
    assert brought([weak, none], FLOOR, FLOOR, asks=True) == []
    assert brought([weak, strong, none], FLOOR, FLOOR, asks=True) == [strong, weak]


def test_second_vectors_tell_what_is_said_in_other_words() -> None:
    other_words = {**SIGNS, "opening": 0.1, "beyond": -0.1, "cosine": 0.35}
    near, far = ({**other_words, SECOND: cosine} for cosine in (0.7, 0.05))
    assert answer(near) > FLOOR > answer(other_words) > answer(far)


def test_only_a_question_to_what_a_session_left_is_judged_as_one() -> None:
    note = row(NoteKind.DECISION, 0.5, SIGNS, NOTED).node
    kept = row(NoteKind.DECISION, 0.5, SIGNS, "tool").node
    assert of_memory(note, SIGNS, asks=True) == answer(SIGNS)
    assert of_memory(note, SIGNS, asks=False) != answer(SIGNS)
    assert of_memory(kept, SIGNS, asks=True) == of_memory(kept, SIGNS, asks=False)


def test_what_is_farthest_above_its_bar_comes_first() -> None:
    """Of a change and a way that are as likely, the way costs less where it is wrong."""
    signs = {"beyond": 1.0, "opening": 0.6, "cosine": 0.5, "passage": 0.5}
    kinds = ((NoteKind.CHANGE, 0.8), (NoteKind.WAY, 0.7), (NoteKind.DECISION, 0.5))
    rows = [row(kind, score, signs) for kind, score in kinds]
    assert brought(rows, FLOOR, FLOOR, asks=False) == [rows[1], rows[0], rows[2]]
    weak = row(NoteKind.RULE, 0.35, signs)
    assert weak in brought([*rows, weak], FLOOR, FLOOR, asks=True)
    assert weak not in brought([*rows, weak], FLOOR, FLOOR, asks=False)


def test_a_task_brings_one_change_that_says_no_more_than_where() -> None:
    bare = [row(NoteKind.CHANGE, score, SIGNS) for score in (0.8, 0.75)]
    text = "Totals are off\nChanged: a.py\nCause: floats lose a cent."
    told = row(NoteKind.CHANGE, 0.7, SIGNS)
    told.node = replace(told.node, content=text)
    assert brought([*bare, told], FLOOR, FLOOR, asks=False) == [bare[0], told]


@pytest.mark.parametrize(
    "prompt",
    [
        *("Which port is free?", "why do we pin Node", "wie laufen die Tests", "怎么部署？", "And the CSS?"),
        *("make docs hangs at 40 %", "the export doesn't end", "Der Export geht nicht", "构建失败了"),
    ],
)
def test_questions_are_recognised(prompt: str) -> None:
    assert is_question(prompt)


@pytest.mark.parametrize(
    "prompt", ["Add a test for the parser.", "fix the failing test", "Fix it. " * 60 + "Why?", ""]
)
def test_tasks_are_no_questions(prompt: str) -> None:
    assert not is_question(prompt)
