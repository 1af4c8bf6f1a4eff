"""Events in a real store: one atomic write each, bounded, and safe from death at any moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.support.store import START_MS, commit, event, keys, snapshot

from context_graph.errors import (
    CorruptedIdentityError,
    InvalidInputError,
)
from context_graph.model import EventKind, HookEvent
from context_graph.store import layout
from context_graph.store.engine.engine import Engine
from context_graph.store.layout import EVENTS, LATEST, RUNTIME, SESSION_IDENTITY, SYSTEM
from context_graph.store.schema import open_database
from context_graph.store.sessions.event_log import EVENTS_KEPT, TRIM_EVERY
from context_graph.store.sessions.records import Evidence
from context_graph.store.sessions.sessions import SessionStore


def test_an_event_is_one_write_over_all_it_touches(store: SessionStore, engine: Engine) -> None:
    """Invariants 5 and 6."""
    before = engine.sequence()
    made = event("one", 1)
    store.commit_event(
        snapshot("one", 1, "zero"),
        event=made,
        seq=1,
        dedupe_key=made.dedupe_key(),
        runtime=b"state",
        goals=(1, b"goals"),
    )
    assert engine.sequence() - before == 8  # s: t: p: latest e: d: r: g:, nothing twice
    assert store.load_snapshot("one") == snapshot("one", 1, "zero")
    assert store.event_log.is_applied("one", made.dedupe_key())
    assert not store.event_log.is_applied("one", "another")
    assert not store.event_log.is_applied("two", made.dedupe_key())
    assert list(store.event_log.after("one", 0)) == [made]
    assert store.load_runtime("one") == b"state"
    assert store.load_goals("one") == (1, b"goals")


def test_an_event_without_a_live_state_leaves_the_stored_one(store: SessionStore) -> None:
    store.put_runtime("one", b"state")
    store.commit_event(snapshot("one"), event=event("one", 1), seq=1, dedupe_key="k")
    assert store.load_runtime("one") == b"state"


def test_events_come_back_in_order_after_a_number(store: SessionStore) -> None:
    made = [commit(store, "one", number) for number in range(1, 301)]
    commit(store, "one-more", 1)
    commit(store, "on", 1)
    assert list(store.event_log.after("one", 0)) == made
    assert list(store.event_log.after("one", 290)) == made[290:]
    assert list(store.event_log.after("one", 300)) == []
    assert list(store.event_log.after("unknown", 0)) == []


def test_old_event_records_are_trimmed_and_their_digests_kept(store: SessionStore) -> None:
    """Invariants 6 and 9: bounded, and a late replay is still known."""
    total = EVENTS_KEPT + 3 * TRIM_EVERY
    made = [commit(store, "one", number) for number in range(1, total + 1)]
    commit(store, "other", 1)
    kept = list(store.event_log.after("one", 0))
    assert kept == made[-len(kept) :]
    assert EVENTS_KEPT <= len(kept) < EVENTS_KEPT + TRIM_EVERY
    assert all(store.event_log.is_applied("one", one.dedupe_key()) for one in made)
    assert len(list(store.event_log.after("other", 0))) == 1


def test_a_damaged_event_or_live_state_is_an_error(store: SessionStore, engine: Engine) -> None:
    commit(store, "one", 1)
    store.save_goals("one", 1, b"goals")
    for family, key, load in (
        (EVENTS, layout.event_key("one", 1), lambda: list(store.event_log.after("one", 0))),
        (RUNTIME, layout.runtime_key("one"), lambda: store.load_runtime("one")),
        (RUNTIME, layout.goals_key("one"), lambda: store.load_goals("one")),
    ):
        record = bytearray(engine.get(family, key) or b"")
        record[-1] ^= 1
        engine.put(family, key, bytes(record))
        with pytest.raises(CorruptedIdentityError, match="one"):
            load()


def test_evidence_is_bounded_and_comes_back_in_order(store: SessionStore) -> None:
    rows = [Evidence("ic_delta", number, 0.5, 0.125) for number in range(60)]
    store.save_snapshot(snapshot("one"), evidence=rows)
    assert store.load_evidence("one") == rows[-50:]
    assert store.load_evidence("two") == []


def test_requests_wait_in_order_until_they_are_finished(db: Path) -> None:
    """D3.7: durable."""
    with SessionStore.open(db) as store:
        second = store.dream_queue.queue({"session_id": "b", "at_ms": START_MS + 1, "ic": 0.25})
        first = store.dream_queue.queue({"session_id": "a", "at_ms": START_MS, "ic": 0.375})
    with SessionStore.open(db) as store:
        assert store.dream_queue.pending() == [
            {"id": first, "session_id": "a", "at_ms": START_MS, "ic": 0.375},
            {"id": second, "session_id": "b", "at_ms": START_MS + 1, "ic": 0.25},
        ]
        assert store.dream_queue.finish(first)
        assert not store.dream_queue.finish(first)
        assert not store.dream_queue.finish("no id")
        assert [request["id"] for request in store.dream_queue.pending()] == [second]


def test_each_request_is_new_once_and_a_damaged_one_keeps_none_back(
    db: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever starts consolidations looks after every answer: it reads no request twice."""
    with SessionStore.open(db) as store:
        damaged = store.dream_queue.queue({"session_id": "a", "at_ms": START_MS})
        store.dream_queue.queue({"session_id": "b", "at_ms": START_MS})
    engine = open_database(db)
    key = layout.DREAM_PREFIX + bytes.fromhex(damaged)
    record = bytearray(engine.get(SYSTEM, key) or b"")
    record[-1] ^= 1
    engine.put(SYSTEM, key, bytes(record))
    engine.close()
    with SessionStore.open(db) as store:
        queue = store.dream_queue
        assert [one["session_id"] for one in queue.unseen()] == ["b"]
        assert len(caplog.records) == 1
        assert queue.unseen() == []
        third = queue.queue({"session_id": "c", "at_ms": START_MS})
        queue.put(store.engine.batch(), {"session_id": "never written", "at_ms": START_MS})
        assert [one["id"] for one in queue.unseen()] == [third]
        assert queue.unseen() == []
        assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "request_", [{}, {"session_id": "a"}, {"session_id": 1, "at_ms": 1}, {"at_ms": True}]
)
def test_a_request_that_names_no_session_or_time_is_refused(
    store: SessionStore, request_: dict[str, object]
) -> None:
    with pytest.raises(InvalidInputError):
        store.dream_queue.queue(request_)
    assert store.dream_queue.pending() == []


WRITER = """
    import sys
    from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot
    from context_graph.store.sessions.sessions import SessionStore
    store = SessionStore.open(sys.argv[1])
    start = int(sys.argv[2])
    counts = {}
    for number in range(start, start + 100_000):
        name = f"session-{number % 8}"
        if name not in counts:
            goals = store.load_goals(name)
            counts[name] = goals[0] if goals else 0
        counts[name] = seq = counts[name] + 1
        snapshot = SessionIdentitySnapshot(session_id=name, timestamp_ms=number)
        for _ in range(50):
            snapshot.append_to_trajectory([number % 64 / 64] * 13)
        event = HookEvent(kind=EventKind.POST_TOOL, session_id=name, event_id=str(number), at_ms=number,
                          tool_use_id=str(number), input_text="x" * 1500)
        store.commit_event(snapshot, event=event, seq=seq, dedupe_key=event.dedupe_key(),
                           runtime=str(number).encode(), goals=(seq, b"g" * 500))
        sys.stdout.write(f"{number}\\n")
        sys.stdout.flush()
"""


def check_consistent(db: Path) -> int:
    """Every session stands wholly at one event, index and pointer too; gives the highest number."""
    engine = open_database(db)
    store = SessionStore(engine)
    numbers = {}
    for row in store.list_sessions(100)[0]:
        one = store.load_snapshot(row.session_id)
        number = one.timestamp_ms
        assert number % 8 == int(one.session_id[-1])
        assert one.trajectory == [[number % 64 / 64] * 13] * 50
        assert store.load_runtime(one.session_id) == str(number).encode()
        goals = store.load_goals(one.session_id)
        assert goals is not None
        (last,) = store.event_log.after(one.session_id, goals[0] - 1)
        assert last.at_ms == number
        numbers[one.session_id] = number
    assert len(keys(engine, b"t:")) == len(keys(engine, b"s:")) == len(numbers)
    highest = max(numbers.values(), default=0)
    assert engine.get(SESSION_IDENTITY, LATEST) == (f"session-{highest % 8}".encode() if numbers else None)
    assert len(keys(engine, b"q:", SYSTEM)) == 0
    engine.close()
    return highest


def test_twenty_kills_while_saving_lose_nothing_that_was_acknowledged(db: Path) -> None:
    """Invariants 5 to 7: kill -9 at random moments; every acknowledged event is there, whole, once."""
    rng = random.Random(os.environ.get("CONTEXT_GRAPH_TEST_SEED", "store"))
    acknowledged = 0
    for _ in range(20):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), str(db), str(acknowledged + 1)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        for _ in range(rng.randrange(1, 300)):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().splitlines(keepends=True)
        acknowledged = max([acknowledged, *(int(line) for line in rest if line.endswith("\n"))])
        writer.stdout.close()
        assert writer.wait(timeout=30) == -signal.SIGKILL
        highest = check_consistent(db)
        # the write in flight at the kill may have been made and not yet acknowledged
        assert acknowledged <= highest <= acknowledged + 1
        acknowledged = highest
    with SessionStore.open(db) as store:
        for number in range(1, acknowledged + 1):
            key = HookEvent(EventKind.POST_TOOL, "", "", 0, tool_use_id=str(number)).dedupe_key()
            assert store.event_log.is_applied(f"session-{number % 8}", key), number
