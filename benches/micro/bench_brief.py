"""The brief's text in Python: seed 000 REQ-SESSION-09 allows 100 us at p95."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benches.goal import held

from context_graph.identity.brief import brief_line, state_block
from context_graph.identity.consciousness import Metrics
from context_graph.model import SessionIdentitySnapshot

SNAPSHOT = SessionIdentitySnapshot(
    session_id="bench",
    last_ic=0.88,
    consciousness=0.66,
    integration=0.92,
    reflection=0.8,
    differentiation=0.9,
)


def test_brief_line_from_a_snapshot(benchmark: Any) -> None:
    """TC-SESSION-11, REQ-SESSION-09: p95 within 100 us, which is 150 times the formatting of two numbers."""
    line = benchmark(lambda: brief_line(Metrics.of_snapshot(SNAPSHOT)))
    assert line == "[C:EMG r=0.92 IC=0.88]"
    ours, limit = _between(
        lambda: brief_line(Metrics.of_snapshot(SNAPSHOT)),
        lambda: f"[C:EMG r={SNAPSHOT.integration:.2f} IC={SNAPSHOT.last_ic:.2f}]",
    )
    benchmark.extra_info.update(held("p95 of the brief's line", ours, limit, 150, share=0.95))


def test_state_block_from_a_snapshot(benchmark: Any) -> None:
    """The four lines of each prompt."""
    benchmark(lambda: state_block(Metrics.of_snapshot(SNAPSHOT)))


def _between(ours: Callable[[], str], limit: Callable[[], str]) -> tuple[list[float], list[float]]:
    """Seconds of 2,000 calls of each, one after the other."""
    clock = time.perf_counter
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(2000):
        for call, found in zip((ours, limit), times, strict=True):
            began = clock()
            call()
            found.append(clock() - began)
    return times
