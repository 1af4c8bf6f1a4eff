"""The sessions that the measures of a session's numbers read: the recorded ones, or a user's transcripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from research.fit.drift_data import Session, load_sessions
from research.measures.report import Data

from context_graph.claude.transcripts import AGENT, told_by
from context_graph.model import EventKind
from context_graph.owner.sessions.hook_call import recorded_event
from context_graph.redact import Redactor


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
    redactor = Redactor()
    found: list[Session] = []
    for path in sorted(folder.rglob("*.jsonl")):
        if path.name.startswith(AGENT):
            continue
        told = (one for one in told_by(path) if one.name in _TOLD)
        events = tuple(
            recorded_event(one.name, one.body, path.stem, i, one.at_ms, redactor)
            for i, one in enumerate(told)
        )
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
        told = [one for one in told_by(path) if one.name in _TOLD]
        if any("tool_name" in one.body for one in told):
            found = [{**one.body, "hook_event_name": one.name} for one in told]
            yield "whole transcripts", path.parent.name, found


_TOLD: Final = frozenset({"UserPromptSubmit", "PostToolUse", "PostToolUseFailure"})
"""What the measures read of a transcript: what was asked and what was done."""
