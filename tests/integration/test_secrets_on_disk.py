"""Planted secrets: whatever way they come in, no file below the data root ever holds one (invariant 10)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import Cli

from context_graph.config import data_root, store_dir
from context_graph.store.sessions import SessionStore

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "secrets.tsv"
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def _rows() -> Iterator[tuple[str, str, str]]:
    for line in GOLDEN.read_text().splitlines():
        if line and not line.startswith("#"):
            rule, secret, text = (
                re.sub(r"\\(.)", lambda found: ESCAPES[found[1]], cell.replace("{}", ""))
                for cell in line.split("\t")
            )
            yield rule, secret, text


def _plant(cli: Cli, text: str, number: int, **env: str) -> None:
    for kind, given in (
        ("prompt-submit", {"hook_event_name": "UserPromptSubmit", "prompt": text}),
        (
            "post-tool",
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": f"cat <<X\n{text}\nX"},
                "tool_response": {"stdout": text, "stderr": ""},
                "tool_use_id": f"toolu_{number}",
            },
        ),
    ):
        done = cli.run(
            "hooks", kind, "--format", "claude", stdin=json.dumps({"session_id": "s-1", **given}), env=env
        )
        assert done.returncode == 0


def _everything(root: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


def _leaks(root: Path, where: str) -> list[str]:
    held = _everything(root)
    return [
        f"{where}: {rule}: {line[:12]}…"
        for rule, secret, _ in _rows()
        for line in secret.splitlines()
        if len(line) >= 8 and not line.startswith("-----") and line.encode() in held
    ]


@pytest.mark.timeout(300)
def test_no_planted_secret_is_found_in_any_file(cli: Cli) -> None:
    """REQ-HOOKS-33: prompts, tool inputs and outputs; live, spooled, drained, closed."""
    root = data_root(cli.env)
    cli.run("hooks", "session-start", "--format", "claude", stdin=json.dumps({"session_id": "s-1"}))
    rows = list(_rows())
    for number, (_, _, text) in enumerate(rows):
        _plant(cli, text, number)
    assert _leaks(root, "live") == []
    cli.run("owner", "stop")
    for number, (_, _, text) in enumerate(rows):
        _plant(cli, text, number + 1000, CONTEXT_GRAPH_PYTHON="/bin/false")
    assert _leaks(root, "spool") == []
    shown = json.loads(cli.run("session", "show", "--session-id", "s-1", "--json").stdout)
    assert shown["spool_pending"] == 0 and shown["events_applied"] >= 4 * len(rows)
    assert _leaks(root, "drained") == []
    cli.run("owner", "stop")
    assert _leaks(root, "closed") == []
    with SessionStore.open(store_dir(root, cli.project) / "db") as store:
        told = "\n".join(
            f"{event.input_text}\n{event.output_text}" for event in store.event_log.after("s-1", 0)
        )
    assert "[redacted:" in told
    assert not [rule for rule, secret, _ in rows if secret in told]
