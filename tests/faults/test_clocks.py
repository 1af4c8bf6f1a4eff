"""The wall clock jumps, forward and back, while sessions run and beside a consolidation."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from tests.faults.shim import Shim
from tests.faults.world import LONG, World
from tests.support.cli import Cli

DAY = 86_400.0
JUMPS = (3600.0, -3600.0, 40 * DAY, -40 * DAY, 10 * 365 * DAY, -5 * 365 * DAY, 0.0)
SESSIONS = 4


def _torture(world: World, shim: Shim, rounds: int) -> None:
    rng, sessions = world.begin("clock", SESSIONS)
    for number in range(rounds):
        # Each jump once before any comes again, in an order of the seed.
        ahead = JUMPS[number % len(JUMPS)] + rng.uniform(-60, 60)
        shim.set(clock_s=ahead)
        world.fault("clock", ahead_s=ahead)
        world.burst(rng, sessions, number)
        _remembered_then(world, number, ahead)
        if number % 3 == 2:
            world.command("memory", "consolidate", "--mode", "light", "--any-state", "--format", "json")
    shim.set()
    world.judge()


def _remembered_then(world: World, number: int, ahead: float) -> None:
    """A memory made now bears the jumped time, and is found and not taken for one to be purged."""
    found = world.remember(f"The clock test number {number} keeps bucket {number * 7}")
    assert found is not None
    shown = world.cli.run("memory", "show", found, "--format", "json")
    assert shown.returncode == 0, shown.stderr
    made_s = datetime.fromisoformat(json.loads(shown.stdout)["created_at"]).timestamp()
    assert abs(made_s - time.time() - ahead) < 60, "the shim does not reach the owner"
    listed = world.cli.run("memory", "recall", f"clock test number {number} bucket", "--format", "json")
    assert listed.returncode == 0, listed.stderr
    assert found in listed.stdout


@pytest.fixture
def shim(tmp_path: Path) -> Shim:
    return Shim.build(tmp_path)


@pytest.mark.timeout(900)
def test_clock_jumps_short(
    cli: Cli, make_world: Callable[..., World], shim: Shim, rounds: Callable[[int], int]
) -> None:
    """An hour; with more rounds 40 days."""
    _torture(make_world(shim.around(cli)), shim, rounds(4))


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_clock_jumps(cli: Cli, make_world: Callable[..., World], shim: Shim) -> None:
    """The long run."""
    _torture(make_world(shim.around(cli)), shim, LONG)
