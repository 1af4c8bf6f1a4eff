"""Reads and checks a hook's input: the client's flat JSON, seed 001's HookInput, or options alone.

REQ-HOOKS-03, 10..12 and 29. Every fault raises InvalidInputError, which names the field, the limit and the
fix. Nothing is redacted here: a HookInput holds raw text and must not be stored or logged.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn

import msgspec

from context_graph.claude.events import EVENT_OF_VERB, EVENTS
from context_graph.claude.hooks.hook_output import background_work
from context_graph.claude.hooks.origin import is_typed
from context_graph.errors import InvalidInputError
from context_graph.model import MAX_SESSION_ID_LEN, NOTIFICATION, EventKind

MAX_INPUT_BYTES: Final = 4 * 1024 * 1024
"""The launcher refuses more as well; this end must not trust it to."""

_CURE: Final = "send the client's hook JSON, or hook_type, session_id, timestamp_ms and payload {type, data}"
_BOM: Final = b"\xef\xbb\xbf"
"""PowerShell 5 puts one before what it pipes."""

_GATED_TEXTS: Final = ("tool_name", "tool_use_id", "prompt", "source", "reason", "agent_id", "command_name")
_TOOL_KINDS: Final = frozenset(event.kind for event in EVENTS if event.tools)

_KIND_OF_NAME: Final = {event.name: event.kind for event in EVENTS}
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")
_KIND_OF_HOOK_TYPE: Final = _KIND_OF_NAME | {
    _CAPITAL.sub("_", name).lower(): kind for name, kind in _KIND_OF_NAME.items()
}
"""Seed 001 writes hook_type in snake_case and the payload's tag in PascalCase; each is accepted in both."""


if TYPE_CHECKING:
    Name = EventKind
    Text = str
    Id = str
    Loose = str
    Texts = Sequence[str]
    Milliseconds = int
    Truth = bool
else:  # null means absent; of what only the gates ask for, a wrong type must not cost the event
    Name = str | None
    Text = str | None
    Id = Annotated[str, msgspec.Meta(min_length=1)] | None
    Loose = Any
    Texts = Any
    Truth = Any
    Milliseconds = Annotated[float, msgspec.Meta(ge=0, lt=2**53)] | None
_LATER: Any = None
"""Of the kind, which the verb decides where the input does not name its event."""


class HookInput(
    msgspec.Struct,
    rename={
        "kind": "hook_event_name",
        "interrupted": "is_interrupt",
        "success": "--success",  # no key of the client's
    },
):
    """One hook call's input, in one shape: every key that we read, of the client's JSON or seed 001's.

    Texts are raw: redact before anything is kept. An absent text is empty, an absent JSON value None.
    ``success`` is None where the event says nothing about success.
    """

    kind: Name = _LATER
    session_id: Id = ""
    previous_session_id: Text = ""
    tool_name: Text = ""
    tool_use_id: Text = ""
    tool_input: Any = None
    tool_response: Any = None
    error: Text = ""
    success: bool | None = None
    prompt: Text = ""
    last_assistant_message: Loose = ""
    compact_summary: Loose = ""
    between: Texts = ()
    """Stop: what the model said before, between its calls since the prompt, where that is known."""
    transcript_path: Loose = ""
    """Of a Stop alone."""
    prompt_id: Text = ""
    source: Text = ""
    """As in HookEvent: that a prompt is a notification is decided here, and nowhere else."""
    reason: Text = ""
    trigger: Text = ""
    duration_ms: Milliseconds = 0
    cwd: Text = ""
    timestamp_ms: Annotated[int, msgspec.Meta(gt=0, lt=2**53)] | None = None
    """Of seed 001's form, which must have it; the time that counts is the hook's own."""
    truncated: bool = False
    stop_hook_active: Truth = False
    interrupted: Truth = False
    """PostToolUseFailure: the user ended the call."""
    agent_id: Loose = ""
    agent_type: Loose = ""
    """SubagentStart: what kind of agent it is."""
    command_name: Loose = ""
    """UserPromptExpansion: the skill or command that the user typed."""
    background_tasks: Any = None
    hook_type: Text = ""
    payload: msgspec.Raw = msgspec.Raw()

    def __post_init__(self) -> None:
        for name in _TEXTS:
            if not isinstance(getattr(self, name), str):
                setattr(self, name, "")
        texts = self.between if isinstance(self.between, list) else ()
        self.between = [text for text in texts if isinstance(text, str)]
        self.reason = self.reason or self.trigger
        self.duration_ms = int(self.duration_ms or 0)
        self.stop_hook_active = self.stop_hook_active is True
        self.interrupted = self.interrupted is True

    @property
    def last_message(self) -> str:
        """Stop: what the model said last. PostCompact: the summary of the compaction."""
        return self.last_assistant_message or self.compact_summary

    @property
    def background(self) -> list[tuple[str, str]]:
        """Stop: (type, id) of what runs on."""
        return background_work(self.background_tasks)

    @property
    def has_payload(self) -> bool:
        """Whether the key is there, null or not."""
        return memoryview(self.payload).nbytes > 0


_TEXTS: Final = tuple(
    name for name, kind in HookInput.__annotations__.items() if kind in ("Text", "Id", "Loose")
)


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
    hook.session_id = check_session_id(hook.session_id)
    hook.previous_session_id = check_session_id(hook.previous_session_id, "previous_session_id")
    if kind is EventKind.SESSION_START and not hook.session_id:
        hook.session_id = str(uuid.uuid4())
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
        stop_hook_active=fields.get("stop_hook_active"),  # type: ignore[arg-type]  # what it is, it checks
        interrupted=fields.get("is_interrupt"),  # type: ignore[arg-type]
        background_tasks=fields.get("background_tasks"),
    )


def check_session_id(session_id: str, name: str = "session_id") -> str:
    """Return ``session_id`` cut to MAX_SESSION_ID_LEN characters; empty stays empty.

    Raises:
        InvalidInputError: If it is blank, or holds a character that can't be printed: ids are part
            of store keys and of log lines.
    """
    if session_id and not session_id.strip():
        raise InvalidInputError(f"{name}: blank; give the session's id, 1 to {MAX_SESSION_ID_LEN} characters")
    if not session_id.isprintable():
        raise InvalidInputError(f"{name}: {session_id[:40]!r} holds a control character; give a plain id")
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
        hook = msgspec.json.decode(body, type=HookInput)
    except msgspec.ValidationError as error:
        _refuse(error)
    except msgspec.DecodeError as error:
        body = _without_lone_surrogates(body, error)
        try:
            hook = msgspec.json.decode(body, type=HookInput)
        except msgspec.ValidationError as again:
            _refuse(again)
        except msgspec.DecodeError as again:
            raise InvalidInputError(f"stdin: not JSON: {again}; {_CURE}") from again
    except RecursionError as error:
        raise InvalidInputError(f"stdin: nested too deeply; {_CURE}") from error
    if hook.has_payload or hook.hook_type:
        return _from_nested(kind, hook)
    hook.kind = _flat_kind(kind, hook, body)
    if hook.kind is EventKind.POST_TOOL:
        hook.success = True  # the client fires PostToolUse for nothing else
    if hook.kind is not EventKind.STOP:
        hook.transcript_path = ""
    return hook


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


def _flat_kind(kind: EventKind, hook: HookInput, body: bytes) -> EventKind:
    """Return the event that ``hook_event_name`` tells; the client never sends one without these keys."""
    name = str(hook.kind or "")
    if not name:
        return kind
    actual = _KIND_OF_NAME.get(name)
    # One command may be registered for both outcomes of a tool.
    if actual is None or (
        actual is not kind and (kind, actual) != (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE)
    ):
        raise _wrong_event("hook_event_name", name, kind)
    if actual in _TOOL_KINDS and not hook.tool_name:
        raise InvalidInputError(f"tool_name: missing from {name}; {_CURE}")
    is_empty = actual is EventKind.PROMPT_SUBMIT and not hook.prompt
    if is_empty and msgspec.json.decode(body).get("prompt") is None:
        raise InvalidInputError(f"prompt: missing from {name}; {_CURE}")
    return actual


def _from_nested(kind: EventKind, outer: HookInput) -> HookInput:
    """Seed 001 section 2.2: hook_type, session_id, timestamp_ms, payload{type, data}."""
    if not outer.hook_type:
        raise _missing("hook_type")
    if outer.timestamp_ms is None:
        raise _missing("timestamp_ms")
    if not outer.has_payload:
        raise _missing("payload")
    _check_hook_type("hook_type", outer.hook_type, kind)
    payload: _Payload = _decode_part(outer.payload, _Payload, "payload")
    _check_hook_type("payload.type", payload.type, kind)
    data: Any = _decode_part(payload.data, _DATA.get(kind, _Bare), "payload.data")
    taken = {name: getattr(outer, name) for name in ("session_id", "prompt_id", "tool_use_id", "cwd")}
    read = {name: value for name, value in msgspec.structs.asdict(data).items() if name != "context"}
    hook = HookInput(kind, **{**taken, **read})
    if isinstance(data, _SessionStart):
        hook.source = "startup"
    elif isinstance(data, _PostToolUse):
        # An explicit verb for failures stands, error text or not.
        hook.success = data.error is None and kind is EventKind.POST_TOOL
    return hook


class _Payload(msgspec.Struct):
    type: str
    data: msgspec.Raw = msgspec.Raw(b"{}")


class _SessionStart(msgspec.Struct):
    cwd: str
    previous_session_id: str | None = None


class _PreToolUse(msgspec.Struct):
    tool_name: str
    tool_input: Any


class _PostToolUse(msgspec.Struct, rename={"tool_response": "tool_output"}):
    tool_name: str
    tool_response: str | None = None
    error: str | None = None
    tool_input: Any = None


class _Message(msgspec.Struct):
    role: str
    content: str


class _UserPromptSubmit(msgspec.Struct):
    prompt: str
    context: list[_Message] | None = None


class _SessionEnd(msgspec.Struct, rename={"reason": "status"}):
    duration_ms: Annotated[int, msgspec.Meta(ge=0)]
    reason: Literal["normal", "timeout", "error", "user_abort"]


class _Bare(msgspec.Struct):
    """Events that seed 001 does not have; no key of them is required."""


_DATA: Final[dict[EventKind, type[msgspec.Struct]]] = {
    EventKind.SESSION_START: _SessionStart,
    EventKind.PRE_TOOL: _PreToolUse,
    EventKind.POST_TOOL: _PostToolUse,
    EventKind.POST_TOOL_FAILURE: _PostToolUse,
    EventKind.PROMPT_SUBMIT: _UserPromptSubmit,
    EventKind.SESSION_END: _SessionEnd,
    EventKind.PERMISSION_REQUEST: _PreToolUse,
    EventKind.PERMISSION_DENIED: _PreToolUse,
}
"""What the payload's ``data`` is in seed 001's form, by event; of all others `_Bare`."""


def _missing(name: str) -> InvalidInputError:
    return InvalidInputError(f"{name}: missing from the hook input; {_CURE}")


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
