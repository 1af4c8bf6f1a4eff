"""Makes a session's events as hooks do: each from the client's own JSON, parsed, flattened and redacted."""

from __future__ import annotations

from itertools import count
from typing import Any

from context_graph.model import HookEvent
from context_graph.owner.sessions.hook_call import recorded_event
from context_graph.redact import Redactor

ROOT = "/home/u/project"
_REDACTOR = Redactor()
_NUMBERS = count(1)


def told(name: str, **body: Any) -> HookEvent:
    """The event of a hook of that name, with what the client would have sent."""
    number = next(_NUMBERS)
    at_ms = 1_700_000_000_000 + number * 1000
    return recorded_event(name, {"cwd": ROOT, **body}, "s", number, at_ms, _REDACTOR)


def prompt(text: str) -> HookEvent:
    return told("UserPromptSubmit", prompt=text)


def call(
    tool: str, given: dict[str, Any], response: Any = None, *, error: str = "", **more: Any
) -> HookEvent:
    """A tool call that worked, or that failed with ``error``."""
    common = {"tool_name": tool, "tool_input": given, "tool_use_id": f"t{next(_NUMBERS)}", **more}
    if error:
        return told("PostToolUseFailure", error=error, **common)
    return told("PostToolUse", tool_response={} if response is None else response, **common)


def bash(
    command: str, output: str = "", *, failed: bool = False, tool: str = "Bash", **more: Any
) -> HookEvent:
    given = {"command": command, **more}
    if failed:
        return call(tool, given, error=output or "Exit code 1")
    return call(tool, given, {"stdout": output, "stderr": "", "interrupted": False})


def edit(path: str, old: str = "old text", new: str = "new text", **response: Any) -> HookEvent:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return call("Edit", given, {"filePath": path, "oldString": old, "newString": new, **response})


def write(path: str, content: str = "") -> HookEvent:
    return call("Write", {"file_path": path, "content": content}, {"type": "create", "filePath": path})


def read(path: str, content: str = "text") -> HookEvent:
    return call("Read", {"file_path": path}, {"type": "text", "file": {"filePath": path, "content": content}})


def stop(message: str) -> HookEvent:
    return told("Stop", last_assistant_message=message)


def ended(reason: str = "other") -> HookEvent:
    return told("SessionEnd", reason=reason)
