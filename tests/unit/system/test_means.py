"""What differs by system, asked both ways: as Linux does it, and as a system without its means."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_graph.system import peers, processes, streams
from context_graph.system.streams import READ, WRITE, Deadline

ECHO = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
WAYS = [pytest.param("/proc", id="proc"), pytest.param(None, id="ps")]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that waits."""
    with subprocess.Popen([sys.executable, "-I", "-c", "input()", "a-mark"], stdin=subprocess.PIPE) as made:
        yield made
        made.kill()


@pytest.mark.parametrize("proc", WAYS)
def test_a_process_is_known_by_name_parent_and_start(
    proc: str | None, child: subprocess.Popen[bytes]
) -> None:
    seen = processes.look(child.pid, proc)
    assert seen is not None and seen[1] == os.getpid() and seen[0].startswith(b"python") and seen[2] > 0
    assert seen == processes.look(child.pid, proc), "its start does not change"
    assert "a-mark" in processes.arguments(child.pid, proc)
    assert processes.look(2**22 - 1, proc) is None and processes.arguments(2**22 - 1, proc) == []


@pytest.mark.parametrize("proc", WAYS)
def test_a_stopped_process_is_seen_to_be(proc: str | None, child: subprocess.Popen[bytes]) -> None:
    os.kill(child.pid, signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)
    assert processes.state(child.pid, proc) == "T"
    os.kill(child.pid, signal.SIGCONT)
    assert processes.state(2**22 - 1, proc) == ""


@pytest.mark.parametrize("proc", WAYS)
def test_processor_time_is_told(proc: str | None) -> None:
    until = time.process_time() + 1.1
    while time.process_time() < until:
        pass
    used = processes.processor_s(os.getpid(), proc)
    assert used == pytest.approx(time.process_time(), abs=1.5) and used >= 1.0


def test_ps_writes_times_in_many_ways() -> None:
    assert [processes._seconds(text) for text in ("0:01.50", "01:02:03", "2-00:00:01")] == [1.5, 3723, 172801]


@pytest.mark.parametrize("proc", WAYS)
def test_who_has_the_lock_file_open_is_told_from_a_process_of_old(
    proc: str | None, tmp_path: Path, child: subprocess.Popen[bytes]
) -> None:
    path = tmp_path / "lock"
    with open(path, "wb"):
        assert processes.has_open(os.getpid(), str(path), "python" if proc else Path(sys.argv[0]).name, proc)
        assert not processes.has_open(child.pid, str(path), "no such program", proc)


def test_what_is_not_told_raises_and_is_not_guessed() -> None:
    for asked in (processes.environment, processes.working_folder):
        with pytest.raises(OSError, match="does not tell"):
            asked(os.getpid(), None)
    assert processes.flock_holder("/", None) == 0


def test_peak_memory_is_told_both_ways() -> None:
    assert processes.peak_bytes(None) == pytest.approx(processes.peak_bytes("/proc"), rel=0.5)


def test_a_peer_is_known_and_one_that_is_not_told_is_nobody() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert (peers.peer_uid(one), peers.peer_pid(one)) == (os.getuid(), os.getpid())
        with pytest.raises(OSError):  # Linux without SO_PEERCRED: it has no LOCAL_PEERCRED
            peers.peer_uid(one, None)


class _Mac:
    """The answers of a socket as <sys/ucred.h> and <sys/un.h> of macOS lay them out."""

    def __init__(self, version: int = 0) -> None:
        self._cred = struct.pack("IIhxx16I", version, 501, 1, *([20] * 16))

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        assert level == 0
        return {1: self._cred, 2: struct.pack("i", 4711)}[option][:size]


def test_the_answer_of_macos_is_read() -> None:
    assert peers.peer_uid(_Mac(), None) == 501 and peers.peer_pid(_Mac(), None) == 4711  # type: ignore[arg-type]
    with pytest.raises(OSError, match="not known"):
        peers.peer_uid(_Mac(version=7), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("has_poll", [True, False])
def test_waiting_is_the_same_without_poll(monkeypatch: pytest.MonkeyPatch, has_poll: bool) -> None:
    if not has_poll:
        monkeypatch.delattr(select, "poll")
    one, other = socket.socketpair()
    with one, other:
        wanted = [(one.fileno(), READ | WRITE), (-1, READ), (other.fileno(), READ), (other.fileno(), 0)][:3]
        assert streams.wait(wanted, 0) == [WRITE, 0, 0]
        one.send(b"x")
        assert streams.wait(wanted, 1000) == [WRITE, 0, READ]
        assert not streams.poll_readable(one.fileno(), 1)
        other.close()
        assert streams.poll_readable(one.fileno(), 1000), "an end of file can be read"


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_program_is_given_any_amount_and_no_disk_sees_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, in_memory: bool
) -> None:
    """Invariant 10: what a gate is asked about has not been redacted."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create")
    data = os.urandom(300_000)
    handle = streams.as_input(data)
    assert os.readlink(f"/proc/self/fd/{handle}").startswith(("/memfd:", "pipe:"))
    done = subprocess.run([sys.executable, "-I", "-c", ECHO], stdin=handle, capture_output=True, check=True)
    os.close(handle)
    assert done.stdout == data and not list(tmp_path.iterdir())


def test_a_program_that_reads_nothing_of_its_input_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    handle = streams.as_input(bytes(4_000_000))
    assert subprocess.run(["/bin/true"], stdin=handle, timeout=10).returncode == 0
    os.close(handle)


def test_a_file_gets_its_size_without_fallocate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    with open(tmp_path / "f", "w+b") as made:
        processes.allocate(made.fileno(), 4096)
    assert (tmp_path / "f").stat().st_size == 4096


def test_reading_ends_where_it_must() -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"abc")
        assert streams.read_to_end(reading, 100, Deadline(20)) == (b"abc", streams.LATE)
        os.write(writing, b"x" * 200)
        assert streams.read_to_end(reading, 100, Deadline(1000))[1] == streams.LIMIT
        os.close(writing)
        assert streams.read_to_end(reading, 100, Deadline(1000)) == (b"", streams.END)
    finally:
        os.close(reading)


def test_folders_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    streams.make_private(str(tmp_path / "a" / "b" / "c"))
    streams.make_private(str(tmp_path / "a" / "b" / "c"))
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")} == {0o700}


def test_processors_are_counted_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert processes.processors() == os.cpu_count()
