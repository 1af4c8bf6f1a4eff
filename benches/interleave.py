"""Cases by turns: every round runs each once, in random order, so that the machine's drift hits all alike."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Mapping

from benches.turns import turn

Work = Callable[[], object]
BATCH_S = 0.001
"""A turn repeats a short operation until it takes about this long: the clock's own cost disappears."""


def measure(
    cases: Mapping[str, Work], rounds: int, *, once: bool = False, seed: int = 1
) -> dict[str, list[float]]:
    """Seconds of one operation of each case, ``rounds`` numbers each; the first, cold, round is thrown away.

    ``once`` runs each operation once a turn: for those that change what they work on.
    """
    with turn():
        batches = {name: 1 if once else _batch(work) for name, work in cases.items()}
    samples: dict[str, list[float]] = {name: [] for name in cases}
    order, chance = list(cases), random.Random(seed)
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds + 1):
            chance.shuffle(order)
            for name in order:
                with turn():
                    took = _mean(cases[name], batches[name])
                if number:
                    samples[name].append(took)
    finally:
        gc.enable()
    return samples


def _mean(work: Work, count: int) -> float:
    """Seconds of one operation, the mean of ``count`` in a row."""
    repeats = range(count)
    began = time.perf_counter()
    for _ in repeats:
        work()
    return (time.perf_counter() - began) / count


def _batch(work: Work) -> int:
    """How many operations fill BATCH_S."""
    count = 1
    while (took := _mean(work, count) * count) < BATCH_S / 2:
        count = count * 2 if took < BATCH_S / 100 else max(count + 1, int(count * BATCH_S / took))
    return count
