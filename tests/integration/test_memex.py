"""Memex as a library: what goes in comes out, is found, forgotten, linked, listed; cache and metrics."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.memory_support import WHY, fill, open_memex
from tests.store_support import run

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
from context_graph.model.johari import JohariQuadrant
from context_graph.model.memory import MemoryNode, Modality, Tombstone
from context_graph.model.spaces import EMBEDDING_BYTES

DAY_MS = 86_400_000


@pytest.fixture
def memex(tmp_path: Path) -> Iterator[Memex]:
    opened = open_memex(tmp_path / "store")
    yield opened
    opened.close()


def again(memex: Memex, tmp_path: Path) -> Memex:
    memex.close()
    return open_memex(tmp_path / "store")


# Storing and reading


def test_what_is_stored_comes_back_identical_also_after_closing(memex: Memex, tmp_path: Path) -> None:
    """REQ-CORE-007, REQ-CORE-012, TC-CORE-008, AC-CORE-01-02, REQ-CORE-014."""
    first = memex.store("The first memory", rationale=WHY)
    made = memex.store(
        "Deploys run from the main branch – never from a fork",
        rationale=WHY,
        importance=0.8,
        metadata={"file": "deploy.yml", "lines": [1, 2], "deep": {"ok": None}},
        link_to=[first.id],
        session_id="session-1",
        agent_id="agent-1",
        project="/home/u/project",
        tags=["ops", "rules", "ops"],
        occurred_at_ms=1_700_000_000_000,
        source="tool",
        pinned=True,
    )
    assert (made.importance, made.tags, made.created_at_ms) == (0.8, ("ops", "rules"), 1_700_000_000_000)
    assert len(made.embedding or b"") == EMBEDDING_BYTES
    assert memex.get(made.id) == made
    assert memex.get(str(made.id)) == made
    memex = again(memex, tmp_path)
    assert memex.get(made.id) == made
    assert memex.embedding(made.id) == made.embedding
    assert [edge.target_id for edge in memex.edges(made.id, Direction.OUT)] == [first.id]
    memex.close()


def test_commit_numbers_follow_the_order_of_storing(memex: Memex) -> None:
    """AC-CORE-06-03."""
    nodes = [memex.store(f"text {n}", rationale=WHY) for n in range(5)]
    assert [node.commit_seq for node in nodes] == [1, 2, 3, 4, 5]
    assert [stored.node.id for stored in memex.stored_after()] == [node.id for node in nodes]
    assert [stored.node.id for stored in memex.stored_after(3)] == [node.id for node in nodes[3:]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"content": "a" * 65_537}, "Content exceeds maximum length of 65536 characters"),
        ({"rationale": ""}, "Rationale is required (10-500 characters)"),
        ({"rationale": "short"}, "Rationale must be at least 10 characters"),
        ({"importance": 1.5}, "importance"),
        ({"importance": float("nan")}, "importance"),
        ({"modality": "smell"}, "modality"),
        ({"metadata": [1]}, "metadata"),
        ({"metadata": {"x": object()}}, "metadata"),
        ({"link_to": ["no uuid"]}, "link_to"),
        ({"link_to": "550e8400-e29b-41d4-a716-446655440000"}, "link_to"),
        ({"tags": "one text"}, "tags"),
        ({"tags": ["x" * 65]}, "tags"),
        ({"tags": [str(n) for n in range(33)]}, "tags"),
        ({"agent_id": "a\0b"}, "agent_id"),
        ({"project": "x" * 4097}, "project"),
        ({"occurred_at_ms": -1}, "occurred_at"),
        ({"source": ""}, "source"),
        ({"embedding": b"short"}, "embedding"),
    ],
)
def test_wrong_input_is_refused_by_name_and_nothing_is_stored(
    memex: Memex, given: dict[str, object], message: str
) -> None:
    """EC-CORE-001, EC-CORE-002, EC-CORE-003, ERR-CORE-004, TC-CORE-002."""
    with pytest.raises(InvalidParamsError, match=message.replace("(", r"\(").replace(")", r"\)")):
        memex.store(**({"content": "text", "rationale": WHY} | given))  # type: ignore[arg-type]
    assert memex.count() == 0
    assert memex.recall("text").nodes == []


def test_a_link_to_an_unknown_memory_is_refused_and_nothing_is_stored(memex: Memex) -> None:
    """REQ-CORE-014, REQ-CORE-026: names it."""
    unknown = uuid4()
    with pytest.raises(GraphQueryError, match=str(unknown)) as caught:
        memex.store("text", rationale=WHY, link_to=[unknown])
    assert caught.value.rpc_code == -32001
    assert memex.count() == 0


def test_lone_surrogates_become_valid_text(memex: Memex) -> None:
    made = memex.store("broken \ud83d and \ud83d\ude00 whole", rationale=WHY)
    assert made.content == "broken � and 😀 whole"
    assert memex.get(made.id) == made


def test_secrets_never_reach_the_disk(memex: Memex, tmp_path: Path) -> None:
    """Invariant 10: content, rationale, tags, metadata, reasons."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = memex.store(
        f"the token is {token} here",
        rationale=f"found {token} in a file",
        metadata={"deep": [{"note": token, token: 1}]},
        tags=[token],
    )
    memex.forget(made.id, reason=f"leaked {token}")
    memex.flush()
    memex.close()
    for file in (tmp_path / "store").rglob("*"):
        if file.is_file():
            assert token.encode() not in file.read_bytes(), file.name
    assert "[redacted" in made.content


def test_binary_content_is_kept_as_it_is_and_found_by_the_words_about_it(memex: Memex) -> None:
    """REQ-CORE-014: base64 of an image looks like a token to any rule."""
    picture = "iVBORw0KGgo" + "AAAANSUhEUgAAAAUA" * 8 + "A"
    made = memex.store(picture, rationale="screenshot of the login failure", modality="image")
    assert (made.content, made.modality) == (picture, Modality.IMAGE)
    memex.store("the weather in Lisbon", rationale=WHY)
    assert memex.recall("login failure screenshot").nodes[0].node.id == made.id


def test_a_repeated_request_is_stored_once(memex: Memex) -> None:
    """The bridge repeats a request whose answer an owner's crash took."""
    wanted = uuid4()
    first = memex.store("text of the request", rationale=WHY, node_id=wanted)
    second = memex.store("text of the request", rationale=WHY, node_id=wanted)
    assert (first.id, second, memex.count()) == (wanted, replace(first, embedding=None), 1)
    memex.forget(wanted)
    assert memex.store("text of the request", rationale=WHY, node_id=wanted).id == wanted
    assert memex.get(wanted) is None


def test_a_batch_is_stored_whole_or_not_at_all(memex: Memex) -> None:
    """REQ-CORE-011: bulk operations."""
    made = fill(memex, 600)
    assert [node.commit_seq for node in made] == list(range(1, 601))
    assert memex.count() == len(memex.recall("memory number", top_k=100).nodes) + 500
    with pytest.raises(InvalidParamsError, match="rationale"):
        memex.store_many([{"content": "good", "rationale": WHY}, {"content": "bad", "rationale": 7}])
    with pytest.raises(InvalidParamsError, match="at most 1000"):
        memex.store_many([{"content": "x", "rationale": WHY}] * 1001)
    assert memex.count() == 600


def test_fifty_threads_lose_nothing_and_keep_the_order_of_commit(memex: Memex) -> None:
    """TC-CORE-013, EC-CORE-013, AC-CORE-06-03."""
    seqs: list[list[int]] = [[] for _ in range(50)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(20):
                text = f"worker {number} step {step}"
                seqs[number].append(memex.store(text, rationale=WHY, agent_id=f"a{number}").commit_seq)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(50)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []
    assert all(own == sorted(own) for own in seqs)
    assert sorted(seq for own in seqs for seq in own) == list(range(1, 1001))
    assert memex.count() == 1000
    page = memex.list(limit=1000, filters=RecallFilters(agent_id="a7"))
    assert sorted(node.content for node in page.nodes) == sorted(f"worker 7 step {n}" for n in range(20))


# Finding


def test_a_recall_sees_what_was_stored_before_it(memex: Memex, tmp_path: Path) -> None:
    """AC-CORE-02-01: read your writes, across an opening too."""
    fill(memex, 30)
    made = memex.store("The zebra crossing policy was decided on Tuesday", rationale=WHY)
    assert memex.recall("zebra crossing policy").nodes[0].node == made
    memex = again(memex, tmp_path)
    assert memex.recall("zebra crossing policy").nodes[0].node == made
    memex.close()


def test_a_listing_is_newest_first_filtered_and_in_pages(memex: Memex) -> None:
    for number in range(25):
        memex.store(
            f"text {number}",
            rationale=WHY,
            occurred_at_ms=1000 + number,
            session_id=f"s{number % 2}",
            importance=number / 25,
            tags=["even" if number % 2 == 0 else "odd", "all"],
            project="/p" if number < 5 else None,
        )
    seen: list[str] = []
    cursor = None
    while True:
        page = memex.list(cursor, limit=10)
        seen += [node.content for node in page.nodes]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"text {number}" for number in range(24, -1, -1)]

    def listed(**filters: object) -> list[int]:
        page = memex.list(limit=100, filters=RecallFilters(**filters))  # type: ignore[arg-type]
        return [int(node.content.split()[1]) for node in page.nodes]

    assert listed(session_id="s1") == list(range(23, 0, -2))
    assert listed(tags=("even", "all"), min_importance=0.5) == list(range(24, 12, -2))
    assert listed(project="/p") == [4, 3, 2, 1, 0]
    assert listed(created_after_ms=1020, created_before_ms=1023) == [22, 21]
    assert listed(session_id="s") == []
    with pytest.raises(InvalidParamsError, match="cursor"):
        memex.list("nonsense")
    with pytest.raises(InvalidParamsError, match="limit"):
        memex.list(limit=0)


def test_ids_are_found_by_their_first_digits(memex: Memex) -> None:
    made = fill(memex, 40)
    text = str(made[7].id)
    for length in (1, 2, 7, 8, 9, 12, 36):
        found = memex.ids_with_prefix(text[:length], 50)
        assert made[7].id in found
        assert all(str(one).replace("-", "").startswith(text[:length].replace("-", "")) for one in found)
    with pytest.raises(InvalidParamsError):
        memex.ids_with_prefix("xyz")


# Forgetting


def test_a_forgotten_memory_is_nowhere_to_be_seen_until_it_is_restored(memex: Memex, tmp_path: Path) -> None:
    """REQ-CORE-013, TC-CORE-015, EC-CORE-011: also after an opening; tombstone with time and reason."""
    other = memex.store("another memory about zebras", rationale=WHY)
    made = memex.store("the zebra memory", rationale=WHY, tags=["animals"], link_to=[other.id])
    memex.forget(made.id, reason="it was wrong")
    for _ in range(2):
        assert memex.get(made.id) is None
        assert memex.embedding(made.id) is None
        assert [one.node.id for one in memex.recall("zebra memory").nodes] == [other.id]
        assert [node.id for node in memex.list().nodes] == [other.id]
        assert memex.list(filters=RecallFilters(tags=("animals",))).nodes == []
        assert list(memex.edges(other.id)) == []
        stored = memex.stored(made.id)
        assert stored is not None and stored.deleted
        stone = memex.tombstone(made.id)
        assert stone is not None and (stone.reason, stone.soft) == ("it was wrong", True)
        assert [one.id for one in memex.tombstones()] == [made.id]
        assert (memex.metrics()["nodes"], memex.metrics()["deleted"]) == (1, 1)
        memex = again(memex, tmp_path)
    assert memex.restore(made.id) == made
    assert memex.get(made.id) == made
    assert memex.tombstone(made.id) is None
    assert memex.recall("the zebra memory").nodes[0].node == made
    assert len(memex.edges(other.id)) == 1
    assert (memex.metrics()["nodes"], memex.metrics()["deleted"]) == (2, 0)
    memex.close()


def test_forgetting_and_restoring_twice_is_quiet_and_unknown_ids_are_not(memex: Memex) -> None:
    made = memex.store("text to forget", rationale=WHY)
    stone = memex.forget(made.id, reason="first")
    assert memex.forget(made.id, reason="second") == stone
    memex.restore(made.id)
    assert memex.restore(made.id) == replace(made, embedding=None)
    for call in (memex.forget, memex.restore):
        with pytest.raises(GraphQueryError, match="no "):
            call(uuid4())


@pytest.mark.parametrize("reason", ["", "obsolete", "User_Requested"])
def test_only_the_user_s_wish_deletes_for_good(memex: Memex, reason: str) -> None:
    """EC-CORE-012, ERR-CORE-007, TC-CORE-016."""
    made = memex.store("text to delete", rationale=WHY)
    with pytest.raises(InvalidParamsError) as caught:
        memex.forget(made.id, soft=False, reason=reason)
    assert str(caught.value) == "Permanent deletion requires reason='user_requested'"
    assert (caught.value.rpc_code, caught.value.row) == (-32602, "ERR-CORE-007")
    assert memex.get(made.id) == made


@pytest.mark.parametrize("flushed", [True, False])
def test_what_the_user_had_deleted_leaves_the_disk(memex: Memex, tmp_path: Path, flushed: bool) -> None:
    """REQ-CORE-013: record, embedding, edges, index and files; the tombstone says that it was."""
    other = memex.store("another memory", rationale=WHY)
    made = memex.store("my diary says quetzalcoatlus", rationale=WHY, link_to=[other.id])
    if flushed:
        memex.flush()
    memex.forget(made.id, soft=False, reason="user_requested")
    assert memex.stored(made.id) is None
    assert memex.embedding_at(made.commit_seq) is None
    assert (memex.metrics()["edges"], memex.count()) == (0, 1)
    stone = memex.tombstone(made.id)
    assert stone is not None and not stone.soft
    with pytest.raises(GraphQueryError):
        memex.restore(made.id)
    assert [one.node.id for one in memex.recall("quetzalcoatlus diary").nodes] == [other.id]
    memex.close()
    for file in (tmp_path / "store").rglob("*"):
        if file.is_file():
            assert b"quetzalcoatlus" not in file.read_bytes(), file.name


def test_soft_deleted_memories_are_purged_after_the_retention(memex: Memex, tmp_path: Path) -> None:
    """REQ-CORE-013: 30 days; by the owner once a day, and on opening."""
    kept, old = fill(memex, 2)
    stone = memex.forget(old.id, reason="old")
    assert memex.purge(stone.deleted_at_ms + 30 * DAY_MS) == []
    assert memex.purge(stone.deleted_at_ms + 30 * DAY_MS + 1) == [old.id]
    assert memex.stored(old.id) is None
    assert memex.embedding_at(old.commit_seq) is None
    assert list(memex.tombstones()) == []
    assert [stored.node.id for stored in memex.stored_after()] == [kept.id]
    memex.forget(kept.id)
    memex.close()
    memex = open_memex(tmp_path / "store", retention_days=0.0)
    assert memex.stored(kept.id) is None
    memex.close()


def test_an_edge_between_two_purged_memories_goes_once(memex: Memex) -> None:
    one, two, three = fill(memex, 3)
    memex.link(one.id, two.id)
    memex.link(three.id, two.id)
    for node in (one, two):
        memex.forget(node.id)
    memex.purge(2**62)
    assert memex.metrics()["edges"] == 0
    assert list(memex.all_edges()) == []


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


def test_the_cache_keeps_what_was_used_last(tmp_path: Path) -> None:
    """REQ-CORE-010, EC-CORE-010, TC-CORE-029: eviction in order of use, counted.

    TC-CORE-011: a hit reads nothing."""
    memex = open_memex(tmp_path / "store", cache_nodes=1000)
    made = fill(memex, 3000)
    for node in made:
        memex.get(node.id)
    figures = memex.metrics()
    assert (figures["cache_nodes"], figures["cache_evictions"]) == (1000, 2000)
    before = memex.metrics()
    for node in made[-1000:]:
        assert memex.get(node.id) == replace(node, embedding=None)
    figures = memex.metrics()
    assert figures["cache_hits"] - before["cache_hits"] == 1000
    assert figures["cache_misses"] == before["cache_misses"]
    memex.get(made[0].id)
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
        with memex._core.turn("hold"):
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
        from tests.memory_support import fill, open_memex
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
        figures, found = [], []
        for _ in range(2):
            memex = open_memex(folder)
            figures.append(memex.utl())
            found.append([(one.node.id, one.score) for one in memex.recall("memory number 64").nodes])
            memex._core.store.close()
            for name in ("memory.index", "memory.figures"):
                (folder / name).unlink(missing_ok=True)
        assert figures[0] == figures[1]
        assert found[0] == found[1]
        assert figures[0].memories == (79 if case == "kept" else 78)
