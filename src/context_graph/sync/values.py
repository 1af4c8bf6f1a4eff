"""Turns memories and links into the fields that travel, and fields into memories and links, each checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from context_graph.claude.hooks.origin import CANARY_TAG
from context_graph.errors import InvalidInputError
from context_graph.memory.exchange import records
from context_graph.memory.writing import drafted, redacted, redacted_node
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import TOLD_BY, MemoryNode, Tombstone
from context_graph.redact import TextRedactor
from context_graph.sync.change import GONE, LINK, MEMORY, REMOVED, TOMBSTONE, Change, canonical

PRIVATE: Final = "private"
"""Key of metadata, or tag, of what never leaves."""
NODE_FIELDS: Final = (
    *("content", "rationale", "created_at_ms", "importance", "johari_quadrant", "agent_id", "session_id"),
    *("modality", "tags", "pinned", "source", "metadata"),
)
EDGE_FIELDS: Final = (
    *("id", "weight", "confidence", "domain", "is_amortized_shortcut", "created_at_ms"),
    *("neurotransmitter_weights", "metadata"),
)
NEEDED: Final = {MEMORY: ("content", "rationale", "created_at_ms"), LINK: ("id",)}
"""Without these there is nothing to be made."""
_BLANK: Final = {"id": str(UUID(int=0)), "content": "x", "rationale": "a rationale", "created_at_ms": 0}
_MAX_REASON: Final = 500


def is_private(node: MemoryNode) -> bool:
    """Return whether it never leaves this machine."""
    return node.metadata.get(PRIVATE) is True or PRIVATE in node.tags or CANARY_TAG in node.tags


def node_values(node: MemoryNode, redactor: TextRedactor) -> dict[str, Any]:
    """Return the fields of a memory that travel, without secrets."""
    clean = records.node_to_json(redacted_node(node, redactor))
    fields = {name: clean[name] for name in NODE_FIELDS}
    fields["metadata"] = {name: value for name, value in clean["metadata"].items() if name != TOLD_BY}
    fields["importance"] = float(fields["importance"])
    return fields


def edge_values(edge: GraphEdge, redactor: TextRedactor) -> dict[str, Any]:
    """Return the fields of a link that travel, without secrets."""
    fields = records.edge_to_json(edge)
    fields["metadata"] = redacted(edge.metadata, redactor)
    for name in ("weight", "confidence"):
        fields[name] = float(fields[name])
    return {name: fields[name] for name in EDGE_FIELDS} | {GONE: False}


def stone_value(stone: Tombstone, redactor: TextRedactor) -> dict[str, Any]:
    """Return a soft deletion as it travels."""
    return {"at_ms": stone.deleted_at_ms, "reason": redactor.redact(stone.reason)}


def stone_of(node_id: UUID, value: Mapping[str, Any]) -> Tombstone:
    """Return the soft deletion that ``value`` tells."""
    return Tombstone(node_id, value["at_ms"], value["reason"], True)


def link_subject(source: UUID, target: UUID, relationship: str) -> str:
    """Return what a link is known by."""
    return f"{source}/{target}/{relationship}"


def ends_of(subject: str) -> tuple[UUID, UUID, str]:
    """Return the ends of a link, and its relationship. Raises InvalidInputError."""
    parts = subject.split("/", 2)
    try:
        return UUID(parts[0]), UUID(parts[1]), parts[2]
    except (ValueError, IndexError) as error:
        raise InvalidInputError("a link without ends") from error


def check(change: Change) -> None:
    """Check what a change's fields hold, by what is checked where it is written.

    Raises InvalidInputError, InvalidParamsError: it says what, and quotes little.
    """
    fields = dict(change.fields)
    if change.kind == MEMORY:
        _check_own_id(change.subject)
        _check_removal(fields)
        known: tuple[str, ...] = NODE_FIELDS
    else:
        source, target, relationship = ends_of(change.subject)
        if source == target:
            raise InvalidInputError("a link from a memory to itself")
        if change.subject != link_subject(source, target, relationship) or change.uses:
            raise InvalidInputError("a link whose ends are not written as they must be")
        if not isinstance(fields.pop(GONE, False), bool):
            raise InvalidInputError("a link that is neither there nor gone")
        known = EDGE_FIELDS
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise InvalidInputError(f"a field that no {change.kind} has")
    if change.kind == MEMORY:
        drafted(records.node_from_json({**_BLANK, **fields}))
    else:
        edge_of(change.subject, {"id": str(UUID(int=0)), **fields})
    canonical(fields)


def _check_own_id(subject: str) -> None:
    try:
        if str(UUID(subject)) == subject:
            return
    except ValueError:
        pass
    raise InvalidInputError("a memory whose id is no UUID")


def _check_removal(fields: dict[str, Any]) -> None:
    if fields.pop(REMOVED, True) is not True:
        raise InvalidInputError("a removal that is none")
    stone = fields.pop(TOMBSTONE, None)
    if stone is None:
        return
    if not isinstance(stone, dict) or set(stone) != {"at_ms", "reason"}:
        raise InvalidInputError("a deletion without time or reason")
    at_ms, reason = stone["at_ms"], stone["reason"]
    if type(at_ms) is not int or not 0 <= at_ms < 1 << 62 or not isinstance(reason, str):
        raise InvalidInputError("a deletion without time or reason")
    if len(reason) > _MAX_REASON:
        raise InvalidInputError("a deletion with too long a reason")


def node_of(subject: str, values: Mapping[str, Any], told_by: object = None) -> MemoryNode:
    """The memory that ``values`` tell; who stores or shows it masks the secrets. ``told_by``: for TOLD_BY,
    whatever ``values`` have there. Raises InvalidInputError.
    """
    fields = {name: values[name] for name in NODE_FIELDS if name in values}
    made = records.node_from_json({"id": subject, **fields})
    metadata = {name: value for name, value in made.metadata.items() if name != TOLD_BY}
    return replace(made, metadata=metadata | ({TOLD_BY: told_by} if told_by else {}))


def edge_of(subject: str, values: Mapping[str, Any]) -> GraphEdge:
    """Return the link that ``values`` tell. Raises InvalidInputError."""
    source, target, relationship = ends_of(subject)
    fields = {name: values[name] for name in EDGE_FIELDS if name in values}
    ends = {"source_id": str(source), "target_id": str(target), "relationship_type": relationship}
    return records.edge_from_json({**ends, **fields})
