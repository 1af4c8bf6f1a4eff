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

TOLD = 'tests were run with "pytest -q", e.g. "pytest -q tests/test_bucket.py" (in 3 sessions'


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


def short_session(cli: Cli, session: str, prompt: str, path: str, said: str) -> None:
    hook(cli, "session-start", session, source="startup")
    hook(cli, "prompt-submit", session, prompt=prompt, prompt_id=f"{session}-1")
    edit = {"file_path": f"{cli.project}/{path}", "old_string": "a", "new_string": "b"}
    hook(cli, "post-tool", session, tool_name="Edit", tool_input=edit, tool_response={})
    hook(cli, "stop", session, last_assistant_message=said)
    hook(cli, "session-end", session, reason="other")


def test_an_older_open_end_is_told_until_a_session_takes_it_up(cli: Cli) -> None:
    """Sessions that did something else leave it open; one that speaks of it does not."""
    work_session(cli, "s-1")
    short_session(cli, "s-2", "Add a colour to the logo", "art/logo.svg", "The logo is blue now.")
    text = started(cli, "s-3")
    assert "left open in an earlier session" in text and "sliding window" in text
    hook(cli, "session-end", "s-3", reason="other")
    done = "The sliding window has its tests now, and they pass."
    short_session(cli, "s-4", "Cover the sliding window by tests", "tests/test_window.py", done)
    short_session(cli, "s-5", "Add a colour to the footer", "art/footer.svg", "The footer is blue now.")
    assert "sliding window" not in started(cli, "s-6")


def test_an_open_end_that_was_forgotten_is_not_told(cli: Cli) -> None:
    work_session(cli, "s-1")
    (note,) = memory(cli, "list", "--kind", "open")["nodes"]
    assert "sliding window" in note["content"]
    memory(cli, "forget", note["id"])
    assert "sliding window" not in started(cli, "s-2")


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
