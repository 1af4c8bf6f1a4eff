"""Parses a hook's input, once: as the client sent it, and flattened, redacted and cut for storage."""

from __future__ import annotations

import time
from dataclasses import dataclass

from context_graph.claude.hooks.hook_input import HookInput, check_session_id, parse_hook_input
from context_graph.claude.hooks.origin import is_canary
from context_graph.errors import InvalidInputError
from context_graph.model import EVENT_TEXT_BYTES, EventKind, HookEvent, cut_session_id
from context_graph.redact import TextRedactor
from context_graph.text.flattening import flatten_text
from context_graph.wire.frames import Request

_MESSAGE_CHARS = 65_536
_GAP = b"\n[...]\n"
_SHORT_CHARS = 200
_HARMLESS_CHARS = 12
_AGENT_ID_CHARS = 100


@dataclass(frozen=True, slots=True)
class HookCall:
    """One hook call, parsed once: event log, memory and gates all read this."""

    request: Request
    given: HookInput
    """As the client sent it: for the gates alone, never stored or logged."""
    event: HookEvent
    """Flattened, redacted and cut: what may be kept."""

    @classmethod
    def parse(cls, request: Request, redactor: TextRedactor) -> HookCall:
        """The call that a request with one of the verbs ``hooks.*`` makes.

        The session is $CLAUDE_CODE_SESSION_ID, else the input's, else --session-id (D1.5).

        Raises:
            InvalidInputError: If the verb is no hook, the input of no documented shape, or no session named.
        """
        try:
            kind = EventKind(request.verb.removeprefix("hooks."))
        except ValueError as error:
            raise InvalidInputError(f"verb {request.verb!r} is no hook") from error
        given = parse_hook_input(kind, request.body, request.params)
        named = check_session_id(request.session_env, name="CLAUDE_CODE_SESSION_ID", notes=given.notes)
        session_id = named or cut_session_id(given.session_id)
        if not session_id:
            raise InvalidInputError(
                "session_id is missing: give it in the stdin JSON, by --session-id or CLAUDE_CODE_SESSION_ID"
            )
        return cls(request, given, _event(request, given, session_id, redactor))


def _event(request: Request, given: HookInput, session_id: str, redactor: TextRedactor) -> HookEvent:
    """The part of ``given`` that may be kept; nothing raw goes further than here."""
    return HookEvent(
        kind=given.kind,
        session_id=redactor.redact_id(session_id),
        event_id=request.event_id,
        at_ms=request.at_ms or time.time_ns() // 1_000_000,
        tool_name=_short(given.tool_name, redactor),
        tool_use_id=redactor.redact_id(given.tool_use_id[:200]),
        prompt_id=_short(given.prompt_id, redactor),
        input_text=_clean(
            given.prompt if given.kind is EventKind.PROMPT_SUBMIT else given.tool_input, redactor
        ),
        output_text=(
            _both_ends(given.last_message, redactor)
            if given.kind is EventKind.STOP
            else _clean(given.error if given.error else given.tool_response, redactor)
        ),
        success=given.success,
        source=_short(given.source, redactor),
        reason=_short(given.reason, redactor),
        previous_session_id=redactor.redact_id(cut_session_id(given.previous_session_id)),
        duration_ms=given.duration_ms,
        cwd=redactor.redact_id(given.cwd[:4096]),
        agent_id=_short(given.agent_id[:_AGENT_ID_CHARS], redactor),
        from_plugin=request.params.get("plugin") is True,
        is_canary=is_canary(session_id, given.tool_name),
    )


def _short(text: str, redactor: TextRedactor) -> str:
    """A name or reason: redacted like all text, unless it is too short to hold any secret."""
    return redactor.redact(text[:_SHORT_CHARS]) if len(text) > _HARMLESS_CHARS else text


def _clean(value: object, redactor: TextRedactor) -> str:
    # Flattening cuts each of several texts after a whole word, so that no secret loses its half to the cut.
    text = flatten_text(value, EVENT_TEXT_BYTES)
    return redactor.redact_cut(text, EVENT_TEXT_BYTES) if text else ""


def _both_ends(message: str, redactor: TextRedactor) -> str:
    """The start and the end of the model's message: the start says what was done, the end what is left."""
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
