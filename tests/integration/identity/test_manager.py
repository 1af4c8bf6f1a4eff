"""The seeds' SessionIdentityManager on a real store."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.store import break_record, run, snapshot

from context_graph.errors import (
    CorruptedIdentityError,
    InvalidInputError,
    SessionNotFoundError,
    StoreLockedError,
)
from context_graph.identity.consciousness import order_of
from context_graph.identity.manager import SessionIdentityManager
from context_graph.model import SessionIdentitySnapshot
from context_graph.store.schema import open_database
from context_graph.store.sessions.sessions import SessionStore

AXES = [[1.0 if index == axis else 0.0 for index in range(13)] for axis in range(13)]


@pytest.fixture
def manager(db: Path) -> Iterator[SessionIdentityManager]:
    with SessionIdentityManager.open(db) as opened:
        yield opened


def at_angle(cosine: float) -> list[float]:
    """A unit vector with that cosine to the first axis."""
    return [cosine, math.sqrt(1 - cosine * cosine), *[0.0] * 11]


def test_a_session_is_created_with_the_seed_s_defaults_and_durable_at_once(db: Path) -> None:
    """REQ-HOOKS-23, REQ-SESSION-01."""
    code = """
        import json, os, sys
        from dataclasses import asdict
        from context_graph.identity.manager import SessionIdentityManager
        manager = SessionIdentityManager.open(sys.argv[1])
        print(json.dumps(asdict(manager.load_or_create("one"))), flush=True)
        os.kill(os.getpid(), 9)
    """
    made = json.loads(run(code, db).stdout)
    assert made["kuramoto_phases"] == [0.0] * 13
    assert (made["coupling"], made["crisis_threshold"], made["last_ic"]) == (0.5, 0.5, 1.0)
    assert (made["cross_session_ic"], made["consciousness"], made["trajectory"]) == (1.0, 0.0, [])
    with SessionIdentityManager.open(db) as manager:
        assert manager.load_or_create("one").timestamp_ms == made["timestamp_ms"]


def test_a_new_session_continues_the_previous_one(manager: SessionIdentityManager) -> None:
    """REQ-HOOKS-23, D3.5: purpose vector, phases and trajectory are carried over."""
    first = snapshot("first")
    first.kuramoto_phases = [index / 16 for index in range(13)]
    first.coupling = 2.5
    manager.save(first)
    second = manager.load_or_create("second", "first")
    assert second.previous_session_id == "first"
    assert second.purpose_vector == first.purpose_vector
    assert second.kuramoto_phases == first.kuramoto_phases
    assert (second.coupling, second.trajectory) == (2.5, first.trajectory)
    assert second.cross_session_ic is None and second.last_ic == first.last_ic
    assert manager.load_or_create("first").trajectory == first.trajectory  # a copy, not a share


def test_a_previous_session_that_is_not_there_means_a_fresh_start(manager: SessionIdentityManager) -> None:
    """D3.5."""
    made = manager.load_or_create("one", "never-stored")
    assert (made.previous_session_id, made.cross_session_ic) == (None, 1.0)


def test_loading_an_unlinked_session_with_a_previous_one_links_it(manager: SessionIdentityManager) -> None:
    manager.save(snapshot("first"))
    manager.save(snapshot("second", 1))
    assert manager.load_or_create("second", "first").previous_session_id == "first"
    manager.save(snapshot("third", 2))
    assert manager.load_or_create("second", "third").previous_session_id == "first"  # stays


@pytest.mark.parametrize("cosine", [1.0, 0.95, 0.8, 0.5, 0.0, -1.0])
def test_ic_is_the_cosine_with_the_stored_vector_times_r(
    manager: SessionIdentityManager, cosine: float
) -> None:
    """REQ-HOOKS-25, IDENTITY-001: the formula on the new and the stored vector."""
    manager.load_or_create("one")
    manager.update_ic_and_trajectory("one", AXES[0], 0.0)
    updated = manager.update_ic_and_trajectory("one", at_angle(cosine), 0.0)
    assert updated.last_ic == pytest.approx(max(0.0, cosine), abs=1e-6)  # r is 1 at zero phases
    assert updated.purpose_vector == pytest.approx(at_angle(cosine))
    assert len(updated.trajectory) == 2


def test_r_of_the_session_s_phases_scales_ic(manager: SessionIdentityManager) -> None:
    made = snapshot("one")
    made.kuramoto_phases = [index * 2 * math.pi / 13 for index in range(13)]  # evenly spread: r = 0
    made.purpose_vector = AXES[0]
    manager.save(made)
    assert manager.update_ic_and_trajectory("one", AXES[0], 0.0).last_ic == pytest.approx(0.0, abs=1e-9)


def test_the_first_vector_of_a_session_has_perfect_continuity(manager: SessionIdentityManager) -> None:
    """D3.3: fewer than two vectors, 1.0; and a zero vector after that, 0."""
    manager.load_or_create("one")
    assert manager.update_ic_and_trajectory("one", AXES[5], 0.0).last_ic == 1.0
    assert manager.update_ic_and_trajectory("one", [0.0] * 13, 0.0).last_ic == 0.0


def test_ic_delta_is_recorded_capped_and_decides_nothing(manager: SessionIdentityManager) -> None:
    """D3.4."""
    manager.load_or_create("one")
    for delta in (0.05, 5.0, -5.0):
        updated = manager.update_ic_and_trajectory("one", AXES[0], delta)
        assert updated.last_ic == 1.0
    assert [(row.kind, row.value) for row in manager.evidence("one")] == [
        ("ic_delta", 0.05),
        ("ic_delta", 0.1),
        ("ic_delta", -0.1),
    ]


@pytest.mark.parametrize(
    ("vector", "delta", "named"),
    [
        ([0.0] * 12, 0.0, "purpose_vector has 12"),
        ([math.nan, *[0.0] * 12], 0.0, r"purpose_vector\[0\]"),
        ([*[0.0] * 12, 1e39], 0.0, r"purpose_vector\[12\]"),
        ([0.0] * 13, math.nan, "ic_delta"),
        ([0.0] * 13, math.inf, "ic_delta"),
    ],
)
def test_a_number_that_is_not_finite_changes_nothing(
    manager: SessionIdentityManager, vector: list[float], delta: float, named: str
) -> None:
    before = manager.load_or_create("one")
    with pytest.raises(InvalidInputError, match=named):
        manager.update_ic_and_trajectory("one", vector, delta)
    assert manager.get_cached("one") == before
    assert manager.evidence("one") == []


def test_the_trajectory_keeps_the_last_fifty_vectors_across_a_restart(db: Path) -> None:
    """TC-SESSION-02."""
    rng = random.Random(7)
    sent = [[rng.uniform(-1, 1) for _ in range(13)] for _ in range(57)]
    with SessionIdentityManager.open(db) as manager:
        manager.load_or_create("one")
        for vector in sent:
            manager.update_ic_and_trajectory("one", vector, 0.0)
    with SessionIdentityManager.open(db) as manager:
        stored = manager.load_or_create("one")
    assert len(stored.trajectory) == 50
    for got, wanted in zip(stored.trajectory, sent[-50:], strict=True):
        assert got == pytest.approx(wanted, abs=1e-6)
    assert 0.0 <= stored.last_ic <= 1.0


def test_the_cache_answers_without_the_store_and_hands_out_copies(manager: SessionIdentityManager) -> None:
    """REQ-HOOKS-26."""
    assert manager.get_cached() is None
    manager.save(snapshot("one"))
    manager.save(snapshot("two", 1))
    cached = manager.get_cached()
    assert cached == snapshot("two", 1)
    assert manager.get_cached("one") == snapshot("one")
    assert manager.get_cached("three") is None
    cached.purpose_vector[0] = 99.0
    assert manager.get_cached("two") == snapshot("two", 1)
    manager.close()
    assert manager.get_cached() is None


def test_linking_computes_and_stores_the_cross_session_ic(db: Path) -> None:
    """REQ-HOOKS-27, TC-SESSION-07, TC-SESSION-08: identical vectors give r, orthogonal ones 0."""
    with SessionIdentityManager.open(db) as manager:
        for name, vector in (("a", AXES[0]), ("same", AXES[0]), ("other", AXES[1])):
            made = snapshot(name)
            made.purpose_vector = vector
            manager.save(made)
        assert manager.link_sessions("same", "a") == pytest.approx(1.0)
        assert manager.link_sessions("other", "a") == 0.0
        for current, previous in (("one", "a"), ("a", "one")):
            with pytest.raises(SessionNotFoundError):
                manager.link_sessions(current, previous)
    with SessionIdentityManager.open(db) as manager:
        assert manager.load_or_create("other").previous_session_id == "a"
        assert manager.load_or_create("other").cross_session_ic == 0.0


def test_a_link_that_would_close_a_circle_is_refused(manager: SessionIdentityManager) -> None:
    for at, name in enumerate(("a", "b", "c")):
        manager.save(snapshot(name, at))
    manager.link_sessions("b", "a")
    manager.link_sessions("c", "b")
    for current, previous in (("a", "c"), ("a", "b"), ("a", "a")):
        with pytest.raises(InvalidInputError, match="can't continue"):
            manager.link_sessions(current, previous)


def test_the_final_snapshot_keeps_everything(manager: SessionIdentityManager) -> None:
    """REQ-HOOKS-28, REQ-SESSION-13: persist never resets anything."""
    before = snapshot("one", 0, "zero")
    before.consciousness = 0.625
    manager.save(before)
    final = manager.persist_final("one", 90_000)
    assert final.timestamp_ms > before.timestamp_ms
    final.timestamp_ms = before.timestamp_ms
    assert final == before
    (told,) = manager.evidence("one")
    assert (told.kind, told.value, told.ic) == ("session_end", 90_000.0, 0.875)
    with pytest.raises(InvalidInputError, match="duration_ms"):
        manager.persist_final("one", -1)
    with pytest.raises(SessionNotFoundError):
        manager.persist_final("two", 1)


def test_a_captured_snapshot_is_the_present_state_and_not_saved(manager: SessionIdentityManager) -> None:
    """REQ-SESSION-06."""
    manager.save(snapshot("one"))
    captured = manager.capture_snapshot("one")
    assert captured.timestamp_ms > snapshot("one").timestamp_ms
    assert manager.load_or_create("one") == snapshot("one")
    with pytest.raises(SessionNotFoundError):
        manager.capture_snapshot("two")


def test_restoring_begins_a_new_session_linked_to_the_latest(manager: SessionIdentityManager) -> None:
    """REQ-SESSION-06, TC-SESSION-14, D3.5."""
    manager.save(snapshot("old"))
    manager.save(snapshot("latest", 1))
    restored, ic = manager.restore_identity()
    assert restored.session_id not in ("old", "latest")
    assert restored.previous_session_id == "latest"
    assert restored.trajectory == snapshot("latest").trajectory
    assert restored.cross_session_ic is ic is None  # its vector is only a copy
    assert restored.last_ic == snapshot("latest").last_ic
    assert manager.load_or_create(restored.session_id) == restored
    again, _ = manager.restore_identity()
    assert again.previous_session_id == restored.session_id


def test_the_first_own_vector_of_a_restored_session_is_measured_against_the_old_one(db: Path) -> None:
    """D3.5: seed 000's formula on two vectors that were made apart; it is kept, and never measured again."""
    with SessionIdentityManager.open(db) as manager:
        manager.load_or_create("old")
        manager.update_ic_and_trajectory("old", [1.0] + [0.0] * 12, 0.0)
        restored, ic = manager.restore_identity("old")
        assert ic is None
        r = order_of(restored.kuramoto_phases)
        first = manager.update_ic_and_trajectory(restored.session_id, [0.6, 0.8] + [0.0] * 11, 0.0)
        assert first.cross_session_ic == first.last_ic == pytest.approx(0.6 * r, abs=1e-6)
        manager.update_ic_and_trajectory(restored.session_id, [0.6, 0.8] + [0.0] * 11, 0.0)
    with SessionIdentityManager.open(db) as manager:
        kept = manager.load_or_create(restored.session_id)
        assert kept.cross_session_ic == pytest.approx(0.6 * r, abs=1e-6)
        assert kept.last_ic == pytest.approx(r, abs=1e-6)


def test_restoring_a_target_takes_its_full_id_or_alias(manager: SessionIdentityManager) -> None:
    """D1.5."""
    name = "0123abcd-1111-4222-8333-444444444444"
    manager.save(snapshot(name))
    manager.save(snapshot("latest", 1))
    for target in (name, "0123abcd"):
        assert manager.restore_identity(target)[0].previous_session_id == name


@pytest.mark.parametrize("target", [None, "never-stored"])
def test_nothing_to_restore_is_a_fresh_session(manager: SessionIdentityManager, target: str | None) -> None:
    """TC-SESSION-16, D3.5."""
    restored, ic = manager.restore_identity(target)
    assert (restored.previous_session_id, ic) == (None, 1.0)
    assert restored.trajectory == []


def test_a_damaged_session_to_restore_is_an_error_and_nothing_begins(db: Path) -> None:
    """REQ-SESSION-17."""
    engine = open_database(db)
    store = SessionStore(engine)
    store.save_snapshot(snapshot("one"))
    break_record(engine, "one")
    manager = SessionIdentityManager(store)
    for restore in (
        lambda: manager.restore_identity(),
        lambda: manager.restore_identity("one"),
        lambda: manager.load_or_create("two", "one"),
        lambda: manager.load_or_create("one"),
    ):
        with pytest.raises(CorruptedIdentityError):
            restore()
    assert store.count() == 1
    manager.close()


def test_cross_session_ic_is_the_plain_formula(manager: SessionIdentityManager) -> None:
    """IDENTITY-001."""
    current, previous = snapshot("a"), snapshot("b")
    current.purpose_vector, previous.purpose_vector = at_angle(0.6), AXES[0]
    current.kuramoto_phases = [0.0] * 6 + [math.pi / 2] * 7
    r = math.hypot(6, 7) / 13
    assert manager.compute_cross_session_ic(current, previous) == pytest.approx(0.6 * r, abs=1e-6)
    previous.purpose_vector = at_angle(-0.6)
    current.purpose_vector = AXES[0]
    assert manager.compute_cross_session_ic(current, previous) == 0.0


def test_a_held_store_is_refused_by_name(db: Path, manager: SessionIdentityManager) -> None:
    with pytest.raises(StoreLockedError):
        SessionIdentityManager.open(db)


def test_more_sessions_than_the_cache_holds_are_read_again(manager: SessionIdentityManager) -> None:
    for number in range(70):
        manager.save(SessionIdentitySnapshot(session_id=f"s{number}"))
    assert manager.get_cached("s0") is None
    assert manager.load_or_create("s0").session_id == "s0"


def test_the_documented_library_runs_as_a_users_program(tmp_path: Path) -> None:
    """REQ-HOOKS-23, REQ-HOOKS-25, REQ-HOOKS-26, REQ-HOOKS-27: docs/dev/library.md's lines as a process.

    The cosine of the two vectors is 0.8, the phases are those that a session begins with; a session that
    continues another has its vector, so the link is r.
    """
    page = (Path(__file__).resolve().parents[3] / "docs" / "dev" / "library.md").read_text(encoding="utf-8")
    (code,) = re.findall(
        r"```python\n(from context_graph import SessionIdentityManager.*?)```", page, re.DOTALL
    )
    folder = tmp_path / "sessions"
    done = subprocess.run(
        [sys.executable, "-c", code.replace("/path/to/sessions", str(folder))],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    ic, link = map(float, done.stdout.split())
    with SessionIdentityManager.open(folder) as manager:
        r = order_of(manager.load_or_create("monday").kuramoto_phases)
        assert ic == pytest.approx(0.8 * r, abs=0.006) and link == pytest.approx(r, abs=0.006)
        assert manager.load_or_create("tuesday").previous_session_id == "monday"
