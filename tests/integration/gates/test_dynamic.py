"""Dynamic requirements: numbers from git and from commands, kept, limited in time, approved for a while."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.gates.in_process import A, B, Gate, git, named

from context_graph.gates.calculators import CalculationError, run_command
from context_graph.gates.commands import commands
from context_graph.gates.decide import evaluation


@pytest.fixture
def timed(tmp_path: Path) -> Gate:
    """One whose calculations have their limits."""
    return Gate(tmp_path)


@pytest.fixture
def gate(timed: Gate, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """One whose calculations have half a minute more: what they find is tried, not how fast."""
    later = SimpleNamespace(monotonic=lambda: time.monotonic() + 30)
    monkeypatch.setattr(evaluation, "time", later)
    return timed


def _size(gate: Gate, **fields: Any) -> None:
    entry = {
        "type": "dynamic",
        "calculator": "branch_size_calculator",
        "thresholds": {"warn": 3, "block": 10},
    }
    gate.config({"size": {**entry, "cache_ttl": 0, **fields}})
    git(gate.repo, "add", ".claude")
    git(gate.repo, "commit", "-q", "-m", "config")
    git(gate.repo, "branch", "-f", "main")


def _value(gate: Gate) -> float | None:
    value: float | None = commands.status(gate.place(), session=A)["requirements"]["size"]["value"]
    return value


def test_the_size_counts_committed_staged_changed_and_untracked_lines(gate: Gate) -> None:
    _size(gate)
    assert _value(gate) == 0
    (gate.repo / "src" / "a.py").write_text("b\n")
    assert _value(gate) == 2
    git(gate.repo, "commit", "-q", "-a", "-m", "x")
    (gate.repo / "staged").write_text("1\n2\n3\n")
    git(gate.repo, "add", "staged")
    (gate.repo / "untracked").write_text("1\n2")
    (gate.repo / "ignored").write_text("x\n" * 99)
    (gate.repo / "binary").write_bytes(b"\0\n" * 99)
    (gate.repo / ".git" / "info" / "exclude").write_text("ignored\n")
    assert _value(gate) == 2 + 3 + 2


def test_from_block_on_it_denies_until_approved_and_the_approval_ends(gate: Gate) -> None:
    """Thresholds and the approval's TTL, for one session."""
    _size(gate, approval_ttl=300, blocking_message="Too large ({value} of {block_threshold}): {split} it.")
    assert not gate.edit().decision
    (gate.repo / "big").write_text("x\n" * 10)
    result = gate.edit()
    assert named(result) == {"size"} and "Too large (10 of 10): {split} it." in result.reason
    assert "10 lines changed on this branch, the limit is 10: commit what is done" in result.reason
    commands.satisfy(gate.place(), ["size"], session=A)
    assert not gate.edit(A).decision and named(gate.edit(B)) == {"size"}
    gate.later(299)
    assert not gate.edit(A).decision
    gate.later(1)
    assert named(gate.edit(A)) == {"size"}


def test_a_warning_does_not_deny(gate: Gate) -> None:
    _size(gate)
    (gate.repo / "some").write_text("x\n" * 5)
    assert not gate.edit().decision
    assert "warning" in commands.status(gate.place(), session=A)["requirements"]["size"]["why"]


def test_trunks_are_not_measured_and_a_stacked_branch_from_its_base(gate: Gate) -> None:
    _size(gate)
    (gate.repo / "first").write_text("x\n" * 20)
    git(gate.repo, "add", "first")
    git(gate.repo, "commit", "-q", "-m", "first")
    assert named(gate.edit()) == {"size"}
    git(gate.repo, "checkout", "-q", "-b", "feature/next")
    (gate.repo / "second").write_text("x\n" * 4)
    git(gate.repo, "add", "second")
    git(gate.repo, "commit", "-q", "-m", "second")
    assert _value(gate) == 4
    git(gate.repo, "branch", "feature/same")
    assert _value(gate) == 4, "a branch that holds all of this one is no base"
    git(gate.repo, "checkout", "-q", "main")
    (gate.repo / "on-main").write_text("x\n" * 50)
    assert not gate.edit().decision


def test_an_unborn_branch_is_measured_from_nothing(tmp_path: Path) -> None:
    made = Gate(tmp_path / "u", repo=False)
    git(made.repo, "init", "-q", "-b", "fresh")
    made.config(
        {"size": {"type": "dynamic", "calculator": "branch_size_calculator", "thresholds": {"block": 1}}}
    )
    assert named(made.edit()) == {"size"}


def test_the_value_is_kept_for_its_time_and_hooks_do_not_calculate_anew(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git runs in a calculation that is kept, not on each hook."""
    _size(gate, cache_ttl=60)
    assert not gate.edit().decision
    (gate.repo / "big").write_text("x\n" * 50)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nonexistent")
        assert not gate.edit().decision, "the kept value holds, and no git was asked for"
    gate.later(61)
    assert named(gate.edit()) == {"size"}


def test_a_value_kept_by_a_clock_that_was_ahead_is_calculated_anew(gate: Gate) -> None:
    _size(gate, cache_ttl=60)
    gate.later(3600)
    assert not gate.edit().decision
    (gate.repo / "big").write_text("x\n" * 50)
    gate.later(-3600)
    assert named(gate.edit()) == {"size"}


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("echo 12", "deny"),
        ("echo 11.5 files", "deny"),
        (["printf", "3"], ""),
        ("wc -l < src/a.py", ""),
        ('test "$CONTEXT_GRAPH_BRANCH" = feature/auth && echo 99', "deny"),
    ],
)
def test_a_command_of_the_user_s_gives_the_number(gate: Gate, command: Any, decision: str) -> None:
    """Pluggable command: calculators."""
    gate.config({"n": {"type": "dynamic", "command": command, "thresholds": {"block": 10}}})
    result = gate.edit()
    assert result.decision == decision and not result.system_message


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 3", "status 3"),
        ("echo nothing", "no number"),
        ("true", "no number"),
        ("echo nan", "no number"),
        (["/nonexistent/x"], "can't be run"),
        ("kill -9 $$", "status -9"),
        ("echo 0; yes", "more than 65536 bytes"),
    ],
)
def test_a_calculation_that_fails_lets_the_call_pass_and_says_so(gate: Gate, command: Any, why: str) -> None:
    """Never an allow in silence."""
    _fails(gate, command, why)


@pytest.mark.parametrize("command", ["sleep 30", "sleep 30 & sleep 30"])
def test_a_calculation_that_takes_too_long_lets_the_call_pass_and_says_so(timed: Gate, command: str) -> None:
    _fails(timed, command, "too long")


def _fails(gate: Gate, command: Any, why: str) -> None:
    gate.config({"n": {"type": "dynamic", "command": command, "thresholds": {"block": 1}, "timeout": 0.2}})
    result = gate.edit()
    assert result.decision == "" and why in result.system_message
    assert [one["kind"] for one in result.records] == ["error"]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel limits no data")
def test_a_command_may_not_eat_all_memory(tmp_path: Path) -> None:
    def run(size: int) -> float:
        words = [sys.executable, "-S", "-c", f"x = bytearray({size} << 20); print(7)"]
        return run_command(words, str(tmp_path), "main", time.monotonic() + 20)

    assert run(100) == 7
    with pytest.raises(CalculationError, match="status 1"):
        run(1500)


def test_an_older_number_is_better_than_none(gate: Gate) -> None:
    """The branch did not shrink because its calculation failed."""
    flag = gate.repo / "broken"
    command = "test -e broken && exit 1; echo 50"
    gate.config({"n": {"type": "dynamic", "command": command, "thresholds": {"block": 10}, "cache_ttl": 5}})
    assert named(gate.edit()) == {"n"}
    flag.touch()
    gate.later(60)
    assert named(gate.edit()) == {"n"}


def test_all_calculations_of_one_call_share_a_budget(timed: Gate) -> None:
    entry = {"type": "dynamic", "command": "sleep 0.6; echo 1", "thresholds": {"block": 10}, "timeout": 0.7}
    timed.config({f"n{number}": entry for number in range(4)})
    result = timed.edit()
    assert result.decision == "" and "n3 could not be calculated" in result.system_message
    assert "n0" not in result.system_message


def test_stop_does_not_measure_a_branch_that_is_not_checked_out(gate: Gate) -> None:
    _size(gate)
    assert not gate.edit().decision
    git(gate.repo, "checkout", "-q", "-b", "feature/other")
    (gate.repo / "big").write_text("x\n" * 50)
    assert not gate.stop().decision
