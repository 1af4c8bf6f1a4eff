"""Memories written and read through `Memex`: what seed 003 asks of throughput and of 100,000 nodes.

| workload | goal |
|---|---|
| stores_in_a_row: 10,000 memories of some 60 tokens, checked, redacted, embedded, indexed, logged | < 1 s |
| fifty_writers: 50 threads, 200 memories each | < 2 s |
| a_hundred_thousand: the last of 100,000, read past the cache | p95 <= 1 ms |

`benches/memory_store.py` measures the same beside raw RocksDB writes of as many bytes, in one run.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import memory_store
from benches.scale import scaled
from pytest_benchmark.fixture import BenchmarkFixture

LARGE = scaled(100_000, 2_000)


def test_stores_in_a_row(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """TC-CORE-012, REQ-CORE-011: ten thousand sequential stores."""
    report = benchmark.pedantic(memory_store.sequential, args=(tmp_path / "row", False), rounds=1)
    benchmark.extra_info.update(report)
    assert report["seconds"] > 0


def test_fifty_writers(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """TC-CORE-013, EC-CORE-013: no error, commits in order and without a gap."""
    report = benchmark.pedantic(memory_store.threaded, args=(tmp_path / "threads",), rounds=1)
    benchmark.extra_info.update(report)
    assert report["errors"] == 0
    assert report["order_kept"]


@pytest.mark.timeout(600)
def test_a_hundred_thousand(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """TC-CORE-028: 100,000 memories without an error, each to be read."""
    report = benchmark.pedantic(memory_store.reads, args=(tmp_path / "many", LARGE), rounds=1)
    benchmark.extra_info.update(report)
    assert report["read"] == min(5000, LARGE)
