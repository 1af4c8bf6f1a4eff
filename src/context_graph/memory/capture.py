"""Stores one summary per session automatically, and refreshes it as the session goes on.

Its id is made from the session's, and it records the last event it covers. So a repeated capture changes
nothing, the next one completes an interrupted one, and a session never has two summaries. A summary that the
user deleted stays deleted.

A session's notes are memories beside it: each once, refreshed while the session goes on. One that somebody
deleted stays deleted; one that the session's later words made void is deleted here, and comes back if they
are taken back.
"""

from __future__ import annotations

import os

# hashlib would load OpenSSL for this one function (see store.layout).
from _blake2 import blake2b
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final
from uuid import UUID

from context_graph.memory.context.standing_notes import stated_by_user
from context_graph.memory.context.summary import SessionWork
from context_graph.memory.evidence import KEY, SUPERSEDES, Evidence, top_of
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.model import HookEvent
from context_graph.model.memory import CAPTURED, NOTED, REWORDED, SEARCHED, MemoryNode
from context_graph.model.note import EVERYWHERE, KIND, NOTE, OPEN_KEY, Note, NoteKind, kind_of_memory
from context_graph.notes.gather import Gathered
from context_graph.notes.kinds.searched import searched_text
from context_graph.notes.make import REMARKS, notes_of
from context_graph.notes.rules import ending_in, user_sentences
from context_graph.notes.said import Statement, read
from context_graph.notes.templates import Templates

EventsAfter = Callable[[int], Iterable[tuple[int, HookEvent]]]
Users = Callable[[str], Memex | None]
"""Opens the memory of an account by its store's name (`config.account_of`); makes it if that can be."""

SOURCE: Final = CAPTURED
_NEWEST: Final = 256
NOTES: Final = "notes"
"""Key of a summary's metadata that has the ids of its session's notes."""
GATHERED: Final = "gathered"
"""Key of a summary's metadata that has what its notes are made of."""
CAPTURE_TAG: Final = "session-summary"
IMPORTED: Final = "imported"
"""Tag of what was kept by another program before."""
_TEMPLATES: Final = "templates"
"""Name of the fact that has what the prompts of a store's sessions share."""
_RATIONALE: Final = "Summary of a session, made from its recorded events when it paused or ended."
_DECIDED: Final = 0.6
_PLAIN: Final = 0.5
"""Importance of a summary with and without decisions."""


def capture_id(session_id: str) -> UUID:
    """Return the id of a session's summary, always the same."""
    return UUID(
        bytes=blake2b(session_id.encode(), digest_size=16, person=b"session-summary").digest(), version=5
    )


def work_of(node: MemoryNode | None) -> SessionWork:
    """Return the work recorded in a session's summary; a new record for None or any other memory."""
    state: Any = node.metadata.get("capture") if node is not None and node.source == SOURCE else None
    return SessionWork.from_json(state)


def gathered_of(node: MemoryNode | None) -> Gathered:
    """Return what was gathered for a session's notes; a new one for None, and for an imported summary."""
    return Gathered.from_json(node.metadata.get(GATHERED) if node is not None else None)


def open_ends(work: SessionWork) -> list[str]:
    """Return what a session left open by its to-dos and tests, in words."""
    failing = [f"Tests fail: {run}: {why}" for run, why in reversed(work.left_failing().items())]
    return [*failing[:2], *(f"To do: {todo}" for todo in work.open_todos()[:4])]


def _notes_of(node: MemoryNode | None) -> list[str]:
    """Return the ids of a session's notes, which its summary links."""
    ids = node.metadata.get(NOTES) if node is not None else None
    return ids if isinstance(ids, list) else []


def _text_of(work: SessionWork, gathered: Gathered, notes: Sequence[Note]) -> str:
    """Return the summary beside these notes; what was said on the way says nothing of how it ended."""
    keys = [(note.kind, note.key) for note in notes]
    noted = {kind for kind, key in keys if not key.startswith(REMARKS)}
    changed = [path for note in notes if note.key.startswith("turn:") for path in note.files]
    return work.text(noted, has_notes=bool(keys), anyway=gathered.runs.both, changed=changed)


def _metadata(work: SessionWork, gathered: Gathered) -> dict[str, Any]:
    return {
        "capture": work.to_json(),
        GATHERED: gathered.to_json(),
        SEARCHED: searched_text(gathered),
    }


def absorb(
    work: SessionWork,
    gathered: Gathered,
    events: Iterable[tuple[int, HookEvent]],
    leaves_out: Callable[[str], bool] | None,
    templates: Templates,
    known: Callable[[], Sequence[Statement]] | None = None,
) -> int:
    """Have both take in the events; how many were new to one of them, twice those that were to both.

    What a prompt says is worked out once, of all its words; its task is what is no template. ``known``: what
    the user said before, which a sentence may end.
    """
    new = 0
    for number, event in events:
        sentences = user_sentences(event)
        if known is not None and not sentences:
            sentences = ending_in(event, known)
        numbered = (number, _without_template(event, templates))
        new += work.absorb((numbered,), leaves_out, sentences) + gathered.absorb(
            (numbered,), leaves_out, sentences
        )
    return new


def newest(memex: Memex, kinds: Iterable[NoteKind]) -> Iterator[MemoryNode]:
    """Yield the 256 newest notes of each kind, the older ones first."""
    for kind in kinds:
        yield from reversed(memex.list(limit=_NEWEST, filters=RecallFilters(kind=kind)).nodes)


def _said_before(memex: Memex) -> list[Statement]:
    """Return what the store's user stated, as far as a sentence may end it."""
    nodes = newest(memex, (NoteKind.RULE, NoteKind.DECISION))
    return [read(kind, node.content) for node in nodes if (kind := stated_by_user(node))]


def _without_template(event: HookEvent, templates: Templates) -> HookEvent:
    if not event.is_prompt:
        return event
    text, parts = event.input_text, event.parts
    own = templates.own(text)
    words = own if parts.words == text else templates.own(parts.words)
    return replace(event, input_text=own, parts=replace(parts, words=words))


def templates_of(memex: Memex) -> Templates:
    """Return what the prompts of a store's sessions have in common. Cost: one look-up."""
    with memex.core.operation("get") as core:
        return Templates.from_json(core.store.meta(_TEMPLATES))


def _learn_templates(memex: Memex, templates: Templates) -> None:
    """Count the prompts of a session that was stored for the first time."""
    templates.learn()
    with memex.core.operation("store", writes=True) as core:
        core.store.put_meta(_TEMPLATES, templates.to_json())


def capture(
    memex: Memex,
    session_id: str,
    events_after: EventsAfter,
    *,
    project: str | None,
    sealed_at_ms: int | None = None,
    leaves_out: Callable[[str], bool] | None = None,
    evidence: Evidence | None = None,
    branch: str | None = None,
    learn: Callable[[SessionWork, SessionWork], None] | None = None,
    users: Users | None = None,
) -> MemoryNode | None:
    """Write or refresh the session's summary; None if there is nothing new or nothing to say.

    Args:
        events_after: Gives the session's numbered events after a number, ascending.
        leaves_out: Whether a changed file, by its path, is not part of the project.
        evidence: Records the files that the session changed, or else read, as they are now.
        branch: The branch that the session was on, "" for none; None leaves what was known.
        learn: Is told the session's work once it is stored, and what of it was stored before.
        users: Opens the memory for what the user says of all his work; without it that stays here.
        sealed_at_ms: The context is about to be compacted: SessionStart then shows this state again.

    Raises StoreError: It could not be written; the same call later completes it.

    Cost: storing one memory, and some 20 us an event.
    """
    node_id = capture_id(session_id)
    there = memex.stored(node_id)
    if there is not None and there.deleted:
        return None
    if there is None and memex.tombstone(node_id) is not None:
        return None
    before = there.node if there else None
    work, gathered = work_of(before), gathered_of(before)
    since, templates = events_after(min(work.last_event, gathered.last_event)), templates_of(memex)
    new = absorb(work, gathered, since, leaves_out, templates, cache(partial(_said_before, memex)))
    if not new and (sealed_at_ms is None or there is None):
        return None
    work.branch = work.branch if branch is None else branch
    notes = notes_of(gathered, open_ends(work))
    text = _text_of(work, gathered, notes)
    notes = _kept_for_user(session_id, notes, gathered.account, users)
    if not text:
        return None
    metadata = _metadata(work, gathered)
    if sealed_at_ms is not None:
        metadata["sealed_at_ms"] = sealed_at_ms
    files = [os.path.join(work.root, path) for path in reversed(work.changed or work.read)]
    rests_on = evidence.record(top_of(work.root), files) if evidence is not None else None
    if rests_on is not None:
        metadata[KEY] = rests_on
    nodes, ids = _nodes_of(memex, session_id, notes, root=work.root, project=project, evidence=evidence)
    node = _node(session_id, work, text, {**metadata, NOTES: ids}, project, before)
    made = _put(memex, node, nodes, before, templates)
    if learn is not None:
        learn(work, work_of(before))
    return made


def _put(
    memex: Memex, node: MemoryNode, notes: list[MemoryNode], before: MemoryNode | None, templates: Templates
) -> MemoryNode:
    """Store a summary with those of its notes that changed; those that it no longer makes are deleted."""
    made = memex.put_many([*notes, node])[-1]
    _end_older(memex, notes)
    _forget_void(memex, set(_notes_of(before)) - set(_notes_of(node)))
    if before is None:
        _learn_templates(memex, templates)
    return made


def keep_imported(
    memex: Memex,
    session_id: str,
    work: SessionWork,
    gathered: Gathered,
    templates: Templates,
    *,
    project: str | None,
    dry_run: bool = False,
    users: Users | None = None,
) -> str:
    """Store the summary of a session that was recorded elsewhere, or refresh it; what was done.

    Args:
        templates: That its events were taken in with (`absorb`).

    Its events have no numbers here, so that hooks that tell of the session later are all taken in.

    Returns:
        ``added``; ``updated`` where the record has grown since it was imported; ``skipped`` where it has not,
        or a summary was made by hooks, or deleted; ``empty`` where there is nothing to say.
    """
    node_id = capture_id(session_id)
    there = memex.stored(node_id)
    if memex.tombstone(node_id) is not None or (there is not None and there.deleted):
        return "skipped"
    before = there.node if there is not None else None
    known = work_of(before)
    if before is not None and (IMPORTED not in before.tags or known.ended_ms >= work.ended_ms):
        return "skipped"
    notes = notes_of(gathered, open_ends(work))
    text = _text_of(work, gathered, notes)
    if not text:
        return "empty"
    did = "added" if before is None else "updated"
    if dry_run:
        return did
    notes = _kept_for_user(session_id, notes, gathered.account, users)
    work.first_event = work.last_event = gathered.last_event = 0
    nodes, ids = _nodes_of(memex, session_id, notes, root=work.root, project=project, tags=(IMPORTED,))
    metadata = {**_metadata(work, gathered), NOTES: ids}
    node = _node(session_id, work, text, metadata, project, before)
    _put(memex, node if before else replace(node, tags=(CAPTURE_TAG, IMPORTED)), nodes, before, templates)
    return did


def _kept_for_user(session_id: str, notes: list[Note], account: str, users: Users | None) -> list[Note]:
    """Keep what holds for all of the user's work in his own store, for good; returns the other notes."""
    own = [note for note in notes if note.scope == EVERYWHERE]
    memex = users(account) if own and account and users is not None else None
    if memex is None:
        return notes
    nodes, _ = _nodes_of(memex, session_id, own, project=None)
    memex.put_many(nodes)
    _end_older(memex, nodes)
    return [note for note in notes if note not in own]


def works_in(memex: Memex, most: int = 400) -> list[SessionWork]:
    """Return the work of the ``most`` newest sessions with a summary, the oldest first. Cost: 50 us each."""
    page = memex.list(limit=most, filters=RecallFilters(tags=(CAPTURE_TAG,), source=SOURCE))
    return [work_of(node) for node in reversed(page.nodes)]


def _node(
    session_id: str,
    work: SessionWork,
    text: str,
    metadata: dict[str, Any],
    project: str | None,
    before: MemoryNode | None,
) -> MemoryNode:
    importance = _DECIDED if work.decisions else _PLAIN
    made = MemoryNode(
        id=capture_id(session_id),
        content=text,
        rationale=_RATIONALE,
        created_at_ms=work.ended_ms,
        last_accessed_ms=work.ended_ms,
        importance=importance,
        session_id=session_id,
        project=project,
        tags=(CAPTURE_TAG,),
        source=SOURCE,
        metadata=metadata,
    )
    return made if before is None else _refreshed(before, made, max(before.importance, importance))


def _refreshed(before: MemoryNode, made: MemoryNode, importance: float) -> MemoryNode:
    """Return ``before`` with what ``made`` says now: what people or recalls did to it stays."""
    return replace(
        before,
        content=made.content,
        created_at_ms=made.created_at_ms,
        importance=importance,
        metadata={**before.metadata, **made.metadata},
        embedding=None,
    )


VOID: Final = "the session's later words say otherwise"
"""Reason in the tombstone of a note that its session no longer makes."""
_NOTE_RATIONALE: Final = "Note of a session, quoted from its recorded events."
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


def _nodes_of(
    memex: Memex,
    session_id: str,
    notes: Sequence[Note],
    *,
    root: str = "",
    project: str | None,
    evidence: Evidence | None = None,
    tags: tuple[str, ...] = (),
) -> tuple[list[MemoryNode], list[str]]:
    """Return the memories of a session's notes that are new or changed; the ids of all of them."""
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
            changed.append(_note_node(node_id, session_id, note, old, root, project, evidence, tags))
    return changed, there


def _end_older(memex: Memex, nodes: Iterable[MemoryNode]) -> None:
    """Link each of the user's words in ``nodes`` to the older ones that it gives up."""
    for node in nodes:
        if kind_of_memory(node.metadata) not in (NoteKind.RULE, NoteKind.DECISION):
            continue
        for old in memex.given_up(node.content):
            known = memex.get(old)
            if old != node.id and known is not None and known.created_at_ms <= node.created_at_ms:
                memex.link(node.id, old, SUPERSEDES, weight=1.0)


def _forget_void(memex: Memex, ids: Iterable[str]) -> None:
    """Delete notes that their session no longer makes. Raises StoreError."""
    for gone in ids:
        stored = memex.stored(gone)
        if stored is not None and not stored.deleted:
            memex.forget(gone, reason=VOID)


def _note_node(
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
    made = MemoryNode(
        id=node_id,
        content=note.text,
        rationale=_NOTE_RATIONALE,
        created_at_ms=note.at_ms,
        last_accessed_ms=note.at_ms,
        importance=_IMPORTANCE[note.kind],
        session_id=session_id,
        project=project,
        tags=tags,
        source=NOTED,
        metadata=metadata,
    )
    return made if before is None else _refreshed(before, made, before.importance)


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
