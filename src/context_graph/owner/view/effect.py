"""Rows of the effect: week by week what was told, what of it was used, which rules held, what it solved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.model.memory import MemoryNode
from context_graph.model.note import NoteKind, kind_of_memory
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.view.memories import one_line
from context_graph.text.meaning import Meaning, read_meaning
from context_graph.text.paraphrase import same
from context_graph.view.rows import Broken, Effect, Week

_ENTRIES: Final = 4096
"""More than the ledger keeps."""
_RULES: Final = 300
"""The newest, which are compared with each other."""
_STONES: Final = 2000
"""Forgotten memories that are looked through for rules that said the same."""
_BROKEN: Final = 50
_HELD, _FAILURE = "held", "failure"
"""Causes of the ledger: a call was refused for a rule; a failure that had been solved before came again."""
_NAMES: Final = ("memories", "used", "tokens", "rules", "broken", "solved")
_Entry = Mapping[str, Any]


class _Told(NamedTuple):
    """A rule that a session was told for the first time."""

    at_ms: int
    session_id: str
    rule_id: str


def effect_of(context: StoreContext) -> Effect:
    """Return what telling came to, by the kept entries of the ledger.

    A rule that a session was told is kept there unless it was broken again: a call was refused that went
    against it, or the user had to say it again later, in words that mean the same.

    Cost: some 5 ms for a full ledger, a read for each memory told, and some 10 us for each two rules.
    """
    if not context.uses_memory():
        return Effect(weeks=(), broken=())
    entries = context.memory_hooks.ledger.recent(_ENTRIES)[::-1]
    memex = context.memory
    with memex.uncounted():
        rules = _rules(memex, entries)
        tellings = list(_rules_told(entries, rules))
        broken = sorted((*_held(entries, rules), *_said_again(tellings, rules)), key=lambda row: row.at_ms)
    sums: dict[str, dict[str, int]] = {}

    def add(at_ms: int, name: str, count: int = 1) -> None:
        week = sums.setdefault(_monday(at_ms), dict.fromkeys(_NAMES, 0))
        week[name] += count

    for entry in entries:
        used = sum(bool(memory["used"]) for memory in entry["memories"])
        add(entry["at_ms"], "memories", len(entry["memories"]))
        add(entry["at_ms"], "used", used)
        add(entry["at_ms"], "tokens", entry["tokens"])
        add(entry["at_ms"], "solved", used if entry["event"] == _FAILURE else 0)
    for row in tellings:
        add(row.at_ms, "rules")
    for again in broken:
        add(again.at_ms, "broken")
    weeks = [Week(begin=begin, **sums[begin]) for begin in sorted(sums)]
    return Effect(weeks=weeks, broken=broken[-_BROKEN:][::-1])


def _monday(at_ms: int) -> str:
    """Return the first day (UTC) of the week of a time."""
    day = datetime.fromtimestamp(at_ms / 1000, UTC)
    return (day - timedelta(days=day.weekday())).strftime("%Y-%m-%d")


def _rules(memex: Memex, entries: Iterable[_Entry]) -> dict[str, MemoryNode]:
    """Return the newest rules, and of the others those that were told or became part of another one."""
    newest = memex.list(limit=_RULES, filters=RecallFilters(kind=NoteKind.RULE)).nodes
    rules = {node.id: node for node in newest}
    shown = {UUID(memory["id"]) for entry in entries for memory in entry["memories"]}
    stones = islice(memex.tombstones(), _STONES)
    merged = {stone.id for stone in stones if stone.soft and stone.merged_into in rules}
    for memory_id in (shown | merged) - rules.keys():
        stored = memex.stored(memory_id)
        if stored is not None and kind_of_memory(stored.node.metadata) is NoteKind.RULE:
            rules[memory_id] = stored.node
    return {str(name): node for name, node in rules.items()}


def _rules_told(entries: Iterable[_Entry], rules: Mapping[str, MemoryNode]) -> Iterator[_Told]:
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        for memory in entry["memories"]:
            key = (entry["session_id"].split("/")[0], memory["id"])
            if memory["id"] in rules and key not in seen and entry["event"] != _HELD:
                seen.add(key)
                yield _Told(entry["at_ms"], *key)


def _held(entries: Iterable[_Entry], rules: Mapping[str, MemoryNode]) -> Iterator[Broken]:
    for entry in entries:
        for memory in entry["memories"] if entry["event"] == _HELD else ():
            node = rules.get(memory["id"])
            yield Broken(
                memory_id=memory["id"],
                at_ms=entry["at_ms"],
                session_id=entry["session_id"],
                text="" if node is None else one_line(node.content),
                how="a call was refused that goes against it",
            )


def _said_again(tellings: Iterable[_Told], rules: Mapping[str, MemoryNode]) -> Iterator[Broken]:
    """Yield the rules that the user stated after a rule was told that means the same."""
    first_told: dict[str, int] = {}
    for row in tellings:
        first_told[row.rule_id] = min(row.at_ms, first_told.get(row.rule_id, row.at_ms))
    meanings: dict[str, Meaning] = {name: read_meaning(node.content) for name, node in rules.items()}
    for name, node in rules.items():
        before = [
            other
            for other, at_ms in first_told.items()
            if other != name and at_ms < node.created_at_ms and same(meanings[other], meanings[name])
        ]
        if before:
            yield Broken(
                memory_id=before[0],
                at_ms=node.created_at_ms,
                session_id=node.session_id or "",
                text=one_line(node.content),
                how="it had been told, and was said again",
            )
