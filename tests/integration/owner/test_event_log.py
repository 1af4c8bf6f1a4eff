"""The event log: what hooks left is applied in order, once, whatever dies in between (invariants 5 and 6)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.owner import log_applier
from tests.support.owner.log_applier import opened
from tests.support.owner.log_writer import encode_event, write_segment
from tests.support.store import run

from context_graph.errors import CorruptedIdentityError, InvalidInputError, StoreFullError
from context_graph.owner.sessions import event_reader, log_reader
from context_graph.owner.sessions.event_reader import EventReader
from context_graph.owner.sessions.log_reader import (
    ASIDE_LOG,
    REJECTED_LOG,
    LoggedEvent,
    LogReader,
    Position,
    count_waiting,
    decode_line,
    has_waiting,
    put_back,
)
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.wire import store_folder as event_log
from context_graph.wire.store_folder import FOLDER, append, segments

FOREVER = 60.0

WRITER = """
import sys
from context_graph.wire.store_folder import append, frame
store, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
for number in range(count):
    append(store, frame(f"{name}{number:031x}", b"{}"))
"""


def _event(number: int, verb: str = "hooks.post-tool", session: str = "s") -> LoggedEvent:
    body = {
        "session_id": session,
        "tool_name": "Bash",
        "tool_use_id": f"toolu_{number}",
        "tool_input": {"command": "ls"},
    }
    return LoggedEvent(
        f"{number:032x}", verb, "", 1_800_000_000_000 + number, "/p", "/p", {"format": "claude"}, body
    )


def _name(number: int) -> str:
    return f"{number:013d}-00000000.log"


def _applied(context: StoreContext, session: str = "s") -> list[str]:
    """Ids of the session's events in the order in which they were applied, but for the start that we make."""
    return [
        event.event_id for event in context.store.event_log.after(session, 0) if "+" not in event.event_id
    ]


def _ids(*numbers: int) -> list[str]:
    return [f"{number:032x}" for number in numbers]


def _lines(store: Path, position: Position = log_reader.START) -> list[bytes]:
    reader, found = LogReader(store, position), []
    while True:
        while (line := reader.next_line()) is not None:
            found.append(line)
        if not reader.advance():
            reader.close()
            return found


def _names(store: Path) -> set[str]:
    return set(os.listdir(store / FOLDER))


def test_a_store_without_a_log_has_nothing_waiting(tmp_path: Path) -> None:
    assert not has_waiting(tmp_path)
    assert count_waiting(tmp_path) == 0
    assert _lines(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_what_waits_is_applied_in_order_and_removed(tmp_path: Path) -> None:
    write_segment(tmp_path, *(_event(number) for number in range(100)))
    write_segment(tmp_path, _event(100), name=_name(2))
    assert has_waiting(tmp_path) and count_waiting(tmp_path) == 101
    context = opened(tmp_path)
    assert not context.events.read(FOREVER)
    assert _applied(context) == _ids(*range(101))
    assert (context.events.waiting, context.events.rejected, _names(tmp_path)) == (0, 0, set())
    context.close()


def test_reading_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By position: nothing tells the same event twice apart here but the place at which it stands."""
    monkeypatch.setattr(event_reader, "_SLICE", 10)
    write_segment(tmp_path, *(_event(number) for number in range(30)))
    context = opened(tmp_path)
    assert context.events.read(0.0)
    assert context.events.waiting == 29
    context.abandon()
    again = opened(tmp_path)
    assert _applied(again) == _ids(0)
    assert not again.events.read(FOREVER)
    assert _applied(again) == _ids(*range(30))
    live = again.sessions.get("s")
    assert live is not None and live.events_duplicate == 0
    again.close()


def test_a_slice_that_can_t_be_stored_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events, their digests and the position are one batch."""
    write_segment(tmp_path, *(_event(number) for number in range(5)))
    context = opened(tmp_path)
    with monkeypatch.context() as broken, pytest.raises(StoreFullError):
        real = EventReader._apply

        def apply(self: EventReader, event: LoggedEvent) -> None:
            if event.id == f"{3:032x}":
                raise StoreFullError("full")
            real(self, event)

        broken.setattr(EventReader, "_apply", apply)
        context.events.read(FOREVER)
    context.abandon()
    again = opened(tmp_path)
    assert again.sessions.get("s") is None and again.events.waiting == 5
    assert not again.events.read(FOREVER)
    assert _applied(again) == _ids(*range(5))
    again.close()


def test_a_session_in_a_slice_is_the_one_that_the_next_continues(tmp_path: Path) -> None:
    """What is not written yet is read all the same: a session's start looks for the latest before it."""
    body = {"session_id": "second", "source": "startup"}
    start = LoggedEvent(
        f"{9:032x}", "hooks.session-start", "", 1_800_000_000_900, "/p", "/p", {"format": "claude"}, body
    )
    write_segment(tmp_path, _event(1, session="first"), start, _event(10, session="second"))
    context = opened(tmp_path)
    context.events.read(FOREVER)
    assert context.store.load_snapshot("second").previous_session_id == "first"
    context.close()


def test_bad_lines_are_kept_and_cost_no_other(tmp_path: Path) -> None:
    torn = encode_event(_event(2))[:60]
    damaged = encode_event(_event(3)).replace(b"hooks", b"hacks")
    future = encode_event(_event(5)).replace(b"\nE1 ", b"\nE2 ")
    write_segment(tmp_path, _event(1), torn, damaged, b"\n\n\xff\x00garbage\n", future, _event(4))
    context = opened(tmp_path)
    context.events.read(FOREVER)
    assert _applied(context) == _ids(1, 4)
    assert context.events.rejected == 4
    rejected = tmp_path / FOLDER / REJECTED_LOG
    kept = [line for line in rejected.read_bytes().split(b"\n") if line]
    assert kept == [torn.strip(b"\n"), damaged.strip(b"\n"), b"\xff\x00garbage", future.strip(b"\n")]
    assert stat.S_IMODE(rejected.stat().st_mode) == 0o600
    assert not has_waiting(tmp_path), "what was rejected must not be read again"
    context.close()


def test_a_torn_end_waits_for_its_rest_until_nobody_can_write_it(tmp_path: Path) -> None:
    """A reader may see a part of a write that goes on."""
    whole = encode_event(_event(1))
    path = write_segment(tmp_path, _event(0), whole[:70])
    reader = LogReader(tmp_path)
    assert reader.advance() and reader.next_line() is not None
    assert reader.next_line() is None
    with open(path, "ab") as sink:
        sink.write(whole[70:])
    line = reader.next_line()
    assert line is not None and decode_line(line) == _event(1)
    with open(path, "ab") as sink:
        sink.write(whole[:70])
    assert reader.next_line() is None
    assert reader.advance(), "it is closed"
    assert reader.next_line() == whole[1:70]
    assert not reader.advance() and not path.exists()


def test_what_is_written_to_a_closed_segment_is_its_writer_s_to_write_again(tmp_path: Path) -> None:
    path = write_segment(tmp_path, _event(0))
    with open(path, "ab") as late:
        reader = LogReader(tmp_path)
        assert reader.advance() and reader.next_line() is not None and reader.next_line() is None
        assert reader.advance() and stat.S_IMODE(path.stat().st_mode) == 0o400
        late.write(encode_event(_event(1)))
        late.flush()
        assert not event_log.is_open(late.fileno()), "and the writer sees it"
        assert reader.next_line() is None
    append(tmp_path, encode_event(_event(1)))
    assert len(segments(tmp_path)) == 2
    assert reader.advance()
    assert not path.exists()
    line = reader.next_line()
    assert line is not None and decode_line(line) == _event(1)
    reader.close()


@pytest.mark.parametrize("error", [InvalidInputError("no"), CorruptedIdentityError("damaged")])
def test_an_event_that_never_will_be_applied_is_rejected_and_blocks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    context = _with_error(tmp_path, monkeypatch, error)
    assert _applied(context) == _ids(0, 1, 3, 4)
    assert context.events.rejected == 1
    kept = (tmp_path / FOLDER / REJECTED_LOG).read_bytes()
    assert decode_line(kept) == _event(2)
    context.close()


def test_an_event_that_meets_a_bug_is_set_aside_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug may be mended: nothing that met one is thrown away, and none of it keeps the others."""
    context = _with_error(tmp_path, monkeypatch, ZeroDivisionError("a bug"))
    assert _applied(context) == _ids(0, 1, 3, 4)
    assert [row["why"] for row in context.chores.aside.rows()] == ["ZeroDivisionError: a bug"]
    monkeypatch.undo()
    context.chores.aside.release()
    assert put_back(tmp_path) and not put_back(tmp_path)
    context.events.read(FOREVER)
    assert _applied(context) == _ids(0, 1, 3, 4, 2)
    context.close()


def _with_error(store: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> StoreContext:
    """A store that has read five events, of which the third met ``error``."""
    real = EventReader._apply

    def apply(self: EventReader, event: LoggedEvent) -> None:
        if event.id == f"{2:032x}":
            raise error
        real(self, event)

    monkeypatch.setattr(EventReader, "_apply", apply)
    write_segment(store, *(_event(number) for number in range(5)))
    context = opened(store)
    assert not context.events.read(FOREVER)
    return context


def test_links_and_folders_that_bear_a_segment_s_name_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(encode_event(_event(1)))
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / _name(1)).symlink_to(tmp_path / "elsewhere")
    (tmp_path / FOLDER / _name(2)).mkdir()
    assert not has_waiting(tmp_path) and _lines(tmp_path) == []


def test_a_segment_that_can_t_be_read_stays_is_named_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_segment(tmp_path, _event(1))
    write_segment(tmp_path, _event(2), name=_name(2))
    real = os.pread
    bad = os.stat(tmp_path / FOLDER / _name(1)).st_ino

    def pread(handle: int, size: int, at: int) -> bytes:
        if os.fstat(handle).st_ino == bad:
            raise OSError(5, "Input/output error")
        return real(handle, size, at)

    monkeypatch.setattr(os, "pread", pread)
    context = opened(tmp_path)
    assert not context.events.read(FOREVER)
    assert _applied(context) == _ids(2)
    assert len(context.events.shut) == 1 and "Input/output error" in context.events.shut[0]
    assert _names(tmp_path) == {_name(1)}
    context.close()
    monkeypatch.undo()
    again = opened(tmp_path)
    again.events.read(FOREVER)
    assert _applied(again) == _ids(2, 1) and again.events.shut == []
    again.close()


def test_a_line_over_the_limit_is_rejected_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invariant 9: the log is bounded."""
    monkeypatch.setattr(log_reader, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(log_reader, "_READ_BYTES", 512)
    write_segment(tmp_path, _event(1), b"x" * 100_000 + b"\n", _event(2))
    context = opened(tmp_path)
    context.events.read(FOREVER)
    assert _applied(context) == _ids(1, 2)
    assert context.events.rejected > 0
    context.close()


def test_rejected_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 9: the log is bounded."""
    monkeypatch.setattr(log_reader, "_REJECTED_BYTES", 500)
    write_segment(tmp_path, *(b"bad line number %03d\n" % number for number in range(100)))
    context = opened(tmp_path)
    context.events.read(FOREVER)
    assert context.events.rejected == 100
    assert _names(tmp_path) == {REJECTED_LOG, REJECTED_LOG + ".1"}
    assert all((tmp_path / FOLDER / name).stat().st_size <= 500 for name in _names(tmp_path))
    assert (tmp_path / FOLDER / REJECTED_LOG).read_bytes().endswith(b"bad line number 099\n")
    context.close()


def test_writers_begin_another_segment_and_stop_at_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Invariant 9: with an owner that never starts the log must not fill the disk."""
    monkeypatch.setattr(event_log, "SEGMENT_BYTES", 1000)
    monkeypatch.setattr(event_log, "SEGMENTS", 3)
    with pytest.raises(OSError, match="64 MiB"):
        for number in range(1000):
            append(tmp_path, encode_event(_event(number)))
            time.sleep(0.002)  # segments are named by the millisecond
    assert len(segments(tmp_path)) == 3
    kept = [decode_line(line).id for line in _lines(tmp_path)]
    assert kept == _ids(*range(len(kept))) and len(kept) > 6


def test_hooks_are_told_where_a_power_failure_counts(tmp_path: Path) -> None:
    context = opened(tmp_path, durability="power")
    assert _names(tmp_path) == {event_log.POWER}
    append(tmp_path, encode_event(_event(1)))
    context.events.read(FOREVER)
    assert _applied(context) == _ids(1)
    context.close()
    opened(tmp_path).close()
    assert _names(tmp_path) == set()


def _apply_in_a_process(store: Path, die_at: int) -> subprocess.CompletedProcess[str]:
    return run(f"from {log_applier.__name__} import main\nmain()", store, die_at)


def _fill(store: Path) -> list[str]:
    """Two segments; one event is always refused, one meets a bug, one is torn. The others' ids."""
    write_segment(store, _event(1), b"\ngarbage\n", _event(2))
    write_segment(
        store, _event(3), _event(4, "hooks.refused"), _event(5), _event(6, "hooks.bug"), name=_name(2)
    )
    write_segment(store, encode_event(_event(7))[:50], name=_name(2))
    return _ids(1, 2, 3, 5)


def test_killed_at_any_step_it_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: Callable[[int], int]
) -> None:
    """Invariants 5 and 6: SIGKILL at each moment, then a new owner: every event once, in order.

    With one round at every fourth."""
    expected = _fill(tmp_path / "whole")
    done = _apply_in_a_process(tmp_path / "whole", 0)
    assert done.stdout, done.stderr
    more, rejected, steps = map(int, done.stdout.split())
    assert (more, rejected) == (0, 3) and steps > 20
    monkeypatch.setattr(EventReader, "_apply", log_applier.faulty(EventReader._apply))
    for die_at in range(1, steps + 1, 1 if rounds(2) > 1 else 4):
        store = tmp_path / f"killed-{die_at}"
        _fill(store)
        assert not _apply_in_a_process(store, die_at).stdout
        context = opened(store)
        assert not context.events.read(FOREVER)
        assert _names(store) == {REJECTED_LOG, ASIDE_LOG}
        assert _applied(context) == expected, f"killed at step {die_at}"
        live = context.sessions.get("s")
        assert live is not None and live.events_duplicate == 0, f"killed at step {die_at}"
        context.close()
        kept = (store / FOLDER / REJECTED_LOG).read_bytes()
        for text in (b"garbage", b"hooks.refused", encode_event(_event(7))[1:50]):
            assert kept.count(text) == 1, f"killed at step {die_at}"
        assert (store / FOLDER / ASIDE_LOG).read_bytes().count(b"hooks.bug") == 1, f"killed at step {die_at}"


def test_hooks_that_append_while_the_owner_reads_and_removes_lose_nothing(tmp_path: Path) -> None:
    """Invariant 5: what a hook has appended is read, in that hook's order, however the reading falls in."""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name, "150"],
            stdin=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for name in "abcd"
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.close()
    taken: list[str] = []
    rounds = 0
    while any(writer.poll() is None for writer in writers):
        rounds += 1
        taken += [line[21:53].decode() for line in _lines(tmp_path)]
    taken += [line[21:53].decode() for line in _lines(tmp_path)]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert rounds > 1
    for name in "abcd":
        mine = [one for one in dict.fromkeys(taken) if one.startswith(name)]
        assert mine == [f"{name}{count:031x}" for count in range(150)]


def test_records_of_several_writers_at_once_are_whole(tmp_path: Path) -> None:
    event = json.dumps({"text": "x" * 20_000}).encode()
    writer = WRITER.replace('b"{}"', repr(event))
    running = [
        subprocess.Popen([sys.executable, "-c", writer, str(tmp_path), name, "40"], stdin=subprocess.PIPE)
        for name in "abcd"
    ]
    for one in running:
        one.communicate(b"go\n", timeout=60)
    lines = _lines(tmp_path)
    assert len(lines) == 160
    assert all(line[54:] == event for line in lines)


def test_a_new_segment_is_the_newest_also_where_the_clock_went_back(tmp_path: Path) -> None:
    write_segment(tmp_path, _event(1), name="8888888888888-00000001.log")
    (tmp_path / FOLDER / "8888888888888-00000001.log").chmod(0o400)
    append(tmp_path, encode_event(_event(2)))
    assert segments(tmp_path)[-1].startswith("8888888888889-")


def test_nothing_is_written_to_a_segment_that_was_newest_a_moment_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader may have gone on to the newer one, and what comes after an event would be read before it."""
    real, created = event_log._open, list[str]()

    def overtaken(path: str, flags: int = 0) -> int:
        handle = real(path, flags)
        if flags and not created:
            created.append(Path(path).name)
            write_segment(tmp_path, _event(1), name="8888888888888-00000001.log")
        return handle

    monkeypatch.setattr(event_log, "_open", overtaken)
    append(tmp_path, encode_event(_event(2)))
    assert (tmp_path / FOLDER / created[0]).stat().st_size == 0
    assert [decode_line(line).id for line in _lines(tmp_path)] == _ids(1, 2)
