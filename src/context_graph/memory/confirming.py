"""Notes that somebody looked at a memory: that it still holds, or how to say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from context_graph.errors import InvalidParamsError
from context_graph.memory.evidence import KEY, Evidence, top_of
from context_graph.memory.metrics.review_tasks import ACCEPTED
from context_graph.model.memory import CAPTURED, MemoryNode, check_content

CONFIRMED: Final = "confirmed"
"""Key in the metadata: when, and what taking it back puts back."""


REWORDED: Final = "reworded"
"""Key in the metadata: when somebody gave the memory the text that it has."""


def reworded(node: MemoryNode, content: str, at_ms: int) -> MemoryNode:
    """Return ``node`` with the text that somebody gave it. Raises InvalidParamsError for a text that is none
    or too long, and for a session's summary.
    """
    check_content(content)
    if node.source == CAPTURED:
        why = f"is {node.id}, a session's summary, which hooks write; reword one of its notes"
        raise InvalidParamsError.of("node_id", why)
    return replace(node, content=content, metadata={**node.metadata, REWORDED: at_ms}, embedding=None)


def confirmed(node: MemoryNode, evidence: Evidence, folder: str | None, at_ms: int) -> MemoryNode:
    """Return ``node`` as somebody confirms it: its files are noted as they are now, in the checkout of
    ``folder``.

    Files that are gone are no longer among them; if all are gone it rests on none. A second confirmation
    replaces the first: what it can be taken back to is what was before it.
    """
    old: Any = node.metadata.get(KEY)
    files = old.get("files") if isinstance(old, Mapping) else None
    metadata = {name: value for name, value in node.metadata.items() if name != CONFIRMED}
    before = {name: metadata[name] for name in (KEY, ACCEPTED) if name in metadata}
    if isinstance(files, Mapping) and folder:
        metadata.pop(KEY)
        now = evidence.record(top_of(folder), files)
        metadata |= {} if now is None else {KEY: now}
    metadata |= {ACCEPTED: True, CONFIRMED: {"at_ms": at_ms, "before": before}}
    return replace(node, metadata=metadata)


def unconfirmed(node: MemoryNode) -> MemoryNode | None:
    """Return ``node`` as it was before it was confirmed; None if it was not."""
    note = node.metadata.get(CONFIRMED)
    before = note.get("before") if isinstance(note, Mapping) else None
    if not isinstance(before, Mapping):
        return None
    kept = {k: v for k, v in node.metadata.items() if k not in (CONFIRMED, KEY, ACCEPTED)}
    return replace(node, metadata={**kept, **before})
