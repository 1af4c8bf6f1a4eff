"""The memory tools: arguments in, one call of the Memex, the answer with its pulse (seed 003 section 5.2).

The Memex checks what it stores and says what is wrong in the words of seed 003's tables; here only types,
ids and times are turned into its terms.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from context_graph.errors import GraphQueryError, InvalidParamsError, SessionNotFoundError, StoreError
from context_graph.mcp_server.call import ToolCall
from context_graph.mcp_server.registry import Tool
from context_graph.mcp_server.result import ToolResult, answer
from context_graph.mcp_server.schemas import (
    DESCRIPTIONS,
    DISTILLATIONS,
    HINTS,
    INSIGHTS,
    PARAMETERS,
    PRIORITIES,
    RESULTS,
)
from context_graph.mcp_server.sessions import session_missing
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.memory.naming import check_not_pinned, memory_named
from context_graph.memory.views import injection_view, node_view, recall_view
from context_graph.memory.writing import MAX_TAG_CHARS, MAX_TAGS
from context_graph.model.edge import Domain, GraphEdge
from context_graph.model.instants import iso_time
from context_graph.model.memory import (
    MAX_CONTENT_CHARS,
    MemoryNode,
    Modality,
    VerbosityLevel,
    check_content,
    check_rationale,
)
from context_graph.protocol.canary import CANARY_TAG

__all__ = ["memory_tools"]

_QUERY_CHARS: Final = 4096
_ID_CHARS: Final = 100
_TEXT_BASE64_CHARS: Final = (4 * MAX_CONTENT_CHARS + 2) // 3 * 4
"""What the longest content takes in base64, its characters of four bytes each."""


def memory_tools() -> list[Tool]:
    """All tools of the memory, in the order in which a client sees them."""
    return [
        Tool(name, DESCRIPTIONS[name], PARAMETERS[name], _counted(run), RESULTS[name], HINTS[name])
        for name, run in _RUNS.items()
    ]


def _counted(run: Callable[[ToolCall], ToolResult]) -> Callable[[ToolCall], ToolResult]:
    """``run``, whose operations are counted unless `doctor` only tries whether it works."""

    def counted(call: ToolCall) -> ToolResult:
        if not _is_trial(call):
            return run(call)
        with call.host.memory().uncounted():
            return run(call)

    return counted


def _is_trial(call: ToolCall) -> bool:
    """Whether the call stores, looks for or deletes `doctor`'s canary."""
    filters = call.arguments.peek("filters")
    tags = filters.get("tags") if isinstance(filters, dict) else call.arguments.peek("tags")
    if isinstance(tags, list):
        return CANARY_TAG in tags
    node_id = call.arguments.peek("node_id")
    if call.arguments.peek("soft_delete") is not False or not isinstance(node_id, str):
        return False
    try:
        whole = UUID(node_id)
    except ValueError:
        return False
    memex = call.host.memory()
    with memex.uncounted():
        stored = memex.stored(whole)
    return stored is not None and CANARY_TAG in stored.node.tags


def _answer(
    memex: Memex,
    found: Mapping[str, Any],
    *,
    quotes: bool = True,
    empty_recall: bool = False,
    masked: Mapping[str, int] | None = None,
) -> ToolResult:
    """``found`` with the pulse of this moment, and what was masked before it was written; see `answer`."""
    if masked:
        found = {**found, "masked": masked}
    return answer(found, memex.pulse(empty_recall=empty_recall).as_dict(), quotes=quotes)


def _quotes(call: ToolCall) -> bool:
    """Whether it is told texts: at level 0 memories are only named."""
    return call.verbosity is not VerbosityLevel.RAW_ONLY


def _count_use(call: ToolCall, memex: Memex, ids: Sequence[UUID], followed: Sequence[GraphEdge] = ()) -> None:
    """What was found is an answer even where its use can't be written down (a full disk)."""
    try:
        memex.touch(ids, followed)
    except StoreError as error:
        call.host.failed("touch", error)


def _store_memory(call: ToolCall) -> ToolResult:
    given = call.arguments
    modality = Modality(given.choice("modality", tuple(Modality), Modality.TEXT))
    content = _content(call, modality)
    rationale = given.raw("rationale")
    check_rationale(rationale)
    importance = given.number("importance", 0.0, 1.0)
    link_to, tags = given.uuids("link_to"), given.texts("tags", high=MAX_TAG_CHARS, most=MAX_TAGS)
    metadata, agent_id = given.mapping("metadata"), given.text("agent_id", high=_ID_CHARS)
    occurred_at_ms = given.instant_ms("occurred_at")
    given.finish()
    memex = call.host.memory()
    with memex.masking() as masked:
        node = memex.store(
            content,
            rationale=rationale,
            importance=0.5 if importance is None else importance,
            modality=modality,
            metadata=metadata,
            link_to=link_to,
            session_id=call.session_id,
            agent_id=agent_id,
            project=call.host.project,
            tags=tags,
            occurred_at_ms=occurred_at_ms,
            source="tool",
            node_id=call.new_id(),
        )
    return _answer(memex, _stored(node, call.verbosity), quotes=False, masked=masked)


def _content(call: ToolCall, modality: Modality) -> str:
    """The content as text: base64 stays what it is, unless it is text that was sent that way."""
    given = call.arguments
    content = given.raw("content")
    if not given.has("content_base64"):
        given.raw("content_base64")
        if content is None:
            raise InvalidParamsError.of("content", "is required (or content_base64)")
        check_content(content)
        return str(content)
    if content is not None:
        raise InvalidParamsError(
            "Provide either content or content_base64, not both",
            parameter="content",
            detail="Invalid params: content - Provide either content or content_base64, not both",
        )
    if modality is not Modality.TEXT:
        return base64.b64encode(given.base64("content_base64", MAX_CONTENT_CHARS)).decode()
    data = given.base64("content_base64", _TEXT_BASE64_CHARS)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise InvalidParamsError.of(
            "content_base64", "is no UTF-8 text; name its modality: image, audio or video"
        ) from None
    check_content(text)
    return text


def _stored(node: MemoryNode, level: VerbosityLevel) -> dict[str, Any]:
    """REQ-CORE-014's answer; the learning state beside it unless the least was asked for."""
    found: dict[str, Any] = {
        "node_id": str(node.id),
        "created_at": iso_time(node.created_at_ms),
        "johari_quadrant": node.johari_quadrant.value,
    }
    if level is not VerbosityLevel.RAW_ONLY:
        utl = node.utl_state
        found["utl_state"] = {
            "delta_s": round(utl.delta_s, 6),
            "delta_c": round(utl.delta_c, 6),
            "w_e": round(utl.w_e, 6),
            "phi": round(utl.phi, 6),
        }
    return found


def _recall_memory(call: ToolCall) -> ToolResult:
    given = call.arguments
    query = given.required("query", high=_QUERY_CHARS)
    top_k = given.between("top_k", 1, 100, 10)
    recency = given.number("recency", 0.0, 1.0)
    cursor = given.text("cursor")
    filters = RecallFilters.parse(given.mapping("filters"))
    given.finish()
    memex = call.host.memory()
    found = memex.recall(query, top_k=top_k, filters=filters, recency=recency or 0.0, cursor=cursor)
    _count_use(call, memex, [one.node.id for one in found.nodes], found.followed)
    view = recall_view(memex, found, call.verbosity)
    return _answer(memex, view, quotes=_quotes(call), empty_recall=not found.nodes)


def _inject_context(call: ToolCall) -> ToolResult:
    given = call.arguments
    query = given.required("query", high=_QUERY_CHARS)
    max_tokens = given.between("max_tokens", 100, 8192, 2048)
    priority = given.choice("priority", PRIORITIES, "normal")
    mode = given.choice("distillation_mode", DISTILLATIONS, "auto")
    include = given.texts("include_metadata", choices=INSIGHTS)
    given.finish()
    memex = call.host.memory()
    found = memex.inject(query, max_tokens=max_tokens, mode=mode, priority=priority, include=include)
    _count_use(call, memex, found.node_ids, found.followed)
    view = injection_view(memex, found, call.verbosity)
    return _answer(memex, view, quotes=_quotes(call), empty_recall=not found.node_ids)


def _get_memetic_status(call: ToolCall) -> ToolResult:
    call.arguments.finish()
    memex = call.host.memory()
    return _answer(memex, memex.status(dream_available=call.host.dream_available).as_dict())


def _set_verbosity(call: ToolCall) -> ToolResult:
    given = call.arguments
    level = given.raw("level")
    if level is None:
        raise InvalidParamsError.of("level", "is required: 0, 1 or 2")
    if isinstance(level, bool) or level not in (0, 1, 2):
        raise InvalidParamsError(
            "Verbosity level must be 0, 1, or 2",
            parameter="level",
            detail="Invalid params: level - Verbosity level must be 0, 1, or 2",
        )
    given.finish()
    memex = call.host.memory()
    previous, call.session.verbosity = call.session.verbosity, VerbosityLevel(int(level))
    return _answer(memex, {"previous_level": int(previous), "new_level": int(level)}, quotes=False)


def _forget_memory(call: ToolCall) -> ToolResult:
    given = call.arguments
    named, soft = given.required("node_id"), given.flag("soft_delete", True)
    reason, pinned = given.text("reason", high=500) or "", given.flag("pinned", False)
    given.finish()
    memex = call.host.memory()
    node_id = memory_named(memex, named, "node_id")
    if not pinned:
        check_not_pinned(memex, node_id, "node_id", "with the user's word for it, give pinned: true")
    told = memex.forget_with_twins(node_id, soft=soft, reason=reason)
    tombstone = told.tombstone
    found = {
        "node_id": str(node_id),
        "soft_delete": tombstone.soft,
        "deleted_at": iso_time(tombstone.deleted_at_ms),
        "reason": tombstone.reason,
        **({} if soft else told.twins_as_dict()),
    }
    return _answer(memex, found, quotes=tombstone.reason != reason)  # of who forgot it before


def _restore_memory(call: ToolCall) -> ToolResult:
    named = call.arguments.required("node_id")
    call.arguments.finish()
    memex = call.host.memory()
    node_id = memory_named(memex, named, "node_id")
    node = memex.restore(node_id)
    found = {"node_id": str(node.id), "created_at": iso_time(node.created_at_ms)}
    return _answer(memex, found, quotes=False)


def _link_memories(call: ToolCall) -> ToolResult:
    given = call.arguments
    ends = given.required("source_id"), given.required("target_id")
    relationship = given.text("relationship_type", high=64) or "related_to"
    weight, confidence = given.number("weight", 0.0, 1.0), given.number("confidence", 0.0, 1.0)
    domain = Domain(given.choice("domain", tuple(Domain), Domain.GENERAL))
    metadata = given.mapping("metadata")
    given.finish()
    memex = call.host.memory()
    source, target = memory_named(memex, ends[0], "source_id"), memory_named(memex, ends[1], "target_id")
    if source == target:
        raise InvalidParamsError.of("target_id", f"is {target}, as source_id is; a link needs two memories")
    with memex.masking() as masked:
        edge = memex.link(
            source,
            target,
            relationship,
            weight=0.5 if weight is None else weight,
            confidence=1.0 if confidence is None else confidence,
            domain=domain,
            metadata=metadata,
            edge_id=call.new_id(),
        )
    found = {
        "edge_id": str(edge.id),
        "source_id": str(source),
        "target_id": str(target),
        "relationship_type": edge.relationship_type,
        "effective_weight": round(edge.effective_weight(), 6),
    }
    return _answer(memex, found, quotes=False, masked=masked)


def _get_memory(call: ToolCall) -> ToolResult:
    named = call.arguments.required("node_id")
    call.arguments.finish()
    memex = call.host.memory()
    node_id = memory_named(memex, named, "node_id")
    node = memex.get(node_id)
    if node is None:  # EC-CORE-011: a forgotten memory is as if it had never been
        raise GraphQueryError(f"no memory {node_id} in this store")
    _count_use(call, memex, (node_id,))
    return _answer(memex, {"node": node_view(memex, node, call.verbosity)}, quotes=_quotes(call))


def _get_identity(call: ToolCall) -> ToolResult:
    named = call.arguments.has("session_id")
    call.arguments.finish()
    try:
        found = call.host.identity(call.session_id)
    except SessionNotFoundError:
        if named:
            raise session_missing(str(call.session_id)) from None
        found = _latest_identity(call)
    return _answer(call.host.memory(), found, quotes=False)


def _latest_identity(call: ToolCall) -> Mapping[str, Any]:
    """The environment's session may never have been recorded: then the store's latest is what is meant."""
    try:
        return call.host.identity(None)
    except SessionNotFoundError:
        raise session_missing(call.session_id or "none has been recorded in this project") from None


_RUNS: Final[dict[str, Callable[[ToolCall], ToolResult]]] = {
    "store_memory": _store_memory,
    "recall_memory": _recall_memory,
    "search_graph": _recall_memory,
    "inject_context": _inject_context,
    "get_memetic_status": _get_memetic_status,
    "set_verbosity": _set_verbosity,
    "forget_memory": _forget_memory,
    "restore_memory": _restore_memory,
    "link_memories": _link_memories,
    "get_memory": _get_memory,
    "get_identity": _get_identity,
}
