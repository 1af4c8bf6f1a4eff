"""Describes a store's column families to the engine, and creates those of its memory on first use.

Sessions are small. Memories come in at 7 KB each, most of it a vector that does not compress: larger buffers,
no compression of vectors.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final

from context_graph.errors import StoreError
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.failures import damaged_database
from context_graph.store.engine.tuning import DEFAULT_TUNING, MIB, FamilyTuning, Schema, Tuning
from context_graph.store.layout import (
    BEGUN_KEY,
    EMBEDDINGS,
    FAMILIES,
    FORMAT_KEY,
    FORMAT_VERSION,
    HISTORY,
    MEMORY_FAMILIES,
    MEMORY_KEY,
    MEMORY_LAYOUT,
    NODES,
    SYSTEM,
    wrap,
)

_MEMORY: Final = FamilyTuning(2 * MIB, table_bytes=16 * MIB, level_bytes=64 * MIB, large=True)
STORE: Final = Schema(
    families=FAMILIES,
    format_key=FORMAT_KEY,
    format_version=str(FORMAT_VERSION).encode(),
    marker_family=SYSTEM,
    markers={MEMORY_KEY: {MEMORY_LAYOUT: MEMORY_FAMILIES}},
    tuning={
        **dict.fromkeys(MEMORY_FAMILIES, _MEMORY),
        NODES: _MEMORY._replace(buffer_bytes=4 * MIB),
        EMBEDDINGS: _MEMORY._replace(buffer_bytes=8 * MIB, compressed=False),
    },
)


def open_database(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    read_only: bool = False,
    tuning: Tuning = DEFAULT_TUNING,
) -> Engine:
    """Open a store's database folder ``path``; arguments and errors as Engine.open."""
    return Engine.open(path, STORE, create=create, read_only=read_only, tuning=tuning)


def has_memory(engine: Engine) -> bool:
    """Return whether this store's memory has been used, so that its families are there. One lookup."""
    return engine.get(SYSTEM, MEMORY_KEY) is not None


def gain_memory(engine: Engine) -> None:
    """Make the families of memories, if this store does not have them yet.

    The marker in ``system`` comes last, after all of them are on the disk: a crash in between leaves a store
    that has no memory yet, with empty families that the next call takes over.
    Raises DatabaseCorruptionError if records are there without the marker: it was lost, nothing is made anew.
    Raises StoreError: Read-only, or the write failed.
    """
    if has_memory(engine):
        return
    if engine.read_only:
        raise StoreError(f"{engine.path} has no memories yet; open it once for writing")
    try:
        _make_families(engine)
    except StoreError:
        # After a failed write RocksDB refuses all others, and a family that it could not finish may be there.
        # Opened again it says what is there; the next call goes on from that.
        with suppress(StoreError):
            engine.reopen()
        raise


def _make_families(engine: Engine) -> None:
    """Make the families, then the marker."""
    for family in MEMORY_FAMILIES:
        if family not in engine.families:
            engine.create_family(family)
        elif any(key not in (FORMAT_KEY, BEGUN_KEY) for key, _ in engine.scan(family)):
            raise damaged_database(
                f"{family!r} holds records, but the store's memory marker is gone", engine.path
            )
    for family in MEMORY_FAMILIES:
        engine.put(family, FORMAT_KEY, STORE.format_version)
        engine.flush(family)
    begun_ms = time.time_ns() // 1_000_000
    engine.put(HISTORY, BEGUN_KEY, wrap(BEGUN_KEY, 1, begun_ms.to_bytes(8, "little")))
    engine.put(SYSTEM, MEMORY_KEY, MEMORY_LAYOUT)
    engine.flush(SYSTEM)
    engine.write_seal()
