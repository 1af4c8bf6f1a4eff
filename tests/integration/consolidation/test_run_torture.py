"""kill -9 while consolidations are committed and undone: the store is before or after, never between."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.report import Row
from tests.support.consolidation import judge, raw
from tests.support.memories import WHY, open_memex

from context_graph.memory.memex import Memex

SEED = int(os.environ.get("CONTEXT_GRAPH_TORTURE_SEED", "20261122"))
MEMORIES = 160

# Commit and undo lead to and fro between two states, byte for byte. The batch is larger than the buffer of
# RocksDB's log, so that a kill can also fall between two writes to it.
VICTIM = """
    import os, sys
    from pathlib import Path
    from tests.support.memories import open_memex
    from tests.support.consolidation import run
    from tests.integration.consolidation.test_run_torture import changes_of

    memex = open_memex(Path(sys.argv[1]))
    open_run = [one.token for one in memex.runs() if one.undone_by is None and one.mode != "undo"]
    os.write(1, b"ready\\n")
    done = 0
    while True:
        if open_run:
            memex.undo(open_run.pop())
        else:
            open_run.append(run(memex, **changes_of(memex)).undo_token)
        done += 1
        os.write(1, b"%d\\n" % done)
"""


def changes_of(memex: Memex) -> dict[str, list[object]]:
    """Merges, prunes, weights and links over a third of the store, the same each time."""
    from tests.support.consolidation import Merge, NewLink, Prune, Reweight

    ids = [one.node.id for one in memex.stored_after()]
    edges = sorted(memex.all_edges(), key=lambda edge: edge.id)
    return {
        "merges": [Merge(ids[n], (ids[n + 1], ids[n + 2]), 0.97) for n in range(0, 90, 6)],
        "prunes": [Prune(ids[n], 0.1) for n in range(100, 120)],
        "reweights": [Reweight(edge.id, edge.weight, 0.9) for edge in edges[::5]],
        "links": [NewLink(ids[n], ids[n + 10], "near", 0.3, 0.5, "test") for n in range(121, 140, 4)],
    }


def _fill(folder: Path) -> dict[tuple[str, bytes], bytes]:
    rng = random.Random(SEED)
    with open_memex(folder) as memex:
        ids = [
            memex.store(f"memory {n} " + "word " * rng.randrange(3000), rationale=WHY, tags=[f"t{n % 3}"]).id
            for n in range(MEMORIES)
        ]
        for n in range(0, MEMORIES - 3, 2):
            memex.link(ids[n], ids[n + rng.randrange(1, 4)], weight=rng.random())
        memex.touch(rng.choices(ids, k=80))
        return raw(memex)


def _after(folder: Path, before: dict[tuple[str, bytes], bytes]) -> dict[tuple[str, bytes], bytes]:
    """What a run makes of it; and that undoing leads back."""
    from tests.support.consolidation import run

    with open_memex(folder) as memex:
        done = run(memex, **changes_of(memex))
        after = raw(memex)
        memex.undo(done.undo_token)
        assert raw(memex) == before != after
    return after


def _round(folder: Path, delay_s: float) -> int:
    """Kill a process that commits and undoes; how many of them it had told."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(VICTIM), str(folder)], stdout=subprocess.PIPE, bufsize=0
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    try:
        rest, _ = child.communicate(timeout=delay_s)  # the random moment of the kill
    except subprocess.TimeoutExpired:
        child.kill()
        rest, _ = child.communicate()
    assert child.returncode == -9, child.returncode
    return rest.count(b"\n")


def _judge(memex: Memex, states: dict[str, dict[tuple[str, bytes], bytes]]) -> str:
    found = raw(memex)
    state = next((name for name, records in states.items() if records == found), "between")
    assert state != "between"
    runs = list(memex.runs(limit=100_000))
    undone = {one.undoes: one.token for one in runs if one.undoes}
    for one in runs:
        assert one.undone_by == undone.get(one.token)
    assert sum(1 for one in runs if one.mode != "undo" and one.undone_by is None) == (state == "after")
    judge(memex)
    return state


def _torture(folder: Path, rounds: int, row: Row) -> str:
    rng = random.Random(SEED)
    before = _fill(folder)
    states = {"before": before, "after": _after(folder, before)}
    found = dict.fromkeys(states, 0)
    told = 0
    for _ in range(rounds):
        told += _round(folder, rng.uniform(0.0, 0.5))
        memex = open_memex(folder)
        found[_judge(memex, states)] += 1
        if rng.random() < 0.5:
            memex.close()
        else:
            memex.core.store.close()  # the next one finds no snapshot of this state
    row.faults, row.sent, row.acknowledged = rounds, told, told
    return (
        f"seed {SEED}: {rounds} kills, {told} runs and undoings acknowledged; the store was as before "
        f"{found['before']} times, as after {found['after']}, between 0"
    )


def test_random_kills_of_runs_leave_before_or_after_short(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault_row: Row, rounds: Callable[[int], int]
) -> None:
    """Up to five rounds of the long run."""
    summary = _torture(tmp_path / "store", rounds=rounds(5), row=fault_row)
    with capsys.disabled():
        print(f"\n{summary}")


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_random_kills_of_runs_leave_before_or_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault_row: Row
) -> None:
    """Two hundred kills."""
    summary = _torture(tmp_path / "store", rounds=200, row=fault_row)
    with capsys.disabled():
        print(f"\n{summary}")
