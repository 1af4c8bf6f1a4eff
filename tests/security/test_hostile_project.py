"""A repository made to harm: its configuration, its `.git`, its files' kinds and sizes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from tests.support.cli import Cli
from tests.support.gates.in_process import Gate
from tests.support.sessions import hook, memory, remember

from context_graph.config import load_settings, project_top
from context_graph.gates.decide import tool_call
from context_graph.wire.client.spawn import find_owner_command

LONG_S = 20.0
"""Far more than anything here takes, far less than what it would without a bound."""


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def _settings(cli: Cli) -> Path:
    (cli.project / ".claude").mkdir(exist_ok=True)
    return cli.project / ".claude" / "context-graph.toml"


@pytest.mark.parametrize("kind", ["pipe", "device", "large", "deep", "folder", "loop"])
def test_settings_that_are_no_settings_hold_nobody_up(cli: Cli, kind: str) -> None:
    path = _settings(cli)
    make: dict[str, Any] = {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "large": lambda: path.write_bytes(b"# " + bytes(64 * 1024 * 1024)),
        "deep": lambda: path.write_text("x = " + "[" * 100_000),
        "folder": lambda: path.mkdir(),
        "loop": lambda: path.symlink_to(path.name),
    }
    make[kind]()
    assert "not read" in load_settings(cli.project).problems[0]
    remember(cli, "there is an owner that has opened the store")
    document = hook(
        cli, "prompt-submit", "s-1", prompt="is there an owner that has opened the store?", prompt_id="1"
    )
    assert "opened the store" in document["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize(
    "line",
    ['wal_dir = "{T}/logs"', "wal = false", 'memory_model = "{T}"'],
)
def test_a_project_s_file_can_t_set_what_is_the_user_s(cli: Cli, tmp_path: Path, line: str) -> None:
    """Where logs with memories are written, whether they are, what model is loaded."""
    _settings(cli).write_text(line.replace("{T}", str(tmp_path)) + "\n")
    remember(cli, "the words of a memory")
    assert not (tmp_path / "logs").exists()
    key = line.split()[0]
    found = load_settings(cli.project)
    assert getattr(found, key) == getattr(load_settings(None), key)
    assert "only your own file" in found.problems[0]


def test_the_user_s_own_file_may_set_it(isolated_home: Path, tmp_path: Path) -> None:
    (isolated_home / ".config" / "context-graph-cli").mkdir(parents=True)
    own = isolated_home / ".config" / "context-graph-cli" / "config.toml"
    own.write_text(f'wal_dir = "{tmp_path}"\n')
    assert load_settings(tmp_path).wal_dir == str(tmp_path)


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*$", r"(.*a){25}$"])
def test_a_pattern_that_never_ends_is_ended_and_holds_the_call(gate: Gate, pattern: str) -> None:
    """One thread serves all sessions. A call that can't be judged is held, or a long one would walk past."""
    gate.config({"slow": {"trigger_tools": [{"tool": "Bash", "command_pattern": pattern}]}})
    began = time.process_time()
    assert gate.bash("a" * 64 + "!").decision == "deny"
    assert time.process_time() - began < LONG_S
    assert not tool_call.matches("git commit", "git status"), "the next search is a new one"


def test_a_dialog_s_pattern_that_never_ends_is_ended_too(gate: Gate) -> None:
    gate.config({"r": {}}, hooks={"permission_request": {"deny": [r"(a+)+$"]}})
    found = gate.event("PermissionRequest", tool_name="Bash", tool_input={"command": "a" * 64 + "!"})
    assert found.decision == "deny"


def test_an_honest_pattern_among_them_is_judged_as_ever(gate: Gate) -> None:
    gate.config({"commit": {"trigger_tools": [{"tool": "Bash", "command_pattern": r"git\s+commit"}]}})
    assert gate.bash("git status").decision != "deny"
    assert gate.bash("GIT  commit -m x").decision == "deny"


def _laughs(levels: int) -> str:
    lines = ["a0: &a0 {x: y, z: y}"]
    lines += [
        f"a{n}: &a{n} {{" + ", ".join(f"k{i}: *a{n - 1}" for i in range(9)) + "}" for n in range(1, levels)
    ]
    return "\n".join(lines) + f"\nrequirements: {{r: {{enabled: true, hooks: *a{levels - 1}}}, x: *a5}}\n"


@pytest.mark.parametrize("where", ["project", "global", "both", "local"])
def test_yaml_that_unfolds_to_billions_of_values_costs_nothing(gate: Gate, where: str) -> None:
    text = _laughs(12)
    if where != "global":
        gate.config(text)
    else:
        gate.config({"mine": {}})
    if where == "local":
        (gate.repo / ".claude" / "requirements.local.yaml").write_text(text)
    elif where != "project":
        (gate.claude / "requirements.yaml").write_text(text)
    began = time.process_time()
    gate.edit()
    assert time.process_time() - began < LONG_S


@pytest.mark.parametrize("text", ["[" * 5000, "a: " * 5000, "!!python/object/apply:os.system ['touch RAN']"])
def test_yaml_that_is_deep_or_makes_objects_enforces_nothing_and_runs_nothing(gate: Gate, text: str) -> None:
    gate.config(text.replace("RAN", str(gate.home / "ran")))
    assert gate.edit().decision != "deny"
    assert not (gate.home / "ran").exists()


def test_evidence_in_the_whole_file_system_is_not_walked_to_its_end(
    gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_graph.gates.decide import evaluation

    wide = tmp_path / "wide"
    for number in range(40):
        (wide / f"d{number}").mkdir(parents=True)
        for inner in range(10):
            (wide / f"d{number}" / f"f{inner}").touch()
    seen: list[str] = []
    real = os.walk

    def counting(*args: Any, **options: Any) -> Any:
        for item in real(*args, **options):
            seen.append(item[0])
            yield item

    monkeypatch.setattr(evaluation.os, "walk", counting)
    wanted = {"dirs": [str(wide)], "markers": [], "verdict": "", "max_age": 0}
    assert evaluation.missing(wanted, str(gate.repo), 0.0) and len(seen) == 41, "within the bound all is seen"
    seen.clear()
    monkeypatch.setattr(evaluation, "_ENTRIES", 100)
    assert evaluation.missing(wanted, str(gate.repo), 0.0) and len(seen) < 10


def test_a_git_file_can_t_claim_another_project_s_memories(cli: Cli, tmp_path: Path) -> None:
    """An unpacked archive may hold a `.git` file; git itself never checks one out."""
    subprocess.run(["git", "init", "-q", str(cli.project)], check=True)
    words = ("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x")
    subprocess.run(["git", *words], cwd=cli.project, check=True)
    linked, evil = tmp_path / "linked", tmp_path / "evil"
    subprocess.run(["git", "worktree", "add", "-q", str(linked)], cwd=cli.project, check=True)
    remember(cli, "the staging password rotates on mondays")
    evil.mkdir()
    (evil / ".git").write_text(f"gitdir: {cli.project}/.git/worktrees/linked\n")
    assert project_top(linked) == cli.project, "a worktree of its own shares them"
    assert project_top(evil) == evil
    (evil / ".git").write_text(f"gitdir: {cli.project}/.git/worktrees/none\n")
    assert project_top(evil) == evil
    seen = cli.run("memory", "recall", "staging", "--format", "json", cwd=evil)
    assert "mondays" not in seen.stdout + seen.stderr
    assert "mondays" in cli.run("memory", "recall", "staging", "--format", "json", cwd=linked).stdout


def test_looking_at_a_project_runs_none_of_its_commands(cli: Cli, tmp_path: Path) -> None:
    """A calculation is run by the gates' hooks, `req status` and `req check` alone."""
    subprocess.run(["git", "init", "-q", str(cli.project)], check=True)
    ran = tmp_path / "ran"
    entry = {
        "enabled": True,
        "type": "dynamic",
        "command": f"touch {ran}; echo 1",
        "thresholds": {"block": 9},
    }
    (cli.project / ".claude").mkdir(exist_ok=True)
    path = cli.project / ".claude" / "requirements.yaml"
    path.write_text(yaml.safe_dump({"version": "1.0", "requirements": {"n": entry}}))
    cli.run("memory", "stats")
    cli.run("req", "list")
    cli.run("req", "config", "show")
    cli.run("req", "statusline", stdin=json.dumps({"session_id": "s-1", "cwd": str(cli.project)}))
    hook(cli, "session-start", "s-1", source="startup")
    assert not ran.exists()


def test_an_owner_s_command_imports_nothing_of_the_folder_it_stands_in(tmp_path: Path) -> None:
    """Whoever runs it stands in a project; that it is started in / is a second guard."""
    (tmp_path / "context_graph.py").write_text("raise SystemExit('ran')\n")
    words = find_owner_command({"CONTEXT_GRAPH_PYTHON": sys.executable})
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "usage: context-graph-owner --root ROOT" in done.stderr and "ran" not in done.stderr


@pytest.mark.real  # what is imported when: a fork has it all
def test_a_python_module_of_the_project_is_not_imported_as_one_of_ours(cli: Cli) -> None:
    for name in ("json", "typer", "orjson", "context_graph", "encodings", "sitecustomize"):
        (cli.project / f"{name}.py").write_text(
            f"open({str(cli.project / 'ran')!r}, 'w')\nraise SystemExit(9)\n"
        )
    assert memory(cli, "stats")
    hook(cli, "session-start", "s-1", source="startup")
    assert cli.run("req", "status").returncode in (0, 1)
    assert not (cli.project / "ran").exists()
