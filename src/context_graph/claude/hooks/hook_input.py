"""Reads and checks a hook's input: the client's flat JSON, seed 001's HookInput, or options alone.

REQ-HOOKS-03, 10..12 and 29. Every fault raises InvalidInputError, which names the field, the limit and the
fix. Nothing is redacted here: a HookInput holds raw text and must not be stored or logged.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import msgspec

from context_graph.claude.hooks.claude import EVENT_OF_VERB, background_work
from context_graph.claude.hooks.hook_body import (
    DATA_TYPES,
    Payload,
    PostToolUse,
    PreToolUse,
    SessionEnd,
    SessionStart,
    UserPromptSubmit,
    Wire,
)
from context_graph.claude.hooks.origin import is_typed
from context_graph.errors import InvalidInputError
from context_graph.model import MAX_SESSION_ID_LEN, NOTIFICATION, EventKind

MAX_INPUT_BYTES: Final = 4 * 1024 * 1024
"""The launcher refuses more as well; this end must not trust it to."""

_CURE: Final = "send the client's hook JSON, or hook_type, session_id, timestamp_ms and payload {type, data}"
_BOM: Final = b"\xef\xbb\xbf"
"""PowerShell 5 puts one before what it pipes."""

_TEXTS: Final = (
    *("session_id", "previous_session_id", "prompt_id", "tool_name", "tool_use_id"),
    *("error", "prompt", "source", "cwd"),
)
"""Keys of the client's that are texts under the same name here."""
_GATED_TEXTS: Final = (
    *("tool_name", "tool_use_id", "prompt", "source", "reason", "agent_id", "command_name"),
)
_TOOL_KINDS: Final = frozenset(
    {
        *(EventKind.PRE_TOOL, EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE),
        *(EventKind.PERMISSION_REQUEST, EventKind.PERMISSION_DENIED),
    }
)

_KIND_OF_NAME: Final = {name: EventKind(verb) for verb, name in EVENT_OF_VERB.items()}
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")
_KIND_OF_HOOK_TYPE: Final = _KIND_OF_NAME | {
    _CAPITAL.sub("_", name).lower(): kind for name, kind in _KIND_OF_NAME.items()
}
"""Seed 001 writes hook_type in snake_case and the payload's tag in PascalCase; each is accepted in both."""


@dataclass(slots=True)
class HookInput:
    """One hook call's input, in one shape. Texts are raw: redact before anything is kept.

    An absent text is empty, an absent JSON value None. ``success`` is None where the event says
    nothing about success. ``at_ms`` is the input's own timestamp, Unix milliseconds, 0 if it has none.
    ``notes`` tells what was cut or set right, in words for the log.
    """

    kind: EventKind
    session_id: str = ""
    previous_session_id: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: Any = None
    tool_response: Any = None
    error: str = ""
    success: bool | None = None
    prompt: str = ""
    last_message: str = ""
    """Stop: what the model said last. PostCompact: the summary of the compaction."""
    between: list[str] = field(default_factory=list)
    """Stop: what it said before, between its calls since the prompt, where that is known."""
    transcript_path: str = ""
    """Of a Stop alone."""
    prompt_id: str = ""
    source: str = ""
    """As in HookEvent: that a prompt is a notification is decided here, and nowhere else."""
    reason: str = ""
    duration_ms: int = 0
    cwd: str = ""
    at_ms: int = 0
    truncated: bool = False
    stop_hook_active: bool = False
    interrupted: bool = False
    """PostToolUseFailure: the user ended the call."""
    agent_id: str = ""
    agent_type: str = ""
    """SubagentStart: what kind of agent it is."""
    command_name: str = ""
    """UserPromptExpansion: the skill or command that the user typed."""
    background: list[tuple[str, str]] = field(default_factory=list)
    """Stop: (type, id) of what runs on."""
    notes: list[str] = field(default_factory=list)


def parse_hook_input(kind: EventKind, body: bytes, params: Mapping[str, object]) -> HookInput:
    """Return the input of one ``hooks <kind>`` call.

    Fields of ``body`` go before arguments of the same meaning, but for ``success``.
    A session id may be missing (the environment may name it): then it is empty, except that a
    session start without one gets a fresh id, as seed 001 says.

    Args:
        kind: The verb that was called.
        body: Standard input as read; empty or blank means arguments alone.
        params: The command's options without dashes: texts, or booleans.

    Raises:
        InvalidInputError: Naming the field or limit, what was given, and the cure.

    Cost: one pass of a compiled decoder; about 10 us for 2 KB.
    """
    _check_bytes(body)
    if body.strip():
        hook = _from_body(kind, body.removeprefix(_BOM))
    elif params.get("stdin") in (True, "true"):
        raise InvalidInputError(f"stdin: empty, but --stdin asks for it; {_CURE}")
    else:
        hook = HookInput(kind)
    _fill_from_params(hook, params)
    hook.session_id = check_session_id(hook.session_id, notes=hook.notes)
    hook.previous_session_id = check_session_id(
        hook.previous_session_id, name="previous_session_id", notes=hook.notes
    )
    if kind is EventKind.SESSION_START and not hook.session_id:
        hook.session_id = str(uuid.uuid4())
        hook.notes.append(f"session_id: none given; began {hook.session_id}")
    _settle_success(kind, hook)
    if hook.kind is EventKind.PROMPT_SUBMIT and not is_typed(hook.prompt, hook.source):
        hook.source = f"{NOTIFICATION}:{hook.source}" if hook.source else NOTIFICATION
    return hook


def readable_input(kind: EventKind, body: bytes, tool_name: str = "") -> HookInput:
    """Return what gates can read of an input that `parse_hook_input` refuses, in either shape. Never raises.

    A field of a wrong type counts as absent, so that it can't hide the tool call beside it. ``tool_name``
    goes before the input's. Session and folder are left to the caller. Cost: one pass of the JSON reader.
    """
    try:
        fields = json.loads(body, parse_int=float)  # an int of thousands of digits is refused
    except (ValueError, RecursionError):
        fields = None
    fields = fields if isinstance(fields, dict) else {}
    payload = fields.get("payload")
    data = payload.get("data") if isinstance(payload, dict) else None
    fields = {**fields, **data} if isinstance(data, dict) else fields
    texts = {name: fields[name] for name in _GATED_TEXTS if isinstance(fields.get(name), str)}
    failed = fields.get("hook_event_name") == "PostToolUseFailure" or fields.get("error") is not None
    return HookInput(
        kind,
        **{**texts, "tool_name": tool_name or texts.get("tool_name", "")},
        tool_input=fields.get("tool_input"),
        success=not failed if kind is EventKind.POST_TOOL else None,
        stop_hook_active=fields.get("stop_hook_active") is True,
        interrupted=fields.get("is_interrupt") is True,
        background=background_work(fields.get("background_tasks")),
    )


def check_session_id(session_id: str, *, name: str = "session_id", notes: list[str] | None = None) -> str:
    """Return ``session_id`` cut to MAX_SESSION_ID_LEN characters, which ``notes`` then says; empty stays
    empty.

    Raises:
        InvalidInputError: If it is blank, or holds a character that can't be printed: ids are part
            of store keys and of log lines.
    """
    if session_id and not session_id.strip():
        raise InvalidInputError(f"{name}: blank; give the session's id, 1 to {MAX_SESSION_ID_LEN} characters")
    if not session_id.isprintable():
        raise InvalidInputError(f"{name}: {session_id[:40]!r} holds a control character; give a plain id")
    if len(session_id) > MAX_SESSION_ID_LEN and notes is not None:
        notes.append(f"{name}: {len(session_id)} characters, cut to {MAX_SESSION_ID_LEN}")
    return session_id[:MAX_SESSION_ID_LEN]


def _check_bytes(body: bytes) -> None:
    if len(body) > MAX_INPUT_BYTES:
        raise InvalidInputError(
            f"stdin: {len(body)} bytes; the limit is {MAX_INPUT_BYTES} (4 MiB); send less tool output"
        )
    at = body.find(b"\0")
    if at >= 0:
        raise InvalidInputError(f"stdin: NUL byte at offset {at}; {_CURE}")
    if not body.isascii():
        try:
            body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"stdin: not UTF-8 at byte {error.start}; encode it as UTF-8") from error


def _from_body(kind: EventKind, body: bytes) -> HookInput:
    try:
        wire = msgspec.json.decode(body, type=Wire)
    except msgspec.ValidationError as error:
        _refuse(error)
    except msgspec.DecodeError as error:
        body = _without_lone_surrogates(body, error)
        try:
            wire = msgspec.json.decode(body, type=Wire)
        except msgspec.ValidationError as again:
            _refuse(again)
        except msgspec.DecodeError as again:
            raise InvalidInputError(f"stdin: not JSON: {again}; {_CURE}") from again
    except RecursionError as error:
        raise InvalidInputError(f"stdin: nested too deeply; {_CURE}") from error
    if wire.session_id == "":
        raise InvalidInputError("session_id: empty; give the session's id or leave the key out")
    nested = wire.has_payload() or wire.hook_type is not None
    return _from_nested(kind, wire) if nested else _from_flat(kind, wire)


def _without_lone_surrogates(body: bytes, error: msgspec.DecodeError) -> bytes:
    """Replace lone surrogates, which the client's JSON.stringify writes as escapes and strict decoders
    refuse.

    Tools do print such text; losing the event would be worse than a replaced character.
    """
    if b"\\u" not in body:
        raise InvalidInputError(f"stdin: not JSON: {error}; {_CURE}") from error
    try:
        return json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError) as again:
        raise InvalidInputError(f"stdin: not JSON: {again}; {_CURE}") from again


def _refuse(error: msgspec.ValidationError, under: str = "") -> NoReturn:
    """Reword msgspec's `Expected `str`, got `int` - at `$.tool_name`` with the field first."""
    what, mark, where = str(error).partition(" - at `$")
    if not (mark and where.endswith("`")):
        what, where = str(error), ""
    where = where.removesuffix("`").removeprefix(".")
    name = ".".join(part for part in (under, where) if part) or "stdin"
    raise InvalidInputError(f"{name}: {what[:1].lower()}{what[1:]}; {_CURE}") from error


def _from_flat(kind: EventKind, wire: Wire) -> HookInput:
    """Return the client's own shape (contract section 1)."""
    actual = kind
    if wire.hook_event_name is not None:
        actual = _flat_kind(kind, wire)
    hook = HookInput(
        actual,
        tool_input=wire.tool_input,
        tool_response=wire.tool_response,
        last_message=_if_text(wire.last_assistant_message) or _if_text(wire.compact_summary),
        between=[text for text in wire.between if isinstance(text, str)]
        if isinstance(wire.between, list)
        else [],
        transcript_path=_if_text(wire.transcript_path) if actual is EventKind.STOP else "",
        reason=wire.reason or wire.trigger or "",
        duration_ms=_duration(wire.duration_ms),
        at_ms=_timestamp(wire.timestamp_ms),
        truncated=wire.truncated,
        # Only the gates ask for these; a wrong type must not cost the event.
        stop_hook_active=wire.stop_hook_active is True,
        interrupted=wire.is_interrupt is True,
        agent_id=_if_text(wire.agent_id),
        agent_type=_if_text(wire.agent_type),
        command_name=_if_text(wire.command_name),
        background=background_work(wire.background_tasks),
    )
    for name in _TEXTS:
        setattr(hook, name, getattr(wire, name) or "")
    if actual is EventKind.POST_TOOL:
        hook.success = True  # the client fires PostToolUse for nothing else
    if hook.truncated:
        hook.notes.append(
            "stdin: larger than the launcher's limit; only its top-level plain values were read"
        )
    return hook


def _if_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _flat_kind(kind: EventKind, wire: Wire) -> EventKind:
    """Return the event that ``hook_event_name`` tells; the client never sends one without these keys."""
    name = wire.hook_event_name or ""
    actual = _KIND_OF_NAME.get(name)
    # One command may be registered for both outcomes of a tool.
    if actual is None or (
        actual is not kind and (kind, actual) != (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE)
    ):
        raise _wrong_event("hook_event_name", name, kind)
    if actual in _TOOL_KINDS and not wire.tool_name:
        raise InvalidInputError(f"tool_name: missing from {name}; {_CURE}")
    if actual is EventKind.PROMPT_SUBMIT and wire.prompt is None:
        raise InvalidInputError(f"prompt: missing from {name}; {_CURE}")
    return actual


def _from_nested(kind: EventKind, wire: Wire) -> HookInput:
    """Seed 001 section 2.2: hook_type, session_id, timestamp_ms, payload{type, data}."""
    if wire.hook_type is None:
        raise _missing("hook_type")
    if wire.timestamp_ms is None:
        raise _missing("timestamp_ms")
    if not wire.has_payload():
        raise _missing("payload")
    _check_hook_type("hook_type", wire.hook_type, kind)
    payload: Payload = _decode_part(wire.payload, Payload, "payload")
    _check_hook_type("payload.type", payload.type, kind)
    data: Any = _decode_part(payload.data, DATA_TYPES[kind], "payload.data")
    hook = HookInput(
        kind,
        session_id=wire.session_id or "",
        prompt_id=wire.prompt_id or "",
        tool_use_id=wire.tool_use_id or "",
        at_ms=_timestamp(wire.timestamp_ms),
        cwd=wire.cwd or "",
    )
    _take_data(hook, data)
    return hook


def _missing(name: str) -> InvalidInputError:
    return InvalidInputError(f"{name}: missing from the hook input; {_CURE}")


def _take_data(hook: HookInput, data: object) -> None:
    if isinstance(data, SessionStart):
        hook.cwd = data.cwd
        hook.previous_session_id = data.previous_session_id or ""
        hook.source = "startup"
    elif isinstance(data, PreToolUse):
        hook.tool_name, hook.tool_input = data.tool_name, data.tool_input
    elif isinstance(data, PostToolUse):
        hook.tool_name, hook.tool_input = data.tool_name, data.tool_input
        hook.tool_response, hook.error = data.tool_output, data.error or ""
        # An explicit verb for failures stands, error text or not.
        hook.success = data.error is None and hook.kind is EventKind.POST_TOOL
    elif isinstance(data, UserPromptSubmit):
        hook.prompt = data.prompt
    elif isinstance(data, SessionEnd):
        hook.duration_ms, hook.reason = data.duration_ms, data.status


def _decode_part(raw: msgspec.Raw, kind: type[Any], under: str) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        _refuse(error, under)
    except RecursionError as error:
        raise InvalidInputError(f"{under}: nested too deeply; {_CURE}") from error


def _check_hook_type(name: str, value: str, kind: EventKind) -> None:
    actual = _KIND_OF_HOOK_TYPE.get(value)
    # Seed 001 has no event of its own for a failed tool: its PostToolUse carries the error.
    if actual is not kind and (kind, actual) != (EventKind.POST_TOOL_FAILURE, EventKind.POST_TOOL):
        raise _wrong_event(name, value, kind)


def _wrong_event(name: str, value: str, kind: EventKind) -> InvalidInputError:
    return InvalidInputError(
        f"{name}: {value[:60]!r} is not the event of `hooks {kind.value}`; expected {EVENT_OF_VERB[kind]!r}"
    )


def _duration(value: float | None) -> int:
    if value is None:
        return 0
    if not 0 <= value < 2**53:  # false for NaN too
        raise InvalidInputError(f"duration_ms: {value} is out of range; give milliseconds, 0 or more")
    return int(value)


def _timestamp(value: int | None) -> int:
    if value is None:
        return 0
    if not 0 < value < 2**53:
        raise InvalidInputError(f"timestamp_ms: {value} is out of range; give Unix milliseconds above 0")
    return value


def _fill_from_params(hook: HookInput, params: Mapping[str, object]) -> None:
    hook.session_id = hook.session_id or _text(params, "session-id")
    hook.previous_session_id = hook.previous_session_id or _text(params, "previous-session-id")
    hook.tool_name = hook.tool_name or _text(params, "tool-name")
    hook.prompt = hook.prompt or _text(params, "prompt")
    if "duration-ms" in params and not hook.duration_ms:
        text = _text(params, "duration-ms")
        if not (text.isascii() and text.isdigit() and len(text) <= 15):
            raise InvalidInputError(f"--duration-ms: {text!r} is not a number of milliseconds, 0 or more")
        hook.duration_ms = int(text)
    if "success" in params:
        hook.success = _truth(params, "success")
    if not hook.tool_name.isprintable():
        raise InvalidInputError(
            f"tool_name: {hook.tool_name[:40]!r} holds a control character; give its name"
        )


def _settle_success(kind: EventKind, hook: HookInput) -> None:
    """Make ``given.kind`` and ``given.success`` agree; --success is in there already and wins."""
    if hook.kind not in (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE):
        return
    if hook.success is None and hook.kind is EventKind.POST_TOOL_FAILURE:
        hook.success = False
    if hook.success and kind is EventKind.POST_TOOL_FAILURE:
        raise InvalidInputError("--success: true contradicts `hooks post-tool-failure`; use post-tool")
    if hook.success is not None:
        hook.kind = EventKind.POST_TOOL if hook.success else EventKind.POST_TOOL_FAILURE


def _text(params: Mapping[str, object], name: str) -> str:
    value = params.get(name, "")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidInputError(f"--{name}: {value!r} is not text")
    return str(value)


def _truth(params: Mapping[str, object], name: str) -> bool:
    value = params[name]
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise InvalidInputError(f"--{name}: {value!r} is neither true nor false")
