"""Runs the operations: arguments in, calls of the Memex, the answer.

The Memex checks what it stores, in the words of seed 003; here only ids and base64 are converted.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final
from uuid import UUID

from context_graph.errors import GraphQueryError, InvalidParamsError, SessionNotFoundError, StoreError
from context_graph.memory.evidence import TOOL_S, EvidenceState, Verdict
from context_graph.memory.exchange.records import tombstone_to_json
from context_graph.memory.filters import RecallFilters
from context_graph.memory.memex import Memex
from context_graph.memory.of_user import recalled_of_user
from context_graph.memory.recall import Recall, Recalled, by_evidence
from context_graph.memory.runs import new_act
from context_graph.memory.writing import Draft, as_uuid
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import (
    MAX_CONTENT_CHARS,
    MIN_RELEVANCE,
    MemoryNode,
    Modality,
    VerbosityLevel,
    check_content,
    iso_time,
)
from context_graph.model.note import KIND, NOTE
from context_graph.operations import memories, views, whole_stores
from context_graph.operations.context import Answer, Context, Elsewhere
from context_graph.operations.forgetting import forget_everywhere
from context_graph.operations.naming import check_not_pinned, filters_of, memory_named, text_of
from context_graph.operations.operation import Called
from context_graph.operations.running_store import STORE_RUNS
from context_graph.store.graph.history import Act

_BESIDE: Final = 8
"""Memories of what the user said of all his work that an injection chooses from."""
_TEXT_BASE64_CHARS: Final = (4 * MAX_CONTENT_CHARS + 2) // 3 * 4
"""The longest content in base64, with four bytes a character."""
_AS_GIVEN: Final = tuple(
    field.name
    for field in fields(Draft)
    if field.name in memories.Store.__struct_fields__
    and field.name not in ("content", "evidence", "link_to", "metadata", "session_id", "supersedes")
)
"""Fields of a memory that are stored as given."""


def run(context: Context, arguments: Called) -> Answer:
    """Run the operation that ``arguments`` are for. Raises ContextGraphError as the Memex's methods."""
    return _RUNS[type(arguments)](context, arguments)


def _store(context: Context, arguments: memories.Store) -> Answer:
    memex, content = _memory(context, arguments.scope, make=True), _content(arguments)
    there = memex.same_text(content) if arguments.modality is Modality.TEXT else None
    if there is not None:
        return Answer({**views.stored_view(there, context.verbosity), "already_there": True})
    outdated = [memory_named(memex, name, "supersedes") for name in arguments.supersedes]
    outdated += [memory_id for memory_id in memex.given_up(content) if memory_id not in outdated]
    draft = Draft(
        content=content,
        **{name: getattr(arguments, name) for name in _AS_GIVEN},
        link_to=[memory_named(memex, name, "link_to") for name in arguments.link_to],
        supersedes=outdated,
        evidence=memex.evidence.named(context.host.project or "", arguments.evidence),
        metadata=_metadata(context, arguments),
        session_id=context.session_id,
        project=context.host.project if arguments.scope == "project" else None,
        occurred_at_ms=None if arguments.occurred_at is None else int(arguments.occurred_at),
        source=context.source,
        node_id=context.new_id(),
    )
    with memex.masking() as masked, memex.acting(_act(context, "supersede" if outdated else "store")):
        node = memex.store(draft)
    ended = {"superseded": [str(memory_id) for memory_id in outdated]} if outdated else {}
    view = {**views.stored_view(node, context.verbosity), **_scope_of(context, memex), **ended}
    return Answer({**view, **_masked(masked)})


def _act(context: Context, mode: str) -> Act:
    return new_act(mode, context.source, context.host.store_name)


def _metadata(context: Context, arguments: memories.Store) -> Mapping[str, Any] | None:
    """Return the metadata of a memory, with its kind and who says so."""
    if arguments.kind is None:
        return arguments.metadata
    note = {"said_by": "user" if context.source == "cli" else "assistant"}
    return {**(arguments.metadata or {}), KIND: arguments.kind, NOTE: note}


def _memory(context: Context, scope: memories.Scope, *, make: bool = False) -> Memex:
    """Return the memory of ``scope``. Raises InvalidParamsError where nothing holds in all projects yet."""
    if scope == "project":
        return context.host.memory()
    memex = context.host.of_user(make=make)
    if memex is None:
        cure = "raise max_stores to 2 or more" if make else "store something with that scope first"
        raise InvalidParamsError.of("scope", f"is user, and this account has no memories of its own; {cure}")
    return memex


def _holding(context: Context, named: str, parameter: str = "node_id") -> tuple[Memex, UUID]:
    """Return the memory that ``named`` means, and whose it is: the project's, or else the user's.

    Raises as `memory_named`.
    """
    memex = context.host.memory()
    try:
        return memex, memory_named(memex, named, parameter)
    except GraphQueryError:
        of_user = context.host.of_user()
        if of_user is None:
            raise
        return of_user, memory_named(of_user, named, parameter)


def _scope_of(context: Context, memex: Memex) -> dict[str, str]:
    return {} if memex is context.host.memory() else {"scope": "user"}


def _masked(masked: dict[str, int]) -> dict[str, Any]:
    return {"masked": masked} if masked else {}


def _content(arguments: memories.Store) -> str:
    """Return the content as text: base64 stays as it is, unless it encodes text."""
    if arguments.content_base64 is None:
        if arguments.content is None:
            raise InvalidParamsError.of("content", "is required (or content_base64)")
        check_content(arguments.content)
        return arguments.content
    if arguments.content is not None:
        both = "Provide either content or content_base64, not both"
        raise InvalidParamsError(both, parameter="content", detail=f"Invalid params: content - {both}")
    if arguments.modality is not Modality.TEXT:
        return base64.b64encode(_decoded(arguments.content_base64, MAX_CONTENT_CHARS)).decode()
    try:
        text = _decoded(arguments.content_base64, _TEXT_BASE64_CHARS).decode()
    except UnicodeDecodeError:
        raise InvalidParamsError.of(
            "content_base64", "is not UTF-8 text; name its modality: image, audio or video"
        ) from None
    check_content(text)
    return text


def _decoded(encoded: str, most: int) -> bytes:
    text = "".join(encoded.split())
    if len(text) > most:
        raise InvalidParamsError.of("content_base64", f"must have at most {most} characters, has {len(text)}")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidParamsError.of("content_base64", f"is not base64: {error}") from error


def _recall(context: Context, arguments: memories.Recall) -> Answer:
    memex = _memory(context, "user") if arguments.scope == "user" else context.host.memory()
    filters = filters_of(arguments.filters)
    alike, by_query = context.host.alike(arguments.query, context.session_id)
    recall = memex.recall(
        arguments.query,
        top_k=arguments.top_k,
        filters=filters,
        recency=arguments.recency,
        cursor=arguments.cursor,
        floor=arguments.min_relevance,
        looks_up=True,
        alike=alike,
        by_query=by_query,
    )
    _count_use(context, memex, [row.node.id for row in recall.nodes], recall.followed)
    if arguments.scope == "team":
        return _recall_team(context, arguments, recall, filters)
    verdicts = _verdicts(context, memex, [row.node for row in recall.nodes])
    first = arguments.scope == "project" and arguments.cursor is None
    beside = (
        _of_user(context, arguments.query, arguments.top_k, arguments.min_relevance, filters) if first else ()
    )
    recall = replace(recall, nodes=by_evidence([*recall.nodes, *beside], verdicts))
    view = views.recall_view(memex, recall, context.verbosity, verdicts)
    touched = [row.node.id for row in recall.nodes]
    return Answer(view, quotes=_quotes(context), nothing=views.all_weak(recall), touched=touched)


def _of_user(
    context: Context, query: str, most: int, least: float, filters: RecallFilters
) -> Sequence[Recalled]:
    """Return what holds in all projects and is so relevant, beside what the project's own memory has."""
    of_user = context.host.of_user()
    if of_user is None:
        return ()
    rows = recalled_of_user(context.host.memory(), of_user, query, most, filters)
    likely = [row for row in rows if row.score >= least]
    _count_use(context, of_user, [row.node.id for row in likely])
    return likely


def _recall_team(
    context: Context, arguments: memories.Recall, here: Recall, filters: RecallFilters
) -> Answer:
    """Return what is here, and what the hub has besides, by one measure; it comes when the hub's does."""
    if arguments.cursor is not None:
        raise InvalidParamsError.of("cursor", "pages this project's memories alone; leave scope out with it")
    if arguments.recency:
        raise InvalidParamsError.of(
            "recency", "orders this project's memories alone; leave scope out with it"
        )

    def then(rows: Sequence[Elsewhere], failed: str) -> Mapping[str, Any]:
        memex = context.host.memory()
        others = memex.ranked(arguments.query, [row.node for row in rows], filters)
        if not others or others[0].score < arguments.min_relevance:
            others = []
        places = {row.node.id: row for row in rows}
        verdicts = _verdicts(context, memex, [row.node for row in here.nodes])
        for other in others:
            newer = places[other.node.id].superseded_by
            if newer is not None:
                verdicts[other.node.id] = Verdict(EvidenceState.SUPERSEDED, (str(newer),))
        both = by_evidence([*here.nodes, *others], verdicts)[: arguments.top_k]
        recall = replace(here, nodes=both, next_cursor=None)
        return views.team_view(memex, recall, context.verbosity, verdicts, places, failed)

    return Answer(job=context.host.ask_team(arguments.query, then, context.on_done), quotes=True)


def _inject(context: Context, arguments: memories.Inject) -> Answer:
    memex, filters = context.host.memory(), filters_of(arguments.filters)
    injection = memex.inject(
        arguments.query,
        max_tokens=arguments.max_tokens,
        mode=arguments.distillation_mode,
        priority=arguments.priority,
        include=arguments.include_metadata,
        filters=filters,
        folder=context.host.project,
        beside=_of_user(context, arguments.query, _BESIDE, MIN_RELEVANCE, filters),
    )
    _count_use(context, memex, injection.node_ids, injection.followed)
    view = views.injection_view(memex, injection, context.verbosity)
    return Answer(view, quotes=_quotes(context), nothing=not injection.node_ids, touched=injection.node_ids)


def _verdicts(context: Context, memex: Memex, nodes: Sequence[MemoryNode]) -> dict[UUID, Verdict]:
    """Of those memories that rest on something, how they stand today."""
    verdicts = memex.verdicts(nodes, context.host.project, within_s=TOOL_S, asks_git=True)
    return {node.id: verdict for node, verdict in zip(nodes, verdicts, strict=True) if verdict is not None}


def _quotes(context: Context) -> bool:
    """Return whether the answer has texts: at level 0 it has only ids."""
    return context.verbosity is not VerbosityLevel.RAW_ONLY


def _count_use(
    context: Context,
    memex: Memex,
    ids: Sequence[UUID],
    followed: Iterable[GraphEdge] = (),
    *,
    by_id: bool = False,
) -> None:
    """Count the uses, and note what is told; an answer stays an answer even if that can't be written.

    A person who looks uses nothing: what sessions find useful is what counts.

    Args:
        by_id: Whether they were asked for by their ids, which uses what was told of them.
    """
    if context.source == "cli":
        return
    try:
        memex.touch(ids, followed)
        if by_id:
            memex.use_told(ids)
        else:
            memex.tell(ids, context.host.project)
    except StoreError as error:
        context.host.failed("touch", error)


def _list(context: Context, arguments: memories.List) -> Answer:
    memex = context.host.memory()
    if arguments.view == "injected":
        return Answer({"injections": context.host.injections(arguments.limit)})
    if arguments.view == "deleted":
        after = as_uuid("cursor", arguments.cursor) if arguments.cursor else None
        return Answer(views.tombstones_view(memex.tombstones(after), arguments.limit))
    memex = _memory(context, arguments.scope)
    page = memex.list(arguments.cursor, arguments.limit, filters_of(arguments.filters))
    newer = memex.superseded(page.nodes)
    nodes = [
        {**views.record_view(node), **({"superseded_by": str(newer[node.id])} if node.id in newer else {})}
        for node in page.nodes
    ]
    return Answer({"nodes": nodes, "next_cursor": page.next_cursor})


def _show(context: Context, arguments: memories.Show) -> Answer:
    memex, wanted = _holding(context, arguments.node_id)
    if arguments.as_of is not None:
        then = memex.as_of(wanted, arguments.as_of)
        if then is None:
            raise GraphQueryError(f"memory {wanted} was not in this store at {iso_time(arguments.as_of)}")
        view = {**views.record_view(then.node), "as_of": iso_time(arguments.as_of), "forgotten": then.deleted}
        return Answer({**view, "edges": [views.edge_view(edge) for edge in then.edges]})
    stored = memex.stored(wanted)
    if stored is None:
        raise GraphQueryError(f"no memory {arguments.node_id!r} in this store")
    view = {**views.record_view(stored.node), **_scope_of(context, memex)}
    view["edges"] = [] if stored.deleted else [views.edge_view(edge) for edge in memex.edges(wanted)]
    view |= views.evidence_view(stored.node, _verdicts(context, memex, [stored.node]))
    stone, uses = memex.tombstone(wanted), context.host.uses(wanted)
    if stone is not None:
        view["tombstone"] = tombstone_to_json(stone)
    return Answer(view if uses is None else {**view, "injections": uses})


def _get(context: Context, arguments: memories.Get) -> Answer:
    memex, node_id = _holding(context, arguments.node_id)
    node = memex.get(node_id)
    if node is None:  # EC-CORE-011: a forgotten memory is as if it had never been
        raise GraphQueryError(f"no memory {node_id} in this store")
    _count_use(context, memex, (node_id,), by_id=True)
    if arguments.accept:
        node = memex.accept(node_id)
    view = views.node_view(memex, node, context.verbosity)
    if context.verbosity is not VerbosityLevel.RAW_ONLY:
        view |= views.evidence_view(node, _verdicts(context, memex, [node]))
    return Answer({"node": view}, quotes=_quotes(context))


def _status(context: Context, arguments: memories.Status) -> Answer:
    status = context.host.memory().status(dream_available=context.host.dream_available)
    return Answer(status.as_dict(), quotes=True)


def _set_verbosity(context: Context, arguments: memories.SetVerbosity) -> Answer:
    previous, context.talk.verbosity = context.talk.verbosity, VerbosityLevel(arguments.level)
    return Answer({"previous_level": int(previous), "new_level": arguments.level})


def _forget(context: Context, arguments: memories.Forget) -> Answer:
    memex, wanted = _holding(context, arguments.node_id)
    if not arguments.pinned:
        check_not_pinned(memex, wanted)
    stored = memex.stored(wanted)
    forgotten, elsewhere = forget_everywhere(context.host, memex, wanted, arguments, context.source)
    view = views.forgotten_view(forgotten, stored, context.verbosity)
    content = view if arguments.soft_delete else {**view, **forgotten.deletion_report()}
    # Quoted are others' texts, and who forgot it before.
    return Answer(
        {**content, **elsewhere}, quotes=bool(elsewhere) or forgotten.tombstone.reason != arguments.reason
    )


def _confirm(context: Context, arguments: memories.Confirm) -> Answer:
    memex, wanted = _holding(context, arguments.node_id)
    with memex.acting(_act(context, "confirm")):
        node = memex.confirm(wanted, context.host.project, take_back=arguments.take_back)
    return Answer({**views.record_view(node), **views.evidence_view(node, _verdicts(context, memex, [node]))})


def _reword(context: Context, arguments: memories.Reword) -> Answer:
    memex, wanted = _holding(context, arguments.node_id)
    with memex.masking() as masked, memex.acting(_act(context, "edit")):
        node = memex.reword(wanted, arguments.content)
    return Answer({**views.record_view(node), **_scope_of(context, memex), **_masked(masked)})


def _restore(context: Context, arguments: memories.Restore) -> Answer:
    memex, wanted = _holding(context, arguments.node_id)
    with memex.acting(_act(context, "restore")):
        node = memex.restore(wanted)
    if context.verbosity is None:
        return Answer(views.record_view(node))
    return Answer({"node_id": str(node.id), "created_at": iso_time(node.created_at_ms)})


def _link(context: Context, arguments: memories.Link) -> Answer:
    memex = context.host.memory()
    source = memory_named(memex, arguments.source_id, "source_id")
    target = memory_named(memex, arguments.target_id, "target_id")
    if source == target:
        raise InvalidParamsError.of(
            "target_id", f"is {target}, the same as source_id; a link needs two memories"
        )
    with memex.masking() as masked, memex.acting(_act(context, "link")):
        edge = memex.link(
            source,
            target,
            arguments.relationship_type,
            weight=arguments.weight,
            confidence=arguments.confidence,
            domain=arguments.domain,
            metadata=arguments.metadata,
            edge_id=context.new_id(),
        )
    view = {**views.linked_view(edge, context.verbosity), **_masked(masked)}
    if context.verbosity is None:  # whoever typed the beginnings of two ids sees what they mean
        view |= {"source_text": text_of(memex, source), "target_text": text_of(memex, target)}
    return Answer(view)


def _identity(context: Context, arguments: memories.Identity) -> Answer:
    try:
        return Answer(context.host.identity(context.session_id))
    except SessionNotFoundError:
        pass
    try:  # the environment's session may never have been recorded: then the store's latest is what is meant
        latest = context.host.identity(None)
    except SessionNotFoundError:  # no hooks: MCP alone
        return Answer(views.unmeasured_view(context.host.memory(), context.session_id))
    if arguments.session_id is not None:
        raise SessionNotFoundError(f"Session not found or expired: {arguments.session_id}") from None
    return Answer(latest)


def _history(context: Context, arguments: whole_stores.History) -> Answer:
    memex, wanted = _holding(context, arguments.node_id)
    versions = [views.version_view(version) for version in memex.history(wanted, arguments.limit)]
    return Answer({"id": str(wanted), "content": text_of(memex, wanted), "versions": versions})


_RUNS: Final[dict[type[Called], Callable[[Context, Any], Answer]]] = {
    memories.Store: _store,
    memories.Recall: _recall,
    memories.Inject: _inject,
    memories.List: _list,
    memories.Show: _show,
    memories.Get: _get,
    memories.Status: _status,
    memories.SetVerbosity: _set_verbosity,
    memories.Forget: _forget,
    memories.Confirm: _confirm,
    memories.Reword: _reword,
    memories.Restore: _restore,
    memories.Link: _link,
    memories.Identity: _identity,
    whole_stores.History: _history,
    **STORE_RUNS,
}
