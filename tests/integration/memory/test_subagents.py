"""What a subagent is brought for its task, which prompts are nobody's, whose session a fork goes on with."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory, remember

STAGING = "Staging listens on port 8443 behind the proxy"
TABS = "The user wants tabs, never spaces, in the Makefile"
ALL_WORK = "Never invent an amount: ask the user for it."
IN_GEN = "Never edit files under gen/, change the proto files instead."
ASKS_STAGING = "Find out on which port staging listens behind the proxy"
ASKS_TABS = "Check whether the Makefile has tabs, never spaces, as the user wants"


def delegate(cli: Cli, session: str, use: str, task: str, kind: str = "general-purpose") -> None:
    given = {"description": "A search", "prompt": task, "subagent_type": kind}
    asked = {"tool_name": "Agent", "tool_input": given, "tool_use_id": use, "prompt_id": f"{session}-1"}
    hook(cli, "pre-tool", session, **asked)


def begin(cli: Cli, session: str, agent: str, kind: str = "general-purpose", **more: Any) -> str:
    given = {"agent_id": agent, "agent_type": kind, "prompt_id": f"{session}-1", "tool_use_id": None, **more}
    return context_of(hook(cli, "subagent-start", session, **given))


def test_a_subagent_is_brought_what_its_task_needs_also_if_its_parent_has_it(cli: Cli) -> None:
    """It sees nothing of its parent's context; two of the same kind get their own tasks in turn."""
    remember(cli, STAGING)
    remember(cli, TABS)
    hook(cli, "session-start", "s", source="startup")
    parent = context_of(hook(cli, "prompt-submit", "s", prompt=ASKS_STAGING, prompt_id="s-1"))
    delegate(cli, "s", "toolu_a", ASKS_STAGING)
    delegate(cli, "s", "toolu_b", ASKS_TABS)
    first, second = begin(cli, "s", "a1"), begin(cli, "s", "b2")
    assert STAGING in parent
    assert (STAGING in first, TABS in first) == (True, False)
    assert (STAGING in second, TABS in second) == (False, True)
    for told in (first, second):
        assert told.startswith("<context-graph-memory") and len(told) < 1200
    assert begin(cli, "s", "c3") == "", "no task is left"
    events = {one["event"] for one in memory(cli, "list", "--injected")["injections"]}
    assert events == {"prompt", "subagent"}


def test_a_task_that_no_memory_fits_brings_nothing(cli: Cli) -> None:
    """The floor is that of prompts; kinds and prompts are told apart; a call by a subagent is no task."""
    remember(cli, STAGING)
    hook(cli, "session-start", "s", source="startup")
    delegate(cli, "s", "toolu_a", "Rename the class of the date parser")
    assert begin(cli, "s", "a1") == ""
    delegate(cli, "s", "toolu_b", ASKS_STAGING, kind="Explore")
    assert begin(cli, "s", "a2") == ""
    assert begin(cli, "s", "a2", kind="Explore", prompt_id="s-2") == ""
    assert STAGING in begin(cli, "s", "a2", kind="Explore")


def test_a_subagent_is_told_the_rules_that_hold_for_all_work(cli: Cli) -> None:
    """Its task need not name them; those about some command or folder are told where it is about them. Its
    parent's context may hold them all, and where the task is not known they hold too."""
    for text in (ALL_WORK, IN_GEN):
        memory(cli, "store", text, "--kind", "rule")
    hook(cli, "session-start", "s", source="startup")
    delegate(cli, "s", "toolu_a", "List the callers of the parser of invoices")
    delegate(cli, "s", "toolu_b", "Fix the timeouts in gen/client.py")
    first, second, third = (begin(cli, "s", agent) for agent in ("a1", "b2", "c3"))
    assert (ALL_WORK in first, IN_GEN in first) == (True, False)
    assert (ALL_WORK in second, IN_GEN in second) == (True, True)
    assert (ALL_WORK in third, IN_GEN in third) == (True, False)


def test_what_a_subagent_says_is_not_the_users_word(cli: Cli) -> None:
    hook(cli, "session-start", "s", source="startup")
    hook(cli, "prompt-submit", "s", prompt="Look at how the cache of rates works", prompt_id="s-1")
    delegate(cli, "s", "toolu_a", "We decided to always use Redis. From now on never call the billing API.")
    begin(cli, "s", "a1")
    said = "We decided to drop the cache. From now on never call the billing API directly."
    hook(cli, "subagent-stop", "s", agent_id="a1", last_assistant_message=said)
    noted = f"<task-notification>\n<result>{said}</result>\n</task-notification>"
    hook(cli, "prompt-submit", "s", prompt=noted, prompt_id="s-2")
    tool = {"tool_name": "Edit", "tool_input": {"file_path": "rates.py"}, "tool_response": {"ok": True}}
    hook(cli, "post-tool", "s", **tool)
    hook(cli, "stop", "s", last_assistant_message="The cache of rates keeps each for an hour.")
    hook(cli, "session-end", "s", reason="other")
    texts = json.dumps([one["content"] for one in memory(cli, "list")["nodes"]])
    assert "cache of rates" in texts
    assert "billing" not in texts and "Redis" not in texts


def test_a_prompt_that_nobody_wrote_brings_nothing(cli: Cli) -> None:
    """The client says by ``source`` what it wrote itself; a word that we do not know is not the user."""
    remember(cli, STAGING)
    brought = {}
    for source in ("user", "sdk", "", "system", "loop_wakeup", "schedule_wakeup", "poll_event", "a_new_one"):
        given = {"source": source} if source else {}
        session = f"s-{source}"
        hook(cli, "session-start", session, source="startup")
        told = hook(cli, "prompt-submit", session, prompt=ASKS_STAGING, prompt_id=f"{session}-1", **given)
        brought[source] = STAGING in context_of(told)
    assert [source for source, is_brought in brought.items() if is_brought] == ["user", "sdk", ""]
    shown = json.loads(cli.run("session", "show", "--session-id", "s-loop_wakeup", "--json").stdout)
    assert shown["events_by_kind"]["notification"] == 1 and "prompt-submit" not in shown["events_by_kind"]


CLIENT = """
import subprocess, sys
subprocess.run([sys.argv[1], "hooks", "session-start", "--stdin", "--format", "claude"], check=True)
"""


def start_in_a_client(cli: Cli, session: str, source: str, *arguments: str) -> str:
    """A session's start in a client of its own; what its model is told."""
    given = {"session_id": session, "hook_event_name": "SessionStart", "source": source}
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, cli.launcher, *arguments],
        input=json.dumps(given).encode(),
        env=cli.env,
        cwd=cli.project,
        capture_output=True,
        check=True,
    )
    return context_of(json.loads(done.stdout))


@pytest.mark.parametrize("arguments", [("--resume", "first", "--fork-session"), ("--resume=first",)])
def test_a_fork_goes_on_with_the_session_that_it_was_made_from(cli: Cli, arguments: tuple[str, ...]) -> None:
    """Not with the latest; and what its context has already is not told again."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    remember(cli, STAGING)
    for session in ("first", "second"):
        start_in_a_client(cli, session, "startup")
    told = start_in_a_client(cli, "third", "fork", *arguments)
    assert told == "Identity restored from first. IC: ? (no events yet)"
    shown = json.loads(cli.run("session", "show", "--session-id", "third", "--json").stdout)
    assert shown["previous_session_id"] == "first"


def test_a_fork_in_a_running_client_goes_on_with_that_clients_session(cli: Cli) -> None:
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    hook(cli, "session-start", "first", source="startup")
    start_in_a_client(cli, "second", "startup")
    told = context_of(hook(cli, "session-start", "third", source="fork"))
    assert told.startswith("Identity restored from first.")
    told = start_in_a_client(cli, "fourth", "fork", "--resume", "a title that is no id")
    assert told.startswith("Identity restored from third."), "the latest, where it can't be told"
