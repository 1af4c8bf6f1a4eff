"""Pages, chains and aliases, also in a store of ten thousand sessions."""

from __future__ import annotations

import statistics
import time

import pytest
from tests.support.store import START_MS, break_record, snapshot

from context_graph.errors import (
    InvalidInputError,
    SessionNotFoundError,
)
from context_graph.store import layout
from context_graph.store.engine.engine import Engine
from context_graph.store.layout import SESSION_IDENTITY
from context_graph.store.sessions.sessions import SessionStore


def test_a_listing_pages_through_all_sessions_newest_first(store: SessionStore) -> None:
    for at in range(25):
        store.save_snapshot(snapshot(f"s{at:02}", at))
    rows, cursor, pages = [], None, 0
    while True:
        page, cursor = store.list_sessions(limit=10, cursor=cursor)
        rows += page
        pages += 1
        if cursor is None:
            break
    assert pages == 3
    assert [row.session_id for row in rows] == [f"s{at:02}" for at in reversed(range(25))]
    assert rows[0].timestamp_ms == START_MS + 24
    assert (rows[0].last_ic, rows[0].consciousness, rows[0].previous_session_id) == (0.875, 0.0, None)
    assert store.count() == 25


def test_a_page_that_ends_with_the_last_session_has_no_next(store: SessionStore) -> None:
    for at in range(4):
        store.save_snapshot(snapshot(f"s{at}", at))
    assert store.list_sessions(limit=4)[1] is None
    assert store.list_sessions(limit=3)[1] is not None


def test_sessions_saved_while_paging_are_not_shown_twice(store: SessionStore) -> None:
    for at in range(6):
        store.save_snapshot(snapshot(f"s{at}", at))
    first, cursor = store.list_sessions(limit=3)
    store.save_snapshot(snapshot("s5", 100))
    second, _ = store.list_sessions(limit=3, cursor=cursor)
    assert [row.session_id for row in first + second] == ["s5", "s4", "s3", "s2", "s1", "s0"]


def test_a_damaged_session_has_its_row_in_the_listing(store: SessionStore, engine: Engine) -> None:
    for at, name in enumerate(("a", "b", "c")):
        store.save_snapshot(snapshot(name, at))
    break_record(engine, "b")
    engine.delete(SESSION_IDENTITY, layout.snapshot_key("a"))
    rows, _ = store.list_sessions()
    assert [(row.session_id, row.last_ic is None) for row in rows] == [("c", False), ("b", True), ("a", True)]
    assert "checksum" in rows[1].damaged
    assert "no record" in rows[2].damaged


@pytest.mark.parametrize("cursor", ["", "x", "12", "zz.one", "-1.one", "12."])
def test_a_foreign_cursor_or_limit_is_refused(store: SessionStore, cursor: str) -> None:
    with pytest.raises(InvalidInputError, match="cursor"):
        store.list_sessions(cursor=cursor)
    with pytest.raises(InvalidInputError, match="limit"):
        store.list_sessions(limit=0)


def test_a_chain_goes_back_to_the_first_session(store: SessionStore) -> None:
    """Seed 001 6.3.1: continuity."""
    for at in range(5):
        store.save_snapshot(snapshot(f"s{at}", at, f"s{at - 1}" if at else None))
    chain = store.chain("s4")
    assert [row.session_id for row in chain.sessions] == ["s4", "s3", "s2", "s1", "s0"]
    assert (chain.end, chain.at) == ("start", None)
    cut = store.chain("s4", limit=2)
    assert ([row.session_id for row in cut.sessions], cut.end, cut.at) == (["s4", "s3"], "limit", "s2")


def test_a_chain_says_where_and_why_it_breaks(store: SessionStore, engine: Engine) -> None:
    store.save_snapshot(snapshot("orphan", 0, "never-stored"))
    assert (store.chain("orphan").end, store.chain("orphan").at) == ("missing", "never-stored")
    store.save_snapshot(snapshot("a", 1, "b"))
    store.save_snapshot(snapshot("b", 2, "a"))
    circle = store.chain("a")
    assert ([row.session_id for row in circle.sessions], circle.end, circle.at) == (["a", "b"], "cycle", "a")
    break_record(engine, "b")
    assert (store.chain("a").end, store.chain("a").at) == ("damaged", "b")
    with pytest.raises(SessionNotFoundError):
        store.chain("unknown")


def test_an_alias_of_hex_digits_means_the_one_session_that_begins_with_it(store: SessionStore) -> None:
    """D1.5, with four digits as with eight."""
    first, second = "0123abcd-1111-4222-8333-444444444444", "0123abcd-9999-4222-8333-444444444444"
    other = "FEDCBA98-1111-4222-8333-444444444444"
    for at, name in enumerate((first, other, "deadbeef", "deadbeef-1")):
        store.save_snapshot(snapshot(name, at))
    assert store.resolve_id("0123abcd") == first
    assert store.resolve_id("0123ABCD") == first
    assert store.resolve_id("fedcba98") == other
    assert store.resolve_id("deadbeef") == "deadbeef"  # a full id goes before an alias
    assert store.resolve_id(first) == first
    assert store.resolve_id("0123") == store.resolve_id("0123abcd-11") == first
    store.save_snapshot(snapshot(second, 9))
    with pytest.raises(InvalidInputError) as caught:
        store.resolve_id("0123abcd")
    assert first in str(caught.value)
    assert second in str(caught.value)
    assert store.resolve_id("0123abcd-1111") == first
    for unknown in ("012", "0123abcde", "ffffffff", "0123abcd-1112", "----", "s-1"):
        with pytest.raises(SessionNotFoundError):
            store.resolve_id(unknown)


def test_ten_thousand_sessions_list_like_a_hundred(store: SessionStore) -> None:
    """Pages, aliases and the latest don't grow with the store."""

    def typical(use: object) -> float:
        times = []
        for _ in range(15):
            began = time.perf_counter()
            use()  # type: ignore[operator]
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    def measure() -> list[float]:
        return [
            typical(lambda: store.list_sessions(20)),
            typical(lambda: store.resolve_id("00000042")),
            typical(lambda: store.load_latest()),
        ]

    for number in range(100):
        store.save_snapshot(snapshot(f"{number:08d}-aaaa", number))
    small = measure()
    for number in range(100, 10_000):
        store.save_snapshot(snapshot(f"{number:08d}-aaaa", number, f"{number - 1:08d}-aaaa"))
    large = measure()
    assert store.count() == 10_000
    assert len(store.list_sessions(10_000)[0]) == 10_000
    assert len(store.chain("00009999-aaaa", 10_000).sessions) == 9_901
    # 100 times the sessions; tables instead of memory cost a factor, growth would cost a hundred
    assert all(now <= 20 * before for now, before in zip(large, small, strict=True)), (small, large)
