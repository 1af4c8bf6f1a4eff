"""A session that changed something and did not say why is asked once before it stops, by a setting."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import hook, memory

EXPLAINED = (
    "Root cause: the level was an integer, so fractions were lost. Fixed it in bucket.py by a float level."
)
ANSWER = "The root cause was that the level was an integer: refill lost each fraction. I fixed it by a float."


@pytest.fixture
def asking(cli: Cli) -> Cli:
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude/context-graph.toml").write_text("ask_what_was_learned = true\n")
    cli.run("owner", "start")
    return cli


def work(cli: Cli, session: str, path: str = "src/bucket.py", verb: str = "Edit", **more: Any) -> None:
    hook(cli, "session-start", session, source="startup")
    prompt = "Make the token bucket refill lazily"
    hook(cli, "prompt-submit", session, prompt=prompt, prompt_id=f"{session}-1")
    change(cli, session, path, verb, **more)


def change(cli: Cli, session: str, path: str, verb: str = "Edit", **more: Any) -> None:
    given = {"file_path": f"{cli.project}/{path}", "old_string": "a", "new_string": "b"}
    hook(cli, "post-tool", session, tool_name=verb, tool_input=given, tool_response={}, **more)
    memory(cli, "list")  # what was logged is applied


def stop(cli: Cli, session: str, said: str = "All done!", **more: Any) -> Any:
    return hook(cli, "stop", session, last_assistant_message=said, **{"stop_hook_active": False, **more})


def test_it_is_asked_once_and_what_it_answers_is_kept(asking: Cli) -> None:
    work(asking, "s")
    held = stop(asking, "s")
    assert (
        held["decision"] == "block"
        and "what was wrong" in held["reason"]
        and set(held) == {"decision", "reason"}
    )
    assert stop(asking, "s", ANSWER, stop_hook_active=True) == {}
    (note,) = memory(asking, "list", "--kind", "change")["nodes"]
    assert "the level was an integer" in note["content"]
    change(asking, "s", "src/clock.py")
    assert stop(asking, "s") == {}, "never twice"


def test_it_is_not_asked_again_after_a_restart(asking: Cli) -> None:
    work(asking, "s")
    assert stop(asking, "s")["decision"] == "block"
    asking.run("owner", "restart")
    change(asking, "s", "src/clock.py")
    assert stop(asking, "s") == {}


def test_who_said_it_or_changed_nothing_is_not_asked(asking: Cli) -> None:
    work(asking, "said")
    assert stop(asking, "said", EXPLAINED) == {}
    work(asking, "read", verb="Read")
    assert stop(asking, "read") == {}
    work(asking, "held")
    assert stop(asking, "held", stop_hook_active=True) == {}, "the client was held before"


def test_a_subagent_is_never_asked(asking: Cli) -> None:
    work(asking, "s", agent_id="a1")
    assert hook(asking, "subagent-stop", "s", agent_id="a1", last_assistant_message="Done.") == {}
    assert stop(asking, "s", agent_id="a1") == {}


def test_nobody_is_asked_without_the_setting(cli: Cli) -> None:
    cli.run("owner", "start")
    work(cli, "s")
    assert stop(cli, "s") == {}
