"""A disk that is slow, full, or read-only for a while: what was not refused aloud is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.faults.shim import Shim
from tests.faults.world import LONG, World
from tests.support.cli import Cli
from tests.support.owner.harness import wait_until

SESSIONS = 4


@pytest.fixture
def disk(cli: Cli) -> Iterator[Cli]:
    """The program with its data root on a small disk of its own."""
    home = Path(tempfile.mkdtemp(prefix="cg-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "none", str(home)], capture_output=True
    )
    if mounted.returncode:
        home.rmdir()
        pytest.skip("may not mount a file system here")
    there = Cli(cli.launcher, cli.project, {**cli.env, "CONTEXT_GRAPH_HOME": str(home)})
    try:
        yield there
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(home)], check=False)
        there.run("owner", "stop")
        subprocess.run(["umount", "-l", str(home)], check=True)
        home.rmdir()


def _fill_up(home: Path) -> None:
    with open(home / "filler", "ab", buffering=0) as sink, suppress(OSError):
        while True:
            sink.write(bytes(4096))


def _full(world: World, rounds: int) -> None:
    (rng, sessions), home = world.begin("disk", SESSIONS), world.root
    for number in range(rounds):
        if rng.random() < 0.5:
            world.signal_owner(signal.SIGKILL)  # the next owner meets the full disk at its start
        _fill_up(home)
        world.fault("disk full")
        world.burst(rng, sessions, number)
        world.remember(f"on a full disk {number} " + "word " * 2000)
        (home / "filler").unlink()
        world.burst(rng, sessions, 1000 + number)
        assert world.remember(f"with room again {number}") is not None
    world.judge()


def _consolidating(world: World, rounds: int) -> None:
    """The consolidation's copy of the store has no room; the owner goes on as soon as there is some."""
    home = world.root
    for number in range(rounds):
        before = [world.remember(f"fact {number} {one} about " + "words " * 300) for one in range(5)]
        assert None not in before
        _fill_up(home)
        world.fault("disk full")
        for _ in range(2):
            done = world.cli.run("memory", "consolidate", "--mode", "light", timeout=120)
            assert done.returncode == 1 and "no space left" in done.stderr, done.stderr
            world.remember(f"on a full disk {number} " + "word " * 2000)
        pid = world.pid()
        (home / "filler").unlink()
        assert world.remember(f"with room again {number}") is not None
        done = world.cli.run("memory", "consolidate", "--mode", "light", timeout=120)
        assert done.returncode == 0, done.stderr
        assert world.remember(f"after it {number}") is not None
        assert world.pid() == pid, "it needed another owner"
    world.judge()


def _read_only(world: World, rounds: int) -> None:
    """Only without an owner: a disk with files open for writing can't be made read-only by hand."""
    (rng, sessions), home = world.begin("disk", SESSIONS), world.root
    for number in range(rounds):
        pid = world.signal_owner(signal.SIGKILL)
        assert pid is not None
        with suppress(OSError):
            os.waitpid(pid, 0)
        _remount(home, "ro")
        world.fault("disk read-only")
        world.burst(rng, sessions, number)
        assert world.remember(f"on a read-only disk {number}") is None
        _remount(home, "rw")
        world.burst(rng, sessions, 1000 + number)
        assert world.remember(f"writable again {number}") is not None
    world.judge()


def _remount(home: Path, mode: str) -> None:
    """The killed owner's files close a moment after it."""
    command = ["mount", "-o", f"remount,{mode}", str(home)]
    wait_until(lambda: subprocess.run(command, capture_output=True).returncode == 0, f"mounted {mode}")


def _slow(world: World, shim: Shim, rounds: int) -> None:
    rng, sessions = world.begin("disk", SESSIONS)
    for number in range(rounds):
        delay = rng.choice((5.0, 50.0, 400.0, 1500.0))
        shim.set(delay_ms=delay)
        world.fault("disk slow", delay_ms=delay)
        world.burst(rng, sessions, number)
        if rng.random() < 0.3:
            world.signal_owner(signal.SIGKILL)
        assert world.remember(f"on a slow disk {number}") is not None
        shim.set()
        assert world.remember(f"after a slow disk {number}") is not None
    assert shim.delayed > 0, "the shim does not reach the owner"
    world.row.note = f"{shim.delayed} writes delayed"
    world.judge()


@pytest.mark.timeout(900)
def test_full_disk_short(disk: Cli, make_world: Callable[..., World], rounds: Callable[[int], int]) -> None:
    """Once or twice full."""
    _full(make_world(disk), rounds(2))


@pytest.mark.timeout(900)
def test_full_disk_at_a_consolidation_short(disk: Cli, make_world: Callable[..., World]) -> None:
    """Once full; nobody restarts the owner."""
    _consolidating(make_world(disk), 1)


@pytest.mark.timeout(900)
def test_read_only_disk_short(disk: Cli, make_world: Callable[..., World]) -> None:
    """Once."""
    _read_only(make_world(disk), 1)


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_slow_disk_short(
    cli: Cli, make_world: Callable[..., World], tmp_path: Path, rounds: Callable[[int], int]
) -> None:
    """Every write 5 ms to 1.5 s late."""
    shim = Shim.build(tmp_path)
    world = make_world(shim.around(_durable(cli)))
    _slow(world, shim, rounds(3))


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_full_disk(disk: Cli, make_world: Callable[..., World]) -> None:
    """The long run."""
    _full(make_world(disk), LONG)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_read_only_disk(disk: Cli, make_world: Callable[..., World]) -> None:
    """The long run."""
    _read_only(make_world(disk), LONG)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_slow_disk(cli: Cli, make_world: Callable[..., World], tmp_path: Path) -> None:
    """The long run."""
    shim = Shim.build(tmp_path)
    _slow(make_world(shim.around(_durable(cli))), shim, LONG)


def _durable(cli: Cli) -> Cli:
    return Cli(cli.launcher, cli.project, {**cli.env, "CONTEXT_GRAPH_DURABILITY": "power"})
