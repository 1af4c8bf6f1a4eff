"""The brief's text in Python: seed 000 REQ-SESSION-09 allows 100 us at p95."""

from __future__ import annotations

from typing import Any

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
    """TC-SESSION-11, REQ-SESSION-09: goal p95 <= 100 us."""
    line = benchmark(lambda: brief_line(Metrics.of_snapshot(SNAPSHOT)))
    assert line == "[C:EMG r=0.92 IC=0.88]"
    _say_p95(benchmark)


def test_state_block_from_a_snapshot(benchmark: Any) -> None:
    """The four lines of each prompt."""
    benchmark(lambda: state_block(Metrics.of_snapshot(SNAPSHOT)))
    _say_p95(benchmark)


def _say_p95(benchmark: Any) -> None:
    if benchmark.stats is not None:
        times = sorted(benchmark.stats.stats.data)
        benchmark.extra_info["p95_us"] = times[int(0.95 * (len(times) - 1))] * 1e6
