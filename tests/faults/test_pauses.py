"""A stopped owner (SIGSTOP): hooks fall back within their budget, and what it finds later counts once."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.faults.world import LONG, World

SESSIONS = 6


def _round(world: World, rng: random.Random, number: int, sessions: list[str]) -> None:
    stopped: list[int] = []

    def pause() -> None:
        threading.Event().wait(rng.uniform(0, 0.02))  # the random moment of the stop
        pid = world.signal_owner(signal.SIGSTOP)
        stopped.extend([pid] if pid else [])

    world.burst(rng, sessions, number, beside=pause)
    # Some hooks were sent into the stopped owner's socket and into the log: the owner meets both.
    for session in rng.sample(sessions, 2):
        world.hook(session, f"toolu_{number}_{session}_while_stopped")
    dies = rng.random() < 0.3
    for pid in stopped:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL if dies else signal.SIGCONT)
    if dies:
        world.fault("stopped owner killed")
    world.remember(f"after pause {number} of {world.row.seed}")


@pytest.mark.timeout(600)
def test_pauses_short(world: World, rounds: Callable[[int], int]) -> None:
    """A few stops."""
    world.torture("pause", SESSIONS, rounds(3), _round)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_pauses(world: World) -> None:
    """The long run."""
    world.torture("pause", SESSIONS, LONG, _round)
