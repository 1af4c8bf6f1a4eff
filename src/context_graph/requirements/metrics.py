"""What one session did, in numbers: requirements/sessions/<id>.json (seed 004 section 1, version 1.0).

Calls and refusals by tool, and for each requirement how often it held the session back and how long it
took to be met. No files, commands or texts. Best effort: what can't be counted in time is left out, and no
decision reads any of it.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import Locked, read_bytes, write_atomic
from context_graph.requirements.pause import sessions_folder
from context_graph.requirements.session_ids import own_name, safe_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from context_graph.requirements.cache import GateCache

__all__ = ["FLUSHED_AT", "call_ended", "metrics_path", "noted", "session_began", "session_over"]

VERSION = "1.0"
FLUSHED_AT = 20
"""Calls that a long-lived process counts before it writes them down."""

_BYTES = 1 << 20
_TOOLS, _REQUIREMENTS, _SKILLS, _FILES = 100, 200, 50, 200
_WAIT_S = 0.1


def metrics_path(common_dir: str, session_id: str) -> str:
    """The session's file: by the 8 digits that begin its id, by all of it where another session has those."""
    folder = sessions_folder(common_dir)
    path = f"{folder}/{safe_name(session_id)}.json"
    found = _read(path)
    if found and found.get("session_id") != session_id:
        return f"{folder}/{own_name(session_id)}.json"
    return path


def call_ended(common_dir: str, session_id: str, tool: str, now: float, cache: GateCache | None) -> None:
    """Count one call of ``tool`` in a session of which there are numbers: a call alone leaves no trace.

    Cost: one small file in twenty calls, in each without ``cache``.
    """
    if not _has_numbers(common_dir, session_id):
        return
    if cache is None:
        _change(common_dir, session_id, now, lambda found: _count(found, {tool: 1}))
        return
    waiting = cache.counts.setdefault((common_dir, session_id), {})
    waiting[tool] = waiting.get(tool, 0) + 1
    if sum(waiting.values()) >= FLUSHED_AT:
        _change(common_dir, session_id, now, lambda found: None, cache)


def _has_numbers(common_dir: str, session_id: str) -> bool:
    folder = sessions_folder(common_dir)
    return any(os.path.exists(f"{folder}/{name(session_id)}.json") for name in (safe_name, own_name))


def noted(
    common_dir: str, session_id: str, record: dict[str, Any], now: float, cache: GateCache | None = None
) -> None:
    """Count a record of the journal: a refusal, a satisfaction, a compaction."""
    if session_id and record.get("kind") in _COUNTED:
        _change(common_dir, session_id, now, lambda found: _take(found, record, int(now)), cache)


def session_began(common_dir: str, session_id: str, project: str, branch: str, now: float) -> None:
    """The session starts, or goes on, in that project; of many sessions the newest are kept."""

    def begin(found: dict[str, Any]) -> None:
        found.update(project_dir=project, branch=branch, ended_at=None, duration_seconds=None)

    _sweep(sessions_folder(common_dir))
    _change(common_dir, session_id, now, begin)


def session_over(common_dir: str, session_id: str, now: float, cache: GateCache | None) -> None:
    """The session has ended, if anything was counted of it."""

    def end(found: dict[str, Any]) -> None:
        found.update(ended_at=int(now), duration_seconds=max(0, int(now) - int(found["started_at"])))

    if os.path.exists(metrics_path(common_dir, session_id)):
        _change(common_dir, session_id, now, end, cache)


def _change(
    common_dir: str,
    session_id: str,
    now: float,
    apply: Callable[[dict[str, Any]], object],
    cache: GateCache | None = None,
) -> None:
    if not session_id:
        return
    folder = sessions_folder(common_dir)
    try:
        os.makedirs(folder, exist_ok=True)
        with Locked(folder + "/metrics.lock", _WAIT_S):
            path = metrics_path(common_dir, session_id)
            found = _read(path) or _fresh(session_id, now)
            if cache is not None:
                _count(found, cache.counts.pop((common_dir, session_id), {}))
            apply(found)
            write_atomic(path, plain_json.dumps(found).encode(), sync=False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return


def _fresh(session_id: str, now: float) -> dict[str, Any]:
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


def _read(path: str) -> dict[str, Any]:
    try:
        found = plain_json.loads(read_bytes(path, _BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and found.get("version") == VERSION else {}


def _count(found: dict[str, Any], calls: dict[str, int]) -> None:
    for tool, count in calls.items():
        one = _entry(found["tools"], tool[:100], _TOOLS, {"count": 0, "blocked_count": 0})
        one["count"] += count


def _entry(entries: dict[str, Any], name: str, most: int, fresh: dict[str, Any]) -> dict[str, Any]:
    if name not in entries and len(entries) >= most:
        name = "(others)"
    found: dict[str, Any] = entries.setdefault(name, fresh)
    return found


_COUNTED = ("denied", "blocked", "satisfied", "carried_over", "compacted")


def _take(found: dict[str, Any], record: dict[str, Any], now: int) -> None:
    kind = record["kind"]
    if kind == "compacted":
        found["compaction_count"] += 1
    if kind == "denied":
        tool = _entry(found["tools"], record.get("tool", ""), _TOOLS, {"count": 0, "blocked_count": 0})
        tool["blocked_count"] += 1
    if record.get("by") == "skill" and record.get("detail", "") not in found["skills"]:
        found["skills"] = [*found["skills"], record.get("detail", "")][-_SKILLS:]
    for name in record.get("requirements", ()):
        one = _entry(found["requirements"], name, _REQUIREMENTS, {"triggered_at": None, "blocked_count": 0})
        if kind in ("denied", "blocked"):
            one["blocked_count"] += 1
            if one["triggered_at"] is None or one.get("satisfied_at") is not None:
                one.update(triggered_at=now, satisfied_at=None)
        else:
            since = one["triggered_at"]
            one.update(satisfied_at=now, satisfied_by=record.get("by", ""))
            one["time_to_satisfy_seconds"] = None if since is None else max(0, now - since)


def _sweep(folder: str) -> None:
    """Remove what is beyond the newest files of ended sessions; pauses have an end of their own."""
    try:
        paths = [f"{folder}/{name}" for name in os.listdir(folder) if name.endswith((".json", ".calls"))]
        if len(paths) > _FILES:
            for path in sorted(paths, key=lambda path: os.stat(path).st_mtime)[:-_FILES]:
                os.unlink(path)
    except OSError:
        return
