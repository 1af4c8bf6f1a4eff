"""Handles `memory …`: a request's body has an operation's arguments as JSON; the answer is JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

import orjson

from context_graph.errors import InvalidInputError
from context_graph.model import cut_session_id
from context_graph.model.memory import VerbosityLevel
from context_graph.operations import OPERATIONS
from context_graph.operations.context import Host, OnDone
from context_graph.operations.memories import Filters
from context_graph.operations.operation import Operation, parameters, read
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.commands.store_host import StoreHost
from context_graph.wire.frames import Reply


@dataclass(slots=True)
class _Context:
    """A frame as an operation's context: the answer is for a program; a long job is polled."""

    host: Host
    session_id: str | None
    verbosity: VerbosityLevel | None = None
    talk: None = None
    on_done: OnDone | None = None
    source: str = "cli"

    def new_id(self) -> UUID | None:
        return None

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Does nothing: whoever began the job polls it."""


def body_of(call: Call) -> dict[str, Any]:
    """The JSON object in the request's body.

    Raises:
        InvalidInputError: It holds something else.
    """
    try:
        given = orjson.loads(call.request.body) if call.request.body.strip() else {}
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"the arguments are not JSON: {error}") from error
    if not isinstance(given, dict):
        raise InvalidInputError("the arguments must be a JSON object")
    return given


def _serve(operation: Operation, call: Call) -> Reply:
    from context_graph.operations.running import run  # the engine of recall: not every owner needs it

    given = _named(operation, {**call.request.params, **body_of(call)})
    arguments = read(operation.arguments, given, call.request.verb)
    host = StoreHost(call.request, lambda: call.context, call.dreams, call.clean_id)
    session_id = arguments.session_id or cut_session_id(call.request.session_env) or None
    found = run(_Context(host, session_id), arguments)
    if found.text:
        return reply(found.text)
    return reply(orjson.dumps(found.found if found.job is None else found.job.view()))


def _named(operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """A request's arguments by the operation's names; filters are among the others there."""
    found = dict(given)
    known = {one.name: one for one in parameters(operation.arguments)}
    if "filters" in known:
        filters = {name: found.pop(name) for name in Filters.__struct_fields__ if name in found}
        if filters:
            found["filters"] = filters
    for name, one in known.items():
        if one.wire != name and one.wire in found:
            value = found.pop(one.wire)
            found[name] = not value if one.extra("flag") and isinstance(value, bool) else value
    return found


HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {
    one.verb: partial(_serve, one) for one in OPERATIONS if one.verb
}
