"""How likely a memory is what was asked for: alike for short and long questions, for each kind by itself."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.support.memories import open_memex

from context_graph import Memex
from context_graph.memory.asked import NAMES, Asked, files_of, opening
from context_graph.memory.embed import default_provider
from context_graph.memory.relevance import (
    Kind,
    bar_of,
    brought,
    floor_unasked,
    in_order_of_like_work,
    in_ranked_order,
    is_brief_request,
    is_brought,
    kind_of,
    probability,
)
from context_graph.model.memory import MemoryNode
from context_graph.model.note import KIND, NoteKind

FACT = "Staging listens on 8443"
FLOOR = 0.4
SUMMARY = """Goal: Retries of the upload queue lose the last chunk
Changed: src/queue/upload_retry.py (x2); tests/queue/test_retry.py; /tmp/try.py; repro_app/models.py; setup.py
Ran: pytest tests/queue"""


@dataclass
class Row:
    node: MemoryNode
    score: float
    parts: dict[str, float]


def memory(content: str, **fields: Any) -> MemoryNode:
    return MemoryNode(
        id=uuid4(),
        content=content,
        rationale="kept for a test",
        created_at_ms=1,
        last_accessed_ms=1,
        **fields,
    )


def relevance(memex: Memex, prompt: str) -> dict[str, float]:
    return {one.node.content: one.score for one in memex.recall(prompt, top_k=10).nodes}


def asked(text: str, memories: int = 100) -> Asked:
    return Asked(text, default_provider(), lambda terms: [2.0] * len(terms), memories)


def test_a_text_s_kind_is_read_from_its_form() -> None:
    assert kind_of(SUMMARY) is Kind.SUMMARY
    assert kind_of("def area(r):\n    x = r * r\n    return 3.14 * x") is Kind.CODE
    assert kind_of(FACT) is kind_of("") is kind_of("The goal: fewer retries") is Kind.TEXT


def test_the_floor_at_prompts_is_lowest_for_rules_and_highest_for_code() -> None:
    """A rule that is missed is a mistake made again; nearly every prompt finds code that looks alike."""
    code = "def area(r):\n    x = r * r\n    return 3.14 * x"
    notes = [
        memory(FACT, metadata={KIND: kind}) for kind in (NoteKind.RULE, NoteKind.DECISION, NoteKind.FINDING)
    ]
    nodes = [*notes[:2], memory(FACT), notes[2], memory(SUMMARY), memory(code)]
    floors = [floor_unasked(FLOOR, bar_of(node)) for node in nodes]
    assert floors == sorted(set(floors)) and floors[2] == pytest.approx(FLOOR) and floors[-1] < 1.0
    assert all(floor_unasked(end, bar_of(node)) == end for end in (0.0, 1.0) for node in nodes)


def test_a_request_of_a_line_brings_less_but_rules_as_easily() -> None:
    signs = {"beyond": 1.0, "opening": 0.5, "cosine": 0.4}
    nodes = [memory(FACT, metadata={KIND: kind}) for kind in (NoteKind.RULE, NoteKind.LESSON)]
    rows = [Row(node, 0.45, signs) for node in nodes]
    assert [row.node for row in brought(rows, FLOOR, FLOOR, asks=False)] == nodes
    assert [row.node for row in brought(rows, FLOOR, FLOOR, asks=False, is_brief=True)] == nodes[:1]
    assert brought(rows, 0.0, 0.0, asks=False, is_brief=True) and not brought(rows, 1.0, 1.0, asks=False)
    assert is_brief_request("fix the parser", asks=False)
    assert not is_brief_request("fix the parser", asks=True)
    assert not is_brief_request("fix the parser " * 20, asks=False)


def test_in_a_large_store_one_word_in_common_brings_nothing() -> None:
    """`How do you castle in chess?` finds some chess among ten thousand memories; among ten it may be what is
    meant. A rule is told in any store.
    """
    one_word = {"beyond": 0.1, "opening": 0.4, "size": math.log(10) / 5}
    assert is_brought(FLOOR, Kind.TEXT, 0.6, one_word)
    large = {**one_word, "size": math.log(10_000) / 5}
    assert not is_brought(FLOOR, Kind.TEXT, 0.6, large)
    assert is_brought(FLOOR, Kind.TEXT, 0.6, {**large, "beyond": 0.31})
    assert is_brought(FLOOR, NoteKind.RULE, 0.6, large) and is_brought(0.0, Kind.TEXT, 0.1, large)
    assert not is_brought(FLOOR, Kind.TEXT, 0.3, {**large, "beyond": 2.0})


def test_a_score_that_stands_out_brings_nothing_that_shares_nothing() -> None:
    """The only rule of a young store stands out from all else at any prompt."""
    stands_out = {"margin": 5.0, "beyond": 0.4, "opening": 0.1, "cosine": 0.2}
    for kind in (NoteKind.RULE, NoteKind.CHANGE, Kind.TEXT):
        assert not is_brought(FLOOR, kind, 0.9, stands_out)
        assert is_brought(FLOOR, kind, 0.9, {**stands_out, "opening": 0.2})
        assert is_brought(FLOOR, kind, 0.9, {**stands_out, "cosine": 0.5})


def test_a_question_s_opening_is_its_first_sentence_that_has_words() -> None:
    assert opening("Retry loses a chunk\n\n" + "and more. " * 400) == "Retry loses a chunk"
    assert opening("Bug. The retry loses chunks! See below.") == "Bug. The retry loses chunks"
    assert len(opening("word " * 2000)) <= 200 and opening("") == ""


def test_a_question_asked_again_does_not_find_the_earlier_one() -> None:
    summary = (
        "Goal: Do we retry POST requests? Why not?\nThen: What is the capital of France?\nRan: pnpm test"
    )
    note = "Asked: Do we retry POST requests?\nThe user chose: no, orders could be doubled"
    again = asked("Do we retry POST requests?")
    assert again.answers_in(summary) == "Ran: pnpm test"
    assert again.answers_in(note) == note
    task = "Goal: Add a retry to the client.\nThen: Make it three times.\nChanged: src/client.ts"
    assert again.answers_in(task) == task
    assert asked("Add a retry for POST requests.").answers_in(summary) == summary


def test_a_paste_behind_the_question_takes_nothing_from_its_relevance() -> None:
    """An issue of 200 words reaches the floor as one sentence does: shares are of the opening."""
    question = "Retries of the upload queue lose the last chunk"
    paste = "\n" + "Traceback of Ziegfeld, Quux and others in frobnicate. " * 60
    short, long = (asked(text).signs(SUMMARY, 2.0, 0.5, 0.5) for text in (question, question + paste))
    assert probability(Kind.SUMMARY, long) >= probability(Kind.SUMMARY, short) > 0.5
    assert short["opening"] == pytest.approx(long["opening"])


def test_files_named_in_the_question_speak_for_a_summary() -> None:
    assert files_of(SUMMARY) == ["src/queue/upload_retry", "tests/queue/test_retry"]
    with_file = asked("Why is upload_retry.py so slow?").signs(SUMMARY, 1.0, 0.3, 0.3)
    without = asked("Why is the scheduler so slow?").signs(SUMMARY, 1.0, 0.3, 0.3)
    assert with_file["file_name"] > 0.0 and with_file["files"] > 0.0 and with_file["opening_files"] > 0.0
    assert without["file_name"] == without["opening_files"] == 0.0
    assert probability(Kind.SUMMARY, with_file) > probability(Kind.SUMMARY, without)


@pytest.mark.parametrize("others", [1, 30, 300])
def test_a_request_of_workaday_words_is_no_reason_to_bring_what_shares_them(
    tmp_path: Path, others: int
) -> None:
    """`run the tests` asks for nothing that a memory knows, in a store of any size."""
    with open_memex(tmp_path) as memex:
        texts = [
            FACT,
            "What time works",
            *(f"Shelf {number} holds the red folders" for number in range(others)),
        ]
        memex.store_many([{"content": text, "rationale": "kept for a test"} for text in texts])
        for prompt in ("what time is it", "run the tests", "use a shorter name", "fix the typo in README"):
            for text, score in relevance(memex, prompt).items():
                assert score < FLOOR, (prompt, text)
        assert relevance(memex, "is staging up?")[FACT] >= FLOOR


def test_relevance_stays_between_0_and_1_and_falls_along_the_list(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        texts = [FACT, *(f"Shelf {number} holds port {number}" for number in range(40))]
        memex.store_many([{"content": text, "rationale": "kept for a test"} for text in texts])
        for prompt in (FACT, FACT.upper(), "staging " * 80, "8443", "?", "which port has shelf 7?"):
            scores = [one.score for one in memex.recall(prompt, top_k=30).nodes]
            assert all(0.0 <= score <= 1.0 for score in scores) and scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("text", ["is it", "!!!", "", "的", "weil"])
def test_what_says_nothing_has_signs_too(text: str) -> None:
    for looks_up in (False, True):
        signs = Asked(text, default_provider(), lambda terms: [0.0] * len(terms), 1, looks_up=looks_up)
        assert signs.signs(FACT, 0.0, 0.0, 0.0)["opening"] == 0.0


def test_signs_are_those_that_the_weights_are_for() -> None:
    seen: list[array[int]] = []

    def idfs(terms: array[int]) -> list[float]:
        seen.append(terms)
        return [math.log(2.0)] * len(terms)

    signs = Asked("upload retry", default_provider(), idfs, 10).signs(SUMMARY, 0.5, 0.25, 0.25)
    assert tuple(signs) == NAMES and signs["margin"] == 0.5 and signs["cosine"] == 0.25 and seen


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        (
            "Der Datenbankzugriff läuft über das Modul repository.ts",
            "wo darf ich auf die Datenbank zugreifen?",
        ),
        ("Die Sitzung eines Benutzers läuft nach 20 Minuten ab", "wann endet eine Benutzersitzung?"),
        ("Passwörter brauchen zwölf Zeichen", "wie viele Zeichen hat ein Passwort?"),
        ("Остатки списываются после оплаты", "когда списывать остаток?"),
        ("Las facturas se guardan diez años", "cuánto se guarda una factura"),
    ],
)
def test_inflected_and_joined_words_are_found_by_their_letters(
    tmp_path: Path, fact: str, question: str
) -> None:
    """English words that only look alike are not the same."""
    others = [
        "Der nächtliche Abgleich startet um zwei",
        "Die Warteschlange heißt post",
        "Журнал лежит отдельно",
        "Los turnos se publican los lunes",
    ]
    with open_memex(tmp_path) as memex:
        memex.store_many([{"content": text, "rationale": "kept for a test"} for text in [*others, fact]])
        scores = relevance(memex, question)
        assert max(scores, key=lambda text: scores[text]) == fact and scores[fact] > 0.2
    with open_memex(tmp_path / "english") as memex:
        memex.store("The portal is open on Sundays", rationale="kept for a test")
        assert relevance(memex, "who tends the port?").get("The portal is open on Sundays", 0.0) < FLOOR


def test_like_work_orders_what_a_prompt_finds_and_makes_nothing_likelier() -> None:
    likely = in_order_of_like_work([0.6, 0.5, 0.4], [0.0, 0.1, 0.0])
    assert likely[1] == pytest.approx(0.6)
    assert likely[1] > likely[0] > likely[2]
    assert in_order_of_like_work([0.6, 0.2], [0.0, 0.0]) == pytest.approx([0.6, 0.2])
    assert in_order_of_like_work([], []) == []
    assert all(0.0 < one < 1.0 for one in in_order_of_like_work([1 - 1e-13, 1e-13], [1.0, 0.0]))


def test_of_two_memories_with_the_same_words_that_of_the_like_session_comes_first(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        for number in range(4):
            memex.store(f"{FACT}, said {number}", rationale="kept for a test", session_id=f"s{number}")
        plain = memex.recall(FACT).nodes
        last = plain[-1].node.session_id
        assert last is not None
        brought = memex.recall(FACT, alike={last: 0.5}, by_query=True).nodes
    assert brought[0].node.session_id == last
    assert brought[0].score == pytest.approx(plain[0].score)


def test_like_work_brings_one_memory_of_a_session_before_those_of_others(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        for number in range(6):
            memex.store(f"{FACT}, said {number}", rationale="kept for a test", session_id=f"s{number // 2}")
        alike = {"s0": 0.5, "s1": 0.4, "s2": 0.3}
        brought = memex.recall(FACT, alike=alike, by_query=True).nodes
    assert [one.node.session_id for one in brought[:3]] == ["s0", "s1", "s2"]


def test_what_somebody_stored_stands_in_the_order_of_the_ranking_among_what_sessions_left() -> None:
    """Rows 1, 3 and 5 were stored, and the ranking had 5 before 3 and that before 1."""
    judged = [(1, 0.9, "a"), (2, 0.8, "b"), (3, 0.7, "c"), (4, 0.6, "d"), (5, 0.1, "e")]
    order = in_ranked_order(judged, [5, 3, 1])
    assert order == [(5, 0.9, "e"), (2, 0.8, "b"), (3, 0.7, "c"), (4, 0.6, "d"), (1, 0.1, "a")]
    assert in_ranked_order(judged, []) == judged
