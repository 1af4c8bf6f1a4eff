"""What differs by system, asked both ways: as Linux does it, and as a system without its means."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.owner.harness import wait_until

from context_graph.system import processes

WAYS = [pytest.param("/proc", id="proc"), pytest.param(None, id="ps")]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that waits."""
    with subprocess.Popen([sys.executable, "-I", "-c", "input()", "a-mark"], stdin=subprocess.PIPE) as made:
        wait_until(lambda: "a-mark" in processes.arguments(made.pid), "the child runs its program")
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
        assert processes.has_open(os.getpid(), str(path), "pytest", proc)
        assert not processes.has_open(child.pid, str(path), "no such program", proc)


def test_what_is_not_told_raises_and_is_not_guessed() -> None:
    for asked in (processes.environment, processes.working_folder):
        with pytest.raises(OSError, match="does not tell"):
            asked(os.getpid(), None)
    assert processes.flock_holder("/", None) == 0


def test_a_peer_is_known_and_one_that_is_not_told_is_nobody() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert (processes.peer_uid(one), processes.peer_pid(one)) == (os.getuid(), os.getpid())
        with pytest.raises(OSError):  # Linux without SO_PEERCRED: it has no LOCAL_PEERCRED
            processes.peer_uid(one, None)


class _Mac:
    """The answers of a socket as <sys/ucred.h> and <sys/un.h> of macOS lay them out."""

    def __init__(self, version: int = 0) -> None:
        self._cred = struct.pack("IIhxx16I", version, 501, 1, *([20] * 16))

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        assert level == 0
        return {1: self._cred, 2: struct.pack("i", 4711)}[option][:size]


def test_the_answer_of_macos_is_read() -> None:
    assert processes.peer_uid(_Mac(), None) == 501 and processes.peer_pid(_Mac(), None) == 4711  # type: ignore[arg-type]
    with pytest.raises(OSError, match="not known"):
        processes.peer_uid(_Mac(version=7), None)  # type: ignore[arg-type]


def test_a_file_gets_its_size_without_fallocate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    with open(tmp_path / "f", "w+b") as made:
        processes.allocate(made.fileno(), 4096)
    assert (tmp_path / "f").stat().st_size == 4096


def test_processors_are_counted_without_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert processes.processors() == os.cpu_count()
