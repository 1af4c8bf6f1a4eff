"""What a memory keeps of those that were merged into it: their texts, as far as they say it differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from context_graph.memory.merged import MERGED_FROM
from context_graph.model.memory import MemoryNode

__all__ = ["merged_metadata"]

MAX_ENTRIES: Final = 64
MAX_TEXT_BYTES: Final = 65_536
"""Of all texts kept; beyond that entries go without theirs, and beyond MAX_ENTRIES the oldest go."""


def merged_metadata(survivor: MemoryNode, losers: Sequence[MemoryNode]) -> dict[str, Any]:
    """The survivor's metadata with what is kept of ``losers``, and of those merged into them before."""
    entries = _entries(survivor.metadata)
    for loser in losers:
        entries += _entries(loser.metadata)
        entries.append(_entry(loser))
    said, size = {survivor.content}, 0
    kept = []
    for entry in reversed(entries[-MAX_ENTRIES:]):
        text = entry.get("content")
        length = len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else 0
        if text in said or size + length > MAX_TEXT_BYTES:
            entry = {name: value for name, value in entry.items() if name != "content"}
        elif isinstance(text, str):
            said.add(text)
            size += length
        kept.append(entry)
    return {**survivor.metadata, MERGED_FROM: kept[::-1]}


def _entries(metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What an earlier merge left; a value of that name that is none of ours becomes an entry as it is."""
    found = metadata.get(MERGED_FROM)
    if found is None:
        return []
    if isinstance(found, list) and all(isinstance(one, dict) for one in found):
        return list(found)
    return [{"value": found}]


def _entry(node: MemoryNode) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": str(node.id),
        "content": node.content,
        "created_at_ms": node.created_at_ms,
        "source": node.source,
    }
    if node.session_id is not None:
        entry["session_id"] = node.session_id
    return entry
