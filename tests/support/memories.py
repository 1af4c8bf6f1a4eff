"""Memories for tests: a library store that opens fast, texts, and a redactor of our own rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from context_graph.config.settings import MemoryConfig
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode
from context_graph.redact import Redactor
from context_graph.store.schema import open_database

WHY = "kept because a test needs it"
REDACTOR = Redactor()
"""Without the imported rules, which take a helper process to load."""


def open_memex(folder: Path, **config: Any) -> Memex:
    """The store in ``folder``; keyword arguments are MemoryConfig's, and ``durability``."""
    durability = config.pop("durability", "normal")
    return Memex.open(folder, redactor=REDACTOR, durability=durability, config=MemoryConfig(**config))


def fill(memex: Memex, count: int, *, start: int = 0, **given: Any) -> list[MemoryNode]:
    """That many memories, in batches."""
    made: list[MemoryNode] = []
    for at in range(start, start + count, 500):
        items = [
            {"content": f"memory number {n} about subject {n % 7}", "rationale": WHY, **given}
            for n in range(at, min(at + 500, start + count))
        ]
        made += memex.store_many(items)
    return made


def by_pages(memex: Memex, size: int) -> list[MemoryNode]:
    """All memories, newest first, in pages of ``size``."""
    page = memex.list(limit=size)
    nodes = list(page.nodes)
    while page.next_cursor is not None:
        page = memex.list(page.next_cursor, limit=size)
        nodes += page.nodes
    return nodes


def again(memex: Memex, folder: Path) -> Memex:
    """The store ``folder``/store, closed and opened once more."""
    memex.close()
    return open_memex(folder / "store")


def break_record(folder: Path, family: str, key: bytes, record: bytes | None = None) -> None:
    """Replace a record behind the store's back, by default by one with a flipped bit."""
    engine = open_database(folder / "db")
    there = bytearray(engine.get(family, key) or b"")
    if there:
        there[len(there) // 2] ^= 1
    engine.put(family, key, bytes(there) if record is None else record)
    engine.close()


def figures(memex: Memex) -> tuple[int, dict[bytes, int], list[UUID]]:
    """What a store's metrics keep of its memories: how many, their links, and those that hang alone."""
    metrics = memex.core.derived.metrics
    return metrics._memories, dict(metrics._links), sorted(metrics._alone())
