"""Codex CLI: the same events, names and answers as Claude Code's, but for its tool that edits.

Checked with 0.169.0. A shell command's hook tells what was printed, not whether it failed.

Its session files ("rollouts") are read as its hooks would have sent them. A line is `{"timestamp", "type",
"payload"}`. What the model said and did stands in `response_item`, prompts there and in `event_msg`; what the
client tells the model about itself looks like a prompt there, and is none.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, MutableSet
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson

from context_graph.claude.hosts.host import Host, Json, absolute, without_event
from context_graph.claude.transcripts import MAX_FILES, Told, lines_of, milliseconds
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
    """Return the tool of Claude Code's that a patch comes to, and its input: paths, what goes and comes."""
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


_TICK: Final = 200
_FIRST_LINES: Final = 5
_WAITING: Final = 1_000
_SHELLS: Final = frozenset({"shell", "shell_command", "exec_command", "container.exec", "local_shell"})
_FAILED: Final = ("Exit code: ", "Process exited with code ")
_SAYS_ITSELF: Final = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md",
    "<turn_aborted>",
    "<INSTRUCTIONS>",
)


def sessions_in(folder: Path, project: Path) -> list[Path]:
    """Return the rollouts below ``folder`` of sessions in ``project``, oldest first, of at most MAX_FILES."""
    paths = (
        Path(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.startswith("rollout-") and name.endswith(".jsonl")
    )
    plain = [path for path in islice(paths, MAX_FILES) if not path.is_symlink()]
    own = (path for path in plain if Path(str(_meta_of(path).get("cwd", "."))).is_relative_to(project))
    return sorted(own, key=lambda path: path.name)


def id_of(path: Path) -> str:
    """Return the id of the session in ``path``; "" where it is no rollout. Raises no error."""
    meta = _meta_of(path)
    return str(meta.get("id") or path.stem) if meta else ""


def _meta_of(path: Path) -> dict[str, Any]:
    """Return what a rollout says of its session: ``id`` and ``cwd``; {} for no rollout."""
    try:
        for line in islice(lines_of(path, Counter()), _FIRST_LINES):
            payload = (line or {}).get("payload")
            if line and line.get("type") == "session_meta" and isinstance(payload, dict):
                return payload
    except OSError:
        pass
    return {}


def told_by(path: Path, odd: Counter[str], seen: MutableSet[str]) -> Iterator[Told]:
    """Yield what hooks would have sent of the session in ``path``. A fork repeats its parent's calls and
    prompts: each counts once.

    Raises OSError where the file can't be read.
    """
    reader = _Rollout(str(_meta_of(path).get("cwd") or ""), seen)
    for number, line in enumerate(lines_of(path, odd), start=1):
        if number % _TICK == 0:
            yield Told(reader.at_ms, "", {})
        payload = line.get("payload") if line is not None else None
        if line is None or not isinstance(payload, dict):
            continue
        reader.at_ms = milliseconds(line.get("timestamp")) or reader.at_ms
        yield from reader.take(str(line.get("type")), payload)
    yield from reader.stop()


class _Rollout:
    def __init__(self, cwd: str, seen: MutableSet[str]) -> None:
        self.at_ms = 0
        self._cwd, self._seen = cwd, seen
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self._said = self._asked = ""
        self._is_old = False
        """Whether the turn was read before, in the session that this one is a fork of."""

    def take(self, kind: str, payload: dict[str, Any]) -> Iterator[Told]:
        what = payload.get("type")
        if kind == "event_msg" and what == "user_message":
            yield from self._prompt(str(payload.get("message") or ""))
        elif kind == "event_msg" and what == "agent_message":
            self._said = str(payload.get("message") or "")
        elif kind == "compacted" and payload.get("message"):
            yield self._told("PostCompact", {"compact_summary": str(payload["message"])})
        elif kind != "response_item":
            return
        elif what == "message" and payload.get("role") == "assistant":
            self._said = _text(payload.get("content")) or self._said
        elif what == "message" and payload.get("role") == "user":
            yield from self._prompt(_text(payload.get("content")))
        elif what in ("function_call", "custom_tool_call", "local_shell_call"):
            self._call(payload)
        elif what in ("function_call_output", "custom_tool_call_output"):
            yield from self._result(payload)

    def stop(self) -> Iterator[Told]:
        """Yield the end of a turn, if something was said in it."""
        if self._said and not self._is_old:
            yield self._told("Stop", {"last_assistant_message": self._said})
        self._said = ""

    def _told(self, name: str, body: dict[str, Any]) -> Told:
        return Told(self.at_ms, name, {"cwd": self._cwd, **body})

    def _prompt(self, text: str) -> Iterator[Told]:
        if text.strip() == self._asked and not self._said:  # the same one, told twice
            return
        yield from self.stop()
        if not text.strip() or text.lstrip().startswith(_SAYS_ITSELF):
            return
        self._asked = text.strip()
        key = f"codex\0{self.at_ms}\0{text[:200]}"
        self._is_old = key in self._seen
        self._seen.add(key)
        if not self._is_old:
            yield self._told("UserPromptSubmit", {"prompt": text})

    def _call(self, payload: dict[str, Any]) -> None:
        name, arguments = str(payload.get("name") or "local_shell"), _arguments(payload)
        if name in _SHELLS:
            name, arguments = "Bash", {"command": _command(arguments)}
        elif name == "apply_patch":
            arguments = {"command": str(arguments.get("input") or payload.get("input") or "")}
        self._calls[str(payload.get("call_id"))] = name, arguments
        if len(self._calls) > _WAITING:
            del self._calls[next(iter(self._calls))]

    def _result(self, payload: dict[str, Any]) -> Iterator[Told]:
        number = str(payload.get("call_id"))
        call = self._calls.pop(number, None)
        if call is None or f"codex\0{number}" in self._seen:
            return
        self._seen.add(f"codex\0{number}")
        name, arguments = call
        text, failed = _output(payload.get("output"))
        outcome = (
            {"error": text} if failed else {"tool_response": {"stdout": text} if name == "Bash" else text}
        )
        event = "PostToolUseFailure" if failed else "PostToolUse"
        body = {
            "tool_name": name,
            "tool_input": arguments,
            "tool_use_id": number,
            "cwd": self._cwd,
            **outcome,
        }
        if name == "apply_patch":
            body = {**to_claude(EventKind.POST_TOOL, {**body, "hook_event_name": event})}
            body.pop("hook_event_name", None)
        yield Told(self.at_ms, event, body)


def _arguments(payload: dict[str, Any]) -> dict[str, Any]:
    action = payload.get("action")
    if isinstance(action, dict):
        return action
    try:
        arguments = orjson.loads(str(payload.get("arguments") or "{}"))
    except orjson.JSONDecodeError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _command(arguments: dict[str, Any]) -> str:
    """Return the command line: a text, or the words of `bash -lc TEXT`."""
    command = arguments.get("command") or arguments.get("cmd") or ""
    if not isinstance(command, list):
        return str(command)
    words = [str(word) for word in command]
    return words[2] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)


def _output(output: object) -> tuple[str, bool]:
    """Return (what a call printed, whether it failed)."""
    if isinstance(output, dict):
        return str(output.get("content") or output.get("output") or ""), output.get("success") is False
    text = str(output or "")
    try:
        whole = orjson.loads(text)
    except orjson.JSONDecodeError:
        whole = None
    if isinstance(whole, dict) and "output" in whole:
        metadata = whole.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else 0
        return str(whole["output"]), code not in (0, None)
    head = text.split("\nOutput:\n", 1)[0]
    code = next(
        (line.partition(sign)[2] for line in head.split("\n") for sign in _FAILED if line.startswith(sign)),
        "0",
    )
    return text.split("\nOutput:\n", 1)[-1] if head != text else text, code.strip() not in ("0", "")


def _text(content: object) -> str:
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text") or "") for block in blocks if isinstance(block, dict)).strip()
