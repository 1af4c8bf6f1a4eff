"""Two sessions of the real Claude Code client in one project, with the hooks our own generator writes.

`make realclient` installs the client; where it can't be driven the tests are skipped and say why. Nothing
leaves the namespace that the driver (tests/realclient) makes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.clients.real_client import drive, last_messages, needs_client, text_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

BRIEF = re.compile(r"\[C:[A-Z]{3} r=\d\.\d\d IC=\d\.\d\d\]")

FIRST = [
    {
        "tool": "Write",
        "input": {"file_path": "@PROJECT@/rates.py", "content": "def refill(bucket):\n    return 1\n"},
    },
    {"tool": "Bash", "input": {"command": "python3 -c 'import rates; print(rates.refill(None))'"}},
    {"tool": "Bash", "input": {"command": "python3 -m no_such_module_rates"}},
    {
        "tool": "Write",
        "input": {"file_path": "@PROJECT@/test_rates.py", "content": "import rates\nrates.refill(1)\n"},
    },
    "Wrote the rate limiter.",
]
SECOND = [
    {"tool": "Bash", "input": {"command": "cat rates.py"}},
    {"tool": "Bash", "input": {"command": "python3 test_rates.py"}},
    "Checked the rate limiter.",
]


@needs_client
def test_identity_survives_from_one_real_session_to_the_next(cli: Cli, tmp_path: Path) -> None:
    """REQ-SESSION-11..16, REQ-HOOKS-17..22: the whole of the issue's second demonstration."""
    cli.env["CONTEXT_GRAPH_IDENTITY_LINES"] = "changes"
    assert cli.run("hooks", "generate-config").returncode == 0
    # A consolidation takes idle time only: on a busy machine it keeps its owner for longer than is looked.
    quiet = ("--env", "CONTEXT_GRAPH_DREAM=false")
    first = drive(
        cli, tmp_path / "one", FIRST, "write a rate limiter", "New session initialized", options=quiet
    )
    first_id = first["session_id"]
    second = drive(
        cli,
        tmp_path / "two",
        SECOND,
        "check the rate limiter",
        f"Identity restored from {first_id}. IC: ",
        options=quiet,
    )
    for summary in (first, second):
        assert {hook["exit_code"] for hook in summary["hooks"]} == {0}
        assert {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"} <= {
            hook["event"] for hook in summary["hooks"]
        }
        assert not [left for left in summary["survivors"] if "context-graph" in left["cmdline"]]
    assert any(hook["event"] == "PostToolUseFailure" for hook in first["hooks"])
    assert first["markers"]["New session initialized"], "the first session's start text reached the model"
    for marker, hits in second["markers"].items():
        assert any(hit["request"] == 1 for hit in hits), marker
    for name in ("one", "two"):
        _assert_briefs_with_results(tmp_path / name)
    _assert_chain(cli, first_id, second["session_id"])


def _assert_briefs_with_results(logs: Path) -> None:
    """A brief is in a system message of its own, right after the message with its call's result; the first
    one at the latest when two calls have been measured, and none where nothing changed."""
    messages = last_messages(logs)
    carrying = [
        at
        for at, message in enumerate(messages)
        if isinstance(message["content"], list)
        and any(block.get("type") == "tool_result" for block in message["content"])
    ]
    after = [messages[at + 1] for at in carrying if at + 1 < len(messages)]
    assert [one for one in after if one["role"] == "system" and BRIEF.search(text_of(one))], after
    assert not [one for one in messages if "[C:?" in text_of(one) or "proceed confidently" in text_of(one)]


def _assert_chain(cli: Cli, first_id: str, second_id: str) -> None:
    one = json.loads(cli.run("session", "show", "--session-id", first_id, "--json").stdout)
    two = json.loads(cli.run("session", "show", "--session-id", second_id, "--json").stdout)
    assert one["previous_session_id"] is None
    assert two["previous_session_id"] == first_id
    assert two["trajectory"][: len(one["trajectory"])] == one["trajectory"], "the trajectory is carried over"
    assert len(two["trajectory"]) > len(one["trajectory"])
    for field in ("purpose_vector", "kuramoto_phases"):
        assert one[field] != two[field], f"{field} changed by what session 2 did"
    assert one["events_waiting"] == 0
