"""How well and how fast action sequences are found (E10): F1 on planted sets, time and memory by store size.

    python benches/patterns.py            # F1 on ten seeds each, then 1K, 10K, 100K memories
    python benches/patterns.py --quality  # F1 alone

Times are of the process (CPU), without reading the store: texts and E10 are at hand.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from benches.planted_sequences import TOOLS, WORKFLOWS, planted, score

from context_graph.dream import patterns
from context_graph.dream.snapshot import of_memories

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


def quality() -> None:
    print(f"{'set':34} {'F1':>6} {'precision':>10} {'recall':>7} {'workflows':>10} {'patterns':>9}")
    for name, given in SETS.items():
        results = []
        for seed in SEEDS:
            truth = planted(seed, **given)
            found = patterns.find(of_memories(truth.nodes), range(len(truth.nodes)))
            if not truth.workflows:
                results.append((0.0, 0.0, 0.0, 0, len(found)))
                continue
            made = score([one.members for one in found], truth)
            results.append((made.f1, made.precision, made.recall, made.workflows_found, made.patterns))
        f1, precision, recall, workflows, count = (median(column) for column in zip(*results, strict=True))
        least = min(row[0] for row in results)
        print(
            f"{name:34} {f1:6.3f} {precision:10.3f} {recall:7.3f} {workflows:10g} {count:9g}"
            f"  (least F1 {least:.3f})"
        )


def speed() -> None:
    print(f"\n{'memories':>9} {'s (CPU)':>8} {'us each':>8} {'MiB more':>9} {'F1':>6}")
    for count in (1_000, 10_000, 100_000):
        members = count // 200
        truth = planted(3, members=members, unrelated=count - 10 * members)
        snap = of_memories(truth.nodes)
        snap.load("Behavioral")
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        found = patterns.find(snap, range(len(snap)))
        took = time.process_time() - began
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        made = score([one.members for one in found], truth)
        print(f"{len(snap):9} {took:8.2f} {took / len(snap) * 1e6:8.0f} {more:9.0f} {made.f1:6.3f}")


if __name__ == "__main__":
    quality()
    if "--quality" not in sys.argv:
        speed()
