"""Reads which sessions are at work, and in which process: from the client folder's sessions.json.

The file is version 1.0. Keys are full session ids. ``ppid`` is the client's process, ``ticks`` its start
time, so that a reused pid is not taken for it. Entries are in order of arrival, which single_session goes by.
``projects`` has every folder that the session was seen in with its branch, the latest last; ``told`` is what
the session was last told of a configuration that is missing or broken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from itertools import takewhile
from typing import Any

from context_graph.gates.rules import GateCache
from context_graph.gates.state.session_ids import same_session
from context_graph.system.processes import ancestors, environment, is_alive, started_ticks
from context_graph.system.small_files import Locked, number, read_object, write_json

_AGENT_MARK = b"CLAUDECODE="


def started_by_agent(pid: int, env: Mapping[str, str], clients: Collection[int]) -> bool:
    """Return whether a client's tool call is behind process ``pid``.

    By its own environment, by that of any ancestor (unsetting a variable does not change the shell's), or
    because an ancestor is a registered client.
    """
    if env.get("CLAUDECODE") or env.get("CLAUDE_CODE_SESSION_ID") or env.get("CLAUDE_CODE_CHILD_SESSION"):
        return True
    line = ancestors(pid)
    return any(other in clients for other in line) or any(_marked(other) for other in line)


def session_above(registry: Registry, pid: int, now: float) -> str:
    """Return the live session whose client is an ancestor of process ``pid``; empty where none is."""
    line = ancestors(pid)
    for session, entry in registry.live(now).items():
        if _pid(entry) in line:
            return session
    return ""


def _marked(pid: int) -> bool:
    try:
        return any(entry.startswith(_AGENT_MARK) for entry in environment(pid))
    except OSError:
        return False


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

    def __init__(self, claude_dir: str, cache: GateCache) -> None:
        self.path, self._cache = claude_dir + "/sessions.json" if claude_dir else "", cache

    def sessions(self) -> dict[str, dict[str, Any]]:
        """Return every entry, in order of coming; not to be changed."""
        return self._cache.document(self.path, _read) if self.path else {}

    def live(self, now: float) -> dict[str, dict[str, Any]]:
        """Return the entries whose client still runs."""
        return {key: entry for key, entry in self.sessions().items() if _lives(entry, now)}

    def clients(self) -> set[int]:
        """Return processes of live clients."""
        return {pid for entry in self.sessions().values() if is_alive(pid := _pid(entry), _ticks(entry))}

    def folders(self, session_id: str) -> list[str]:
        """Return where the session was seen at work, the latest first."""
        entry = self.sessions().get(session_id)
        if not entry:
            return []
        return list(dict.fromkeys([str(entry.get("project_dir", "")), *reversed(_folders(entry))]))

    def last_warning(self, session_id: str, project: str) -> str:
        """Return what the session was last told of that project's configuration; empty if it was in order."""
        return _texts(self.sessions().get(session_id, {}).get("told")).get(project, "")

    def needs(self, session_id: str, project: str, branch: str, now: float) -> bool:
        """Return whether ``enter`` would change anything that matters."""
        entry = self.sessions().get(session_id)
        if entry is None or entry.get("project_dir") != project or entry.get("branch") != branch:
            return True
        if not 0 <= now - number(entry.get("last_active")) <= REFRESH_S:
            return True
        pid = _pid(entry)
        return pid > 0 and not is_alive(pid, _ticks(entry))

    def enter(
        self, session_id: str, *, project: str, branch: str, pid: int, now: float, warning: str | None = None
    ) -> None:
        """Record the session, and drop dead ones and others of the same client process.

        A client has one session at a time. A session that comes back in a new process comes last.

        Args:
            warning: What was said to it of the project's configuration, empty where nothing is wrong; None
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
            began = int(number(old.get("started_at"))) if lives and old is not None else int(now)
            seen = _folders(old) if old is not None else {}
            seen.pop(project, None)
            seen[project] = branch
            warnings = _texts(old.get("told")) if old is not None else {}
            if warning is not None:
                warnings[project] = warning
            warnings = {folder: text for folder, text in warnings.items() if text and folder in seen}
            sessions[session_id] = {
                "pid": os.getpid(),
                "ppid": pid,
                "ticks": ticks,
                "project_dir": project,
                "branch": branch,
                "started_at": began,
                "last_active": int(now),
                "projects": dict(list(seen.items())[-_FOLDERS:]),
                **({"told": warnings} if warnings else {}),
            }

        self._change(apply)

    def leave(self, session_id: str) -> None:
        """Remove the session.

        Raises:
            OSError: If the registry can't be written.
        """
        self._remove([key for key in self.sessions() if same_session(key, session_id)])

    def sweep(self, now: float) -> int:
        """Remove the dead. Returns how many.

        Raises:
            OSError: If the registry can't be written.
        """
        dead = [key for key, entry in self.sessions().items() if not _lives(entry, now)]
        self._remove(dead)
        return len(dead)

    def _remove(self, keys: list[str]) -> None:
        if keys:
            self._change(lambda sessions: [sessions.pop(key, None) for key in keys])

    def others_in(self, project: str, session_id: str, now: float) -> list[str]:
        """Return live sessions in the project that came before this one, the first first."""
        entries = self.sessions().items()
        earlier = takewhile(lambda pair: not same_session(pair[0], session_id), entries)
        return [
            key
            for key, entry in earlier
            if (entry.get("project_dir") == project or project in _folders(entry)) and _lives(entry, now)
        ]

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
            # Not synced: a crash of the machine ends its sessions too.
            write_json(self.path, {"version": VERSION, "sessions": sessions}, sync=False)
            self._cache.forget_document(self.path)


def _read(path: str) -> dict[str, dict[str, Any]]:
    sessions = read_object(path, _BYTES).get("sessions")
    if not isinstance(sessions, dict):
        return {}
    return {key: entry for key, entry in sessions.items() if isinstance(entry, dict)}


def _lives(entry: dict[str, Any], now: float) -> bool:
    pid = _pid(entry)
    if pid > 0:
        return is_alive(pid, _ticks(entry))
    return now - number(entry.get("last_active")) <= _UNKNOWN_ALIVE_S


def _folders(entry: dict[str, Any]) -> dict[str, str]:
    return _texts(entry.get("projects"))


def _texts(value: object) -> dict[str, str]:
    return {str(key): str(value) for key, value in value.items()} if isinstance(value, dict) else {}


def _pid(entry: dict[str, Any]) -> int:
    return int(number(entry.get("ppid")))


def _ticks(entry: dict[str, Any]) -> int:
    return int(number(entry.get("ticks")))
