"""From a hook's raw input to a HookEvent: flattened, redacted, cut. Nothing raw goes further than here."""

from __future__ import annotations

import time
from collections.abc import Mapping

from context_graph.errors import InvalidInputError
from context_graph.identity.text import flatten_text
from context_graph.model import EVENT_TEXT_BYTES, EventKind, HookEvent, cut_session_id
from context_graph.protocol.spec import check_session_id, parse_hook_input
from context_graph.redact import TextRedactor

__all__ = ["hook_event"]

_MESSAGE_CHARS = 65_536
_GAP = b"\n[...]\n"
_SHORT_CHARS = 200
_HARMLESS_CHARS = 12
_AGENT_ID_CHARS = 100


def hook_event(
    kind: EventKind,
    body: bytes,
    params: Mapping[str, object],
    *,
    session_env: str,
    event_id: str,
    at_ms: int,
    redactor: TextRedactor,
) -> HookEvent:
    """The event of one hook call.

    The session is ``session_env`` ($CLAUDE_CODE_SESSION_ID), else the input's, else --session-id (D1.5).

    Raises:
        InvalidInputError: If the input is not of either documented shape, or no session is named.
    """
    given = parse_hook_input(kind, body, params)
    session_id = check_session_id(session_env, name="CLAUDE_CODE_SESSION_ID", notes=given.notes)
    session_id = session_id or cut_session_id(given.session_id)
    if not session_id:
        raise InvalidInputError(
            "session_id is missing: give it in the stdin JSON, by --session-id or CLAUDE_CODE_SESSION_ID"
        )
    return HookEvent(
        kind=given.kind,
        session_id=redactor.redact_id(session_id),
        event_id=event_id,
        at_ms=at_ms or time.time_ns() // 1_000_000,
        tool_name=_short(given.tool_name, redactor),
        tool_use_id=redactor.redact_id(given.tool_use_id[:200]),
        prompt_id=_short(given.prompt_id, redactor),
        input_text=_clean(given.prompt if kind is EventKind.PROMPT_SUBMIT else given.tool_input, redactor),
        output_text=(
            _both_ends(given.last_message, redactor)
            if kind is EventKind.STOP
            else _clean(given.error if given.error else given.tool_response, redactor)
        ),
        success=given.success,
        source=_short(given.source, redactor),
        reason=_short(given.reason, redactor),
        previous_session_id=redactor.redact_id(cut_session_id(given.previous_session_id)),
        duration_ms=given.duration_ms,
        cwd=redactor.redact_id(given.cwd[:4096]),
        agent_id=_short(given.agent_id[:_AGENT_ID_CHARS], redactor),
        from_plugin=params.get("plugin") is True,
    )


def _short(text: str, redactor: TextRedactor) -> str:
    """A name or reason: redacted like all text, unless it is too short to hold any secret."""
    return redactor.redact(text[:_SHORT_CHARS]) if len(text) > _HARMLESS_CHARS else text


def _clean(value: object, redactor: TextRedactor) -> str:
    # Flattening cuts each of several texts after a whole word, so that no secret loses its half to the cut.
    text = flatten_text(value, EVENT_TEXT_BYTES)
    return redactor.redact_cut(text, EVENT_TEXT_BYTES) if text else ""


def _both_ends(message: str, redactor: TextRedactor) -> str:
    """The start and the end of what the model said: what was done stands first, what is left stands last."""
    if not message:
        return ""
    clean = redactor.redact_cut(message[:_MESSAGE_CHARS], 4 * _MESSAGE_CHARS).encode()
    if len(clean) <= EVENT_TEXT_BYTES:
        return clean.decode()
    half = EVENT_TEXT_BYTES // 2 - len(_GAP)
    # Cut at white space: then neither a character nor a redaction's mark is torn.
    start, end = clean[:half].rsplit(maxsplit=1), clean[-half:].split(maxsplit=1)
    if len(start) < 2 or len(end) < 2:
        return redactor.redact_cut(message, EVENT_TEXT_BYTES)
    return b"".join((start[0], _GAP, end[1])).decode()
