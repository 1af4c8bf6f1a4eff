"""One branch's state: what counts as satisfied, for whom, and how the original's files are taken up."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.gates.in_process import A, B

from context_graph.gates.rules import GateCache
from context_graph.gates.state.state import MAX_SESSIONS, BranchState, is_current
from context_graph.gates.state.state_files import StateFiles
from context_graph.system.small_files import Locked, LockTimeoutError

NOW = 1_800_000_000.0


def _state(requirements: dict[str, Any]) -> BranchState:
    return BranchState("b", {"version": "1.0", "branch": "b", "requirements": requirements})


@pytest.mark.parametrize(
    ("expires", "current"),
    [
        (None, True),
        (0, True),
        (NOW + 1, True),
        (NOW, True),
        (NOW - 1, False),
        ("never", False),
        (True, False),
    ],
)
def test_expiry(expires: object, current: bool) -> None:
    assert is_current({"satisfied": True, "expires_at": expires}, NOW) is current


def test_an_approval_ends_at_its_second_and_a_lasting_one_never() -> None:
    record = {"satisfied": True, "expires_at": NOW}
    assert not is_current(record, NOW, approval=True)
    assert is_current(record, NOW + 9, lasting=True)


@pytest.mark.parametrize("said", [None, 1, "true", "yes", [], {}])
def test_only_true_satisfies(said: object) -> None:
    assert not is_current({"satisfied": said}, NOW)


def test_the_newer_of_a_full_and_a_short_key_counts_and_a_write_joins_them() -> None:
    """Seed 004 section 9: keys are migrated, the newer satisfied_at wins."""
    state = _state(
        {
            "r": {
                "scope": "session",
                "sessions": {
                    A: {"satisfied": True, "satisfied_at": 5, "satisfied_by": "old", "triggered": True},
                    A[:8]: {"satisfied": True, "satisfied_at": 9, "satisfied_by": "new"},
                    B: {"satisfied": True, "satisfied_at": 1},
                },
            }
        }
    )
    assert state.record("r", A)["satisfied_by"] == "new" and state.record("r", A)["triggered"] is True
    assert not state.changed
    state.arm("r", A, scope="session", now=NOW)
    assert set(state.sessions("r")) == {A, B}
    assert state.record("r", A)["satisfied_by"] == "new"


def test_a_short_id_that_fits_two_full_ones_means_neither() -> None:
    other = A[:8] + B[8:]
    state = _state({"r": {"sessions": {A: {"satisfied": True}, other: {"satisfied": True}}}})
    assert state.record("r", A[:8]) == {}
    assert state.record("r", A)["satisfied"] is True


@pytest.mark.parametrize(
    "shape", [None, 7, "x", [], {"sessions": []}, {"sessions": {A: 3}}, {"sessions": {A: []}}]
)
def test_entries_of_a_wrong_shape_read_as_nothing_and_can_be_written_over(shape: object) -> None:
    state = _state({"r": shape})
    assert state.record("r", A) == {} and not state.is_armed("r", A, per_session=True)
    state.satisfy("r", A, scope="session", now=NOW, by="cli")
    assert state.record("r", A)["satisfied"] is True


def test_records_are_bounded_the_least_recently_used_go() -> None:
    """Growth bounded."""
    state = _state({})
    for number in range(MAX_SESSIONS + 20):
        state.satisfy("r", f"session-{number}", scope="session", now=NOW + number, by="cli")
    assert len(state.sessions("r")) == MAX_SESSIONS
    assert state.record("r", "session-0") == {} and state.record("r", f"session-{MAX_SESSIONS + 19}")


def test_a_root_flag_armed_by_the_original_counts_only_where_no_session_is_known() -> None:
    old = _state({"r": {"scope": "branch", "triggered": True}})
    assert old.is_armed("r", A, per_session=False) and not old.is_armed("r", A, per_session=True)
    old.arm("r", B, scope="branch", now=NOW)
    assert old.is_armed("r", B, per_session=False) and not old.is_armed("r", A, per_session=False)


def test_branches_of_the_same_flat_name_have_files_of_their_own(tmp_path: Path) -> None:
    """Feature/a and feature-a."""
    files = StateFiles(str(tmp_path), "/p", GateCache())
    for branch in ("feature/a", "feature-a", "feature\\a"):
        files.change(
            branch, NOW, lambda state: state.satisfy("r", "", scope="branch", now=NOW, by=state.branch)
        )
    for branch in ("feature/a", "feature-a", "feature\\a"):
        assert files.load(branch, NOW).entry("r")["satisfied_by"] == branch
    assert len(list((tmp_path / "requirements").glob("*.json"))) == 3
    assert json.loads((tmp_path / "requirements" / "feature-a.json").read_text())["branch"] == "feature/a"


def test_the_first_branch_has_the_original_s_file_name_and_shape(tmp_path: Path) -> None:
    """Still readable by the original: version, root flags, sessions map, integers."""
    files = StateFiles(str(tmp_path), "/p", GateCache())

    def apply(state: BranchState) -> None:
        state.satisfy("s", A, scope="session", now=NOW + 0.7, by="cli", expires_at=None)
        state.satisfy("b", "", scope="branch", now=NOW + 0.7, by="cli")
        state.arm("b", A, scope="branch", now=NOW)

    files.change("fix/ü x", NOW, apply)
    document = json.loads((tmp_path / "requirements" / "fix-ü_x.json").read_text())
    assert document["version"] == "1.0" and document["branch"] == "fix/ü x" and document["project"] == "/p"
    assert isinstance(document["updated_at"], int) and isinstance(document["created_at"], int)
    own = document["requirements"]["s"]["sessions"][A]
    assert own == {"satisfied": True, "satisfied_at": int(NOW), "satisfied_by": "cli", "expires_at": None}
    assert (
        document["requirements"]["b"]["satisfied"] is True
        and document["requirements"]["b"]["triggered"] is True
    )


@pytest.mark.parametrize(
    "text", ["[]", "", "{", '{"version": "2.0"}', '{"version": "1.0", "branch": "x"}', "\x00"]
)
def test_an_unreadable_file_reads_as_empty_and_is_kept_aside(tmp_path: Path, text: str) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "x.json").write_text(text)
    files = StateFiles(str(tmp_path), "/p", GateCache())
    assert files.load("x", NOW).names() == []
    files.change("x", NOW, lambda state: state.satisfy("r", "", scope="branch", now=NOW, by="cli"))
    assert files.load("x", NOW).entry("r")["satisfied"] is True
    assert (tmp_path / "requirements" / "x.json.unreadable").read_text() == text


def test_a_change_of_nothing_writes_nothing(tmp_path: Path) -> None:
    files = StateFiles(str(tmp_path), "/p", GateCache())
    files.change("x", NOW, lambda state: None)
    assert list((tmp_path / "requirements").glob("*.json")) == []


def test_a_lock_that_others_hold_is_given_up_in_time(tmp_path: Path) -> None:
    """A bounded wait, and an error that says whose lock it is."""
    path = str(tmp_path / "x.lock")
    with Locked(path), pytest.raises(LockTimeoutError, match=r"x\.lock"), Locked(path, wait_s=0.02):
        pass
    with Locked(path, wait_s=0.02):
        pass


def _satisfy(state: BranchState, *, at: float) -> None:
    state.satisfy("r", A, scope="session", now=at, by="cli")


def test_a_late_satisfaction_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    files = StateFiles(str(tmp_path), "/p", GateCache())
    for now in (NOW + 50, NOW):
        files.change("feature/a", NOW, partial(_satisfy, at=now))
    assert files.load("feature/a", NOW).record("r", A)["satisfied_at"] == int(NOW + 50)
    for at, left in ((NOW + 40, True), (NOW + 50, False)):
        assert files.use_up("feature/a", "r", A, at) is not left
        assert bool(files.load("feature/a", NOW).record("r", A)) is left
