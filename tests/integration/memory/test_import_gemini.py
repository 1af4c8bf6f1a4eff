"""Gemini CLI's session files, in the form of each version, are read as its hooks would have told them."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import memory

ID = "5b1f8c1e-3c3a-4f0e-9a53-2b7e6f1f0d11"
PROMPT = "Fix the rounding of the basket. Never use floats for money."
SAID = "Fixed: the total was a float, so cents were lost. It is an integer now."
Json = dict[str, Any]


def call(number: str, name: str, args: Json, response: Json, **more: Any) -> Json:
    part = {"functionResponse": {"id": number, "name": name, "response": response}}
    return {"id": number, "name": name, "args": args, "result": [part], "status": "success", **more}


def asked(number: str, text: str, minute: int) -> Json:
    stamp = f"2026-10-05T09:{minute:02}:00.000Z"
    return {"id": number, "timestamp": stamp, "type": "user", "content": [{"text": text}]}


def answered(number: str, text: str, minute: int, *calls: Json) -> Json:
    stamp = f"2026-10-05T09:{minute:02}:00.000Z"
    return {"id": number, "timestamp": stamp, "type": "gemini", "content": text, "toolCalls": list(calls)}


def messages(cli: Cli) -> list[Json]:
    tests = {"command": "pytest -q tests/test_basket.py"}
    failed = "Output: 1 failed: 0.1 + 0.2\nExit Code: 1"
    path = str(cli.project / "shop" / "basket.py")
    edit = {"file_path": path, "old_string": "total = 0.0", "new_string": "total = 0", "instruction": "x"}
    return [
        asked("m0", "<session_context>\nThis is the Gemini CLI.", 0),
        asked("m1", PROMPT, 1),
        answered("m2", "", 2, call("c1", "run_shell_command", tests, {"output": failed})),
        answered("m3", "", 3, call("c2", "replace", edit, {"output": "Successfully modified file"})),
        answered("m4", SAID, 4, call("c3", "run_shell_command", tests, {"output": "Output: 1 passed"})),
    ]


def meta(cli: Cli) -> Json:
    digest = sha256(str(cli.project).encode()).hexdigest()
    began = "2026-10-05T09:00:00.000Z"
    return {"sessionId": ID, "projectHash": digest, "startTime": began, "lastUpdated": began, "kind": "main"}


def place(home: Path, project: Path | None = None) -> Path:
    chats = home / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True, exist_ok=True)
    if project is not None:
        (chats.parent / ".project_root").write_text(str(project))
    return chats


def lines(path: Path, *records: Json) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def imported(cli: Cli, home: Path) -> Any:
    done = cli.run("memory", "import", "--from", "gemini", "--json", env={"GEMINI_CLI_HOME": str(home)})
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def texts(cli: Cli) -> list[str]:
    return [one["content"] for one in memory(cli, "list")["nodes"]]


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_session_leaves_summary_and_notes_once(cli: Cli, tmp_path: Path, form: str) -> None:
    path = place(tmp_path) / f"session-2026-10-05T09-00-5b1f8c1e.{form}"
    if form == "json":
        path.write_text(json.dumps({**meta(cli), "messages": messages(cli)}, indent=2))
    else:
        lines(path, meta(cli), *messages(cli))
    assert imported(cli, tmp_path)["added"] == 1
    whole = "\n".join(texts(cli))
    assert "Never use floats for money." in whole and "shop/basket.py" in whole and "integer now" in whole
    assert "session_context" not in whole
    (summary,) = [one for one in memory(cli, "list")["nodes"] if one["source"] == "capture"]
    assert summary["session_id"] == ID and summary["created_at"].startswith("2026-10-05T09:")
    assert imported(cli, tmp_path)["added"] == 0, "run again, it is there"


def test_a_message_that_is_written_again_counts_once_and_what_was_taken_back_not_at_all(
    cli: Cli, tmp_path: Path
) -> None:
    whole = messages(cli)
    early = {**whole[2], "toolCalls": []}
    back = [asked("m5", "Always use tabs in this project.", 5), {"$rewindTo": "m5"}]
    shorter = {"$set": {"messages": [asked("m9", "<state_snapshot>all so far</state_snapshot>", 6)]}}
    records = (meta(cli), *whole[:2], early, *whole[2:], {"$set": {"summary": "x"}}, *back, shorter)
    lines(place(tmp_path, cli.project) / "session-2026-10-05T09-00-5b1f8c1e.jsonl", *records)
    imported(cli, tmp_path)
    told = texts(cli)
    assert len([one for one in told if one == "Never use floats for money."]) == 1
    assert not any("tabs" in one or "state_snapshot" in one for one in told)
    assert any("integer now" in one for one in told), "a shorter history of the model takes nothing back"


def test_a_session_that_was_taken_up_by_a_newer_version_is_read_once(cli: Cli, tmp_path: Path) -> None:
    older = place(tmp_path, cli.project) / "session-2026-10-05T09-00-5b1f8c1e.json"
    older.write_text(json.dumps({**meta(cli), "messages": messages(cli)}))
    lines(older.with_suffix(".jsonl"), meta(cli), *messages(cli))
    assert imported(cli, tmp_path)["files"] == 1


def test_sessions_of_other_projects_and_other_files_are_left_out_or_refused(cli: Cli, tmp_path: Path) -> None:
    lines(place(tmp_path, Path("/somewhere/else")) / "session-a.jsonl", meta(cli), *messages(cli))
    env = {"GEMINI_CLI_HOME": str(tmp_path)}
    refused = cli.run("memory", "import", "--from", "gemini", env=env)
    assert refused.returncode == 1 and "nothing to import" in refused.stderr
    other = lines(tmp_path / "x.jsonl", {"a": 1})
    refused = cli.run("memory", "import", "--from", "gemini", str(other))
    assert refused.returncode == 1 and "no session file of Gemini" in refused.stderr


def test_what_is_torn_or_of_another_form_is_counted_and_passed_over(cli: Cli, tmp_path: Path) -> None:
    chats = place(tmp_path, cli.project)
    path = lines(chats / "session-a.jsonl", meta(cli), *messages(cli))
    odd = {"id": "m8", "type": "gemini", "content": 7, "toolCalls": [{"status": "success"}, 3]}
    path.write_text(path.read_text() + json.dumps(odd) + "\n{torn\n[1]\n")
    (chats / "session-b.json").write_text('{"sessionId": ')
    done = imported(cli, tmp_path)
    assert done["unreadable_lines"] == 2 and done["unreadable_files"] == 1 and done["added"] == 1
