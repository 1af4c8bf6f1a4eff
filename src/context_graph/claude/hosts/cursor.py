"""Cursor: shapes read from the hook code of its SDK, 1.0.32; it was not run.

A reason that holds the agent's stop is sent as the next message, so it says that no person wrote it. What the
model said last comes in an event of its own before the stop.
"""

from __future__ import annotations

import json
from typing import Final

from context_graph.claude.hosts.host import NOT_THE_USER, Host, Json, absolute, common, ran_in, specific
from context_graph.model import EventKind

EVENTS: Final = {
    EventKind.SESSION_START: "sessionStart",
    EventKind.PRE_TOOL: "preToolUse",
    EventKind.POST_TOOL: "postToolUse",
    EventKind.POST_TOOL_FAILURE: "postToolUseFailure",
    EventKind.PROMPT_SUBMIT: "beforeSubmitPrompt",
    EventKind.STOP: "stop",
    EventKind.PRE_COMPACT: "preCompact",
    EventKind.SESSION_END: "sessionEnd",
}
TOOLS: Final = {
    "Shell": "Bash",
    "StrReplace": "Edit",
    "MultiStrReplace": "Edit",
    "EditNotebook": "NotebookEdit",
    "Delete": "Edit",
    "List": "LS",
    "Fetch": "WebFetch",
}
_SAID: Final = "afterAgentResponse"
_MCP: Final = "MCP:"
_KEPT: Final = (
    *("prompt", "tool_name", "tool_input", "tool_use_id"),
    *("trigger", "reason", "is_interrupt", "truncated"),
)


def to_claude(kind: EventKind, payload: Json) -> Json:
    """Return Cursor's input under Claude Code's keys."""
    made = common(payload, *_KEPT)
    made["session_id"] = payload.get("session_id") or payload.get("conversation_id")
    if kind is not EventKind.PROMPT_SUBMIT:
        made["prompt_id"] = payload.get("generation_id")
    roots = payload.get("workspace_roots")
    cwd = payload.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    made["cwd"] = cwd
    if kind is EventKind.SESSION_START:
        made["source"] = "startup"
    elif kind is EventKind.PROMPT_SUBMIT:
        prompt = payload.get("prompt")
        generated = isinstance(prompt, str) and prompt.startswith(NOT_THE_USER)
        made["source"] = "system" if generated else ""
    elif kind is EventKind.STOP:
        loops, answered = payload.get("loop_count"), payload.get("hook_event_name") == _SAID
        made["stop_hook_active"] = answered or (isinstance(loops, int) and loops > 0)
        made["last_assistant_message"] = payload.get("text")
    elif kind is EventKind.SESSION_END:
        made["duration_ms"] = payload.get("duration_ms")
    else:
        made |= _call(payload, cwd)
        if made.get("tool_name") == "Bash":
            made |= ran_in(payload.get("tool_input"), "cwd", cwd)
    return made


def _call(payload: Json, cwd: object) -> Json:
    tool, called = payload.get("tool_name"), payload.get("tool_input")
    made: Json = {"duration_ms": payload.get("duration"), "error": payload.get("error_message")}
    if isinstance(tool, str):
        mcp = tool.startswith(_MCP)
        made["tool_name"] = f"mcp__cursor__{tool[len(_MCP) :]}" if mcp else TOOLS.get(tool, tool)
    if isinstance(called, dict):
        made["tool_input"] = {
            key: absolute(value, cwd) if key in ("file_path", "path") else value
            for key, value in called.items()
            if not (tool == "Shell" and key == "cwd")
        }
    output = payload.get("tool_output")
    if isinstance(output, str):
        made["tool_response"] = _parsed(output)
    return made


def _parsed(output: str) -> object:
    """Cursor writes a tool's output as JSON in a text."""
    try:
        return json.loads(output) if output[:1] in ("{", "[", '"') else output
    except (ValueError, RecursionError):
        return output


def from_claude(event: str, document: Json) -> Json:
    """Return Cursor's own keys; a denial without a reason for the model would leave it guessing."""
    own = specific(document)
    made: Json = {}
    if "systemMessage" in document:
        made["user_message"] = document["systemMessage"]
    if own.get("permissionDecision") == "deny":
        reason = own.get("permissionDecisionReason", "")
        made |= {"permission": "deny", "user_message": reason, "agent_message": reason}
    elif document.get("decision") == "block":
        made["followup_message"] = f"{NOT_THE_USER} {document.get('reason', '')}"
    if own.get("additionalContext") and event in _TELLS:
        made["additional_context"] = own["additionalContext"]
    return made


_TELLS: Final = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure")
CURSOR: Final = Host(
    "cursor",
    EVENTS,
    to_claude,
    from_claude,
    context_at=frozenset(
        {
            *(EventKind.SESSION_START, EventKind.PROMPT_SUBMIT, EventKind.PRE_TOOL),
            *(EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE),
        }
    ),
    also={_SAID: EventKind.STOP},
    answers_always=True,
)
