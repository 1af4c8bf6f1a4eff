"""What tools/list says: parameters, results, hints and descriptions of the memory tools.

Every session of every client pays for these bytes (all of them below 8 KB, invariant 9), so each sentence
has to change what a model does. The limits themselves are checked where the values are used.
"""

from __future__ import annotations

from typing import Any, Final

from context_graph.model.edge import Domain
from context_graph.model.memory import JohariQuadrant, Modality

__all__ = ["DESCRIPTIONS", "HINTS", "MODES", "PARAMETERS", "RESULTS"]

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": {"type": "string"}}
_UNIT: Final[Schema] = {"type": "number", "minimum": 0, "maximum": 1}
_OBJECT: Final[Schema] = {"type": "object"}
_NUMBER: Final[Schema] = {"type": "number"}
_LEVEL: Final[Schema] = {"enum": [0, 1, 2]}
_QUERY: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": 4096}
_TIME: Final[Schema] = {"type": "string", "format": "date-time"}

MODES: Final = ("light", "deep", "rem")
PRIORITIES: Final = ("low", "normal", "high", "critical")
DISTILLATIONS: Final = ("auto", "raw", "narrative", "structured", "code_focused")
INSIGHTS: Final = ("causal_links", "entailment_cones", "neighborhood", "conflicts")


def _words(words: Any) -> list[str]:
    return [str(word) for word in words]


def _parameters(required: list[str], **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {**properties, "session_id": _TEXT},
        **({"required": required} if required else {}),
    }


def _described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


_FILTERS: Final[Schema] = {
    "type": "object",
    "properties": {
        "min_importance": _UNIT,
        "johari_quadrants": {"type": "array", "items": {"enum": _words(JohariQuadrant)}},
        "created_after": _TIME,
        "created_before": _TIME,
        "agent_id": _TEXT,
        "session_id": _TEXT,
        "tags": _TEXTS,
    },
}

PARAMETERS: Final[dict[str, Schema]] = {
    "store_memory": _parameters(
        ["rationale"],
        content=_described({"type": "string", "maxLength": 65536}, "One fact, self-contained"),
        content_base64=_described(_TEXT, "For binary"),
        rationale=_described(
            {"type": "string", "minLength": 10, "maxLength": 500}, "Why a later session needs it"
        ),
        importance=_UNIT,
        modality={"enum": _words(Modality)},
        metadata=_OBJECT,
        link_to=_described(_TEXTS, "Ids of related memories"),
        tags=_TEXTS,
        agent_id=_TEXT,
        occurred_at=_described(_TIME, "When it happened, if not now"),
        verbosity_level=_LEVEL,
    ),
    "recall_memory": _parameters(
        ["query"],
        query=_QUERY,
        top_k={"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        filters=_FILTERS,
        recency=_described(_UNIT, "Weight of newness"),
        cursor=_described(_TEXT, "next_cursor of the reply before"),
        verbosity_level=_LEVEL,
    ),
    "search_graph": _parameters(
        ["query"],
        query=_TEXT,
        top_k={"type": "integer"},
        filters=_OBJECT,
        cursor=_TEXT,
        verbosity_level=_LEVEL,
    ),
    "inject_context": _parameters(
        ["query"],
        query=_QUERY,
        max_tokens={"type": "integer", "minimum": 100, "maximum": 8192, "default": 2048},
        priority={"enum": _words(PRIORITIES)},
        distillation_mode={"enum": _words(DISTILLATIONS)},
        include_metadata={"type": "array", "items": {"enum": _words(INSIGHTS)}},
        verbosity_level=_LEVEL,
    ),
    "get_memetic_status": _parameters([]),
    "set_verbosity": _parameters(["level"], level=_LEVEL),
    "forget_memory": _parameters(
        ["node_id"],
        node_id=_TEXT,
        soft_delete={"type": "boolean", "default": True},
        reason=_described(_TEXT, "user_requested: needed to delete for good"),
        pinned={"type": "boolean"},
    ),
    "restore_memory": _parameters(["node_id"], node_id=_TEXT),
    "link_memories": _parameters(
        ["source_id", "target_id"],
        source_id=_TEXT,
        target_id=_TEXT,
        relationship_type=_described(_TEXT, "causes, contradicts, part_of, related_to ..."),
        weight=_UNIT,
        confidence=_UNIT,
        domain={"enum": _words(Domain)},
        metadata=_OBJECT,
    ),
    "get_memory": _parameters(["node_id"], node_id=_TEXT, verbosity_level=_LEVEL),
    "get_identity": _parameters([]),
    "consolidate_memories": _parameters(
        [],
        mode={"enum": _words(MODES), "default": "light"},
        salience_threshold={**_UNIT, "default": 0.3},
        max_memories=_described({"type": "integer"}, "Newest only"),
        dry_run={"type": "boolean"},
        strict=_described({"type": "boolean"}, "Refuse a lesser mode"),
    ),
    "discover_goals": _parameters(
        [],
        min_confidence=_UNIT,
        max_goals={"type": "integer", "minimum": 1, "maximum": 50},
    ),
}

DESCRIPTIONS: Final[dict[str, str]] = {
    "store_memory": "Keep a fact for later sessions of this project. Give content or content_base64.",
    "recall_memory": "Find memories by meaning and words, best first, with scores.",
    "search_graph": "Another name of recall_memory.",
    "inject_context": "Relevant memories condensed to at most max_tokens, each line with its memory's id. "
    "Call it before starting on something.",
    "get_memetic_status": "Health of the memory, and curation tasks.",
    "set_verbosity": "How much results tell from now on: 0 ids, 1 text and ids, 2 links, scores, conflicts.",
    "forget_memory": "Take a memory out. Soft: restore_memory brings it back within 30 days.",
    "restore_memory": "Bring back a memory that was forgotten softly.",
    "link_memories": "Connect two memories; recall follows such links.",
    "get_memory": "One memory whole; at level 2 with its links.",
    "get_identity": "The session's identity continuity and consciousness.",
    "consolidate_memories": "light merges duplicates and prunes what says little, deep also clusters and "
    "links, rem also finds patterns and goals. Try dry_run first. undo_token takes a run back.",
    "discover_goals": "Goals that the memories show, with confidence, level, parent, members.",
}

_READS: Final = {"readOnlyHint": True, "openWorldHint": False}
_ADDS: Final = {"destructiveHint": False, "openWorldHint": False}
_USES: Final = _ADDS
"""It answers, and writes down that the memory was used and which links led to it: no tool that only reads."""

HINTS: Final[dict[str, dict[str, bool]]] = {
    "store_memory": _ADDS,
    "recall_memory": _USES,
    "search_graph": _USES,
    "inject_context": _USES,
    "get_memetic_status": _READS,
    "set_verbosity": _ADDS,
    "forget_memory": {"destructiveHint": True, "openWorldHint": False},
    "restore_memory": _ADDS,
    "link_memories": _ADDS,
    "get_memory": _USES,
    "get_identity": _READS,
    "consolidate_memories": {"destructiveHint": True, "openWorldHint": False},
    "discover_goals": _READS,
}


def _result(*always: str) -> Schema:
    """Only what is always there is promised; more comes with higher verbosity."""
    return {"type": "object", "required": [*always, "pulse"]}


RESULTS: Final[dict[str, Schema]] = {
    "store_memory": _result("node_id", "johari_quadrant"),
    "recall_memory": _result("nodes"),
    "search_graph": _result("nodes"),
    "inject_context": _result("context", "tokens_used"),
    "get_memetic_status": _result("coherence_score", "entropy_level", "suggested_action"),
    "set_verbosity": _result("previous_level", "new_level"),
    "forget_memory": _result("node_id", "soft_delete"),
    "restore_memory": _result("node_id"),
    "link_memories": _result("edge_id"),
    "get_memory": _result("node"),
    "get_identity": _result("session_id", "identity_continuity"),
    "consolidate_memories": _result("mode", "pruned_count", "merged_count"),
    "discover_goals": _result("goals"),
}
