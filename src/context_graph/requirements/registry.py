"""Which sessions are at work, and in whose process: the client folder's sessions.json (version 1.0).

Keys are full session ids. ``ppid`` is the client's process, ``ticks`` its start time, so that a pid used
again is not taken for it. Order of entries is order of coming, which single_session goes by. ``projects``
has every folder that the session was seen in with its branch, the latest last; ``told`` is what was last
said to it of a configuration that is gone or broken.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import Locked, read_bytes, write_atomic
from context_graph.requirements.processes import is_alive, started_ticks
from context_graph.requirements.session_ids import same_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from context_graph.requirements.cache import GateCache

__all__ = ["Registry"]

VERSION = "1.0"
REFRESH_S = 300.0
"""How old ``last_active`` may grow before a call writes it anew."""

_UNKNOWN_ALIVE_S = 900.0
"""How long a session whose process is unknown counts as alive after its last call."""

_WAIT_S = 0.3
"""A hook that does not get the lock tries again with its next call."""

_BYTES = 4 << 20
_ENTRIES = 500
_FOLDERS = 16


class Registry:
    """The file ``<client folder>/sessions.json``. Damage reads as an empty registry, never as an error."""

    __slots__ = ("_cache", "path")

    def __init__(self, claude_dir: str, cache: GateCache | None = None) -> None:
        self.path, self._cache = claude_dir + "/sessions.json" if claude_dir else "", cache

    def sessions(self) -> dict[str, dict[str, Any]]:
        """Every entry, in order of coming; not to be changed."""
        if self._cache is None or not self.path:
            return _read(self.path) if self.path else {}
        found: dict[str, dict[str, Any]] = self._cache.document(self.path, _read)
        return found

    def live(self, now: float) -> dict[str, dict[str, Any]]:
        """The entries whose client still runs."""
        return {key: entry for key, entry in self.sessions().items() if _lives(entry, now)}

    def clients(self) -> set[int]:
        """Processes of live clients."""
        return {pid for entry in self.sessions().values() if is_alive(pid := _pid(entry), _ticks(entry))}

    def folders(self, session_id: str) -> list[str]:
        """Where the session was seen at work, the latest first."""
        entry = self.sessions().get(session_id, {})
        return (
            list(dict.fromkeys([str(entry.get("project_dir", "")), *reversed(_folders(entry))]))
            if entry
            else []
        )

    def told(self, session_id: str, project: str) -> str:
        """What was last said to the session of that project's configuration; empty if it was in order."""
        return _texts(self.sessions().get(session_id, {}).get("told")).get(project, "")

    def needs(self, session_id: str, project: str, branch: str, now: float) -> bool:
        """Whether ``enter`` would change anything that matters."""
        entry = self.sessions().get(session_id)
        if entry is None or entry.get("project_dir") != project or entry.get("branch") != branch:
            return True
        if not 0 <= now - _number(entry.get("last_active")) <= REFRESH_S:
            return True
        pid = _pid(entry)
        return pid > 0 and not is_alive(pid, _ticks(entry))

    def enter(
        self, session_id: str, *, project: str, branch: str, pid: int, now: float, told: str | None = None
    ) -> None:
        """Write the session down, and drop dead ones and others of the same client process.

        A client has one session at a time. A session that comes back in a new process comes last.

        Args:
            told: What was said to it of the project's configuration, empty where nothing is wrong; None
                leaves that as it is.

        Raises:
            OSError: If the registry can't be written.
        """

        def apply(sessions: dict[str, dict[str, Any]]) -> None:
            old = sessions.get(session_id)
            ticks = started_ticks(pid)
            for key in list(sessions):
                entry = sessions[key]
                same_client = pid > 0 and _pid(entry) == pid and _ticks(entry) in (0, ticks)
                superseded = same_client or same_session(key, session_id)
                if key != session_id and (superseded or not _lives(entry, now)):
                    del sessions[key]
            lives = old is not None and _lives(old, now)
            if not lives:
                sessions.pop(session_id, None)
            began = int(_number(old.get("started_at"))) if lives and old is not None else int(now)
            seen = _folders(old) if old is not None else {}
            seen.pop(project, None)
            seen[project] = branch
            said = _texts(old.get("told")) if old is not None else {}
            if told is not None:
                said[project] = told
            said = {folder: text for folder, text in said.items() if text and folder in seen}
            sessions[session_id] = {
                "pid": os.getpid(),
                "ppid": pid,
                "ticks": ticks,
                "project_dir": project,
                "branch": branch,
                "started_at": began,
                "last_active": int(now),
                "projects": dict(list(seen.items())[-_FOLDERS:]),
                **({"told": said} if said else {}),
            }

        self._change(apply)

    def leave(self, session_id: str) -> None:
        """Remove the session.

        Raises:
            OSError: If the registry can't be written.
        """
        if any(same_session(key, session_id) for key in self.sessions()):
            self._change(
                lambda sessions: [
                    sessions.pop(key) for key in list(sessions) if same_session(key, session_id)
                ]
            )

    def sweep(self, now: float) -> int:
        """Remove the dead. Returns how many.

        Raises:
            OSError: If the registry can't be written.
        """
        dead = [key for key, entry in self.sessions().items() if not _lives(entry, now)]
        if dead:
            self._change(lambda sessions: [sessions.pop(key, None) for key in dead])
        return len(dead)

    def others_in(self, project: str, session_id: str, now: float) -> list[tuple[str, dict[str, Any]]]:
        """Live sessions in the project that came before this one, the first first."""
        earlier = []
        for key, entry in self.sessions().items():
            if same_session(key, session_id):
                break
            if (entry.get("project_dir") == project or project in _folders(entry)) and _lives(entry, now):
                earlier.append((key, entry))
        return earlier

    def _change(self, apply: Callable[[dict[str, dict[str, Any]]], object]) -> None:
        if not self.path:
            return  # without a home there is no place for a registry
        folder = os.path.dirname(self.path)
        os.makedirs(folder, exist_ok=True)
        with Locked(folder + "/sessions.lock", _WAIT_S):
            sessions = dict(_read(self.path))
            apply(sessions)
            while len(sessions) > _ENTRIES:
                del sessions[next(iter(sessions))]
            text = plain_json.dumps({"version": VERSION, "sessions": sessions})
            write_atomic(self.path, text.encode(), sync=False)  # a crash of the machine ends its sessions too
            if self._cache is not None:
                self._cache.forget_document(self.path)


def _read(path: str) -> dict[str, dict[str, Any]]:
    try:
        document = plain_json.loads(read_bytes(path, _BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    sessions = document.get("sessions") if isinstance(document, dict) else None
    if not isinstance(sessions, dict):
        return {}
    return {key: entry for key, entry in sessions.items() if isinstance(entry, dict)}


def _lives(entry: dict[str, Any], now: float) -> bool:
    pid = _pid(entry)
    if pid > 0:
        return is_alive(pid, _ticks(entry))
    return now - _number(entry.get("last_active")) <= _UNKNOWN_ALIVE_S


def _folders(entry: dict[str, Any]) -> dict[str, str]:
    return _texts(entry.get("projects"))


def _texts(found: object) -> dict[str, str]:
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _pid(entry: dict[str, Any]) -> int:
    return int(_number(entry.get("ppid")))


def _ticks(entry: dict[str, Any]) -> int:
    return int(_number(entry.get("ticks")))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -1e15 < value < 1e15:
        return 0
    return value
