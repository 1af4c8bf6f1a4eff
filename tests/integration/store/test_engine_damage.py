"""Damaged files: each is reported, nothing is replaced, and RocksDB never hangs on them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.support.rights import without_rights
from tests.support.store import damage, largest, noise, run

from context_graph.errors import (
    DatabaseCorruptionError,
)
from context_graph.store.engine import integrity_seal
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.opening import EMPTIED
from context_graph.store.layout import RUNTIME
from context_graph.store.schema import open_database

RECORDS = 300


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "store" / "db"


def fill(db: Path) -> None:
    """RECORDS in a table and RECORDS more in another, closed cleanly."""
    engine = open_database(db)
    for index in range(2 * RECORDS):
        if index == RECORDS:
            engine.flush()
        engine.put(RUNTIME, b"k%06d" % index, os.urandom(100))
    engine.close()


def data_hash(db: Path) -> str:
    """Of all that is data in the folder; LOG and LOCK are not."""
    total = hashlib.sha256()
    for file in sorted(db.iterdir()):
        if not file.name.startswith(("LOG", "LOCK")):
            total.update(file.name.encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def count(engine: Engine) -> int:
    return sum(1 for key, _ in engine.scan(RUNTIME) if key.startswith(b"k"))


def test_a_broken_current_file_is_reported_and_nothing_is_touched(db: Path) -> None:
    fill(db)
    named = (db / "CURRENT").read_bytes()
    for content in (b"", named[:-1], b"MANIFEST-000099\n", b"\xff" + named[1:], os.urandom(16), None):
        if content is None:
            (db / "CURRENT").unlink()
        else:
            (db / "CURRENT").write_bytes(content)
        before = data_hash(db)
        with pytest.raises(DatabaseCorruptionError, match="CURRENT"):
            open_database(db)
        assert data_hash(db) == before
    (db / "CURRENT").write_bytes(named)
    engine = open_database(db)
    assert count(engine) == 2 * RECORDS
    engine.close()


def test_current_that_went_back_to_an_older_manifest_is_reported(db: Path) -> None:
    fill(db)
    current = (db / "CURRENT").read_text().strip()
    older = db / "MANIFEST-000001"
    shutil.copyfile(db / current, older)
    (db / "CURRENT").write_text(older.name + "\n")
    with pytest.raises(DatabaseCorruptionError, match="was in use before"):
        open_database(db)


@pytest.mark.parametrize("cut", [True, False])
def test_a_damaged_manifest_is_reported_or_harmless_and_never_loses_records(db: Path, cut: bool) -> None:
    """RocksDB alone opens most cut MANIFESTs, older or empty, and deletes the tables they don't name."""
    fill(db)
    manifest = db / (db / "CURRENT").read_text().strip()
    original = manifest.read_bytes()
    files = sorted(os.listdir(db))
    for at in range(0, len(original), 13):
        damage(manifest, at, cut=cut, flip=1 << at % 8)
        with pytest.raises(DatabaseCorruptionError, match="MANIFEST"):
            open_database(db)
        manifest.write_bytes(original)
    assert [name for name in sorted(os.listdir(db)) if not name.startswith("LOG")] == [
        name for name in files if not name.startswith("LOG")
    ]
    engine = open_database(db)
    assert count(engine) == 2 * RECORDS
    engine.close()


@pytest.mark.parametrize("how", ["cut", "empty", "gone", "noise"])
def test_a_broken_table_is_reported(db: Path, how: str) -> None:
    fill(db)
    table = largest(db, "*.sst")
    size = table.stat().st_size
    if how == "gone":
        table.unlink()
    else:
        table.write_bytes({"cut": table.read_bytes()[: size // 2], "empty": b"", "noise": noise(size)}[how])
    with pytest.raises(DatabaseCorruptionError) as caught:
        open_database(db)
    assert "context-graph-cli repair" in str(caught.value)


def test_a_damaged_block_ends_a_scan_with_an_error_and_not_silently(db: Path) -> None:
    """RocksDict's own iterators stop at the block as if the data ended there."""
    fill(db)
    table = largest(db, "*.sst")
    damage(table, table.stat().st_size // 2)
    engine = open_database(db)
    with pytest.raises(DatabaseCorruptionError, match="checksum"):
        count(engine)
    with pytest.raises(DatabaseCorruptionError, match="checksum"):
        for index in range(2 * RECORDS):
            engine.get(RUNTIME, b"k%06d" % index)
    engine.close()


@pytest.fixture
def killed(db: Path) -> Path:
    """A database whose writer died, so that all its records are in the log."""
    code = """
        import os, sys
        from context_graph.store.schema import open_database
        engine = open_database(sys.argv[1])
        for index in range(int(sys.argv[2])):
            engine.put("runtime", b"k%06d" % index, os.urandom(100))
        os.kill(os.getpid(), 9)
    """
    assert run(code, db, RECORDS).returncode == -9
    assert largest(db, "*.log").stat().st_size > RECORDS * 100
    return db


def test_a_log_cut_in_its_last_record_gives_all_the_others(killed: Path) -> None:
    log = largest(killed, "*.log")
    damage(log, log.stat().st_size - 5, cut=True)
    engine = open_database(killed)
    assert count(engine) == RECORDS - 1
    engine.close()


def test_a_flipped_log_is_reported_at_every_place_and_never_hangs(killed: Path) -> None:
    """RocksDB's default drops what follows without a word; some type bytes make it spin for ever."""
    log = largest(killed, "*.log")
    original = log.read_bytes()
    record = original.index(b"k000001") - original.index(b"k000000")
    code = """
        import pathlib, sys
        from context_graph.errors import DatabaseCorruptionError
        from context_graph.store.schema import open_database
        log, record = pathlib.Path(sys.argv[1]), int(sys.argv[2])
        original = log.read_bytes()
        for at in [*range(50 * record, 50 * record + 9), 100 * record + 6, len(original) // 2]:
            for bit in range(8):
                flipped = bytearray(original)
                flipped[at] ^= 1 << bit
                log.write_bytes(flipped)
                try:
                    open_database(log.parent, create=False, read_only=True).close()
                    print("opened", at, bit)
                except DatabaseCorruptionError:
                    pass
        log.write_bytes(original)
    """
    done = run(code, log, record, timeout=60)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    engine = open_database(killed)
    assert count(engine) == RECORDS
    engine.close()


def test_a_file_that_may_not_be_read_is_no_damage(db: Path) -> None:
    """Nothing is known of what is in it, so that no repair is advised."""
    fill(db)
    code = """
        import sys
        from pathlib import Path
        from context_graph.errors import StoreReadOnlyError
        from context_graph.store.schema import open_database
        try:
            open_database(Path(sys.argv[1]))
        except StoreReadOnlyError as error:
            print(error)
    """
    for file in (db / "CURRENT", db / (db / "CURRENT").read_text().strip()):
        mode = file.stat().st_mode
        file.chmod(0)
        command = [*without_rights(), sys.executable, "-P", "-c", textwrap.dedent(code), str(db)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        file.chmod(mode)
        assert f"{file} can't be read: Permission denied" in done.stdout, done.stderr
        assert "with mode 0000" in done.stdout and "repair" not in done.stdout
    engine = open_database(db)
    assert count(engine) == 2 * RECORDS
    engine.close()


def test_a_database_behind_its_own_sequence_number_is_reported(killed: Path) -> None:
    """A log that is gone leaves a database that opens, smaller."""
    open_database(killed).close()
    code = """
        import os, sys
        from context_graph.store.engine import integrity_seal
        from context_graph.store.schema import open_database
        engine = open_database(sys.argv[1])
        for index in range(100):
            engine.put("runtime", b"later%d" % index, b"x")
        integrity_seal.write_seal(engine.path, engine.sequence())
        os.kill(os.getpid(), 9)
    """
    assert run(code, killed).returncode == -9
    largest(killed, "*.log").unlink()
    with pytest.raises(DatabaseCorruptionError, match=r"had \d+ writes when it was last open"):
        open_database(killed)


def test_files_without_current_are_never_made_into_a_new_database(db: Path) -> None:
    fill(db)
    (db / "CURRENT").unlink()
    before = data_hash(db)
    with pytest.raises(DatabaseCorruptionError, match="no CURRENT file"):
        open_database(db, create=True)
    assert data_hash(db) == before


def test_an_unreadable_seal_is_no_evidence(db: Path) -> None:
    fill(db)
    for content in ("", "[]", "{", '{"version": 99}', '{"version": 1}'):
        (db / integrity_seal.SEAL).write_text(content)
        engine = open_database(db)
        assert count(engine) == 2 * RECORDS
        engine.close()


def test_a_database_whose_folder_was_emptied_is_told(db: Path) -> None:
    """A new one is made, for hooks go on; a first one, in a folder that was not there, says nothing."""
    fill(db)
    for path in db.iterdir():
        path.unlink()
    engine = open_database(db)
    assert count(engine) == 0 and engine.tell_losses() == [EMPTIED] and engine.tell_losses() == []
    engine.close()
    first = open_database(db.with_name("first"))
    assert first.losses() == []
    first.close()
