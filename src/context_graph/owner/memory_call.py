"""What the memory verbs share: arguments from a request's body, the store's memory, answers as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from context_graph.errors import GraphQueryError, InvalidInputError
from context_graph.model.instants import iso_time
from context_graph.owner.call import Call, reply
from context_graph.wire.frames import Reply

if TYPE_CHECKING:  # what memory needs is imported when the first of these verbs comes
    from context_graph.mcp_server.arguments import Arguments
    from context_graph.memory.memex import Memex
    from context_graph.model.memory import MemoryNode

__all__ = ["answer", "arguments", "iso_time", "memex_of", "node_view", "resolved"]

_AMBIGUOUS_SHOWN: Final = 8


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
    """The id that ``text`` means: a UUID, or the start of exactly one.

    Raises:
        GraphQueryError: No memory fits.
        InvalidInputError: Several do; they are listed.
    """
    found = memex.ids_with_prefix(text, _AMBIGUOUS_SHOWN + 1)
    if not found:
        raise GraphQueryError(f"no memory {text!r} in this store")
    if len(found) > 1:
        listed = ", ".join(str(one) for one in found[:_AMBIGUOUS_SHOWN])
        more = ", …" if len(found) > _AMBIGUOUS_SHOWN else ""
        raise InvalidInputError(f"id {text!r} fits several memories: {listed}{more}; give more of it")
    return found[0]


def node_view(node: MemoryNode) -> dict[str, Any]:
    """A memory for a program: all its fields but the vector, times as ISO 8601."""
    from context_graph.memory.exchange_records import node_to_json

    found = node_to_json(node)
    found.pop("embedding", None)
    found["created_at"] = iso_time(found.pop("created_at_ms"))
    found["last_accessed"] = iso_time(found.pop("last_accessed_ms"))
    return found
