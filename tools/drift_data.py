"""The sessions and cases of drift_bench as HookEvents: what score_drift and fit_identity share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_graph.identity.text import flatten_text
from context_graph.model import EVENT_TEXT_BYTES, EventKind, HookEvent

__all__ = ["Case", "Session", "load_cases", "load_sessions"]

_KINDS = {
    "UserPromptSubmit": EventKind.PROMPT_SUBMIT,
    "PostToolUse": EventKind.POST_TOOL,
    "PostToolUseFailure": EventKind.POST_TOOL_FAILURE,
}


@dataclass(frozen=True, slots=True)
class Session:
    """One recorded session."""

    name: str
    project: str
    split: str
    events: tuple[HookEvent, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Events of one or more sessions in a row; ``refs`` are (session, index)."""

    name: str
    kind: str
    split: str
    refs: tuple[tuple[str, int], ...]


def load_sessions(data: Path) -> dict[str, Session]:
    """All sessions of sessions.jsonl by name, their texts flattened and cut as the owner does it."""
    sessions = {}
    for line in (data / "sessions.jsonl").read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        name = raw["id"]
        events = tuple(_event(name, i, event) for i, event in enumerate(raw["events"]))
        sessions[name] = Session(name, raw["project"], raw["split"], events)
    return sessions


def load_cases(data: Path, split: str) -> list[Case]:
    """The cases of cases.jsonl in one split, or in "all"."""
    cases = []
    for line in (data / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        if split in ("all", raw["split"]):
            refs = tuple((name, index) for name, index in raw["refs"])
            cases.append(Case(raw["case"], raw["kind"], raw["split"], refs))
    return cases


def _event(session: str, index: int, raw: dict[str, Any]) -> HookEvent:
    kind = _KINDS[raw["event"]]
    given = raw.get("prompt") if kind is EventKind.PROMPT_SUBMIT else raw.get("tool_input")
    return HookEvent(
        kind=kind,
        session_id=session,
        event_id=f"{index:032x}",
        at_ms=1_700_000_000_000 + 10_000 * index,
        tool_name=raw.get("tool_name", ""),
        tool_use_id=f"toolu_{index:06d}" if "tool_name" in raw else "",
        input_text=flatten_text(given, EVENT_TEXT_BYTES),
        output_text=flatten_text(raw.get("error", raw.get("tool_response")), EVENT_TEXT_BYTES),
        success=kind is EventKind.POST_TOOL if kind is not EventKind.PROMPT_SUBMIT else None,
    )
