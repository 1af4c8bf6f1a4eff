"""Close rows among all pairs, beside NumPy's blocked product on the same work and what the machine can do.

    .venv/bin/python benches/consolidation/pairs.py [--rows 20000 100000] [--threads 1 2] [--rounds 5]

Rows are Semantic spaces (256) of planted memories, which are nearer to each other than a person's are, and
random ones. NumPy: the upper triangle in blocks of 2048 rows, float32, `>=` and nonzero. Rounds alternate;
medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from planted import planted

from context_graph.consolidation.finders import closeness
from context_graph.kernels import pairs as kernel
from context_graph.memory.embed import default_provider, dense_part

BLOCK = 2048


def semantic(n: int) -> np.ndarray:
    """float32[n, 256], unit rows, of planted memories."""
    encode = default_provider().encode
    rows = np.stack([np.array(dense_part(bytes(encode(one.text).embedding))) for one in planted(n)])
    return np.ascontiguousarray(
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32
    )


def isotropic(n: int) -> np.ndarray:
    """float32[n, 256], unit rows, of no direction: the axes tell nothing."""
    rows = np.random.default_rng(1).standard_normal((n, 256), np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def numpy_blocks(rows: np.ndarray, threshold: float) -> int:
    """Pairs at or above the threshold."""
    count = 0
    for i in range(0, len(rows), BLOCK):
        for j in range(i, len(rows), BLOCK):
            found = np.nonzero(rows[i : i + BLOCK] @ rows[j : j + BLOCK].T >= threshold)
            count += int((found[0] < found[1]).sum()) if i == j else len(found[0])
    return count


def ours(rows: np.ndarray, threshold: float, threads: int) -> int:
    """The same, by the kernel."""
    return sum(len(close.i) for close in closeness.close_pairs(rows, threshold, threads=threads))


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--threshold", type=float, nargs="+", default=[0.95, 0.9])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--numpy-rows", type=int, default=20_000, help="NumPy's product is timed up to these rows"
    )
    options = parser.parse_args()
    for name, make in (("semantic", semantic), ("isotropic", isotropic)):
        everything = make(max(options.rows))
        for n in options.rows:
            rows = np.ascontiguousarray(everything[:n])
            for threshold in options.threshold:
                measured(name, rows, threshold, options)


def measured(name: str, rows: np.ndarray, threshold: float, options: argparse.Namespace) -> None:
    """One line of JSON."""
    n, with_numpy = len(rows), len(rows) <= options.numpy_rows
    times: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        for threads in options.threads:
            work = lambda threads=threads: closeness.groups(rows, threshold, threads=threads)  # noqa: E731
            times.setdefault(f"groups_{threads}", []).append(seconds(work))
        if with_numpy:
            times.setdefault("numpy", []).append(seconds(lambda: numpy_blocks(rows, threshold)))
    medians = {key: round(statistics.median(values), 3) for key, values in times.items()}
    flops = n * (n - 1) / 2 * 2 * rows.shape[1]
    line: dict[str, object] = {
        "rows": name,
        "n": n,
        "threshold": threshold,
        "kind": kernel.KINDS[-1],
        **medians,
    }
    if with_numpy:
        best = min(value for key, value in medians.items() if key != "numpy")
        line["times_numpy"] = round(medians["numpy"] / best, 1)
        line["same_pairs"] = numpy_blocks(rows, threshold) == ours(rows, threshold, 2)
        line["numpy_gflops"] = round(flops / medians["numpy"] / 1e9)
    line["equivalent_gflops"] = {key: round(flops / value / 1e9) for key, value in medians.items()}
    json.dump(line, sys.stdout)
    print(flush=True)


if __name__ == "__main__":
    main()
