"""The shapes of the payload in seed 001's form of a hook's input."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from context_graph.model import EventKind


class Payload(msgspec.Struct):
    type: str
    data: msgspec.Raw = msgspec.Raw(b"{}")


class SessionStart(msgspec.Struct):
    cwd: str
    previous_session_id: str | None = None


class PreToolUse(msgspec.Struct):
    tool_name: str
    tool_input: Any


class PostToolUse(msgspec.Struct):
    tool_name: str
    tool_output: str | None = None
    error: str | None = None
    tool_input: Any = None


class Message(msgspec.Struct):
    role: str
    content: str


class UserPromptSubmit(msgspec.Struct):
    prompt: str
    context: list[Message] | None = None


class SessionEnd(msgspec.Struct):
    duration_ms: Annotated[int, msgspec.Meta(ge=0)]
    status: Literal["normal", "timeout", "error", "user_abort"]


class Bare(msgspec.Struct):
    """Events that seed 001 does not have; no key of them is required."""


DATA_TYPES: Final[dict[EventKind, type[msgspec.Struct]]] = {
    EventKind.SESSION_START: SessionStart,
    EventKind.PRE_TOOL: PreToolUse,
    EventKind.POST_TOOL: PostToolUse,
    EventKind.POST_TOOL_FAILURE: PostToolUse,
    EventKind.PROMPT_SUBMIT: UserPromptSubmit,
    EventKind.SESSION_END: SessionEnd,
    EventKind.PERMISSION_REQUEST: PreToolUse,
    EventKind.PERMISSION_DENIED: PreToolUse,
}
"""What the payload's ``data`` is, by event; of all others `Bare`."""
