"""Consolidations for tests: a store with something of each kind to do, plans, and all that a store holds."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tests.support.memories import WHY, figures

from context_graph.consolidation.commit import Prepared, Result, commit
from context_graph.consolidation.plan import Merge, Mode, NewLink, Plan, Prune, Reweight
from context_graph.consolidation.prepare import prepare
from context_graph.memory.memex import Memex
from context_graph.memory.metrics.metrics import FACT
from context_graph.store import layout
from context_graph.store.layout import FORMAT_KEY

__all__ = [
    "FACTS",
    "FAMILIES",
    "Merge",
    "NewLink",
    "Prune",
    "Reweight",
    "exported",
    "judge",
    "plan_of",
    "planted",
    "prepared_of",
    "raw",
    "run",
]

FAMILIES = (
    *(layout.NODES, layout.EMBEDDINGS, layout.ACCESS, layout.EDGES),
    *(layout.INDEX, layout.TOMBSTONES, layout.META),
)
"""Those that an undo must leave as they were; log and history go on."""

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


def plan_of(memex: Memex, **changes: Any) -> Plan:
    """A deep plan of the store as it is now."""
    count = memex.count()
    given = {name: tuple(items) for name, items in changes.items()}
    return Plan(
        mode=Mode.DEEP, seq=memex.seq, taken_ms=1_800_000_000_000, memories=count, considered=count, **given
    )


def prepared_of(memex: Memex, facts: dict[str, Any] | None = None, **changes: Any) -> Prepared:
    """As the process beside the owner hands it over."""
    made = prepare(memex.core.store, plan_of(memex, **changes), facts=facts)
    return Prepared.from_bytes(made.to_bytes())


def run(memex: Memex, **changes: Any) -> Result:
    """A plan, prepared and committed."""
    return commit(memex, prepared_of(memex, **changes))


PAST = FACT.encode()
"""What pulses asked for, which is not undone."""


def raw(memex: Memex) -> dict[tuple[str, bytes], bytes]:
    """Every record of the store that a user could see the effect of."""
    engine = memex.core.store.engine
    return {
        (family, key): record
        for family in FAMILIES
        for key, record in engine.scan(family)
        if key not in (FORMAT_KEY, layout.COUNTERS_KEY, PAST)
    }


def exported(memex: Memex) -> bytes:
    """The store as an export tells it, embeddings included."""
    out = io.BytesIO()
    memex.export(out, embeddings=True)
    return out.getvalue()


def judge(memex: Memex, *, whole_log: bool = True) -> None:
    """Counters, secondary keys, index and figures are those that the records make.

    Args:
        whole_log: The change log has all entries; after the loss of its table it hasn't.
    """
    store = memex.core.store
    counters = store.counters
    assert store.recount() == counters
    changes = list(store.changes_after(0))
    assert not whole_log or [one.seq for one in changes] == list(range(1, counters.seq + 1))
    live = {one.node.id for one in store.in_order() if not one.deleted}
    listed = memex.list(limit=1000).nodes
    assert {node.id for node in listed} == live and len(listed) == counters.nodes
    kept, before = memex.core.derived.index.rows, figures(memex)
    rows = {kept.id_of(row): row for row in range(len(kept)) if kept.live[row]}
    assert {node.id.bytes for node in listed} == set(rows)
    for node in listed:
        row = rows[node.id.bytes]
        assert (kept.created[row], kept.importance[row]) == (node.created_at_ms, node.importance)
        assert {tag for tag, tagged in kept.tags.items() if row in tagged} == set(node.tags)
    memex.core.forget_derived()
    (store.path.parent / "memory.index").unlink(missing_ok=True)
    (store.path.parent / "memory.figures").unlink(missing_ok=True)
    anew = figures(memex)
    assert len(memex.core.derived.index) == len(rows)
    assert anew == before
