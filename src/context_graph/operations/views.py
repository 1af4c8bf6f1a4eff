"""Shows answers as JSON: at seed 003's three levels (REQ-CORE-020 to 022), or whole for a program.

Level 0 gives ids. Level 1 adds texts: whole while they fit one reply together, else the longest are cut to
one length and marked. Level 2 adds what is known about the memories. docs/dev/memory-metrics.md has measured
sizes. The command line asks for whole records (no level), with the fields of an export.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from context_graph.memory.context.inject import Injection
from context_graph.memory.editing import Forgotten
from context_graph.memory.evidence import Verdict
from context_graph.memory.exchange.records import edge_to_json, node_to_json, tombstone_to_json
from context_graph.memory.history import Version
from context_graph.memory.memex import Memex
from context_graph.memory.metrics.insights import Insights
from context_graph.memory.metrics.metrics import learning_score
from context_graph.memory.recall import Recall, Recalled
from context_graph.memory.runs import Undone
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import (
    MIN_RELEVANCE,
    MemoryNode,
    Tombstone,
    VerbosityLevel,
    author_of,
    iso_time,
    machine_of,
)
from context_graph.model.note import kind_of_memory
from context_graph.operations.context import Elsewhere
from context_graph.store.graph.history import Run
from context_graph.store.graph.node_records import StoredNode

_NAMED_CHARS: Final = 160
TEXT_CHARS: Final = {VerbosityLevel.TEXT_AND_IDS: 800, VerbosityLevel.FULL_INSIGHTS: 2_400}
"""Characters of content that a recall's answer shares out: some 200 and 600 tokens beside ids and scores."""
LEAST_CHARS: Final = 100
"""Characters that each memory of an answer gets, however many there are."""
MAX_DETAILED: Final = 20
"""Memories whose own scores level 2 lists."""
NOTHING_FOUND: Final = "Nothing above the floor, and nothing near it."
NEAREST: Final = "Nothing above the floor; nearest:"
_ELLIPSIS: Final = "…"
_LISTED: Final = 100
"""Ids that an undo lists; its counts are of all."""
_UTL: Final = ("delta_s", "delta_c", "w_e", "phi")
_FOR_PROGRAMS: Final = ("utl_state", "project", "semantic_cluster")
"""Fields of a memory that a model gets never, or only at level 2."""


_OUR_OWN: Final = frozenset({"gathered", "searched"})
"""The parts of a summary's metadata that only its session's notes are made of; exports have them."""


def record_view(node: MemoryNode) -> dict[str, Any]:
    """Return a memory for a program: all fields but the vector, times as ISO 8601."""
    view = node_to_json(node)
    view.pop("embedding", None)
    view["created_at"] = iso_time(view.pop("created_at_ms"))
    view["last_accessed"] = iso_time(view.pop("last_accessed_ms"))
    if view.get("metadata"):
        view["metadata"] = {name: value for name, value in view["metadata"].items() if name not in _OUR_OWN}
    kind = kind_of_memory(node.metadata)
    return view if kind is None else {**view, "kind": str(kind)}


UNMEASURED: Final = (
    "No session of this project has been measured: no hook has told of one. The memory works without them."
)


def unmeasured_view(memex: Memex, session_id: str | None) -> dict[str, Any]:
    """get_identity's answer where no hook has ever told of a session: what the store knows."""
    newest = memex.list(limit=1).nodes
    return {
        "session_id": session_id,
        "identity_continuity": None,
        "measured": False,
        "note": UNMEASURED,
        "memories": memex.count(),
        "last_memory_at": iso_time(newest[0].created_at_ms) if newest else None,
        "last_memory_session_id": newest[0].session_id if newest else None,
    }


def stored_view(node: MemoryNode, level: VerbosityLevel | None) -> dict[str, Any]:
    """REQ-CORE-014's answer; with the learning state at level 2."""
    if level is None:
        return record_view(node)
    view: dict[str, Any] = {
        "node_id": str(node.id),
        "created_at": iso_time(node.created_at_ms),
        "johari_quadrant": node.johari_quadrant.value,
    }
    if level is VerbosityLevel.FULL_INSIGHTS:
        view["utl_state"] = {name: round(getattr(node.utl_state, name), 6) for name in _UTL}
    return view


def recall_view(
    memex: Memex,
    recall: Recall,
    level: VerbosityLevel | None,
    verdicts: Mapping[UUID, Verdict],
    elsewhere: Container[UUID] = (),
) -> dict[str, Any]:
    """recall_memory's answer (REQ-CORE-015, appendix B), best first.

    What is below the floor is ``weak``. What rests on files has its ``standing``: how those are today. A
    shortened content has ``truncated`` and ``content_chars``; get_memory gives it whole.
    """
    nodes = [row.node for row in recall.nodes]
    if level is None:
        rows = [
            {
                **record_view(row.node),
                "relevance_score": round(row.score, 6),
                **_weak(row),
                "parts": {name: round(value, 6) for name, value in row.parts.items()},
                **evidence_view(row.node, verdicts),
            }
            for row in recall.nodes
        ]
        return {**_note(recall), "nodes": rows, "total": recall.total, "next_cursor": recall.next_cursor}
    if level is VerbosityLevel.RAW_ONLY:
        view: dict[str, Any] = {"nodes": [{"id": str(node.id)} for node in nodes]}
    else:
        texts = _shared_out([node.content for node in nodes], TEXT_CHARS[level])
        view = {
            "nodes": [
                _entry(
                    row.node,
                    text,
                    relevance_score=round(row.score, 4),
                    **_weak(row),
                    **evidence_view(row.node, verdicts),
                )
                for row, text in zip(recall.nodes, texts, strict=True)
            ]
        }
    if level is VerbosityLevel.FULL_INSIGHTS:
        for entry, node in zip(view["nodes"], nodes, strict=True):
            entry["utl"] = _scores(node)
        view |= _insights(memex.insights([node for node in nodes if node.id not in elsewhere]))
    if recall.next_cursor is not None:
        view["next_cursor"] = recall.next_cursor
    return {**_note(recall), **view}


def all_weak(recall: Recall) -> bool:
    """Return whether none of the memories, if any, is above the floor."""
    return all(row.score < MIN_RELEVANCE for row in recall.nodes)


def _weak(row: Recalled) -> dict[str, bool]:
    """Marks a memory of which it is less likely than not that it is what was asked for."""
    return {"weak": True} if row.score < MIN_RELEVANCE else {}


def _note(recall: Recall) -> dict[str, str]:
    """Return what an answer says before its memories, if none is above the floor."""
    if not all_weak(recall):
        return {}
    return {"note": NEAREST if recall.nodes else NOTHING_FOUND}


def team_view(
    memex: Memex,
    recall: Recall,
    level: VerbosityLevel | None,
    verdicts: Mapping[UUID, Verdict],
    places: Mapping[UUID, Elsewhere],
    failed: str,
) -> dict[str, Any]:
    """recall_memory's answer for a team: as `recall_view`, and where each comes from that is not here."""
    view = recall_view(memex, recall, level, verdicts, places.keys())
    for entry in view["nodes"]:
        if (place := places.get(UUID(entry["id"]))) is not None:
            commit = (place.node.metadata.get("evidence") or {}).get("commit")
            by = {
                "project": place.project,
                "author": author_of(place.node),
                "machine": machine_of(place.node),
            }
            entry["from"] = {name: value for name, value in {**by, "commit": commit}.items() if value}
    if any("from" in entry for entry in view["nodes"]):
        view["hub"] = "What comes from the hub is not on this machine: its id can't be used here."
    return {**view, "hub": f"{failed}; these are this machine's memories."} if failed else view


def evidence_view(node: MemoryNode, verdicts: Mapping[UUID, Verdict]) -> dict[str, str]:
    """Return how what the memory rests on is today; nothing for one that rests on nothing."""
    return {"standing": verdicts[node.id].text()} if node.id in verdicts else {}


def injection_view(memex: Memex, injection: Injection, level: VerbosityLevel | None) -> dict[str, Any]:
    """inject_context's answer (REQ-CORE-016, appendix B); at level 0 no text at all."""
    ids = [str(node.id) for node in injection.nodes]
    if level is VerbosityLevel.RAW_ONLY:
        return {
            "context": "",
            "tokens_used": 0,
            "compression_ratio": 1.0 if ids else 0.0,
            "nodes_retrieved": ids,
            **({} if ids else {"note": NOTHING_FOUND}),
        }
    view = {
        "context": injection.context,
        "tokens_used": injection.tokens_used,
        "tokens_before_distillation": injection.tokens_before,
        "distillation_applied": injection.mode.value,
        "compression_ratio": round(injection.compression_ratio, 4),
        "nodes_retrieved": ids,
    }
    if level is None:
        return {**view, **({} if ids else {"note": NOTHING_FOUND}), "metadata": injection.metadata}
    view["utl_metrics"] = injection.utl_metrics.as_dict()
    if level is VerbosityLevel.FULL_INSIGHTS:
        view["utl_scores"] = [{"id": str(row.id), **_scores(row)} for row in injection.nodes[:MAX_DETAILED]]
        view = _insights(injection.insights) | view
    return view | injection.metadata | ({} if ids else {"note": NOTHING_FOUND})


def node_view(memex: Memex, node: MemoryNode, level: VerbosityLevel | None) -> dict[str, Any]:
    """get_memory's answer: one memory with its whole content."""
    if level is VerbosityLevel.RAW_ONLY:
        return {"id": str(node.id)}
    record = record_view(node)
    view = _entry(node, node.content)
    view |= {name: value for name, value in record.items() if name not in view and name not in _FOR_PROGRAMS}
    if level is VerbosityLevel.FULL_INSIGHTS:
        view["semantic_cluster"] = record["semantic_cluster"]
        insights = memex.insights([node])
        view["utl"] = _scores(node)
        view |= _insights(insights) | insights.named(["neighborhood"])
    return view


def _entry(node: MemoryNode, text: str, **more: object) -> dict[str, Any]:
    cut = {"truncated": True, "content_chars": len(node.content)} if text != node.content else {}
    kind = kind_of_memory(node.metadata)
    return {
        "id": str(node.id),
        "content": text,
        **cut,
        **({"kind": str(kind)} if kind is not None else {}),
        "importance": node.importance,
        **more,
        "johari_quadrant": node.johari_quadrant.value,
        "created_at": iso_time(node.created_at_ms),
    }


def _shared_out(contents: Sequence[str], room: int) -> list[str]:
    """Return ``contents``, best first, in ``room``: where they don't fit, each has half of what is left."""
    if sum(map(len, contents)) <= room:
        return list(contents)
    texts = []
    for content in contents:
        limit = max(room // 2, LEAST_CHARS)
        texts.append(content if len(content) <= limit else content[: limit - 1] + _ELLIPSIS)
        room -= len(texts[-1])
    return texts


def _insights(insights: Insights) -> dict[str, Any]:
    """Return what level 2 adds (REQ-CORE-022)."""
    named = insights.named(("causal_links", "entailment_cones", "conflicts"))
    conflicts = named.pop("conflicts")
    metrics = insights.metrics()
    return {
        **named,
        "conflict_analysis": {"contradiction_score": round(metrics.conflict, 4), "conflicts": conflicts},
        "utl_metrics": metrics.as_dict(),
    }


def _scores(node: MemoryNode) -> dict[str, Any]:
    utl = node.utl_state
    return {
        **{name: round(getattr(utl, name), 4) for name in _UTL},
        "learning_score": round(learning_score(utl.delta_s, utl.delta_c, utl.w_e, math.cos(utl.phi)), 4),
    }


def edge_view(edge: GraphEdge) -> dict[str, Any]:
    """Return a link with all its fields, and whether it is a valuable shortcut."""
    return {**edge_to_json(edge), "is_valuable_shortcut": edge.is_valuable_shortcut()}


def linked_view(edge: GraphEdge, level: VerbosityLevel | None) -> dict[str, Any]:
    """link_memories' answer; all of the link's fields for a program."""
    if level is None:
        return edge_to_json(edge)
    return {
        "edge_id": str(edge.id),
        "source_id": str(edge.source_id),
        "target_id": str(edge.target_id),
        "relationship_type": edge.relationship_type,
        "effective_weight": round(edge.effective_weight(), 6),
    }


def tombstones_view(stones: Iterable[Tombstone], limit: int) -> dict[str, Any]:
    """Return one page of what was forgotten."""
    rows: list[dict[str, Any]] = []
    for stone in stones:
        if len(rows) == limit:
            return {"tombstones": rows, "next_cursor": rows[-1]["id"]}
        rows.append(tombstone_to_json(stone))
    return {"tombstones": rows, "next_cursor": None}


def forgotten_view(
    forgotten: Forgotten, stored: StoredNode | None, level: VerbosityLevel | None
) -> dict[str, Any]:
    """forget_memory's answer; for a program the tombstone and the deleted text."""
    stone = forgotten.tombstone
    if level is None:
        return {**tombstone_to_json(stone), "content": "" if stored is None else stored.node.content}
    return {
        "node_id": str(stone.id),
        "soft_delete": stone.soft,
        "deleted_at": iso_time(stone.deleted_at_ms),
        "reason": stone.reason,
    }


def named_view(node: MemoryNode) -> dict[str, str]:
    """Return a memory by its id and the beginning of its text."""
    text = " ".join(node.content.split())
    return {"id": str(node.id), "text": text if len(text) <= _NAMED_CHARS else f"{text[:_NAMED_CHARS]}…"}


def changed_view(memories: Sequence[MemoryNode], count: int) -> dict[str, Any]:
    """Return the memories that a change concerns: the first few, and how many there are."""
    return {"memories": [named_view(memory) for memory in memories], "memory_count": count}


def undone_view(undone: Undone) -> dict[str, Any]:
    """Return the result of undoing a consolidation."""
    kept = {"kept_count": len(undone.kept), "kept": list(undone.kept[:_LISTED])}
    return {**msgspec.to_builtins(undone), **kept}


def run_view(run: Run) -> dict[str, Any]:
    """Return one past consolidation."""
    view: dict[str, Any] = msgspec.to_builtins(run)
    del view["parts"]
    return {"first_commit": view.pop("first"), "last_commit": view.pop("last"), **view}


def version_view(version: Version) -> dict[str, Any]:
    """Return one change of a memory."""
    return {
        "seq": version.seq,
        "at_ms": version.at_ms,
        "what": version.what,
        "run": None if version.run is None else str(version.run),
        "before": dict(version.before),
        "edge": None if version.edge is None else edge_to_json(version.edge),
    }


def stats_view(memex: Memex, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return the memory's numbers in groups, with the owner's counts."""
    metrics = memex.metrics()
    operations = metrics.pop("operations", {})
    groups: dict[str, Any] = {}
    for name, value in metrics.items():
        group, _, rest = name.partition("_")
        if group in ("cache", "bloom", "index") and rest:
            groups.setdefault(group, {})[rest] = value
        else:
            groups.setdefault("memory", {})[name] = value
    embedding = memex.provider_record() or {"name": "none yet"}
    return {**groups, "embedding": embedding, **figures, "operations": operations}
