"""The start of a session without an owner: told from the file that the last one left, where it holds."""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli, end_process
from tests.support.owner.harness import wait_until

from context_graph.config import data_root, store_dir
from context_graph.wire.store_folder import NAME

RULE = "Amounts are in cents in all of this project, never in euros."


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def hook(cli: Cli, kind: str, session: str, env: dict[str, str] | None = None, **more: Any) -> str:
    """The context that the client's model is given."""
    given = {"session_id": session, "cwd": str(cli.project), **more}
    done = cli.run("hooks", kind, "--format", "claude", stdin=json.dumps(given), env=env)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout) if done.stdout.strip() else {}
    return str(document.get("hookSpecificOutput", {}).get("additionalContext", ""))


def start(cli: Cli, session: str, source: str = "startup", **env: str) -> str:
    return hook(cli, "session-start", session, env, source=source)


@pytest.fixture
def left(cli: Cli) -> Path:
    """What an owner left after a session in which the user stated a rule."""
    _git(cli.project, "init", "-q", "-b", "main")
    start(cli, "s-1")
    hook(cli, "prompt-submit", "s-1", prompt=RULE)
    hook(cli, "stop", "s-1", last_assistant_message="Understood: cents everywhere.")
    hook(cli, "session-end", "s-1", reason="other")
    wait_until(lambda: "cents" in cli.run("memory", "list", "--kind", "rule").stdout, "the rule is kept")
    cli.run("owner", "stop")
    path = store_dir(data_root(cli.env), cli.project) / NAME
    assert path.exists()
    return path


def test_a_start_is_told_it_without_waiting_and_the_owner_comes_beside_it(cli: Cli, left: Path) -> None:
    text = _text(left)
    assert RULE[:20] in text
    assert start(cli, "s-2") == text
    wait_until(lambda: not left.exists(), "an owner took it away")
    (rule,) = json.loads(cli.run("memory", "list", "--kind", "rule", "--json").stdout)["nodes"]
    (told,) = json.loads(cli.run("memory", "list", "--injected", "--json").stdout)["injections"]
    assert (told["session_id"], [one["id"] for one in told["memories"]]) == ("s-2", [rule["id"]])
    assert cli.run("session", "show", "--session-id", "s-2").returncode == 0


def _text(left: Path) -> str:
    return left.read_bytes().partition(b"\n\n")[2].decode()


def _another_branch(cli: Cli, left: Path) -> None:
    _git(cli.project, "checkout", "-q", "-b", "other")


def _a_file_that_came(cli: Cli, left: Path) -> None:
    (cli.project / "CLAUDE.md").write_text(RULE)


def _an_event_that_waits(cli: Cli, left: Path) -> None:
    folder = left.parent / "events"
    (folder / "0000000000001-aaaaaaaa.log").write_bytes(b"\n")


def _damage(cli: Cli, left: Path) -> None:
    left.write_bytes(left.read_bytes().replace(b"cents", b"pence"))


def _a_fact_of_a_later_version(cli: Cli, left: Path) -> None:
    rest = b"weather fine\n" + left.read_bytes().partition(b"\n")[2]
    left.write_bytes(b"CGSTART1 %08x\n%s" % (zlib.crc32(rest), rest))


def _requirements(cli: Cli, left: Path) -> None:
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude" / "requirements.yaml").write_text("version: 1\nrequirements: {}\n")


def _a_link(cli: Cli, left: Path) -> None:
    left.rename(left.with_name("elsewhere"))
    left.symlink_to(left.with_name("elsewhere"))


@pytest.mark.parametrize(
    "change",
    [
        _another_branch,
        _a_file_that_came,
        _an_event_that_waits,
        _damage,
        _a_fact_of_a_later_version,
        _requirements,
        _a_link,
    ],
)
def test_what_is_not_true_any_more_is_not_told(
    cli: Cli, left: Path, change: Callable[[Cli, Path], None]
) -> None:
    text = _text(left)
    change(cli, left)
    assert start(cli, "s-2", CONTEXT_GRAPH_PYTHON="/bin/false") != text


def test_where_no_owner_can_be_started_it_is_told_all_the_same(cli: Cli, left: Path) -> None:
    """What the cases above change is what makes the difference."""
    text = _text(left)
    assert start(cli, "s-2", CONTEXT_GRAPH_PYTHON="/bin/false") == text


def test_another_account_is_not_told_it(cli: Cli, left: Path) -> None:
    another = str(left.parent / "another")
    told = start(cli, "s-2", CONTEXT_GRAPH_PYTHON="/bin/false", CLAUDE_CONFIG_DIR=another)
    assert told != _text(left)


def test_a_session_that_goes_on_is_not_told_it(cli: Cli, left: Path) -> None:
    text = _text(left)
    assert start(cli, "s-1", source="resume") != text


def test_a_rule_of_all_work_takes_away_what_other_projects_were_left(cli: Cli, left: Path) -> None:
    other = cli.project.parent / "other"
    (other / ".git").mkdir(parents=True)
    done = cli.run("memory", "store", "Answer in German.", "--scope", "user", cwd=other)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: not left.exists(), "it is taken away")


def test_a_store_that_was_opened_and_not_closed_has_none(cli: Cli, left: Path) -> None:
    start(cli, "s-2")
    wait_until(lambda: not left.exists(), "an owner took it away")
    end_process(cli.owner_pid())
    assert not left.exists()
