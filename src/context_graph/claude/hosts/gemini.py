"""Gemini CLI: checked with 0.61.0.

Its PreCompress fires before every request to the model, compressed or not, so it is no compaction here. It
names no tool calls, and a reason that holds the agent's stop comes back as the next prompt. Without a
terminal it puts the context of a session's start into the prompt itself.

Its session files are read as its hooks would have sent them. A newer one has a record a line: what holds for
the session, messages, and marks of what was taken back. A message is written again, whole, whenever something
of it changed. An older file is one JSON object with all messages.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, MutableSet
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson

from context_graph.claude.hosts.host import (
    NOT_THE_USER,
    Host,
    Json,
    absolute,
    ran_in,
    specific,
    without_event,
)
from context_graph.claude.transcripts import MAX_FILES, Told, lines_of, milliseconds, plain_files
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


_TICK: Final = 200
_MAX_OBJECT: Final = 64 << 20
"""Of a file that is one JSON object."""
_BEGINS: Final = "session-"
_ROOT: Final = ".project_root"
"""Beside the sessions of a project: the folder that they were held in; older versions have only its hash."""
_MAX_ROOT: Final = 4096
_SAYS_ITSELF: Final = ("<session_context>", "<state_snapshot>", "This is the Gemini CLI.", NOT_THE_USER)
_ENDED: Final = frozenset({"success", "error"})
"""States of a call that ran."""


def sessions_in(folder: Path, project: Path) -> list[Path]:
    """Return the files below ``folder`` of sessions in ``project``, the oldest first; of at most MAX_FILES
    projects.

    Where a session was taken up again by a newer version its older file is left out.
    """
    paths: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            places = [Path(entry) for entry in islice(entries, MAX_FILES) if entry.is_dir()]
    except OSError:
        return []
    for place in places:
        newer = plain_files(place / "chats", ".jsonl")
        older = [
            path for path in plain_files(place / "chats", ".json") if path.with_suffix(".jsonl") not in newer
        ]
        files = [path for path in (*newer, *older) if path.name.startswith(_BEGINS)]
        root = _root_of(place)
        if root is None:
            paths += [path for path in files if _meta_of(path).get("projectHash") == _hash_of(project)]
        elif root.is_relative_to(project):
            paths += files
    return sorted(paths, key=lambda path: path.name)


def _root_of(place: Path) -> Path | None:
    try:
        with (place / _ROOT).open(encoding="utf-8", errors="replace") as file:
            root = file.read(_MAX_ROOT).strip()
    except OSError:
        return None
    return Path(root) if root else None


def _hash_of(project: Path) -> str:
    from hashlib import sha256  # some megabytes of OpenSSL, which an owner need not have

    return sha256(str(project).encode("utf-8", "surrogateescape")).hexdigest()


def id_of(path: Path) -> str:
    """Return the id of the session in ``path``; "" where it is no such file. Raises no error."""
    return str(_meta_of(path).get("sessionId") or "")


def _meta_of(path: Path) -> Json:
    """Return what a file says of its session, with ``sessionId`` and ``projectHash``; {} for no such file."""
    try:
        first = next(_records(path, Counter()), {})
    except OSError:
        return {}
    return first if isinstance(first.get("sessionId"), str) and "projectHash" in first else {}


def told_by(path: Path, odd: Counter[str], seen: MutableSet[str]) -> Iterator[Told]:
    """Yield what hooks would have sent of the session in ``path``, without what was taken back later.

    Args:
        seen: Ids of messages that were read before, in other files too; this file's are added.

    Raises OSError where the file can't be read.
    """
    messages: dict[str, Json] = {}
    for number, record in enumerate(_records(path, odd), start=1):
        _take(messages, record)
        if number % _TICK == 0:
            yield Told(0, "", {})
    cwd = _root_of(path.parent.parent)
    reader = _Reader(str(cwd) if cwd is not None else "")
    for message in messages.values():
        key = f"gemini\0{message['id']}"
        if key not in seen:
            seen.add(key)
            yield from reader.take(message)
    yield from reader.stop()


def _records(path: Path, odd: Counter[str]) -> Iterator[Json]:
    """Yield what holds for the session, then its messages and what changes them."""
    if path.suffix != ".json":
        yield from (record for record in lines_of(path, odd) if record is not None)
        return
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        text = file.read(_MAX_OBJECT + 1)
    try:
        whole = orjson.loads(text) if len(text) <= _MAX_OBJECT else None
    except orjson.JSONDecodeError:
        whole = None
    if not isinstance(whole, dict):
        odd["files"] += 1
        return
    yield {name: value for name, value in whole.items() if name != "messages"}
    yield from _objects(whole.get("messages"))


def _take(messages: dict[str, Json], record: Json) -> None:
    """Bring ``messages`` up to date. That the model's own history was made shorter takes nothing back."""
    back = record.get("$rewindTo")
    if isinstance(back, str):
        ids = list(messages)
        for number in ids[ids.index(back) if back in messages else 0 :]:
            del messages[number]
    elif isinstance(record.get("id"), str) and record.get("type") in ("user", "gemini"):
        messages[record["id"]] = record


class _Reader:
    def __init__(self, cwd: str) -> None:
        self._cwd, self._said, self._at_ms = cwd, "", 0

    def take(self, message: Json) -> Iterator[Told]:
        self._at_ms = milliseconds(message.get("timestamp")) or self._at_ms
        text = _text(message.get("displayContent")) or _text(message.get("content"))
        if message["type"] == "gemini":
            self._said = text or self._said
            for call in _objects(message.get("toolCalls")):
                yield from self._call(call)
        elif text and not text.startswith(_SAYS_ITSELF):
            yield from self.stop()
            yield self._told("UserPromptSubmit", to_claude(EventKind.PROMPT_SUBMIT, {"prompt": text}))

    def stop(self) -> Iterator[Told]:
        """Yield the end of a turn, if something was said in it."""
        if self._said:
            yield self._told("Stop", {"last_assistant_message": self._said})
        self._said = ""

    def _told(self, name: str, body: Json) -> Told:
        return Told(self._at_ms, name, {**({"cwd": self._cwd} if self._cwd else {}), **body})

    def _call(self, call: Json) -> Iterator[Told]:
        if call.get("status") not in _ENDED or not isinstance(call.get("name"), str):
            return
        text, error = _answer(call.get("result"))
        failed = {"error": {"message": error or text}} if call["status"] == "error" else {}
        response = {"llmContent": text, "returnDisplay": call.get("resultDisplay"), **failed}
        called = {"tool_name": call.get("name"), "tool_input": call.get("args"), "tool_response": response}
        body = to_claude(EventKind.POST_TOOL, {"cwd": self._cwd, **called})
        name = body.pop("hook_event_name", "PostToolUse")
        yield self._told(name, {**body, "tool_use_id": str(call.get("id") or "")})


def _answer(result: object) -> tuple[str, str]:
    """Return (what a call gave to the model, the error where it failed)."""
    texts, error = list[str](), ""
    for part in _objects(result):
        answer = part.get("functionResponse")
        answer = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(answer, dict):
            texts.append(str(answer.get("output") or answer.get("content") or ""))
            error = error or str(answer.get("error") or "")
    return "\n".join(filter(None, texts)), error


def _text(content: object) -> str:
    """Return the words of a message's parts."""
    if isinstance(content, str):
        return content.strip()
    parts = [content] if isinstance(content, dict) else content
    texts = (part if isinstance(part, str) else str(part.get("text") or "") for part in _parts(parts))
    return "\n".join(filter(None, texts)).strip()


def _parts(content: object) -> list[Any]:
    return [part for part in content if isinstance(part, (str, dict))] if isinstance(content, list) else []


def _objects(content: object) -> list[Json]:
    return [part for part in _parts(content) if isinstance(part, dict)]
