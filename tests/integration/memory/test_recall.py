"""Recall over a real store."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest
from tests.support.memories import WHY, open_memex

from context_graph.errors import InvalidParamsError
from context_graph.memory import asked
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.operations.naming import filters_of

TEXTS = (
    "The staging database is migrated with alembic upgrade head",
    "Deploys run from the main branch only",
    "The login form rejects passwords shorter than twelve characters",
    "Melanie paints landscapes at the weekend",
    "The build cache lives in /var/cache/build",
    "Retry the payment webhook with exponential backoff",
    "The parser keeps comments when it rewrites a file",
    "Caroline adopted a guinea pig named Oscar",
    "Redis holds the sessions, Postgres the accounts",
    "Tests of the scheduler need a frozen clock",
)


def store_all(memex: Memex, texts=TEXTS, **fields) -> list:
    return [memex.store(text, rationale=WHY, **fields) for text in texts]


def contents(found) -> list[str]:
    return [one.node.content for one in found.nodes]


def test_the_best_come_first_with_scores_that_fall(memex) -> None:
    """REQ-CORE-015, TC-CORE-019: top_k memories, each with a relevance_score, sorted by it."""
    store_all(memex)
    found = memex.recall("which pet did Caroline adopt?", top_k=3)
    assert len(found.nodes) == 3
    assert found.nodes[0].node.content == TEXTS[7]
    scores = [one.score for one in found.nodes]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert found.total == len(TEXTS)


def test_a_query_that_fits_nothing_well_still_gets_top_k(memex) -> None:
    """TC-CORE-019: the three most similar of ten, whatever the query."""
    store_all(memex)
    assert len(memex.recall("test query", top_k=3).nodes) == 3


def test_the_text_itself_scores_nearly_1_and_foreign_words_little(memex) -> None:
    store_all(memex)
    exact = memex.recall(TEXTS[5], top_k=1).nodes[0]
    word = TEXTS[5].split()[-1]
    foreign = memex.recall(f"quarterly dividend forecast of any {word}", top_k=1).nodes[0]
    assert memex.recall("quarterly dividend forecast").nodes == []
    assert exact.node.content == TEXTS[5]
    assert exact.score > 0.95
    assert exact.parts["terms"] == pytest.approx(1.0)
    assert exact.parts["cosine"] > 0.8
    assert foreign.score < 0.6 * exact.score


def test_the_parts_say_why(memex) -> None:
    store_all(memex)
    for one in memex.recall("guinea pig of Caroline", top_k=10).nodes:
        assert set(one.parts) == {"cosine", "terms", "bm25", "own", "others", *asked.NAMES}
        assert -1.0 <= one.parts["cosine"] <= 1.0
        assert 0.0 <= one.parts["terms"] <= 1.0
        assert (one.parts["bm25"] > 0.0) == (one.parts["terms"] > 0.0)


def test_min_importance_is_respected(memex) -> None:
    """REQ-CORE-015, TC-CORE-020: of 0.2, 0.5 and 0.8 only 0.8 passes 0.6."""
    for importance in (0.2, 0.5, 0.8):
        memex.store(f"a test memory of importance {importance}", rationale=WHY, importance=importance)
    found = memex.recall("test", filters=RecallFilters(min_importance=0.6))
    assert [one.node.importance for one in found.nodes] == [0.8]
    assert found.total == 1


def test_every_filter_reaches_the_store(memex) -> None:
    """REQ-CORE-015: created_after, johari_quadrants; and agent, session, project, tags, source."""
    wanted = memex.store(
        "the wanted memory",
        rationale=WHY,
        session_id="s1",
        agent_id="ada",
        project="/p",
        tags=("x",),
        source="tool",
        occurred_at_ms=5_000,
    )
    memex.store("the wanted memory, but not really", rationale=WHY, occurred_at_ms=1_000)
    for given in (
        {"session_id": "s1"},
        {"agent_id": "ada"},
        {"project": "/p"},
        {"tags": ["x"]},
        {"source": "tool"},
        {"created_after": 4_999},
        {"johari_quadrants": [wanted.johari_quadrant.value], "tags": ["x"]},
    ):
        found = memex.recall("the wanted memory", filters=filters_of(given))
        assert [one.node.id for one in found.nodes] == [wanted.id], given


def test_no_match_is_an_empty_list(memex) -> None:
    """EC-CORE-004: no error when nothing matches: an empty store, nothing passing the filter, no word."""
    assert memex.recall("anything").nodes == []
    store_all(memex)
    nobody = memex.recall("anything", filters=RecallFilters(agent_id="nobody"))
    assert (nobody.nodes, nobody.total, nobody.next_cursor) == ([], 0, None)
    assert memex.recall(" \n ").nodes == []


@pytest.mark.parametrize("top_k", [0, 101, -1, True, 2.5, "3"])
def test_top_k_is_1_to_100(memex, top_k) -> None:
    """EC-CORE-005, word for word."""
    with pytest.raises(InvalidParamsError) as raised:
        memex.recall("x", top_k=top_k)
    assert str(raised.value) == "top_k must be between 1 and 100"
    assert raised.value.rpc_code == -32602


@pytest.mark.parametrize("query", ["", "x" * 4097, None, 7])
def test_a_query_has_1_to_4096_characters(memex, query) -> None:
    """REQ-CORE-015: query (string, 1-4096 chars)."""
    with pytest.raises(InvalidParamsError, match="query"):
        memex.recall(query)
    memex.recall("x" * 4096)


def test_a_memory_is_found_as_soon_as_it_is_stored_and_lost_as_soon_as_it_is_forgotten(memex) -> None:
    """Read-your-writes, deletes and restores included."""
    store_all(memex)
    query = "how do zebras sleep"
    fresh = memex.store("Zebras sleep standing up", rationale=WHY)
    assert memex.recall(query).nodes[0].node.id == fresh.id
    memex.forget(fresh.id)
    assert fresh.id not in [one.node.id for one in memex.recall(query).nodes]
    memex.restore(fresh.id)
    assert memex.recall(query).nodes[0].node.id == fresh.id
    memex.forget(fresh.id, soft=False, reason="user_requested")
    assert fresh.id not in [one.node.id for one in memex.recall(query).nodes]


def test_what_follows_a_question_in_its_session_is_taken_for_its_answer(memex) -> None:
    store_all(memex)
    memex.store("Ada: what breed is the dog that you keep in the garden?", rationale=WHY, session_id="a")
    answer = memex.store("Bob: a dachshund", rationale=WHY, session_id="a")
    apart = memex.store("Bob: a dachshund", rationale=WHY, session_id="b")
    ranked = [one.node.id for one in memex.recall("what breed is the dog?", top_k=10).nodes]
    assert ranked.index(answer.id) < 3
    assert apart.id not in ranked or ranked.index(answer.id) < ranked.index(apart.id)


def test_who_is_named_stands_in_what_is_found(memex) -> None:
    for name in ("Melanie", "Caroline"):
        memex.store(f"{name}: I went hiking in the mountains", rationale=WHY)
    for name in ("Melanie", "Caroline"):
        best = memex.recall(f"where did {name} go hiking", top_k=1).nodes[0]
        assert best.node.content.startswith(name)


def test_the_first_line_of_a_long_query_says_what_it_is_about(memex) -> None:
    store_all(memex)
    title = memex.store("Goal: the admin page sorts by the wrong column", rationale=WHY).id
    body = memex.store("Goal: windows paths in the traceback of the deploy script", rationale=WHY).id
    text = (
        "The admin page sorts wrongly\nDescription\nOn windows the deploy script shows a traceback with paths"
    )
    assert memex.recall(text).nodes[0].node.id == title
    assert memex.recall(" ".join(text.split()[5:])).nodes[0].node.id == body


@pytest.mark.parametrize("alike", [True, False])
def test_a_session_lifts_its_memories_only_where_sessions_are_about_one_thing(memex, alike: bool) -> None:
    about = (
        "the rent of the flat in Lisbon", "a bug in the tokenizer", "sourdough bread with rye flour",
        "the marathon training plan", "an invoice from the garage", "birds that nest in the garden",
    )  # fmt: skip
    for session in range(6):
        for number in range(6):
            topic = about[session if alike else (session + 3 * number) % 6]
            memex.store(f"{topic}, note {number} of {session}", rationale=WHY, session_id=f"s{session}")
    found = memex.recall("sourdough bread", top_k=36).nodes
    lifted = [one for one in found if one.parts["others"] > 0.0]
    assert bool(lifted) == alike


def test_a_query_that_asks_when_prefers_a_memory_that_names_a_time(memex) -> None:
    plain = memex.store("The release of the new parser went well", rationale=WHY)
    dated = memex.store("The release of the new parser is due next Tuesday", rationale=WHY)
    assert memex.recall("when is the release of the new parser?").nodes[0].node.id == dated.id
    assert plain.id in [one.node.id for one in memex.recall("the release of the new parser").nodes]


def test_recency_prefers_the_new_only_when_asked(memex) -> None:
    store_all(memex, occurred_at_ms=1)
    now, year = time.time_ns() // 1_000_000, 365 * 86_400_000
    old = memex.store("The api key rotates monthly, says the guide", rationale=WHY, occurred_at_ms=now - year)
    new = memex.store("The api key rotates weekly, says the mail", rationale=WHY, occurred_at_ms=now)
    query = "api key rotates monthly guide"
    assert memex.recall(query).nodes[0].node.id == old.id
    assert memex.recall(query, recency=1.0).nodes[0].node.id == new.id
    with pytest.raises(InvalidParamsError, match="recency"):
        memex.recall(query, recency=1.5)


def test_edges_bring_what_words_do_not(memex) -> None:
    """A causal link leads from a good hit to a memory that shares no word with the query."""
    store_all(memex)
    cause = memex.store("The nightly import timed out", rationale=WHY)
    effect = memex.store("Oscar got no food", rationale=WHY)

    def rank() -> int:
        found = memex.recall("nightly import", top_k=20)
        return [one.node.id for one in found.nodes].index(effect.id)

    before = rank()
    memex.link(cause.id, effect.id, "causes", weight=1.0)
    assert rank() < before
    assert rank() <= 2


def test_a_filter_holds_for_what_edges_bring(memex) -> None:
    cause = memex.store("The nightly import timed out", rationale=WHY, tags=("ops",))
    effect = memex.store("Dashboards showed old figures", rationale=WHY)
    memex.link(cause.id, effect.id, "causes", weight=1.0)
    found = memex.recall("nightly import", filters=RecallFilters(tags=("ops",)))
    assert [one.node.id for one in found.nodes] == [cause.id]


def pages(memex, query: str, top_k: int, between=lambda: None, **fields) -> list:
    found = memex.recall(query, top_k=top_k, **fields)
    got = list(found.nodes)
    while found.next_cursor:
        between()
        found = memex.recall(query, top_k=top_k, cursor=found.next_cursor, **fields)
        got += found.nodes
    return got


def test_pages_together_are_the_whole_answer_whatever_is_stored_meanwhile(memex) -> None:
    store_all(memex, TEXTS * 3)
    whole = memex.recall("the database of the sessions", top_k=30)

    def meanwhile() -> None:
        memex.store("the database of the sessions of the database", rationale=WHY)

    got = pages(memex, "the database of the sessions", 7, meanwhile)
    assert [one.node.id for one in got] == [one.node.id for one in whole.nodes]
    assert [one.score for one in got] == [one.score for one in whole.nodes]
    assert whole.next_cursor is None


def test_pages_go_on_without_the_remembered_order(memex) -> None:
    """Other queries may have pushed the order out, and another process may go on: the cursor says enough."""
    store_all(memex)
    whole = memex.recall("login form of the build", top_k=10)
    first = memex.recall("login form of the build", top_k=4)
    memex.store("login form of the build, built anew", rationale=WHY)
    for number in range(20):
        memex.recall(f"other query {number}")
    rest = memex.recall("login form of the build", top_k=10, cursor=first.next_cursor)
    assert contents(first) + contents(rest) == contents(whole)


def test_pages_leave_out_what_is_forgotten_meanwhile(memex) -> None:
    store_all(memex)
    whole = memex.recall("cache", top_k=10)
    first = memex.recall("cache", top_k=4)
    gone = whole.nodes[5].node.id
    memex.forget(gone)
    rest = memex.recall("cache", top_k=10, cursor=first.next_cursor)
    left = [one.node.id for one in whole.nodes[4:] if one.node.id != gone]
    assert [one.node.id for one in rest.nodes] == left


def test_a_cursor_of_another_query_or_no_cursor_at_all_is_refused(memex) -> None:
    store_all(memex)
    cursor = memex.recall("cache", top_k=1).next_cursor
    for query, filters, text in [
        ("cash", {}, cursor),
        ("cache", {"min_importance": 0.1}, cursor),
        ("cache", {}, "nonsense"),
        ("cache", {}, "ä"),
        ("cache", {}, ""),
    ]:
        with pytest.raises(InvalidParamsError, match="cursor"):
            memex.recall(query, filters=filters_of(filters), cursor=text)


def test_a_changed_importance_counts_at_once(memex) -> None:
    node = memex.store("a memory that matters more", rationale=WHY, importance=0.1)
    important = RecallFilters(min_importance=0.9)
    assert memex.recall("memory", filters=important).nodes == []
    memex.update([replace(node, importance=0.95)])
    assert [one.node.id for one in memex.recall("memory", filters=important).nodes] == [node.id]


def test_a_memory_stored_anew_under_its_id_is_found_by_its_new_content_only(memex) -> None:
    store_all(memex)
    node = memex.store("Summary: we talked about xylophones", rationale=WHY)
    memex.put(replace(node, content="Summary: we talked about trombones", embedding=None))
    best = memex.recall("trombones", top_k=1).nodes[0]
    assert (best.node.id, best.node.content) == (node.id, "Summary: we talked about trombones")
    assert memex.recall("xylophones", top_k=100).nodes == []


def test_two_stores_know_nothing_of_each_other(tmp_path: Path) -> None:
    with open_memex(tmp_path / "a") as one, open_memex(tmp_path / "b") as other:
        store_all(one)
        assert other.recall("the staging database").nodes == []


def test_recalls_and_stores_of_many_threads_meet_no_error(memex) -> None:
    """Every thread finds what it has just stored, while others store."""
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                word = f"word{number}x{turn}"
                node = memex.store(f"the marker reads {word}", rationale=WHY, session_id=str(number))
                assert memex.recall(word, top_k=1).nodes[0].node.id == node.id
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert memex.recall("the marker", top_k=100).total == 80


def test_content_of_any_kind_can_be_recalled(memex) -> None:
    memex.store("a memo", rationale=WHY)
    for content in ("?", "日本語のメモ", "x" * 65_536, "1 2 3", "\u0000 zero", "🦓🦓"):
        node = memex.store(content, rationale=WHY, node_id=uuid4())
        assert node.id in [one.node.id for one in memex.recall("zero memo x 1 日本語", top_k=100).nodes]


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (
            ("テストは毎晩三時に実行される", "デプロイはメインブランチからのみ", "ログは十四日間保存する"),
            "テストはいつ？",
        ),
        (("フロントエンドはReactで書く", "バックエンドはGoで書く", "検索はRustで書く"), "React"),
        (
            ("배포는 메인 브랜치에서만 실행한다", "로그는 십사일 동안 보관한다", "캐시에는 테넌트가 있다"),
            "어느 브랜치에서 배포하나",
        ),
        (("포트는 5432번이다", "포트는 8443번이다", "포트는 6379번이다"), "8443"),
        (("การปรับใช้ทำงานจากสาขาหลักเท่านั้น", "ฐานข้อมูลคือโพสต์เกรส", "บันทึกเก็บไว้สิบสี่วัน"), "สาขาหลัก"),
    ],
)
def test_a_word_within_a_sentence_without_spaces_finds_it(memex, texts, query) -> None:
    """Japanese, Korean, Thai: no word there is parted from what stands beside it."""
    ids = [memex.store(text, rationale=WHY).id for text in texts]
    wanted = ids[1] if query == "8443" else ids[0]
    best = memex.recall(query, top_k=3).nodes[0]
    assert best.node.id == wanted and best.parts["terms"] > 0.3
