"""What changes overwrite is kept: histories, reads as of a time, its end, damage."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from rocksdict import Options, Rdict
from tests.support.consolidation import FAMILIES, Merge, Prune, judge, raw, run
from tests.support.memories import REDACTOR, WHY, fill, open_memex

from context_graph.errors import GraphQueryError, InvalidParamsError, MissingColumnFamilyError
from context_graph.memory.memex import Memex
from context_graph.store.graph.history import CHANGE_PREFIX
from context_graph.store.layout import FORMAT_KEY, HISTORY, after
from context_graph.store.salvage.repair import salvage
from context_graph.store.schema import open_database

DAY_MS = 86_400_000


def now_ms() -> int:
    """A moment that lies after everything before it and before everything after it."""
    time.sleep(0.002)
    at = time.time_ns() // 1_000_000
    time.sleep(0.002)
    return at


def whats(memex: Memex, node_id: UUID) -> list[str]:
    return [version.what for version in reversed(memex.history(node_id))]


# Histories


def test_a_history_tells_each_change_with_what_it_overwrote(memex: Memex) -> None:
    node = memex.store("the gateway retries twice", rationale=WHY, importance=0.4, tags=["net"])
    memex.update([replace(node, importance=0.9, tags=("net", "retry"))])
    memex.touch([node.id])
    memex.forget(node.id, reason="outdated")
    memex.restore(node.id)
    newest, forgotten, changed, added = memex.history(node.id)
    assert (added.what, added.seq, added.before) == ("added", node.commit_seq, {})
    assert changed.what == "changed"
    assert changed.before == {"importance": 0.4, "tags": ["net"]}
    assert changed.after == {"importance": 0.9, "tags": ["net", "retry"]}
    assert (forgotten.what, forgotten.reason, forgotten.before) == ("forgotten", "outdated", {})
    assert newest.what == "restored"
    times = [added.at_ms, changed.at_ms, forgotten.at_ms, newest.at_ms]
    assert times == sorted(times) and abs(times[-1] - now_ms()) < 60_000


def test_edges_are_part_of_it_and_traversals_are_not(memex: Memex) -> None:
    a, b = (node.id for node in fill(memex, 2))
    edge = memex.link(a, b, weight=0.5)
    memex.traverse([edge.id], 1.0)
    assert whats(memex, a) == ["added", "linked"]
    memex.link(a, b, weight=0.8)
    memex.unlink(edge.id)
    for end in (a, b):
        assert whats(memex, end) == ["added", "linked", "relinked", "unlinked"]
    unlinked, relinked, *_ = memex.history(a)
    assert relinked.edge is not None and unlinked.edge is not None
    assert (relinked.edge.weight, unlinked.edge.weight) == (0.5, 0.8)
    assert relinked.edge.traversal_count == 1


def test_a_consolidation_s_changes_name_it(memex: Memex) -> None:
    a, b, c = fill(memex, 3)
    memex.link(b.id, c.id)
    done = run(memex, merges=[Merge(a.id, (b.id,), 0.97)])
    merged = next(one for one in memex.history(b.id) if one.what == "merged")
    changed = next(one for one in memex.history(a.id) if one.what == "changed")
    assert (merged.what, merged.run, merged.reason) == ("merged", done.undo_token, f"merged into {a.id}")
    assert changed.run == done.undo_token and changed.before == {"metadata": {}}
    assert changed.after["metadata"]["merged_from"][0]["id"] == str(b.id)
    assert whats(memex, c.id) == ["added", "linked", "unlinked", "linked"]
    undone = memex.undo()
    restored = memex.history(b.id)
    assert [one.what for one in restored if one.run == undone.token] == ["linked", "restored"]


def test_a_history_is_bounded_and_its_arguments_are_checked(memex: Memex) -> None:
    node = fill(memex, 1)[0]
    for step in range(5):
        memex.update([replace(node, importance=step / 10)])
    assert [one.what for one in memex.history(node.id, limit=2)] == ["changed", "changed"]
    with pytest.raises(InvalidParamsError, match="limit"):
        memex.history(node.id, limit=0)
    with pytest.raises(GraphQueryError):
        memex.history(UUID(int=1))


# As of a time


def test_a_memory_is_read_as_it_was(memex: Memex) -> None:
    before = now_ms()
    a, b, c = fill(memex, 3)
    weak = memex.link(b.id, c.id, weight=0.2)
    first = now_ms()
    memex.update([replace(a, importance=0.9)])
    memex.link(b.id, c.id, weight=0.7)
    second = now_ms()
    run(memex, merges=[Merge(a.id, (b.id,), 0.97)], prunes=[Prune(c.id, 0.1)])
    third = now_ms()
    memex.undo()
    assert memex.as_of(a.id, before) is None
    for at, importance, text in ((first, 0.5, {}), (second, 0.9, {}), (now_ms(), 0.9, {})):
        then = memex.as_of(a.id, at)
        assert then is not None and not then.deleted and then.edges == ()
        assert (then.node.importance, then.node.metadata) == (importance, text)
    then = memex.as_of(b.id, first)
    assert then is not None and [edge.weight for edge in then.edges] == [0.2]
    then = memex.as_of(b.id, second)
    assert then is not None and [edge.weight for edge in then.edges] == [0.7]
    merged = memex.as_of(a.id, third)
    assert merged is not None and merged.node.metadata["merged_from"]
    assert [(edge.id, edge.source_id, edge.target_id) for edge in merged.edges] == [(weak.id, a.id, c.id)]
    gone = memex.as_of(b.id, third)
    assert gone is not None and gone.deleted and gone.edges == ()


def test_times_that_nothing_is_known_of_are_refused(memex: Memex) -> None:
    node = fill(memex, 1)[0]
    with pytest.raises(InvalidParamsError, match="still to come"):
        memex.as_of(node.id, now_ms() + DAY_MS)
    with pytest.raises(InvalidParamsError, match="before this store's history: it begins at 20"):
        memex.as_of(node.id, now_ms() - DAY_MS)
    assert memex.as_of(UUID(int=1), now_ms()) is None


# Its end


def test_what_is_deleted_for_good_has_no_history(memex: Memex) -> None:
    """Nothing of the text stays, neither in records nor in what they were."""
    node = memex.store("the launch word is xylophonist", rationale=WHY)
    other = fill(memex, 1)[0]
    edge = memex.link(node.id, other.id, metadata={"note": "xylophonist"})
    memex.link(node.id, other.id, weight=0.9)
    memex.update([replace(node, importance=0.9)])
    memex.forget(node.id, soft=False, reason="user_requested")
    for _, record in memex.core.store.engine.scan(HISTORY):
        assert b"xylophonist" not in record
    assert list(memex.core.store.history.of(edge.id.bytes)) == []
    assert whats(memex, other.id) == ["added"]
    assert list(memex.core.store.history.of(node.id.bytes)) == []


@pytest.mark.parametrize("restored", [False, True])
def test_what_was_merged_and_is_deleted_for_good_leaves_no_text(memex: Memex, restored: bool) -> None:
    """Neither in the survivor, nor in what that was merged into, nor on the disk."""
    lost = memex.store("the launch word is xylophonist", rationale=WHY)
    first, last, other = fill(memex, 3)
    run(memex, merges=[Merge(first.id, (lost.id, other.id), 0.97)])
    if restored:
        memex.restore(lost.id)
    done = run(memex, merges=[Merge(last.id, (first.id,), 0.97)])
    assert "xylophonist" in str(memex.get(last.id))
    memex.forget(lost.id, soft=False, reason="user_requested")
    node = memex.get(last.id)
    assert node is not None
    assert [one["id"] for one in node.metadata["merged_from"]] == [str(other.id), str(first.id)]
    for family in (*FAMILIES, HISTORY):
        for _, record in memex.core.store.engine.scan(family):
            assert b"xylophonist" not in record
    memex.flush()
    for file in (memex.core.store.path).glob("*.sst"):
        assert b"xylophonist" not in file.read_bytes()
    assert set(memex.undo(done.undo_token).kept) == {str(first.id), str(last.id)}
    judge(memex)


def test_it_ends_with_the_retention(memex: Memex) -> None:
    node = fill(memex, 1)[0]
    memex.update([replace(node, importance=0.9)])
    memex.purge(now_ms() + 29 * DAY_MS)
    assert whats(memex, node.id) == ["added", "changed"]
    memex.purge(now_ms() + 31 * DAY_MS)
    assert whats(memex, node.id) == ["added"]
    keys = [key for key, _ in memex.core.store.engine.scan(HISTORY)]
    assert sorted(keys) == [b"begun", FORMAT_KEY]
    with pytest.raises(InvalidParamsError, match="history"):
        memex.as_of(node.id, now_ms())


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_damaged_entry_keeps_no_other_from_being_purged(memex: Memex, place: int) -> None:
    node = memex.store("the port is 8443", rationale=WHY)
    for importance in (0.1, 0.2, 0.3):
        memex.update([replace(node, importance=importance)])
    engine, history = memex.core.store.engine, memex.core.store.history
    keys = [key for key, _ in engine.scan(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX))]
    assert len(keys) == 3
    engine.put(HISTORY, keys[place], b"no record")
    assert history.purge(now_ms() + 1) == 2
    memex.update([replace(node, importance=0.4)])
    assert history.purge(now_ms() + 2) == 1
    assert not list(engine.scan(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX)))


def test_a_purge_of_many_goes_in_batches(memex: Memex) -> None:
    nodes = fill(memex, 1100)
    run(memex, prunes=[Prune(node.id, 0.1) for node in nodes])
    memex.undo()
    later = fill(memex, 1)[0]
    assert memex.core.store.history.purge(now_ms() + 1) == 2202
    memex.update([replace(later, importance=0.9)])
    assert whats(memex, later.id) == ["added", "changed"]
    judge_count(memex, 1101)


def judge_count(memex: Memex, count: int) -> None:
    assert memex.count() == count == memex.core.store.recount().nodes


# Damage


def test_a_lost_family_is_reported_and_what_was_saved_can_be_undone(tmp_path: Path) -> None:
    with open_memex(tmp_path / "store") as memex:
        a, b, c = fill(memex, 3)
        memex.link(b.id, c.id)
        before = raw(memex)
        run(memex, merges=[Merge(a.id, (b.id,), 0.97)])
    db = tmp_path / "store" / "db"
    report = salvage(db, tmp_path / "saved" / "db", "all")
    assert report.unreadable_count == 0 and report.missing == []
    with Memex.open(tmp_path / "saved", redactor=REDACTOR) as memex:
        assert "merged" in whats(memex, b.id)
        assert memex.undo().restored == 1
        ignoring = [("memory_meta", b"uid")]
        assert {key: one for key, one in raw(memex).items() if key not in ignoring} == {
            key: one for key, one in before.items() if key not in ignoring
        }
    found = Rdict.list_cf(str(db))
    handle = Rdict(str(db), Options(raw_mode=True), {name: Options(raw_mode=True) for name in found})
    handle.drop_column_family(HISTORY)
    handle.close()
    (db / "seal.json").unlink()
    with pytest.raises(MissingColumnFamilyError, match=HISTORY):
        open_database(db)
