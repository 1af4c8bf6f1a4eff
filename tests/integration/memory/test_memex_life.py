"""Memex as a library: edges, whole memories from elsewhere, cache, metrics, opening and closing."""

from __future__ import annotations

import gc
import logging
import threading
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.support.memories import WHY, again, figures, fill, open_memex
from tests.support.store import run

from context_graph import Memex
from context_graph.errors import (
    GraphQueryError,
    InvalidParamsError,
    StoreBusyError,
    StoreClosedError,
    StoreLockedError,
)
from context_graph.memory.filters import RecallFilters
from context_graph.model.edge import Direction, Domain, NeurotransmitterWeights
from context_graph.model.memory import JohariQuadrant, MemoryNode, Tombstone

# Edges


def test_links_are_seen_from_both_ends_and_change_when_repeated(memex: Memex, tmp_path: Path) -> None:
    """REQ-CORE-027."""
    one, two, three = fill(memex, 3)
    edge = memex.link(one.id, two.id, "causes", weight=0.7, confidence=0.6, domain="code", metadata={"a": 1})
    assert edge.domain is Domain.CODE
    assert edge.neurotransmitter_weights == NeurotransmitterWeights.for_domain(Domain.CODE)
    other = memex.link(three.id, one.id)
    assert [e.id for e in memex.edges(one.id)] == [edge.id, other.id]
    assert [e.id for e in memex.edges(one.id, Direction.OUT)] == [edge.id]
    assert [e.id for e in memex.edges(one.id, Direction.IN)] == [other.id]
    stronger = memex.link(one.id, two.id, "causes", weight=0.9)
    assert (stronger.id, stronger.weight, stronger.created_at_ms) == (edge.id, 0.9, edge.created_at_ms)
    contrary = memex.link(one.id, two.id, "contradicts")
    assert contrary.id != edge.id
    memex = again(memex, tmp_path)
    assert {e.id for e in memex.edges(two.id)} == {edge.id, contrary.id}
    assert memex.unlink(edge.id).id == edge.id
    assert [e.id for e in memex.edges(two.id)] == [contrary.id]
    assert memex.metrics()["edges"] == 2
    memex.close()


def test_traversals_steer_edges(memex: Memex, tmp_path: Path) -> None:
    """REQ-CORE-027, TC-CORE-034: durable."""
    one, two = fill(memex, 2)
    edge = memex.link(one.id, two.id)
    (walked,) = memex.traverse([edge.id], 0.5)
    assert (walked.traversal_count, walked.steering_reward) == (1, pytest.approx(0.45))
    memex = again(memex, tmp_path)
    assert list(memex.edges(one.id)) == [walked]
    with pytest.raises(GraphQueryError, match="no edge"):
        memex.traverse([uuid4()], 0.5)
    with pytest.raises(InvalidParamsError, match="reward"):
        memex.traverse([edge.id], 1.5)
    memex.close()


def test_an_edge_needs_two_memories_that_are_there(memex: Memex) -> None:
    """REQ-CORE-026: -32001."""
    (one,) = fill(memex, 1)
    with pytest.raises(GraphQueryError, match="no memory"):
        memex.link(one.id, uuid4())
    with pytest.raises(InvalidParamsError, match="target"):
        memex.link(one.id, one.id)
    with pytest.raises(InvalidParamsError, match="domain"):
        memex.link(one.id, fill(memex, 1)[0].id, domain="astrology")


def test_an_edge_s_id_given_twice_makes_it_once(memex: Memex) -> None:
    one, two = fill(memex, 2)
    wanted = uuid4()
    first = memex.link(one.id, two.id, edge_id=wanted)
    assert memex.link(one.id, two.id, weight=0.9, edge_id=wanted) == first


# Whole memories, from elsewhere


def test_whole_memories_are_put_and_replaced_without_loss(memex: Memex, tmp_path: Path) -> None:
    given = MemoryNode(
        id=UUID(int=77),
        content="imported text about llamas",
        rationale=WHY,
        created_at_ms=5,
        last_accessed_ms=9,
        importance=0.9,
        access_count=12,
        johari_quadrant=JohariQuadrant.HIDDEN,
        semantic_cluster=UUID(int=3),
        source="import",
        tags=("llama",),
    )
    (made,) = memex.put_many([given])
    assert replace(made, commit_seq=0) == given
    changed = memex.put(replace(given, content="imported text about alpacas", tags=("alpaca",)))
    assert memex.get(given.id) == changed
    assert memex.count() == 1
    assert memex.list(filters=RecallFilters(tags=("llama",))).nodes == []
    assert memex.recall("alpacas").nodes[0].node.id == given.id
    assert [stored.node.id for stored in memex.stored_after()] == [given.id]
    gone = replace(given, id=UUID(int=78))
    stone = Tombstone(gone.id, time.time_ns() // 1_000_000, "was gone there too", soft=True)
    memex.put_many([gone], deleted={gone.id: stone})
    assert memex.get(gone.id) is None
    memex = again(memex, tmp_path)
    assert memex.tombstone(gone.id) == stone
    assert memex.restore(gone.id).access_count == 12
    assert memex.metrics()["content_bytes"] == len("imported text about alpacas") + len(given.content)
    memex.close()


def test_fields_of_a_memory_are_updated_in_place(memex: Memex, tmp_path: Path) -> None:
    (made,) = fill(memex, 1, tags=["old"])
    memex.update([replace(made, importance=0.95, tags=("new",), pinned=True)])
    memex = again(memex, tmp_path)
    got = memex.get(made.id)
    assert got is not None
    assert (got.importance, got.tags, got.pinned, got.commit_seq) == (0.95, ("new",), True, made.commit_seq)
    assert memex.list(filters=RecallFilters(tags=("old",))).nodes == []
    assert memex.embedding(made.id) == made.embedding
    with pytest.raises(GraphQueryError):
        memex.update([replace(made, id=uuid4())])
    memex.close()


def test_uses_are_counted_and_kept(memex: Memex, tmp_path: Path) -> None:
    """REQ-CORE-001: access_count and last_accessed."""
    (made,) = fill(memex, 1)
    memex.touch([made.id, uuid4()])
    memex.touch([str(made.id)])
    memex = again(memex, tmp_path)
    got = memex.get(made.id)
    assert got is not None
    assert got.access_count == 2
    assert got.last_accessed_ms >= made.last_accessed_ms
    memex.close()


# Cache and metrics


@pytest.mark.thorough
def test_the_cache_keeps_what_was_used_last(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """REQ-CORE-010, EC-CORE-010, TC-CORE-029: 10,000 read through a cache of 1,000, eviction in order of use.

    No leak: from the second thousand on Python's memory stays where it is; the debug log counts evictions.
    TC-CORE-011: a hit reads nothing."""
    memex = open_memex(tmp_path / "store", cache_nodes=1000)
    made = fill(memex, 10_000)
    held = []
    logging.getLogger("context_graph.memory.core").setLevel(logging.WARNING)  # pytest keeps what is said
    tracemalloc.start()
    for number, node in enumerate(made, 1):
        memex.get(node.id)
        if number % 1000 == 0:
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[-1] - held[1] < 0.1 * held[0], held
    figures = memex.metrics()
    assert (figures["cache_nodes"], figures["cache_evictions"]) == (1000, 9000)
    before = memex.metrics()
    for node in made[-1000:]:
        assert memex.get(node.id) == replace(node, embedding=None)
    figures = memex.metrics()
    assert figures["cache_hits"] - before["cache_hits"] == 1000
    assert figures["cache_misses"] == before["cache_misses"]
    with caplog.at_level(logging.DEBUG, logger="context_graph.memory.core"):
        memex.get(made[0].id)
    assert caplog.messages == ["memory cache: 9001 evictions"]
    before = memex.metrics()
    memex.get(made[-999].id)
    memex.get(made[-1000].id)
    figures = memex.metrics()
    assert (
        figures["cache_hits"] - before["cache_hits"],
        figures["cache_misses"] - before["cache_misses"],
    ) == (1, 1)
    memex.close()


def test_the_cache_is_bounded_in_bytes_too(tmp_path: Path) -> None:
    """REQ-CORE-010: ten thousand memories of 64 KB must not fill the owner's memory."""
    memex = open_memex(tmp_path / "store", cache_bytes=1 << 20)
    made = [memex.store("long text " * 6000, rationale=WHY) for _ in range(30)]
    for node in made:
        memex.get(node.id)
    figures = memex.metrics()
    assert figures["cache_bytes"] <= 1 << 20
    assert figures["cache_evictions"] > 0
    assert memex.get(made[-1].id) is not None
    memex.close()


def test_a_changed_memory_is_never_served_from_the_cache_as_it_was(memex: Memex) -> None:
    """REQ-CORE-010: updates invalidate."""
    (made,) = fill(memex, 1)
    for importance in (0.1, 0.9):
        assert memex.get(made.id) is not None
        memex.update([replace(made, importance=importance)])
        got = memex.get(made.id)
        assert got is not None and got.importance == importance


def test_bloom_filters_spare_reads_of_absent_keys_at_their_rate(tmp_path: Path) -> None:
    """REQ-CORE-009, TC-CORE-010, AC-CORE-10-01 to 03: measured by RocksDB's own tickers."""
    for bits, low, high in ((10, 0.0, 0.02), (2, 0.1, 0.6)):
        memex = open_memex(tmp_path / f"bits-{bits}", bloom_bits=bits)
        made = fill(memex, 4000)
        memex.flush()
        before = memex.metrics()
        for _ in range(3000):
            assert memex.get(uuid4()) is None
        figures = memex.metrics()
        useful = figures["bloom_useful"] - before["bloom_useful"]
        let_through = figures["bloom_full_positive"] - before["bloom_full_positive"]
        assert useful + let_through >= 3000
        assert low <= let_through / (useful + let_through) < high
        assert all(memex.get(node.id) is not None for node in made[:200])  # no false negatives
        memex.close()


def test_metrics_are_prometheus_text_too(memex: Memex) -> None:
    """REQ-CORE-009, REQ-CORE-010, REQ-CORE-011: figures of store, cache, filters and operations."""
    fill(memex, 3)
    with pytest.raises(GraphQueryError):
        memex.forget(uuid4())
    text = memex.prometheus()
    assert 'context_graph_memory_nodes{store="store"} 3\n' in text
    assert "# TYPE context_graph_memory_cache_evictions_total counter\n" in text
    assert 'context_graph_memory_operation_failures_total{operation="forget"} 1\n' in text
    buckets = [
        line for line in text.splitlines() if line.startswith("context_graph_memory_operation_seconds_bucket")
    ]
    stores = [int(line.rpartition(" ")[2]) for line in buckets if 'operation="store"' in line]
    assert stores == sorted(stores) and stores[-1] == memex.metrics()["operations"]["store"]["count"] == 1


# Life


def test_two_stores_never_see_each_other_s_memories(tmp_path: Path) -> None:
    one, two = open_memex(tmp_path / "one"), open_memex(tmp_path / "two")
    made = one.store("the secret plan of project one", rationale=WHY, session_id="shared")
    assert two.get(made.id) is None
    assert two.recall("secret plan of project one").nodes == []
    assert two.list(filters=RecallFilters(session_id="shared")).nodes == []
    with pytest.raises(GraphQueryError):
        two.link(made.id, two.store("plan of project two", rationale=WHY).id)
    one.close()
    two.close()


def test_a_store_that_another_process_has_open_is_refused_with_its_holder(
    memex: Memex, tmp_path: Path
) -> None:
    """D1.2, ERR-CORE-009."""
    code = """
        import sys
        from context_graph import Memex
        from context_graph.errors import StoreLockedError
        try:
            Memex.open(sys.argv[1])
        except StoreLockedError as error:
            print(error)
    """
    assert "is held by process" in run(code, tmp_path / "store").stdout
    with pytest.raises(StoreLockedError, match="this process"):
        open_memex(tmp_path / "store")


def test_a_closed_memex_says_so(memex: Memex) -> None:
    memex.close()
    memex.close()
    with pytest.raises(StoreClosedError):
        memex.get(uuid4())
    with pytest.raises(StoreClosedError):
        memex.store("text", rationale=WHY)


def test_waiting_for_another_thread_ends_in_an_error(tmp_path: Path) -> None:
    """ERR-CORE-009: and the store goes on."""
    memex = open_memex(tmp_path / "store", lock_timeout_s=0.05)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with memex._core.operation("hold"):
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        with pytest.raises(StoreBusyError, match=r"waited 0\.05 s"):
            memex.store("text", rationale=WHY)
    finally:
        done.set()
        holder.join()
    memex.store("text", rationale=WHY)
    assert memex.count() == 1
    memex.close()


@pytest.mark.real
def test_importing_the_package_loads_no_database() -> None:
    code = """
        import sys, context_graph
        ours = ("rocksdict", "context_graph.memory", "numpy")
        heavy = [name for name in sys.modules if name.startswith(ours)]
        assert not heavy, heavy
        from context_graph import Memex
        print(Memex.__name__, "numpy" in sys.modules)
    """
    done = run(code)
    assert done.stdout == "Memex False\n", done.stderr


def test_derived_state_after_a_kill_equals_that_made_from_the_records(tmp_path: Path) -> None:
    """Invariant 7: a snapshot and the change log behind it give what a new reading of all records gives."""
    code = """
        import os, sys
        from pathlib import Path
        from tests.support.memories import fill, open_memex
        memex = open_memex(Path(sys.argv[1]))
        made = fill(memex, 60)
        memex.link(made[0].id, made[1].id)
        memex.save()
        more = fill(memex, 20, start=60)
        memex.link(more[0].id, made[1].id, "causes")
        memex.link(made[0].id, made[1].id, weight=0.9)
        memex.forget(made[3].id)
        memex.forget(more[4].id)
        memex.restore(made[3].id)
        if sys.argv[2] == "removed":
            memex.forget(made[9].id, soft=False, reason="user_requested")
            memex.unlink(memex.edges(more[0].id)[0].id)
        os.kill(os.getpid(), 9)
    """
    for case in ("kept", "removed"):
        folder = tmp_path / case
        assert run(code, folder, case).returncode == -9
        kept, found = [], []
        for _ in range(2):
            memex = open_memex(folder)
            kept.append(figures(memex))
            found.append([(one.node.id, one.score) for one in memex.recall("memory number 64").nodes])
            memex._core.store.close()
            for name in ("memory.index", "memory.figures"):
                (folder / name).unlink(missing_ok=True)
        assert kept[0] == kept[1]
        assert found[0] == found[1]
        assert kept[0][0] == (79 if case == "kept" else 78)
