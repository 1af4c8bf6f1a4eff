"""`backup` and `restore` through the installed program, on real stores."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli, end_process
from tests.support.gates.installed import no_owner
from tests.support.sessions import hook, memory, remember

from context_graph.cli.backup.make import probe
from context_graph.wire import run_folder

FACT = "Rate limits count per API key, not per IP"


def backup(cli: Cli, folder: Path) -> dict[str, Any]:
    done = cli.run("backup", str(folder), "--json")
    assert (done.returncode, done.stderr) == (0, ""), done
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def store_of(cli: Cli) -> Path:
    (store,) = (Path(cli.env["CONTEXT_GRAPH_HOME"]) / "stores").iterdir()
    return store


def contents(cli: Cli) -> list[str]:
    return sorted(node["content"] for node in memory(cli, "list")["nodes"])


@pytest.fixture
def made(cli: Cli, tmp_path: Path) -> Path:
    """A backup of a store with two memories and a session."""
    for text in (FACT, "Staging listens on port 8443"):
        remember(cli, text)
    hook(cli, "session-start", "first-session", source="startup")
    folder = tmp_path / "backup"
    found = backup(cli, folder)
    assert (found["memories"], found["sessions"]) == (2, 1)
    assert found["bytes"] == sum(path.stat().st_size for path in (folder / "db").iterdir())
    return folder


def test_a_backup_comes_back_and_what_was_there_is_kept(cli: Cli, made: Path) -> None:
    before = contents(cli)
    late = remember(cli, "Written after the backup")
    done = cli.run("restore", str(made), "--yes", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert contents(cli) == before
    assert cli.run("memory", "show", late).returncode == 1
    assert memory(cli, "recall", "how are limits counted?")["nodes"][0]["content"] == FACT
    assert json.loads(cli.run("session", "list", "--json").stdout)["total"] == 1
    # The store that was there is a store still: put back the same way, nothing is lost.
    assert (Path(found["kept"]) / "db" / "CURRENT").is_file()
    assert not list(store_of(cli).glob("checkpoint-*"))


def test_what_waits_to_be_applied_outlives_a_restore(cli: Cli, made: Path) -> None:
    """Events of sessions that go on: hooks answered for them, and no backup has them."""
    with no_owner(cli):
        hook(cli, "prompt-submit", "second-session", prompt="Mend the parser", prompt_id="1")
    waiting = {path.name: path.read_bytes() for path in (store_of(cli) / "events").iterdir()}
    assert b"Mend the parser" in b"".join(waiting.values())
    assert cli.run("restore", str(made), "--yes").returncode == 0
    assert {path.name: path.read_bytes() for path in (store_of(cli) / "events").iterdir()} == waiting
    sessions = json.loads(cli.run("session", "list", "--json").stdout)["sessions"]
    assert {one["session_id"] for one in sessions} == {"first-session", "second-session"}


def test_new_numbers_after_a_restore_meet_no_index_of_the_old_history(cli: Cli, made: Path) -> None:
    """The old index knows commits whose numbers the restored store gives away again."""
    for number in range(5):
        remember(cli, f"Lost with the restore, number {number}")
    assert cli.run("owner", "stop").returncode == 0  # writes the index to disk
    assert cli.run("restore", str(made), "--yes").returncode == 0
    for number in range(8):
        remember(cli, f"Kept after the restore: paper boat {number}")
    found = memory(cli, "recall", "paper boat")["nodes"]
    assert {node["content"] for node in found} >= {
        f"Kept after the restore: paper boat {n}" for n in range(8)
    }
    assert not any("Lost" in text for text in contents(cli))


def test_what_was_derived_from_the_store_before_goes_with_it(cli: Cli, made: Path) -> None:
    """Its brief would show a session's line that the restored store does not know."""
    env = {"CLAUDE_CODE_SESSION_ID": "later-session"}
    hook(cli, "prompt-submit", "later-session", prompt="Mend the parser of the deploy manifest")
    for number in range(6):
        file = {"file_path": f"src/parser_{number}.py"}
        fields = {"tool_name": "Read", "tool_use_id": f"toolu_{number}", "tool_response": "def parse(): ..."}
        hook(cli, "post-tool", "later-session", tool_input=file, **fields)
    assert cli.run("owner", "stop").returncode == 0
    store = store_of(cli)
    derived = {path.name for path in store.iterdir()} - {"db", "events", "project"}
    assert "brief.bin" in derived and "C:?" not in cli.run("consciousness", "brief", env=env).stdout
    done = cli.run("restore", str(made), "--yes", "--json")
    assert "C:?" in cli.run("consciousness", "brief", env=env).stdout
    kept = Path(json.loads(done.stdout)["kept"])
    assert {path.name for path in kept.iterdir()} >= {"db", "brief.bin"}


def test_a_backup_goes_into_another_data_root(cli: Cli, made: Path, tmp_path: Path) -> None:
    """A move to another machine: same project or not, the memories are there."""
    root = {"CONTEXT_GRAPH_HOME": str(tmp_path / "other")}
    done = cli.run("restore", str(made), "--yes", "--json", env=root)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kept"] is None
    try:
        listed = cli.run("memory", "list", "--format", "json", env=root)
        assert FACT in listed.stdout
    finally:
        cli.run("owner", "stop", env=root)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("changed", "differs from what was written"),
        ("missing", "No such file"),
        ("added", "999999.log: is not part of the backup"),
        ("list", "is not JSON"),
        ("version", "has version 2"),
        ("way out", "leads out of its folder"),
    ],
)
def test_a_backup_that_is_not_as_written_changes_nothing(
    cli: Cli, made: Path, fault: str, named: str
) -> None:
    """Checked before the first change, by the list in it."""
    table = max((made / "db").glob("*.sst"), key=lambda path: path.stat().st_size)
    listed = made / "backup.json"
    if fault == "changed":
        data = bytearray(table.read_bytes())
        data[len(data) // 2] ^= 1
        table.write_bytes(data)
    elif fault == "missing":
        table.unlink()
    elif fault == "added":
        (made / "db" / "999999.log").write_bytes(b"x")
    elif fault == "list":
        listed.write_text("{")
    elif fault == "version":
        listed.write_text(listed.read_text().replace('"version": 1', '"version": 2'))
    else:
        listed.write_text(listed.read_text().replace(f'"{table.name}"', f'"../{table.name}"'))
    before = contents(cli)
    for words in (("--check",), ("--yes",)):
        done = cli.run("restore", str(made), *words)
        assert done.returncode == 1, done
        assert str(made) in done.stderr and named in done.stderr
        assert "Traceback" not in done.stderr
    assert contents(cli) == before
    assert not list(store_of(cli).glob("before-restore-*"))


def test_a_good_backup_is_called_good_and_nothing_is_replaced_unasked(cli: Cli, made: Path) -> None:
    assert cli.run("restore", str(made), "--check").stdout.startswith("good: 2 memories, 1 session, ")
    done = cli.run("restore", str(made))
    assert done.returncode == 1
    assert "run it in a terminal" in done.stderr


def test_a_restored_store_never_meets_the_logs_of_the_one_before(cli: Cli, tmp_path: Path) -> None:
    """Logs in a folder of their own are not moved with the database; those of a killed owner hold writes."""
    logs = Cli(cli.launcher, cli.project, {**cli.env, "CONTEXT_GRAPH_WAL_DIR": str(tmp_path / "logs")})
    remember(logs, FACT)
    backup(logs, tmp_path / "backup")
    remember(logs, "Only in the log")
    end_process(logs.owner_pid())
    done = logs.run("restore", str(tmp_path / "backup"), "--yes", "--json")
    assert done.returncode == 0, done.stderr
    for _ in range(2):  # and opened again, it stays with its own
        assert contents(logs) == [FACT]
        assert logs.run("owner", "stop").returncode == 0
    assert len(list((tmp_path / "logs").iterdir())) == 2
    kept = Path(json.loads(done.stdout)["kept"])
    assert probe(kept / "db")["memories"] == 2, "what was there before is kept with its last write"


def test_a_second_restore_at_the_same_time_is_refused(cli: Cli, made: Path) -> None:
    """It would take the first one's copy for that of one that was killed."""
    lock = run_folder.take_lock(store_of(cli) / ".restore.lock")
    assert lock is not None
    try:
        done = cli.run("restore", str(made), "--yes")
        assert done.returncode == 1 and "another restore" in done.stderr
    finally:
        os.close(lock)
    assert cli.run("restore", str(made), "--yes").returncode == 0


def test_where_no_backup_can_go_nothing_is_left(cli: Cli, made: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for place in (made, file, tmp_path / "none" / "deep"):
        done = cli.run("backup", str(place))
        assert (done.returncode, done.stdout) == (1, ""), done
        assert str(tmp_path) in done.stderr
    assert not list(tmp_path.glob(".*.partial"))
    assert not list(store_of(cli).glob("checkpoint-*"))


def test_what_a_killed_backup_left_goes_with_the_next(cli: Cli, made: Path, tmp_path: Path) -> None:
    left = store_of(cli) / f"checkpoint-{2**22 + 1}-dead"
    (left / "db").mkdir(parents=True)
    backup(cli, tmp_path / "second")
    assert not left.exists()


def test_writes_go_on_during_backups_and_each_backup_is_a_prefix(cli: Cli, tmp_path: Path) -> None:
    """A checkpoint is a moment of the store: of what was written one after another, the first n."""
    remember(cli, "note 0")
    stop = threading.Event()
    written: list[str] = ["note 0"]

    def write() -> None:
        while not stop.is_set():
            text = f"note {len(written)}"
            remember(cli, text)
            written.append(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = [backup(cli, tmp_path / f"backup-{number}") for number in range(3)]
    finally:
        stop.set()
        writer.join()
    counts = [one["memories"] for one in made]
    assert counts == sorted(counts)
    assert cli.run("restore", str(tmp_path / "backup-2"), "--yes").returncode == 0
    nodes = memory(cli, "list", "--limit", "1000")["nodes"]
    assert sorted(node["content"] for node in nodes) == sorted(written[: counts[2]])


def test_a_backup_is_for_its_owner_alone(made: Path) -> None:
    assert os.stat(made).st_mode & 0o777 == 0o700
    for path in (made / "backup.json", *(made / "db").iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path
