"""Keeps a session's notes as memories: each once, refreshed while the session goes on, linked to its summary.

A note's id is made from its session, kind and key. One that somebody deleted stays deleted; one that the
session's later words made void is deleted here, and comes back if they are taken back.
"""

from __future__ import annotations

import os

# hashlib would load OpenSSL for this one function (see store.layout).
from _blake2 import blake2b
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from context_graph.memory.confirming import REWORDED
from context_graph.memory.evidence import KEY, SUPERSEDES, Evidence, top_of
from context_graph.memory.memex import Memex
from context_graph.model.memory import NOTED, MemoryNode
from context_graph.model.note import KIND, NOTE, OPEN_KEY, Note, NoteKind, kind_of_memory

VOID: Final = "the session's later words say otherwise"
"""Reason in the tombstone of a note that its session no longer makes."""
_RATIONALE: Final = "Note of a session, quoted from its recorded events."
_IMPORTANCE: Final = {
    NoteKind.RULE: 0.7,
    NoteKind.DECISION: 0.6,
    NoteKind.LESSON: 0.6,
    NoteKind.CHANGE: 0.5,
    NoteKind.OPEN: 0.5,
    NoteKind.FINDING: 0.5,
    NoteKind.WAY: 0.4,
}


def note_id(session_id: str, note: Note) -> UUID:
    """Return the id of a session's note, the same whenever it is made anew."""
    named = f"{session_id}\0{note.kind}\0{note.key}".encode("utf-8", "replace")
    return UUID(bytes=blake2b(named, digest_size=16, person=b"session-note").digest(), version=5)


def open_note_id(session_id: str) -> UUID:
    """Return the id of the note that has what a session left open; there may be none."""
    return note_id(session_id, Note(NoteKind.OPEN, "", OPEN_KEY, 0))


def nodes_of(
    memex: Memex,
    session_id: str,
    notes: Sequence[Note],
    *,
    root: str = "",
    project: str | None,
    evidence: Evidence | None = None,
    tags: tuple[str, ...] = (),
) -> tuple[list[MemoryNode], list[str]]:
    """Return the memories to store of a session's notes, those that are new or changed; the ids of all of
    them.

    Args:
        root: The folder that the notes' files are relative to.

    Cost: a look-up a note, and its files' hashes where they are not known.
    """
    changed: list[MemoryNode] = []
    there: list[str] = []
    for note in notes:
        node_id = note_id(session_id, note)
        known = memex.stored(node_id)
        tombstone = memex.tombstone(node_id)
        if tombstone is not None and tombstone.reason != VOID:
            continue
        if known is not None and known.deleted:
            memex.restore(node_id)
        there.append(str(node_id))
        old = known.node if known is not None else None
        if old is not None and REWORDED in old.metadata:
            continue
        if old is None or (old.content, old.metadata.get(NOTE)) != (note.text, _own(note)):
            changed.append(_node(node_id, session_id, note, old, root, project, evidence, tags))
    return changed, there


def end_older(memex: Memex, nodes: Iterable[MemoryNode]) -> None:
    """Link each of the user's words in ``nodes`` to the older ones that it gives up: those hold no longer.

    Raises StoreError. Cost: nothing for a text that gives nothing up, else a recall.
    """
    for node in nodes:
        if kind_of_memory(node.metadata) not in (NoteKind.RULE, NoteKind.DECISION):
            continue
        for old in memex.given_up(node.content):
            known = memex.get(old)
            if old != node.id and known is not None and known.created_at_ms <= node.created_at_ms:
                memex.link(node.id, old, SUPERSEDES, weight=1.0)


def forget_void(memex: Memex, before: Iterable[str], there: Iterable[str]) -> None:
    """Delete the notes that a session had ``before`` and no longer makes. Raises StoreError."""
    for gone in set(before) - set(there):
        stored = memex.stored(gone)
        if stored is not None and not stored.deleted:
            memex.forget(gone, reason=VOID)


def _node(
    node_id: UUID,
    session_id: str,
    note: Note,
    before: MemoryNode | None,
    root: str,
    project: str | None,
    evidence: Evidence | None,
    tags: tuple[str, ...],
) -> MemoryNode:
    metadata: dict[str, Any] = {KIND: str(note.kind), NOTE: _own(note)}
    files = [os.path.join(root, path) for path in note.files]
    rests_on = evidence.record(top_of(root), files) if evidence is not None and files else None
    if rests_on is not None:
        metadata[KEY] = rests_on
    if before is not None:  # what people or recalls did to it stays
        return replace(
            before,
            content=note.text,
            created_at_ms=note.at_ms,
            metadata={**before.metadata, **metadata},
            embedding=None,
        )
    return MemoryNode(
        id=node_id,
        content=note.text,
        rationale=_RATIONALE,
        created_at_ms=note.at_ms,
        last_accessed_ms=note.at_ms,
        importance=_IMPORTANCE[note.kind],
        session_id=session_id,
        project=project,
        tags=tags,
        source=NOTED,
        metadata=metadata,
    )


def _own(note: Note) -> dict[str, Any]:
    """Return what belongs to the kind, without what is empty."""
    fields = {
        "events": list(note.events),
        "files": list(note.files),
        "symbols": list(note.symbols),
        "scope": note.scope,
        "said_by": note.said_by,
        **note.extra,
    }
    return {name: value for name, value in fields.items() if value}
