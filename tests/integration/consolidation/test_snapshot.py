"""A snapshot that is read from a database equals one made of its memories; what can't be read is left out."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benches.consolidation.snapshots import of_memories
from tests.support.memories import WHY, fill, open_memex

from context_graph.consolidation import messages, snapshot
from context_graph.consolidation.messages import DATABASE
from context_graph.consolidation.progress import Cancelled
from context_graph.consolidation.snapshot import Snapshot
from context_graph.errors import StoreError
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode
from context_graph.model.spaces import SPACES
from context_graph.store.engine.engine import Engine
from context_graph.store.graph.graph import GraphStore
from context_graph.store.layout import EDGES, EMBEDDINGS, NODES, edge_key, embedding_key, wrap
from context_graph.store.schema import open_database


@pytest.fixture
def memex(tmp_path: Path) -> Iterator[Memex]:
    """A store with what a snapshot tells apart: sessions, projects, uses, edges, a deleted memory."""
    with open_memex(tmp_path / "store") as made:
        nodes = fill(made, 40, session_id="one", project="p")
        nodes += fill(made, 40, start=40, session_id="two", source="tool", importance=0.9, pinned=True)
        nodes.append(made.store("a long text, ü and all: " * 40, rationale=WHY))
        nodes += fill(made, 19, start=80)
        picture = made.store("aGVsbG8=", rationale=WHY, modality="image", metadata={"caption": "a harbour"})
        ids = [node.id for node in nodes]
        made.touch(ids[:7])
        made.touch(ids[:3])
        for at in range(0, 16, 2):
            made.link(ids[at], ids[at + 1], "causes" if at % 4 else "related_to", weight=at / 20)
        made.link(ids[0], ids[-1])
        made.traverse([made.link(ids[0], picture.id).id], 0.5)
        made.forget(ids[-1])
        yield made


def checkpointed(memex: Memex, folder: Path) -> GraphStore:
    with memex.core.operation("checkpoint") as core:
        messages.take_checkpoint(core.store, folder)
    return GraphStore.read_only(folder / DATABASE)


def whole(memex: Memex) -> Snapshot:
    """The same by reading each memory and each edge."""
    nodes: list[MemoryNode] = [
        replace(found.node, embedding=memex.embedding(found.node.id))
        for found in memex.stored_after()
        if not found.deleted
    ]
    known = {node.id for node in nodes}
    edges = [edge for edge in memex.all_edges() if {edge.source_id, edge.target_id} <= known]
    return of_memories(nodes, edges, seq=memex.seq, taken_ms=5)


def assert_alike(found: Snapshot, expected: Snapshot) -> None:
    for name in ("seq", "taken_ms", "total", "ids", "source", "modality"):
        assert getattr(found, name) == getattr(expected, name), name
    for name in (
        *("created_ms", "accessed_ms", "accesses", "importance", "pinned", "session", "project"),
        "degree",
    ):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype, name
        np.testing.assert_array_equal(one, other, err_msg=name)
    assert found.links.ids == expected.links.ids
    assert found.links.kind == expected.links.kind
    for name in ("source", "target", "weight", "confidence"):
        one, other = getattr(found.links, name), getattr(expected.links, name)
        assert one.dtype == other.dtype, name
        np.testing.assert_array_equal(one, other, err_msg=name)
    for name in SPACES:
        np.testing.assert_array_equal(found.space(name), expected.space(name), err_msg=name)


def test_a_snapshot_read_is_that_of_its_memories(memex: Memex, tmp_path: Path) -> None:
    expected = whole(memex)
    store = checkpointed(memex, tmp_path / "run")
    fill(memex, 5, start=500)  # not in the checkpoint
    found = snapshot.read(store, taken_ms=5)
    assert_alike(found, expected)
    assert len(found) == 100
    assert (found.left_out, found.unreadable) == (0, set())
    assert [found.text(row) for row in range(100)] == [expected.text(row) for row in range(100)]
    assert found.node(3) == expected.node(3)
    assert found.degree[found.row_of(expected.ids[0])] == 2  # the edge to the deleted memory is none
    store.close()


def test_the_newest_only(memex: Memex, tmp_path: Path) -> None:
    everything = whole(memex)
    store = checkpointed(memex, tmp_path / "run")
    found = snapshot.read(store, newest=90)
    assert found.ids == everything.ids[-90:]
    assert (len(found), found.total) == (90, 100)
    np.testing.assert_array_equal(found.space("Semantic"), everything.space("Semantic")[-90:])
    # An edge to an older memory counts, though it is no link among these.
    np.testing.assert_array_equal(found.degree, everything.degree[-90:])
    assert len(found.links.ids) < len(everything.links.ids)
    assert all(0 <= end < 90 for end in (*found.links.source, *found.links.target))
    assert snapshot.read(store, newest=5000).ids == everything.ids
    store.close()


@pytest.fixture(params=["kept", "read again"])
def passes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings of a small store stay in memory; of a large one each pass reads them."""
    if request.param == "read again":
        monkeypatch.setattr(snapshot, "KEPT_ROWS", 0)


@pytest.mark.usefixtures("passes")
def test_blocks_of_any_size_are_the_same_rows(memex: Memex, tmp_path: Path) -> None:
    store = checkpointed(memex, tmp_path / "run")
    found = snapshot.read(store)
    whole_pass = np.concatenate([block for _, block in found.blocks()])
    for size in (1, 7, 100, 4096):
        parts = list(found.blocks(size))
        assert [start for start, _ in parts] == list(range(0, 100, size))
        np.testing.assert_array_equal(np.concatenate([block for _, block in parts]), whole_pass)
    store.close()


def test_spaces_that_are_wanted_come_with_the_next_whole_pass(memex: Memex, tmp_path: Path) -> None:
    expected = whole(memex)
    store = checkpointed(memex, tmp_path / "run")
    found = snapshot.read(store)
    found.want("Causal", "Terms")
    next(iter(found.blocks(10)))  # begun, and left
    assert not found._spaces
    found.want("Causal", "Terms")
    for _ in found.blocks(10):
        pass
    assert set(found._spaces) == {"Causal", "Terms"}
    for name in ("Causal", "Terms"):
        np.testing.assert_array_equal(found.space(name), expected.space(name))
    store.close()


def test_no_memories_at_all(tmp_path: Path) -> None:
    with open_memex(tmp_path / "store") as memex:
        store = checkpointed(memex, tmp_path / "run")
        found = snapshot.read(store)
        assert (len(found), found.total, found.ids) == (0, 0, [])
        assert found.space("Semantic").shape == (0, 256)
        assert list(found.blocks()) == []
        store.close()


@pytest.mark.usefixtures("passes")
def test_damaged_records_are_left_out_and_counted(memex: Memex, tmp_path: Path) -> None:
    expected = whole(memex)
    node, edge = expected.ids[10], expected.links.ids[-1]
    blurred, lost = expected.ids[20], expected.ids[30]
    memex.close()
    _break(tmp_path / "store" / "db", NODES, node.bytes)
    _break(tmp_path / "store" / "db", EDGES, edge_key(edge.bytes))
    seqs = {one: expected.node(expected.row_of(one) or 0).commit_seq for one in (blurred, lost)}
    _break(tmp_path / "store" / "db", EMBEDDINGS, embedding_key(seqs[blurred]))
    with opened(tmp_path / "store" / "db") as engine:
        engine.delete(EMBEDDINGS, embedding_key(seqs[lost]))
    with open_memex(tmp_path / "store") as damaged:
        store = checkpointed(damaged, tmp_path / "run")
    found = snapshot.read(store)
    assert found.left_out == 2
    assert node not in found.ids
    assert edge not in found.links.ids
    assert len(found) == 99
    rows = {found.row_of(blurred), found.row_of(lost)}
    assert not found.space("Semantic")[sorted(row for row in rows if row is not None)].any()
    assert found.unreadable == rows
    again = np.concatenate([block for _, block in found.blocks()])
    assert set(np.flatnonzero(~again.any(axis=1)).tolist()) == rows
    assert found.unreadable == rows
    store.close()


def test_a_record_of_the_first_version_is_read(memex: Memex, tmp_path: Path) -> None:
    node = whole(memex).node(4)
    memex.close()
    content = node.content.encode()
    fixed = struct.pack(
        "<QqqI5f2B2HI",
        *(node.commit_seq, node.created_at_ms, node.last_accessed_ms, 0, 0.25, 0.5, 0.5, 1.0, 0.0, 0, 3),
        *(0xFFFF, len(WHY), len(content)),
    )
    with opened(tmp_path / "store" / "db") as engine:
        engine.put(NODES, node.id.bytes, wrap(node.id.bytes, 1, fixed + WHY.encode() + content))
    with open_memex(tmp_path / "store") as memex:
        expected = whole(memex)
        store = checkpointed(memex, tmp_path / "run")
    found = snapshot.read(store, taken_ms=5)
    assert found.importance[4] == 0.25
    assert found.session[4] == 0
    assert found.text(4) == node.content
    assert_alike(found, expected)
    store.close()


def test_progress_can_end_it(memex: Memex, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise Cancelled("ended")

    store = checkpointed(memex, tmp_path / "run")
    with pytest.raises(Cancelled):
        snapshot.read(store, progress=stop)
    store.close()


def test_a_run_folder_is_made_once_and_goes_with_its_parent(memex: Memex, tmp_path: Path) -> None:
    folder = messages.run_folder(tmp_path / "store", "first")
    other = messages.run_folder(tmp_path / "store", "second")
    checkpointed(memex, folder).close()
    assert folder.stat().st_mode & 0o777 == 0o700
    with memex.core.operation("checkpoint") as core, pytest.raises(StoreError):
        messages.take_checkpoint(core.store, folder)
    with memex.core.operation("checkpoint") as core:
        messages.take_checkpoint(core.store, other)
    assert messages.leftovers(tmp_path / "store") == [folder, other]
    messages.discard(folder)
    assert folder.parent.exists()
    messages.discard(other)
    assert not folder.parent.exists()
    assert messages.leftovers(tmp_path / "store") == []


@contextmanager
def opened(path: Path) -> Iterator[Engine]:
    engine = open_database(path)
    yield engine
    engine.close()


def _break(path: Path, family: str, key: bytes) -> None:
    with opened(path) as engine:
        record = bytearray(engine.get(family, key) or b"")
        record[len(record) // 2] ^= 0x40
        engine.put(family, key, bytes(record))
