"""Clocks that jump anywhere between two acts: once they are right again all stores are equal."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

from tests.integration.sync.test_merge import state, stores
from tests.integration.sync.test_whole import told
from tests.support.memories import WHY

from context_graph.memory.memex import Memex

DAY_NS = 86_400 * 10**9
JUMPS = [0, 0, 0, 540 * 10**9, 660 * 10**9, DAY_NS, 366 * DAY_NS, -DAY_NS, -366 * DAY_NS, -50 * 366 * DAY_NS]
"""Nanoseconds; a clock may be ten minutes ahead."""
SEEDS = [200, 114, *range(201, 219)]
ACTS = 25


def test_after_jumps_of_their_clocks_all_stores_are_equal(
    tmp_path: Path, rounds: Callable[[int], int]
) -> None:
    for seed in SEEDS[: rounds(len(SEEDS))]:
        place = tmp_path / str(seed) / "place"
        place.mkdir(parents=True)
        with ExitStack() as stack:
            some = stores(tmp_path / str(seed), 3, stack)
            _with_wild_clocks(random.Random(seed), some, place)
            _settled(some, place)
            assert len({state(one) for one in some}) == 1, seed


def _with_wild_clocks(chance: random.Random, some: list[Memex], place: Path) -> None:
    real, ids = time.time_ns, list[UUID]()
    for act in range(ACTS):
        store, jump = chance.choice(some), chance.choice(JUMPS)
        with patch("time.time_ns", lambda jump=jump: real() + jump):
            kind = chance.random()
            if kind < 0.35 or not ids:
                ids.append(store.store(f"fact {act} of the matter", rationale=WHY).id)
            elif kind < 0.6:
                if (node := store.get(chance.choice(ids))) is not None:
                    store.update([replace(node, importance=chance.random())])
            elif kind < 0.7 and store.get(node_id := chance.choice(ids)) is not None:
                store.forget(node_id, soft=chance.random() < 0.7, reason="user_requested")
            told(store, place)


def _settled(some: list[Memex], place: Path) -> None:
    """Exchange with right clocks, then once more when what was ten minutes ahead is past."""
    real = time.time_ns
    for later in (0, 1500 * 10**9):
        with patch("time.time_ns", lambda later=later: real() + later):
            for _ in range(6):
                for one in some:
                    told(one, place)
