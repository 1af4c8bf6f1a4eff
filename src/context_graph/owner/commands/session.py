"""Handles `session …` and `consciousness …`: seed 000's four commands, and those that show a session."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

import orjson

from context_graph.errors import CorruptedIdentityError, InvalidInputError, SessionNotFoundError
from context_graph.identity.across import relation
from context_graph.identity.brief import compact_line, crisis_text, state_block
from context_graph.identity.continuity import is_ic_crisis, is_ic_warning
from context_graph.identity.live import LiveSession
from context_graph.model import EventKind, HookEvent
from context_graph.owner.commands.call import Call, reply
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.store.sessions.records import SessionRow
from context_graph.wire.frames import Reply

_MEASURED: Final = ("consciousness", "differentiation", "integration", "last_ic", "reflection")
"""What `session show` says of a session only once something was measured."""


def find_session(call: Call) -> LiveSession:
    """Return the session that a command means: --session-id (alias allowed), the environment's, else the
    latest.

    Raises SessionNotFoundError if there is none, naming what was looked for.
    """
    named = call.option("session-id") or call.request.session_env
    store = call.context.store
    live = call.context.sessions.get(store.resolve_id(named)) if named else call.context.sessions.latest()
    if live is None:
        raise (
            SessionNotFoundError.of(named) if named else SessionNotFoundError("no session in this store yet")
        )
    return live


def _lenient_input(body: bytes) -> dict[str, str]:
    """Seed 000: input that can't be parsed means defaults, not an error."""
    try:
        fields = orjson.loads(body) if body.strip() else {}
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(fields, dict):
        return {}
    return {key: value for key, value in fields.items() if isinstance(value, str)}


def _restore(call: Call) -> Reply:
    """REQ-SESSION-12. A new session linked to the one that is restored (D3.5)."""
    fields = _lenient_input(call.request.body)
    source = fields.get("source", "startup")
    named, own = fields.get("session_id", ""), call.request.session_env
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
    named = call.request.session_env or _lenient_input(call.request.body).get("session_id", "")
    live = call.context.sessions.get(named) if named else call.context.sessions.latest()
    if live is None:
        return reply(stderr=f"Warning: session {named!r} is not in the store; nothing to persist")
    call.context.sessions.save(live)
    return reply()


def _list(call: Call) -> Reply:
    rows, cursor = call.context.store.list_sessions(
        limit=call.count("limit", 50, 1000), cursor=call.option("cursor") or None
    )
    from context_graph.owner.view.sessions import work_of_session  # with all that rows are made of

    sessions = [{**_row_view(row), **work_of_session(call.context, row.session_id)} for row in rows]
    listed = {"sessions": sessions, "total": call.context.store.count()}
    return reply(orjson.dumps({**listed, "next_cursor": cursor} if cursor else listed))


def _show(call: Call) -> Reply:
    """Return the rows of `view.session`, and beside them every number of the session by its name."""
    from context_graph.owner.view.sessions import (
        session_detail,
        work_of_session,
    )  # with all that rows are made of
    from context_graph.view.rows import to_json

    live = find_session(call)
    document = {
        **_session_view(call.context, live),
        **to_json(session_detail(call.context, live)),
        "work": work_of_session(call.context, live.snapshot.session_id),
    }
    return reply(orjson.dumps(document, option=orjson.OPT_INDENT_2))


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


def _check(call: Call) -> Reply:
    """REQ-SESSION-14: words on stderr only, always exit 0."""
    try:
        live = find_session(call)
    except (SessionNotFoundError, CorruptedIdentityError, InvalidInputError) as error:
        return reply(stderr=f"Warning: IC check failed: {error}")
    call.context.sessions.publish(live)
    ic = live.snapshot.last_ic
    if not live.has_evidence:
        return reply()
    if is_ic_crisis(ic):
        queued = call.flag("auto-dream") and call.context.sessions.queue_dream(live, at_ms=call.began_ms)
        return reply(stderr=crisis_text(ic, queued=queued))
    return reply(stderr=f"IC warning: {ic:.2f}" if is_ic_warning(ic) else "")


def _inject(call: Call) -> Reply:
    """REQ-SESSION-15: the four lines; compact and verbose beside them."""
    style = call.option("format", "standard")
    try:
        live: LiveSession | None = find_session(call)
    except SessionNotFoundError:
        live = None
    metrics = live.metrics if live is not None and live.has_evidence else None
    if style == "compact":
        return reply(compact_line(metrics))
    if style == "standard":
        return reply(state_block(metrics))
    if style != "verbose":
        raise InvalidInputError(f"--format {style!r} is none of compact, standard, verbose")
    text = state_block(metrics)
    if metrics is not None and live is not None:
        text += (
            f"\nComponents: I={metrics.integration:.2f} R={metrics.reflection:.2f}"
            f" D={metrics.differentiation:.2f}"
            f"\nCoupling K={live.snapshot.coupling:.2f}, {live.events_applied} events,"
            f" {live.predictions_scored} predictions scored"
            f"\nSession: {live.snapshot.session_id} (previous: {live.snapshot.previous_session_id or 'none'},"
            f" {_relation_text(live.continuity)})"
        )
    return reply(text)


def _relation_text(measured: float | None) -> str:
    return (
        "cross-session IC=?" if measured is None else f"{relation(measured)}, cross-session IC={measured:.2f}"
    )


def _status(call: Call) -> Reply:
    try:
        live: LiveSession | None = find_session(call)
    except SessionNotFoundError:
        if call.option("session-id"):
            raise
        live = None
    return reply(orjson.dumps(status_view(call.context, live), option=orjson.OPT_INDENT_2))


def _session_view(context: StoreContext, live: LiveSession) -> dict[str, object]:
    snapshot = live.snapshot
    # A new session's defaults would read as measurements: IC 1.0, as healthy as can be.
    unknown = {} if live.has_evidence else dict.fromkeys(_MEASURED)
    return {
        **asdict(snapshot),
        **unknown,
        "forecast": asdict(live.forecast),
        "cross_session_ic": live.continuity,
        "relation": relation(live.continuity),
        "drift_metrics": None if live.drift is None else asdict(live.drift),
        "events_applied": live.events_applied,
        "events_duplicate": live.events_duplicate,
        "events_by_kind": dict(live.events_by_kind),
        "events_waiting": context.events.waiting,
        "ic_history": list(live.ic_history),
        "compactions": context.store.load_compactions(snapshot.session_id),
        "has_evidence": live.has_evidence,
        "dreams_pending": len(context.store.dream_queue.pending()),
    }


def _row_view(row: SessionRow) -> dict[str, object]:
    view = {name: value for name, value in asdict(row).items() if value is not None and value != ""}
    if row.previous_session_id:
        view |= {"cross_session_ic": row.cross_session_ic, "relation": relation(row.cross_session_ic)}
    return view


def status_view(context: StoreContext, live: LiveSession | None) -> dict[str, Any]:
    """Return the state of a session; without one what waits in the store."""
    view: dict[str, Any] = {
        "store": str(context.folder),
        "project": str(context.project) if context.project else "",
        "sessions": context.store.count(),
        "events_waiting": context.events.waiting,
        "dreams_pending": context.store.dream_queue.pending(),
    }
    if live is None:
        return view
    state = live.measures
    view["session_id"] = live.snapshot.session_id
    view["previous_session_id"] = live.snapshot.previous_session_id
    view["cross_session_ic"] = live.continuity
    view["relation"] = relation(live.continuity)
    view["has_evidence"] = live.has_evidence
    view["events_applied"] = live.events_applied
    view["forecast"] = asdict(live.forecast)
    if state is not None and live.classification is not None:
        view["state"] = live.metrics.state.name
        view["consciousness_state"] = asdict(state)
        view["coupling"] = live.snapshot.coupling
        view["predictions_scored"] = live.predictions_scored
        view["ic_classification"] = live.classification.level
    return view


HANDLERS: dict[str, Callable[[Call], Reply]] = {
    "session.restore-identity": _restore,
    "session.persist-identity": _persist,
    "session.list": _list,
    "session.show": _show,
    "session.export": _export,
    "session.import": _import,
    "consciousness.check-identity": _check,
    "consciousness.inject-context": _inject,
    "consciousness.status": _status,
}
