"""A store that lost a table, any of them, is repaired to one that works: what can be is made anew, what is
lost is counted and said."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.integration.memory.test_reindex import Backwards
from tests.support.consolidation import Merge, Prune, judge, run
from tests.support.memories import WHY, break_record, fill, open_memex
from tests.support.store import damage, noise
from tests.support.store import run as run_python

from context_graph.memory.embed import default_provider
from context_graph.memory.memex import Memex
from context_graph.memory.writing import text_to_embed
from context_graph.store.layout import (
    EDGES,
    EMBEDDINGS,
    INDEX,
    LOG,
    MEMORY_FAMILIES,
    META,
    NODES,
    SYSTEM,
    embedding_key,
)
from context_graph.store.schema import open_database

MEMORIES = 120
FORGOTTEN = 3
WORDS = ("harbour", "turbine", "lantern", "orchard", "velvet", "granite", "compass", "thistle")


def content(number: int) -> str:
    return f"the {WORDS[number % 8]} of gate {number} is checked by the {WORDS[(number // 8) % 8]} crew"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with memories, links, uses, a consolidation and forgotten ones: each family has a table."""
    folder = tmp_path_factory.mktemp("sound") / "store"
    with open_memex(folder) as memex:
        nodes = memex.store_many([{"content": content(n), "rationale": WHY} for n in range(MEMORIES)])
        for one, other in pairwise(nodes[:10]):
            memex.link(one.id, other.id)
        memex.touch([node.id for node in nodes[:20]])
        extra = fill(memex, 4)
        run(memex, merges=[Merge(extra[0].id, (extra[1].id,), 0.97)], prunes=[Prune(extra[2].id, 0.1)])
        memex.forget(extra[3].id, reason="by hand")
    engine = open_database(folder / "db")
    for family in engine.families:
        engine.compact_range(family, b"", b"\xff" * 20)
    engine.close()
    return folder


def table_of(db: Path, family: str) -> Path:
    """The largest table of a family, as RocksDB lists them: number, bytes, keys."""
    engine = open_database(db, read_only=True)
    listed = re.findall(r"^ (\d+):(\d+)\[", engine.property(family, "rocksdb.sstables") or "", re.MULTILINE)
    engine.close()
    number, _ = max(listed, key=lambda one: int(one[1]))
    return db / f"{int(number):06d}.sst"


def _gone(table: Path) -> None:
    table.unlink()


def _cut(table: Path) -> None:
    damage(table, table.stat().st_size // 2, cut=True)


def _flipped(table: Path) -> None:
    for part in range(1, 8):
        damage(table, part * table.stat().st_size // 8)


def _noise(table: Path) -> None:
    table.write_bytes(noise(table.stat().st_size))


HOWS: tuple[Callable[[Path], None], ...] = (_gone, _cut, _flipped, _noise)
LOSSES = [
    pytest.param(family, how, marks=() if (place + turn) % len(HOWS) == 0 else pytest.mark.thorough)
    for place, family in enumerate((SYSTEM, *MEMORY_FAMILIES))
    for turn, how in enumerate(HOWS)
]
"""Each family with each damage; `make test` takes one of each family, and each damage several times."""


_SALVAGE = """
    import dataclasses, json, sys
    from context_graph.store.salvage.repair import salvage
    print(json.dumps(dataclasses.asdict(salvage(sys.argv[1], sys.argv[2], "all"))))
"""


def repaired(sound: Path, tmp_path: Path, family: str, how: Callable[[Path], None]) -> dict[str, Any]:
    """A copy of the store with that table damaged, repaired, and put in its own place."""
    shutil.copytree(sound, tmp_path / "store")
    db = tmp_path / "store" / "db"
    how(table_of(db, family))
    saved = tmp_path / "store" / "saved"
    # In a process of its own, as the command does it: this one's cache knows the blocks as they were.
    done = run_python(_SALVAGE, db, saved)
    assert done.returncode == 0, done.stderr
    db.rename(tmp_path / "damaged")
    saved.rename(db)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def works(memex: Memex, *, whole_log: bool = True) -> None:
    """Everything that a user does."""
    made = memex.store("the anemometer on the mast was replaced in spring", rationale=WHY)
    assert memex.recall("anemometer mast").nodes[0].node.id == made.id
    for node in memex.list(limit=1000).nodes:
        assert memex.get(node.id) == node
        expected = default_provider().encode(text_to_embed(node)).embedding
        assert memex.embedding_at(node.commit_seq) == expected
    memex.touch([made.id])
    if memex.count() > 1:
        other = next(node for node in memex.list(limit=2).nodes if node.id != made.id)
        memex.link(made.id, other.id)
        done = run(memex, prunes=[Prune(other.id, 0.1)])
        assert memex.undo(done.undo_token).restored == 1
    memex.forget(made.id, soft=False, reason="user_requested")
    assert memex.metrics() and memex.status()
    judge(memex, whole_log=whole_log)


@pytest.mark.parametrize(("family", "how"), LOSSES)
def test_a_store_that_lost_a_table_works_again(
    sound: Path, tmp_path: Path, family: str, how: Callable[[Path], None]
) -> None:
    report = repaired(sound, tmp_path, family, how)
    with open_memex(tmp_path / "store") as memex:
        lost = _lost(report)
        if family in (INDEX, EMBEDDINGS):
            assert report["complete"], "all of it is made anew from the rest"
        if family == NODES:
            assert not report["complete"]
            assert lost > 0 and memex.count() <= MEMORIES + 4 - lost, report
        else:
            assert (lost, memex.count()) == (0, MEMORIES + 1), report
            for number in range(0, MEMORIES, 7):
                found = memex.recall(content(number)).nodes
                assert content(number) in [hit.node.content for hit in found]
        works(memex, whole_log=family != LOG)
    with open_memex(tmp_path / "store") as memex:
        works(memex, whole_log=family != LOG)


def _lost(report: dict[str, Any]) -> int:
    """How many memories the repair says are lost."""
    found = (re.match(r"(\d+) memories are lost", note) for note in report["notes"])
    return sum(int(one[1]) for one in found if one)


def test_what_is_lost_is_counted(sound: Path, tmp_path: Path) -> None:
    report = repaired(sound, tmp_path, NODES, _gone)
    assert not report["complete"] and NODES in {one["family"] for one in report["unreadable"]}
    assert _lost(report) == MEMORIES + 4


@pytest.mark.parametrize("family", [EDGES, EMBEDDINGS])
def test_lost_links_and_vectors_are_counted(sound: Path, tmp_path: Path, family: str) -> None:
    notes = repaired(sound, tmp_path, family, _gone)["notes"]
    text = "9 links are lost" if family == EDGES else f"{MEMORIES + 4} memories have lost their vector"
    assert any(text in note for note in notes), notes


def test_reindex_makes_lost_vectors(sound: Path, tmp_path: Path) -> None:
    """Also with the provider that the store has already, and only those that are lost."""
    repaired(sound, tmp_path, EMBEDDINGS, _gone)
    with open_memex(tmp_path / "store") as memex:
        assert memex.reindex(default_provider()) == MEMORIES + 4
        assert memex.reindex(default_provider()) == 0
        works(memex)


def test_a_damaged_vector_silences_no_recall(tmp_path: Path) -> None:
    with open_memex(tmp_path / "store") as memex:
        nodes = memex.store_many([{"content": content(n), "rationale": WHY} for n in range(5)])
    (tmp_path / "store" / "memory.index").unlink()
    for node in (nodes[1], nodes[4]):
        break_record(tmp_path / "store", EMBEDDINGS, embedding_key(node.commit_seq))
    with open_memex(tmp_path / "store") as memex:
        for number in range(5):
            assert memex.recall(content(number)).nodes[0].node.id == nodes[number].id
        works(memex)


def test_vectors_of_a_later_provider_are_not_taken_for_another_s(sound: Path, tmp_path: Path) -> None:
    """The facts about the store say which set of vectors is in use, and whose they are."""
    shutil.copytree(sound, tmp_path / "later")
    with open_memex(tmp_path / "later") as memex:
        memex.reindex(Backwards())
    engine = open_database(tmp_path / "later" / "db")
    for family in (META, EMBEDDINGS):
        engine.compact_range(family, b"", b"\xff" * 20)
    engine.close()
    report = repaired(tmp_path / "later", tmp_path, META, _gone)
    assert any("what made the vectors" in note for note in report["notes"])
    with open_memex(tmp_path / "store") as memex:
        works(memex)
