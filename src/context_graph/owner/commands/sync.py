"""Answers the verbs `sync.*`: the store's side of an exchange with other machines, a slice a request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from context_graph.errors import InvalidInputError
from context_graph.owner.commands.call import Call, reply
from context_graph.wire.frames import Reply

_SLICES: Final = (
    *("machine", "stamp", "stamps", "outgoing", "again", "pushed"),
    *("known", "keep", "merge", "apply", "forget_told"),
)
"""The methods of `sync.side.Side`."""


def _slice(name: str, call: Call) -> Reply:
    """Call that method with the arguments in the body, a JSON list of them."""
    from context_graph.sync.exchange import OpenStore  # few owners ever need it
    from context_graph.sync.side import types_of

    arguments_type, _ = types_of(name)
    try:
        arguments = msgspec.json.decode(call.request.body, type=arguments_type)
    except msgspec.DecodeError as error:
        raise InvalidInputError(f"{call.request.verb}: {error}") from error
    return reply(msgspec.json.encode(getattr(OpenStore(call.context.memory), name)(*arguments)))


HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {
    f"sync.{name}": partial(_slice, name) for name in _SLICES
}
