"""The index is derived: kept up, loaded, brought up or made anew, it is the same index."""

from __future__ import annotations

import logging
import random
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.oracles import dense as _reference_dense
from tests.oracles import lexical as _reference_lexical
from tests.support.memories import WHY, open_memex

from context_graph.kernels import ranking
from context_graph.memory.embed import default_provider
from context_graph.memory.filters import RecallFilters
from context_graph.memory.index.derived import INDEX_FILE
from context_graph.memory.index.file import MAGIC, load_index, open_index, rebuilt_index, save_index
from context_graph.memory.index.index import MemoryIndex
from context_graph.memory.memex import Memex
from context_graph.memory.recall import Recaller
from context_graph.store.graph.graph import GraphStore

WORDS = ("cache", "deploy", "parser", "zebra", "guinea", "pig", "redis", "clock", "paint?", "login", "head")
QUERIES = ("where is the cache?", "zebra", "who paints the guinea pig", "redis session login head")


@contextmanager
def opened(folder: Path) -> Iterator[GraphStore]:
    """The store without a Memex over it."""
    store = GraphStore.open(folder / "db")
    try:
        yield store
    finally:
        store.close()


def text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, 12)))


def lived(memex: Memex, seed: int, steps: int = 120) -> None:
    """A life of a store, all kinds of change in it."""
    chance = random.Random(seed)
    live: list[UUID] = []
    buried: list[UUID] = []
    for _ in range(steps):
        roll = chance.random()
        if roll < 0.55 or len(live) < 5:
            node = memex.store(
                text(chance),
                rationale=WHY,
                importance=chance.random(),
                session_id=chance.choice([None, "a", "b"]),
                agent_id=chance.choice([None, "ada"]),
                tags=chance.sample(["x", "y", "z"], chance.randint(0, 2)),
            )
            live.append(node.id)
        elif roll < 0.7:
            live.remove(gone := chance.choice(live))
            buried.append(gone)
            memex.forget(gone)
        elif roll < 0.78 and buried:
            buried.remove(back := chance.choice(buried))
            live.append(back)
            memex.restore(back)
        elif roll < 0.85:
            live.remove(gone := chance.choice(live))
            memex.forget(gone, soft=False, reason="user_requested")
        elif roll < 0.93:
            node = memex.get(chance.choice(live))
            memex.update([replace(node, importance=chance.random(), tags=("y",), session_id="b")])
        else:
            node = memex.get(chance.choice(live))
            memex.put(replace(node, content=text(chance), embedding=None))


def canonical(index: MemoryIndex) -> dict:
    """Everything that an index holds, without what depends on its history."""
    index.sweep()
    rows = index.rows
    held: dict = {name: list(column) for name, column in rows.columns().items()}
    for name, names in rows.names.items():
        texts = ["", *names]
        held[name] = [texts[ordinal] for ordinal in held[name]]
    postings = _reference_lexical.Postings()
    postings.load_bytes(index.postings.to_bytes())
    lists = {term: list(found) for term, found in postings._lists.items()}
    return held | {
        "postings": lists,
        "lengths": list(postings._lengths),
        "vectors": index.vectors.to_bytes(),
        "extra": None if index.extra is None else index.extra.to_bytes(),
        "tags": {tag: list(found) for tag, found in rows.tags.items() if found},
        "before": list(rows.before),
        "piece_counts": list(index.piece_counts),
        "pieces": index.pieces,
        "piece_data": bytes(index.piece_base) + bytes(index.piece_data),
        "piece_ends": list(index.piece_ends),
        "commit_seq": index.commit_seq,
    }


def filled_rows(index: MemoryIndex) -> list[int]:
    """Rows that have a second vector."""
    extra = _reference_dense.Vectors(index.extra.dim)
    extra.load_bytes(index.extra.to_bytes())
    return [row for row, scale in enumerate(extra._scales) if scale]


def answers(memex: Memex) -> list:
    return [
        [(one.node.id, one.score, one.parts) for one in memex.recall(query, top_k=100, filters=filters).nodes]
        for query in QUERIES
        for filters in (RecallFilters(), RecallFilters(min_importance=0.5, tags=("y",)))
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_rebuilt_index_equals_the_one_that_was_kept_up(tmp_path: Path, seed: int) -> None:
    """Item for item, after stores, soft and permanent deletes, restores, updates and replacements."""
    with open_memex(tmp_path) as memex:
        lived(memex, seed)
        before = answers(memex)
        index = memex._core.derived.index
        rebuilt = rebuilt_index(memex._core.store, default_provider())
        assert canonical(rebuilt) == canonical(index)
        assert answers(memex) == before
    (tmp_path / INDEX_FILE).unlink()
    with open_memex(tmp_path) as memex:
        assert answers(memex) == before


@pytest.mark.parametrize("seed", range(4))
def test_a_snapshot_and_the_log_after_it_give_the_same_index(tmp_path: Path, seed: int) -> None:
    """What happens after the snapshot and is never saved (kill -9) is brought up from the change log."""
    with open_memex(tmp_path) as memex:
        lived(memex, seed, 60)
        memex.save()
        snapshot = (tmp_path / INDEX_FILE).read_bytes()
        lived(memex, seed + 100, 60)
        expected, said = canonical(memex._core.derived.index), answers(memex)
    (tmp_path / INDEX_FILE).write_bytes(snapshot)
    with opened(tmp_path) as store:
        index = open_index(store, default_provider(), tmp_path / INDEX_FILE)
        assert canonical(index) == expected
    with open_memex(tmp_path) as memex:
        assert answers(memex) == said


def test_a_clean_close_leaves_a_snapshot_that_needs_no_replay(tmp_path: Path, caplog) -> None:
    with open_memex(tmp_path) as memex:
        lived(memex, 1, 30)
        expected = canonical(memex._core.derived.index)
    with opened(tmp_path) as store:
        index = load_index(tmp_path / INDEX_FILE, store.uid, default_provider())
        assert index.commit_seq == store.counters.seq
    assert canonical(index) == expected


def flip(at: int) -> Callable[[bytes], bytes]:
    def change(packed: bytes) -> bytes:
        place = at % len(packed)
        return packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :]

    return change


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda b: b"", "cut short"),
        (lambda b: b[:100], "cut short"),
        (lambda b: b[:-1], "cut short"),
        (lambda b: b[: len(b) // 2] + b[-12:], "table is damaged"),
        (lambda b: b + b"\0", "cut short"),
        (flip(0), "no index snapshot"),
        (flip(4), "has format 5"),
        (flip(40), "before its section live is damaged"),
        (flip(70), "section live is damaged"),
        (flip(5000), "is damaged"),
        (flip(-40), "table is damaged"),
        (flip(-10), "table is damaged"),
        (lambda b: bytes(len(b)), "cut short"),
    ],
)
def test_a_damaged_snapshot_is_made_anew_with_a_line_in_the_log(
    tmp_path: Path, caplog, damage, reason
) -> None:
    """A damaged file is never trusted, and costs time, not memories."""
    with open_memex(tmp_path) as memex:
        lived(memex, 3, 30)
        said = answers(memex)
    file = tmp_path / INDEX_FILE
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING), open_memex(tmp_path) as memex:
        assert answers(memex) == said
    lines = [record.getMessage() for record in caplog.records if "index snapshot" in record.getMessage()]
    assert len(lines) == 1
    assert INDEX_FILE in lines[0]
    assert any(part in lines[0] for part in reason.split("|"))


def test_what_is_mapped_stays_though_the_file_is_replaced_or_removed(tmp_path: Path) -> None:
    """An index goes on with the file that it was opened from, and a change to it never reaches that file."""
    with open_memex(tmp_path) as memex:
        lived(memex, 3, 30)
    file = tmp_path / INDEX_FILE
    before = file.read_bytes()
    with open_memex(tmp_path) as memex:
        index = memex._core.derived.index
        loaded = canonical(index)
        for stored in memex.stored_after(0):
            index.revector(stored.node.id, bytes(4 * 1536))
        assert canonical(index) != loaded
        assert file.read_bytes() == before
        changed = canonical(index)
        index.store_uid = b"another"
        save_index(index, file)
        assert canonical(index) == changed
        file.unlink()
        assert canonical(index) == changed
        index.sweep()
        assert len(index.rows) == len(index._ids)


def test_a_sweep_forgets_the_names_of_what_is_gone(tmp_path: Path) -> None:
    """Each session has a name of its own: kept, they would grow with every session there ever was."""
    with open_memex(tmp_path) as memex:
        for number in range(30):
            node = memex.store(f"note {number}", rationale=WHY, session_id=f"s{number}", agent_id="ada")
            if number % 3:
                memex.forget(node.id, soft=False, reason="user_requested")
        index = memex._core.derived.index
        index.sweep()
        names = index.rows.names
        assert list(names["session"]) == [f"s{number}" for number in range(0, 30, 3)]
        assert list(names["agent"]) == ["ada"]
        for session in ("s3", "s4"):
            found = memex.recall("note", filters=RecallFilters(session_id=session)).nodes
            assert [one.node.content for one in found] == (["note 3"] if session == "s3" else [])
        memex.store("note 99", rationale=WHY, session_id="s4")
        assert len(memex.recall("note", filters=RecallFilters(session_id="s4")).nodes) == 1


def test_an_index_that_was_made_anew_is_saved_though_nothing_is_stored(tmp_path: Path, caplog) -> None:
    """Else a store that is only read would make it anew at each opening after an upgrade."""
    with open_memex(tmp_path) as memex:
        lived(memex, 3, 30)
        said = answers(memex)
    (tmp_path / INDEX_FILE).write_bytes(b"an older format, or damaged" * 9)
    with open_memex(tmp_path) as memex:
        assert answers(memex) == said
    caplog.clear()
    with caplog.at_level(logging.INFO), open_memex(tmp_path) as memex:
        assert answers(memex) == said
    assert "anew" not in caplog.text


def test_a_snapshot_of_another_store_or_of_a_later_state_is_not_used(tmp_path: Path, caplog) -> None:
    for name in ("a", "b"):
        with open_memex(tmp_path / name) as memex:
            lived(memex, 5, 20)
    other = (tmp_path / "b" / INDEX_FILE).read_bytes()
    (tmp_path / "a" / INDEX_FILE).write_bytes(other)
    with opened(tmp_path / "a") as store, caplog.at_level(logging.WARNING):
        index = open_index(store, default_provider(), tmp_path / "a" / INDEX_FILE)
        assert canonical(index) == canonical(rebuilt_index(store, default_provider()))
        assert "another store's" in caplog.text
        index.seen(store.counters.seq + 1)
        save_index(index, tmp_path / "ahead")
        open_index(store, default_provider(), tmp_path / "ahead")
        assert "the store ends at" in caplog.text


def test_a_snapshot_of_another_provider_is_not_used(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        lived(memex, 5, 20)
        index = memex._core.derived.index
        index.digest = "another"
        save_index(index, tmp_path / "foreign")
        with pytest.raises(ValueError, match="another provider's"):
            load_index(tmp_path / "foreign", memex._core.store.uid, default_provider())


def test_a_snapshot_that_can_not_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    with open_memex(tmp_path / "s") as memex:
        lived(memex, 6, 20)
        index = memex._core.derived.index
        with pytest.raises(OSError, match="No such file"):
            save_index(index, tmp_path / "missing" / "file")
        save_index(index, tmp_path / "file")
        before = (tmp_path / "file").read_bytes()
        index.rows.columns()["live"].append(1)  # what is half built must not be read as whole
        save_index(index, tmp_path / "torn")
        with pytest.raises(ValueError, match="different numbers of rows"):
            load_index(tmp_path / "torn", memex._core.store.uid, default_provider())
        del index.rows.live[-1]
    assert (tmp_path / "file").read_bytes() == before
    assert before.startswith(MAGIC)
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".new"] == []


def test_second_vectors_come_from_the_store_and_survive_the_snapshot(tmp_path: Path) -> None:
    def vector(*numbers: float) -> bytes:
        return array("f", numbers).tobytes()

    with open_memex(tmp_path) as memex:
        nodes = [memex.store(f"memory {number}", rationale=WHY) for number in range(4)]
        memex.save()
    with opened(tmp_path) as store:
        second = store.vectors.begin_second("a model", 3)
        seqs = [node.commit_seq for node in nodes]
        done = second._replace(done=seqs[1])
        store.vectors.put_seconds([(seqs[0], vector(1, 0, 0)), (seqs[1], vector(0, 1, 0))], done)
        index = open_index(store, default_provider(), tmp_path / INDEX_FILE)
        assert filled_rows(index) == [0, 1]
        assert index.stats()["with_extra"] == 2
        save_index(index, tmp_path / INDEX_FILE)
        store.vectors.put_seconds([(seqs[2], vector(0, 0, 1))], done._replace(done=seqs[2]))
        loaded = load_index(tmp_path / INDEX_FILE, store.uid, default_provider())
        assert loaded.extra_done == seqs[1]
        index = open_index(store, default_provider(), tmp_path / INDEX_FILE)
        assert filled_rows(index) == [0, 1, 2]
        assert canonical(index) == canonical(rebuilt_index(store, default_provider()))
        store.vectors.begin_second("another model", 2)
        index = open_index(store, default_provider(), tmp_path / INDEX_FILE)
        assert (index.extra_digest, index.stats()["with_extra"]) == ("another model", 0)


def test_second_vectors_count_twice_where_there_are_any(tmp_path: Path) -> None:
    """A memory without one is neither preferred nor punished for it."""

    class Model:
        def encode_query(self, text: str) -> bytes:
            return array("f", [1.0, 0.0]).tobytes()

    with open_memex(tmp_path) as memex:
        nodes = [memex.store("the same words", rationale=WHY) for _ in range(20)]
        index, provider = memex._core.derived.index, default_provider()
        index.begin_extra(2, "a model")
        near, far = array("f", [0.9, 0.1]).tobytes(), array("f", [-0.9, 0.1]).tobytes()
        seqs = [node.commit_seq for node in nodes]
        index.put_extras([(seq, near if place % 2 else far) for place, seq in enumerate(seqs[:18])], seqs[17])
        recaller = Recaller(index, provider, memex.get, extra=Model())
        ranked = [one.node.id for one in recaller.recall("the same words", top_k=20).nodes]
    places = {node.id: place for place, node in enumerate(nodes)}
    assert {places[node] % 2 for node in ranked[:9]} == {1}
    assert {places[node] for node in ranked[9:11]} == {18, 19}
    assert {places[node] % 2 for node in ranked[11:]} == {0}


def test_rows_of_memories_that_are_gone_are_swept_out(tmp_path: Path) -> None:
    """A store whose memories come and go does not grow in memory."""
    provider = default_provider()
    with open_memex(tmp_path) as memex:
        node = memex.store("the one that stays", rationale=WHY, session_id="s")
        index = MemoryIndex(provider.digest, provider.vocabulary_size)
        index.add(node, provider.encode(node.content))
        for number in range(5000):
            gone = replace(node, id=UUID(int=number), commit_seq=number + 2)
            index.add(gone, provider.encode(f"one that goes {number}"))
            index.remove(gone.id)
            index.drop([gone.id])
        assert index.stats()["rows"] < 2000
        assert len(index) == 1
        assert node.id in index
        assert index.pieces == len(provider.encode(node.content).pieces) // 2
        with pytest.raises(ValueError, match="is live; remove it first"):
            index.drop([node.id])


def test_a_book_neither_fills_the_memory_nor_drowns_the_counts(tmp_path: Path) -> None:
    provider = default_provider()
    index = MemoryIndex(provider.digest, provider.vocabulary_size)
    with open_memex(tmp_path) as memex:
        node = memex.store("word " * 10_000, rationale=WHY)
    index.add(node, provider.encode(node.content))
    assert index.pieces == 512
    index.remove(node.id)
    assert index.pieces == sum(index.piece_counts) == 0


def test_neighbours_are_the_live_rows_of_the_session_in_order_of_commit(tmp_path: Path) -> None:
    with open_memex(tmp_path) as memex:
        for session in ("a", "b", "a", None, "a", "b"):
            memex.store("x y z", rationale=WHY, session_id=session)
        before = memex._core.derived.index.rows.before
    assert list(before) == [ranking.NONE, ranking.NONE, 0, ranking.NONE, 2, 1]
