"""Writes the journal of a repository's gates, and the numbers of each session.

Journal: one JSON line for each refusal, satisfaction and the like; append-only and bounded, beside the
state. It is written whether or not an owner runs; the owner stores the same records as events.

Numbers: requirements/sessions/<id>.json (seed 004 section 1, version 1.0). Calls and refusals by tool, and
for each requirement how often it blocked the session and how long it took to be met. No files, commands or
texts. Best effort: what can't be counted in time is left out, and no decision reads any of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from context_graph.gates.rules import GateCache
from context_graph.gates.state.session_ids import own_name, safe_name
from context_graph.gates.state.state_files import FOLDER, sessions_folder
from context_graph.system.small_files import (
    Locked,
    append_line,
    from_json,
    read_bytes,
    read_object,
    write_json,
)

LIMIT = 1 << 20
"""Bytes after which the journal is set aside as .1; the one before that is dropped."""

_DETAIL = 200
_NAMES = 50


def journal_path(common_dir: str) -> str:
    return common_dir + FOLDER + "/journal.jsonl"


def record(
    kind: str,
    requirements: list[str],
    *,
    at: float,
    session_id: str,
    branch: str = "",
    tool: str = "",
    by: str = "",
    detail: str = "",
) -> dict[str, Any]:
    """Return one record. ``kind``: denied, blocked, satisfied, carried_over, consumed, cleared, paused,
    resumed, permission_denied, compacted or error."""
    fields = {
        "at": round(at, 3),
        "kind": kind,
        "requirements": requirements[:_NAMES],
        "session_id": session_id[:100],
        "branch": branch,
        "tool": tool[:100],
        "by": by,
        "detail": detail[:_DETAIL],
    }
    return {key: value for key, value in fields.items() if value or key in ("at", "kind")}


def append(common_dir: str, records: list[dict[str, Any]]) -> None:
    """Append records.

    Raises:
        OSError: If the journal can't be written.
    """
    os.makedirs(common_dir + FOLDER, exist_ok=True)
    for entry in records:
        append_line(journal_path(common_dir), json.dumps(entry, allow_nan=False).encode(), limit=LIMIT)


def read(common_dir: str) -> list[dict[str, Any]]:
    """Return every record that is kept, oldest first; lines that are none are left out."""
    path, records = journal_path(common_dir), []
    for part in (path + ".1", path):
        try:
            lines = read_bytes(part, 8 * LIMIT).splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            try:
                value = from_json(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                records.append(value)
    return records


VERSION = "1.0"
FLUSHED_AT = 20
"""Calls that a long-lived process counts before it writes them down."""

_BYTES = 1 << 20
_TOOLS, _REQUIREMENTS, _SKILLS, _FILES = 100, 200, 50, 200
_WAIT_S = 0.1


class SessionNumbers:
    """Counts what one session does in one repository, at ``now``. What can't be written is left out.

    Calls are written down twenty at a time; ``cache`` has those that are not yet.
    """

    def __init__(self, common_dir: str, session_id: str, now: float, cache: GateCache) -> None:
        self._folder, self._key = sessions_folder(common_dir), (common_dir, session_id)
        self._session, self._now, self._cache = session_id, now, cache

    def _path(self) -> str:
        """By the 8 digits that begin the id; by all of it where another session has those."""
        path = f"{self._folder}/{safe_name(self._session)}.json"
        metrics = _read_metrics(path)
        if metrics and metrics.get("session_id") != self._session:
            return f"{self._folder}/{own_name(self._session)}.json"
        return path

    def call_ended(self, tool: str) -> None:
        """Count one call of ``tool``, if there are numbers of the session: a call alone leaves no trace."""
        names = (safe_name(self._session), own_name(self._session))
        if not any(os.path.exists(f"{self._folder}/{name}.json") for name in names):
            return
        waiting = self._cache.counts.setdefault(self._key, {})
        waiting[tool] = waiting.get(tool, 0) + 1
        if sum(waiting.values()) >= FLUSHED_AT:
            self._change(lambda metrics: None)

    def noted(self, record: dict[str, Any]) -> None:
        """Count a record of the journal: a refusal, a satisfaction, a compaction."""
        if record.get("kind") in _COUNTED:
            self._change(lambda metrics: _count_record(metrics, record, int(self._now)))

    def began(self, project: str, branch: str) -> None:
        """Record that the session starts or goes on in that project; of many sessions keep the newest."""
        _sweep_metrics(self._folder)
        self._change(
            lambda kept: kept.update(project_dir=project, branch=branch, ended_at=None, duration_seconds=None)
        )

    def over(self) -> None:
        """Record that the session has ended, if anything was counted of it."""
        end = int(self._now)
        if os.path.exists(self._path()):
            self._change(
                lambda kept: kept.update(ended_at=end, duration_seconds=max(0, end - int(kept["started_at"])))
            )

    def _change(self, apply: Callable[[dict[str, Any]], object]) -> None:
        if not self._session:
            return
        try:
            os.makedirs(self._folder, exist_ok=True)
            with Locked(self._folder + "/metrics.lock", _WAIT_S):
                path = self._path()
                metrics = _read_metrics(path) or _fresh_metrics(self._session, self._now)
                _count(metrics, self._cache.counts.pop(self._key, {}))
                apply(metrics)
                write_json(path, metrics, sync=False)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return


def _fresh_metrics(session_id: str, now: float) -> dict[str, Any]:
    return {
        "version": VERSION,
        "session_id": session_id,
        "project_dir": "",
        "branch": "",
        "started_at": int(now),
        "ended_at": None,
        "duration_seconds": None,
        "compaction_count": 0,
        "tools": {},
        "requirements": {},
        "skills": [],
    }


def _read_metrics(path: str) -> dict[str, Any]:
    metrics = read_object(path, _BYTES)
    return metrics if metrics.get("version") == VERSION else {}


def _count(metrics: dict[str, Any], calls: dict[str, int]) -> None:
    for tool, count in calls.items():
        entry = _entry(metrics["tools"], tool[:100], _TOOLS, {"count": 0, "blocked_count": 0})
        entry["count"] += count


def _entry(entries: dict[str, Any], name: str, most: int, fresh: dict[str, Any]) -> dict[str, Any]:
    if name not in entries and len(entries) >= most:
        name = "(others)"
    entry: dict[str, Any] = entries.setdefault(name, fresh)
    return entry


_COUNTED = ("denied", "blocked", "satisfied", "carried_over", "compacted")


def _count_record(metrics: dict[str, Any], record: dict[str, Any], now: int) -> None:
    kind = record["kind"]
    if kind == "compacted":
        metrics["compaction_count"] += 1
    if kind == "denied":
        tool = _entry(metrics["tools"], record.get("tool", ""), _TOOLS, {"count": 0, "blocked_count": 0})
        tool["blocked_count"] += 1
    if record.get("by") == "skill" and record.get("detail", "") not in metrics["skills"]:
        metrics["skills"] = [*metrics["skills"], record.get("detail", "")][-_SKILLS:]
    for name in record.get("requirements", ()):
        entry = _entry(
            metrics["requirements"], name, _REQUIREMENTS, {"triggered_at": None, "blocked_count": 0}
        )
        if kind in ("denied", "blocked"):
            entry["blocked_count"] += 1
            if entry["triggered_at"] is None or entry.get("satisfied_at") is not None:
                entry.update(triggered_at=now, satisfied_at=None)
        else:
            since = entry["triggered_at"]
            entry.update(satisfied_at=now, satisfied_by=record.get("by", ""))
            entry["time_to_satisfy_seconds"] = None if since is None else max(0, now - since)


def _sweep_metrics(folder: str) -> None:
    """Remove what is beyond the newest files of ended sessions; pauses have an end of their own."""
    try:
        paths = [
            f"{folder}/{name}" for name in os.listdir(folder) if name.endswith((".json", ".now", ".tree"))
        ]
        if len(paths) > _FILES:
            for path in sorted(paths, key=lambda path: os.stat(path).st_mtime)[:-_FILES]:
                os.unlink(path)
    except OSError:
        return
