"""A consolidation by library: what it does to a real store, and that a dry run says exactly that before."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.consolidation import FACTS, planted
from tests.support.memories import WHY, fill, open_memex

from context_graph.consolidation.consolidate import consolidate
from context_graph.consolidation.messages import Consciousness, ModeNotAllowedError, leftovers
from context_graph.consolidation.plan import Mode
from context_graph.consolidation.progress import Cancelled, Update
from context_graph.errors import InvalidParamsError
from context_graph.memory.memex import Memex


@pytest.mark.parametrize("mode", list(Mode))
def test_duplicates_become_one_and_empty_words_go(memex: Memex, mode: Mode) -> None:
    known = planted(memex)
    result = consolidate(memex, mode)
    made = result.as_dict()
    assert (made["mode"], made["requested_mode"]) == (mode.value, mode.value)
    assert (made["merged_count"], made["pruned_count"]) == (2, 3)
    assert made["final_memory_count"] == len(FACTS) == memex.count()
    assert {merge["survivor"] for merge in made["merged"]} == {str(one) for one in known["facts"][:2]}
    assert {one["node_id"] for one in made["pruned"]} == {str(one) for one in known["empty"]}
    for one in (*known["duplicates"], *known["empty"]):
        assert memex.get(one) is None
    for one in known["facts"]:
        assert memex.get(one) is not None
    assert leftovers(memex.core.folder) == []
    again = consolidate(memex, mode)
    assert again.as_dict()["merged_count"] == again.as_dict()["pruned_count"] == 0


@pytest.mark.parametrize("mode", list(Mode))
def test_a_dry_run_is_the_real_run_without_the_change(memex: Memex, mode: Mode) -> None:
    planted(memex)
    before = memex.seq
    dry = consolidate(memex, mode, dry_run=True)
    assert memex.seq == before
    assert dry.undo_token is None
    real = consolidate(memex, mode)
    differing = {"duration_ms", "dry_run", "undo_token"}
    one, other = dry.as_dict(), real.as_dict()
    assert {key: one[key] for key in one.keys() - differing} == {
        key: other[key] for key in other.keys() - differing
    }
    assert (one["dry_run"], other["dry_run"]) == (True, False)
    assert "undo_token" not in one
    assert other["undo_token"] == str(real.undo_token)


def test_what_a_run_did_is_undone(memex: Memex) -> None:
    known = planted(memex)
    result = consolidate(memex, "deep")
    assert result.undo_token is not None
    memex.undo(result.undo_token)
    assert memex.count() == sum(map(len, known.values()))
    assert all(memex.get(one) for ids in known.values() for one in ids)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("count", [0, 1, 2])
def test_an_empty_or_tiny_store_has_nothing_to_do(memex: Memex, mode: Mode, count: int) -> None:
    fill(memex, count)
    before = memex.seq
    result = consolidate(memex, mode)
    assert result.undo_token is None
    assert memex.seq == before
    made = result.as_dict()
    assert made["notes"][0].startswith("There was nothing to do")
    assert made["final_memory_count"] == count
    assert made["new_patterns"] == made["merged"] == made["pruned"] == made["goals"] == []


def test_c_gates_the_modes(memex: Memex) -> None:
    planted(memex)
    drowsy = Consciousness(0.9, 0.9, 0.5, 0.405)
    result = consolidate(memex, "rem", dry_run=True, consciousness=drowsy).as_dict()
    assert (result["mode"], result["requested_mode"]) == ("deep", "rem")
    assert result["consciousness"]["dream_state"] == "Drowsy"
    assert "rem was asked for" in result["notes"][0]
    with pytest.raises(ModeNotAllowedError):
        consolidate(memex, "rem", consciousness=drowsy, strict=True)
    assert consolidate(memex, "rem", dry_run=True).mode is Mode.REM


@pytest.mark.parametrize("stage", ["reading", "duplicates", "salience", "clusters", "links", "goals"])
def test_a_run_that_is_cancelled_changes_nothing(memex: Memex, stage: str) -> None:
    planted(memex)
    fill(memex, 30, start=100)
    before = memex.seq

    def stop(update: Update) -> None:
        if update.stage == stage:
            raise Cancelled("the user pressed a key")

    with pytest.raises(Cancelled):
        consolidate(memex, "rem", progress=stop)
    assert memex.seq == before
    assert leftovers(memex.core.folder) == []


def test_the_store_is_free_while_it_works_and_what_changed_meanwhile_is_left_alone(memex: Memex) -> None:
    known = planted(memex)
    seen: list[str] = []

    def use(update: Update) -> None:
        if update.stage == "duplicates" and not seen:
            seen.append("used")
            memex.store("Stored while the store was consolidated", rationale=WHY)
            memex.forget(known["duplicates"][0])
            memex.touch(known["facts"])

    result = consolidate(memex, "light", progress=use)
    assert seen
    made = result.as_dict()
    assert made["merged_count"] == 1
    assert made["skipped_count"] == 1
    assert made["final_memory_count"] == memex.count() == len(FACTS) + 1
    assert memex.recall("stored while consolidated").nodes


def test_the_newest_only_and_a_threshold(memex: Memex) -> None:
    planted(memex)
    few = consolidate(memex, "light", max_memories=3, dry_run=True).as_dict()
    assert (few["considered_count"], few["memory_count"]) == (3, len(FACTS) + 5)
    assert (few["merged_count"], few["pruned_count"]) == (0, 3)
    assert any("newest 3" in note for note in few["notes"])
    none = consolidate(memex, "light", salience_threshold=0.0, dry_run=True).as_dict()
    assert none["pruned_count"] == 0


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"mode": "deeper"}, "mode"),
        ({"salience_threshold": 1.01}, "salience_threshold"),
        ({"max_memories": -1}, "max_memories"),
    ],
)
def test_a_wrong_argument_is_named(memex: Memex, given: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidParamsError) as refused:
        consolidate(memex, **given)  # type: ignore[arg-type]
    assert refused.value.parameter == field
    assert leftovers(memex.core.folder) == []


def test_what_a_dead_process_left_is_removed(memex: Memex) -> None:
    left = memex.core.folder / "dream" / "1-dead"
    left.mkdir(parents=True)
    (left / "prepared").write_bytes(b"half")
    consolidate(memex, "light")
    assert not left.exists()


@pytest.mark.parametrize("config", ["wal_dir", "no_wal"])
def test_logs_elsewhere_or_nowhere(tmp_path: Path, config: str) -> None:
    """What is not in a table yet is in the checkpoint all the same."""
    given = {"wal_dir": tmp_path / "logs"} if config == "wal_dir" else {"wal": False}
    with open_memex(tmp_path / "store", **given) as memex:
        planted(memex)
        made = consolidate(memex, "light").as_dict()
        assert (made["merged_count"], made["pruned_count"]) == (2, 3)
    with open_memex(tmp_path / "store", **given) as memex:
        assert memex.count() == len(FACTS)


def test_vectors_of_another_generation(memex: Memex) -> None:
    """After a change of provider the snapshot has the vectors in use, not those before."""
    planted(memex)
    with memex.core.operation("vectors", writes=True) as core:
        vectors = core.store.vectors
        known = list(vectors.after())
        vectors.begin({"name": "zeros", "digest": "0", "dim": 1536})
        vectors.put_beside([(seq, bytes(len(embedding))) for seq, embedding in known], known[-1][0])
        vectors.switch()
    made = consolidate(memex, "light", salience_threshold=0.0).as_dict()
    assert made["merged_count"] == 0
    assert made["considered_count"] == len(known)
