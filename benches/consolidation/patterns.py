"""How well and how fast action sequences are found (E10): F1 on planted sets, time and memory by store size.

    python benches/consolidation/patterns.py            # F1 on ten seeds each, then 1K, 10K, 100K memories
    python benches/consolidation/patterns.py --quality  # F1 alone; also --seeds, --memories, --json

Times are of the process (CPU), without reading the store: texts and E10 are at hand.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benches.consolidation.planted_sequences import TOOLS, WORKFLOWS, planted, score
from benches.consolidation.snapshots import of_memories
from benches.report import described, grid, machine, options, peak_mib, save

from context_graph.consolidation.finders import patterns

TOOLED = [flow for flow in WORKFLOWS if all(TOOLS[step] for step in flow)]
SEEDS = range(100, 110)
SETS = {
    "8 workflows x 20, 1,000 others": {},
    "8 workflows x 20, nothing else": {"unrelated": 0},
    "8 workflows x 8, 500 others": {"members": 8, "unrelated": 500},
    "8 workflows x 5, 100 others": {"members": 5, "unrelated": 100},
    "4 of tools x 20, 1,000 others": {"styles": ("tools",), "workflows": TOOLED},
    "8 as sessions x 20, 1,000 others": {"styles": ("session",)},
    "8 workflows x 20, 10,000 others": {"unrelated": 10_000},
    "no workflow, 3,000 others": {"members": 0, "unrelated": 3_000},
}


def quality(seeds: range) -> list[dict[str, Any]]:
    """Each set's medians over the seeds, and its least F1."""
    rows: list[dict[str, Any]] = []
    for name, given in SETS.items():
        results = []
        for seed in seeds:
            truth = planted(seed, **given)
            found = patterns.find(of_memories(truth.nodes), range(len(truth.nodes)))
            if not truth.workflows:
                results.append((0.0, 0.0, 0.0, 0, len(found)))
                continue
            made = score([one.members for one in found], truth)
            results.append((made.f1, made.precision, made.recall, made.workflows_found, made.patterns))
        f1, precision, recall, workflows, count = (median(column) for column in zip(*results, strict=True))
        least = min(row[0] for row in results)
        made_of = {"precision": precision, "recall": recall, "workflows": workflows, "patterns": count}
        rows.append({"set": name, "F1": f1, **made_of, "least F1": least})
    print(grid(tuple(rows[0]), (row.values() for row in rows)))
    return rows


def speed(sizes: list[int]) -> list[dict[str, Any]]:
    """What finding takes by size of the store."""
    rows: list[dict[str, Any]] = []
    for count in sizes:
        members = count // 200
        truth = planted(3, members=members, unrelated=count - 10 * members)
        snap = of_memories(truth.nodes)
        snap.load("Steps")
        before, began = peak_mib(), time.process_time()
        found = patterns.find(snap, range(len(snap)))
        took = time.process_time() - began
        more = peak_mib() - before
        made = score([one.members for one in found], truth)
        cost = {"s (CPU)": took, "us each": took / len(snap) * 1e6, "MiB more": more}
        rows.append({"memories": len(snap), **cost, "F1": made.f1})
    print("\n" + grid(tuple(rows[0]), (row.values() for row in rows)))
    return rows


def main() -> None:
    """Judge, then time."""
    parser = options(__doc__)
    parser.add_argument("--quality", action="store_true")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--memories", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    given = parser.parse_args()
    print(described(machine()))
    found = {"sets": quality(SEEDS[: given.seeds])}
    if not given.quality:
        found["sizes"] = speed(given.memories)
    save(given.json, found)


if __name__ == "__main__":
    main()
