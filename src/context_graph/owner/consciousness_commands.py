"""`consciousness …` on the owner's side: check-identity, inject-context, status."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from context_graph.errors import CorruptedIdentityError, InvalidInputError, SessionNotFoundError
from context_graph.identity.brief import compact_line, crisis_text, state_block
from context_graph.identity.continuity import is_ic_crisis, is_ic_warning
from context_graph.identity.live import LiveSession
from context_graph.owner.call import Call, reply
from context_graph.owner.session_commands import find_session
from context_graph.owner.views import status_view
from context_graph.wire.frames import Reply

__all__ = ["HANDLERS"]


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
            f" cross-session IC={live.snapshot.cross_session_ic:.2f})"
        )
    return reply(text)


def _status(call: Call) -> Reply:
    try:
        live: LiveSession | None = find_session(call)
    except SessionNotFoundError:
        if call.option("session-id"):
            raise
        live = None
    return reply(orjson.dumps(status_view(call.context, live), option=orjson.OPT_INDENT_2))


HANDLERS: dict[str, Callable[[Call], Reply]] = {
    "consciousness.check-identity": _check,
    "consciousness.inject-context": _inject,
    "consciousness.status": _status,
}
