"""Whether a session goes on with the last one's work: said by the product itself, after real hooks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.agent_events import (
    LABELS_PROMPT,
    LABELS_STEPS,
    SHADER_STEPS,
    TARIFF_PROMPT,
    TARIFF_STEPS,
)
from tests.support.cli import Cli, end_process

Step = tuple[str, str, str]
TARIFF, LABELS = (TARIFF_PROMPT, TARIFF_STEPS), (LABELS_PROMPT, LABELS_STEPS)


def hook(cli: Cli, verb: str, session: str, *, fmt: str = "claude", **given: object) -> str:
    body = json.dumps({"session_id": session, "cwd": str(cli.project), **given})
    done = cli.run("hooks", verb, "--stdin", "--format", fmt, stdin=body)
    assert done.returncode in (0, 6), done.stderr  # 6: a crisis
    return done.stdout


def start(cli: Cli, session: str) -> str:
    return hook(cli, "session-start", session, hook_event_name="SessionStart", source="startup")


def ask(cli: Cli, session: str, prompt: str) -> None:
    hook(cli, "prompt-submit", session, hook_event_name="UserPromptSubmit", prompt=prompt)


def use(cli: Cli, session: str, number: int, step: Step) -> None:
    tool, given, output = step
    hook(
        *(cli, "post-tool", session),
        hook_event_name="PostToolUse",
        tool_name=tool,
        tool_input={"command": given},
        tool_response={"stdout": output.lstrip("!")},
        tool_use_id=f"toolu_{session}_{number}",
    )


def work(cli: Cli, session: str, task: tuple[str, tuple[Step, ...]], steps: slice = slice(None)) -> None:
    start(cli, session)
    ask(cli, session, task[0])
    for number, step in enumerate(task[1][steps]):
        use(cli, session, number, step)


def show(cli: Cli, session: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli.run("session", "show", "--session-id", session, "--json").stdout)
    return found


def database(cli: Cli) -> Path:
    (path,) = {found.parent for found in cli.root.rglob("CURRENT")}
    return path


def test_a_session_on_the_same_task_continues_the_last_one(cli: Cli) -> None:
    """Unknown until a prompt and three results are there."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    work(cli, "s-1", TARIFF, slice(6))
    last = show(cli, "s-1")["last_ic"]
    assert f"Identity restored from s-1. IC: {last:.2f} (" in start(cli, "s-2")
    ask(cli, "s-2", "continue")
    for number, step in enumerate(TARIFF_STEPS[6:9]):
        shown = show(cli, "s-2")
        assert (shown["cross_session_ic"], shown["relation"], shown["drift_metrics"]) == (
            None,
            "unknown",
            None,
        )
        assert "s-1 (not compared yet)" in cli.run("session", "show", "--session-id", "s-2").stdout
        use(cli, "s-2", number, step)
    shown = show(cli, "s-2")
    measured = shown["cross_session_ic"]
    assert 0.5 <= measured <= 1.0 and shown["relation"] == "continues"
    assert shown["drift_metrics"]["purpose_drift"] == pytest.approx(1.0 - measured)
    assert re.search(r"^continues +s-1$", cli.run("session", "show").stdout, re.MULTILINE)
    assert f"s-2 <- s-1 ({measured:.2f})" in cli.run("session", "show", "--verbose").stdout
    (row, first) = json.loads(cli.run("session", "list", "--json").stdout)["sessions"]
    assert (row["relation"], row["cross_session_ic"]) == ("continues", pytest.approx(measured))
    assert "relation" not in first
    status = json.loads(cli.run("consciousness", "status", "--json").stdout)
    assert (status["cross_session_ic"], status["relation"]) == (measured, "continues")


def test_a_session_on_another_task_is_new_work(cli: Cli) -> None:
    work(cli, "s-1", TARIFF)
    work(cli, "s-2", LABELS, slice(3))
    shown = show(cli, "s-2")
    assert shown["cross_session_ic"] < 0.5 and shown["relation"] == "new work"
    assert shown["previous_session_id"] == "s-1"
    measured = f"{shown['cross_session_ic']:.2f}"
    assert re.search(r"^new work +after s-1$", cli.run("session", "show").stdout, re.MULTILINE)
    newest = json.loads(cli.run("session", "list", "--json").stdout)["sessions"][0]
    assert (newest["relation"], newest["previous_session_id"]) == ("new work", "s-1")
    verbose = cli.run("consciousness", "inject-context", "--format", "verbose").stdout
    assert f"new work, cross-session IC={measured}" in verbose


def test_a_restored_session_reports_nothing_and_alarms_nobody_before_it_has_events(cli: Cli) -> None:
    """A last session in crisis is no crisis of the next: its numbers are told as its own, once."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    work(cli, "s-1", TARIFF)
    for number, step in enumerate(SHADER_STEPS):
        use(cli, "s-1", 100 + number, step)
        if show(cli, "s-1")["last_ic"] < 0.5:
            break
    last = show(cli, "s-1")["last_ic"]
    assert last < 0.5
    assert f"IC: {last:.2f} (degraded)" in start(cli, "s-2")
    check = cli.run("consciousness", "check-identity", "--auto-dream", "--session-id", "s-2")
    assert (check.stdout, check.stderr) == ("", "")
    assert show(cli, "s-2")["has_evidence"] is False


def test_nothing_to_tell_of_a_last_session_without_events(cli: Cli) -> None:
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    start(cli, "s-1")
    assert "Identity restored from s-1. IC: ? (no events yet)" in start(cli, "s-2")


def killed(cli: Cli) -> None:
    end_process(cli.owner_pid())


@pytest.mark.parametrize("end", [Cli.stop_owner, killed])
def test_an_owner_that_goes_in_between_changes_nothing(cli: Cli, end: Callable[[Cli], None]) -> None:
    """The same events, the same value: through a restart, and rebuilt from the events after a kill."""
    work(cli, "s-1", TARIFF, slice(6))
    measured = []
    for session, cut in (("s-2", None), ("s-3", 2)):
        hook(
            *(cli, "session-start", session),
            hook_event_name="SessionStart",
            source="startup",
            previous_session_id="s-1",
        )
        ask(cli, session, "continue")
        for number, step in enumerate(TARIFF_STEPS[6:10]):
            if number == cut:
                end(cli)
            use(cli, session, number, step)
        measured.append(show(cli, session))
    assert {one["previous_session_id"] for one in measured} == {"s-1"}
    assert measured[0]["cross_session_ic"] == measured[1]["cross_session_ic"] > 0.5
    end(cli)
    assert show(cli, "s-3")["cross_session_ic"] == measured[1]["cross_session_ic"]
    assert show(cli, "s-3")["ic_history"] == measured[0]["ic_history"]
