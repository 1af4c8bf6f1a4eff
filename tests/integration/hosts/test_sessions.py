"""Sessions of other hosts, as recorded, through the real launcher and owner: each knows of the others."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.clients.hosts import NAMES, calls, one, play, send, told
from tests.support.owner.harness import wait_until
from tests.support.sessions import context_of, hook, memory, remember, work_session

from context_graph.claude.hosts.host import NOT_THE_USER

OUTER = {"CLAUDE_CODE_SESSION_ID": "outer", "CLAUDE_PLUGIN_ROOT": "/opt/context-graph"}


def shown(cli: Cli, session: str) -> Any:
    done = cli.run("session", "show", "--session-id", session, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def work_of(cli: Cli, session: str) -> dict[str, Any]:
    """What was kept of a session's work when it ended."""
    found = [node for node in memory(cli, "list")["nodes"] if node["session_id"] == session]
    (kept,) = [node for node in found if node["source"] == "capture"]
    made: dict[str, Any] = kept["metadata"]["capture"]
    return made


@pytest.mark.parametrize("host", NAMES)
def test_claude_code_is_told_what_another_host_did(cli: Cli, host: str) -> None:
    cli.start_owner()
    session = play(cli, host)
    work = work_of(cli, session)
    assert work["prompts"] == ["Make the token bucket refill lazily"]
    assert "src/bucket.py" in work["changed"]
    assert work["commands"] == {"python3 tests/check_bucket.py": 2}
    assert not work["failures"], "the check went well in the end"
    assert "AssertionError" in work["overcome"]["python3 tests/check_bucket.py"]
    begun = context_of(hook(cli, "session-start", "claude-1", source="startup"))
    assert "Make the token bucket refill lazily" in begun
    assert "The sliding window is not yet covered" in begun


@pytest.mark.parametrize("host", NAMES)
def test_another_host_is_told_what_claude_code_did(cli: Cli, host: str) -> None:
    cli.start_owner()
    work_session(cli, "claude-1")
    begun = told(send(cli, host, "session-start", one(host, cli, "session-start")))
    assert "Make the token bucket refill lazily" in begun
    assert "The sliding window is not yet covered" in begun
    remember(cli, "The token bucket keeps its level as a float because integers lose the rest.")
    asked = one(host, cli, "prompt-submit", prompt="Why does the token bucket keep its level as a float?")
    assert "because integers lose the rest" in told(send(cli, host, "prompt-submit", asked))


@pytest.mark.parametrize("host", NAMES)
def test_every_call_is_counted_once_and_as_what_it_was(cli: Cli, host: str) -> None:
    cli.start_owner()
    session = play(cli, host)
    expected = Counter(verb for verb, _ in calls(host, cli))
    if host == "gemini":  # one event of its own for both outcomes
        expected["post-tool"] -= 2
        expected["post-tool-failure"] += 2
    found = shown(cli, session)["events_by_kind"]
    # Before a call has run only what is asked about is kept; its result says the same.
    assert found.pop("pre-tool", 0) <= expected.pop("pre-tool", 0)
    assert found == expected


@pytest.mark.parametrize("host", NAMES)
def test_what_waited_in_the_log_is_read_as_that_host_s(cli: Cli, host: str) -> None:
    session = play(replace(cli, env={**cli.env, "CONTEXT_GRAPH_PYTHON": "/bin/false"}), host)
    work = work_of(cli, session)
    assert "src/bucket.py" in work["changed"]
    assert work["commands"] == {"python3 tests/check_bucket.py": 2}
    assert sum(shown(cli, session)["events_by_kind"].values()) == len(list(calls(host, cli)))


@pytest.mark.parametrize("host", NAMES)
def test_a_host_started_within_claude_code_has_a_session_of_its_own(
    cli: Cli, host: str, tmp_path: Path
) -> None:
    """Variables of the outer session are inherited; Codex names no project, so that one counts no more."""
    cli.start_owner()
    hook(cli, "session-start", "outer", source="startup")
    given = one(host, cli, "prompt-submit")
    project = {"CLAUDE_PROJECT_DIR": str(tmp_path if host == "codex" else cli.project)}
    send(cli, host, "prompt-submit", given, **OUTER, **project)
    assert shown(cli, "outer")["events_by_kind"] == {"session-start": 1}
    assert shown(cli, given["session_id"])["events_by_kind"]["prompt-submit"] == 1


@pytest.mark.parametrize("host", ["gemini", "cursor"])
def test_what_a_gate_said_is_no_prompt_when_the_host_sends_it_as_one(cli: Cli, host: str) -> None:
    cli.start_owner()
    given = one(host, cli, "prompt-submit", prompt=f"{NOT_THE_USER} Run the tests before you stop.")
    send(cli, host, "prompt-submit", given)
    counted = shown(cli, given["session_id"])["events_by_kind"]
    assert counted["notification"] == 1
    assert "prompt-submit" not in counted


def test_what_a_start_told_is_not_taken_for_the_user_s_words(cli: Cli) -> None:
    """Without a terminal Gemini CLI puts the context of SessionStart into the prompt."""
    cli.start_owner()
    begun = "<hook_context>We decided to use tabs.</hook_context>\n\n"
    for verb, given in calls("gemini", cli):
        if verb == "prompt-submit":
            given["prompt"] = begun + given["prompt"]
        send(cli, "gemini", verb, given)
    work = work_of(cli, given["session_id"])
    assert work["prompts"] == ["Make the token bucket refill lazily"]
    assert not any("tabs" in one for one in work["decisions"])


@pytest.mark.parametrize("host", NAMES)
def test_odd_input_and_unknown_events_hold_nothing_up(cli: Cli, host: str) -> None:
    cli.start_owner()
    for given in ("", "{", "[]", '{"session_id":"s","hook_event_name":"Nonsense"}', "[" * 5000):
        for verb in ("pre-tool", "stop", "permission-denied"):
            done = cli.run("hooks", verb, "--format", host, stdin=given)
            assert done.returncode == 0
            assert done.stdout.strip() in ("", "{}")
    typed = one(host, cli, "pre-tool", tool_input=7, tool_name=["x"], workspace_roots=3, tool_use_id=None)
    done = cli.run("hooks", "pre-tool", "--format", host, stdin=json.dumps(typed))
    assert (done.returncode, done.stdout.strip()) in ((0, ""), (0, "{}"))


def knows_the_file(cli: Cli, session: str) -> bool:
    """Whether a session of Claude Code is told about the file: its index is read between events."""
    hook(cli, "session-start", session, source="startup")
    given = {"file_path": f"{cli.project}/src/bucket.py", "old_string": "a", "new_string": "b"}
    told = context_of(hook(cli, "pre-tool", session, tool_name="Edit", tool_input=given))
    return "src/bucket.py, " in told


@pytest.mark.parametrize("host", NAMES)
def test_an_edit_brings_what_claude_code_did_with_the_file(cli: Cli, host: str) -> None:
    """With the call; in Gemini CLI, which shows its model nothing then, with the result."""
    cli.start_owner()
    work_session(cli, "claude-1")
    probes = itertools.count()
    wait_until(lambda: knows_the_file(cli, f"probe-{next(probes)}"), "an index of files", 20)
    heard = []
    for verb, given in calls(host, cli):
        if verb == "prompt-submit":
            given["prompt"] = "Look at how requests are limited"
        if given.get("tool_name") not in ("Read", "read_file"):
            heard.append((verb, told(send(cli, host, verb, given))))
    found = [verb for verb, text in heard if "tool" in verb and "src/bucket.py" in text]
    assert found == ["post-tool" if host == "gemini" else "pre-tool"]


def test_codex_s_other_events_are_recorded(cli: Cli) -> None:
    cli.start_owner()
    for verb, given in calls("codex", cli, "events.json"):
        send(cli, "codex", verb, given)
    counted = shown(cli, given["session_id"])["events_by_kind"]
    assert counted.keys() == {"session-start", *(verb for verb, _ in calls("codex", cli, "events.json"))}
