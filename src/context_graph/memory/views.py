"""What each verbosity level shows of an answer (REQ-CORE-020 to 022): dicts for JSON, without the pulse.

Level 0 names memories and nothing else. Level 1 adds their texts: whole while they fit one reply together,
else the longest are cut to one length and marked. Level 2 adds what is known about them. A typical answer has
about 100, 200 and 800 tokens; docs/memory-metrics.md has measured ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from context_graph.memory.inject import Injection
from context_graph.memory.insights import Insights
from context_graph.memory.memex import Memex
from context_graph.memory.recall import Recall
from context_graph.memory.utl_metrics import learning_score
from context_graph.model.instants import iso_time
from context_graph.model.memory import MemoryNode, VerbosityLevel

__all__ = ["MAX_TEXT_CHARS", "NOTHING_FOUND", "injection_view", "node_view", "recall_view"]

MAX_TEXT_CHARS: Final = 24_000
"""Characters of content in one reply; the client inlines 30,000 of the whole. Some 6,000 tokens."""
MAX_DETAILED: Final = 20
"""Memories whose own figures level 2 lists."""
NOTHING_FOUND: Final = "Nothing is remembered about that."
_ELLIPSIS: Final = "…"


def recall_view(memex: Memex, recall: Recall, level: VerbosityLevel) -> dict[str, Any]:
    """recall_memory's answer (REQ-CORE-015, appendix B), best first.

    A content that is cut has ``truncated`` and ``content_chars`` beside it; get_memory gives it whole.
    """
    nodes = [found.node for found in recall.nodes]
    if level is VerbosityLevel.RAW_ONLY:
        view: dict[str, Any] = {"nodes": [{"id": str(node.id)} for node in nodes]}
    else:
        texts = _fitting([node.content for node in nodes])
        view = {
            "nodes": [
                _entry(found.node, text, relevance_score=round(found.score, 4))
                for found, text in zip(recall.nodes, texts, strict=True)
            ]
        }
    if level is VerbosityLevel.FULL_INSIGHTS:
        for entry, node in zip(view["nodes"], nodes, strict=True):
            entry["utl"] = _scores(node)
        view |= _insights(memex.insights(nodes))
    if recall.next_cursor is not None:
        view["next_cursor"] = recall.next_cursor
    return view if nodes else {"note": NOTHING_FOUND, **view}


def injection_view(memex: Memex, injection: Injection, level: VerbosityLevel) -> dict[str, Any]:
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
        "utl_metrics": injection.utl_metrics.as_dict(),
    }
    if level is VerbosityLevel.FULL_INSIGHTS:
        view["utl_scores"] = [
            {"id": str(node.id), **_scores(node)} for node in injection.nodes[:MAX_DETAILED]
        ]
        view = _insights(injection.insights) | view
    return view | injection.metadata | ({} if ids else {"note": NOTHING_FOUND})


def node_view(memex: Memex, node: MemoryNode, level: VerbosityLevel) -> dict[str, Any]:
    """get_memory's answer: one memory, its content whole."""
    if level is VerbosityLevel.RAW_ONLY:
        return {"id": str(node.id)}
    view = _entry(node, node.content) | {
        "rationale": node.rationale,
        "access_count": node.access_count,
        "last_accessed": iso_time(node.last_accessed_ms),
        "source": node.source,
        "modality": node.modality.value,
        "tags": list(node.tags),
        "pinned": node.pinned,
        "session_id": node.session_id,
        "agent_id": node.agent_id,
        "metadata": dict(node.metadata),
    }
    if level is VerbosityLevel.FULL_INSIGHTS:
        view["semantic_cluster"] = None if node.semantic_cluster is None else str(node.semantic_cluster)
        insights = memex.insights([node])
        view["utl"] = _scores(node)
        view |= _insights(insights) | insights.named(["neighborhood"])
    return view


def _entry(node: MemoryNode, text: str, **more: object) -> dict[str, Any]:
    cut = {"truncated": True, "content_chars": len(node.content)} if text != node.content else {}
    return {
        "id": str(node.id),
        "content": text,
        **cut,
        "importance": node.importance,
        **more,
        "johari_quadrant": node.johari_quadrant.value,
        "created_at": iso_time(node.created_at_ms),
    }


def _fitting(contents: Sequence[str]) -> list[str]:
    """``contents``, the longest cut to the one length at which all together fit a reply."""
    room, left = MAX_TEXT_CHARS, len(contents)
    limit = MAX_TEXT_CHARS
    for length in sorted(map(len, contents)):
        limit = room // left
        if length > limit:
            break
        room -= length
        left -= 1
    else:
        return list(contents)
    return [one if len(one) <= limit else one[: limit - 1] + _ELLIPSIS for one in contents]


def _insights(insights: Insights) -> dict[str, Any]:
    """What level 2 adds (REQ-CORE-022)."""
    found = insights.named(("causal_links", "entailment_cones", "conflicts"))
    conflicts = found.pop("conflicts")
    metrics = insights.metrics()
    return {
        **found,
        "conflict_analysis": {"contradiction_score": round(metrics.conflict, 4), "conflicts": conflicts},
        "utl_metrics": metrics.as_dict(),
    }


def _scores(node: MemoryNode) -> dict[str, Any]:
    utl = node.utl_state
    return {
        "delta_s": round(utl.delta_s, 4),
        "delta_c": round(utl.delta_c, 4),
        "w_e": round(utl.w_e, 4),
        "phi": round(utl.phi, 4),
        "learning_score": round(learning_score(utl.delta_s, utl.delta_c, utl.w_e, math.cos(utl.phi)), 4),
    }
