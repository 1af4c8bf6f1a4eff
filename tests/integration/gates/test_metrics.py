"""A session's numbers beside the state: seed 004 section 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.gates.in_process import A, Gate

from context_graph.gates.commands import commands
from context_graph.gates.state.journal import FLUSHED_AT

TWIN = A[:8] + "-0000-4000-8000-000000000009"


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    made = Gate(tmp_path)
    made.config({"plan": {"satisfied_by_skill": "planner"}, "adr": {}})
    return made


def _numbers(gate: Gate, session: str = A) -> dict[str, Any]:
    paths = (gate.state_folder / "sessions").glob("*.json")
    found = [
        document for path in paths if (document := json.loads(path.read_text()))["session_id"] == session
    ]
    assert len(found) == 1
    return dict(found[0])


def test_what_a_session_did_is_counted(gate: Gate) -> None:
    gate.event("SessionStart", source="startup")
    gate.edit()
    gate.edit()
    gate.later(40)
    gate.after("Skill", {"skill": "planner"})
    commands.satisfy(gate.place(), ["adr"], session=A)
    for _ in range(3):
        gate.after("Read", {"file_path": "/x"})
    gate.after("Bash", {"command": "ls secret"}, success=False)
    gate.event("PreCompact", reason="auto")
    gate.later(20)
    gate.event("SessionEnd", reason="other")
    found = _numbers(gate)
    assert (gate.state_folder / "sessions" / f"{A[:8]}.json").is_file()
    assert found["version"] == "1.0" and found["branch"] == "feature/auth"
    assert (
        found["duration_seconds"] == 60 and found["compaction_count"] == 1 and found["skills"] == ["planner"]
    )
    tools = {name: (one["count"], one["blocked_count"]) for name, one in found["tools"].items()}
    assert tools == {"Edit": (0, 2), "Skill": (1, 0), "Read": (3, 0), "Bash": (1, 0)}
    plan, adr = found["requirements"]["plan"], found["requirements"]["adr"]
    assert plan["blocked_count"] == adr["blocked_count"] == 2
    assert plan["time_to_satisfy_seconds"] == 40 and plan["satisfied_by"] == "skill"
    assert adr["satisfied_by"] == "user" and "secret" not in json.dumps(found)


def test_sessions_of_the_same_short_form_have_a_file_each(gate: Gate) -> None:
    for session in (A, TWIN):
        gate.event("SessionStart", session, source="startup", pid=0)
        gate.edit(session)
        gate.event("SessionEnd", session, reason="other")
    assert _numbers(gate)["tools"]["Edit"]["blocked_count"] == 1
    assert _numbers(gate, TWIN)["tools"]["Edit"]["blocked_count"] == 1


def test_numbers_are_bounded_in_size_and_number(gate: Gate) -> None:
    gate.event("SessionStart", source="startup")
    for number in range(150):
        gate.after(f"Tool{number}", {})
    gate.event("SessionEnd", reason="other")
    assert len(_numbers(gate)["tools"]) <= 101
    folder = gate.state_folder / "sessions"
    for number in range(300):
        (folder / f"{number:08x}.json").write_text("{}")
    gate.event("SessionStart", source="startup")
    assert len(list(folder.glob("*.json"))) <= 201


def test_a_project_that_enforces_nothing_counts_nothing(gate: Gate) -> None:
    gate.config({})
    for _ in range(FLUSHED_AT):
        gate.after("Read", {})
    assert not (gate.state_folder / "sessions").exists()


def test_numbers_that_are_damaged_or_cannot_be_written_stop_nothing(gate: Gate) -> None:
    folder = gate.state_folder / "sessions"
    folder.mkdir(parents=True)
    (folder / f"{A[:8]}.json").write_text('{"version": "1.0", "session_id": "' + A + '", "tools": 7}')
    assert gate.edit().decision == "deny"
    (folder / f"{A[:8]}.json").unlink()
    (folder / f"{A[:8]}.json").mkdir()
    assert gate.edit().decision == "deny"
