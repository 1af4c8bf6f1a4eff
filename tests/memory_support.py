"""Memories for tests: a library store that opens fast, texts, and a redactor of our own rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from context_graph.config.memory import MemoryConfig
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode
from context_graph.redact import Redactor

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
