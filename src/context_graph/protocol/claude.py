"""What a hook prints for the real client: exactly one JSON document of its schema, or nothing.

Facts are those of the client that was run (research/claude-code-contract.md section 4): only
``hookSpecificOutput.additionalContext`` reaches the model on every event, a known key that is null
fails the whole document, and text beyond 10,000 characters is replaced by a preview.
"""

from __future__ import annotations

from typing import Final

import msgspec

from context_graph.model import EventKind

__all__ = ["CONTEXT_CHARS", "EVENT_NAMES", "render_context", "render_system_message"]

CONTEXT_CHARS: Final = 10_000
"""Longest text the client inlines; one more and the model gets a 2 KB preview and a file name."""

EVENT_NAMES: Final[dict[EventKind, str]] = {
    EventKind.SESSION_START: "SessionStart",
    EventKind.PRE_TOOL: "PreToolUse",
    EventKind.POST_TOOL: "PostToolUse",
    EventKind.POST_TOOL_FAILURE: "PostToolUseFailure",
    EventKind.PROMPT_SUBMIT: "UserPromptSubmit",
    EventKind.STOP: "Stop",
    EventKind.PRE_COMPACT: "PreCompact",
    EventKind.SESSION_END: "SessionEnd",
}
"""The client's own name of each event; ``hookEventName`` must be the one that fired."""

_TAKES_CONTEXT: Final = frozenset(
    {"SessionStart", "PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"}
)
"""The others: Stop would be forced into another turn, SessionEnd fails the schema, PreCompact echoes it."""

_CUT_MARK: Final = "\n[cut]"


def render_context(event_name: str, text: str, *, system_message: str = "") -> bytes:
    """The document that shows ``text`` to the model and ``system_message`` to the user.

    Args:
        event_name: The client's name of the event that fired, a value of EVENT_NAMES.
        text: For the model; cut to CONTEXT_CHARS UTF-16 units (the client counts JavaScript's way).
            Dropped for events that take no context.
        system_message: For the user; dropped on SessionEnd, which shows none.

    Returns:
        One line of JSON with its newline, or nothing at all when there is nothing to say.

    Raises:
        ValueError: If the client has no such event; a wrong name would lose the whole document.
    """
    if event_name not in EVENT_NAMES.values():
        raise ValueError(f"{event_name!r} is none of {', '.join(EVENT_NAMES.values())}")
    document: dict[str, object] = {}
    if system_message and event_name != "SessionEnd":
        document["systemMessage"] = _cut(system_message)
    if text and event_name in _TAKES_CONTEXT:
        document["hookSpecificOutput"] = {"hookEventName": event_name, "additionalContext": _cut(text)}
    return msgspec.json.encode(document) + b"\n" if document else b""


def render_system_message(text: str) -> bytes:
    """A document that only tells the user something; valid on every event. Nothing for an empty text."""
    return msgspec.json.encode({"systemMessage": _cut(text)}) + b"\n" if text else b""


def _cut(text: str) -> str:
    """At most CONTEXT_CHARS UTF-16 code units, cut between characters; a cut text says so at its end."""
    clean = text.encode("utf-8", "replace").decode()  # a lone surrogate can't be written as JSON
    if len(clean) * 2 <= CONTEXT_CHARS:
        return clean
    units = clean.encode("utf-16-le")
    if len(units) <= 2 * CONTEXT_CHARS:
        return clean
    keep = 2 * (CONTEXT_CHARS - len(_CUT_MARK))
    return units[:keep].decode("utf-16-le", "ignore") + _CUT_MARK
