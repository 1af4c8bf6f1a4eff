"""The sessions that the measures of a session's numbers read: the recorded ones, or a user's transcripts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from context_graph.model import EventKind, HookEvent
from context_graph.owner.sessions.hook_call import HookCall
from context_graph.redact import Redactor
from context_graph.wire.frames import Request
from drift_data import Session, load_sessions
from measures.report import Data

AGENT: Final = "agent-"
"""Files of subagents begin so; they lie beside their session's file, or in its folder `subagents`."""

_NOT_RUN: Final = (
    "The user doesn't want to proceed",
    "<tool_use_error>Sibling tool call errored",
    "[Request interrupted",
)
"""What stands in the place of a result where the call never ran: no hook tells of those."""


@cache
def sessions(data: Data) -> tuple[Session, ...]:
    """The dev sessions of drift_dev; else those of the transcripts below the folder, oldest first.

    Empty where there are neither. Either way the events are as the owner takes them: parsed, flattened,
    redacted and cut. There is no SessionStart among them.
    """
    if (data.drift / "sessions.jsonl").is_file():
        return tuple(session for session in load_sessions(data.drift).values() if session.split == "dev")
    return transcripts(data.folder)


def set_of(session: Session) -> str:
    """`swe` or `cc` for a recorded session, `own` for a transcript."""
    return "own" if session.split == "own" else session.name.split(":", 1)[0]


def transcripts(folder: Path) -> tuple[Session, ...]:
    """Claude Code's sessions below ``folder``, in the order of their first events.

    Prompts, tool results and failures; what subagents did is marked with their id. Text that the client put
    in (isMeta, a compaction's summary) is no prompt, and a call that never ran is no failure. A line that is
    not JSON is passed over, and so is a session without a tool result.
    """
    with tempfile.TemporaryDirectory() as cached:
        redactor = Redactor.load(Path(cached))
    found: list[Session] = []
    for path in sorted(folder.rglob("*.jsonl")):
        if path.name.startswith(AGENT):
            continue
        bodies = [body for file in (path, *_agents(path)) for body in _bodies(file)]
        bodies.sort(key=lambda timed: timed[0])
        events = tuple(_event(path.stem, i, *timed, redactor) for i, timed in enumerate(bodies))
        if any(event.kind is not EventKind.PROMPT_SUBMIT for event in events):
            found.append(Session(path.stem, path.parent.name, "own", events))
    return tuple(sorted(found, key=lambda session: session.events[0].at_ms))


def hook_bodies(data: Data) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """(set, project, bodies of its hooks) of each dev session of drift_dev and each whole transcript.

    The bodies are the client's, as raw as it would send them, without session and start.
    """
    recorded = data.drift / "sessions.jsonl"
    for text in recorded.read_text(encoding="utf-8").splitlines() if recorded.is_file() else ():
        raw = json.loads(text)
        if raw["split"] == "dev":
            bodies = [{**event, "hook_event_name": event["event"]} for event in raw["events"]]
            yield raw["set"], raw["project"], bodies
    for path in sorted(data.folder.rglob("*.jsonl")):
        if path.name.startswith(AGENT) or path.parent == data.drift:
            continue
        timed = sorted((body for file in (path, *_agents(path)) for body in _bodies(file)), key=itemgetter(0))
        if any("tool_name" in body for _, _, body in timed):
            found = [{**body, "hook_event_name": name} for _, name, body in timed]
            yield "whole transcripts", path.parent.name, found


def _agents(path: Path) -> list[Path]:
    """The files of the subagents of the session in ``path``."""
    inside = sorted((path.parent / path.stem).rglob(f"{AGENT}*.jsonl"))
    beside = (
        file
        for file in sorted(path.parent.glob(f"{AGENT}*.jsonl"))
        if any(line.get("sessionId") == path.stem for line in _lines(file))
    )
    return [*inside, *beside]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line


def _bodies(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """(Unix ms, name of the hook, its JSON) of all that hooks would have told of one file."""
    calls: dict[str, dict[str, Any]] = {}
    delegated = path.name.startswith(AGENT)
    for line in _lines(path):
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else []
        common = {
            "cwd": str(line.get("cwd") or ""),
            "agent_id": str(line.get("agentId") or path.stem) if delegated else "",
        }
        at_ms = _milliseconds(line.get("timestamp"))
        for block in (block for block in blocks if isinstance(block, dict)):
            if block.get("type") == "tool_use":
                calls[str(block.get("id"))] = {
                    "tool_name": block.get("name"),
                    "tool_input": block.get("input"),
                }
            elif block.get("type") == "tool_result":
                call = calls.pop(str(block.get("tool_use_id")), None)
                told = _result(line, block)
                if call is not None and told is not None:
                    name, result = told
                    ids = {"tool_use_id": str(block["tool_use_id"])}
                    yield at_ms, name, {**common, **call, **ids, **result}
        prompt = "" if delegated else _prompt(line, content)
        if prompt:
            yield at_ms, "UserPromptSubmit", {**common, "prompt": prompt}


def _result(line: dict[str, Any], block: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """(name of the hook, its fields); None for a call that was refused or cancelled."""
    text = _text(block.get("content"))
    if not block.get("is_error"):
        return "PostToolUse", {"tool_response": line.get("toolUseResult") or text}
    return None if text.startswith(_NOT_RUN) else ("PostToolUseFailure", {"error": text})


def _prompt(line: dict[str, Any], content: object) -> str:
    """What somebody typed; "" for everything else."""
    ours = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
    if line.get("type") != "user" or any(line.get(name) for name in ours):
        return ""
    return _text(content)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (block for block in content if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(str(block.get("text") or "") for block in blocks)


def _milliseconds(stamp: object) -> int:
    try:
        return round(datetime.fromisoformat(str(stamp)).timestamp() * 1000)
    except ValueError:
        return 0


_VERBS: Final = {
    "UserPromptSubmit": EventKind.PROMPT_SUBMIT,
    "PostToolUse": EventKind.POST_TOOL,
    "PostToolUseFailure": EventKind.POST_TOOL_FAILURE,
}


def _event(
    session: str, index: int, at_ms: int, name: str, body: dict[str, Any], redactor: Redactor
) -> HookEvent:
    whole = {**body, "hook_event_name": name, "session_id": session}
    verb = f"hooks.{_VERBS[name].value}"
    request = Request(verb, f"{index:032x}", body=json.dumps(whole).encode(), at_ms=at_ms)
    return HookCall.parse(request, redactor).event
