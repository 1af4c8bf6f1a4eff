"""Pause markers: one small file a session, whose presence lifts the gates for that session alone.

The name is made of the session's alias or a hash, never of the id as it came; the id inside decides.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import read_bytes, write_atomic
from context_graph.requirements.session_ids import safe_name, same_session
from context_graph.requirements.state_files import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["pause", "paused", "resume", "sessions_folder", "stale_markers"]

_BYTES = 64 * 1024
_STALE_S = 7 * 86400.0


def sessions_folder(common_dir: str) -> str:
    """Where per-session files lie."""
    return common_dir + FOLDER + "/sessions"


def _path(common_dir: str, session_id: str) -> str:
    return f"{sessions_folder(common_dir)}/{safe_name(session_id)}.paused"


def paused(common_dir: str, session_id: str) -> dict[str, Any] | None:
    """The session's marker, None if it is not paused. A marker without an id was written by the original."""
    path = _path(common_dir, session_id)
    try:
        data = read_bytes(path, _BYTES)
    except (OSError, ValueError):
        return None
    try:
        marker = plain_json.loads(data)
    except (ValueError, RecursionError):
        marker = None
    marker = marker if isinstance(marker, dict) else {}
    owner = marker.get("session_id")
    return None if isinstance(owner, str) and not same_session(owner, session_id) else marker


def pause(common_dir: str, session_id: str, *, reason: str, by: str, now: float) -> None:
    """Write the session's marker; ``by`` is agent or user.

    Raises:
        OSError: If it can't be written.
    """
    os.makedirs(sessions_folder(common_dir), exist_ok=True)
    marker = {"session_id": session_id, "paused_at": int(now), "reason": reason[:500], "by": by}
    write_atomic(_path(common_dir, session_id), plain_json.dumps(marker).encode())


def resume(common_dir: str, session_id: str) -> bool:
    """Remove the session's marker. Returns whether there was one.

    Raises:
        OSError: If it can't be removed.
    """
    if paused(common_dir, session_id) is None:
        return False
    os.unlink(_path(common_dir, session_id))
    return True


def stale_markers(common_dir: str, now: float) -> list[str]:
    """Markers older than a week, whose sessions are long gone."""
    folder = sessions_folder(common_dir)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".paused")]
        paths = [f"{folder}/{name}" for name in names]
        return [path for path in paths if now - os.stat(path).st_mtime > _STALE_S]
    except OSError:
        return []
