"""Codex CLI's session files are read as its hooks would have told them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.cli import Cli
from tests.support.sessions import memory

ID = "0199a213-81c0-7800-8aa1-bbab2a035a53"


def rollout(
    cli: Cli, folder: Path, *lines: tuple[str, dict[str, Any]], number: str = ID, cwd: str = ""
) -> Path:
    place = folder / "sessions" / "2026" / "10" / "05"
    place.mkdir(parents=True, exist_ok=True)
    meta = ("session_meta", {"id": number, "cwd": cwd or str(cli.project), "cli_version": "0.171.0"})
    path = place / f"rollout-2026-10-05T09-00-00-{number}.jsonl"
    path.write_text(
        "".join(
            json.dumps({"timestamp": f"2026-10-05T09:{at:02}:00.000Z", "type": kind, "payload": payload})
            + "\n"
            for at, (kind, payload) in enumerate((meta, *lines))
        )
    )
    return path


def asked(text: str) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": "user_message", "message": text}


def ran(number: str, command: list[str], output: str, code: int) -> list[tuple[str, dict[str, Any]]]:
    result = json.dumps({"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.1}})
    call = {
        "type": "function_call",
        "name": "shell",
        "arguments": json.dumps({"command": command}),
        "call_id": number,
    }
    return [
        ("response_item", call),
        ("response_item", {"type": "function_call_output", "call_id": number, "output": result}),
    ]


PROMPT = "Fix the rounding of the basket. Never use floats for money."
PATCH = "*** Begin Patch\n*** Update File: shop/basket.py\n@@\n-total = 0.0\n+total = 0\n*** End Patch"


def session(cli: Cli, folder: Path, **more: Any) -> Path:
    own = {"type": "input_text", "text": "<environment_context>cwd</environment_context>"}
    typed = {"type": "input_text", "text": PROMPT}
    said = {
        "type": "output_text",
        "text": "Fixed: the total was a float, so cents were lost. It is an integer now.",
    }
    return rollout(
        cli,
        folder,
        ("response_item", {"type": "message", "role": "user", "content": [own]}),
        ("response_item", {"type": "message", "role": "user", "content": [typed]}),
        asked(PROMPT),
        *ran("c1", ["bash", "-lc", "pytest -q tests/test_basket.py"], "1 failed: 0.1 + 0.2", 1),
        (
            "response_item",
            {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "call_id": "c2"},
        ),
        ("response_item", {"type": "custom_tool_call_output", "call_id": "c2", "output": "Success"}),
        *ran("c3", ["bash", "-lc", "pytest -q tests/test_basket.py"], "1 passed", 0),
        ("response_item", {"type": "message", "role": "assistant", "content": [said]}),
        **more,
    )


def texts(cli: Cli) -> list[str]:
    return [one["content"] for one in memory(cli, "list")["nodes"]]


def imported(cli: Cli, folder: Path) -> Any:
    done = cli.run("memory", "import", "--from", "codex", "--json", env={"CODEX_HOME": str(folder)})
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_a_session_of_codex_leaves_summary_and_notes_once(cli: Cli, tmp_path: Path) -> None:
    session(cli, tmp_path)
    assert imported(cli, tmp_path)["added"] == 1
    whole = "\n".join(texts(cli))
    assert "Never use floats for money." in whole and "shop/basket.py" in whole and "integer now" in whole
    assert "environment_context" not in whole
    (summary,) = [one for one in memory(cli, "list")["nodes"] if one["source"] == "capture"]
    assert summary["session_id"] == ID and summary["created_at"].startswith("2026-10-05T09:")
    assert imported(cli, tmp_path)["added"] == 0, "run again, it is there"


def test_sessions_of_other_projects_and_other_files_are_left_out_or_refused(cli: Cli, tmp_path: Path) -> None:
    session(cli, tmp_path, cwd="/somewhere/else")
    refused = cli.run("memory", "import", "--from", "codex", env={"CODEX_HOME": str(tmp_path)})
    assert refused.returncode == 1 and "nothing to import" in refused.stderr
    other = tmp_path / "x.jsonl"
    other.write_text('{"a": 1}\n')
    refused = cli.run("memory", "import", "--from", "codex", str(other))
    assert refused.returncode == 1 and "no session file of Codex" in refused.stderr


def test_a_fork_repeats_no_call_and_no_prompt(cli: Cli, tmp_path: Path) -> None:
    first = session(cli, tmp_path).read_text().splitlines(keepends=True)
    number = ID.replace("0199a213", "0199a214")
    later = (asked("Now show the total"), *ran("d1", ["bash", "-lc", "make run"], "ok", 0))
    more = [
        json.dumps({"timestamp": "2026-10-05T10:00:00.000Z", "type": kind, "payload": payload}) + "\n"
        for kind, payload in later
    ]
    fork = tmp_path / "sessions" / "2026" / "10" / "05" / f"rollout-2026-10-05T10-00-00-{number}.jsonl"
    fork.write_text("".join([first[0].replace(ID, number), *first[1:], *more]))
    imported(cli, tmp_path)
    rules = [one for one in texts(cli) if one == "Never use floats for money."]
    assert len(rules) == 1


def test_broken_lines_are_counted_and_passed_over(cli: Cli, tmp_path: Path) -> None:
    path = session(cli, tmp_path)
    path.write_text(
        path.read_text()
        + "{torn\n[1]\n"
        + '{"type": "response_item", "payload": {"type": "function_call"}}\n'
    )
    assert imported(cli, tmp_path)["unreadable_lines"] == 2
