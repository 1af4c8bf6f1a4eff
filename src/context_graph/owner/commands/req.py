"""Handles `req …`: the log of what the gates refused and what satisfied them."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from context_graph.errors import InvalidInputError
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.sessions.gate_hooks import entries_of
from context_graph.store.sessions.event_log import KEPT
from context_graph.wire.frames import APPLIED, Reply


def _record(call: Call) -> Reply:
    """Store the record of what a command changed; the change itself is already in the project's files."""
    try:
        given = orjson.loads(call.request.body)
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"the input is not JSON: {error}") from error
    records = given.get("records") if isinstance(given, dict) else None
    common = {"at_ms": call.began_ms, "session_id": call.request.session_env}
    call.context.store.requirement_log.append(
        entries_of(records, common, call.redactor), once=call.request.event_id
    )
    return reply(flags=APPLIED)


def _log(call: Call) -> Reply:
    entries = call.context.store.requirement_log.entries(
        limit=call.count("limit", 50, KEPT),
        session_id=call.option("session"),
        requirement=call.option("requirement"),
    )
    return reply(orjson.dumps({"entries": entries}))


HANDLERS: dict[str, Callable[[Call], Reply]] = {"req.record": _record, "req.log": _log}
