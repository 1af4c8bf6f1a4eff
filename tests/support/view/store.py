"""A store filled by the installed program, for what looks at it: memories, a session with a drift, a gate."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.support.cli import Cli

SESSION = "5e550000-aaaa-4000-8000-000000000001"
TEXTS = (
    "Rate limits count per API key, not per IP: customers behind one NAT shared a bucket.",
    "The gateway listens on port 8443 in staging.",
    "[red]x[/red] \x1b[31mThe build needs cargo 1.88.",
)
RULES = """version: "1.0"
enabled: true
requirements:
  commit_plan:
    enabled: true
    scope: session
    trigger_tools: [Edit, Write]
    message: Write a plan first.
"""


def hook(cli: Cli, verb: str, body: dict[str, Any]) -> None:
    """Run one hook as the client does."""
    full = {"session_id": SESSION, "cwd": str(cli.project), **body}
    env = {"CLAUDE_CODE_SESSION_ID": SESSION}
    done = cli.run("hooks", verb, "--format", "claude", stdin=json.dumps(full), env=env)
    assert done.returncode == 0, done.stderr


def call(tool: str, given: dict[str, Any], gave: object, use: str) -> dict[str, Any]:
    return {
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": given,
        "tool_response": gave,
        "tool_use_id": use,
    }


def fill(cli: Cli) -> None:
    """Three memories, one of them hostile; a session with calls and a failure; a refused edit."""
    subprocess.run(["git", "init", "-q", "-b", "feature/limits"], cwd=cli.project, check=True)
    for text in TEXTS:
        done = cli.run("memory", "store", text, "--rationale", "decided in review")
        assert done.returncode == 0, done.stderr
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude" / "requirements.yaml").write_text(RULES)
    hook(cli, "session-start", {"hook_event_name": "SessionStart", "source": "startup"})
    asked = "Should the rate limiter of the gateway count per API key or per IP?"
    hook(cli, "prompt-submit", {"hook_event_name": "UserPromptSubmit", "prompt": asked})
    for at in range(8):
        path = str(cli.project / "src/rate_limiter.py")
        hook(cli, "post-tool", call("Read", {"file_path": path}, {"content": "class Bucket"}, f"toolu_{at}"))
    hook(
        cli,
        "post-tool-failure",
        {
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": "pytest"},
            "error": "1 failed",
            "tool_use_id": "toolu_f",
        },
    )
    edit = {"file_path": str(cli.project / "limits.py"), "old_string": "a", "new_string": "b"}
    refused = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": edit,
        "tool_use_id": "toolu_e",
    }
    hook(cli, "pre-tool", refused)
