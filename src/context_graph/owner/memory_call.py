"""What the memory verbs share: arguments from a request's body, the store's memory, answers as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from context_graph.errors import InvalidInputError
from context_graph.model.instants import iso_time
from context_graph.owner.call import Call, reply
from context_graph.wire.frames import Reply

if TYPE_CHECKING:  # what memory needs is imported when the first of these verbs comes
    from context_graph.mcp_server.arguments import Arguments
    from context_graph.memory.memex import Memex
    from context_graph.model.memory import MemoryNode

__all__ = ["answer", "arguments", "iso_time", "memex_of", "node_view", "resolved"]


def arguments(call: Call) -> Arguments:
    """The JSON object in the request's body.

    Raises:
        InvalidInputError: It holds something else.
    """
    from context_graph.mcp_server.arguments import Arguments

    try:
        given = orjson.loads(call.request.body) if call.request.body.strip() else {}
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"the arguments are not JSON: {error}") from error
    if not isinstance(given, dict):
        raise InvalidInputError("the arguments must be a JSON object")
    return Arguments(call.request.verb, given)


def memex_of(call: Call) -> Memex:
    """The store's memory, with what its hooks have still to write in it."""
    call.context.memory_hooks.tidy()
    return call.context.memory


def answer(found: Mapping[str, Any]) -> Reply:
    """A reply that is ``found`` as JSON."""
    return reply(orjson.dumps(found))


def resolved(memex: Memex, text: str) -> UUID:
    """The id that ``text`` means; see `memory_named`."""
    from context_graph.memory.naming import memory_named

    return memory_named(memex, text)


def node_view(node: MemoryNode) -> dict[str, Any]:
    """A memory for a program: all its fields but the vector, times as ISO 8601."""
    from context_graph.memory.exchange_records import node_to_json

    found = node_to_json(node)
    found.pop("embedding", None)
    found["created_at"] = iso_time(found.pop("created_at_ms"))
    found["last_accessed"] = iso_time(found.pop("last_accessed_ms"))
    return found
