"""`session …` on the owner's side: seed 000's restore and persist, and list, show, export, import."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import orjson

from context_graph.errors import InvalidInputError, SessionNotFoundError
from context_graph.identity.live import LiveSession
from context_graph.model import EventKind, HookEvent
from context_graph.owner.call import Call, reply
from context_graph.owner.views import row_view, session_view
from context_graph.wire.frames import Reply

__all__ = ["HANDLERS", "find_session"]


def find_session(call: Call) -> LiveSession:
    """The session that a command means: --session-id (alias allowed), the environment's, else the latest.

    Raises:
        SessionNotFoundError: If there is none, naming what was looked for.
    """
    named = call.option("session-id") or call.request.session_env
    store = call.context.store
    live = call.context.sessions.get(store.resolve_id(named)) if named else call.context.sessions.latest()
    if live is None:
        raise SessionNotFoundError(
            f"session not found: {named!r}" if named else "no session in this store yet"
        )
    return live


def _lenient_input(body: bytes) -> dict[str, str]:
    """Seed 000: input that can't be parsed means defaults, not an error."""
    try:
        given = orjson.loads(body) if body.strip() else {}
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(given, dict):
        return {}
    return {key: value for key, value in given.items() if isinstance(value, str)}


def _restore(call: Call) -> Reply:
    """REQ-SESSION-12. A new session linked to the one that is restored (D3.5)."""
    given = _lenient_input(call.request.body)
    source = given.get("source", "startup")
    named, own = given.get("session_id", ""), call.request.session_env
    previous = ""
    if source == "resume" and named and named != own and call.context.sessions.get(named) is not None:
        previous, session_id, source = named, own or str(uuid.uuid4()), "startup"
    else:
        session_id = own or named or str(uuid.uuid4())
    if source == "clear" and call.context.sessions.get(session_id) is not None:
        session_id = str(uuid.uuid4())
    started = call.context.sessions.start(
        HookEvent(
            kind=EventKind.SESSION_START,
            session_id=session_id,
            event_id=call.request.event_id,
            at_ms=call.began_ms,
            source=source,
            previous_session_id=previous,
        ),
        strict=True,
    )
    return reply(started.text, stderr=f"Warning: {started.warning}" if started.warning else "")


def _persist(call: Call) -> Reply:
    """REQ-SESSION-13. Silent; resets nothing."""
    named = call.request.session_env or _lenient_input(call.request.body).get("session_id", "")
    live = call.context.sessions.get(named) if named else call.context.sessions.latest()
    if live is None:
        return reply(stderr=f"Warning: session {named!r} is not in the store; nothing to persist")
    call.context.sessions.save(live)
    return reply()


def _list(call: Call) -> Reply:
    rows, cursor = call.context.store.list_sessions(
        limit=call.count("limit", 50, 10_000), cursor=call.option("cursor") or None
    )
    listed = {"sessions": [row_view(row) for row in rows], "total": call.context.store.count()}
    return reply(orjson.dumps({**listed, "next_cursor": cursor} if cursor else listed))


def _show(call: Call) -> Reply:
    return reply(orjson.dumps(session_view(call.context, find_session(call)), option=orjson.OPT_INDENT_2))


def _export(call: Call) -> Reply:
    store = call.context.store
    document = (
        store.export_all(cursor=call.option("cursor") or None)
        if call.flag("all")
        else store.export(find_session(call).snapshot.session_id)
    )
    return reply(orjson.dumps(document, option=orjson.OPT_INDENT_2))


def _import(call: Call) -> Reply:
    try:
        document = orjson.loads(call.request.body)
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"the input is not JSON: {error}") from error
    taken = call.context.store.import_(document, overwrite=call.flag("overwrite"))
    for session_id in taken:
        call.context.sessions.drop(session_id)
    return reply(orjson.dumps({"imported": taken}))


HANDLERS: dict[str, Callable[[Call], Reply]] = {
    "session.restore-identity": _restore,
    "session.persist-identity": _persist,
    "session.list": _list,
    "session.show": _show,
    "session.export": _export,
    "session.import": _import,
}
