"""A consolidation is one change of the store: made whole, left out where the store moved on, undone whole."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.consolidation import (
    Merge,
    NewLink,
    Prune,
    Reweight,
    exported,
    judge,
    prepared_of,
    raw,
    run,
)
from tests.support.examples import examples
from tests.support.memories import WHY, fill, open_memex

from context_graph.consolidation.commit import Prepared, commit
from context_graph.errors import GraphQueryError, InvalidParamsError, StoreError
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.store.engine.engine import Engine
from context_graph.store.graph.records import Op

RELATIONS = ("related_to", "causes", "contradicts")


# What a merge makes


def test_the_survivor_takes_what_the_others_had(memex: Memex) -> None:
    """D5.2: importance max, accesses summed, the earliest time, texts kept, losers with a pointer."""
    keep = memex.store("the gateway retries twice", rationale=WHY, importance=0.6, tags=["net"])
    other = memex.store(
        "the gateway does retry twice", rationale=WHY, importance=0.4, occurred_at_ms=1000, tags=["retry"]
    )
    same = memex.store("the gateway retries twice", rationale=WHY, importance=0.5, pinned=True)
    memex.touch([keep.id, other.id])
    memex.touch([other.id])
    done = run(memex, merges=[Merge(keep.id, (other.id, same.id), 0.97)])
    node = memex.get(keep.id)
    assert node is not None and done.final_memory_count == memex.count() == 1
    assert (node.content, node.importance, node.access_count) == (keep.content, 0.6, 3)
    assert (node.created_at_ms, node.pinned, set(node.tags)) == (1000, True, {"net", "retry"})
    kept = node.metadata["merged_from"]
    assert [one["id"] for one in kept] == [str(other.id), str(same.id)]
    assert [one.get("content") for one in kept] == [other.content, None], "texts that say it otherwise"
    for loser in (other, same):
        stone = memex.tombstone(loser.id)
        assert stone is not None and stone.soft and stone.merged_into == keep.id
        assert memex.get(loser.id) is None
    assert [one.node.id for one in memex.recall("gateway retry").nodes] == [keep.id]
    assert memex.list(filters=RecallFilters(tags=("retry",))).nodes[0].id == keep.id
    judge(memex)


def test_edges_follow_and_the_stronger_of_two_stays(memex: Memex) -> None:
    """D5.2: redirected, no edge from a memory to itself, one edge a relation."""
    keep, lose, third, fourth = (node.id for node in fill(memex, 4))
    between = memex.link(lose, keep)
    weak, strong = memex.link(keep, third, weight=0.2), memex.link(lose, third, weight=0.9)
    moved = memex.link(fourth, lose, "causes", metadata={"note": "kept"})
    before = raw(memex)
    done = run(memex, merges=[Merge(keep, (lose,), 0.96)])
    edges = {edge.id: edge for edge in memex.edges(keep)}
    assert set(edges) == {strong.id, moved.id}
    assert (edges[strong.id].source_id, edges[strong.id].target_id) == (keep, third)
    assert (edges[moved.id].target_id, edges[moved.id].metadata) == (keep, {"note": "kept"})
    assert {edge.id for edge in memex.all_edges()}.isdisjoint({between.id, weak.id})
    judge(memex)
    undone = memex.undo(done.undo_token)
    assert (undone.restored, undone.changed, undone.edges, undone.kept) == (1, 1, 4, ())
    assert raw(memex) == before
    judge(memex)


def test_metadata_that_has_the_name_already_is_kept(memex: Memex) -> None:
    keep, lose = fill(memex, 1, metadata={"merged_from": "a branch"})[0], fill(memex, 1, start=7)[0]
    run(memex, merges=[Merge(keep.id, (lose.id,), 0.96)])
    node = memex.get(keep.id)
    assert node is not None
    assert node.metadata["merged_from"][0] == {"value": "a branch"}
    assert node.metadata["merged_from"][1]["id"] == str(lose.id)


def test_merges_of_merges_keep_every_text_within_a_bound(memex: Memex) -> None:
    nodes = [memex.store(f"saying {n} " + "long " * 5000, rationale=WHY) for n in range(8)]
    for node in nodes[1:]:
        run(memex, merges=[Merge(nodes[0].id, (node.id,), 0.96)])
    kept = memex.get(nodes[0].id)
    assert kept is not None
    entries = kept.metadata["merged_from"]
    assert [one["id"] for one in entries] == [str(node.id) for node in nodes[1:]]
    texts = [one["content"] for one in entries if "content" in one]
    assert 0 < sum(map(len, texts)) <= 65_536 and texts[-1] == nodes[-1].content


# What is left out


def test_what_changed_meanwhile_is_left_out_and_named(memex: Memex) -> None:
    a, b, c, d, e, f = fill(memex, 6)
    link = memex.link(e.id, f.id)
    prepared = prepared_of(
        memex,
        merges=[Merge(a.id, (b.id,), 0.96)],
        prunes=[Prune(c.id, 0.1), Prune(d.id, 0.2)],
        reweights=[Reweight(link.id, 0.5, 0.6)],
    )
    memex.forget(c.id, reason="by hand")
    memex.link(a.id, d.id)
    memex.touch([b.id])
    done = commit(memex, prepared)
    assert done.plan.prunes == () and done.plan.merges == ()
    assert [(kind, set(ids)) for kind, ids in done.skipped] == [
        ("merge", {a.id, b.id}),
        ("prune", {c.id}),
        ("prune", {d.id}),
    ]
    assert [edge.weight for edge in memex.edges(e.id)] == [0.6]
    assert memex.tombstone(c.id).reason == "by hand"  # type: ignore[union-attr]
    judge(memex)


def test_uses_meanwhile_are_counted_and_stop_nothing(memex: Memex) -> None:
    """Accesses have no commit number: those of the moment are summed, not the snapshot's."""
    a, b = fill(memex, 2)
    edge = memex.link(a.id, fill(memex, 1, start=2)[0].id)
    prepared = prepared_of(memex, merges=[Merge(a.id, (b.id,), 0.96)])
    memex.touch([a.id, b.id])
    memex.touch([b.id])
    memex.traverse([edge.id], 1.0)
    done = commit(memex, prepared)
    assert done.undo_token is not None
    assert memex.get(a.id).access_count == 3  # type: ignore[union-attr]
    memex.touch([a.id])
    memex.undo()
    counts = [memex.get(one).access_count for one in (a.id, b.id)]  # type: ignore[union-attr]
    assert counts == [2, 2], "its own, and the use since"


def test_edges_followed_meanwhile_keep_their_uses_whatever_the_run_does_to_them(memex: Memex) -> None:
    """An edge's use has no commit number either: a run that weighs or moves the edge counts it in."""
    a, b, c = (node.id for node in fill(memex, 3))
    weighed, moved = memex.link(a, c), memex.link(b, c, "causes")
    prepared = prepared_of(
        memex, merges=[Merge(a, (b,), 0.96)], reweights=[Reweight(weighed.id, weighed.weight, 0.9)]
    )
    memex.touch([a, b, c], [weighed, moved])
    assert not commit(memex, prepared).skipped
    found = {edge.id: edge for edge in memex.edges(a)}
    assert found[weighed.id].weight == 0.9
    assert [found[one].traversal_count for one in (weighed.id, moved.id)] == [1, 1]
    memex.undo()
    counts = {edge.id: edge.traversal_count for edge in (*memex.edges(a), *memex.edges(b))}
    assert counts == {weighed.id: 1, moved.id: 1}


def test_uses_of_edges_after_a_run_outlive_its_undoing(memex: Memex) -> None:
    """Traversals, their time and what they were worth: of an edge that was weighed, and of one that moved."""
    a, b, c = (node.id for node in fill(memex, 3))
    weighed, moved = memex.link(a, c), memex.link(b, c, "causes")
    run(memex, merges=[Merge(a, (b,), 0.96)], reweights=[Reweight(weighed.id, weighed.weight, 0.9)])
    used = {edge.id: edge for edge in memex.traverse([weighed.id, moved.id], 1.0)}
    memex.undo()
    found = {edge.id: edge for edge in (*memex.edges(a), *memex.edges(b))}
    assert set(found) == {weighed.id, moved.id}
    assert (found[weighed.id].weight, found[moved.id].source_id) == (weighed.weight, b)
    for edge_id, edge in found.items():
        assert edge.traversal_count == 1 and edge.steering_reward == used[edge_id].steering_reward != 0.0
        assert edge.last_traversed_ms == used[edge_id].last_traversed_ms


def test_a_plan_that_makes_no_sense_does_no_harm(memex: Memex) -> None:
    a, b, c = (node.id for node in fill(memex, 3))
    edge = memex.link(a, b)
    done = run(
        memex,
        merges=[Merge(a, (uuid4(),), 1.0), Merge(a, (a,), 1.0), Merge(a, (b,), 1.0), Merge(b, (c,), 1.0)],
        prunes=[Prune(b, 0.1), Prune(uuid4(), 0.1)],
        reweights=[Reweight(uuid4(), 0.1, 0.2), Reweight(edge.id, 0.5, 0.7)],
        links=[NewLink(a, b, "x", 0.1, 0.1, "test"), NewLink(c, c, "x", 0.1, 0.1, "test")],
    )
    assert done.plan.merges == (Merge(a, (b,), 1.0),) and done.plan.prunes == () and done.plan.links == ()
    judge(memex)


def test_nothing_to_do_writes_nothing(memex: Memex) -> None:
    fill(memex, 2)
    before = memex.seq
    done = run(memex)
    assert (done.undo_token, done.at_ms, done.final_memory_count, memex.seq) == (None, 0, 2, before)
    assert memex.runs() == []


def test_another_store_s_is_refused(memex: Memex, tmp_path: Path) -> None:
    nodes = fill(memex, 1)
    with open_memex(tmp_path / "other") as other:
        prepared = prepared_of(other)
    with pytest.raises(ValueError, match="another store"):
        commit(memex, prepared)
    assert memex.get(nodes[0].id) is not None


@pytest.mark.parametrize(
    "spoil", [lambda b: b[:-1], lambda b: b[:9] + b"\0" + b[10:], lambda b: b"", lambda b: b[:20]]
)
def test_damaged_bytes_are_refused(memex: Memex, spoil: object) -> None:
    packed = prepared_of(memex, prunes=[Prune(fill(memex, 1)[0].id, 0.1)]).to_bytes()
    with pytest.raises(ValueError, match="prepared consolidation"):
        Prepared.from_bytes(spoil(packed))  # type: ignore[operator]


def test_a_failed_write_leaves_the_store_as_it_was(memex: Memex, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = fill(memex, 2)
    before, status = raw(memex), memex.status()
    prepared = prepared_of(memex, merges=[Merge(a.id, (b.id,), 0.96)])

    def fail(self: Engine, batch: object) -> None:
        raise StoreError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "write", fail)
        with pytest.raises(StoreError):
            commit(memex, prepared)
    assert raw(memex) == before and memex.status() == status and memex.runs() == []
    assert commit(memex, prepared).undo_token is not None
    judge(memex)


# The log


def test_a_run_is_one_range_of_commits_and_tells_what_it_was(memex: Memex) -> None:
    """D5: everything a run changes is one transaction of the store's history."""
    a, b, c = fill(memex, 3)
    prepared = prepared_of(memex, merges=[Merge(a.id, (b.id,), 0.96)], prunes=[Prune(c.id, 0.1)])
    done = commit(memex, prepared, details={"trigger": "test"})
    (found,) = memex.runs()
    assert (found.token, found.mode, found.at_ms) == (done.undo_token, "deep", done.at_ms)
    assert (found.counts["merged"], found.counts["pruned"], found.details) == (1, 1, {"trigger": "test"})
    changes = list(memex.core.store.changes_after(found.first - 1))
    assert (changes[0].op, changes[0].subject) == (Op.RUN, found.token.bytes)
    assert changes[-1].seq == found.last == memex.seq
    assert {one.subject for one in changes[1:]} == {a.id.bytes, b.id.bytes, c.id.bytes}


# Undoing


def test_undo_by_token_by_its_beginning_and_the_last(memex: Memex) -> None:
    a, b, c, d = fill(memex, 4)
    first = run(memex, prunes=[Prune(a.id, 0.1)])
    second = run(memex, prunes=[Prune(b.id, 0.1)])
    run(memex, prunes=[Prune(c.id, 0.1)])
    assert memex.undo().restored == 1 and memex.get(c.id) is not None
    assert first.undo_token is not None and second.undo_token is not None
    assert memex.undo(str(first.undo_token)[:9]).undone == first.undo_token and memex.get(a.id) is not None
    assert memex.undo().undone == second.undo_token, "the last that is left"
    with pytest.raises(GraphQueryError, match="left to be undone"):
        memex.undo()
    with pytest.raises(GraphQueryError, match="undone already"):
        memex.undo(first.undo_token)
    with pytest.raises(GraphQueryError, match="no change"):
        memex.undo(uuid4())
    for wrong in ("", "xyz!", "12"):
        with pytest.raises(InvalidParamsError, match="token"):
            memex.undo(wrong)
    assert memex.count() == 4 and d is not None


def test_undo_leaves_alone_what_was_changed_since(memex: Memex) -> None:
    a, b, c, d = fill(memex, 4)
    run(memex, merges=[Merge(a.id, (b.id,), 0.96)], prunes=[Prune(c.id, 0.1), Prune(d.id, 0.1)])
    memex.restore(c.id)
    changed = memex.get(a.id)
    assert changed is not None
    memex.update([replace(changed, importance=0.9)])
    memex.forget(d.id, soft=False, reason="user_requested")
    undone = memex.undo()
    assert set(undone.kept) == {str(a.id), str(c.id), str(d.id)} and undone.restored == 1
    assert memex.get(a.id).importance == 0.9  # type: ignore[union-attr]
    assert memex.get(b.id) is not None and memex.get(d.id) is None
    judge(memex)


def test_runs_undone_from_the_last_to_the_first_leave_every_byte(memex: Memex) -> None:
    a, b, c = fill(memex, 3)
    before = raw(memex), exported(memex)
    one = run(memex, merges=[Merge(a.id, (b.id,), 0.96)])
    between = raw(memex)
    two = run(memex, merges=[Merge(a.id, (c.id,), 0.96)])
    memex.undo(two.undo_token)
    assert raw(memex) == between
    memex.undo(one.undo_token)
    assert (raw(memex), exported(memex)) == before


def test_an_edge_made_since_keeps_its_place(memex: Memex) -> None:
    a, b, c = fill(memex, 3)
    old = memex.link(b.id, c.id)
    run(memex, merges=[Merge(a.id, (b.id,), 0.96)])
    memex.restore(b.id)
    new = memex.link(b.id, c.id)
    undone = memex.undo()
    assert {edge.id for edge in memex.edges(b.id)} == {new.id}
    assert str(old.id) in " ".join(undone.kept)
    judge(memex)


def test_facts_go_with_the_run(memex: Memex) -> None:
    """What a run says about the store is undone with it, unless another has said it since."""
    first = commit(memex, prepared_of(memex, facts={"goals": {"version": 1}}))
    second = commit(memex, prepared_of(memex, facts={"goals": {"version": 2}}))
    assert commit(memex, prepared_of(memex, facts={"goals": {"version": 2}})).undo_token is None, (
        "nothing new"
    )
    memex.undo(second.undo_token)
    assert memex.core.store.meta("goals") == {"version": 1}
    memex.undo(first.undo_token)
    assert memex.core.store.meta("goals") is None


def test_what_was_kept_ends_with_the_retention(memex: Memex) -> None:
    a, b = fill(memex, 2)
    done = run(memex, prunes=[Prune(a.id, 0.1)])
    later = done.at_ms + 31 * 86_400_000
    memex.purge(later)
    assert memex.runs() == [] and list(memex.core.store.history.of(a.id.bytes)) == []
    with pytest.raises(GraphQueryError):
        memex.undo(done.undo_token)
    assert memex.get(b.id) is not None


# For any store and any plan


def _store_of(memex: Memex, rng: random.Random) -> list[UUID]:
    nodes = [
        memex.store(
            f"note {n} about {rng.choice('abc')}",
            rationale=WHY,
            importance=rng.random(),
            session_id=rng.choice([None, "one", "two"]),
            tags=rng.sample(["x", "y", "z"], rng.randrange(3)),
            occurred_at_ms=rng.randrange(10**12),
        ).id
        for n in range(12)
    ]
    for _ in range(rng.randrange(25)):
        one, other = rng.sample(nodes, 2)
        memex.link(one, other, rng.choice(RELATIONS), weight=rng.random())
    memex.touch(rng.choices(nodes, k=8))
    memex.forget(nodes.pop(), reason="before")
    return nodes


def _changes(memex: Memex, nodes: list[UUID], rng: random.Random) -> dict[str, list[object]]:
    order = rng.sample(nodes, len(nodes))
    merges: list[object] = []
    for _ in range(rng.randrange(4)):
        size = rng.randrange(2, 4)
        taken, order = order[:size], order[size:]
        if len(taken) == size:
            merges.append(Merge(taken[0], tuple(taken[1:]), 0.97))
    prunes: list[object] = [Prune(one, rng.random() * 0.3) for one in order[: rng.randrange(3)]]
    edges = list(memex.all_edges())
    weighed = rng.sample(edges, min(len(edges), rng.randrange(4)))
    reweights: list[object] = [Reweight(edge.id, edge.weight, rng.random()) for edge in weighed]
    links: list[object] = [
        NewLink(*rng.sample(nodes, 2), rng.choice(RELATIONS), 0.3, 0.5, "test")
        for _ in range(rng.randrange(4))
    ]
    return {"merges": merges, "prunes": prunes, "reweights": reweights, "links": links}


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**32))
def test_a_dry_run_is_the_run_and_undo_restores_every_byte(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """D5.3: item for item; undo and its undoing go to and fro between two states, edges and figures too."""
    rng = random.Random(seed)
    with open_memex(tmp_path_factory.mktemp("any") / "store") as memex:
        nodes = _store_of(memex, rng)
        before = raw(memex), exported(memex)
        changes = _changes(memex, nodes, rng)
        dry = prepared_of(memex, **changes)
        assert (raw(memex), exported(memex)) == before, "a dry run writes nothing"
        done = commit(memex, prepared_of(memex, **changes))
        assert (
            done.plan == dry.plan
            and done.final_memory_count == dry.result().final_memory_count
            and done.skipped == ()
        )
        after = raw(memex), exported(memex)
        judge(memex)
        if done.undo_token is None:
            assert after == before
            return
        undone = memex.undo(done.undo_token)
        assert undone.kept == () and (raw(memex), exported(memex)) == before
        judge(memex)
        memex.undo(undone.token)
        assert (raw(memex), exported(memex)) == after
        judge(memex)


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 2**32))
def test_whatever_happens_in_between_the_store_stays_whole(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = random.Random(seed)
    with open_memex(tmp_path_factory.mktemp("any") / "store") as memex:
        nodes = _store_of(memex, rng)
        prepared = prepared_of(memex, **_changes(memex, nodes, rng))
        _anything(memex, nodes, rng)
        done = commit(memex, prepared)
        judge(memex)
        _anything(memex, nodes, rng)
        if done.undo_token is not None:
            memex.undo(done.undo_token)
        judge(memex)
        ends = {one.node.id for one in memex.stored_after()}
        slots = [(edge.source_id, edge.target_id, edge.relationship_type) for edge in memex.all_edges()]
        assert len(set(slots)) == len(slots)
        for edge in memex.all_edges():
            assert {edge.source_id, edge.target_id} <= ends and edge.source_id != edge.target_id
            found = memex.core.store.edges.find(
                edge.source_id.bytes, edge.target_id.bytes, edge.relationship_type
            )
            assert found == edge


def _anything(memex: Memex, nodes: list[UUID], rng: random.Random) -> None:
    """A few changes and uses, none of them by the run."""
    for _ in range(rng.randrange(5)):
        one, other = rng.sample(nodes, 2)
        edges = [edge.id for edge in memex.all_edges()]
        if memex.stored(one) is None:
            continue
        kind = rng.randrange(8)
        if kind < 3 and edges:
            edge = rng.choice(edges)
            (memex.unlink, lambda it: memex.traverse([it], 0.5), memex.unlink)[kind](edge)
        elif kind == 3:
            memex.forget(one, reason="between")
        elif kind == 4:
            memex.restore(one)
        elif kind == 5 and rng.random() < 0.3:
            memex.forget(one, soft=False, reason="user_requested")
        else:
            _change_live(memex, one, other, rng)


def _change_live(memex: Memex, one: UUID, other: UUID, rng: random.Random) -> None:
    memex.touch([one])
    node = memex.get(one)
    if node is not None and memex.get(other) is not None:
        memex.update([replace(node, importance=rng.random())])
        memex.link(one, other, rng.choice(RELATIONS))
