"""What a consolidation's commit and its undoing hold the store for, and what the history weighs on the disk.

    python benches/consolidation/commit.py [--memories 100000] [--merges 5000] [--prunes 0]

One store of that many short memories, every tenth linked to the next, in a temporary folder. Each merge makes
two memories one. Prints the steps in ms of wall and CPU time: what runs beside the owner (prepare, to_bytes)
and what holds it up (from_bytes, commit, undo).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benches.report import described, grid, machine, options, peak_mib, save
from tests.support.memories import WHY, open_memex

from context_graph.consolidation.commit import Prepared, commit
from context_graph.consolidation.plan import Merge, Mode, Plan, Prune
from context_graph.consolidation.prepare import prepare
from context_graph.memory.memex import Memex

SUBJECTS = (
    "gateway",
    "retry",
    "invoice",
    "parser",
    "cache",
    "migration",
    "schema",
    "socket",
    "owner",
    "budget",
)


@contextmanager
def measured(name: str, rows: list[dict[str, Any]]) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3
    rows.append({"step": name, "wall_ms": wall, "cpu_ms": cpu})


def filled(memex: Memex, count: int) -> list[str]:
    ids: list[str] = []
    for at in range(0, count, 500):
        items = [
            {
                "content": f"{SUBJECTS[n % 10]} {n} needs the {SUBJECTS[n // 10 % 10]} of the release " * 4,
                "rationale": WHY,
                "session_id": f"s{n // 50}",
            }
            for n in range(at, min(at + 500, count))
        ]
        ids += [node.id for node in memex.store_many(items)]
    for n in range(0, count - 1, 10):
        memex.link(ids[n], ids[n + 1])
    return ids


def main() -> None:
    given = options(__doc__)
    given.add_argument("--memories", type=int, default=100_000)
    given.add_argument("--merges", type=int, default=5_000)
    given.add_argument("--prunes", type=int, default=0)
    wanted = given.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, open_memex(Path(folder) / "store") as memex:
        ids = filled(memex, wanted.memories)
        memex.flush()
        step = wanted.memories // (wanted.merges + 1)
        merges = tuple(Merge(ids[n * step], (ids[n * step + 1],), 0.97) for n in range(wanted.merges))
        prunes = tuple(Prune(one, 0.1) for one in ids[2::3][: wanted.prunes])
        plan = Plan(
            mode=Mode.DEEP,
            seq=memex.seq,
            taken_ms=time.time_ns() // 1_000_000,
            memories=memex.count(),
            considered=memex.count(),
            merges=merges,
            prunes=prunes,
        )
        with measured("prepare", rows):
            prepared = prepare(memex.core.store, plan)
        with measured("to_bytes", rows):
            packed = prepared.to_bytes()
        with measured("from_bytes", rows):
            prepared = Prepared.from_bytes(packed)
        with measured(f"commit of {len(merges)} merges, {len(prunes)} prunes", rows):
            done = commit(memex, prepared)
        with measured("undo", rows):
            memex.undo(done.undo_token)
    print(described(machine()))
    print(grid(("step", "wall ms", "CPU ms"), (row.values() for row in rows)))
    print(f"prepared: {len(packed) / 1e6:.1f} MB; peak RSS: {peak_mib():.0f} MiB")
    save(wanted.json, {"steps": rows, "prepared_bytes": len(packed), "peak_mib": peak_mib()})


if __name__ == "__main__":
    main()
