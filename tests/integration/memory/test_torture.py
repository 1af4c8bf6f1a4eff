"""kill -9 while fifty threads write memories: what was acknowledged is there, and nothing by halves."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from tests.faults.report import Row
from tests.support.memories import by_pages, open_memex

from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode
from context_graph.model.spaces import EMBEDDING_BYTES
from context_graph.store.graph.records import Op

SEED = int(os.environ.get("CONTEXT_GRAPH_TORTURE_SEED", "20261122"))
WRITERS = 50

# Each thread reports a write only after it was acknowledged, one short write() a line: all that the pipe has
# taken when the process dies must be there afterwards.
VICTIM = """
    import os, random, sys, threading
    from pathlib import Path
    from tests.support.memories import WHY, fill, open_memex

    folder, writers, number = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    memex = open_memex(folder)

    def told(*words):
        os.write(1, (" ".join(map(str, words)) + "\\n").encode())

    def work(worker):
        rng = random.Random(f"{number}-{worker}")
        own = []
        step = 0
        while True:
            step += 1
            text = f"round {number} worker {worker} step {step} " + "word " * rng.randrange(40)
            kind = rng.random()
            if own and kind < 0.08:
                node = own.pop(rng.randrange(len(own)))
                memex.forget(node.id, reason="torture")
                told("F", node.id)
            elif own and kind < 0.12:
                edge = memex.link(own[-1].id, rng.choice(own[:-1] or [seed]).id)
                told("L", edge.id)
            elif kind < 0.2:
                parts = [{"content": f"{text} part {n}", "rationale": WHY} for n in range(3)]
                for node in memex.store_many(parts):
                    own.append(node)
                    told("S", node.id, node.commit_seq)
            else:
                links = [own[-1].id] if own and rng.random() < 0.3 else []
                node = memex.store(text, rationale=WHY, agent_id=f"a{worker}", link_to=links, tags=["t"])
                own.append(node)
                told("S", node.id, node.commit_seq)

    (seed,) = fill(memex, 1)
    told("S", seed.id, seed.commit_seq)
    told("ready")
    for worker in range(writers):
        threading.Thread(target=work, args=(worker,), daemon=True).start()
    threading.Event().wait()
"""


@dataclass
class Told:
    """What all rounds acknowledged."""

    stored: dict[UUID, int]
    forgotten: set[UUID]
    linked: set[UUID]


def _round(folder: Path, number: int, told: Told, delay_s: float) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(VICTIM), str(folder), str(WRITERS), str(number)],
        stdout=subprocess.PIPE,
        bufsize=0,  # a buffer would keep what communicate() reads past, and cut its first line
    )
    assert child.stdout is not None
    lines: list[bytes] = []
    for line in child.stdout:
        lines.append(line)
        if line == b"ready\n":
            break
    try:
        rest, _ = child.communicate(timeout=delay_s)  # the random moment of the kill
    except subprocess.TimeoutExpired:
        child.kill()
        rest, _ = child.communicate()
    assert child.returncode == -9, child.returncode
    lines += rest.splitlines(keepends=True)
    for line in lines:
        words = line.decode().split()
        if not line.endswith(b"\n") or words == ["ready"]:
            continue
        if words[0] == "S":
            told.stored[UUID(words[1])] = int(words[2])
        elif words[0] == "F":
            told.forgotten.add(UUID(words[1]))
        else:
            told.linked.add(UUID(words[1]))


def _judge(memex: Memex, told: Told) -> None:
    """Acknowledged writes are there, in their order; every batch whole; derived state equals the records."""
    there = {stored.node.id: stored for stored in memex.stored_after()}
    for node_id, seq in told.stored.items():
        assert node_id in there, f"acknowledged and lost: {node_id}"
        assert there[node_id].node.commit_seq == seq
    for node_id in told.forgotten:
        assert there[node_id].deleted, f"acknowledged and not forgotten: {node_id}"
    edges = {edge.id for edge in memex.all_edges()}
    assert told.linked <= edges
    store = memex._core.store
    changes = list(store.changes_after(0))
    assert [change.seq for change in changes] == list(range(1, store.counters.seq + 1))
    assert {UUID(bytes=one.subject) for one in changes if one.op == Op.ADD} == set(there)
    counters = store.counters
    assert store.recount() == counters
    batches = Counter(
        stored.node.content.rpartition(" part ")[0]
        for stored in there.values()
        if " part " in stored.node.content
    )
    assert set(batches.values()) <= {3}, "a batch is there in part"
    live: list[MemoryNode] = []
    for stored in there.values():
        node = stored.node
        assert len(memex.embedding_at(node.commit_seq) or b"") == EMBEDDING_BYTES
        assert (memex.tombstone(node.id) is not None) == stored.deleted
        if not stored.deleted:
            live.append(node)
    _judge_derived(memex, live)


def _judge_derived(memex: Memex, live: list[MemoryNode]) -> None:
    assert sorted(node.id for node in by_pages(memex, 1000)) == sorted(node.id for node in live)
    assert len(memex._core.derived.index) == len(live)
    tagged = memex.list(limit=1000, filters=RecallFilters(tags=("t",))).nodes
    assert all("t" in node.tags for node in tagged)
    for node in live[-3:]:
        found = memex.recall(node.content[:200], top_k=5).nodes
        assert found and found[0].score > 0


def _torture(folder: Path, rounds: int, judge_every: int, row: Row) -> str:
    rng, told = random.Random(SEED), Told({}, set(), set())
    for number in range(rounds):
        _round(folder, number, told, rng.uniform(0.0, 0.35))
        if (number + 1) % judge_every == 0 or number + 1 == rounds:
            memex = open_memex(folder)
            _judge(memex, told)
            count = memex.count()
            if rng.random() < 0.5:
                memex.close()  # else the next one finds no snapshot of this state
            else:
                memex._core.store.close()
    count_told = len(told.stored) + len(told.forgotten) + len(told.linked)
    row.faults += rounds
    row.sent += count_told
    row.acknowledged += count_told
    return (
        f"seed {SEED}: {rounds} kills of {WRITERS} writers; acknowledged {len(told.stored)} stores, "
        f"{len(told.forgotten)} forgets, {len(told.linked)} links; {count} memories live; lost 0, half 0"
    )


def test_random_kills_of_fifty_writers_lose_nothing_short_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault_row: Row, rounds: Callable[[int], int]
) -> None:
    """AC-CORE-06-01 to 03, TC-CORE-009, EC-CORE-013: up to six rounds of the long run."""
    summary = _torture(tmp_path / "store", rounds=rounds(6), judge_every=2, row=fault_row)
    with capsys.disabled():
        print(f"\n{summary}")


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_random_kills_of_fifty_writers_lose_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault_row: Row
) -> None:
    """AC-CORE-06-01 to 03, TC-CORE-009: 1,000 rounds, over ten stores."""
    for part in range(10):
        summary = _torture(tmp_path / f"store-{part}", rounds=100, judge_every=5, row=fault_row)
        with capsys.disabled():
            print(f"\n{summary}")
