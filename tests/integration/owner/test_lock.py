"""One owner per data root, whoever starts how many (invariant 1)."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.owner.harness import PROGRAM, WAIT_S, OwnerHarness, wait_until

from context_graph.config import lock_path, socket_path
from context_graph.errors import OwnerUnavailableError
from context_graph.owner.lock import (
    EXIT_CANNOT_CREATE,
    EXIT_LOCKED,
    EXIT_NOT_OURS,
    StartRefusedError,
    bind,
    lock_root,
    prepare_folders,
)
from context_graph.wire import run_folder
from context_graph.wire.client.request import request
from context_graph.wire.client.spawn import start_owner, stop_owner, wait_ready

pytestmark = pytest.mark.real

STARTER = (
    "import sys, time\nfrom pathlib import Path\n"
    "from context_graph.wire.client.request import request\nfrom context_graph.config import Location\n"
    "root = Path(sys.argv[1])\nsys.stdin.readline()\n"
    "reply = request('count', {}, location=Location(root, root / 's', root), timeout_s=30)\n"
    "print(reply.flags)\n"
)


def _owners(owner: OwnerHarness) -> list[str]:
    return (owner.root / "owners").read_text().split()


def _refused(owner: OwnerHarness, *args: str) -> tuple[int, str]:
    process = owner.spawn(*args)
    assert process.stderr is not None
    text = process.stderr.read().decode()
    return owner.ended(process), text


def test_sixteen_programs_that_start_it_at_once_get_one_owner(owner: OwnerHarness) -> None:
    """Invariant 1: sixteen concurrent starters, exactly one owner, every request served once."""
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, str(owner.root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(16)
    ]
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("go\n")
        program.stdin.flush()
    answers = [program.communicate(timeout=60)[0].strip() for program in programs]
    assert answers == ["1"] * 16
    assert len(_owners(owner)) == 1
    assert len((owner.root / "count").read_text().split()) == 16


def test_sixteen_threads_of_one_program_get_one_owner_too(owner: OwnerHarness) -> None:
    def ask(_: int) -> int:
        return request("count", {}, location=owner.location, timeout_s=30).flags

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(16))) == [1] * 16
    assert len(_owners(owner)) == 1


def test_sixteen_owners_started_directly_leave_one(owner: OwnerHarness) -> None:
    processes = [owner.spawn() for _ in range(16)]
    wait_until(owner.listens, "one owner", seconds=30)
    codes = [owner.ended(process, seconds=30) for process in processes if process.pid != owner.pid()]
    assert codes == [EXIT_LOCKED] * 15
    assert len(_owners(owner)) == 1


def test_a_second_owner_says_who_is_there_and_exits_75(owner: OwnerHarness) -> None:
    process = owner.start()
    code, text = _refused(owner)
    assert code == EXIT_LOCKED
    assert f"an owner (pid {process.pid}, version " in text
    assert f"already serves {owner.root}" in text
    assert owner.status()["pid"] == process.pid


def test_the_lock_file_names_pid_and_build(owner: OwnerHarness) -> None:
    process = owner.start()
    holder = run_folder.read_holder(lock_path(owner.root))
    assert holder is not None
    assert holder.pid == process.pid and "+build." in holder.version
    assert owner.status()["version"] == holder.version


def test_the_lock_is_handed_over_and_never_free_in_between(owner: OwnerHarness) -> None:
    with start_owner(owner.root) as starting:
        # start_owner has closed its copy; the lock is already the owner's, ready or not.
        assert run_folder.take_lock(lock_path(owner.root)) is None
        wait_ready(owner.root, time.monotonic() + 20, starting)
        assert owner.pid() == starting.pid
    assert run_folder.take_lock(lock_path(owner.root)) is None
    assert stop_owner(owner.root) == starting.pid
    handle = run_folder.take_lock(lock_path(owner.root))
    assert handle is not None
    os.close(handle)


def test_a_descriptor_that_holds_no_lock_does_not_pass_for_one(owner: OwnerHarness) -> None:
    """Handing over is verified: another file's descriptor, or one whose lock another holds, is no lock."""
    process = owner.start()
    for path in (lock_path(owner.root), owner.root / "other"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT)
        second = subprocess.run(
            [sys.executable, "-P", str(PROGRAM), "--root", str(owner.root), "--lock-fd", str(handle)],
            pass_fds=[handle],
            env=owner.env,
            capture_output=True,
            timeout=20,
        )
        os.close(handle)
        assert second.returncode == EXIT_LOCKED
    assert owner.status()["pid"] == process.pid


def test_a_handed_descriptor_of_another_file_is_not_trusted_but_a_free_lock_is_taken(
    owner: OwnerHarness,
) -> None:
    (owner.root / "run").mkdir(parents=True)
    handle = os.open(owner.root / "other", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    process = subprocess.Popen(
        [sys.executable, "-P", str(PROGRAM), "--root", str(owner.root), "--lock-fd", str(handle)],
        pass_fds=[handle],
        env=owner.env,
    )
    owner.processes.append(process)
    os.close(handle)
    wait_until(owner.listens, "an owner that listens")
    assert owner.pid() == process.pid
    assert owner.held()


def test_a_handed_descriptor_without_the_lock_is_closed(tmp_path: Path) -> None:
    prepare_folders(tmp_path)
    held = lock_root(tmp_path, None)
    handed = os.open(lock_path(tmp_path), os.O_RDWR)
    with pytest.raises(StartRefusedError):
        lock_root(tmp_path, handed)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handed)
    os.close(held)


def test_a_stale_socket_is_replaced(owner: OwnerHarness) -> None:
    (owner.root / "run").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stale:
        stale.bind(str(owner.socket))
    assert owner.socket.is_socket()
    owner.start()


def test_nobody_reaches_an_owner_that_does_not_know_its_socket_yet(tmp_path: Path) -> None:
    """It looks which file is its own after it bound the socket: whoever connects before could replace it."""
    prepare_folders(tmp_path)
    early = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with bind(tmp_path), early, pytest.raises(ConnectionRefusedError):
        early.connect(str(socket_path(tmp_path)))


def test_a_stale_lock_text_of_a_dead_owner_is_no_lock(owner: OwnerHarness) -> None:
    (owner.root / "run").mkdir(parents=True)
    lock_path(owner.root).write_text("1 0.0.1 0123456789abcdef\n")
    process = owner.start()
    assert owner.pid() == process.pid


def test_something_else_in_the_socket_s_place_is_left_alone(owner: OwnerHarness) -> None:
    (owner.root / "run").mkdir(parents=True)
    owner.socket.write_text("precious")
    code, text = _refused(owner)
    assert code == EXIT_NOT_OURS
    assert str(owner.socket) in text and "not a socket of ours" in text
    assert owner.socket.read_text() == "precious"
    assert not owner.held()


def test_a_link_in_place_of_a_folder_is_refused(owner: OwnerHarness) -> None:
    (owner.root.parent / "elsewhere").mkdir()
    owner.root.mkdir()
    (owner.root / "run").symlink_to(owner.root.parent / "elsewhere")
    code, text = _refused(owner)
    assert code == EXIT_NOT_OURS
    assert "not a folder" in text
    assert list((owner.root.parent / "elsewhere").iterdir()) == []


def test_a_link_in_place_of_the_lock_file_is_refused(owner: OwnerHarness) -> None:
    (owner.root / "run").mkdir(parents=True)
    lock_path(owner.root).symlink_to(owner.root / "precious")
    code, text = _refused(owner)
    assert code == EXIT_CANNOT_CREATE
    assert str(lock_path(owner.root)) in text
    assert not (owner.root / "precious").exists()


@pytest.mark.root
def test_a_folder_of_another_user_is_refused(owner: OwnerHarness) -> None:
    (owner.root / "run").mkdir(parents=True)
    os.chown(owner.root / "run", 65534, 65534)
    code, text = _refused(owner)
    assert code == EXIT_NOT_OURS
    assert "uid 65534" in text


def test_a_root_that_can_t_be_written_is_named(owner: OwnerHarness) -> None:
    owner.root.write_text("a file where the root should be")
    code, text = _refused(owner)
    assert code == EXIT_CANNOT_CREATE
    assert f"data root {owner.root} can't be written" in text
    assert "CONTEXT_GRAPH_HOME" in text
    assert "Traceback" not in text


def test_a_client_names_a_root_that_can_t_be_written(owner: OwnerHarness) -> None:
    owner.root.write_text("a file where the root should be")
    with pytest.raises(OwnerUnavailableError, match="can't be written"):
        request("echo", {}, location=owner.location)


@pytest.mark.root
def test_a_root_without_write_permission_is_refused_and_nothing_is_made(owner: OwnerHarness) -> None:
    owner.root.mkdir(mode=0o755)
    owner.root.parent.chmod(0o755)
    code = (
        "import os,sys\nfrom pathlib import Path\nfrom context_graph.owner.lock import *\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try: prepare_folders(Path(sys.argv[1]))\n"
        "except StartRefusedError as error: print(error); sys.exit(error.exit_status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(owner.root)], capture_output=True, text=True, timeout=20
    )
    assert done.returncode == EXIT_CANNOT_CREATE, done.stderr
    assert "Permission denied" in done.stdout
    assert list(owner.root.iterdir()) == []


def test_a_root_whose_path_is_too_long_for_a_socket_is_served_under_tmp(
    owner: OwnerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.root = owner.root / ("deep" * 20) / ("deeper" * 10)
    assert len(os.fsencode(owner.root / "run" / "owner.sock")) > 107
    place = socket_path(owner.root)
    assert place.parent == Path(f"/tmp/context-graph-{os.getuid()}")
    process = owner.start()
    try:
        assert owner.ask("echo", b"x").stdout == b"x"
        assert place.parent.stat().st_mode & 0o777 == 0o700
    finally:
        process.terminate()
        owner.ended(process, WAIT_S)
    assert not place.exists()
