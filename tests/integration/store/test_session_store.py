"""Snapshots in a real store: saving, loading, and finding the latest again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.store import START_MS, break_record, commit, event, keys, snapshot

from context_graph.errors import (
    CorruptedIdentityError,
    FormatVersionError,
    InvalidInputError,
    SessionNotFoundError,
    StoreClosedError,
    StoreFullError,
)
from context_graph.store import layout
from context_graph.store.engine.batches import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.layout import LATEST, SESSION_IDENTITY
from context_graph.store.schema import open_database
from context_graph.store.sessions import transfer
from context_graph.store.sessions.records import encode_snapshot
from context_graph.store.sessions.sessions import SessionStore


def test_a_snapshot_comes_back_by_id_and_as_the_latest(db: Path) -> None:
    """REQ-SESSION-05, TC-SESSION-05, REQ-HOOKS-24: across a restart."""
    with SessionStore.open(db) as store:
        store.save_snapshot(snapshot("first"))
        store.save_snapshot(snapshot("second", 1, "first"))
    with SessionStore.open(db, create=False) as store:
        assert store.load_snapshot("first") == snapshot("first")
        assert store.load_snapshot() == store.load_latest() == snapshot("second", 1, "first")
    with pytest.raises(StoreClosedError):
        store.load_latest()


def test_one_save_writes_record_pointer_time_index_and_chain_index(
    store: SessionStore, engine: Engine
) -> None:
    """REQ-SESSION-04, D3.5; seed 001 6.3.1."""
    store.save_snapshot(snapshot("second", 1, "first"))
    found = dict(engine.scan(SESSION_IDENTITY))
    del found[layout.FORMAT_KEY]
    assert found == {
        b"s:second": encode_snapshot(snapshot("second", 1, "first")),
        b"latest": b"second",
        layout.time_key(START_MS + 1, "second"): b"second",
        b"p:first": b"second",
    }


def test_saving_again_moves_the_one_time_index_entry(store: SessionStore, engine: Engine) -> None:
    """TC-SESSION-06: one `t:` entry a session, at its last save."""
    for at in (5, 1, 9):
        store.save_snapshot(snapshot("one", at))
    store.save_snapshot(snapshot("two", 3))
    assert keys(engine, b"t:") == [layout.time_key(START_MS + 3, "two"), layout.time_key(START_MS + 9, "one")]


def test_two_sessions_saved_in_one_millisecond_are_both_listed(store: SessionStore) -> None:
    store.save_snapshot(snapshot("one", 7))
    store.save_snapshot(snapshot("two", 7))
    assert {row.session_id for row in store.list_sessions()[0]} == {"one", "two"}


def test_a_session_that_changes_its_predecessor_leaves_no_old_link(
    store: SessionStore, engine: Engine
) -> None:
    store.save_snapshot(snapshot("child", 1, "a"))
    store.save_snapshot(snapshot("child", 2, "b"))
    assert keys(engine, b"p:") == [b"p:b"]
    store.save_snapshot(snapshot("sibling", 3, "b"))
    store.save_snapshot(snapshot("child", 4, None))
    assert engine.get(SESSION_IDENTITY, b"p:b") == b"sibling"  # not the child's to remove


def test_an_empty_store_has_no_latest_and_says_so(store: SessionStore) -> None:
    assert store.load_latest() is None
    assert store.count() == 0
    with pytest.raises(SessionNotFoundError, match="no session in this store yet"):
        store.load_snapshot()
    with pytest.raises(SessionNotFoundError, match="'unknown'"):
        store.load_snapshot("unknown")


def test_ids_are_cut_to_100_characters_in_every_place(store: SessionStore) -> None:
    """REQ-SESSION-01: on a character boundary, and found again by the uncut id."""
    long = "sitzung-ä🧠" * 20
    store.save_snapshot(snapshot(long, 1, long[1:]))
    made = event(long, 1)
    store.commit_event(snapshot(long, 1), event=made, seq=1, dedupe_key="k", runtime=b"x")
    for name in (long, long[:100]):
        assert store.load_snapshot(name).session_id == long[:100]
        assert store.event_log.is_applied(name, "k")
        assert store.load_runtime(name) == b"x"
        assert store.resolve_id(name) == long[:100]
        assert len(list(store.event_log.after(name, 0))) == 1


def test_what_can_t_be_stored_leaves_the_old_state(store: SessionStore) -> None:
    """REQ-SESSION-05: all or nothing."""
    store.save_snapshot(snapshot("one"))
    bad = snapshot("one", 5)
    bad.consciousness = float("nan")
    with pytest.raises(InvalidInputError, match="consciousness"):
        store.save_snapshot(bad)
    with pytest.raises(InvalidInputError, match="consciousness"):
        store.commit_event(bad, event=event("one", 1), seq=1, dedupe_key="k", runtime=b"x")
    assert store.load_latest() == snapshot("one")
    assert not store.event_log.is_applied("one", "k")
    assert store.load_runtime("one") is None


def test_a_write_that_fails_has_changed_nothing_at_all(
    store: SessionStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REQ-SESSION-05, invariant 5: whatever is saved goes in one batch."""

    def contents() -> dict[tuple[str, bytes], bytes]:
        return {(family, key): value for family in engine.families for key, value in engine.scan(family)}

    def full(batch: Batch) -> None:
        raise StoreFullError("no space left")

    commit(store, "one", 1)
    store.save_snapshot(snapshot("two", 2, "one"))
    before = contents()
    document = transfer.document([snapshot("three"), snapshot("four")])
    monkeypatch.setattr(engine, "write", full)
    for use in (
        lambda: store.save_snapshot(snapshot("two", 9, "zero")),
        lambda: store.save_snapshot(snapshot("one", 9), evidence=[]),
        lambda: commit(store, "one", 2),
        lambda: commit(store, "new", 1),
        lambda: store.import_(document),
    ):
        with pytest.raises(StoreFullError):
            use()
        assert contents() == before


def test_a_damaged_record_is_never_overwritten_in_silence(store: SessionStore, engine: Engine) -> None:
    store.save_snapshot(snapshot("one"))
    break_record(engine, "one")
    with pytest.raises(CorruptedIdentityError):
        store.save_snapshot(snapshot("one", 1))


def test_a_pointer_to_nothing_is_worked_out_anew_and_repaired(store: SessionStore, engine: Engine) -> None:
    """REQ-SESSION-05: temporal recovery, newest first."""
    for at, name in enumerate(("old", "new", "newest")):
        store.save_snapshot(snapshot(name, at))
    engine.delete(SESSION_IDENTITY, layout.snapshot_key("newest"))
    recovered = store.load_latest()
    assert recovered is not None
    assert recovered.session_id == "new"
    assert engine.get(SESSION_IDENTITY, LATEST) == b"new"


@pytest.mark.parametrize("pointer", [None, b"gone", b"\xff\xfe"])
def test_recovery_skips_what_it_can_t_read(
    store: SessionStore, engine: Engine, pointer: bytes | None
) -> None:
    for at, name in enumerate(("old", "damaged", "foreign")):
        store.save_snapshot(snapshot(name, at))
    break_record(engine, "damaged")
    key = layout.snapshot_key("foreign")
    engine.put(SESSION_IDENTITY, key, layout.wrap(key, 9, b"later"))
    engine.put(SESSION_IDENTITY, layout.time_key(START_MS + 9, "never-stored"), b"never-stored")
    if pointer is None:
        engine.delete(SESSION_IDENTITY, LATEST)
    else:
        engine.put(SESSION_IDENTITY, LATEST, pointer)
    assert store.load_snapshot().session_id == "old"
    assert engine.get(SESSION_IDENTITY, LATEST) == b"old"


def test_recovery_without_a_time_index_goes_by_the_records(store: SessionStore, engine: Engine) -> None:
    """Invariant 7: pointer and index are derived."""
    for at, name in enumerate(("b-newest", "a-older", "c-oldest")):
        store.save_snapshot(snapshot(name, -at))
    for key in [LATEST, *keys(engine, b"t:")]:
        engine.delete(SESSION_IDENTITY, key)
    assert store.load_snapshot().session_id == "b-newest"


def test_recovery_of_a_store_opened_read_only_leaves_the_pointer(db: Path) -> None:
    with SessionStore.open(db) as store:
        store.save_snapshot(snapshot("one"))
    raw = open_database(db)
    raw.delete(SESSION_IDENTITY, LATEST)
    raw.close()
    with SessionStore.open(db, read_only=True) as store:
        assert store.load_snapshot().session_id == "one"


def test_a_damaged_record_behind_the_pointer_is_an_error_and_not_an_older_session(
    store: SessionStore, engine: Engine
) -> None:
    """REQ-SESSION-12, REQ-SESSION-17: blocking, exit code 2, names session and cure."""
    store.save_snapshot(snapshot("old"))
    store.save_snapshot(snapshot("new", 1))
    break_record(engine, "new")
    with pytest.raises(CorruptedIdentityError) as caught:
        store.load_latest()
    assert caught.value.exit_code == 2
    for part in ("new", "checksum", "context-graph-cli repair --cf session_identity"):
        assert part in str(caught.value)


def test_a_store_of_damaged_records_only_is_not_taken_for_a_new_one(
    store: SessionStore, engine: Engine
) -> None:
    store.save_snapshot(snapshot("one"))
    break_record(engine, "one")
    engine.delete(SESSION_IDENTITY, LATEST)
    with pytest.raises(CorruptedIdentityError):
        store.load_latest()


def test_a_record_of_another_version_names_key_and_version(store: SessionStore, engine: Engine) -> None:
    """D4.7."""
    store.save_snapshot(snapshot("one"))
    key = layout.snapshot_key("one")
    engine.put(SESSION_IDENTITY, key, layout.wrap(key, 3, b"later"))
    with pytest.raises(FormatVersionError, match="s:one has format version 3"):
        store.load_snapshot("one")
