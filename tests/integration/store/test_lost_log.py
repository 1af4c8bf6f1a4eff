"""A write-ahead log that is gone or cut after a kill is noticed, said, and costs what was in it alone."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.owner.harness import wait_until
from tests.support.sessions import hook, memory, remember
from tests.support.store import run

from context_graph.config import data_root, store_dir
from context_graph.store.layout import EVENTS, RUNTIME
from context_graph.store.schema import open_database

FLUSHED = 50
LATER = 30

_WRITER = """
    import os, sys
    from context_graph.store.schema import open_database
    from context_graph.store.layout import EVENTS, RUNTIME
    engine = open_database(sys.argv[1])
    for number in range(50):
        engine.put(RUNTIME, b"k%03d" % number, os.urandom(100))
    engine.put(EVENTS, b"first", b"in the older log")
    engine.flush(RUNTIME)  # a new log begins; the older one is still needed for the events
    for number in range(50, 80):
        batch = engine.batch()
        batch.put(RUNTIME, b"k%03d" % number, os.urandom(100))
        batch.put(EVENTS, b"e%03d" % number, b"event")
        engine.write(batch)
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A database whose writer died with two logs that are both needed."""
    db = tmp_path / "store" / "db"
    assert run(_WRITER, db).returncode == -9
    assert len(logs(db)) == 2
    return db


def logs(db: Path) -> list[Path]:
    return sorted(db.glob("[0-9]*.log"))


def held(db: Path) -> tuple[int, bool, list[str]]:
    """Records of the runtime, whether the first event is there, and what is told to be lost."""
    engine = open_database(db)
    count = sum(1 for key, _ in engine.scan(RUNTIME) if key.startswith(b"k"))
    first = engine.get(EVENTS, b"first") is not None
    engine.put(RUNTIME, b"later", b"is written all the same")
    told = [str(one["what"]) for one in engine.losses()]
    engine.close()
    return count, first, told


def _empty(log: Path) -> None:
    log.write_bytes(b"")


def _half(log: Path) -> None:
    os.truncate(log, log.stat().st_size // 2)


def test_a_kill_alone_loses_nothing_and_says_nothing(killed: Path) -> None:
    assert held(killed) == (FLUSHED + LATER, True, [])
    assert held(killed)[2] == []


def test_a_record_that_the_kill_cut_off_was_never_acknowledged(tmp_path: Path) -> None:
    """The last write was on its way: what RocksDB leaves of it is no loss."""
    code = _WRITER.replace("os.kill(os.getpid(), 9)", "").rstrip() + (
        "\n    engine._mark.note(engine.sequence() - 2)\n    os.kill(os.getpid(), 9)\n"
    )
    db = tmp_path / "db"
    assert run(code, db).returncode == -9
    os.truncate(logs(db)[1], logs(db)[1].stat().st_size - 5)
    assert held(db) == (FLUSHED + LATER - 1, True, [])


@pytest.mark.parametrize("how", [os.unlink, _empty, _half])
@pytest.mark.parametrize("place", [0, 1])
def test_a_log_that_is_gone_or_cut_is_told(killed: Path, place: int, how: Callable[[Path], None]) -> None:
    how(logs(killed)[place])
    count, first, told = held(killed)
    assert (count < FLUSHED + LATER) or not first, "nothing was lost: the test shows nothing"
    assert told and all("gone" in one or "lost" in one for one in told), told
    assert held(killed)[2] == told, "told once, and kept"


def test_all_logs_gone_are_told(killed: Path) -> None:
    for log in logs(killed):
        log.unlink()
    count, first, told = held(killed)
    assert (count, first) == (FLUSHED, False)
    assert any("last" in one for one in told)


def test_logs_that_are_done_with_are_missed_by_nobody(killed: Path) -> None:
    """Closed cleanly: all is in tables, and what is left of logs may go."""
    assert held(killed)[2] == []
    for log in logs(killed):
        log.unlink()
    assert held(killed) == (FLUSHED + LATER, True, [])


@pytest.mark.parametrize("spoil", [b"", b"noise", b"CGLM\x01\0\0\0", os.urandom(160)])
def test_a_damaged_mark_is_no_evidence(killed: Path, spoil: bytes) -> None:
    (killed / "log.mark").write_bytes(spoil)
    assert held(killed) == (FLUSHED + LATER, True, [])


def test_it_is_told_after_a_failed_write_too(killed: Path, tmp_path: Path) -> None:
    """The mark goes on over a database that was opened again."""
    engine = open_database(killed)
    engine.reopen()
    engine.put(RUNTIME, b"after", b"the reopening")
    shutil.copytree(killed, tmp_path / "copy")
    engine.close()
    for log in logs(tmp_path / "copy"):
        log.unlink()
    assert any("the last 1 writes" in one for one in held(tmp_path / "copy")[2])


def test_the_user_and_doctor_are_told_and_the_rest_works(cli: Cli) -> None:
    remember(cli, "Staging listens on port 8443")
    cli.run("owner", "stop")
    remember(cli, "The release branch is cut on Tuesday")
    pid = cli.owner_pid()
    os.kill(pid, signal.SIGKILL)
    db = store_dir(data_root(cli.env), cli.project) / "db"
    wait_until(lambda: not os.path.exists(f"/proc/{pid}/fd/0"), "the owner to be gone")
    for log in logs(db):
        log.unlink()
    cli.run("owner", "start")
    started = hook(cli, "session-start", "s-1", source="startup")
    assert "lost" in started["systemMessage"] and "doctor" in started["systemMessage"]
    assert "lost" not in hook(cli, "session-start", "s-2", source="startup").get("systemMessage", "")
    assert [node["content"] for node in memory(cli, "list")["nodes"]] == ["Staging listens on port 8443"]
    remember(cli, "and it goes on")
    assert "records are lost: " in cli.run("doctor", timeout=120).stdout
