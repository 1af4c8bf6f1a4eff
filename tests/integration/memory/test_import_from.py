"""`memory import --from`: transcripts, notes and graphs of other programs, through the installed program."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import context_of, hook, memory, remember, work_session

from context_graph.claude.transcripts import folder_of

ERROR = "RuntimeError: the clock went backwards"
GOAL = "Make the token bucket refill lazily"
LAST = (
    "The bucket refills lazily. I chose a float level because integers lose the rest. "
    "The sliding window is not yet covered by tests."
)
KEY = "sk-ant-api03-" + 2 * "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9f"


SEEN = ["runs on port 9000", 7]
ASKED = {"prompt": "Make the token bucket in src/bucket.py refill lazily, with the level that we chose"}


def folder(cli: Cli) -> Path:
    found = folder_of(cli.project, cli.env)
    found.mkdir(parents=True, exist_ok=True)
    return found


def lines(cli: Cli, *more: dict[str, Any], day: int = 1) -> list[dict[str, Any]]:
    """A transcript of what work_session does through hooks."""
    path = f"{cli.project}/src/bucket.py"
    run = {"command": "pytest -q tests/test_bucket.py"}
    edit = {"file_path": path, "old_string": "a", "new_string": "b"}
    said: list[dict[str, Any]] = [
        {"type": "user", "message": {"content": GOAL}},
        {"type": "assistant", "message": {"content": [use("t1", "Bash", run)]}},
        {"type": "user", "message": {"content": [result("t1", ERROR, is_error=True)]}},
        {"type": "assistant", "message": {"content": [use("t2", "Edit", edit)]}},
        {"type": "user", "toolUseResult": {"filePath": path}, "message": {"content": [result("t2", "ok")]}},
        {"type": "assistant", "message": {"content": [use("t3", "Bash", run)]}},
        {"type": "user", "toolUseResult": {"stdout": "4 passed"}, "message": {"content": [result("t3", "")]}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": LAST}]}},
        *more,
    ]
    times = (f"2026-03-{day:02d}T10:{i:02d}:00.000Z" for i in range(60))
    return [{"cwd": str(cli.project), "timestamp": at, **one} for at, one in zip(times, said, strict=False)]


def use(call: str, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": tool, "input": given}


def result(call: str, text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error}


def write(path: Path, said: list[dict[str, Any]], raw: str = "") -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in said) + raw)


def summaries(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = memory(cli, "list", "--source", "capture", "--limit", "100")["nodes"]
    return found


def imported(cli: Cli, *words: str) -> Any:
    done = cli.run("memory", "import", "--json", "--from", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_transcript_becomes_the_summary_that_hooks_would_have_made_once(cli: Cli) -> None:
    work_session(cli, "by-hooks")
    write(folder(cli) / "by-hooks.jsonl", lines(cli))
    write(folder(cli) / "before.jsonl", lines(cli))
    dry = imported(cli, "claude-code", "--dry-run")
    assert (dry["added"], dry["skipped"], dry["items"]) == (1, 1, [GOAL])
    assert len(summaries(cli)) == 1, "a dry run writes nothing"
    assert imported(cli, "claude-code")["added"] == 1
    again = imported(cli, "claude-code")
    assert (again["added"], again["skipped"]) == (0, 2)
    by_hooks, before = sorted(summaries(cli), key=lambda node: "imported" in node["tags"])
    notes = [
        sorted(
            (one["kind"], one["content"])
            for one in memory(cli, "list", "--session-id", name)["nodes"][:9]
            if "kind" in one
        )
        for name in ("by-hooks", "before")
    ]
    assert notes[0] == notes[1] and len(notes[0]) == 4, "the same notes too"
    assert by_hooks["content"].splitlines() == before["content"].splitlines()
    assert before["created_at"].startswith("2026-03-01T10:07") and before["source"] == "capture"
    assert before["session_id"] == "before"


def test_a_transcript_that_grew_is_refreshed_and_a_forgotten_summary_stays_forgotten(cli: Cli) -> None:
    path = folder(cli) / "before.jsonl"
    write(path, lines(cli))
    imported(cli, "claude-code")
    asked = {"type": "user", "message": {"content": "Now cover the sliding window, always with hypothesis"}}
    write(path, lines(cli, asked))
    assert imported(cli, "claude-code")["updated"] == 1
    (node,) = summaries(cli)
    assert "sliding window" in node["content"] and "hypothesis" in node["content"]
    assert cli.run("memory", "forget", node["id"]).returncode == 0
    write(path, lines(cli, asked, asked))
    assert imported(cli, "claude-code")["skipped"] == 1
    assert summaries(cli) == []


def test_what_is_malformed_is_counted_links_are_not_followed_and_secrets_are_masked(
    cli: Cli, tmp_path: Path
) -> None:
    said = lines(cli)
    said[0]["message"]["content"] += f" with the key {KEY}"
    write(folder(cli) / "odd.jsonl", said, raw='not json\n[1]\n{"type": "user"}\n' + "x" * (5 << 20) + "\n")
    outside = tmp_path / "outside.jsonl"
    write(outside, lines(cli, day=2))
    (folder(cli) / "link.jsonl").symlink_to(outside)
    (folder(cli) / "folder.jsonl").mkdir()
    report = imported(cli, "claude-code")
    assert (report["files"], report["added"], report["unreadable_lines"]) == (1, 1, 3)
    (node,) = summaries(cli)
    assert (
        KEY not in json.dumps(memory(cli, "list")["nodes"])
        and KEY not in json.dumps(report)
        and "token bucket" in node["content"]
    )


def test_a_subagents_words_are_no_wishes_of_the_user(cli: Cli) -> None:
    said = lines(cli)
    write(folder(cli) / "main.jsonl", said)
    theirs = [
        {**one, "sessionId": "main", "agentId": "a1", "isSidechain": True}
        for one in lines(cli, {"type": "user", "message": {"content": "We always deploy on Fridays"}})
    ]
    write(folder(cli) / "agent-a1.jsonl", theirs)
    assert imported(cli, "claude-code")["added"] == 1
    assert "Friday" not in json.dumps(memory(cli, "list")["nodes"])


def test_an_import_that_was_killed_is_finished_by_running_it_again(cli: Cli) -> None:
    for number in range(60):
        write(folder(cli) / f"s{number:02d}.jsonl", lines(cli, day=1 + number % 28))
    cli.start_owner()
    command = [str(cli.launcher), "memory", "import", "--from", "claude-code"]
    with subprocess.Popen(command, env=cli.env, cwd=cli.project, stdout=subprocess.PIPE) as running:
        while not memory(cli, "list", "--limit", "1")["nodes"] and running.poll() is None:
            time.sleep(0.02)
        pid = cli.owner_pid()
        os.kill(pid, signal.SIGKILL)
        running.communicate(timeout=60)
    report = imported(cli, "claude-code")
    assert report["added"] + report["skipped"] == 60
    assert len(summaries(cli)) == 60


def test_in_the_first_session_an_imported_one_answers_and_its_file_is_known(cli: Cli) -> None:
    for day, goal in enumerate((GOAL, "Give the importer a dry run", "Rename the date parser"), start=1):
        said = lines(cli, day=day)
        said[0]["message"]["content"] = goal
        said[2]["message"]["content"] = [result("t1", "AssertionError: 3 != 4", is_error=True)]  # no lesson
        if goal != GOAL:
            del said[-1], said[3:5]
        write(folder(cli) / f"before-{day}.jsonl", said)
    (cli.project / "src").mkdir()
    (cli.project / "src" / "bucket.py").write_text("b\n")
    imported(cli, "claude-code")
    start = context_of(hook(cli, "session-start", "s", source="startup"))
    assert '"pytest -q"' in start, "how tests are run"
    told = context_of(hook(cli, "prompt-submit", "s", **ASKED))
    assert "float level" in told and "imported" not in told
    cli.run("memory", "stats")  # what waits for a quiet moment is done before
    path = f"{cli.project}/src/bucket.py"
    read = {"tool_name": "Read", "tool_input": {"file_path": path}}
    answer = {"tool_response": {"file": {"filePath": path}}}
    at_file = context_of(hook(cli, "post-tool", "other", **read, **answer))
    assert "float level" in at_file and "src/bucket.py, changed on " in at_file


def test_notes_and_graphs_become_memories_with_links(cli: Cli, tmp_path: Path) -> None:
    notes = folder(cli) / "memory"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("# Index\n- [Deploy](deploy.md) how it is deployed, with the port\n")
    told = "# Deploy\nStaging listens on port 8443.\n\n## Why\nThe proxy needs it so.\n"
    (notes / "deploy.md").write_text(f"---\nname: deploy\n---\n{told}")
    assert imported(cli, "auto-memory")["items"] == ["deploy.md: Deploy", "deploy.md: Why"]
    assert imported(cli, "auto-memory")["skipped"] == 2
    (cli.project / "CLAUDE.md").write_text("# Style\nTabs in the Makefile, never spaces.\n")
    assert imported(cli, "claude-md")["added"] == 1
    graph = tmp_path / "memory.jsonl"
    said = [
        {
            "type": "entity",
            "name": "Billing",
            "entityType": "service",
            "observations": SEEN,
        },
        {"type": "relation", "from": "Deploys", "to": "Billing", "relationType": "starts"},
        {"type": "relation", "from": "Deploys", "to": "nothing", "relationType": "starts"},
        {"type": "entity", "name": "Deploys", "entityType": "job", "observations": []},
    ]
    write(graph, said, raw="nonsense\n")
    report = imported(cli, "server-memory", str(graph))
    assert (report["added"], report["links"], report["unreadable_lines"]) == (2, 1, 2)
    assert "links" not in imported(cli, "server-memory", str(graph))
    texts = {node["content"]: node["tags"] for node in memory(cli, "list")["nodes"]}
    assert texts["Billing (service)\n- runs on port 9000"] == ["imported", "server-memory"]
    assert len(texts) == 5


def test_what_the_clients_own_memory_says_is_not_brought_again(cli: Cli) -> None:
    notes = folder(cli) / "memory"
    notes.mkdir()
    text = "Staging listens on port 8443 behind the proxy"
    (notes / "staging.md").write_text(f"# Staging\n{text}\n")
    imported(cli, "auto-memory")
    asked = {"prompt": "On which port does staging listen behind the proxy?"}
    hook(cli, "session-start", "one", source="startup")
    assert text in context_of(hook(cli, "prompt-submit", "one", **asked))
    (notes / "MEMORY.md").write_text(f"# Staging\n- {text}\n")
    hook(cli, "session-start", "two", source="startup")
    assert context_of(hook(cli, "prompt-submit", "two", **asked)) == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("claude-code",), "nothing to import in"),
        (("claude-code", "/nowhere"), "no such file or folder"),
        (("server-memory",), "needs the PATH"),
        (("claude-code", "--overwrite"), "--overwrite has no meaning"),
    ],
)
def test_what_cannot_be_imported_says_what_is_missing(cli: Cli, words: tuple[str, ...], told: str) -> None:
    done = cli.run("memory", "import", "--from", *words)
    assert (
        done.returncode == 1 + ("--overwrite" in words)
        and told in done.stderr
        and "Traceback" not in done.stderr
    )


def test_setup_says_how_many_sessions_can_be_imported(cli: Cli) -> None:
    write(folder(cli) / "before.jsonl", lines(cli))
    done = cli.run("setup", "--yes")
    assert done.returncode == 0
    command, what = (line.strip() for line in done.stdout.splitlines()[-2:])
    assert command == "context-graph-cli memory import --from claude-code"
    assert what == "remembers 1 earlier session of this project"


def claude_mem(path: Path, project: str, *, view: bool = False) -> Path:
    """A database as claude-mem makes it, with rows of this project and of another."""
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT,"
            " type TEXT, title TEXT, narrative TEXT, facts TEXT, files_modified TEXT,"
            " created_at_epoch INTEGER)"
        )
        for name, title in ((project, "The proxy drops idle sockets"), ("other", "Elsewhere"), (project, "")):
            row = (
                "m",
                name,
                "bugfix",
                title,
                None,
                '["after 60 s", 7]',
                '["net/proxy.py"]',
                1_770_000_000_000,
            )
            database.execute(
                "INSERT INTO observations (memory_session_id, project, type, title, narrative, facts,"
                " files_modified, created_at_epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        if view:
            database.execute("DROP TABLE observations")
            database.execute(
                "CREATE VIEW observations AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1"
                " FROM n) SELECT id, 'no' || id AS project, '' AS title FROM n"
            )
    return path


def test_what_claude_mem_observed_becomes_memories(cli: Cli, tmp_path: Path) -> None:
    path = claude_mem(tmp_path / "claude-mem.db", cli.project.name)
    report = imported(cli, "claude-mem", str(path))
    assert (report["added"], report["unreadable_rows"]) == (1, 1)
    (node,) = memory(cli, "list")["nodes"]
    assert node["content"] == "The proxy drops idle sockets\n- after 60 s\nChanged: net/proxy.py"
    assert node["created_at"].startswith("2026-02-02") and node["tags"] == ["imported", "claude-mem"]
    assert imported(cli, "claude-mem", str(path))["skipped"] == 1


def test_a_database_that_computes_for_ever_or_is_none_is_given_up(cli: Cli, tmp_path: Path) -> None:
    endless = claude_mem(tmp_path / "endless.db", cli.project.name, view=True)
    none = tmp_path / "none.db"
    none.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    for path in (endless, none):
        report = imported(cli, "claude-mem", str(path))
        assert (report["added"], report["unreadable_files"]) == (0, 1), path


def test_what_was_stored_is_written_back_into_the_clients_own_memory(cli: Cli) -> None:
    remember(cli, "Staging listens on port 8443", "--importance", "0.9")
    gone = remember(cli, "Nobody needs this")
    assert cli.run("memory", "forget", gone).returncode == 0
    work_session(cli, "s")
    refused = cli.run("memory", "export", "--to", "auto-memory")
    assert refused.returncode == 1 and "has no folder for this project" in refused.stderr
    notes = folder(cli) / "memory"
    notes.mkdir()
    (notes / "MEMORY.md").write_text("# Mine\n- keep me, whatever you write here")
    for _ in range(2):
        assert cli.run("memory", "export", "--to", "auto-memory").stderr == "1 memories\n"
    index = (notes / "MEMORY.md").read_text()
    assert (
        index.startswith("# Mine\n- keep me, whatever you write here\n- [")
        and index.count("context-graph.md") == 1
    )
    written = (notes / "context-graph.md").read_text()
    assert ": Staging listens on port 8443\n" in written and "Nobody" not in written
    assert "token bucket" not in written and [one.name for one in notes.glob(".*")] == []
    report = imported(cli, "auto-memory")
    assert (report["added"], report["files"]) == (1, 1), "what we wrote ourselves does not come back"


def test_a_session_of_another_program_is_refused_with_what_it_is(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "rollout.jsonl"
    write(other, [{"timestamp": "2026-03-01T10:00:00Z", "type": "session_meta", "payload": {"id": "x"}}])
    done = cli.run("memory", "import", "--from", "claude-code", str(other))
    assert done.returncode == 1 and "a session of Codex CLI" in done.stderr
    write(other, [{"role": "user", "text": "hello"}])
    assert "of another program" in cli.run("memory", "import", "--from", "claude-code", str(other)).stderr


def test_a_fork_says_only_what_is_new_and_repeated_history_counts_once(cli: Cli) -> None:
    known = [{**one, "uuid": f"u{number}"} for number, one in enumerate(lines(cli))]
    write(folder(cli) / "first.jsonl", known)
    new = {
        "type": "user",
        "message": {"content": "Now try it with a queue instead of the bucket"},
        "uuid": "n1",
    }
    edit = {"file_path": f"{cli.project}/src/queue.py", "old_string": "a", "new_string": "b"}
    more = [
        new,
        {"type": "assistant", "message": {"content": [use("q1", "Edit", edit)]}, "uuid": "n2"},
        {"type": "user", "message": {"content": [result("q1", "ok")]}, "uuid": "n3"},
    ]
    forked = [{**one, "uuid": f"f{n}", "forkedFrom": {"sessionId": "first"}} for n, one in enumerate(known)]
    write(folder(cli) / "fork.jsonl", [*forked, *({**one, "cwd": str(cli.project)} for one in more)])
    again = [{**one, "uuid": f"r{one['uuid']}"} if one in more else one for one in [*known, *more]]
    write(folder(cli) / "resumed.jsonl", again)
    imported(cli, "claude-code")
    told = json.dumps([node["content"] for node in memory(cli, "list", "--limit", "100")["nodes"]])
    assert told.count("I chose a float level") == 1
    assert {one["session_id"] for one in summaries(cli)} == {"first", "fork", "resumed"}


def test_what_the_client_writes_in_the_model_s_place_is_no_last_word(cli: Cli) -> None:
    error = {
        "type": "assistant",
        "isApiErrorMessage": True,
        "message": {
            "model": "<synthetic>",
            "content": [{"type": "text", "text": "API Error: 529 overloaded"}],
        },
    }
    write(
        folder(cli) / "s.jsonl", lines(cli, {"type": "user", "message": {"content": "and the docs?"}}, error)
    )
    imported(cli, "claude-code")
    told = json.dumps(memory(cli, "list")["nodes"])
    assert "API Error" not in told and "float level" in told
