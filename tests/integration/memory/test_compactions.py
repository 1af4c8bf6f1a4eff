"""A session's compactions through the installed program, with the client's summary before, after or never."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory, work_session

from context_graph.memory.embed import default_provider

SUMMARY = "The user asked to make the token bucket refill lazily. A float level was chosen."


@pytest.fixture(autouse=True)
def answering(cli: Cli) -> None:
    cli.run("owner", "start")


def compacted(cli: Cli, *verbs: str) -> str:
    """The start's text of a session whose compaction sends these hooks in this order."""
    fields: dict[str, dict[str, str]] = {
        "pre-compact": {"trigger": "auto"},
        "post-compact": {"trigger": "auto", "compact_summary": SUMMARY},
        "session-start": {"source": "compact"},
    }
    answers = {verb: context_of(hook(cli, verb, "s-1", **fields[verb])) for verb in verbs}
    assert not answers.get("post-compact")
    return answers["session-start"]


def shown(cli: Cli) -> list[dict[str, Any]]:
    done = cli.run("session", "show", "--session-id", "s-1", "--json")
    found: list[dict[str, Any]] = json.loads(done.stdout)["compactions"]
    return found


def test_a_summary_that_comes_first_says_what_is_told_first(cli: Cli) -> None:
    work_session(cli, "s-1", end=False)
    text = compacted(cli, "pre-compact", "post-compact", "session-start")
    assert "the compaction's summary lacks 1 of these 2 facts" in text
    assert '- not in the summary, files changed: "src/bucket.py"' in text
    (one,) = shown(cli)
    assert (one["facts"], one["in_summary"], one["in_context"], one["continuity"]) == (2, 1, 2, 1.0)
    assert one["summary"] == SUMMARY
    cli.run("owner", "restart")
    assert shown(cli) == [one]
    text = cli.run("session", "show", "--session-id", "s-1").stdout
    assert "continuity 1.00 of 2 facts (the summary alone 0.50)" in text


def test_a_summary_that_comes_after_the_start_is_measured(cli: Cli) -> None:
    work_session(cli, "s-1", end=False)
    text = compacted(cli, "pre-compact", "session-start", "post-compact")
    assert '- goal: "Make the token bucket refill lazily"' in text and "in the summary" not in text
    (one,) = shown(cli)
    assert (one["in_summary"], one["continuity"]) == (1, 1.0)


def test_an_older_client_tells_no_summary(cli: Cli) -> None:
    work_session(cli, "s-1", end=False)
    assert "checkpoint of this session" in compacted(cli, "pre-compact", "session-start")
    (one,) = shown(cli)
    assert (one["in_summary"], one["in_context"], one["continuity"]) == (None, 2, None)
    assert "the client gave no summary" in cli.run("session", "show", "--session-id", "s-1").stdout


def test_each_compaction_is_kept_and_a_summary_alone_counts(cli: Cli) -> None:
    work_session(cli, "s-1", end=False)
    compacted(cli, "pre-compact", "post-compact", "session-start")
    hook(cli, "pre-compact", "s-1", trigger="manual")
    hook(cli, "post-compact", "s-1", compact_summary="Nothing of use.")
    first, second = shown(cli)
    assert (first["continuity"], second["in_summary"], second["continuity"]) == (1.0, 0, 0.0)


def test_no_summary_is_kept_beyond_what_an_event_keeps(cli: Cli) -> None:
    """A summary may quote anything: of it stay counts, and its two ends, redacted."""
    work_session(cli, "s-1", end=False)
    hook(cli, "pre-compact", "s-1", trigger="auto")
    secret = "ghp_" + "a8Zk3LmQ9xT2vB7nR4cW6yD1sF5gH0jK2pE3"
    hook(cli, "post-compact", "s-1", compact_summary=f"push with {secret} " + "x " * 40_000)
    (one,) = shown(cli)
    assert one["in_summary"] == 0 and one["summary"].startswith("push with ") and len(one["summary"]) <= 2048
    cli.run("owner", "stop")
    for path in cli.root.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def test_open_requirements_are_told_again_after_a_compaction(cli: Cli) -> None:
    """By the gates' own lines, in the same context."""
    (cli.project / ".claude").mkdir()
    (cli.project / ".claude" / "requirements.yaml").write_text(
        "version: '1.0'\nenabled: true\nrequirements:\n  plan:\n    enabled: true\n    scope: session\n"
        "    trigger_tools: [Edit]\n    message: Write a plan first\n"
    )
    (cli.project / ".git").mkdir(exist_ok=True)
    (cli.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    hook(cli, "session-start", "s-1", source="startup")
    hook(cli, "prompt-submit", "s-1", prompt="Mend the parser", prompt_id="1")
    path = f"{cli.project}/src/a.py"
    edit = {"tool_name": "Write", "tool_input": {"file_path": path}, "tool_response": {"filePath": path}}
    hook(cli, "post-tool", "s-1", **edit)
    text = compacted(cli, "pre-compact", "session-start")
    assert "Mend the parser" in text and "1 of 1 open: plan" in text


def test_the_rules_of_earlier_sessions_are_told_again_with_what_the_session_had(cli: Cli) -> None:
    """They were told at its start, and went with its context; all together in the same budget."""
    rule = "Never use floats for money."
    hook(cli, "session-start", "s-0", source="startup")
    hook(cli, "prompt-submit", "s-0", prompt=f"Add the basket. {rule}", prompt_id="1")
    hook(cli, "session-end", "s-0", reason="other")
    memory(cli, "list")
    work_session(cli, "s-1", end=False)
    text = compacted(cli, "pre-compact", "session-start")
    assert text.count(rule) == 1 and "checkpoint of this session" in text
    assert default_provider().count_tokens(text) <= 600
