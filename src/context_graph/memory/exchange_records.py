"""Memories, edges and tombstones as JSON objects, out and in, each field checked and named when it is wrong.

Times are Unix milliseconds, ids UUIDs as text, an embedding base64 of its 6,144 bytes. The objects have the
fields of `model.memory.MemoryNode`, `model.edge.GraphEdge` and `model.memory.Tombstone` and no other.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, NoReturn, TypeVar
from uuid import UUID

from context_graph.errors import InvalidInputError, InvalidParamsError
from context_graph.model.edge import Domain, GraphEdge, NeurotransmitterWeights
from context_graph.model.johari import JohariQuadrant
from context_graph.model.memory import MemoryNode, Modality, Tombstone, UTLState
from context_graph.model.spaces import EMBEDDING_BYTES

__all__ = [
    "edge_from_json",
    "edge_to_json",
    "node_from_json",
    "node_to_json",
    "tombstone_from_json",
    "tombstone_to_json",
]

MAX_NAME_CHARS: Final = 256
MAX_TAGS: Final = 64
_MAX_MS: Final = (1 << 63) - 1
_MAX_COUNT: Final = (1 << 32) - 1

E = TypeVar("E", bound=StrEnum)


def node_to_json(node: MemoryNode) -> dict[str, Any]:
    """All fields of ``node`` but the place in its store's order of commits; the embedding if it is loaded."""
    found: dict[str, Any] = {
        "id": str(node.id),
        "content": node.content,
        "rationale": node.rationale,
        "created_at_ms": node.created_at_ms,
        "last_accessed_ms": node.last_accessed_ms,
        "importance": node.importance,
        "access_count": node.access_count,
        "johari_quadrant": node.johari_quadrant.value,
        "utl_state": {name: getattr(node.utl_state, name) for name in _UTL},
        "agent_id": node.agent_id,
        "session_id": node.session_id,
        "project": node.project,
        "semantic_cluster": str(node.semantic_cluster) if node.semantic_cluster else None,
        "modality": node.modality.value,
        "tags": list(node.tags),
        "pinned": node.pinned,
        "source": node.source,
        "metadata": dict(node.metadata),
    }
    if node.embedding is not None:
        found["embedding"] = base64.b64encode(node.embedding).decode()
    return found


def node_from_json(given: Mapping[str, Any]) -> MemoryNode:
    """The node of such an object; fields that have a default may be missing.

    Raises:
        InvalidInputError: Names the field, what it holds and what it must be.
    """
    fields = _checked(given, _NODE, required=("id", "content", "created_at_ms"))
    fields.setdefault("rationale", "imported without a rationale")
    fields.setdefault("last_accessed_ms", fields["created_at_ms"])
    try:
        node = MemoryNode(**fields)
        node.validate()
    except InvalidParamsError as error:
        raise InvalidInputError(str(error)) from error
    return node


def edge_to_json(edge: GraphEdge) -> dict[str, Any]:
    """All fields of ``edge``."""
    weights = edge.neurotransmitter_weights
    return {
        "id": str(edge.id),
        "source_id": str(edge.source_id),
        "target_id": str(edge.target_id),
        "relationship_type": edge.relationship_type,
        "weight": edge.weight,
        "created_at_ms": edge.created_at_ms,
        "last_traversed_ms": edge.last_traversed_ms,
        "traversal_count": edge.traversal_count,
        "neurotransmitter_weights": {name: getattr(weights, name) for name in _WEIGHTS},
        "is_amortized_shortcut": edge.is_amortized_shortcut,
        "steering_reward": edge.steering_reward,
        "domain": edge.domain.value,
        "confidence": edge.confidence,
        "metadata": dict(edge.metadata),
    }


def edge_from_json(given: Mapping[str, Any]) -> GraphEdge:
    """The edge of such an object. Raises as node_from_json."""
    fields = _checked(given, _EDGE, required=("id", "source_id", "target_id"))
    if "neurotransmitter_weights" not in fields and "domain" in fields:
        fields["neurotransmitter_weights"] = NeurotransmitterWeights.for_domain(fields["domain"])
    try:
        return GraphEdge(**fields)
    except InvalidParamsError as error:
        raise InvalidInputError(str(error)) from error


def tombstone_to_json(tombstone: Tombstone) -> dict[str, Any]:
    """All fields of ``tombstone``."""
    return {
        "id": str(tombstone.id),
        "deleted_at_ms": tombstone.deleted_at_ms,
        "reason": tombstone.reason,
        "soft": tombstone.soft,
    }


def tombstone_from_json(given: Mapping[str, Any]) -> Tombstone:
    """The tombstone of such an object. Raises as node_from_json."""
    return Tombstone(**_checked(given, _TOMBSTONE, required=("id", "deleted_at_ms", "reason", "soft")))


def _checked(
    given: Mapping[str, Any], checks: Mapping[str, Callable[[str, Any], Any]], *, required: tuple[str, ...]
) -> dict[str, Any]:
    unknown = sorted(set(given) - set(checks))
    if unknown:
        raise InvalidInputError(f"{unknown[0]} is no known field; the fields are {', '.join(checks)}")
    missing = [name for name in required if name not in given]
    if missing:
        raise InvalidInputError(f"{missing[0]} is missing")
    return {name: checks[name](name, value) for name, value in given.items()}


def _fail(name: str, value: object, rule: str) -> NoReturn:
    shown = repr(value)
    raise InvalidInputError(f"{name} is {shown if len(shown) <= 80 else shown[:77] + '...'}, must be {rule}")


def _uuid(name: str, value: Any) -> UUID:
    try:
        return UUID(value)
    except (ValueError, AttributeError, TypeError):
        _fail(name, value, "a UUID")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        _fail(name, value, "text")
    return value


def _named(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME_CHARS or "\0" in value:
        _fail(name, value, f"text of 1 to {MAX_NAME_CHARS} characters without NUL, or null")
    return value


def _word(name: str, value: Any) -> str:
    found = _named(name, value)
    return found if found is not None else _fail(name, value, "text")


def _tags(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_TAGS:
        _fail(name, value, f"a list of at most {MAX_TAGS} texts")
    return tuple(_word(f"{name}[{at}]", tag) for at, tag in enumerate(value))


def _flag(name: str, value: Any) -> bool:
    return value if isinstance(value, bool) else _fail(name, value, "true or false")


def _whole(top: int) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        if type(value) is not int or not 0 <= value <= top:
            _fail(name, value, f"a whole number from 0 to {top}")
        return value

    return check


def _real(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        _fail(name, value, "a finite number")
    return float(value)


def _one_of(kind: type[E]) -> Callable[[str, Any], E]:
    def check(name: str, value: Any) -> E:
        try:
            return kind(value)
        except ValueError:
            _fail(name, value, "one of " + ", ".join(kind))

    return check


def _object(name: str, value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else _fail(name, value, "a JSON object")


def _parts(kind: type[Any], names: tuple[str, ...]) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        parts = _checked(_object(name, value), dict.fromkeys(names, _real), required=names)
        try:
            return kind(**parts)
        except InvalidParamsError as error:
            raise InvalidInputError(f"{name}: {error}") from error

    return check


def _optional_uuid(name: str, value: Any) -> UUID | None:
    return None if value is None else _uuid(name, value)


def _embedding(name: str, value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        found = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        _fail(name, value, "base64")
    return (
        found if len(found) == EMBEDDING_BYTES else _fail(name, value, f"base64 of {EMBEDDING_BYTES} bytes")
    )


_UTL: Final = ("delta_s", "delta_c", "w_e", "phi")
_WEIGHTS: Final = ("excitatory", "inhibitory", "modulatory")
_NODE: Final[dict[str, Callable[[str, Any], Any]]] = {
    "id": _uuid,
    "content": _text,
    "rationale": _text,
    "created_at_ms": _whole(_MAX_MS),
    "last_accessed_ms": _whole(_MAX_MS),
    "importance": _real,
    "access_count": _whole(_MAX_COUNT),
    "johari_quadrant": _one_of(JohariQuadrant),
    "utl_state": _parts(UTLState, _UTL),
    "agent_id": _named,
    "session_id": _named,
    "project": _named,
    "semantic_cluster": _optional_uuid,
    "modality": _one_of(Modality),
    "tags": _tags,
    "pinned": _flag,
    "source": _word,
    "metadata": _object,
    "embedding": _embedding,
}
_EDGE: Final[dict[str, Callable[[str, Any], Any]]] = {
    "id": _uuid,
    "source_id": _uuid,
    "target_id": _uuid,
    "relationship_type": _word,
    "weight": _real,
    "created_at_ms": _whole(_MAX_MS),
    "last_traversed_ms": _whole(_MAX_MS),
    "traversal_count": _whole(_MAX_COUNT),
    "neurotransmitter_weights": _parts(NeurotransmitterWeights, _WEIGHTS),
    "is_amortized_shortcut": _flag,
    "steering_reward": _real,
    "domain": _one_of(Domain),
    "confidence": _real,
    "metadata": _object,
}
_TOMBSTONE: Final[dict[str, Callable[[str, Any], Any]]] = {
    "id": _uuid,
    "deleted_at_ms": _whole(_MAX_MS),
    "reason": _text,
    "soft": _flag,
}
