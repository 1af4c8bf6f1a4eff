"""A store in which a consolidation has something of each kind to do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from tests.memory_support import WHY

from context_graph.memory.memex import Memex

DAY_MS = 86_400_000

FACTS = (
    "The deploy of the orders service runs from the main branch through the release workflow",
    "Backups of the billing database are written to the cold bucket every night by the cron host",
    "The parser keeps comments because the formatter must print them where they stood",
    "Alice prefers short answers with the command first and the reason after it",
    "Cache entries of the catalogue expire when the price list changes, never by age",
    "The integration tests start a real broker since a fake one hid the reordering bug",
    "Access tokens of the gateway rotate through the vault and are never written to logs",
    "The search index is rebuilt from the event log after a change of the analyser",
)
CAUSES = (
    ("The connection pool was too small for the nightly import", "the nightly import timed out"),
    ("The nightly import timed out because the connection pool was too small", "retries piled up"),
)
EMPTY = ("ok thanks", "hello", "great, thank you!")


def planted(memex: Memex, *, days: int = 10) -> dict[str, list[UUID]]:
    """Facts, duplicates of the first two of them by case and spaces, and words that say nothing."""
    at_ms = time.time_ns() // 1_000_000 - days * DAY_MS

    def keep(texts: Sequence[str], **given: object) -> list[UUID]:
        items = [
            {"content": text, "rationale": WHY, "occurred_at_ms": at_ms + number, **given}
            for number, text in enumerate(texts)
        ]
        return [node.id for node in memex.store_many(items)]

    return {
        "facts": keep(FACTS),
        "duplicates": keep([FACTS[0].upper(), f"  {FACTS[1]}.  "], importance=0.25),
        "empty": keep(EMPTY, importance=0.1),
    }


def folders(store: Path) -> list[Path]:
    """What runs left in the store's folder."""
    return sorted((store / "dream").glob("*"))
