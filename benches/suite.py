#!/usr/bin/env python3
"""The bench suite: every figure beside its limit, and rivals where installed, by turns in one run.

    python benches/suite.py [--only GROUP ...] [--json FILE] [--markdown]

Groups: kernels identity store recall consolidation processes git mcp. Data roots are temporary. With
CONTEXT_GRAPH_BENCH_SMOKE=1 sizes are small and rounds few: benches/compare.py makes and judges such runs. A
full one is judged here: exit 1 where a goal is missed in the median and in the fastest tenth.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy: BLAS gets as many threads as each kernel here
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches import turns
from benches.groups import consolidation, identity, kernels, mcp, recall, store
from benches.hooks import git_commits, processes
from benches.report import Figure, described, machine, markdown, table, write
from benches.scale import SMOKE


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    name: str
    rounds: int
    scanned: int
    close_rows: int
    memories: int
    process_rounds: int
    dream_rounds: int
    dream_modes: tuple[str, ...]


FULL = Size("full", 200, 10_000, 8192, 10_000, 200, 3, ("light", "deep", "rem"))
SMALL = Size("smoke", 60, 2_000, 2048, 1_000, 60, 3, ("light",))

GROUPS: dict[str, Callable[[Path, Size], list[Figure]]] = {
    "kernels": lambda folder, size: kernels.run(size.rounds, size.scanned, size.close_rows),
    "identity": lambda folder, size: identity.run(size.rounds),
    "store": lambda folder, size: store.run(folder, size.rounds, size.memories),
    "recall": lambda folder, size: recall.run(size.rounds, size.memories),
    "consolidation": lambda folder, size: consolidation.run(
        folder, size.dream_rounds, size.memories, size.dream_modes
    ),
    "processes": lambda folder, size: processes.run(size.process_rounds),
    "git": lambda folder, size: git_commits.run(size.process_rounds),
    "mcp": lambda folder, size: mcp.run(max(25, size.rounds // 2), size.memories),
}


def main() -> int:
    """Run the groups, print each as it is done; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", action="store_true", help="end with rows for benches/README.md")
    parser.add_argument("--turns", metavar="READ,WRITE", help="descriptors of benches/beside.py's turns")
    given = parser.parse_args()
    if given.turns:
        turns.join(given.turns)
    size, found = SMALL if SMOKE else FULL, []
    print(f"{size.name}: {described(machine())}")
    for name in given.only:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="context-graph-bench-") as scratch:
            os.environ["CONTEXT_GRAPH_HOME"] = scratch
            of_group = GROUPS[name](Path(scratch), size)
        print(table(of_group), flush=True)
        print(f"  ({name}: {time.perf_counter() - began:.0f} s)", flush=True)
        found += of_group
    if given.json:
        write(given.json, found, size=size.name)
    if given.markdown:
        print(markdown(found))
    return judged(found) if size is FULL else 0


def judged(found: list[Figure]) -> int:
    """1 where a goal is missed by more than the run's own spread; says which."""
    missed = [(one.name, why) for one in found for why in one.missed()]
    for name, why in missed:
        print(f"MISSED {name}: {why}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
