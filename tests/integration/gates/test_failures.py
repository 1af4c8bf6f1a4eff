"""A tool that fails again and again: from the third time on what is open is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.gates.in_process import A, B, Gate

from context_graph.gates.commands import commands
from context_graph.gates.event import GateResult


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def fail(gate: Gate, number: int, tool: str = "Edit", session: str = A, **fields) -> GateResult:
    """The event of that second."""
    given = {"tool_name": tool, "tool_input": {}, "at": gate.clock + number, **fields}
    return gate.event("PostToolUseFailure", session, **given)


def test_the_third_failure_in_a_row_brings_what_is_open(gate: Gate) -> None:
    gate.config({"plan": {}, "review": {}})
    assert [fail(gate, number).context for number in (1, 2)] == ["", ""]
    told = fail(gate, 3).context
    assert told.startswith("Edit has failed 3 times in a row")
    assert "2 of 2 open: plan, review" in told
    assert "req satisfy plan review`" in told
    assert "4 times" in fail(gate, 4).context


def test_the_same_event_counts_once(gate: Gate) -> None:
    gate.config({"plan": {}})
    assert [fail(gate, number).context for number in (1, 1, 1, 2, 2)] == [""] * 5
    assert fail(gate, 3).context


def test_each_tool_and_each_session_has_its_own_row(gate: Gate) -> None:
    gate.config({"plan": {}})
    for number in range(2):
        assert not fail(gate, number).context
        assert not fail(gate, 10 + number, "Bash").context
        assert not fail(gate, 20 + number, session=B).context
    assert fail(gate, 2).context


def test_a_success_or_the_session_s_end_ends_the_row(gate: Gate) -> None:
    gate.config({"plan": {}})
    for number in (1, 2):
        fail(gate, number)
    gate.after("Bash", {"command": "ls"})
    gate.after("Edit", {"file_path": "a.py"})
    assert [fail(gate, number).context for number in (3, 4)] == ["", ""]
    gate.event("SessionEnd")
    assert [fail(gate, number).context for number in (5, 6)] == ["", ""]
    assert fail(gate, 7).context


def test_what_the_user_interrupted_is_no_failure(gate: Gate) -> None:
    gate.config({"plan": {}})
    assert [fail(gate, number, interrupted=True).context for number in range(5)] == [""] * 5


def test_nothing_is_said_where_nothing_is_required_or_wanted(gate: Gate) -> None:
    assert [fail(gate, number).context for number in range(4)] == [""] * 4
    gate.config({"plan": {"enabled": False}})
    assert [fail(gate, number).context for number in range(4, 8)] == [""] * 4
    gate.config({"plan": {}}, hooks={"tool_failure": {"guidance": False}})
    assert [fail(gate, number).context for number in range(8, 12)] == [""] * 4


def test_met_requirements_are_said_to_be_met(gate: Gate) -> None:
    gate.config({"plan": {}})
    commands.satisfy(gate.place(), ["plan"], session=A)
    assert "all 1 met" in [fail(gate, number).context for number in range(3)][-1]
