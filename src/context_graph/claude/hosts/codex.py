"""Codex CLI: the same events, names and answers as Claude Code's, but for its tool that edits.

Checked with 0.169.0. A shell command's hook tells what was printed, not whether it failed.
"""

from __future__ import annotations

from typing import Final

from context_graph.claude.hosts.host import Host, Json, absolute, without_event
from context_graph.model import EventKind

_EDIT: Final = "apply_patch"
_EXIT: Final = "Exit code: "
_FILES: Final = {"*** Update File: ": "Edit", "*** Add File: ": "Write", "*** Delete File: ": "Edit"}
_MOVED: Final = "*** Move to: "
_MOST_FILES: Final = 2_000

EVENTS: Final = {
    EventKind.SESSION_START: "SessionStart",
    EventKind.PRE_TOOL: "PreToolUse",
    EventKind.POST_TOOL: "PostToolUse",
    EventKind.PROMPT_SUBMIT: "UserPromptSubmit",
    EventKind.PERMISSION_REQUEST: "PermissionRequest",
    EventKind.SUBAGENT_START: "SubagentStart",
    EventKind.SUBAGENT_STOP: "SubagentStop",
    EventKind.STOP: "Stop",
    EventKind.PRE_COMPACT: "PreCompact",
    EventKind.POST_COMPACT: "PostCompact",
    EventKind.SESSION_END: "SessionEnd",
}


def to_claude(kind: EventKind, payload: Json) -> Json:
    """Return Codex's input with the edits of a patch as one call of Edit, or of Write if it only adds one
    file."""
    made = without_event(payload)
    if kind is not EventKind.PROMPT_SUBMIT:  # a turn may take several prompts
        made["prompt_id"] = payload.get("turn_id")
    patch = payload.get("tool_input")
    if payload.get("tool_name") != _EDIT or not isinstance(patch, dict):
        return made
    text = patch.get("command")
    tool, made["tool_input"] = _edit_of(text if isinstance(text, str) else "", payload.get("cwd"))
    made["tool_name"] = tool
    response = payload.get("tool_response")
    failed = (
        isinstance(response, str) and response.startswith(_EXIT) and not response.startswith(f"{_EXIT}0\n")
    )
    if kind is EventKind.POST_TOOL and failed:
        made["hook_event_name"], made["error"] = "PostToolUseFailure", response
    return made


def _edit_of(patch: str, cwd: object) -> tuple[str, Json]:
    """Return the tool of Claude Code's that a patch comes to, with its input: paths, what goes and what
    comes."""
    tools: list[str] = []
    named: dict[object, None] = {}
    old: list[str] = []
    new: list[str] = []
    for line in patch.split("\n"):
        if line[:1] == "-":
            old.append(line[1:])
        elif line[:1] == "+":
            new.append(line[1:])
        elif line[:4] == "*** " and len(named) < _MOST_FILES:
            head = next((head for head in _FILES if line.startswith(head)), "")
            if head:
                tools.append(_FILES[head])
            path = absolute(line.removeprefix(head or _MOVED).strip(), cwd)
            if head or line.startswith(_MOVED):
                named[path] = None
    first, *rest = named or [""]
    if tools == ["Write"]:
        return "Write", {"file_path": first, "content": "\n".join(new)}
    made: Json = {"file_path": first, "old_string": "\n".join(old), "new_string": "\n".join(new)}
    return "Edit", {**made, "paths": rest} if rest else made


def from_claude(event: str, document: Json) -> Json:
    """Return the document as it is: Codex reads the same keys."""
    return document


CODEX: Final = Host(
    "codex",
    EVENTS,
    to_claude,
    from_claude,
    context_at=frozenset(
        {
            *(EventKind.SESSION_START, EventKind.PRE_TOOL, EventKind.POST_TOOL),
            *(EventKind.PROMPT_SUBMIT, EventKind.SUBAGENT_START),
        }
    ),
    untold=frozenset({"Bash"}),
)
