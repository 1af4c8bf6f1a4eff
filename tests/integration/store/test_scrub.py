"""Deletions for good leave few tables behind, on the disk and in the process's memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.memories import WHY, open_memex

from context_graph.store.engine.engine import Engine
from context_graph.store.graph.scrub import MERGE_EVERY, RUN_TABLES, SMALL_BYTES, merge_small_tables, tables
from context_graph.store.layout import LOG, seq_key
from context_graph.store.schema import gain_memory, open_database


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = open_database(tmp_path / "db")
    gain_memory(opened)
    yield opened
    opened.close()


def add_tables(engine: Engine, first: int, count: int, size: int = 20) -> list[bytes]:
    """A table below level 0 for each of ``count`` records from ``first`` on; the records."""
    records = []
    for seq in range(first, first + count):
        records.append(os.urandom(size))
        engine.put(LOG, seq_key(seq), records[-1])
        engine.compact_range(LOG, seq_key(seq), seq_key(seq))
    return records


def test_many_deletions_for_good_leave_a_few_tables(tmp_path: Path) -> None:
    memex = open_memex(tmp_path / "store")
    kept = memex.store("what stays", rationale=WHY)
    for number in range(MERGE_EVERY + 2):
        made = memex.store(f"what goes, number {number}", rationale=WHY)
        memex.forget(made.id, soft=False, reason="user_requested")
    memex.close()
    assert len(list((tmp_path / "store").rglob("*.sst"))) < 2 * MERGE_EVERY
    with open_memex(tmp_path / "store") as again:
        assert [stored.node.id for stored in again.stored_after()] == [kept.id]
        assert len(list(again.tombstones())) == MERGE_EVERY + 2


def test_a_run_of_small_tables_becomes_one_and_a_large_one_between_stays(engine: Engine) -> None:
    records = add_tables(engine, 1, RUN_TABLES)
    records += add_tables(engine, RUN_TABLES + 1, 1, 2 * SMALL_BYTES)
    records += add_tables(engine, RUN_TABLES + 2, RUN_TABLES)
    (large,) = (table for table in tables(engine, LOG) if table.size > SMALL_BYTES)
    assert merge_small_tables(engine) >= 2 * RUN_TABLES
    merged = tables(engine, LOG)
    assert large in merged
    assert len(merged) < RUN_TABLES
    assert [engine.get(LOG, seq_key(at + 1)) for at in range(len(records))] == records
    assert merge_small_tables(engine) == 0


def test_a_few_small_tables_are_left_alone(engine: Engine) -> None:
    add_tables(engine, 1, RUN_TABLES - 4)
    before = tables(engine, LOG)
    assert len(before) >= RUN_TABLES - 4
    assert merge_small_tables(engine) == 0
    assert tables(engine, LOG) == before
