"""Memories written and read through `Memex`: what seed 003 asks of throughput and of 100,000 nodes.

| workload | seed's time | goal, times raw RocksDB batches of as many bytes (reads: a raw get) |
|---|---|---|
| stores_in_a_row: 10,000 memories of some 60 tokens, with all that a store does | 1 s | 5.3 |
| fifty_writers: 50 threads, 200 memories each | 2 s | 10.5 |
| a_hundred_thousand: of 100,000, read past the cache | p95 1 ms | 200 |

`benches/memory/throughput.py` tells more of the same.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from benches.goal import held
from benches.memory import throughput
from benches.scale import scaled
from pytest_benchmark.fixture import BenchmarkFixture
from rocksdict import Options, Rdict

LARGE = scaled(100_000, 2_000)
ROUNDS = scaled(3, 1)
BATCH_BYTES = throughput.VECTOR_BYTES + throughput.NODE_BYTES


def test_stores_in_a_row(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """TC-CORE-012, REQ-CORE-011: ten thousand sequential stores."""
    ours, raw = [], []

    def rounds() -> None:
        for number in range(ROUNDS):
            raw.append(throughput.raw_batches(tmp_path / f"raw-{number}", BATCH_BYTES))
            ours.append(float(str(throughput.sequential(tmp_path / f"row-{number}", False)["seconds"])))

    benchmark.pedantic(rounds, rounds=1)
    benchmark.extra_info.update(held("10,000 stores in a row", ours, raw, 5.3))


def test_fifty_writers(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """TC-CORE-013, EC-CORE-013: no error, commits in order and without a gap, 5,000 a second."""
    ours, raw = [], []

    def rounds() -> None:
        for number in range(ROUNDS):
            raw.append(throughput.raw_batches(tmp_path / f"raw-{number}", BATCH_BYTES))
            report = throughput.threaded(tmp_path / f"threads-{number}")
            assert report["errors"] == 0
            assert report["order_kept"]
            ours.append(float(str(report["seconds"])))

    benchmark.pedantic(rounds, rounds=1)
    benchmark.extra_info.update(held("fifty writers of 200", ours, raw, 10.5))


@pytest.mark.timeout(600)
def test_a_hundred_thousand(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """TC-CORE-028: 100,000 memories without an error, each to be read."""
    report = benchmark.pedantic(throughput.reads, args=(tmp_path / "many", LARGE), rounds=1)
    assert report["read"] == min(5000, LARGE)
    cold = report["cold"]["p95_us"] / 1e6
    benchmark.extra_info.update({**report, **held("p95 of a read", [cold], raw_gets(tmp_path / "raw"), 200)})


def raw_gets(folder: Path) -> list[float]:
    """Seconds of gets of one record each, by chance, of a database of as many."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    db = Rdict(str(folder), options)
    for number in range(LARGE):
        db.put(number.to_bytes(16), bytes(throughput.NODE_BYTES))
    db.flush()
    rng, clock, found = random.Random(5), time.perf_counter, []
    for _ in range(2000):
        key = rng.randrange(LARGE).to_bytes(16)
        began = clock()
        assert db.get(key) is not None
        found.append(clock() - began)
    db.close()
    return found
