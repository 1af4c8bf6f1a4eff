"""The families that a store's memory is in, and the marker that says that they are all there.

A store has them from the first use of its memory on; one of the layout before lacks some until it is opened
for writing.
"""

from __future__ import annotations

import time
from contextlib import suppress

from context_graph.errors import StoreError
from context_graph.store.engine import Engine
from context_graph.store.failures import damaged_database
from context_graph.store.graph_layout import (
    HISTORY,
    LAYOUT_1_FAMILIES,
    MEMORY_FAMILIES,
    MEMORY_KEY,
    MEMORY_LAYOUT,
)
from context_graph.store.history_layout import BEGUN_KEY, encode_begun
from context_graph.store.layout import FORMAT_KEY, FORMAT_VERSION, SYSTEM

__all__ = ["gain_memory", "has_memory", "keeps_history"]


def has_memory(engine: Engine) -> bool:
    """Whether this store's memory has been used, so that its families are there. One lookup."""
    return engine.get(SYSTEM, MEMORY_KEY) is not None


def keeps_history(engine: Engine) -> bool:
    """Whether its memory is of the present layout, in which what changes overwrite is kept. One lookup."""
    return engine.get(SYSTEM, MEMORY_KEY) == MEMORY_LAYOUT


def gain_memory(engine: Engine) -> None:
    """Make those of the families of `graph_layout` that this store does not have yet.

    The marker in ``system`` comes last, after all of them are on the disk: a crash in between leaves a
    store that has no memory yet, or one of the layout before, with empty families that the next call
    takes over.

    Raises:
        DatabaseCorruptionError: Records are there without the marker: it was lost, nothing is made anew.
        StoreError: Read-only, or the write failed.
    """
    there = engine.get(SYSTEM, MEMORY_KEY)
    if there == MEMORY_LAYOUT:
        return
    if engine.read_only:
        raise StoreError(f"{engine.path} has no memories yet; open it once for writing")
    try:
        _make_missing(engine, there)
    except StoreError:
        # RocksDB writes no more after a failed write, and a family that it could not finish may be there all
        # the same: opened again it says what is there, and the next call goes on from that.
        with suppress(StoreError):
            engine.reopen()
        raise


def _make_missing(engine: Engine, there: bytes | None) -> None:
    """The families that layout ``there`` lacks, then the marker."""
    missing = [family for family in MEMORY_FAMILIES if there is None or family not in LAYOUT_1_FAMILIES]
    for family in missing:
        if family not in engine.families:
            engine.create_family(family)
        elif any(key not in (FORMAT_KEY, BEGUN_KEY) for key, _ in engine.scan(family)):
            raise damaged_database(
                f"{family!r} holds records, but the store's memory marker is gone", engine.path
            )
    for family in missing:
        engine.put(family, FORMAT_KEY, str(FORMAT_VERSION).encode())
        engine.flush(family)
    engine.put(HISTORY, BEGUN_KEY, encode_begun(time.time_ns() // 1_000_000))
    engine.put(SYSTEM, MEMORY_KEY, MEMORY_LAYOUT)
    engine.flush(SYSTEM)
    engine.write_seal()
