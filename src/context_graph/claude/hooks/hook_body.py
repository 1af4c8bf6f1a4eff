"""The shapes of a hook's input on the wire: the client's flat JSON, and seed 001's payloads."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from context_graph.model import EventKind


class Wire(msgspec.Struct):
    """Every key that we read, of either shape. null means absent; other keys are ignored."""

    hook_event_name: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    prompt_id: str | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    tool_input: Any = None
    tool_response: Any = None
    error: str | None = None
    prompt: str | None = None
    last_assistant_message: Any = None
    compact_summary: Any = None
    transcript_path: Any = None
    between: Any = None
    source: str | None = None
    trigger: str | None = None
    reason: str | None = None
    duration_ms: float | None = None
    previous_session_id: str | None = None
    truncated: bool = False
    stop_hook_active: Any = None
    is_interrupt: Any = None
    agent_id: Any = None
    agent_type: Any = None
    command_name: Any = None
    background_tasks: Any = None
    hook_type: str | None = None
    timestamp_ms: int | None = None
    payload: msgspec.Raw = msgspec.Raw()

    def has_payload(self) -> bool:
        """Return whether the key is there, null or not."""
        return memoryview(self.payload).nbytes > 0


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
    EventKind.STOP: Bare,
    EventKind.PRE_COMPACT: Bare,
    EventKind.SESSION_END: SessionEnd,
    EventKind.PERMISSION_REQUEST: PreToolUse,
    EventKind.SUBAGENT_STOP: Bare,
    EventKind.PROMPT_EXPANSION: Bare,
    EventKind.PERMISSION_DENIED: PreToolUse,
    EventKind.POST_COMPACT: Bare,
    EventKind.SUBAGENT_START: Bare,
    EventKind.CONFIG_CHANGE: Bare,
}
"""What the payload's ``data`` is, by event."""
