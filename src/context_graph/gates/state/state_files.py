"""Reads and replaces the state of a repository's branches, and its sessions' pause markers.

The original flattens a branch's name into a file name, so that feature/a and feature-a shared one. Here that
file belongs to the branch that it names inside, and any other branch with the same flat name gets a file with
a hash in its name. So no two branches share a file, and the original still finds its own.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from typing import Any

from context_graph.config.paths import fnv1a64
from context_graph.gates.rules import GateCache, Requirement
from context_graph.gates.state.session_ids import safe_name, same_session
from context_graph.gates.state.state import VERSION, BranchState
from context_graph.system.small_files import Locked, read_json, read_object, signature, write_json

FOLDER = "/requirements"
"""Below the common git folder, which all worktrees share."""

_STATE_BYTES = 8 << 20
_MAX_FLAT = 150
_MAX_FILES = 1000


class StateFiles:
    """The state of every branch of one repository."""

    def __init__(self, common_dir: str, project: str, cache: GateCache) -> None:
        self.folder, self.project, self.cache = common_dir + FOLDER, project, cache

    def load(self, branch: str, now: float) -> BranchState:
        """Return the branch's state, not to be changed; a missing, damaged, foreign file is none."""
        return self._state(branch, self._find(branch)[1], now)

    def _state(self, branch: str, document: dict[str, Any] | None, now: float) -> BranchState:
        return BranchState(branch, document) if document else BranchState.new(branch, self.project, now)

    def change(self, branch: str, now: float, apply: Callable[[BranchState], object]) -> None:
        """Reload, ``apply`` and, if that changed anything, replace the file; all under the branch's lock.

        Raises:
            LockTimeoutError: If others hold the lock for longer than LOCK_WAIT_S.
            OSError: If the state can't be written.
        """
        os.makedirs(self.folder, exist_ok=True)
        with Locked(f"{self.folder}/{_flat(branch)}.lock"):
            path, document = self._find(branch, fresh=True)
            state = self._state(branch, document, now)
            apply(state)
            if state.changed:
                state.document["updated_at"] = int(now)
                if not document:
                    _keep_aside(path)
                write_json(path, state.document)
                self.cache.forget_document(path)

    def arm(self, branch: str, entries: Iterable[Requirement], session_id: str, now: float) -> None:
        """Note that a call of the session has triggered the requirements. Errors as `change`."""

        def apply(state: BranchState) -> None:
            for entry in entries:
                state.arm(entry.name, session_id, scope=entry.scope, now=now, type=entry.type)

        self.change(branch, now, apply)

    def use_up(self, branch: str, name: str, session_id: str, at: float) -> bool:
        """Use up the satisfaction that a call at ``at`` had; whether it had one. Errors as `change`."""
        spent = self.load(branch, at).is_spent(name, session_id, at)
        if spent:
            self.change(branch, at, lambda state: state.use(name, session_id, at))
        return spent

    def others(self, session_id: str, branch: str) -> list[BranchState]:
        """Return the states of other branches that mention the session. Cost: a read a file of the folder."""
        states = []
        for path in self.paths():
            document = self._read(path)
            if document and document["branch"] != branch:
                state = BranchState(document["branch"], document)
                if any(state.record(name, session_id) for name in state.names()):
                    states.append(state)
        return states

    def paths(self) -> list[str]:
        """Return every file that may be a branch's state."""
        try:
            names = sorted(os.listdir(self.folder))[:_MAX_FILES]
        except OSError:
            return []
        return [f"{self.folder}/{name}" for name in names if name.endswith(".json") and name[0] != "."]

    def path_of(self, branch: str) -> str:
        """Return the file that holds, or would hold, the branch's state."""
        return self._find(branch)[0]

    def _find(self, branch: str, *, fresh: bool = False) -> tuple[str, dict[str, Any] | None]:
        flat = _flat(branch)
        plain = f"{self.folder}/{flat}.json"
        hashed = f"{self.folder}/{flat}~{fnv1a64(os.fsencode(branch)):016x}.json"
        document = self._read(plain, fresh=fresh)
        if document is None and not os.path.exists(hashed):
            return plain, None
        if document is not None and document["branch"] == branch:
            return plain, document
        document = self._read(hashed, fresh=fresh)
        return hashed, document if document and document["branch"] == branch else None

    def _read(self, path: str, *, fresh: bool = False) -> dict[str, Any] | None:
        return read_document(path) if fresh else self.cache.document(path, read_document)


def read_document(path: str) -> dict[str, Any] | None:
    """Return the state document in ``path``, or None if it holds none of version 1.0."""
    document = read_json(path, _STATE_BYTES)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        return None
    if not isinstance(document.get("branch"), str) or not isinstance(document.get("requirements"), dict):
        return None
    return document


def _flat(branch: str) -> str:
    """Return the original's file name of a branch, without its ending."""
    text = branch.replace("/", "-").replace("\\", "-")
    return "".join(char if char.isalnum() or char in "-_" else "_" for char in text)[:_MAX_FLAT] or "_"


def _keep_aside(path: str) -> None:
    """Keep a file that can't be read as state under another name, once; the path is then free."""
    if signature(path) is not None:
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, "another user's state can't be read", path)
        os.replace(path, path + ".unreadable")


_MARKER_BYTES = 64 * 1024
_STALE_S = 7 * 86400.0


def sessions_folder(common_dir: str) -> str:
    """Return where per-session files lie."""
    return common_dir + FOLDER + "/sessions"


def _marker_path(common_dir: str, session_id: str) -> str:
    # Made of the session's alias or a hash, never of the id as it came; the id inside decides.
    return f"{sessions_folder(common_dir)}/{safe_name(session_id)}.paused"


def paused(common_dir: str, session_id: str) -> dict[str, Any] | None:
    """Return the marker that lifts the gates for this session alone; None if it is not paused.

    A marker without an id was written by the original.
    """
    path = _marker_path(common_dir, session_id)
    if not os.path.isfile(path):
        return None
    marker = read_object(path, _MARKER_BYTES)
    owner = marker.get("session_id")
    return None if isinstance(owner, str) and not same_session(owner, session_id) else marker


def write_pause(common_dir: str, session_id: str, *, reason: str, by: str, now: float) -> None:
    """Write the session's marker; ``by`` is agent or user.

    Raises:
        OSError: If it can't be written.
    """
    os.makedirs(sessions_folder(common_dir), exist_ok=True)
    marker = {"session_id": session_id, "paused_at": int(now), "reason": reason[:500], "by": by}
    write_json(_marker_path(common_dir, session_id), marker)


def end_pause(common_dir: str, session_id: str) -> bool:
    """Remove the session's marker. Returns whether there was one.

    Raises:
        OSError: If it can't be removed.
    """
    if paused(common_dir, session_id) is None:
        return False
    os.unlink(_marker_path(common_dir, session_id))
    return True


def stale_markers(common_dir: str, now: float) -> list[str]:
    """Return markers older than a week, whose sessions are long gone."""
    folder = sessions_folder(common_dir)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".paused")]
        paths = [f"{folder}/{name}" for name in names]
        return [path for path in paths if now - os.stat(path).st_mtime > _STALE_S]
    except OSError:
        return []
