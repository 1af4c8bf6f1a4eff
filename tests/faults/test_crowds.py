"""Two hundred sessions at once, and an owner that has run out of descriptors."""

from __future__ import annotations

import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from tests.faults.world import LONG, World

from context_graph.config import socket_path

CROWD = 200


def _crowd(world: World, rounds: int) -> None:
    """All sessions' hooks at the same moment, more than the owner serves at once."""
    sessions = [f"crowd-{index}" for index in range(CROWD)]
    world.start(sessions[0])
    for session in sessions:
        world.sent.setdefault(session, {})
        world.acknowledged.setdefault(session, set())
    failures: list[BaseException] = []
    for number in range(rounds):
        gate = threading.Barrier(CROWD)

        def work(session: str, number: int = number, gate: threading.Barrier = gate) -> None:
            gate.wait()
            try:
                world.hook(session, f"toolu_{number}_{session}", "pre-tool" if number % 2 else "post-tool")
            except BaseException as error:  # handed to the test's own thread
                failures.append(error)

        workers = [threading.Thread(target=work, args=(session,)) for session in sessions]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        world.fault("crowd")
        assert not failures, failures[0]
    world.judge()


@contextmanager
def _idle_clients(world: World, count: int) -> Iterator[int]:
    """Connections that say nothing."""
    with ExitStack() as stack:
        made = 0
        for _ in range(count):
            client = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            client.setblocking(False)
            with suppress(OSError):
                client.connect(str(socket_path(world.root)))
                made += 1
        yield made


def _exhausted(world: World, rounds: int) -> None:
    """The owner's limit comes down to what it has open already, and others' connections take what is left."""
    rng, sessions = world.begin("fd", 4)
    for number in range(rounds):
        pid = world.pid()
        assert pid is not None
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        in_use = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (in_use + rng.randrange(3), before[1]))
        world.fault("no descriptors", in_use=in_use)
        with _idle_clients(world, 20):
            world.burst(rng, sessions, number)
            world.remember(f"without descriptors {number}")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        world.burst(rng, sessions, 1000 + number)
        assert world.remember(f"with descriptors {number}") is not None
        assert world.pid() == pid, "the owner did not outlive it"
    world.judge()


@pytest.mark.timeout(900)
def test_two_hundred_sessions_short(world: World, rounds: Callable[[int], int]) -> None:
    _crowd(world, rounds(2))


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_no_descriptors_short(world: World, rounds: Callable[[int], int]) -> None:
    _exhausted(world, rounds(2))


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_two_hundred_sessions(world: World) -> None:
    """The long run."""
    _crowd(world, LONG)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_no_descriptors(world: World) -> None:
    """The long run."""
    _exhausted(world, LONG)
