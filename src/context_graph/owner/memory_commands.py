"""`memory …` on the owner's side. Arguments come as a JSON object in the request's body, answers as JSON."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from context_graph.errors import GraphQueryError, InvalidInputError
from context_graph.owner.call import Call, reply
from context_graph.owner.memory_call import answer, arguments, iso_time, memex_of, node_view, resolved
from context_graph.wire.frames import Reply

if TYPE_CHECKING:  # what memory needs is imported when the first of these verbs comes
    from uuid import UUID

    from context_graph.mcp_server.arguments import Arguments
    from context_graph.memory.filters import RecallFilters
    from context_graph.memory.memex import Memex
    from context_graph.model.edge import GraphEdge
    from context_graph.owner.memory_imports import Imports

__all__ = ["HANDLERS"]

_FILTERS: Final = ("session_id", "agent_id", "created_after", "created_before", "tags")
_MODES: Final = ("auto", "raw", "narrative", "structured", "code_focused")
_PRIORITIES: Final = ("low", "normal", "high", "critical")
_INSIGHTS: Final = ("causal_links", "entailment_cones", "neighborhood", "conflicts")
_STEPS_S: Final = 0.05

_imports: Imports | None = None
"""Made with the first import of this process."""


def _filters(given: Arguments, *more: str) -> RecallFilters:
    from context_graph.memory.filters import RecallFilters

    names = (*_FILTERS, *more)
    return RecallFilters.parse({name: given.raw(name) for name in names if given.has(name)} or None)


def _store(call: Call) -> Reply:
    given = arguments(call)
    content, rationale = given.raw("content"), given.raw("rationale")
    importance = given.number("importance", 0.0, 1.0)
    link_to, tags, metadata = given.texts("link_to"), given.texts("tags"), given.mapping("metadata")
    session_id = given.text("session_id", high=100) or call.request.session_env or None
    agent_id, at_ms = given.text("agent_id", high=100), given.instant_ms("occurred_at")
    pinned = given.flag("pinned", False)
    given.finish()
    memex = memex_of(call)
    with memex.masking() as masked:
        node = memex.store(
            content,
            rationale=rationale,
            importance=0.5 if importance is None else importance,
            metadata=metadata,
            link_to=[resolved(memex, one) for one in link_to],
            session_id=session_id,
            agent_id=agent_id,
            project=str(call.context.project) if call.context.project is not None else None,
            tags=tags,
            occurred_at_ms=at_ms,
            source="cli",
            pinned=pinned,
        )
    return answer({**node_view(node), **({"masked": masked} if masked else {})})


def _recall(call: Call) -> Reply:
    given = arguments(call)
    query, top_k = given.required("query"), given.between("top_k", 1, 100, 10)
    recency, cursor = given.number("recency", 0.0, 1.0), given.text("cursor")
    filters = _filters(given, "min_importance", "johari_quadrants")
    given.finish()
    found = memex_of(call).recall(query, top_k=top_k, filters=filters, recency=recency or 0.0, cursor=cursor)
    nodes = [
        {
            **node_view(one.node),
            "relevance_score": round(one.score, 6),
            "parts": {name: round(value, 6) for name, value in one.parts.items()},
        }
        for one in found.nodes
    ]
    return answer({"nodes": nodes, "total": found.total, "next_cursor": found.next_cursor})


def _inject(call: Call) -> Reply:
    given = arguments(call)
    query, max_tokens = given.required("query"), given.between("max_tokens", 100, 8192, 2048)
    mode = given.choice("distillation_mode", _MODES, "auto")
    priority = given.choice("priority", _PRIORITIES, "normal")
    include = given.texts("include_metadata", choices=_INSIGHTS)
    filters = _filters(given)
    given.finish()
    found = memex_of(call).inject(
        query, max_tokens=max_tokens, mode=mode, priority=priority, include=include, filters=filters
    )
    return answer(
        {
            "context": found.context,
            "tokens_used": found.tokens_used,
            "tokens_before_distillation": found.tokens_before,
            "distillation_applied": str(found.mode),
            "compression_ratio": round(found.compression_ratio, 6),
            "nodes_retrieved": [str(one) for one in found.node_ids],
            "metadata": found.metadata,
        }
    )


def _list(call: Call) -> Reply:
    given = arguments(call)
    view = given.choice("view", ("memories", "deleted", "injected"), "memories")
    limit, cursor, filters = given.between("limit", 1, 1000, 50), given.text("cursor"), _filters(given)
    given.finish()
    memex = memex_of(call)
    if view == "injected":
        return answer({"injections": call.context.memory_hooks.ledger.recent(limit)})
    if view == "deleted":
        return answer(_tombstones(memex, limit, cursor))
    page = memex.list(cursor, limit, filters)
    return answer({"nodes": [node_view(node) for node in page.nodes], "next_cursor": page.next_cursor})


def _tombstones(memex: Memex, limit: int, cursor: str | None) -> dict[str, Any]:
    from context_graph.memory.exchange_records import tombstone_to_json
    from context_graph.memory.writing import as_uuid

    found: list[dict[str, Any]] = []
    for stone in memex.tombstones(as_uuid("cursor", cursor) if cursor else None):
        if len(found) == limit:
            return {"tombstones": found, "next_cursor": found[-1]["id"]}
        found.append(tombstone_to_json(stone))
    return {"tombstones": found, "next_cursor": None}


def _show(call: Call) -> Reply:
    from context_graph.memory.exchange_records import tombstone_to_json

    given = arguments(call)
    text, at_ms = given.required("id"), given.instant_ms("as_of")
    given.finish()
    memex = memex_of(call)
    wanted = resolved(memex, text)
    if at_ms is not None:
        return answer(_shown_then(memex, wanted, at_ms))
    stored = memex.stored(wanted)
    if stored is None:
        raise GraphQueryError(f"no memory {text!r} in this store")
    found = node_view(stored.node)
    found["edges"] = [] if stored.deleted else [_edge_view(edge) for edge in memex.edges(wanted)]
    stone = memex.tombstone(wanted)
    if stone is not None:
        found["tombstone"] = tombstone_to_json(stone)
    counts = call.context.memory_hooks.ledger.by_memory().get(str(wanted))
    if counts is not None:
        found["injections"] = counts
    return answer(found)


def _edge_view(edge: GraphEdge) -> dict[str, Any]:
    """A link with all its fields, and whether it is a shortcut that proved its worth."""
    from context_graph.memory.exchange_records import edge_to_json

    return {**edge_to_json(edge), "is_valuable_shortcut": edge.is_valuable_shortcut()}


def _shown_then(memex: Memex, wanted: UUID, at_ms: int) -> dict[str, Any]:
    """The memory as it was at a time, with the links of that time."""
    then = memex.as_of(wanted, at_ms)
    if then is None:
        raise GraphQueryError(f"memory {wanted} was not in this store at {iso_time(at_ms)}")
    found = node_view(then.node)
    found["as_of"] = iso_time(at_ms)
    found["forgotten"] = then.deleted
    found["edges"] = [_edge_view(edge) for edge in then.edges]
    return found


def _forget(call: Call) -> Reply:
    from context_graph.memory.exchange_records import tombstone_to_json
    from context_graph.memory.naming import check_not_pinned

    given = arguments(call)
    text, permanent = given.required("id"), given.flag("permanent", False)
    reason, pinned = given.text("reason", high=500) or "", given.flag("pinned", False)
    given.finish()
    memex = memex_of(call)
    wanted = resolved(memex, text)
    if not pinned:
        check_not_pinned(memex, wanted, "id", "--pinned says that it is meant")
    stored = memex.stored(wanted)
    told = memex.forget_with_twins(wanted, soft=not permanent, reason=reason)
    found = {
        **tombstone_to_json(told.tombstone),
        "content": "" if stored is None else stored.node.content,
    }
    return answer({**found, **told.twins_as_dict()} if permanent else found)


def _restore(call: Call) -> Reply:
    given = arguments(call)
    text = given.required("id")
    given.finish()
    memex = memex_of(call)
    return answer(node_view(memex.restore(resolved(memex, text))))


def _link(call: Call) -> Reply:
    from context_graph.memory.exchange_records import edge_to_json

    given = arguments(call)
    source, target = given.required("source"), given.required("target")
    kind = given.text("relationship_type", high=64) or "related_to"
    weight, confidence = given.number("weight", 0.0, 1.0), given.number("confidence", 0.0, 1.0)
    domain, metadata = given.text("domain") or "general", given.mapping("metadata")
    given.finish()
    memex = memex_of(call)
    edge = memex.link(
        resolved(memex, source),
        resolved(memex, target),
        relationship_type=kind,
        weight=0.5 if weight is None else weight,
        confidence=1.0 if confidence is None else confidence,
        domain=domain,
        metadata=metadata,
    )
    return answer(edge_to_json(edge))


def _export(call: Call) -> Reply:
    from context_graph.memory import exporting

    given = arguments(call)
    form = given.choice("format", ("jsonl", "markdown"), "jsonl")
    embeddings, cursor = given.flag("embeddings", False), given.text("cursor", low=0) or ""
    given.finish()
    memex = memex_of(call)
    total = memex.count()
    if form == "markdown":
        files, following = exporting.markdown_page(memex, cursor)
        return answer({"files": files, "memories": len(files), "total": total, "next_cursor": following})
    page = exporting.export_page(memex, cursor, embeddings=embeddings)
    return answer(
        {"text": page.text, "memories": page.memories, "total": total, "next_cursor": page.next_cursor}
    )


def _import(call: Call) -> Reply:
    from context_graph.memory.importing import Import
    from context_graph.owner.memory_imports import Imports

    global _imports
    _imports = _imports or Imports()
    given = arguments(call)
    phase = given.choice("phase", ("begin", "check", "checked", "write", "end"), "begin")
    store = call.context.folder
    if phase == "begin":
        work = Import(memex_of(call), overwrite=given.flag("overwrite", False))
        return answer({"token": _imports.begin(store, work)})
    token = given.required("token")
    work = _imports.get(store, token)
    if phase in ("check", "write"):
        _import_part(work, phase, given)
        return answer({"problem_count": work.problem_count})
    if phase == "checked":
        work.checked()
        return answer({"faults": work.faults, "problems": work.problems})
    _imports.end(token)
    return answer(work.report())


def _import_part(work: Any, phase: str, given: Arguments) -> None:
    files, lines = given.raw("files"), given.raw("lines")
    if isinstance(files, list):
        (work.check_files if phase == "check" else work.write_files)(files)
    elif isinstance(lines, list):
        (work.check_lines if phase == "check" else work.write_lines)(lines, given.integer("first_line") or 1)
    else:
        raise InvalidInputError("an import's part has lines or files")


def _reindex(call: Call) -> Reply:
    """Steps for a moment, then the answer: the command comes again, and hooks are served in between."""
    from context_graph.memory.embed import provider

    given = arguments(call)
    wanted = provider(given.required("provider"))
    given.finish()
    memex, memories, until = memex_of(call), 0, time.monotonic() + _STEPS_S
    while True:
        step = memex.reindex_step(wanted)
        memories += step.memories
        if step.done or time.monotonic() >= until:
            return answer({"memories": memories, "at": step.at, "total": step.total, "done": step.done})


def _stats(call: Call) -> Reply:
    if call.flag("prometheus"):
        return reply(memex_of(call).prometheus())
    memex = memex_of(call)
    metrics = memex.metrics()
    operations = metrics.pop("operations", {})
    groups: dict[str, Any] = {"store": str(call.context.folder)}
    for name, value in metrics.items():
        group, _, rest = name.partition("_")
        if group in ("cache", "bloom", "index") and rest:
            groups.setdefault(group, {})[rest] = value
        else:
            groups.setdefault("memory", {})[name] = value
    groups["embedding"] = memex.provider_record() or {"name": "none yet"}
    groups["injections"] = call.context.memory_hooks.stats()
    groups["dreams"] = call.dreams.store_view(call.context)
    groups["operations"] = operations
    return answer(groups)


HANDLERS: dict[str, Callable[[Call], Reply]] = {
    "memory.store": _store,
    "memory.recall": _recall,
    "memory.inject": _inject,
    "memory.list": _list,
    "memory.show": _show,
    "memory.forget": _forget,
    "memory.restore": _restore,
    "memory.link": _link,
    "memory.export": _export,
    "memory.import": _import,
    "memory.reindex": _reindex,
    "memory.stats": _stats,
}
