"""Times operations on a store's memory, and writes its metrics as Prometheus text (REQ-CORE-009 to 011)."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

BUCKETS_S: Final = (0.00002, 0.0001, 0.001, 0.006, 0.012, 0.06, 0.25, 1.0)
"""Upper bounds in seconds; our goals are among them."""

_HELP: Final = {
    "nodes": "Memories, without the soft-deleted ones.",
    "deleted": "Soft-deleted memories that can be restored.",
    "edges": "Edges between memories.",
    "content_bytes": "UTF-8 bytes of all contents.",
    "commits": "Number of the last commit.",
    "cache_nodes": "Memories in the cache.",
    "cache_bytes": "Estimated bytes of the cache.",
    "cache_hits": "Reads the cache answered.",
    "cache_misses": "Reads it did not.",
    "cache_evictions": "Memories that left it for others.",
    "cache_hit_rate": "Share of reads the cache answered.",
    "bloom_useful": "Table reads that bloom filters saved.",
    "bloom_full_positive": "Lookups that a bloom filter let through.",
    "bloom_full_true_positive": "Of these, those that found their key.",
    "bloom_false_positive_rate": "Share of lookups for absent keys that a filter let through.",
    "memtable_bytes": "RocksDB's write buffers of this database.",
    "second_commits": "Commits up to which memories have their second vectors.",
    "table_bytes": "RocksDB's tables on disk, of memories.",
}
_COUNTERS: Final = frozenset(
    {
        *("commits", "cache_hits", "cache_misses", "cache_evictions"),
        *("bloom_useful", "bloom_full_positive", "bloom_full_true_positive"),
    }
)


class Timings:
    """How often each operation ran, how long it took, how often it failed. Under its caller's lock."""

    def __init__(self) -> None:
        self._rows: dict[str, list[float]] = {}
        self._quiet = 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count nothing that runs inside, in any thread: examining the memory is not using it."""
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    @contextmanager
    def measure(self, operation: str) -> Iterator[None]:
        """Count what runs inside."""
        began = time.perf_counter()
        try:
            yield
        except BaseException:
            self.note(operation, time.perf_counter() - began, failed=True)
            raise
        self.note(operation, time.perf_counter() - began)

    def note(self, operation: str, seconds: float, *, failed: bool = False) -> None:
        """Count one run; ``operation`` is one of a fixed few."""
        if self._quiet:
            return
        row = self._rows.get(operation)
        if row is None:
            row = self._rows[operation] = [0.0] * (len(BUCKETS_S) + 4)
        row[bisect_left(BUCKETS_S, seconds)] += 1
        row[-3] += 1
        row[-2] += seconds
        row[-1] += failed

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Per operation: count, seconds, failed."""
        return {
            name: {"count": int(row[-3]), "seconds": round(row[-2], 6), "failed": int(row[-1])}
            for name, row in self._rows.items()
        }

    def prometheus(self) -> list[str]:
        """Return a histogram and a count of failures, labelled by operation."""
        if not self._rows:
            return []
        name = "context_graph_memory_operation_seconds"
        lines = [f"# HELP {name} Time of operations.", f"# TYPE {name} histogram"]
        for operation, row in self._rows.items():
            label, total = f'operation="{operation}"', 0
            for bound, count in zip((*BUCKETS_S, "+Inf"), row, strict=False):
                total += int(count)
                lines.append(f'{name}_bucket{{{label},le="{bound}"}} {total}')
            lines.append(f"{name}_sum{{{label}}} {row[-2]:.6f}")
            lines.append(f"{name}_count{{{label}}} {int(row[-3])}")
        failed = "context_graph_memory_operation_failures_total"
        lines += [f"# HELP {failed} Operations that failed.", f"# TYPE {failed} counter"]
        lines += [f'{failed}{{operation="{name}"}} {int(row[-1])}' for name, row in self._rows.items()]
        return lines


def bloom_figures(tickers: Mapping[str, int]) -> dict[str, float]:
    """RocksDB's counters of bloom filters, and the rate of false positives for absent keys."""
    useful = tickers.get("rocksdb.bloom.filter.useful", 0)
    positive = tickers.get("rocksdb.bloom.filter.full.positive", 0)
    true_positive = tickers.get("rocksdb.bloom.filter.full.true.positive", 0)
    absent = useful + positive - true_positive
    return {
        "bloom_useful": useful,
        "bloom_full_positive": positive,
        "bloom_full_true_positive": true_positive,
        "bloom_false_positive_rate": (positive - true_positive) / absent if absent else 0.0,
    }


def prometheus_text(figures: Mapping[str, object], timings: Timings, store: str) -> str:
    """Return the numbers of ``figures`` in Prometheus' text format, labelled with the store's name."""
    label = store.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    lines: list[str] = []
    for key, value in figures.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        kind = "counter" if key in _COUNTERS else "gauge"
        name = f"context_graph_memory_{key}" + ("_total" if kind == "counter" else "")
        if key in _HELP:
            lines.append(f"# HELP {name} {_HELP[key]}")
        lines.append(f"# TYPE {name} {kind}")
        number = f"{value:g}" if isinstance(value, float) else str(value)
        lines.append(f'{name}{{store="{label}"}} {number}')
    return "\n".join((*lines, *timings.prometheus())) + "\n"
