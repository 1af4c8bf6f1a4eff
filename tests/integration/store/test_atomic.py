"""Each change of a store is made whole or not at all, whichever write fails and wherever it is killed.

The fault strikes below the engine, at the n-th write to RocksDB's log, for each n that the change makes; so a
change that is split in two batches shows as one of which half is there (invariants 5 and 6).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.faults.writes import Writes
from tests.support.consolidation import judge, raw
from tests.support.memories import WHY, open_memex
from tests.support.store_changes import CHANGES, SESSION, TEXTS, build

from context_graph.memory.memex import Memex
from context_graph.store.graph.records import Op
from context_graph.store.layout import EVENTS, RUNTIME, SESSION_IDENTITY, SYSTEM
from context_graph.store.sessions.sessions import SessionStore

ROOT = Path(__file__).resolve().parents[3]
MOST = 40
"""Writes of one change; more would be a loop."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store before any of the changes, and an export to import."""
    folder = tmp_path_factory.mktemp("atomic")
    build(folder / "store")
    with open_memex(folder / "other") as other:
        for number in range(3):
            other.store(f"from elsewhere {number}", rationale=WHY)
        other.forget(other.store("forgotten elsewhere", rationale=WHY).id, reason="there")
        with open(folder / "export.jsonl", "wb") as sink:
            other.export(sink)
    return folder


@pytest.fixture(scope="module")
def writes(tmp_path_factory: pytest.TempPathFactory) -> Writes:
    return Writes.build(tmp_path_factory.mktemp("writes"))


def strike(writes: Writes, folder: Path, name: str, at: int, *, kills: bool) -> dict[str, Any] | None:
    """Make the change with the fault at that write; what it told, None when it was killed."""
    words = [name, str(folder / "store"), str(writes.control), str(at), str(int(kills))]
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.store_changes", *words],
        env={**os.environ, **writes.env, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode == -9:
        return None
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def everything(memex: Memex) -> dict[tuple[str, bytes], bytes]:
    """Every record that tells what a user stored, of memories and of sessions."""
    engine = memex.core.store.engine
    families = (SESSION_IDENTITY, RUNTIME, EVENTS, SYSTEM)
    found = {(family, key): record for family in families for key, record in engine.scan(family)}
    return {**raw(memex), **found}


def agree(memex: Memex, sessions: SessionStore) -> None:
    """What hangs together says the same: no half of anything is there."""
    assert memex.core.store.engine.losses() == []
    judge(memex)  # counters, secondary keys, log, index, figures
    store = memex.core.store
    stored = {one.node.id: one.deleted for one in store.in_order()}
    for stone in store.tombstones():
        assert stored.get(stone.id) is (True if stone.soft else None), "a tombstone and its memory differ"
    assert {one for one, deleted in stored.items() if deleted} <= {stone.id for stone in store.tombstones()}
    begun = {one.subject for one in store.changes_after(0) if one.op == Op.RUN}
    runs = list(store.history.runs())
    assert {run.token.bytes for run in runs} == begun, "a run's changes and its record differ"
    by_token = {run.token: run for run in runs}
    for run in runs:
        assert run.last <= store.counters.seq
        assert run.undone_by is None or by_token[run.undone_by].undoes == run.token
        assert run.undoes is None or by_token[run.undoes].undone_by == run.token
    for node in memex.list(limit=1000).nodes:
        assert memex.embedding_at(node.commit_seq) is not None
    _sessions_agree(sessions)


def _sessions_agree(sessions: SessionStore) -> None:
    engine = sessions.engine
    digests = {record for key, record in engine.scan(EVENTS, b"d:", b"d;")}
    numbered = [
        (row.session_id, seq, event)
        for row in sessions.list_sessions()[0]
        for seq, event in sessions.event_log.numbered_after(row.session_id, 0)
    ]
    events = [key for key, _ in engine.scan(EVENTS, b"e:", b"e;")]
    assert len(events) == len(numbered), "an event of a session that is not there"
    for session_id, seq, event in numbered:
        assert sessions.event_log.is_applied(session_id, event.dedupe_key()), "an event without its digest"
        assert seq.to_bytes(8, "big") in digests
    assert len(list(engine.scan(EVENTS, b"d:", b"d;"))) == len(events), "a digest without its event"
    for row in sessions.list_sessions()[0]:
        assert not row.damaged and sessions.load_runtime(row.session_id) is not None
        assert list(sessions.event_log.after(row.session_id, 0)), "a session without its first event"
    # The second event asks for a capture, in its own write.
    second = any(seq == 2 for one, seq, _ in numbered if one == SESSION)
    assert second == (SESSION in sessions.event_log.captures_due()), "an event without its capture"
    settled = sessions.load_runtime(SESSION) == b"2"
    assert settled == (sessions.load_goals(SESSION) is not None) == bool(sessions.dream_queue.pending())
    assert settled == (sessions.load_snapshot(SESSION).previous_session_id == "zero")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "kills", [pytest.param(False, marks=pytest.mark.thorough, id="fails"), pytest.param(True, id="kills")]
)
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_whole_or_not_there(
    base: Path, writes: Writes, tmp_path: Path, name: str, kills: bool
) -> None:
    """Invariants 5 and 6, REQ-SESSION-05: at each write of the change, failing or killed before it."""
    seen: set[str] = set()
    for at in range(1, MOST):
        folder = tmp_path / str(at)
        shutil.copytree(base, folder)
        with open_memex(folder / "store") as memex:
            before = everything(memex)
        told = strike(writes, folder, name, at, kills=kills)
        with open_memex(folder / "store") as memex:
            sessions = SessionStore(memex.core.store.engine)
            after, made = everything(memex), CHANGES[name].made(memex, sessions)
            agree(memex, sessions)
            assert made or after == before, f"write {at}: something of what was not made is there"
        again = told is not None and told["failed"]
        assert not again or told.get("again", True), f"write {at}: {told}"  # type: ignore[union-attr]
        assert told is None or told["failed"] or made, f"write {at} failed, and the change was told as made"
        seen.add("made" if made else "not made")
        shutil.rmtree(folder)
        if told is not None and not told["failed"] and told["writes"] < at:
            break
    else:
        raise AssertionError(f"{name} makes more than {MOST} writes")
    assert at > 1, "the fault never struck"
    assert "made" in seen and TEXTS
