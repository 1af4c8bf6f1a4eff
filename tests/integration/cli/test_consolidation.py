"""`memory consolidate`, undo, history, runs, goals and show --as-of through the installed program."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.owner.harness import wait_until
from tests.support.sessions import memory, remember

from context_graph.consolidation.messages import leftovers

OLD = ("--occurred-at", "2025-01-31T09:30:00Z")
FACTS = [
    "The parser of dates lives in src/dates.py and takes ISO 8601 only",
    "Deploys run from the main branch on Tuesdays, never from a feature branch",
]
ROOT = Path(__file__).resolve().parents[3]


def fill(cli: Cli) -> list[str]:
    """Two facts, each twice, long ago; their ids."""
    texts = [*FACTS, *(f"{fact.replace(', ', ',  ')}." for fact in FACTS)]
    return [remember(cli, text, *OLD) for text in texts]


def ids(cli: Cli) -> list[str]:
    return sorted(node["id"] for node in memory(cli, "list")["nodes"])


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def test_from_the_dry_run_to_the_undo(cli: Cli) -> None:
    """The whole way that the skill tells."""
    every = sorted(fill(cli))
    before, then = {one: memory(cli, "show", one) for one in every}, now()
    dry = memory(cli, "consolidate", "--dry-run")
    assert (dry["merged_count"], dry["dry_run"]) == (2, True)
    assert ids(cli) == every
    text = cli.run("memory", "consolidate").stdout
    assert text.startswith(f"light: 2 merged; {dry['final_memory_count']} memories are left ("), text
    (run,) = memory(cli, "runs")["runs"]
    assert f"context-graph-cli memory undo {run['token'][:8]}" in text
    assert (run["mode"], run["undone_by"], run["details"]["trigger"]) == ("light", None, "asked")
    assert len(ids(cli)) == dry["final_memory_count"]
    for merge in dry["merged"]:
        (loser,) = merge["losers"]
        assert merge["survivor"] in memory(cli, "show", loser)["tombstone"]["reason"]
        history = memory(cli, "history", loser[:8])
        assert history["versions"][0]["run"] == run["token"]
        assert run["token"][:8] in cli.run("memory", "history", loser).stdout
        was = memory(cli, "show", loser, "--as-of", then)
        assert was["content"] == before[loser]["content"]
        assert "tombstone" not in was
        assert memory(cli, "show", merge["survivor"], "--as-of", then)["metadata"] == {}
    table = cli.run("memory", "runs").stdout.splitlines()
    assert table[0].split()[:3] == ["TOKEN", "WHEN", "MODE"]
    assert table[1].startswith(run["token"][:8])
    undone = cli.run("memory", "undo", run["token"][:8])
    assert undone.returncode == 0, undone.stderr
    assert undone.stdout.startswith(f"undone: light {run['token'][:8]}")
    assert ids(cli) == every
    for one, shown in before.items():
        assert memory(cli, "show", one) == shown
    assert cli.run("memory", "undo", run["token"]).returncode == 1
    assert cli.run("memory", "undo", "ffffffff").returncode == 1


def test_nothing_to_do_is_said(cli: Cli) -> None:
    """D5.4."""
    done = cli.run("memory", "consolidate", "--mode", "rem", "--any-state")
    assert done.returncode == 0, done.stderr
    assert "nothing to do" in done.stdout
    assert cli.run("memory", "runs").stdout == "no consolidations yet\n"
    assert "no goals" in cli.run("memory", "goals").stdout
    assert memory(cli, "goals", "--discover")["goals"] == []
    assert cli.run("memory", "undo").returncode == 1


def test_the_state_gates_modes_and_a_person_may_overrule_it(cli: Cli) -> None:
    """D5.1: a session whose every forecast failed has a C that allows light alone; unknown allows all."""
    fill(cli)
    found = memory(cli, "consolidate", "--mode", "deep", "--dry-run")
    assert (found["mode"], found["requested_mode"]) == ("deep", "deep"), "C is not known"
    low_consciousness(cli, "low")
    asks = ("consolidate", "--session-id", "low", "--mode")
    found = memory(cli, *asks, "deep", "--dry-run")
    assert (found["mode"], found["requested_mode"]) == ("light", "deep")
    assert any("deep was asked for" in note for note in found["notes"])
    refused = cli.run("memory", *asks, "deep", "--strict")
    assert refused.returncode == 1
    assert "deep" in refused.stderr and "light" in refused.stderr
    found = memory(cli, *asks, "rem", "--any-state", "--dry-run")
    assert (found["mode"], found["requested_mode"]) == ("rem", "rem")
    assert cli.run("memory", "consolidate", "--strict", "--any-state").returncode == 2


def low_consciousness(cli: Cli, session: str) -> None:
    """Calls of ever other kinds that succeed and fail by turns in blocks, which no forecast foresees."""
    for number in range(24):
        failed = number >= 12
        event = {
            "session_id": session,
            "hook_event_name": "PostToolUseFailure" if failed else "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": f"tool{number} step {number}"},
            "tool_use_id": f"toolu_{number}",
            **({"error": "Exit code 1"} if failed else {"tool_response": {"stdout": "ok", "stderr": ""}}),
        }
        verb = "post-tool-failure" if failed else "post-tool"
        cli.run("hooks", verb, "--format", "claude", stdin=json.dumps(event))
        shown = cli.run("session", "show", "--session-id", session, "--json").stdout
        level = json.loads(shown)["consciousness"]
        if level is not None and level < 0.3:
            return
    raise AssertionError(f"C is {level}")


@pytest.mark.parametrize(
    "words",
    [
        ("consolidate", "--mode", "coma"),
        ("consolidate", "--salience-threshold", "2"),
        ("consolidate", "--max-memories", "-1"),
        ("consolidate", "deep"),
        ("history",),
        ("goals", "--max-goals", "0"),
    ],
    ids=" ".join,
)
def test_a_wrong_call_ends_with_2(shared_cli: Cli, words: tuple[str, ...]) -> None:
    done = shared_cli.run("memory", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


def test_as_of_a_time_before_it_was_there(cli: Cli) -> None:
    then = now()
    time.sleep(0.01)
    one = remember(cli, FACTS[0])
    done = cli.run("memory", "show", one, "--as-of", then)
    assert done.returncode == 1
    assert done.stderr
    assert memory(cli, "show", one, "--as-of", now())["id"] == one
    assert cli.run("memory", "show", one, "--as-of", "yesterday").returncode == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_with_nothing_changed(cli: Cli, number: signal.Signals) -> None:
    """Cancellable at any point; 130 as in shells."""
    every = sorted(fill(cli))
    store = Path(memory(cli, "stats")["store"])
    command = [str(cli.launcher), "memory", "consolidate"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=cli.project, env=cli.env, text=True, **pipes) as process:
        wait_until(lambda: leftovers(store), "the run to begin", 20)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "nothing was changed" in err
    wait_until(lambda: not leftovers(store), "the run's folder to go")
    assert ids(cli) == every
    assert memory(cli, "runs")["runs"] == []


@pytest.mark.real
def test_a_run_ends_with_a_client_that_is_killed(cli: Cli) -> None:
    """Nobody is left who could be told of it, so nothing of it is kept."""
    every = sorted(fill(cli))
    store = Path(memory(cli, "stats")["store"])
    command = [str(cli.launcher), "memory", "consolidate"]
    with subprocess.Popen(command, cwd=cli.project, env=cli.env, stdin=subprocess.DEVNULL) as process:
        wait_until(lambda: leftovers(store), "the run to begin", 20)
        process.kill()
    wait_until(lambda: not leftovers(store), "the run's folder to go")
    assert ids(cli) == every
    assert memory(cli, "runs")["runs"] == []


def test_somebody_who_waits_sees_a_bar_and_programs_see_json(cli: Cli) -> None:
    fill(cli)
    command = [str(cli.launcher), "memory", "consolidate", "--dry-run", "--json"]
    master, terminal = pty.openpty()
    with subprocess.Popen(
        command, cwd=cli.project, env={**cli.env, "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=terminal
    ) as process:
        out, _ = process.communicate(timeout=60)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
    except OSError:  # the terminal's end
        pass
    os.close(master)
    assert json.loads(out)["merged_count"] == 2
    assert b"%" in shown or b"\xe2\x94\x81" in shown, shown


def test_the_session_end_script_prints_what_was_done_or_does_not_wait(cli: Cli, tmp_path: Path) -> None:
    """The script of .claude/hooks: by hand it waits; run by the client it returns and the run goes on."""
    every = fill(cli)
    script = ROOT / ".claude" / "hooks" / "session_end_consolidate.sh"
    path = f"{cli.launcher.parent}:{cli.env['PATH']}"
    log = tmp_path / "consolidate.log"
    env = {**cli.env, "PATH": path, "LOG_FILE": str(log)}

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        given = {**env, **more}
        return subprocess.run(
            [str(script)], cwd=cli.project, env=given, capture_output=True, text=True, timeout=60, check=False
        )

    done = run(DRY_RUN="true")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "Memory consolidation completed:"
    assert lines[1:4] == ["  - Pruned: 0 memories", "  - Merged: 2 duplicates", "  - Clusters: 0 discovered"]
    assert len(ids(cli)) == len(every)
    assert run(CONSOLIDATION_MODE="coma").returncode == 1
    done = run(CLAUDE_PROJECT_DIR=str(cli.project))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wait_until(lambda: log.read_text().count("complete: ") == 2, "the run that nobody waits for", 60)
    assert len(ids(cli)) == len(every) - 2
    assert run(PATH="/usr/bin:/bin").returncode == 0, "not installed: nothing to do"
