"""Memories where disks and folders fail: logs elsewhere, no room, no rights, what repair saves."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.memories import WHY, break_record, figures, fill, open_memex
from tests.support.store import in_a_namespace, run

from context_graph.errors import (
    ContextGraphError,
    DatabaseCorruptionError,
    InvalidParamsError,
    LogReplayError,
)
from context_graph.memory.faults import rpc_fault
from context_graph.store.layout import EMBEDDINGS, NODES
from context_graph.store.salvage.repair import salvage

# Logs elsewhere, or nowhere


def test_the_log_may_be_in_another_folder_and_is_found_there_after_a_crash(tmp_path: Path) -> None:
    """REQ-CORE-008: configurable; a crash, a changed setting and a lost folder lose nothing silently."""
    code = """
        import os, sys
        from pathlib import Path
        from tests.support.memories import fill, open_memex
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
        from tests.support.memories import fill, open_memex
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
        from tests.support.memories import fill, open_memex
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
    from tests.support.memories import WHY, open_memex
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


def test_a_full_disk_refuses_writes_keeps_reads_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """EC-CORE-009, ERR-CORE-001: no partial writes; disk and memory stay equal."""
    said = in_a_namespace(FULL_DISK, tmp_path)
    assert "refused: StoreFullError -32002 Insufficient disk space" in said, said
    for line in (
        "readable: True",
        "recalled: True",
        "goes on: True",
        "equal: True True",
        "gapless: True",
        "kept: True",
    ):
        assert line in said, said


NO_RIGHTS = """
    import os, pickle, sys  # RocksDict imports pickle when it opens, and this user can't read Python's folder
    from pathlib import Path
    import context_graph.memory.memex
    from tests.support.memories import open_memex
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
    recalled, before = memex.recall("memory number 7"), figures(memex)
    memex.close()
    file = tmp_path / "s" / name
    for content in (b"", os.urandom(file.stat().st_size), file.read_bytes()[:-7]):
        file.write_bytes(content)
        memex = open_memex(tmp_path / "s")
        again = memex.recall("memory number 7")
        assert [one.node.id for one in again.nodes] == [one.node.id for one in recalled.nodes]
        assert figures(memex) == before
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
