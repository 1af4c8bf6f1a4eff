"""Makes the rows of memories: pages, a search, one with its links and history; and of consolidations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

import orjson

from context_graph.errors import GraphQueryError
from context_graph.memory.evidence import KEY as EVIDENCE
from context_graph.memory.evidence import TOOL_S, Verdict
from context_graph.memory.filters import RecallFilters
from context_graph.memory.history import Version
from context_graph.memory.memex import Memex
from context_graph.memory.runs import run_named
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import CONFIRMED, MemoryNode, Tombstone, iso_time
from context_graph.model.note import NoteKind, kind_of_memory
from context_graph.operations.naming import memory_named
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.store.graph.graph import GraphStore
from context_graph.store.graph.history import Entry, Run
from context_graph.store.graph.node_records import decode_node
from context_graph.store.graph.records import Op, decode_edge
from context_graph.store.layout import EDGES, NODES
from context_graph.view.rows import (
    TEXT_CHARS,
    Change,
    FieldChange,
    Line,
    Link,
    MemoryDetail,
    MemoryPage,
    MemoryRow,
    RunChange,
    RunDetail,
    RunRow,
)

_FOUND: Final = 100
"""Memories that a search finds at most."""
_RULES: Final = 1000
"""Rules that come before all else; of more, the older ones are in order of time."""
_ARE_RULES: Final = RecallFilters(kind=NoteKind.RULE)
_CHANGES: Final = 100
_VALUE_CHARS: Final = 400
_QUERY_CHARS: Final = 4096
_INTERNAL: Final = frozenset({EVIDENCE, CONFIRMED, "capture", "gathered", "searched", "notes", "note"})
"""Metadata that has rows of its own, or that only programs read."""
_READ: Final = ("content", "rationale", "importance", "pinned", "tags", "modality", "project", "agent_id")
"""The other fields of a memory say what programs measured."""

Counts = Mapping[str, Mapping[str, int]]


def one_line(text: str, chars: int = TEXT_CHARS) -> str:
    """Return the beginning of ``text`` on one line."""
    line = " ".join(text[: 4 * chars].split())
    return line if len(line) <= chars else line[: chars - 1] + "…"


def memory_page(
    context: StoreContext,
    *,
    query: str = "",
    forgotten: bool = False,
    cursor: str = "",
    limit: int = 200,
    chars: int = TEXT_CHARS,
) -> MemoryPage:
    """Return one page of memories, rules before all others, the newest first; of a ``query`` the best, most
    relevant first, on one page.

    Cost: some 20 us a memory, and up to TOOL_S for looking at the files that they rest on.
    """
    if not context.uses_memory():
        return MemoryPage(rows=(), total=0)
    memex = context.memory
    with memex.uncounted():
        if forgotten:
            return _forgotten_page(memex, context, cursor, limit, chars)
        if query.strip():
            recalled = memex.recall(query[:_QUERY_CHARS], top_k=min(limit, _FOUND)).nodes
            relevance = {row.node.id: row.score for row in recalled}
            rows = _rows(context, [row.node for row in recalled], chars, relevance)
            return MemoryPage(rows=rows, total=len(rows))
        page, rules = memex.list(cursor or None, limit), memex.list(limit=_RULES, filters=_ARE_RULES).nodes
        there = {node.id for node in rules}
        nodes = [*([] if cursor else rules), *(node for node in page.nodes if node.id not in there)]
        return MemoryPage(
            rows=_rows(context, nodes, chars), total=memex.count(), next_cursor=page.next_cursor or ""
        )


def _forgotten_page(memex: Memex, context: StoreContext, cursor: str, limit: int, chars: int) -> MemoryPage:
    stones = (stone for stone in memex.tombstones(UUID(cursor) if cursor else None) if stone.soft)
    some = list(islice(stones, limit + 1))
    uses = context.memory_hooks.ledger.by_memory()
    rows = []
    for stone in some[:limit]:
        stored = memex.stored(stone.id)
        if stored is not None:
            rows.append(memory_row(stored.node, uses, None, is_forgotten=True, chars=chars))
    following = str(some[limit - 1].id) if len(some) > limit else ""
    total = int(memex.metrics()["deleted"])
    return MemoryPage(rows=rows, total=total, next_cursor=following)


def _rows(
    context: StoreContext,
    nodes: Sequence[MemoryNode],
    chars: int,
    relevance: Mapping[UUID, float] | None = None,
) -> list[MemoryRow]:
    verdicts = context.memory.verdicts(nodes, _folder(context), within_s=TOOL_S)
    uses = context.memory_hooks.ledger.by_memory()
    scores = relevance or {}
    return [
        memory_row(node, uses, verdict, relevance=scores.get(node.id), chars=chars)
        for node, verdict in zip(nodes, verdicts, strict=True)
    ]


def memory_row(
    node: MemoryNode,
    uses: Counts,
    verdict: Verdict | None,
    *,
    relevance: float | None = None,
    is_forgotten: bool = False,
    chars: int = TEXT_CHARS,
) -> MemoryRow:
    """Return the row of one memory; ``uses`` as `Ledger.by_memory`."""
    counts = uses.get(str(node.id), {})
    return MemoryRow(
        id=str(node.id),
        text=one_line(node.content, chars),
        created_ms=node.created_at_ms,
        source=str(kind_of_memory(node.metadata) or node.source),
        importance=node.importance,
        recalled=node.access_count,
        shown=counts.get("injected", 0),
        used=counts.get("used", 0),
        standing="" if verdict is None else verdict.text(),
        standing_kind="" if verdict is None else verdict.state.value.split()[0],
        tags=node.tags,
        session_id=node.session_id or "",
        is_pinned=node.pinned,
        is_forgotten=is_forgotten,
        relevance=relevance,
    )


def memory_detail(context: StoreContext, named: str, as_of_ms: int | None = None) -> MemoryDetail:
    """Return one memory, now or as it was; ``named`` is its id or a unique beginning of it.

    Raises GraphQueryError if there is none, InvalidParamsError for an id that fits several.
    """
    memex = context.memory
    with memex.uncounted():
        wanted = memory_named(memex, named)
        stored = memex.stored(wanted)
        if stored is None:
            raise GraphQueryError(f"no memory {named!r:.80} in this store")
        node, is_forgotten = stored.node, stored.deleted
        edges: Sequence[GraphEdge] = () if is_forgotten else memex.edges(wanted)
        if as_of_ms is not None:
            then = memex.as_of(wanted, as_of_ms)
            if then is None:
                raise GraphQueryError(f"memory {named} was not in this store at that time")
            node, is_forgotten, edges = then.node, then.deleted, then.edges
        verdict = memex.verdicts([node], _folder(context), within_s=TOOL_S, asks_git=True)[0]
        uses = context.memory_hooks.ledger.by_memory()
        return MemoryDetail(
            row=memory_row(node, uses, verdict, is_forgotten=is_forgotten),
            content=node.content,
            rationale=node.rationale,
            facts=list(_facts(memex, node)),
            links=[_link(edge, wanted, text_of(memex)) for edge in edges],
            changes=[_change(change, wanted) for change in memex.history(wanted, _CHANGES)],
            as_of_ms=as_of_ms,
        )


def text_of(memex: Memex) -> Callable[[UUID], str]:
    """Looks up the beginning of a memory's text, soft-deleted or not; "" where there is none."""

    def beginning(memory_id: UUID) -> str:
        stored = memex.stored(memory_id)
        return "" if stored is None else one_line(stored.node.content)

    return beginning


def _facts(memex: Memex, node: MemoryNode) -> Iterator[Line]:
    evidence = node.metadata.get(EVIDENCE)
    files = evidence.get("files") if isinstance(evidence, Mapping) else None
    if isinstance(files, Mapping):
        yield Line("rests on", ", ".join(sorted(map(str, files))))
    stone = memex.tombstone(node.id)
    if stone is not None:
        yield Line("forgotten because", stone.reason or "no reason was given")
    for name in ("project", "agent_id"):
        value = getattr(node, name)
        if value:
            yield Line(name.removesuffix("_id"), value)
    note = node.metadata.get(CONFIRMED)
    if isinstance(note, Mapping):
        yield Line("confirmed", iso_time(int(note.get("at_ms", 0))))
    for name, value in node.metadata.items():
        if name not in _INTERNAL:
            yield Line(name, as_text(value))


def _link(edge: GraphEdge, own: UUID, text: Callable[[UUID], str]) -> Link:
    other = edge.target_id if edge.source_id == own else edge.source_id
    return Link(
        id=str(edge.id),
        relation=edge.relationship_type,
        is_outgoing=edge.source_id == own,
        other_id=str(other),
        other_text=text(other),
        weight=round(edge.effective_weight(), 4),
    )


def _change(version: Version, own: UUID) -> Change:
    edge = version.edge
    other = "" if edge is None else str(edge.target_id if edge.source_id == own else edge.source_id)
    return Change(
        at_ms=version.at_ms or 0,
        what=version.what,
        fields=list(field_changes(version.before, version.after)),
        reason=version.reason,
        run="" if version.run is None else str(version.run),
        other_id=other,
    )


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[FieldChange]:
    """Yield each field that people read and that changed, with both values as text; the text first."""
    old, new = _readable(before), _readable(after)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield FieldChange(name, as_text(old.get(name)), as_text(new.get(name)))


def _readable(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a person would change, and what the metadata hold for people, by their names."""
    metadata = fields.get("metadata") or {}
    return {
        **{name: fields[name] for name in _READ if name in fields},
        **{name: value for name, value in metadata.items() if name not in _INTERNAL},
    }


def as_text(value: Any) -> str:
    """Return a JSON value as a person reads it, cut to what fits a cell."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


def _folder(context: StoreContext) -> str | None:
    return None if context.project is None else str(context.project)


# Consolidations


_ORDER: Final = {Op.FORGET: 0, Op.LINK: 1, Op.UNLINK: 2, Op.RESTORE: 3, Op.RELINK: 4, Op.UPDATE: 5}
"""What a person wants to see first."""
_CHANGES_READ: Final = 20_000
"""Changes of a run that are looked at."""


def run_rows(context: StoreContext, *, limit: int = 100) -> list[RunRow]:
    """Return the consolidations of the last 30 days, newest first."""
    if not context.uses_memory():
        return []
    memex = context.memory
    with memex.uncounted():
        return [run_row(run) for run in memex.runs(limit)]


def run_row(run: Run) -> RunRow:
    return RunRow(
        token=str(run.token),
        at_ms=run.at_ms,
        mode=run.mode,
        trigger=str(run.details.get("trigger", "")),
        counts=run.counts,
        undoes="" if run.undoes is None else str(run.undoes),
        undone_by="" if run.undone_by is None else str(run.undone_by),
    )


def run_detail(context: StoreContext, token: str, *, limit: int = 200) -> RunDetail:
    """Return one run as a difference: what was merged, forgotten and linked first, then what else changed.

    Raises GraphQueryError if there is no such run. Cost: some 50 us a change.
    """
    memex = context.memory
    with memex.uncounted(), memex.core.operation("runs") as core:
        run = run_named(core.store, token)
        entries = [
            entry
            for entry in islice(core.store.history.between(run.first, run.last), _CHANGES_READ)
            if entry.op in _ORDER
        ]
        entries.sort(key=lambda entry: (_ORDER[entry.op], entry.seq))
        changes = list(islice(_changes(memex, core.store, entries), limit))
        return RunDetail(row=run_row(run), changes=changes, total=len(entries))


def _changes(memex: Memex, store: GraphStore, entries: list[Entry]) -> Iterator[RunChange]:
    text = text_of(memex)
    for entry in entries:
        if entry.op in (Op.LINK, Op.UNLINK, Op.RELINK):
            edge = _edge(store, entry)
            if edge is not None:
                yield RunChange(
                    kind={Op.LINK: "linked", Op.UNLINK: "unlinked"}.get(entry.op, "reweighted"),
                    id=str(edge.source_id),
                    text=text(edge.source_id),
                    reason=_why(edge),
                    into_id=str(edge.target_id),
                    into_text=text(edge.target_id),
                )
            continue
        subject = UUID(bytes=entry.subject)
        stone = memex.tombstone(subject) if entry.op == Op.FORGET else None
        into = None if stone is None else stone.merged_into
        yield RunChange(
            kind=_kind(entry, stone),
            id=str(subject),
            text=text(subject) or _before(entry),
            reason="" if stone is None or into is not None else stone.reason,
            into_id="" if into is None else str(into),
            into_text="" if into is None else text(into),
        )


def _kind(entry: Entry, stone: Tombstone | None) -> str:
    if entry.op == Op.FORGET:
        return "merged" if stone is not None and stone.merged_into is not None else "pruned"
    return "restored" if entry.op == Op.RESTORE else "changed"


def _why(edge: GraphEdge) -> str:
    why = edge.metadata.get("why")
    return f"{edge.relationship_type}, {why}" if why else edge.relationship_type


def _edge(store: GraphStore, entry: Entry) -> GraphEdge | None:
    image = entry.image(EDGES)
    if image is not None and image.before is not None:
        return decode_edge(image.key, image.before)
    return store.edges.get(entry.subject)


def _before(entry: Entry) -> str:
    """Return the text of a memory that is gone for good since."""
    image = entry.image(NODES)
    if image is None or image.before is None:
        return ""
    return one_line(decode_node(image.key, image.before).node.content)
