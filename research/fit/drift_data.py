"""The sessions and cases of drift_bench as HookEvents: what score_drift.py and identity.py share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_graph.model import HookEvent
from context_graph.owner.sessions.hook_call import recorded_event
from context_graph.redact import Redactor

__all__ = ["Case", "Session", "hook_event", "load_cases", "load_sessions"]


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
    at: int
    """Index of the first event after the cut."""


def load_sessions(data: Path) -> dict[str, Session]:
    """All sessions of sessions.jsonl by name, as the owner takes them: parsed, flattened, redacted, cut."""
    redactor = Redactor()
    sessions = {}
    for line in (data / "sessions.jsonl").read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        name = raw["id"]
        events = tuple(hook_event(name, i, event, redactor) for i, event in enumerate(raw["events"]))
        sessions[name] = Session(name, raw["project"], raw["split"], events)
    return sessions


def load_cases(data: Path, split: str) -> list[Case]:
    """The cases of cases.jsonl in one split, or in "all"."""
    cases = []
    for line in (data / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        raw = json.loads(line)
        if split in ("all", raw["split"]):
            refs = tuple((name, index) for name, index in raw["refs"])
            cases.append(Case(raw["case"], raw["kind"], raw["split"], refs, raw["at"]))
    return cases


def hook_event(session: str, index: int, raw: dict[str, Any], redactor: Redactor) -> HookEvent:
    body = {**{name: value for name, value in raw.items() if name != "event"}, "cwd": ""}
    if "tool_name" in raw:
        body["tool_use_id"] = f"toolu_{index:06d}"
    at_ms = 1_700_000_000_000 + 10_000 * index
    return recorded_event(raw["event"], body, session, index, at_ms, redactor)
