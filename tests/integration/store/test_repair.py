"""Salvage from real damage: what is readable comes over, what is not is named, the original stays."""

from __future__ import annotations

import hashlib
import os
import textwrap
from pathlib import Path

import orjson
import pytest
from rocksdict import Options, Rdict
from tests.support.store import break_record, commit, damage, largest, noise, run, snapshot

from context_graph.errors import (
    DatabaseCorruptionError,
    InvalidInputError,
    MissingColumnFamilyError,
    StoreError,
    StoreLockedError,
)
from context_graph.store import layout
from context_graph.store.layout import EVENTS, FAMILIES, RUNTIME, SESSION_IDENTITY
from context_graph.store.salvage.repair import RepairReport, salvage
from context_graph.store.schema import open_database
from context_graph.store.sessions.sessions import SessionStore

SESSIONS = 40


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "store" / "db"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "salvaged" / "db"


def name(number: int) -> str:
    return f"{number:08x}-session"


def fill(db: Path, sessions: int = SESSIONS) -> None:
    """Linked sessions with an event, live state and goals each, and a request; in several tables.

    Two of the sessions' records: RocksDB merges four into one, some time after they are written.
    """
    engine = open_database(db)
    store = SessionStore(engine)
    half = max(1, sessions // 2)
    for number in range(sessions):
        made = snapshot(name(number), number, name(number - 1) if number else None)
        for _ in range(49):
            made.append_to_trajectory([byte / 256 for byte in noise(13)])
        commit(store, name(number), 1)
        store.save_snapshot(made)
        store.save_goals(name(number), 1, noise(500))
        if number % half == half - 1:
            engine.flush()
    store.dream_queue.queue({"session_id": name(0), "at_ms": 1, "ic": 0.25})
    store.close()


def tree_hash(folder: Path) -> str:
    """Names, modes, times and contents of all files."""
    total = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        facts = file.lstat()
        total.update(
            f"{file.relative_to(folder)} {facts.st_mode} {facts.st_mtime_ns} {facts.st_size}".encode()
        )
        if file.is_file():
            total.update(file.read_bytes())
    return total.hexdigest()


def salvage_untouched(db: Path, target: Path, cf: str = SESSION_IDENTITY) -> RepairReport:
    """Salvage, and see that the original is as it was and nothing but the target is left behind."""
    before = tree_hash(db)
    report = salvage(db, target, cf)
    assert tree_hash(db) == before
    assert os.listdir(target.parent) == [target.name]
    return report


def sessions_in(target: Path) -> list[str]:
    with SessionStore.open(target, create=False) as store:
        rows, _ = store.list_sessions(10_000)
        assert all(store.load_snapshot(row.session_id) for row in rows)
        latest = store.load_latest()
        assert (latest is None) == (not rows)
    return sorted(row.session_id for row in rows)


ALL = [name(number) for number in range(SESSIONS)]


def test_a_sound_database_comes_over_whole(db: Path, target: Path) -> None:
    fill(db)
    report = salvage_untouched(db, target)
    assert (report.complete, report.rebuilt, report.missing, report.unreadable) == (True, False, [], [])
    assert (
        report.copied[SESSION_IDENTITY] == SESSIONS * 3 + 1 - 1
    )  # s: t: each, p: each but the first, latest
    assert report.copied[EVENTS] == SESSIONS * 2
    assert report.copied[RUNTIME] == SESSIONS * 2
    assert sessions_in(target) == ALL
    with SessionStore.open(db) as original, SessionStore.open(target) as copy:
        assert copy.export_all() == original.export_all()
        assert copy.load_latest() == original.load_latest()
        assert copy.dream_queue.pending() == original.dream_queue.pending()
        for session_id in ALL:
            assert list(copy.event_log.after(session_id, 0)) == list(original.event_log.after(session_id, 0))
            assert copy.load_runtime(session_id) == original.load_runtime(session_id)
            assert copy.load_goals(session_id) == original.load_goals(session_id)
            assert copy.event_log.is_applied(session_id, "post-tool\0u\0toolu_1")


def test_a_damaged_record_is_named_and_all_others_come_over(db: Path, target: Path) -> None:
    """What a damaged table held is named, the rest stays."""
    fill(db)
    engine = open_database(db)
    break_record(engine, name(7))
    key = layout.snapshot_key(name(8))
    engine.put(SESSION_IDENTITY, key, layout.wrap(key, 9, b"later"))
    engine.put(EVENTS, layout.event_key(name(9), 1), b"noise")
    engine.put(SESSION_IDENTITY, b"x:unknown", b"?")
    engine.put(EVENTS, b"d:short", b"?")
    engine.close()
    report = salvage_untouched(db, target)
    assert not report.complete
    reasons = {(one.family, one.key): one.reason for one in report.unreadable}
    assert "checksum" in reasons[SESSION_IDENTITY, f"s:{name(7)}"]
    assert "format version 9" in reasons[SESSION_IDENTITY, f"s:{name(8)}"]
    assert (
        "shorter than any record" in reasons[EVENTS, f"e:{name(9)}" + r"\x00\x00\x00\x00\x00\x00\x00\x00\x01"]
    )
    assert "no record that this build knows" in reasons[SESSION_IDENTITY, "x:unknown"]
    assert (EVENTS, "d:short") in reasons
    assert report.unreadable_count == len(reasons) == 5
    assert report.unreadable[0].family == SESSION_IDENTITY  # what was asked for comes first
    assert sessions_in(target) == [one for one in ALL if one not in (name(7), name(8))]


def test_a_damaged_latest_session_gives_way_to_the_newest_readable(db: Path, target: Path) -> None:
    fill(db)
    engine = open_database(db)
    break_record(engine, name(SESSIONS - 1))
    engine.close()
    salvage_untouched(db, target)
    with SessionStore.open(target) as store:
        assert store.load_snapshot().session_id == name(SESSIONS - 2)


@pytest.mark.parametrize("blocks", [1, 2, 4])
def test_damaged_blocks_of_a_table_cost_only_themselves(db: Path, target: Path, blocks: int) -> None:
    sessions = 300
    fill(db, sessions)
    engine = open_database(db)
    for family in engine.families:
        engine.compact_range(family, b"", b"\xff" * 8)
    engine.close()
    table = largest(db, "*.sst")
    assert table.stat().st_size > sessions * 1500  # the snapshots, all in one table
    for number in range(blocks):
        damage(table, (number + 1) * table.stat().st_size // (blocks + 1))
    report = salvage_untouched(db, target)
    assert not report.complete
    assert any("between" in one.key and "checksum" in one.reason for one in report.unreadable)
    found = sessions_in(target)
    lost = {one.key.removeprefix("s:") for one in report.unreadable if one.key.startswith("s:")}
    assert set(found) | lost == {name(number) for number in range(sessions)}  # each is there or named
    assert 0 < len(lost) <= 3 * blocks  # a block holds one or two


def test_a_damaged_block_hides_no_records_of_other_tables(db: Path, target: Path) -> None:
    """A scan stops at the block for all tables together; RocksDB's repair reads each by itself."""
    fill(db)
    tables = [table for table in db.glob("*.sst") if RUNTIME.encode() in table.read_bytes()]
    table = max(tables, key=lambda file: file.stat().st_size)
    damage(table, table.stat().st_size // 4)
    report = salvage_untouched(db, target, RUNTIME)
    assert report.rebuilt
    assert not report.complete
    assert SESSIONS <= report.copied[RUNTIME] < 2 * SESSIONS  # the table has half of the sessions' records
    assert report.copied[SESSION_IDENTITY] == 3 * SESSIONS
    assert report.unreadable[0].family == RUNTIME


@pytest.mark.parametrize("family", [SESSION_IDENTITY, RUNTIME, EVENTS])
@pytest.mark.parametrize("how", ["gone", "cut", "noise"])
def test_a_lost_table_costs_its_own_records_only(db: Path, target: Path, how: str, family: str) -> None:
    fill(db)
    # a table names its family; each of the larger ones holds the records of half of the sessions
    tables = [table for table in db.glob("*.sst") if family.encode() in table.read_bytes()]
    table = max(tables, key=lambda file: file.stat().st_size)
    if how == "gone":
        table.unlink()
    else:
        table.write_bytes(table.read_bytes()[:100] if how == "cut" else noise(table.stat().st_size))
    report = salvage_untouched(db, target)
    assert report.rebuilt
    assert report.complete == (family != SESSION_IDENTITY), "the report is about that family"
    assert family in {one.family for one in report.unreadable}
    found = sessions_in(target)
    lost = {one.key.removeprefix("s:") for one in report.unreadable if one.key.startswith("s:")}
    assert set(found) | lost == set(ALL)  # each session is there or named
    whole = {SESSION_IDENTITY: 3 * SESSIONS, RUNTIME: 2 * SESSIONS, EVENTS: 2 * SESSIONS}
    for other in whole:
        if other == family:
            assert 0 < report.copied[other] < whole[other]
        else:
            assert report.copied[other] == whole[other]


@pytest.mark.parametrize("how", ["cut", "empty", "noise", "gone", "flip"])
def test_a_lost_manifest_costs_nothing(db: Path, target: Path, how: str) -> None:
    fill(db)
    manifest = db / (db / "CURRENT").read_text().strip()
    content = manifest.read_bytes()
    if how == "gone":
        manifest.unlink()
    elif how == "flip":
        damage(manifest, len(content) // 2)
    else:
        manifest.write_bytes(
            {"cut": content[: len(content) // 2], "empty": b"", "noise": noise(len(content))}[how]
        )
    with pytest.raises(DatabaseCorruptionError):
        open_database(db)
    report = salvage_untouched(db, target)
    assert report.rebuilt
    assert report.notes
    assert (report.complete, report.missing) == (True, [])
    assert sessions_in(target) == ALL


@pytest.mark.parametrize("content", [None, b"", b"MANIFEST-999999\n"])
def test_a_lost_current_file_costs_nothing(db: Path, target: Path, content: bytes | None) -> None:
    fill(db)
    if content is None:
        (db / "CURRENT").unlink()
    else:
        (db / "CURRENT").write_bytes(content)
    report = salvage_untouched(db, target)
    assert report.complete
    assert sessions_in(target) == ALL


KILLED_WRITER = """
    import os, sys
    from context_graph.store.sessions.sessions import SessionStore
    from tests.support.store import commit
    store = SessionStore.open(sys.argv[1])
    for number in range(int(sys.argv[2])):
        commit(store, f"{number:08x}-session", 1)
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def killed(db: Path) -> Path:
    """All records are in the log: the writer was killed before its first table."""
    db.parent.mkdir()
    root = Path(__file__).parents[3]
    code = f"import sys; sys.path.insert(0, {str(root)!r})\n" + textwrap.dedent(KILLED_WRITER)
    assert run(code, db, SESSIONS).returncode == -9
    return db


def test_what_is_only_in_the_log_comes_over_even_without_a_manifest(killed: Path, target: Path) -> None:
    """Why each family is given a table when a store is made: else RocksDB's repair drops log records whose
    family it can't name."""
    (killed / (killed / "CURRENT").read_text().strip()).unlink()
    report = salvage_untouched(killed, target)
    assert report.rebuilt
    assert sessions_in(target) == ALL


@pytest.mark.parametrize("flip", [0x04, 0x80])
def test_a_damaged_log_gives_what_stands_before_the_damage(killed: Path, target: Path, flip: int) -> None:
    log = largest(killed, "*.log")
    content = log.read_bytes()
    middle = content.index(b"s:" + name(SESSIONS // 2).encode())
    # the type byte of the log record that holds it, before a batch head of 12 bytes
    at = content.rindex(b"\x01", 0, middle - 12)
    damage(log, at, flip=flip)
    report = salvage_untouched(killed, target)
    assert report.notes
    assert not report.complete
    assert len(sessions_in(target)) >= SESSIONS // 2 - 1


def test_a_dropped_family_is_named_and_the_others_come_over(db: Path, target: Path) -> None:
    """Seed 000: repair --cf session_identity."""
    fill(db)
    raw = Rdict(
        str(db), Options(raw_mode=True), {one: Options(raw_mode=True) for one in Rdict.list_cf(str(db))}
    )
    raw.drop_column_family(SESSION_IDENTITY)
    raw.close()
    with pytest.raises(MissingColumnFamilyError):
        open_database(db)
    report = salvage_untouched(db, target)
    assert not report.complete
    assert report.missing == [SESSION_IDENTITY]
    assert {one.key for one in report.unreadable} == {f"s:{one}" for one in ALL}  # named by their events
    assert report.copied[EVENTS] == SESSIONS * 2
    with SessionStore.open(target) as store:
        assert len(list(store.event_log.after(name(3), 0))) == 1


def test_salvaging_a_salvaged_database_changes_nothing(db: Path, target: Path, tmp_path: Path) -> None:
    fill(db)
    first = salvage(db, target)
    second = salvage(target, tmp_path / "again" / "db")
    assert first.copied == second.copied


def test_everything_broken_at_once_is_a_report_and_no_crash(db: Path, target: Path) -> None:
    fill(db)
    for file in db.iterdir():
        if file.is_file() and file.stat().st_size:
            file.write_bytes(noise(file.stat().st_size))
    report = salvage_untouched(db, target, "all")
    assert not report.complete
    assert report.missing == list(FAMILIES[1:])  # a database is never without its default family
    assert sessions_in(target) == []


def test_a_held_database_is_left_alone(db: Path, target: Path) -> None:
    engine = open_database(db)
    with pytest.raises(StoreLockedError, match="this process"):
        salvage(db, target)
    engine.close()
    assert not target.exists()


def test_arguments_that_could_do_harm_are_refused(db: Path, target: Path) -> None:
    fill(db, 1)
    for place in (db, db / "inside", db.parent):
        with pytest.raises(InvalidInputError, match="new folder"):
            salvage(db, place)
    with pytest.raises(InvalidInputError, match="session_identity"):
        salvage(db, target, "sessions")
    with pytest.raises(StoreError, match="no database"):
        salvage(db.parent, target)
    assert not target.exists()


def test_a_report_can_go_over_the_wire(db: Path, target: Path) -> None:
    fill(db, 3)
    engine = open_database(db)
    break_record(engine, name(1))
    engine.close()
    report = salvage(db, target)
    assert orjson.loads(orjson.dumps(report))["unreadable"][0]["key"] == f"s:{name(1)}"
    assert set(report.copied) == set(FAMILIES)


@pytest.mark.parametrize("trusted", [True, False])
def test_an_older_version_of_a_record_never_replaces_a_newer_one(
    db: Path, target: Path, trusted: bool
) -> None:
    """RocksDB's repair drops a table with one bad block, and what it replaced comes to light again."""
    engine = open_database(db)
    store = SessionStore(engine)
    for version in (1, 2):
        for number in range(SESSIONS):
            made = snapshot(name(number), version)
            for _ in range(49):
                made.append_to_trajectory([byte / 256 for byte in noise(13)])
            store.save_snapshot(made)
            store.put_runtime(name(number), b"version %d" % version + noise(1000))
        engine.flush()
    engine.close()
    for family in (SESSION_IDENTITY, RUNTIME):
        tables = [table for table in db.glob("*.sst") if family.encode() in table.read_bytes()]
        newer = max(tables, key=lambda file: int(file.stem) if file.stat().st_size > 20_000 else 0)
        damage(newer, newer.stat().st_size // 2)
    if not trusted:
        sealed = orjson.loads((db / "seal.json").read_bytes())
        (db / "seal.json").write_bytes(orjson.dumps({**sealed, "crc32": 0}))
    report = salvage_untouched(db, target)
    assert report.rebuilt
    with SessionStore.open(target) as store:
        rows, _ = store.list_sessions(100)
        times = [row.timestamp_ms - snapshot("x").timestamp_ms for row in rows]
        assert times.count(2) >= SESSIONS - 6
        assert len(times) == SESSIONS
        if trusted:
            states = [store.load_runtime(name(number)) or b"" for number in range(SESSIONS)]
            assert sum(state.startswith(b"version 2") for state in states) >= SESSIONS - 8
