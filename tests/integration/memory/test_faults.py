"""What goes wrong under memories: each fault its row of seed 003's tables, nothing lost, nothing half."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.memories import break_record, fill, open_memex
from tests.support.store import damage, largest, run

from context_graph.errors import (
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
from context_graph.store.layout import NODES, TOMBSTONES, wrap
from context_graph.store.salvage.repair import salvage

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
    from tests.support.memories import break_record, fill, open_memex
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
    damage(log, log.stat().st_size // 2, cut=True)
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
    from context_graph.store.schema import open_database
    print("ready", flush=True)
    sys.stdin.readline()
    open_database(sys.argv[1])
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
