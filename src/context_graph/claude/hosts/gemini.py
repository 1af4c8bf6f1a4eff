"""Gemini CLI: checked with 0.61.0.

Its PreCompress fires before every request to the model, compressed or not, so it is no compaction here. It
names no tool calls, and a reason that holds the agent's stop comes back as the next prompt. Without a
terminal it puts the context of a session's start into the prompt itself.
"""

from __future__ import annotations

from typing import Final

from context_graph.claude.hosts.host import (
    NOT_THE_USER,
    Host,
    Json,
    absolute,
    ran_in,
    specific,
    without_event,
)
from context_graph.model import EventKind

EVENTS: Final = {
    EventKind.SESSION_START: "SessionStart",
    EventKind.PRE_TOOL: "BeforeTool",
    EventKind.POST_TOOL: "AfterTool",
    EventKind.PROMPT_SUBMIT: "BeforeAgent",
    EventKind.STOP: "AfterAgent",
    EventKind.SESSION_END: "SessionEnd",
}
TOOLS: Final = {
    "run_shell_command": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "replace": "Edit",
    "glob": "Glob",
    "grep_search": "Grep",
    "search_file_content": "Grep",
    "list_directory": "LS",
    "web_fetch": "WebFetch",
    "google_web_search": "WebSearch",
}
_PATHS: Final = ("file_path", "dir_path", "path")
_OURS, _OURS_END = "<hook_context>", "</hook_context>"
_EXIT: Final = "\nExit Code: "


def to_claude(kind: EventKind, payload: Json) -> Json:
    """Return Gemini's input with Claude Code's tools and answers."""
    made = without_event(payload)
    if kind is EventKind.PROMPT_SUBMIT:
        prompt = payload.get("prompt")
        if isinstance(prompt, str):
            made["prompt"] = _typed(prompt)
            made["source"] = "system" if prompt.startswith(NOT_THE_USER) else ""
    elif kind is EventKind.STOP:
        made["last_assistant_message"] = payload.get("prompt_response")
    elif kind in (EventKind.PRE_TOOL, EventKind.POST_TOOL):
        made |= _call(payload)
        if made["tool_name"] == "Bash":
            made |= ran_in(payload.get("tool_input"), "dir_path", payload.get("cwd"))
    if kind is EventKind.POST_TOOL:
        made |= _outcome(made["tool_name"], payload.get("tool_response"))
    return made


def _typed(prompt: str) -> str:
    """Return the prompt without the context of the session's start."""
    at = 0
    while prompt.startswith(_OURS, at):
        end = prompt.find(_OURS_END, at)
        if end < 0:
            break
        at = end + len(_OURS_END)
        while prompt[at : at + 1].isspace():
            at += 1
    return prompt[at:]


def _call(payload: Json) -> Json:
    tool, called, asked = payload.get("tool_name"), payload.get("tool_input"), payload.get("mcp_context")
    name = TOOLS.get(tool, tool) if isinstance(tool, str) else tool
    if isinstance(asked, dict) and asked.get("server_name") and asked.get("tool_name"):
        name = f"mcp__{asked['server_name']}__{asked['tool_name']}"
    elif isinstance(called, dict):
        called = {
            key: absolute(value, payload.get("cwd")) if key in _PATHS else value
            for key, value in called.items()
            if key != "instruction"  # says the edit a second time
        }
    return {"tool_name": name, "tool_input": called}


def _outcome(tool: object, response: object) -> Json:
    """Return what the call gave: Gemini has one event for both outcomes."""
    if not isinstance(response, dict):
        return {"tool_response": response}
    error, content, shown = response.get("error"), response.get("llmContent"), response.get("returnDisplay")
    text = content if isinstance(content, str) else ""
    if isinstance(error, dict):
        return _failed(error.get("message") or text or "the tool failed")
    if tool == "Bash" and _EXIT in text:
        code = text.rpartition(_EXIT)[2].partition("\n")[0]
        return _failed(f"Exit code {code}\n{shown if isinstance(shown, str) and shown else text}")
    if isinstance(shown, dict) and "fileDiff" in shown:
        return {"tool_response": {"filePath": shown.get("filePath"), "structuredPatch": shown["fileDiff"]}}
    return {"tool_response": shown if isinstance(shown, str) and shown else content}


def _failed(text: object) -> Json:
    return {"hook_event_name": "PostToolUseFailure", "error": str(text), "tool_response": None}


def from_claude(event: str, document: Json) -> Json:
    """Return Gemini's answer: decision and reason beside the context."""
    own = specific(document)
    made: Json = {name: document[name] for name in ("systemMessage",) if name in document}
    if own.get("permissionDecision") == "deny":
        made |= {"decision": "deny", "reason": own.get("permissionDecisionReason", "")}
    elif document.get("decision") == "block":
        made |= {"decision": "deny", "reason": f"{NOT_THE_USER} {document.get('reason', '')}"}
    context = own.get("additionalContext")
    if context and event in _TELLS:
        made["hookSpecificOutput"] = {"hookEventName": _TELLS[event], "additionalContext": context}
    return made


_TELLS: Final = {
    "SessionStart": "SessionStart",
    "UserPromptSubmit": "BeforeAgent",
    "PostToolUse": "AfterTool",
}
GEMINI: Final = Host(
    "gemini",
    EVENTS,
    to_claude,
    from_claude,
    context_at=frozenset({EventKind.SESSION_START, EventKind.PROMPT_SUBMIT, EventKind.POST_TOOL}),
)
