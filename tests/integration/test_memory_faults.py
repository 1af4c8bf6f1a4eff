"""What goes wrong under memories: each fault its row of seed 003's tables, nothing lost, nothing half."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from tests.memory_support import WHY, fill, open_memex
from tests.store_support import damage, largest, run

from context_graph.errors import (
    ContextGraphError,
    CorruptedMemoryError,
    DatabaseCorruptionError,
    GraphQueryError,
    InvalidParamsError,
    LogReplayError,
    MemoryFormatError,
    RateLimitError,
    ReadFailedError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from context_graph.memory.faults import rpc_fault
from context_graph.model.memory import check_content
from context_graph.store.engine import Engine
from context_graph.store.graph_layout import EMBEDDINGS, NODES, TOMBSTONES
from context_graph.store.layout import wrap
from context_graph.store.repair import salvage

NODE = "550e8400-e29b-41d4-a716-446655440000"


# The rows


@pytest.mark.parametrize(
    ("error", "code", "message", "row"),
    [
        (StoreFullError("x"), -32002, "Insufficient disk space", "ERR-CORE-001"),
        (
            DatabaseCorruptionError("x"),
            -32002,
            "Database integrity check failed. Recovery required.",
            "ERR-CORE-001",
        ),
        (
            StoreReadOnlyError("x"),
            -32002,
            "Storage error: Write failed - permission denied",
            "ERR-CORE-001",
        ),
        (
            ReadFailedError("x", node_id=NODE),
            -32002,
            f"Storage error: Read failed for node {NODE}",
            "ERR-CORE-002",
        ),
        (
            CorruptedMemoryError("x", node_id=NODE),
            -32603,
            "Internal error: Data serialization failed",
            "ERR-CORE-008",
        ),
        (
            MemoryFormatError("x", node_id=NODE, format_version=9),
            -32603,
            "Internal error: Data serialization failed",
            "ERR-CORE-008",
        ),
        (
            StoreBusyError("x"),
            -32002,
            "Storage error: Operation timed out due to lock contention",
            "ERR-CORE-009",
        ),
        (
            StoreLockedError("x"),
            -32002,
            "Storage error: Operation timed out due to lock contention",
            "ERR-CORE-009",
        ),
        (
            LogReplayError("x"),
            -32002,
            "Storage error: Write-ahead log replay failed",
            "ERR-CORE-010",
        ),
    ],
)
def test_storage_faults_have_the_seed_s_codes_and_words(
    error: StoreError, code: int, message: str, row: str
) -> None:
    """EC-CORE-007, EC-CORE-009, ERR-CORE-001, ERR-CORE-002, ERR-CORE-008, ERR-CORE-009, ERR-CORE-010."""
    fault = rpc_fault(error, "Write")
    assert (fault.code, fault.message, fault.data["error"]) == (code, message, row)
    assert fault.data["recovery"]
    json.dumps(fault.data)


def test_the_data_of_a_fault_names_what_the_row_asks_for() -> None:
    """EC-CORE-018, REQ-CORE-026: node id and version; retry_after_ms and limit (D4.6)."""
    assert rpc_fault(MemoryFormatError("x", node_id=NODE, format_version=9)).data["format_version"] == 9
    assert rpc_fault(CorruptedMemoryError("x", node_id=NODE)).data["node_id"] == NODE
    fault = rpc_fault(RateLimitError("slow down", retry_after_ms=250, limit="4 req/min"))
    assert (fault.code, fault.data["retry_after_ms"], fault.data["limit"]) == (-32004, 250, "4 req/min")
    assert rpc_fault(GraphQueryError("no memory")).code == -32001


def test_wrong_parameters_keep_their_own_row() -> None:
    """EC-CORE-001, ERR-CORE-004, ERR-CORE-006."""
    with pytest.raises(InvalidParamsError) as caught:
        check_content("a" * 65_537)
    fault = rpc_fault(caught.value)
    assert fault.code == -32602
    assert fault.message == "Content exceeds maximum length of 65536 characters"
    assert fault.data["error"] == "ERR-CORE-006"
    fault = rpc_fault(InvalidParamsError.of("top_k", "is 0"))
    assert (fault.message, fault.data["error"]) == ("Invalid params: top_k - is 0", "ERR-CORE-004")


@pytest.mark.parametrize("error", [ValueError("/home/u/secret"), StoreFullError("/home/u/secret is full")])
def test_no_fault_names_a_path_or_what_is_inside(error: Exception) -> None:
    """CON-CORE-007."""
    assert "secret" not in str(rpc_fault(error))


# Damage


def test_a_damaged_table_is_reported_on_opening(tmp_path: Path) -> None:
    """EC-CORE-007: nothing is replaced; the fault's data names the cure."""
    memex = open_memex(tmp_path / "s")
    fill(memex, 300)
    memex.close()
    largest(tmp_path / "s" / "db", "*.sst").write_bytes(b"")
    with pytest.raises(DatabaseCorruptionError, match="repair") as caught:
        open_memex(tmp_path / "s")
    assert rpc_fault(caught.value).data["next"] == "context-graph-cli doctor, then context-graph-cli repair"


def test_a_damaged_block_is_reported_when_it_is_read_and_the_rest_goes_on(tmp_path: Path) -> None:
    """EC-CORE-007, ERR-CORE-002: reads elsewhere and writes still work."""
    memex = open_memex(tmp_path / "s")
    made = fill(memex, 2000)
    memex.close()
    db = tmp_path / "s" / "db"
    tables = [table for table in db.glob("*.sst") if NODES.encode() in table.read_bytes()]
    table = max(tables, key=lambda file: file.stat().st_size)
    damage(table, table.stat().st_size // 2)
    memex = open_memex(tmp_path / "s")
    found, damaged = 0, 0
    for node in made:
        try:
            got = memex.get(node.id)
            assert got == replace(node, embedding=None)
            found += 1
        except DatabaseCorruptionError:
            damaged += 1
    assert damaged > 0
    assert found > 1500
    memex.close()


def break_record(folder: Path, family: str, key: bytes, record: bytes | None = None) -> None:
    """Replace a record behind the store's back, by default by one with a flipped bit."""
    engine = Engine.open(folder / "db")
    there = bytearray(engine.get(family, key) or b"")
    if there:
        there[len(there) // 2] ^= 1
    engine.put(family, key, bytes(there) if record is None else record)
    engine.close()


def test_a_damaged_record_names_its_memory_and_hides_no_other(tmp_path: Path) -> None:
    """ERR-CORE-008, REQ-CORE-012."""
    memex = open_memex(tmp_path / "s")
    one, two = fill(memex, 2)
    memex.close()
    break_record(tmp_path / "s", NODES, one.id.bytes)
    memex = open_memex(tmp_path / "s")
    with pytest.raises(CorruptedMemoryError, match=str(one.id)) as caught:
        memex.get(one.id)
    assert caught.value.node_id == str(one.id)
    assert memex.get(two.id) == two
    memex.close()
    (tmp_path / "s" / "memory.index").unlink()
    (tmp_path / "s" / "memory.figures").unlink()
    memex = open_memex(tmp_path / "s")
    assert [found.node.id for found in memex.recall("memory number").nodes] == [two.id]
    assert [node.id for node in memex.list().nodes] == [two.id]
    memex.close()


def test_a_damaged_record_silences_no_answer_of_its_store(tmp_path: Path) -> None:
    """REQ-CORE-019: the pulse and the status come from what can be read."""
    memex = open_memex(tmp_path / "s")
    one = memex.store("The worker retries three times before it gives up", rationale="kept for the test")
    memex.store("The worker retries three times before it gives up.", rationale="kept for the test")
    memex.touch([one.id])
    memex.close()
    break_record(tmp_path / "s", NODES, one.id.bytes)
    memex = open_memex(tmp_path / "s")
    assert memex.pulse().entropy >= 0.0
    assert one.id not in {concept.id for concept in memex.status().top_active_concepts}
    assert memex.store("It goes on", rationale="kept for the test").commit_seq > one.commit_seq
    memex.close()


def test_a_damaged_tombstone_keeps_nothing_else_from_being_read(tmp_path: Path) -> None:
    memex = open_memex(tmp_path / "s")
    one, two = fill(memex, 2)
    memex.forget(one.id)
    memex.close()
    break_record(tmp_path / "s", TOMBSTONES, one.id.bytes)
    memex = open_memex(tmp_path / "s")
    assert memex.get(two.id) == two
    with pytest.raises(CorruptedMemoryError, match=str(one.id)):
        memex.tombstone(one.id)
    memex.close()


def test_a_record_of_a_later_version_names_node_and_version(tmp_path: Path) -> None:
    """EC-CORE-018."""
    memex = open_memex(tmp_path / "s")
    (one,) = fill(memex, 1)
    memex.close()
    break_record(tmp_path / "s", NODES, one.id.bytes, wrap(one.id.bytes, 7, b"of tomorrow"))
    memex = open_memex(tmp_path / "s")
    with pytest.raises(MemoryFormatError, match=f"{one.id} has format version 7"):
        memex.get(one.id)
    memex.close()


WRITER = """
    import os, sys
    from pathlib import Path
    from tests.memory_support import fill, open_memex
    memex = open_memex(Path(sys.argv[1]))
    memex.flush()
    fill(memex, int(sys.argv[2]))
    print(memex.count(), flush=True)
    os.kill(os.getpid(), 9)
"""


def test_a_log_cut_in_its_last_record_gives_all_the_memories_before_it(tmp_path: Path) -> None:
    """EC-CORE-014, AC-CORE-06-02: the torn batch is gone as a whole."""
    assert run(WRITER, tmp_path / "s", 40).stdout.strip() == "40"
    log = largest(tmp_path / "s" / "db", "*.log")
    damage(log, log.stat().st_size - 5, cut=True)
    memex = open_memex(tmp_path / "s")
    assert memex.count() == len(list(memex.stored_after())) == 0  # 40 were one batch
    memex.close()


def test_a_log_damaged_in_the_middle_is_reported_and_repair_saves_what_is_before(tmp_path: Path) -> None:
    """ERR-CORE-010: and nothing is dropped without a word."""
    assert run(WRITER, tmp_path / "s", 1500).stdout.strip() == "1500"
    db = tmp_path / "s" / "db"
    log = largest(db, "*.log")
    damage(log, log.stat().st_size // 2)
    with pytest.raises(LogReplayError, match="write-ahead log replay failed"):
        open_memex(tmp_path / "s")
    report = salvage(db, tmp_path / "saved" / "db", "memory_nodes")
    assert not report.complete
    memex = open_memex(tmp_path / "saved")
    assert memex.count() >= 500
    assert memex.recall("memory number 7 about subject").nodes
    memex.close()


OPENER = """
    import sys
    from context_graph.store.engine import Engine
    print("ready", flush=True)
    sys.stdin.readline()
    Engine.open(sys.argv[1])
    print("open", flush=True)
    sys.stdin.readline()
"""


def test_a_crash_while_the_log_is_replayed_costs_nothing(tmp_path: Path) -> None:
    """EC-CORE-014: the next opening replays it again; progress is in the log."""
    assert run(WRITER, tmp_path / "s", 1500).stdout.strip() == "1500"
    rng = random.Random(7)
    for _ in range(12):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(OPENER), str(tmp_path / "s" / "db")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdin is not None and child.stdout is not None
        child.stdout.readline()
        child.stdin.write("go\n")
        child.stdin.flush()
        try:
            child.wait(rng.uniform(0.0, 0.15))  # the random moment of the kill
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdin.close()
        child.stdout.close()
    memex = open_memex(tmp_path / "s")
    assert memex.count() == len(list(memex.stored_after())) == 1500
    memex.close()


def test_replay_is_told_to_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """EC-CORE-014."""
    run(WRITER, tmp_path / "s", 10)
    with caplog.at_level("INFO"):
        open_memex(tmp_path / "s").close()
    texts = [record.getMessage() for record in caplog.records]
    assert any("replaying" in text and "write-ahead log" in text for text in texts)
    assert any("replayed up to write" in text for text in texts)


# Logs elsewhere, or nowhere


def test_the_log_may_be_in_another_folder_and_is_found_there_after_a_crash(tmp_path: Path) -> None:
    """REQ-CORE-008: configurable; a crash, a changed setting and a lost folder lose nothing silently."""
    code = """
        import os, sys
        from pathlib import Path
        from tests.memory_support import fill, open_memex
        memex = open_memex(Path(sys.argv[1]), wal_dir=Path(sys.argv[2]))
        fill(memex, 30)
        os.kill(os.getpid(), 9)
    """
    store, logs = tmp_path / "s", tmp_path / "logs"
    assert run(code, store, logs).returncode == -9
    assert sum(file.stat().st_size for file in (store / "db").glob("*.log")) == 0
    assert sum(file.stat().st_size for file in logs.rglob("*.log")) > 30 * 6144
    logs.rename(tmp_path / "away")
    with pytest.raises(LogReplayError, match="which is not there"):
        open_memex(store)
    (tmp_path / "away").rename(logs)
    memex = open_memex(store)  # the setting is gone, the log is still read where it is
    assert memex.count() == 30
    memex.close()
    memex = open_memex(store)  # closed cleanly before: now the logs are back
    fill(memex, 1)
    assert len(list((store / "db").glob("*.log"))) > 0
    memex.close()
    assert open_memex(store, wal_dir=tmp_path / "others").count() == 31


def test_repair_reads_logs_where_they_are_and_leaves_them_alone(tmp_path: Path) -> None:
    code = """
        import os, sys
        from pathlib import Path
        from tests.memory_support import fill, open_memex
        fill(open_memex(Path(sys.argv[1]), wal_dir=Path(sys.argv[2])), 30)
        os.kill(os.getpid(), 9)
    """
    run(code, tmp_path / "s", tmp_path / "logs")
    before = {file: file.read_bytes() for file in (tmp_path / "logs").rglob("*.log")}
    report = salvage(tmp_path / "s" / "db", tmp_path / "saved" / "db", "memory_nodes")
    assert report.complete and report.copied[NODES] == 30
    assert {file: file.read_bytes() for file in (tmp_path / "logs").rglob("*.log")} == before


def test_without_a_log_a_kill_loses_what_was_not_flushed(tmp_path: Path) -> None:
    """REQ-CORE-008: WAL off is for tests; with it on nothing is lost (TC-CORE-009)."""
    code = """
        import os, sys
        from pathlib import Path
        from tests.memory_support import fill, open_memex
        memex = open_memex(Path(sys.argv[1]), wal=sys.argv[2] == "on")
        fill(memex, 100)
        os.kill(os.getpid(), 9)
    """
    counts = {}
    for wal in ("on", "off"):
        run(code, tmp_path / wal, wal)
        memex = open_memex(tmp_path / wal)
        counts[wal] = memex.count()
        memex.close()
    assert counts == {"on": 100, "off": 0}


def test_power_durability_syncs_each_write(tmp_path: Path) -> None:
    memex = open_memex(tmp_path / "s", durability="power")
    before = memex._core.store.storage()["rocksdb.wal.synced"]
    for number in range(5):
        memex.store(f"text {number}", rationale=WHY)
    assert memex._core.store.storage()["rocksdb.wal.synced"] - before >= 5
    memex.close()


# The disk and the folder


FULL_DISK = """
    import os, subprocess, sys
    from pathlib import Path
    folder = Path(sys.argv[1])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], check=True)
    from context_graph.errors import StoreError, StoreFullError
    from context_graph.memory.faults import rpc_fault
    from tests.memory_support import WHY, open_memex
    memex = open_memex(folder / "s")
    made = []
    def store(number):
        made.append(memex.store(f"text number {number} " + "filler " * 200, rationale=WHY))
    for number in range(100):
        store(number)
    with open(folder / "ballast", "wb") as ballast:
        try:
            while True:
                ballast.write(bytes(1 << 14))
                ballast.flush()
        except OSError:
            pass
    refused = 0
    for number in range(100, 2000):
        try:
            store(number)
        except StoreError as error:
            refused += 1
            kind, text = type(error).__name__, rpc_fault(error, "Write")
            if refused == 3:
                break
    print("refused:", kind, text.code, text.message)
    print("readable:", all(memex.get(node.id) for node in made))
    print("recalled:", bool(memex.recall("text number 5", top_k=5).nodes))
    os.unlink(folder / "ballast")
    store(5000)
    print("goes on:", memex.get(made[-1].id) is not None)
    found = {one.node.id for one in memex.stored_after()}
    listed = {node.id for node in memex.list(limit=1000).nodes}
    print("equal:", found == {node.id for node in made} == listed, memex.count() == len(made))
    seqs = [one.node.commit_seq for one in memex.stored_after()]
    print("gapless:", seqs == list(range(1, len(made) + 1)))
    memex.close()
    memex = open_memex(folder / "s")
    print("kept:", {one.node.id for one in memex.stored_after()} == {node.id for node in made})
    memex.close()
"""

can_mount = pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0,
    reason="no user namespaces here to mount a small file system in",
)


@can_mount
def test_a_full_disk_refuses_writes_keeps_reads_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """EC-CORE-009, ERR-CORE-001: no partial writes; disk and memory stay equal."""
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", textwrap.dedent(FULL_DISK), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "refused: StoreFullError -32002 Insufficient disk space" in done.stdout, done.stdout + done.stderr
    for line in (
        "readable: True",
        "recalled: True",
        "goes on: True",
        "equal: True True",
        "gapless: True",
        "kept: True",
    ):
        assert line in done.stdout, done.stdout + done.stderr


NO_RIGHTS = """
    import os, pickle, sys  # RocksDict imports pickle when it opens, and this user can't read Python's folder
    from pathlib import Path
    import context_graph.memory.memex
    from tests.memory_support import open_memex
    from context_graph.errors import StoreReadOnlyError
    from context_graph.memory.faults import rpc_fault
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    for name in sys.argv[1:]:
        try:
            open_memex(Path(name))
        except StoreReadOnlyError as error:
            print(error)
            print(rpc_fault(error, "Open").message)
"""


def test_a_folder_that_may_not_be_written_is_named_with_what_it_takes(tmp_path: Path) -> None:
    """EC-CORE-008, ERR-CORE-001: path, whose it is, which permission is needed; wrong owner of the folder."""
    root = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    try:
        os.chmod(root, 0o755)
        open_memex(root / "store").close()
        for path in (root / "store", root / "store" / "db", *(root / "store" / "db").iterdir()):
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        (root / "closed").mkdir(mode=0o555)
        done = run(NO_RIGHTS, root / "store", root / "closed" / "new")
        lines = done.stdout.splitlines()
        assert len(lines) == 4, done.stdout + done.stderr
        for text in (lines[0], lines[2]):
            assert str(root) in text
            assert "needs to read, write and enter it (mode 0700 of its own)" in text
            assert f"belongs to user {os.geteuid()}" in text
        assert lines[1] == lines[3] == "Storage error: Open failed - permission denied"
    finally:
        for path in (root / "store", root / "store" / "db"):
            os.chmod(path, 0o755)
        shutil.rmtree(root)


# Salvage


def test_repair_saves_memories_edges_and_tombstones_and_works_the_rest_out(tmp_path: Path) -> None:
    """EC-CORE-007: from a database whose MANIFEST is lost."""
    memex = open_memex(tmp_path / "s")
    made = fill(memex, 700, session_id="s1", tags=["tag"])
    memex.link(made[0].id, made[1].id, "causes")
    memex.link(made[2].id, made[3].id)
    memex.touch([made[5].id])
    memex.forget(made[9].id, reason="old")
    memex.close()
    db = tmp_path / "s" / "db"
    (db / (db / "CURRENT").read_text().strip()).unlink()
    with pytest.raises(DatabaseCorruptionError):
        open_memex(tmp_path / "s")
    report = salvage(db, tmp_path / "saved" / "db", "all")
    assert report.copied[NODES] == report.copied[EMBEDDINGS] == 700
    memex = open_memex(tmp_path / "saved")
    figures = memex.metrics()
    assert (figures["nodes"], figures["deleted"], figures["edges"]) == (699, 1, 2)
    assert memex.list(limit=1000).nodes[0].id == made[699].id
    assert len(memex.edges(made[0].id)) == len(memex.edges(made[1].id)) == 1
    used = memex.get(made[5].id)
    assert used is not None and used.access_count == 1
    stone = memex.tombstone(made[9].id)
    assert stone is not None and stone.reason == "old"
    assert memex.embedding(made[7].id) == made[7].embedding
    assert memex.recall("memory number 44").nodes
    assert memex.store("goes on", rationale=WHY).commit_seq > 700
    memex.close()


def test_repair_leaves_out_only_what_is_damaged(tmp_path: Path) -> None:
    memex = open_memex(tmp_path / "s")
    made = fill(memex, 5)
    memex.link(made[0].id, made[1].id)
    memex.link(made[1].id, made[2].id)
    memex.close()
    break_record(tmp_path / "s", NODES, made[0].id.bytes)
    break_record(tmp_path / "s", EMBEDDINGS, made[4].commit_seq.to_bytes(8, "big"))
    report = salvage(tmp_path / "s" / "db", tmp_path / "saved" / "db", "all")
    assert not report.complete
    assert any(str(made[0].id) in one.reason for one in report.unreadable)
    assert any("1 edges are left out" in note for note in report.notes)
    assert any("1 memories have lost their vector" in note for note in report.notes)
    memex = open_memex(tmp_path / "saved")
    assert memex.count() == 4
    assert memex.stored(made[0].id) is None
    assert len(memex.edges(made[1].id)) == 1
    assert memex.get(made[4].id) is not None
    memex.close()


@pytest.mark.parametrize("name", ["memory.index", "memory.figures"])
def test_a_damaged_snapshot_of_derived_state_is_made_anew(tmp_path: Path, name: str) -> None:
    """Invariant 7: recall and figures are as they were."""
    memex = open_memex(tmp_path / "s")
    fill(memex, 50)
    recalled, figures = memex.recall("memory number 7"), memex.utl()
    memex.close()
    file = tmp_path / "s" / name
    for content in (b"", os.urandom(file.stat().st_size), file.read_bytes()[:-7]):
        file.write_bytes(content)
        memex = open_memex(tmp_path / "s")
        again = memex.recall("memory number 7")
        assert [one.node.id for one in again.nodes] == [one.node.id for one in recalled.nodes]
        assert memex.utl() == figures
        memex.store(f"one more {len(content)}", rationale=WHY)
        memex.forget(memex.list(limit=1).nodes[0].id, soft=False, reason="user_requested")
        memex.close()


def test_a_failure_after_the_commit_loses_nothing_and_shows_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug in the index must neither take a stored memory back nor serve a wrong one."""
    memex = open_memex(tmp_path / "s")
    fill(memex, 3)

    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(memex._core.derived.index, "add", fails)
    made = memex.store("the zebra that the index missed", rationale=WHY)
    assert "derived state" in caplog.text
    assert memex.get(made.id) is not None
    assert memex.recall("zebra that the index missed").nodes[0].node.id == made.id
    memex.close()


def test_every_error_of_the_tree_makes_a_fault_of_the_protocol() -> None:
    """REQ-CORE-026: a code in JSON-RPC's range, a message, data."""
    kinds = [ContextGraphError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if kind.__module__ != "context_graph.errors":
            continue  # the owner's own, which never reach a client of the protocol
        fault = rpc_fault(kind("something"), "Write")
        assert -32768 <= fault.code <= -32000
        assert fault.message
    assert len(kinds) > 30


def test_an_unknown_id_reads_as_nothing(tmp_path: Path) -> None:
    """AC-CORE-02-03, EC-CORE-011."""
    memex = open_memex(tmp_path / "s")
    assert memex.get(uuid4()) is None
    assert memex.embedding(uuid4()) is None
    assert memex.recall("nothing here").nodes == []
    with pytest.raises(InvalidParamsError, match="must be a UUID"):
        memex.get("no uuid")
    memex.close()
