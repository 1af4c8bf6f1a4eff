"""What a session's start is told through the installed program: the project's profile and open ends."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory, work_session

from context_graph.config import data_root, store_dir
from context_graph.memory.embed import default_provider
from context_graph.store.layout import META
from context_graph.store.schema import open_database
from context_graph.text.quoting import FENCE_OPEN

TOLD = 'tests were run with "pytest -q" (in 3 sessions'


@pytest.fixture(autouse=True)
def answering(cli: Cli) -> None:
    """The owner runs: no hook of these tests waits in the log for one that starts."""
    cli.run("owner", "start")


def started(cli: Cli, session: str) -> str:
    return context_of(hook(cli, "session-start", session, source="startup"))


def on_branch(cli: Cli, name: str) -> None:
    git = cli.project / ".git"
    git.mkdir(exist_ok=True)
    (git / "HEAD").write_text(f"ref: refs/heads/{name}\n")


def test_the_profile_is_told_once_sessions_agree_and_survives_a_restart(cli: Cli) -> None:
    for number in (1, 2, 3):
        work_session(cli, f"s-{number}")
    text = started(cli, "s-4")
    assert TOLD in text
    assert default_provider().count_tokens(text) <= 300
    cli.run("owner", "restart")
    assert TOLD in started(cli, "s-5")


def test_a_store_without_a_profile_counts_its_summaries(cli: Cli) -> None:
    """An older build's store, or one whose owner died: its first start counts first."""
    for number in (1, 2, 3):
        work_session(cli, f"s-{number}")
    cli.run("owner", "stop")
    with closing(open_database(store_dir(data_root(cli.env), cli.project) / "db")) as engine:
        assert engine.get(META, b"profile") is not None
        engine.delete(META, b"profile")
    cli.run("owner", "start")
    assert TOLD in started(cli, "s-4")


def test_what_was_forgotten_no_longer_counts(cli: Cli) -> None:
    for number in (1, 2, 3):
        work_session(cli, f"s-{number}")
    for node in memory(cli, "list")["nodes"]:
        memory(cli, "forget", node["id"])
    cli.run("owner", "restart")
    started(cli, "s-4")
    hook(cli, "session-end", "s-4", reason="other")
    cli.run("owner", "restart")
    assert FENCE_OPEN not in started(cli, "s-5")


def test_open_ends_are_those_of_the_last_session_on_this_branch(cli: Cli) -> None:
    on_branch(cli, "main")
    work_session(cli, "s-1")
    on_branch(cli, "feature")
    assert "sliding window" not in started(cli, "s-2")
    hook(cli, "session-end", "s-2", reason="other")
    on_branch(cli, "main")
    assert "sliding window" in started(cli, "s-3")


def test_a_failing_test_is_an_open_end(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="Mend the parser", prompt_id="1")
    command = {"tool_name": "Bash", "tool_input": {"command": "pytest tests/test_parser.py"}}
    hook(cli, "post-tool", "s-1", **command, tool_response={"stdout": "4 passed"})
    hook(cli, "post-tool-failure", "s-1", **command, error="FAILED tests/test_parser.py::test_tabs - assert")
    hook(cli, "session-end", "s-1", reason="other")
    text = started(cli, "s-2")
    assert "Failing tests: pytest tests/test_parser.py: tests/test_parser.py::test_tabs" in text


def test_a_test_that_fails_for_everybody_is_no_open_end(cli: Cli) -> None:
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="Mend the parser", prompt_id="1")
    command = {"tool_name": "Bash", "tool_input": {"command": "pytest tests/test_parser.py"}}
    hook(cli, "post-tool-failure", "s-1", **command, error="FAILED tests/test_parser.py::test_tabs - assert")
    hook(cli, "session-end", "s-1", reason="other")
    assert "Failing tests" not in started(cli, "s-2"), "nothing says that the session broke it"
