"""The journal of a repository's gates: one JSON line for each refusal, satisfaction and the like.

Append-only and bounded, beside the state. It is written whether or not an owner runs; the owner stores
the same records as events.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import append_line, read_bytes
from context_graph.requirements.state_files import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["LIMIT", "append", "journal_path", "read", "record"]

LIMIT = 1 << 20
"""Bytes after which the journal is set aside as .1; the one before that is dropped."""

_DETAIL = 200
_NAMES = 50


def journal_path(common_dir: str) -> str:
    """The journal's file."""
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
    """One record. ``kind``: denied, blocked, satisfied, carried_over, consumed, cleared, paused, resumed,
    permission_denied, compacted or error."""
    found = {
        "at": round(at, 3),
        "kind": kind,
        "requirements": requirements[:_NAMES],
        "session_id": session_id[:100],
        "branch": branch,
        "tool": tool[:100],
        "by": by,
        "detail": detail[:_DETAIL],
    }
    return {key: value for key, value in found.items() if value or key in ("at", "kind")}


def append(common_dir: str, records: list[dict[str, Any]]) -> None:
    """Append records.

    Raises:
        OSError: If the journal can't be written.
    """
    os.makedirs(common_dir + FOLDER, exist_ok=True)
    for one in records:
        append_line(journal_path(common_dir), plain_json.dumps(one).encode(), limit=LIMIT)


def read(common_dir: str) -> list[dict[str, Any]]:
    """Every record that is kept, oldest first; lines that are none are left out."""
    path, found = journal_path(common_dir), []
    for part in (path + ".1", path):
        try:
            lines = read_bytes(part, 8 * LIMIT).splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            try:
                value = plain_json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                found.append(value)
    return found
