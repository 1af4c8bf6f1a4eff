"""Sessions and memories through the installed program, as the tests of capture and injection drive them."""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.support.cli import Cli

__all__ = ["context_of", "hook", "memory", "remember", "work_session"]

_EVENTS = {
    "session-start": "SessionStart",
    "prompt-submit": "UserPromptSubmit",
    "pre-tool": "PreToolUse",
    "post-tool": "PostToolUse",
    "post-tool-failure": "PostToolUseFailure",
    "pre-compact": "PreCompact",
    "post-compact": "PostCompact",
    "stop": "Stop",
    "subagent-start": "SubagentStart",
    "subagent-stop": "SubagentStop",
    "session-end": "SessionEnd",
}
_numbers = itertools.count(1)


def hook(cli: Cli, verb: str, session: str, **fields: Any) -> Any:
    """Run one hook of the real client; the document it printed, {} for none."""
    given = {
        "session_id": session,
        "cwd": str(cli.project),
        "hook_event_name": _EVENTS[verb],
        "tool_use_id": f"toolu_{next(_numbers)}",
        **fields,
    }
    done = cli.run("hooks", verb, "--stdin", "--format", "claude", stdin=json.dumps(given))
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout) if done.stdout else {}


def context_of(document: Any) -> str:
    """What of a hook's document reaches the model."""
    text: str = document.get("hookSpecificOutput", {}).get("additionalContext", "")
    return text


def memory(cli: Cli, *words: str, stdin: str = "") -> Any:
    """The JSON of one `memory` command that must succeed."""
    done = cli.run("memory", *words, "--format", "json", stdin=stdin)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def remember(cli: Cli, content: str, *words: str) -> str:
    """Store a memory by command; its id."""
    found: str = memory(cli, "store", "-", "--rationale", "kept by a test", *words, stdin=content)["id"]
    return found


def work_session(cli: Cli, session: str, *, stop: bool = True, end: bool = True) -> None:
    """A session with a goal, a failure, a change, a decision and an open end."""
    hook(cli, "session-start", session, source="startup")
    hook(
        cli, "prompt-submit", session, prompt="Make the token bucket refill lazily", prompt_id=f"{session}-1"
    )
    tool = {"tool_name": "Bash", "tool_input": {"command": "pytest -q tests/test_bucket.py"}}
    hook(cli, "post-tool-failure", session, **tool, error="RuntimeError: the clock went backwards")
    path = f"{cli.project}/src/bucket.py"
    hook(
        cli,
        "post-tool",
        session,
        tool_name="Edit",
        tool_input={"file_path": path, "old_string": "a", "new_string": "b"},
        tool_response={"filePath": path},
    )
    hook(cli, "post-tool", session, **tool, tool_response={"stdout": "4 passed"})
    if stop:
        hook(
            cli,
            "stop",
            session,
            last_assistant_message="The bucket refills lazily. I chose a float level because integers lose "
            "the rest. The sliding window is not yet covered by tests.",
        )
    if end:
        hook(cli, "session-end", session, reason="other")
