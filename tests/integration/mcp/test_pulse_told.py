"""The pulse is in each answer, but where Claude Code's model reads it and is told of alarms alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory


def asked(cli: Cli, meta: dict[str, Any] | None) -> dict[str, Any]:
    call = {"name": "get_memetic_status", "arguments": {}, **({"_meta": meta} if meta else {})}
    line = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
    (answer,) = (one for one in cli.run("mcp", stdin=line).stdout.splitlines() if '"id":2' in one)
    found: dict[str, Any] = json.loads(answer)["result"]["structuredContent"]
    return found


def test_a_program_that_calls_has_it(cli: Cli) -> None:
    assert set(asked(cli, None)["pulse"]) >= {"entropy", "coherence", "suggested_action"}


@pytest.mark.parametrize(("lines", "told"), [("alarms", False), ("changes", True), ("always", True)])
def test_claude_code_s_model_has_it_only_where_it_is_told_more_than_alarms(
    cli: Cli, lines: str, told: bool
) -> None:
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude/context-graph.toml").write_text(f'identity_lines = "{lines}"\n')
    assert ("pulse" in asked(cli, {"claudecode/toolUseId": "toolu_1"})) is told


def test_what_hooks_told_counts_as_used_once_the_session_s_work_has_it(cli: Cli) -> None:
    """REQ-CORE-025: told at a prompt, used by the call after it."""
    fact = "Dates of two digits fail in parse_invoice_date, so normalise_year runs before it"
    memory(cli, "store", fact, "--rationale", "kept by a test")
    hook(cli, "session-start", "s-1", source="startup")
    asked = "Why do dates of two digits fail in the invoices?"
    assert "normalise_year" in context_of(hook(cli, "prompt-submit", "s-1", prompt=asked))
    assert asked_status(cli) == 0.0
    edit = {"file_path": "a.py", "old_string": "x", "new_string": "parse_invoice_date(normalise_year(x))"}
    hook(cli, "post-tool", "s-1", tool_name="Edit", tool_input=edit, tool_response={"ok": True})
    assert asked_status(cli) == 1.0


def asked_status(cli: Cli) -> float:
    return float(asked(cli, None)["coherence_score"])
