"""Stores without memories gain the families for them, whatever happens on the way; damage is told apart."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from rocksdict import Options, Rdict
from tests.support.store import opened_until_killed

from context_graph.errors import (
    DatabaseCorruptionError,
    FormatVersionError,
    MissingColumnFamilyError,
    StoreError,
)
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot
from context_graph.store.graph.graph import GraphStore
from context_graph.store.layout import FAMILIES, MEMORY_FAMILIES, MEMORY_KEY, NODES, SYSTEM
from context_graph.store.schema import gain_memory, has_memory, open_database
from context_graph.store.sessions.sessions import SessionStore


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database without memories: three sessions of four events, and a queued request."""
    db = tmp_path / "db"
    with SessionStore.open(db) as store:
        for number in range(3):
            session = f"session-{number}"
            for seq in range(1, 5):
                event = HookEvent(EventKind.POST_TOOL, session, f"{seq:032x}", seq, tool_name="Bash")
                store.event_log.append(session, event=event, seq=seq, dedupe_key=event.event_id)
            store.save_snapshot(SessionIdentitySnapshot(session, timestamp_ms=number))
        store.dream_queue.queue({"session_id": "session-1", "ic": 0.4, "at_ms": 1})
    return db


def families(db: Path) -> set[str]:
    return set(Rdict.list_cf(str(db)))


def check_sessions(db: Path) -> None:
    with SessionStore.open(db) as store:
        assert store.count() == 3
        assert len(list(store.event_log.after("session-1", 0))) == 4
        assert len(store.dream_queue.pending()) == 1


def test_the_families_are_one_a_purpose() -> None:
    """REQ-CORE-007: nodes by UUID, the rest beside them."""
    assert (
        *("memory_nodes", "embeddings", "memory_access", "edges", "memory_index"),
        *("memory_log", "tombstones", "memory_meta", "ledger", "memory_history"),
    ) == MEMORY_FAMILIES


def test_an_old_store_gains_them_when_its_memory_is_first_used_and_not_before(old: Path) -> None:
    """REQ-CORE-007: its sessions are as they were, before and after."""
    check_sessions(old)
    assert families(old) == set(FAMILIES)
    GraphStore.open(old).close()
    assert families(old) == {*FAMILIES, *MEMORY_FAMILIES}
    check_sessions(old)
    store = GraphStore.open(old, create=False)
    assert (store.counters.seq, store.next_seq) == (0, 1)
    store.close()


@pytest.mark.parametrize("steps", [*range(1, 23), 100])
def test_a_kill_at_any_step_leaves_a_store_with_or_without_memory(old: Path, steps: int) -> None:
    """EC-CORE-014, REQ-CORE-007: ten families made, ten marked, the history's beginning, the marker last."""
    assert opened_until_killed(old, steps).returncode == -9
    engine = open_database(old)
    gained = steps > 22
    assert has_memory(engine) is gained
    engine.close()
    check_sessions(old)
    GraphStore.open(old).close()
    engine = open_database(old)
    assert has_memory(engine)
    engine.close()
    assert families(old) == {*FAMILIES, *MEMORY_FAMILIES}


def drop(db: Path, family: str) -> None:
    found = Rdict.list_cf(str(db))
    raw = Rdict(str(db), Options(raw_mode=True), {name: Options(raw_mode=True) for name in found})
    raw.drop_column_family(family)
    raw.close()
    (db / "seal.json").unlink()


SHORT_OF_DESCRIPTORS = """
    import os, resource, sys
    from context_graph.errors import StoreError
    from context_graph.store.schema import open_database
    from context_graph.store.schema import gain_memory, has_memory
    for left in range(12):
        with_few = open_database(f"{sys.argv[1]}/{left}/db")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = max(map(int, os.listdir("/proc/self/fd"))) + 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + left, hard))
        try:
            gain_memory(with_few)
        except StoreError as error:
            print("refused", "Too many open files" in str(error))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        gain_memory(with_few)
        assert has_memory(with_few)
        with_few.close()
"""


def test_families_that_descriptors_did_not_reach_for_come_at_the_next_call(tmp_path: Path) -> None:
    """With the engine that is open: RocksDB had made some of them, and would write no more."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SHORT_OF_DESCRIPTORS), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()) == {"refused True"}, done.stdout


@pytest.mark.parametrize("family", MEMORY_FAMILIES)
def test_a_family_that_is_lost_is_reported_and_not_made_anew(old: Path, family: str) -> None:
    """EC-CORE-007: a damaged store is no store that has no memory yet."""
    GraphStore.open(old).close()
    drop(old, family)
    with pytest.raises(MissingColumnFamilyError, match=f"repair --cf {family}"):
        open_database(old)
    assert family not in families(old)


def test_records_without_the_marker_are_reported_and_not_taken_over(old: Path) -> None:
    """EC-CORE-007: the marker is written before the first record; only damage can part them."""
    engine = open_database(old)
    gain_memory(engine)
    engine.put(NODES, bytes(16), b"a record")
    engine.delete(SYSTEM, MEMORY_KEY)
    engine.close()
    engine = open_database(old)
    with pytest.raises(DatabaseCorruptionError, match="marker is gone"):
        gain_memory(engine)
    assert engine.get(NODES, bytes(16)) == b"a record"
    engine.close()


def test_a_newer_layout_is_refused(old: Path) -> None:
    engine = open_database(old)
    gain_memory(engine)
    engine.put(SYSTEM, MEMORY_KEY, b"3")
    engine.close()
    with pytest.raises(FormatVersionError, match="memory layout"):
        open_database(old)


def test_a_store_that_is_only_read_gains_nothing(old: Path) -> None:
    engine = open_database(old, read_only=True)
    with pytest.raises(StoreError, match="no memories yet"):
        GraphStore(engine)
    engine.close()
    assert families(old) == set(FAMILIES)
