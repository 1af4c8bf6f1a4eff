"""The tools that fit and score the identity, on a small benchmark of hand-written sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from research.fit import identity, score_drift
from research.fit.drift_data import load_cases, load_sessions
from tests.support.agent_events import LABELS, SHADER, TARIFF

from context_graph.identity.ego import CALIBRATION, Calibration

NAMES = {
    "prompt-submit": "UserPromptSubmit",
    "post-tool": "PostToolUse",
    "post-tool-failure": "PostToolUseFailure",
}


def recorded(name: str, project: str, events, *, split: str = "dev") -> dict[str, object]:
    """A session in drift_bench's format; twice over, so that there is enough of it to cut."""
    rows: list[dict[str, object]] = []
    for event in events + events[1:]:
        row: dict[str, object] = {"event": NAMES[event.kind.value]}
        if event.tool_name:
            row |= {"tool_name": event.tool_name, "tool_input": {"command": event.input_text}}
            failed = event.kind.value == "post-tool-failure"
            row |= (
                {"error": event.output_text} if failed else {"tool_response": {"stdout": event.output_text}}
            )
        else:
            row["prompt"] = event.input_text
        rows.append(row)
    return {"id": name, "set": "own", "split": split, "project": project, "events": rows}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    sessions = [
        recorded("tariff", "harbor", TARIFF),
        recorded("labels", "harbor", LABELS),
        recorded("shader", "lumen", SHADER),
        recorded("hidden", "lumen", TARIFF, split="test"),
    ]
    cut = 8
    cases = {
        "control|tariff": [("tariff", i) for i in range(20)],
        "splice|tariff": [("tariff", i) for i in range(cut)] + [("shader", i) for i in range(cut, 18)],
        "near|labels": [("labels", i) for i in range(cut)] + [("tariff", i) for i in range(cut, 18)],
    }
    rows = [
        {"case": name, "kind": name.split("|")[0], "set": "own", "split": "dev", "at": cut, "refs": refs}
        for name, refs in cases.items()
    ]
    folder = tmp_path / "drift"
    folder.mkdir()
    (folder / "sessions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sessions))
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def signals(path: Path) -> dict[str, list[float]]:
    cases: dict[str, list[float]] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        cases.setdefault(row["case"], []).append(row["signal"])
        assert row["t"] == len(cases[row["case"]]) - 1
    return cases


def test_sessions_and_cases_are_read_as_the_owner_would_see_them(data: Path) -> None:
    sessions = load_sessions(data)
    first, second = sessions["tariff"].events[:2]
    assert (first.tool_name, first.input_text) == ("", TARIFF[0].input_text)
    assert (second.input_text, second.output_text) == (TARIFF[1].input_text, TARIFF[1].output_text)
    failed = [event for event in sessions["tariff"].events if event.success is False]
    assert failed[0].output_text == TARIFF[6].output_text
    assert [case.kind for case in load_cases(data, "dev")] == ["control", "splice", "near"]
    assert load_cases(data, "test") == []


def test_scoring_writes_one_signal_for_every_event_of_every_case(data: Path, tmp_path: Path) -> None:
    """Own work stays up, foreign work goes down."""
    out = tmp_path / "signals.jsonl"
    assert score_drift.main([str(data), str(out)]) == 0
    cases = signals(out)
    assert {name: len(values) for name, values in cases.items()} == {
        "control|tariff": 20,
        "splice|tariff": 18,
        "near|labels": 18,
    }
    assert min(cases["control|tariff"]) > 0.9
    assert min(cases["splice|tariff"][8:]) < 0.9


def test_scoring_runs_the_scorer_that_it_is_given(data: Path, tmp_path: Path, capfd) -> None:
    scorer = tmp_path / "score.py"
    scorer.write_text("import sys; print('scored', *sys.argv[3:]); sys.exit(3)")
    out, result = tmp_path / "signals.jsonl", tmp_path / "result.json"
    assert score_drift.main([str(data), str(out), "--score", str(scorer), "--json", str(result)]) == 3
    assert capfd.readouterr().out.strip() == f"scored --split dev --json {result}"


def test_fitting_prints_constants_that_can_be_pasted(data: Path, capsys) -> None:
    assert identity.main([str(data)]) == 0
    printed = capsys.readouterr().out
    scope: dict[str, object] = {"Calibration": Calibration, "Final": object}
    exec(printed.replace("CALIBRATION: Final", "CALIBRATION"), scope)
    fitted = scope["CALIBRATION"]
    assert isinstance(fitted, Calibration)
    assert [len(values) for values in (fitted.on, fitted.middle, fitted.weight)] == [13, 13, 13]
    assert all(weight > 0.0 for weight in fitted.weight)
    assert all(0.0 <= middle <= 1.0 for middle in fitted.middle)
    assert 0.0 < fitted.offset < sum(fitted.weight)


def test_the_check_tells_other_constants(data: Path, capsys, monkeypatch) -> None:
    assert identity.main([str(data), "--check"]) == 1
    assert "other constants" in capsys.readouterr().err
    trials = identity.training_trials({n: s for n, s in load_sessions(data).items() if s.split == "dev"})
    monkeypatch.setattr(identity, "CALIBRATION", identity.fit(trials))
    assert identity.main([str(data), "--check"]) == 0


def test_sessions_of_other_splits_are_never_fitted(data: Path) -> None:
    sessions = {name: s for name, s in load_sessions(data).items() if s.split == "dev"}
    trials = identity.training_trials(sessions)
    assert {project for trial in trials for project in trial.projects} == {"harbor", "lumen"}
    assert "hidden" not in sessions
    assert {trial.kind for trial in trials} == {"control", "near", "splice"}


def test_the_tool_and_a_live_session_compute_the_same_continuity(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "signals.jsonl"
    score_drift.main([str(data), str(out)])
    live = signals(out)
    sessions, recorder = load_sessions(data), identity.Recorder()
    for case in load_cases(data, "dev"):
        events = [(sessions[name], sessions[name].events[index]) for name, index in case.refs]
        values = identity.continuity(recorder.trial(case.kind, events, 8), CALIBRATION)
        assert values == pytest.approx(live[case.name], abs=1e-6)
