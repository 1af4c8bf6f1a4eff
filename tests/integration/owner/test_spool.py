"""The spool: what hooks left is applied in order, once, whatever dies in between (invariants 5 and 6)."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.owner import spool_drainer
from tests.support.owner.harness import wait_until
from tests.support.owner.spool_drainer import applied
from tests.support.owner.spool_writer import encode_record

from context_graph.errors import CorruptedIdentityError, InvalidInputError, StoreFullError
from context_graph.owner.sessions.spool import (
    ASIDE_LOG,
    EVENTS_LOG,
    REJECTED_LOG,
    DrainReport,
    LineSetAsideError,
    SpoolRecord,
    decode_line,
    drain,
    has_pending,
    pending,
    put_back,
)

DRAINER = Path(spool_drainer.__file__)

WRITER = """
import fcntl, os, sys
from context_graph.owner.sessions.spool import SpoolRecord
from tests.support.owner.spool_writer import encode_record
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
for number in range(count):
    data = encode_record(SpoolRecord(f"{name}-{number}", "hooks.stop", "s", number, "/", "/", {}, None))
    while True:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            there = os.stat(path)
            here = os.fstat(handle)
            if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
                assert os.write(handle, data) == len(data)
                break
        except FileNotFoundError:
            pass
        finally:
            os.close(handle)
"""


def _record(number: int, verb: str = "hooks.post-tool") -> SpoolRecord:
    return SpoolRecord(f"{number:032x}", verb, "s", number, "/p", "/p", {"n": str(number)}, {"n": number})


def _spool(store: Path) -> Path:
    folder = store / "spool"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _append(path: Path, *records: SpoolRecord | bytes) -> None:
    with open(path, "ab") as sink:
        for record in records:
            sink.write(record if isinstance(record, bytes) else encode_record(record))


class Sink:
    """Takes records; raises ``error`` for the numbers in ``at``."""

    def __init__(self, error: Exception | None = None, at: tuple[int, ...] = ()) -> None:
        self.taken: list[int] = []
        self._error = error
        self._at = at

    def __call__(self, record: SpoolRecord) -> None:
        if self._error is not None and record.at_ms in self._at:
            raise self._error
        self.taken.append(record.at_ms)


def _names(store: Path) -> set[str]:
    return set(os.listdir(store / "spool"))


def test_a_store_without_a_spool_has_nothing_waiting(tmp_path: Path) -> None:
    assert not has_pending(tmp_path)
    assert pending(tmp_path) == 0
    assert drain(tmp_path, Sink()) == DrainReport()
    assert list(tmp_path.iterdir()) == []


def test_what_waits_is_applied_in_order_and_removed(tmp_path: Path) -> None:
    folder = _spool(tmp_path)
    _append(folder / EVENTS_LOG, *(_record(number) for number in range(100)))
    assert has_pending(tmp_path)
    assert pending(tmp_path) == 100
    sink = Sink()
    assert drain(tmp_path, sink) == DrainReport(applied=100)
    assert sink.taken == list(range(100))
    assert _names(tmp_path) == set()
    assert not has_pending(tmp_path)


def test_leftovers_go_first_then_single_files_then_the_log(tmp_path: Path) -> None:
    folder = _spool(tmp_path)
    _append(folder / EVENTS_LOG, _record(6))
    _append(folder / "events.10.draining", _record(3))
    _append(folder / "events.9.draining", _record(1), _record(2))
    _append(folder / f"events.{'f' * 32}.log", _record(4))
    _append(folder / f"events.{'0' * 32}.log", _record(5))
    os.utime(folder / f"events.{'f' * 32}.log", (1, 1))
    assert pending(tmp_path) == 6
    sink = Sink()
    assert drain(tmp_path, sink).applied == 6
    assert sink.taken == [1, 2, 3, 4, 5, 6]
    assert _names(tmp_path) == set()


def test_bad_lines_are_kept_aside_and_cost_no_other(tmp_path: Path) -> None:
    folder = _spool(tmp_path)
    torn = encode_record(_record(2))[:40]
    damaged = encode_record(_record(3)).replace(b"hooks", b"hacks")
    future = json.dumps({"v": 2, "id": "x"}).encode()
    future = b"\n%08x %b\n" % (zlib.crc32(future), future)
    _append(folder / EVENTS_LOG, _record(1), torn, damaged, b"\n\n\xff\x00garbage\n", future, _record(4))
    sink = Sink()
    report = drain(tmp_path, sink)
    assert sink.taken == [1, 4]
    assert (report.applied, report.rejected) == (2, 4)
    assert len(report.reasons) == 4
    kept = (folder / REJECTED_LOG).read_bytes().split(b"\n")
    assert kept == [torn.strip(b"\n"), damaged.strip(b"\n"), b"\xff\x00garbage", future.strip(b"\n"), b""]
    assert (folder / REJECTED_LOG).stat().st_mode & 0o777 == 0o600
    assert not has_pending(tmp_path), "what was rejected must not be drained again"


@pytest.mark.parametrize(
    "error", [InvalidInputError("no"), CorruptedIdentityError("damaged"), ZeroDivisionError("a bug")]
)
def test_a_record_that_never_will_be_applied_is_rejected_and_blocks_nobody(
    tmp_path: Path, error: Exception
) -> None:
    _append(_spool(tmp_path) / EVENTS_LOG, *(_record(number) for number in range(5)))
    sink = Sink(error, at=(2,))
    report = drain(tmp_path, sink)
    assert sink.taken == [0, 1, 3, 4]
    assert (report.applied, report.rejected) == (4, 1)
    assert report.reasons == [f"{type(error).__name__}: {error}"]


def test_a_bug_that_meets_every_record_throws_none_away(tmp_path: Path) -> None:
    folder = _spool(tmp_path)
    _append(folder / "events.1.draining", _record(0))
    _append(folder / EVENTS_LOG, _record(1), _record(2))
    with pytest.raises(ZeroDivisionError):
        drain(tmp_path, Sink(ZeroDivisionError("a bug"), at=(0, 1, 2)))
    assert pending(tmp_path) == 3
    assert not (folder / REJECTED_LOG).exists()
    sink = Sink()
    drain(tmp_path, sink)
    assert sink.taken == [0, 1, 2]


def test_a_record_alone_with_a_bug_waits_until_another_goes_through(tmp_path: Path) -> None:
    folder = _spool(tmp_path)
    _append(folder / EVENTS_LOG, _record(0))
    sink = Sink(ZeroDivisionError("a bug"), at=(0,))
    with pytest.raises(ZeroDivisionError):
        drain(tmp_path, sink)
    _append(folder / EVENTS_LOG, _record(1))
    assert drain(tmp_path, sink).rejected == 1
    assert sink.taken == [1]
    assert decode_line((folder / REJECTED_LOG).read_bytes()).at_ms == 0
    assert _names(tmp_path) == {REJECTED_LOG}


@pytest.mark.parametrize(
    "error", [StoreFullError("full"), OSError(28, "No space left on device"), MemoryError()]
)
def test_a_trouble_that_may_pass_stops_the_drain_and_loses_nothing(tmp_path: Path, error: Exception) -> None:
    folder = _spool(tmp_path)
    _append(folder / EVENTS_LOG, *(_record(number) for number in range(5)))
    with pytest.raises(type(error)):
        drain(tmp_path, Sink(error, at=(2,)))
    assert pending(tmp_path) == 5
    _append(folder / EVENTS_LOG, _record(5))
    sink = Sink()
    drain(tmp_path, sink)
    assert sink.taken == [0, 1, 2, 3, 4, 5]
    assert not (folder / REJECTED_LOG).exists()


def test_a_file_that_a_hook_holds_is_left_for_later(tmp_path: Path) -> None:
    folder = _spool(tmp_path)
    _append(folder / EVENTS_LOG, _record(1))
    with open(folder / EVENTS_LOG, "ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sink = Sink()
        assert drain(tmp_path, sink) == DrainReport(deferred=1)
    assert drain(tmp_path, sink).applied == 1
    assert sink.taken == [1]


def test_a_single_file_that_is_not_yet_written_is_left_until_it_is_or_is_old(tmp_path: Path) -> None:
    folder = _spool(tmp_path)
    path = folder / f"events.{'a' * 32}.log"
    whole = encode_record(_record(1))
    sink = Sink()
    for written in (b"", b"\n", whole[:-1]):
        path.write_bytes(written)
        assert drain(tmp_path, sink).deferred == 1
        assert path.exists()
    path.write_bytes(whole)
    assert drain(tmp_path, sink) == DrainReport(applied=1)
    path.write_bytes(whole[:20])
    os.utime(path, (1, 1))
    assert drain(tmp_path, sink).rejected == 1
    assert not has_pending(tmp_path)


def test_links_and_folders_that_bear_a_spool_name_are_left_alone(tmp_path: Path) -> None:
    folder = _spool(tmp_path)
    (tmp_path / "elsewhere").write_bytes(encode_record(_record(1)))
    (folder / EVENTS_LOG).symlink_to(tmp_path / "elsewhere")
    (folder / "events.1.draining").mkdir()
    sink = Sink()
    assert drain(tmp_path, sink) == DrainReport()
    assert sink.taken == []
    assert not has_pending(tmp_path)


def test_a_line_over_the_limit_is_rejected_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invariant 9: the spool is bounded."""
    monkeypatch.setattr("context_graph.owner.sessions.spool.MAX_LINE_BYTES", 1000)
    folder = _spool(tmp_path)
    _append(folder / EVENTS_LOG, _record(1), b"x" * 100_000 + b"\n", _record(2))
    sink = Sink()
    report = drain(tmp_path, sink)
    assert sink.taken == [1, 2]
    assert report.rejected == 1
    assert (folder / REJECTED_LOG).stat().st_size < 1100


def test_rejected_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 9: the spool is bounded."""
    monkeypatch.setattr("context_graph.owner.sessions.spool._REJECTED_BYTES", 500)
    folder = _spool(tmp_path)
    _append(folder / EVENTS_LOG, *(b"bad line number %03d\n" % number for number in range(100)))
    assert drain(tmp_path, Sink()).rejected == 100
    assert _names(tmp_path) == {REJECTED_LOG, REJECTED_LOG + ".1"}
    assert all((folder / name).stat().st_size <= 500 for name in _names(tmp_path))
    assert (folder / REJECTED_LOG).read_bytes().endswith(b"bad line number 099\n")


def test_lines_that_are_set_aside_come_back_whole_and_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike rejected lines they are applied one day: none may be cut, or go for another."""
    monkeypatch.setattr("context_graph.owner.sessions.spool._REJECTED_BYTES", 500)
    folder = _spool(tmp_path)
    _append(folder / EVENTS_LOG, *(_record(number) for number in range(1, 9)))

    def refuse(_record: SpoolRecord) -> None:
        raise LineSetAsideError("later")

    assert drain(tmp_path, refuse).aside == 8
    assert _names(tmp_path) == {ASIDE_LOG}
    # An earlier version began a second file and kept the first as this.
    _append(folder / "aside.log.1", _record(9))
    assert put_back(tmp_path)
    sink = Sink()
    assert drain(tmp_path, sink).rejected == 0
    assert sorted(sink.taken) == list(range(1, 10))
    assert not put_back(tmp_path)


def _drain_in_a_process(store: Path, die_at: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DRAINER), str(store), str(die_at)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def _fill(store: Path) -> list[str]:
    """A left-over, a single file, a log; one record is always refused, one meets a bug. The others' ids."""
    folder = _spool(store)
    _append(folder / "events.3.draining", _record(1), b"\ngarbage\n", _record(2))
    _append(folder / f"events.{'a' * 32}.log", _record(3))
    _append(folder / EVENTS_LOG, _record(4), _record(5, verb="hooks.refused"), _record(6))
    _append(folder / EVENTS_LOG, _record(7, verb="hooks.bug"))
    return [f"{number:032x}" for number in (1, 2, 3, 4, 6)]


def test_killed_at_every_single_step_a_drain_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """Invariants 5 and 6: SIGKILL at each moment of a drain, then a new owner: every event once, in order."""
    expected = _fill(tmp_path / "whole")
    done = _drain_in_a_process(tmp_path / "whole", 0)
    assert done.returncode == 0, done.stderr
    taken, rejected, deferred, steps = map(int, done.stdout.split())
    assert (taken, rejected, deferred) == (5, 3, 0)
    assert applied(tmp_path / "whole") == expected
    assert steps > 20
    for die_at in range(1, steps + 1):
        store = tmp_path / f"killed-{die_at}"
        assert _fill(store) == expected
        assert _drain_in_a_process(store, die_at).returncode == -9
        drained = _drain_in_a_process(store, 0)
        assert drained.returncode == 0, drained.stderr
        assert applied(store) == expected, f"killed at step {die_at}"
        assert _names(store) == {REJECTED_LOG}
        kept = (store / "spool" / REJECTED_LOG).read_bytes()
        assert kept.count(b"garbage") == 1, f"killed at step {die_at}"
        assert kept.count(b"hooks.refused") == 1, f"killed at step {die_at}"
        assert kept.count(b"hooks.bug") == 1, f"killed at step {die_at}"


def test_hooks_that_append_while_the_owner_drains_lose_nothing(tmp_path: Path) -> None:
    """Invariant 5: what a hook has appended is applied, in that hook's order, however the drain falls in."""
    folder = _spool(tmp_path)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder / EVENTS_LOG), f"w{number}", "150"],
            stdin=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for number in range(4)
    ]
    taken: list[str] = []
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.close()
    drains = 0
    while any(writer.poll() is None for writer in writers):
        drains += 1
        drain(tmp_path, lambda record: taken.append(record.id))
    drain(tmp_path, lambda record: taken.append(record.id))
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert drains > 1
    for number in range(4):
        mine = [name for name in taken if name.startswith(f"w{number}-")]
        assert mine == [f"w{number}-{count}" for count in range(150)]
    assert len(taken) == 600


def test_a_file_that_took_the_name_of_a_locked_one_is_left_to_its_writers(tmp_path: Path) -> None:
    """Whoever waits for the lock holds the file that it opened; the name may mean another one by then."""
    folder = _spool(tmp_path)
    log = folder / EVENTS_LOG
    _append(log, _record(1))
    sink, report = Sink(), DrainReport()
    with open(log, "rb") as writer, ThreadPoolExecutor(1) as pool:
        fcntl.flock(writer, fcntl.LOCK_EX)  # a hook is writing
        draining = pool.submit(drain, tmp_path, sink)
        wait_until(lambda: _opened(log) > 1, "the drain to have opened the file")
        os.rename(log, folder / "events.1.draining")  # another process set it aside
        _append(log, _record(2))
        with open(log, "rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)  # and a hook writes to the new one, under its lock
            fcntl.flock(writer, fcntl.LOCK_UN)
            report = draining.result(timeout=30)
            assert log.exists() and os.path.samestat(os.fstat(other.fileno()), os.stat(log))
    assert report.deferred == 1
    drain(tmp_path, sink)
    assert sorted(sink.taken) == [1, 2]


def _opened(path: Path) -> int:
    """How many descriptors of this process are open on the file."""
    found = 0
    for handle in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found += os.readlink(f"/proc/self/fd/{handle}") == str(path)
    return found
