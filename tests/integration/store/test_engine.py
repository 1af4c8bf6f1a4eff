"""The door to RocksDB against a real one: real locks, real damage, real full disks."""

from __future__ import annotations

import collections
import fcntl
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from rocksdict import Options, Rdict
from tests.support.store import damage, in_a_namespace, largest, run

from context_graph.errors import (
    DatabaseCorruptionError,
    FormatVersionError,
    MissingColumnFamilyError,
    StoreClosedError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
)
from context_graph.store import layout
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.failures import translate
from context_graph.store.layout import EVENTS, FAMILIES, RUNTIME, SESSION_IDENTITY, SYSTEM
from context_graph.store.schema import open_database


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "store" / "db"


def test_a_new_database_has_every_family_and_belongs_to_the_user_alone(db: Path) -> None:
    """REQ-SESSION-04."""
    with_engine = open_database(db)
    assert set(with_engine.families) == set(FAMILIES)
    assert with_engine.get(SYSTEM, layout.FORMAT_KEY) == b"2"
    assert db.stat().st_mode & 0o777 == 0o700
    with_engine.close()
    assert os.listdir(db.parent) == ["db"]


def test_families_have_bloom_filters_lz4_and_a_log(db: Path) -> None:
    """REQ-SESSION-04: bloom filter of 10 bits a key, LZ4, write-ahead log on."""
    engine = open_database(db)
    for index in range(2000):
        engine.put(SESSION_IDENTITY, b"k%06d" % index, b"x")
    assert largest(db, "*.log").stat().st_size > 2000 * 20
    engine.flush()
    properties = engine.property(SESSION_IDENTITY, "rocksdb.aggregated-table-properties") or ""
    facts = dict(fact.split("=", 1) for fact in properties.split("; ") if "=" in fact)
    assert 2000 * 9 <= int(facts["filter block size"]) * 8 <= 2000 * 13
    engine.close()
    options = max(db.glob("OPTIONS-*")).read_text()
    assert options.count("compression=kLZ4Compression") >= len(FAMILIES)
    assert options.count("filter_policy=bloomfilter") == len(FAMILIES)
    assert "wal_recovery_mode=kTolerateCorruptedTailRecords" in options


def test_without_create_a_missing_database_is_an_error_and_stays_missing(db: Path) -> None:
    for read_only in (False, True):
        with pytest.raises(StoreError, match="no database"):
            open_database(db, create=False, read_only=read_only)
    assert not db.parent.exists()


def test_values_come_back_after_closing(db: Path) -> None:
    engine = open_database(db)
    engine.put(RUNTIME, b"a", b"1")
    engine.put(RUNTIME, b"b", b"")
    engine.delete(RUNTIME, b"a")
    engine.close()
    engine = open_database(db, create=False)
    assert engine.get(RUNTIME, b"a") is None
    assert engine.get(RUNTIME, b"b") == b""
    engine.close()


@pytest.mark.parametrize("durability", ["normal", "power"])
def test_an_acknowledged_batch_survives_a_kill_without_closing(db: Path, durability: str) -> None:
    """Invariant 5."""
    code = """
        import os, sys
        from context_graph.store.engine.tuning import Tuning
        from context_graph.store.schema import open_database
        engine = open_database(sys.argv[1], tuning=Tuning(sys.argv[2]))
        batch = engine.batch()
        batch.put("runtime", b"a", b"1")
        batch.put("events", b"b", b"2")
        batch.put("events", b"c", b"3")
        batch.delete_range("events", b"c", b"d")
        engine.write(batch)
        os.kill(os.getpid(), 9)
    """
    assert run(code, db, durability).returncode == -9
    engine = open_database(db, create=False)
    assert (engine.get(RUNTIME, b"a"), engine.get(EVENTS, b"b"), engine.get(EVENTS, b"c")) == (
        b"1",
        b"2",
        None,
    )
    engine.close()


def test_a_batch_is_written_once(db: Path) -> None:
    engine = open_database(db)
    batch = engine.batch()
    batch.put(RUNTIME, b"a", b"1")
    engine.write(batch)
    with pytest.raises(StoreError, match="has been written"):
        engine.write(batch)
    engine.close()


def test_scans_go_both_ways_within_their_bounds(db: Path) -> None:
    engine = open_database(db)
    for key in (b"a1", b"a2", b"b1", b"b2", b"c1"):
        engine.put(RUNTIME, key, key.upper())

    def keys(**bounds: object) -> list[bytes]:
        found = [key for key, _ in engine.scan(RUNTIME, **bounds)]  # type: ignore[arg-type]
        return [key for key in found if key != layout.FORMAT_KEY]

    assert keys() == [b"a1", b"a2", b"b1", b"b2", b"c1"]
    assert keys(start=b"a2", until=b"b2") == [b"a2", b"b1"]
    assert keys(start=b"b", until=b"c") == [b"b1", b"b2"]
    assert keys(reverse=True) == [b"c1", b"b2", b"b1", b"a2", b"a1"]
    assert keys(start=b"b2", until=b"a2", reverse=True) == [b"b1", b"a2"]
    assert keys(start=b"b3", until=b"b", reverse=True) == [b"b2", b"b1"]
    assert list(engine.scan(RUNTIME, b"c", b"d")) == [(b"c1", b"C1")]
    engine.close()


@pytest.mark.parametrize("key", ["text", 1, None, bytearray(b"x")])
def test_a_key_of_another_type_is_a_type_error_and_not_a_missing_key(db: Path, key: object) -> None:
    engine = open_database(db)
    batch = engine.batch()
    for use in (
        lambda: engine.get(RUNTIME, key),  # type: ignore[arg-type]
        lambda: engine.put(RUNTIME, b"k", key),  # type: ignore[arg-type]
        lambda: engine.delete(RUNTIME, key),  # type: ignore[arg-type]
        lambda: batch.put(RUNTIME, key, b"v"),  # type: ignore[arg-type]
        lambda: batch.delete_range(RUNTIME, b"a", key),  # type: ignore[arg-type]
        lambda: engine.scan(RUNTIME, key),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="bytes"):
            use()
    engine.close()


def test_after_closing_every_call_says_so_and_the_database_is_free(db: Path) -> None:
    engine = open_database(db)
    for index in range(10):
        engine.put(RUNTIME, b"%d" % index, b"x")
    scan, batch = engine.scan(RUNTIME), engine.batch()
    next(scan)
    engine.close()
    engine.close()
    uses: list[Callable[[], object]] = [
        lambda: engine.get(RUNTIME, b"a"),
        lambda: engine.put(RUNTIME, b"a", b"b"),
        lambda: engine.delete(RUNTIME, b"a"),
        lambda: batch.put(RUNTIME, b"a", b"b"),
        lambda: engine.write(batch),
        engine.batch,
        engine.sequence,
        lambda: engine.scan(RUNTIME),
        lambda: next(scan),
        lambda: engine.property(RUNTIME, "rocksdb.estimate-num-keys"),
        lambda: engine.checkpoint(db.parent / "copy"),
    ]
    for use in uses:
        with pytest.raises(StoreClosedError):
            use()
    open_database(db, create=False).close()  # though the scan and the batch live


def test_a_second_open_in_this_process_names_it(db: Path) -> None:
    engine = open_database(db)
    with pytest.raises(StoreLockedError, match=rf"held by this process \({os.getpid()}\)"):
        open_database(db)
    engine.put(RUNTIME, b"still", b"mine")
    engine.close()


def test_an_open_in_another_process_names_the_holder(db: Path) -> None:
    """Invariant 1: RocksDB's LOCK stays; the error says who holds it."""
    engine = open_database(db)
    code = """
        import sys
        from context_graph.errors import StoreLockedError
        from context_graph.store.schema import open_database
        try:
            open_database(sys.argv[1])
        except StoreLockedError as error:
            print(error)
        reader = open_database(sys.argv[1], read_only=True)
        print(reader.get("runtime", b"a"))
        reader.close()
    """
    engine.put(RUNTIME, b"a", b"1")
    done = run(code, db)
    assert f"held by process {os.getpid()} (" in done.stdout, done.stderr
    assert "b'1'" in done.stdout  # reading along is possible
    assert (db / "LOCK").exists()
    engine.put(RUNTIME, b"still", b"mine")
    engine.close()


def test_rocksdb_s_own_refusals_of_a_second_open_are_the_same_error(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where /proc/locks says nothing, as on macOS, RocksDB's text is all there is."""
    engine = open_database(db)
    monkeypatch.setattr("context_graph.store.engine.engine.refuse_held", lambda path: None)
    with pytest.raises(StoreLockedError, match="this process"):
        open_database(db)
    code = """
        import sys
        import context_graph.store.engine.engine as engine
        from context_graph.errors import StoreLockedError
        from context_graph.store.schema import open_database
        engine.refuse_held = lambda path: None
        try:
            open_database(sys.argv[1])
        except StoreLockedError as error:
            print(error)
    """
    done = run(code, db)
    assert f"held by process {os.getpid()}" in done.stdout, done.stderr
    engine.close()


def test_what_is_opened_read_only_refuses_writes(db: Path) -> None:
    open_database(db).close()
    engine = open_database(db, read_only=True)
    with pytest.raises(StoreReadOnlyError):
        engine.put(RUNTIME, b"a", b"1")
    engine.close()


@pytest.mark.parametrize("family", ["session_identity", "events"])
def test_a_missing_family_is_named_with_its_cure_and_not_made_anew(db: Path, family: str) -> None:
    """REQ-SESSION-04, seed 000 REQ-SESSION-12."""
    open_database(db).close()
    raw = Rdict(
        str(db), Options(raw_mode=True), {name: Options(raw_mode=True) for name in Rdict.list_cf(str(db))}
    )
    raw.drop_column_family(family)
    raw.close()
    with pytest.raises(MissingColumnFamilyError) as caught:
        open_database(db)
    assert repr(family) in str(caught.value)
    assert f"context-graph-cli repair --cf {family}" in str(caught.value)
    assert family not in Rdict.list_cf(str(db))


def test_a_family_that_is_not_ours_stays(db: Path) -> None:
    open_database(db).close()
    options = Options(raw_mode=True)
    raw = Rdict(str(db), options, {name: Options(raw_mode=True) for name in Rdict.list_cf(str(db))})
    other = raw.create_column_family("of_a_later_version", Options(raw_mode=True))
    other[b"a"] = b"1"
    other.close()
    raw.close()
    engine = open_database(db)
    assert engine.get("of_a_later_version", b"a") == b"1"
    with pytest.raises(MissingColumnFamilyError):
        engine.get("no_such_family", b"a")
    engine.close()


@pytest.mark.parametrize(("value", "named"), [(b"1", "1"), (b"\xff", r"\\xff"), (None, "none")])
def test_another_store_format_names_found_and_expected(db: Path, value: bytes | None, named: str) -> None:
    engine = open_database(db)
    if value is None:
        engine.delete(SYSTEM, layout.FORMAT_KEY)
    else:
        engine.put(SYSTEM, layout.FORMAT_KEY, value)
    engine.close()
    expected = (
        rf"store format {named}, this build expects 2: .* export it with that version \(`memory export`"
    )
    with pytest.raises(FormatVersionError, match=expected):
        open_database(db)


def test_what_a_crash_during_creation_leaves_is_no_database(db: Path) -> None:
    db.parent.mkdir()
    abandoned = db.parent / "db.creating-999999999"
    abandoned.mkdir()
    (abandoned / "CURRENT").write_text("half")
    open_database(db).close()
    assert os.listdir(db.parent) == ["db"]


def test_two_processes_that_create_at_once_leave_one_whole_database(db: Path) -> None:
    code = """
        import sys
        from context_graph.errors import StoreLockedError
        from context_graph.store.schema import open_database
        sys.stdin.read(1)
        try:
            engine = open_database(sys.argv[1])
            engine.put("runtime", sys.argv[2].encode(), b"1")
            engine.close()
            print("made")
        except StoreLockedError:
            print("locked")
    """
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(db), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("x")
        racer.stdin.flush()
    said = [racer.communicate(timeout=60) for racer in racers]
    assert all(out in ("made\n", "locked\n") for out, _ in said), said
    engine = open_database(db, create=False)
    found = {key for key, _ in engine.scan(RUNTIME, b"0", b":")}
    assert found == {b"%d" % number for number, (out, _) in enumerate(said) if out == "made\n"}
    engine.close()
    assert os.listdir(db.parent) == ["db"]


_RACER = """
    import sys
    from context_graph.errors import StoreLockedError
    from context_graph.store.schema import open_database
    for line in sys.stdin:
        try:
            open_database(line.strip()).close()
            print("opened", flush=True)
        except StoreLockedError:
            print("locked", flush=True)
        except Exception as error:
            print(type(error).__name__, str(error).replace("\\n", " "), flush=True)
"""


def test_processes_that_open_at_once_find_it_whole_or_locked(db: Path) -> None:
    """RocksDB moves its information logs before it locks, and we list files: neither may read as damage."""
    open_database(db).close()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_RACER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said: collections.Counter[str] = collections.Counter()
    for _ in range(60):
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write(f"{db}\n")
            racer.stdin.flush()
        for racer in racers:
            assert racer.stdout is not None
            said[racer.stdout.readline().strip()] += 1
    for racer in racers:
        racer.communicate(timeout=30)
    assert set(said) <= {"opened", "locked"}
    assert said["opened"] >= 60


def test_an_opener_that_stopped_midway_is_told_from_damage(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_database(db).close()
    monkeypatch.setattr("context_graph.store.engine.opening._WAIT_S", 0.05)
    handle = os.open(db, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        for read_only in (False, True):
            with pytest.raises(StoreLockedError, match="another process has been opening"):
                open_database(db, read_only=read_only)
    finally:
        os.close(handle)
    open_database(db).close()


def test_a_folder_that_is_not_utf8_is_refused_by_name_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"udcff.*not valid UTF-8.*CONTEXT_GRAPH_HOME") as refused:
        open_database(tmp_path / "a\udcffb" / "db")
    assert str(refused.value).encode()
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_is_a_database_of_its_own(db: Path, tmp_path: Path) -> None:
    engine = open_database(db)
    engine.put(RUNTIME, b"a", b"1")
    engine.checkpoint(tmp_path / "copy")
    engine.put(RUNTIME, b"a", b"2")
    with pytest.raises(StoreError):
        engine.checkpoint(tmp_path / "copy")
    engine.close()
    copy = open_database(tmp_path / "copy", create=False)
    assert copy.get(RUNTIME, b"a") == b"1"
    copy.close()


def test_properties_are_there_for_the_status(db: Path) -> None:
    engine = open_database(db)
    assert int(engine.property(EVENTS, "rocksdb.estimate-num-keys") or "-1") >= 0
    assert engine.property(EVENTS, "rocksdb.no-such-property") is None
    engine.close()


def test_an_unknown_text_is_a_store_error_with_the_original() -> None:
    assert type(translate(Exception("Busy: something new"), Path("/x"))) is StoreError
    assert "something new" in str(translate(Exception("Busy: something new"), Path("/x")))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("IO error: No space left on device: While appending to file: /x/000018.log", StoreFullError),
        ("Corruption: IO error: No such file or directory: While open a file", DatabaseCorruptionError),
        ("IO error: While open a file for appending: /x: Read-only file system", StoreReadOnlyError),
        ("Permission denied (os error 13)", StoreReadOnlyError),
        ("Invalid argument: Column family not found: events", MissingColumnFamilyError),
    ],
)
def test_texts_of_the_system_become_their_errors(text: str, kind: type[StoreError]) -> None:
    assert type(translate(Exception(text), Path("/x"))) is kind


IN_A_SMALL_TMPFS = """
    import os, subprocess, sys
    from context_graph.errors import StoreFullError, StoreReadOnlyError
    from context_graph.store.schema import open_database
    folder = sys.argv[1]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", folder], check=True)
    engine = open_database(folder + "/db")
    with open(folder + "/ballast", "wb") as ballast:
        ballast.write(b"x" * (6 << 20))
    written = 0
    try:
        while True:
            engine.put("runtime", b"k%06d" % written, os.urandom(2000))
            written += 1
    except StoreFullError as error:
        print("full:", error)
    print("readable:", all(engine.get("runtime", b"k%06d" % n) is not None for n in range(written)))
    try:
        engine.close()
    except StoreFullError:
        print("closing full")
    os.unlink(folder + "/ballast")
    engine = open_database(folder + "/db", create=False)
    print("kept:", all(engine.get("runtime", b"k%06d" % n) is not None for n in range(written)))
    engine.put("runtime", b"again", b"1")
    engine.close()
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    try:
        open_database(folder + "/db")
    except StoreReadOnlyError as error:
        print("read-only:", error)
    try:
        open_database(folder + "/new")
    except StoreReadOnlyError as error:
        print("no new one:", error)
"""


def test_a_full_and_a_read_only_file_system_are_told_apart_and_lose_nothing(tmp_path: Path) -> None:
    said = in_a_namespace(IN_A_SMALL_TMPFS, tmp_path)
    for line in ("full: no space left for", "readable: True", "kept: True", "read-only: ", "no new one: "):
        assert line in said, said


def test_a_failure_that_somebody_keeps_does_not_hold_the_database(engine: Engine, tmp_path: Path) -> None:
    """An exception holds the frames it came through: none of them may hold RocksDB's lock with it."""
    engine.put(RUNTIME, b"key", b"value")
    (tmp_path / "there").mkdir()
    kept: list[StoreError] = []
    for use in (
        lambda: engine.checkpoint(tmp_path / "there"),
        lambda: engine.checkpoint(tmp_path / "missing" / "folder"),
        lambda: engine.create_family(RUNTIME),
    ):
        with pytest.raises(StoreError) as caught:
            use()
        kept.append(caught.value)
        engine.reopen()
        assert engine.get(RUNTIME, b"key") == b"value"
    assert len(kept) == 3


def test_a_damaged_scan_that_somebody_keeps_does_not_hold_the_database(tmp_path: Path) -> None:
    code = """
        import os, sys
        from context_graph.errors import DatabaseCorruptionError
        from context_graph.store.schema import open_database
        from context_graph.store.layout import RUNTIME
        engine = open_database(sys.argv[1])
        kept = []
        try:
            print(len(list(engine.scan(RUNTIME))))
        except DatabaseCorruptionError as error:
            kept.append(error)
        engine.reopen()
        print("kept", len(kept))
    """
    made = open_database(tmp_path / "db")
    for number in range(300):
        made.put(RUNTIME, b"%06d" % number, os.urandom(100))
    made.close()
    table = largest(tmp_path / "db", "*.sst")
    damage(table, table.stat().st_size // 2)
    done = run(code, tmp_path / "db")
    assert done.stdout == "kept 1\n", done.stderr
