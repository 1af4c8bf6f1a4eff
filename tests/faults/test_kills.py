"""kill -9 of owner, consolidation, hooks and commands at random moments: nothing is lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.faults.world import LONG, World
from tests.support.owner.harness import wait_until

SESSIONS = 6
CONSOLIDATE = ("memory", "consolidate", "--mode", "deep", "--any-state", "--format", "json")


def children(pid: int | None) -> list[int]:
    """The processes that the owner has started."""
    if pid is None:
        return []
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _round(world: World, rng: random.Random, number: int, sessions: list[str]) -> None:
    texts = [f"round {number} writer {one}: the limit is {rng.randrange(10**6)}" for one in range(2)]
    writers = [threading.Thread(target=world.remember, args=(text,)) for text in texts]
    consolidating = threading.Thread(target=world.command, args=CONSOLIDATE)

    def kill() -> None:
        for thread in (*writers, consolidating):
            thread.start()
        victim = ("owner", "child", "hook")[number % 3]
        if victim == "child":
            wait_until(lambda: children(world.pid()) or not consolidating.is_alive(), "a consolidation", 60)
        threading.Event().wait(rng.uniform(0, 0.3))  # the random moment of the kill, not a wait for something
        if victim == "owner":
            world.signal_owner(signal.SIGKILL)
        elif victim == "child":
            for pid in children(world.pid()):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    world.fault("consolidation killed", pid=pid)
        else:
            world.fault("hook killed")
            world.hook(rng.choice(sessions), f"toolu_killed_{number}", kill_after_s=rng.uniform(0, 0.004))

    world.burst(rng, sessions, number, beside=kill)
    for thread in (*writers, consolidating):
        thread.join()


@pytest.mark.timeout(600)
def test_kills_short(world: World, rounds: Callable[[int], int]) -> None:
    """Invariants 5 and 6: owner, child and hooks."""
    world.torture("kill", SESSIONS, rounds(4), _round)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_kills(world: World) -> None:
    """Invariants 5 and 6: the long run."""
    world.torture("kill", SESSIONS, LONG, _round)
