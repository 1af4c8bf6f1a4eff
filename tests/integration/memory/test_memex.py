"""Memex as a library: what goes in comes out, is found, forgotten, linked, listed; cache and metrics."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.memories import WHY, again, by_pages, fill, open_memex

from context_graph import Memex
from context_graph.errors import (
    GraphQueryError,
    InvalidParamsError,
)
from context_graph.memory.filters import RecallFilters
from context_graph.model.edge import Direction
from context_graph.model.memory import Modality
from context_graph.model.spaces import EMBEDDING_BYTES
from context_graph.store.layout import NODES, TOMBSTONES

DAY_MS = 86_400_000


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
    assert [node.content for node in by_pages(memex, 10)] == [
        f"text {number}" for number in range(24, -1, -1)
    ]

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
    assert memex.recall("quetzalcoatlus diary").nodes == []
    assert [one.node.id for one in memex.recall("memory of a quetzalcoatlus").nodes] == [other.id]
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


@pytest.mark.parametrize("family", [NODES, TOMBSTONES])
def test_a_damaged_record_keeps_no_other_memory_from_being_purged(memex: Memex, family: str) -> None:
    nodes = [memex.store(f"memory number {number}", rationale=WHY) for number in range(5)]
    for node in nodes:
        memex.forget(node.id)
    engine, damaged = memex.core.store.engine, min(node.id for node in nodes)
    engine.put(family, damaged.bytes, b"no record")
    for _ in range(2):
        assert damaged not in memex.purge(time.time_ns() // 1_000_000 + 31 * DAY_MS)
        assert {node.id for node in nodes if engine.get(NODES, node.id.bytes) is not None} == {damaged}


def test_an_edge_between_two_purged_memories_goes_once(memex: Memex) -> None:
    one, two, three = fill(memex, 3)
    memex.link(one.id, two.id)
    memex.link(three.id, two.id)
    for node in (one, two):
        memex.forget(node.id)
    memex.purge(2**62)
    assert memex.metrics()["edges"] == 0
    assert list(memex.all_edges()) == []
