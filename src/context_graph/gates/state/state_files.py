"""Reads and replaces the state of a repository's branches, and its sessions' pause markers.

The original flattens a branch's name into a file name, so that feature/a and feature-a shared one. Here that
file belongs to the branch that it names inside, and any other branch with the same flat name gets a file with
a hash in its name. So no two branches share a file, and the original still finds its own.

A change made while others hold a branch's lock for long is appended to a file beside the state. Readers see
it at once, and the next holder of the lock applies it, so nothing is lost and nobody waits. Only changes that
mean the same whenever, and however often, they are applied are kept this way: satisfying, arming, using up.
"""

from __future__ import annotations

import copy
import errno
import json
import os
from collections.abc import Callable
from typing import Any

from context_graph.config.paths import fnv1a64
from context_graph.gates.files import (
    LOCK_WAIT_S,
    GateCache,
    Locked,
    LockTimeoutError,
    from_json,
    read_json,
    signature,
    write_json,
)
from context_graph.gates.state.session_ids import safe_name, same_session
from context_graph.gates.state.state import VERSION, BranchState
from context_graph.regular_file import read_bytes

FOLDER = "/requirements"
"""Below the common git folder, which all worktrees share."""

_NOTE_WAIT_S = 0.3
"""How long a change waits that can be left to others."""

_STATE_BYTES = 8 << 20
_MAX_FLAT = 150
_MAX_FILES = 1000


class StateFiles:
    """The state of every branch of one repository."""

    def __init__(self, common_dir: str, project: str, cache: GateCache | None = None) -> None:
        self.folder, self.project, self.cache = common_dir + FOLDER, project, cache

    def load(self, branch: str, now: float) -> BranchState:
        """The branch's state, not to be changed in place; a missing, damaged or foreign file is none."""
        document = self._find(branch)[1]
        waiting = _Pending(self._pending(branch)).read()
        state = self._state(branch, copy.deepcopy(document) if waiting else document, now)
        _apply(state, waiting)
        return state

    def _state(self, branch: str, document: dict[str, Any] | None, now: float) -> BranchState:
        return BranchState(branch, document) if document else BranchState.new(branch, self.project, now)

    def change(
        self, branch: str, now: float, apply: Callable[[BranchState], None], *, wait_s: float = LOCK_WAIT_S
    ) -> None:
        """Reload, ``apply`` and, if that changed anything, replace the file; all under the branch's lock.

        Raises:
            LockTimeoutError: If others hold the lock for longer than ``wait_s``.
            OSError: If the state can't be written.
        """
        os.makedirs(self.folder, exist_ok=True)
        pending = _Pending(self._pending(branch))
        with Locked(f"{self.folder}/{_flat(branch)}.lock", wait_s):
            path, document = self._find(branch, fresh=True)
            state = self._state(branch, document, now)
            late = pending.take()
            if late:
                _apply(state, pending.read())
            apply(state)
            if state.changed:
                state.document["updated_at"] = int(now)
                if not document:
                    _keep_aside(path)
                write_json(path, state.document)
                if self.cache is not None:
                    self.cache.forget_document(path)
            if late:
                pending.drop()

    def note(self, branch: str, now: float, notes: list[dict[str, Any]]) -> None:
        """Apply satisfactions and armings; if the lock takes long, leave them for its holder to apply.

        Raises:
            OSError: If the state can't be written.
        """

        def apply(state: BranchState) -> None:
            for one in notes:
                state.apply(one)

        try:
            self.change(branch, now, apply, wait_s=_NOTE_WAIT_S)
        except LockTimeoutError:
            _Pending(self._pending(branch)).append(branch, notes)

    def forget_pending(self, branch: str) -> None:
        """Drop what waits for the branch; under its lock."""
        pending = _Pending(self._pending(branch))
        while pending.take():
            pending.drop()

    def _pending(self, branch: str) -> str:
        return self._hashed(_flat(branch), branch).removesuffix(".json") + _Pending.SUFFIX

    def others(self, session_id: str, branch: str) -> list[BranchState]:
        """The states of other branches that mention the session.

        Cost: one read a file of the folder; a file without the id is not parsed.
        """
        found = []
        head = session_id[:8]
        needle = head if head.isascii() and head.replace("-", "").isalnum() else ""
        for path in self.paths():
            document = self._read(path, needle=needle)
            if document and document["branch"] != branch:
                found.append(BranchState(document["branch"], document))
        return self._with_pending(found, branch)

    def _with_pending(self, states: list[BranchState], branch: str) -> list[BranchState]:
        """``states`` with the pending changes of branches other than ``branch``; there are rarely any."""
        if not os.path.isdir(self.folder):
            return states
        suffix = _Pending.SUFFIX
        names = {name.partition(suffix)[0] for name in os.listdir(self.folder) if suffix in name}
        waiting = (one for name in names for one in _Pending(f"{self.folder}/{name}{suffix}").read())
        late = {found for found, _ in waiting} - {branch}
        kept = [state for state in states if state.branch not in late]
        return kept + [self.load(found, 0.0) for found in sorted(late)]

    def paths(self) -> list[str]:
        """Every file that may be a branch's state."""
        try:
            names = sorted(os.listdir(self.folder))[:_MAX_FILES]
        except OSError:
            return []
        return [f"{self.folder}/{name}" for name in names if name.endswith(".json") and name[0] != "."]

    def path_of(self, branch: str) -> str:
        """The file that holds, or would hold, the branch's state."""
        return self._find(branch)[0]

    def _find(self, branch: str, *, fresh: bool = False) -> tuple[str, dict[str, Any] | None]:
        flat = _flat(branch)
        plain, hashed = f"{self.folder}/{flat}.json", self._hashed(flat, branch)
        document = self._read(plain, fresh=fresh)
        if document is None and not os.path.exists(hashed):
            return plain, None
        if document is not None and document["branch"] == branch:
            return plain, document
        document = self._read(hashed, fresh=fresh)
        return hashed, document if document and document["branch"] == branch else None

    def _hashed(self, flat: str, branch: str) -> str:
        return f"{self.folder}/{flat}~{fnv1a64(os.fsencode(branch)):016x}.json"

    def _read(self, path: str, *, fresh: bool = False, needle: str = "") -> dict[str, Any] | None:
        if self.cache is None or fresh:
            return read_document(path, needle=needle)
        return self.cache.document(path, read_document)


class _Pending:
    """The file of one branch's changes that wait for the lock."""

    SUFFIX = ".pending"
    _BYTES = 4 << 20
    _TRIES = 16

    def __init__(self, path: str) -> None:
        self.path, self._taken = path, path + ".taken"

    def append(self, branch: str, notes: list[dict[str, Any]]) -> None:
        """Write the notes down, durably.

        Raises:
            OSError: If they can't be written.
        """
        line = json.dumps({"branch": branch, "notes": notes}).encode() + b"\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        for _ in range(self._TRIES):
            handle = os.open(self.path, flags, 0o600)
            try:
                os.write(handle, line)
                os.fsync(handle)
                found = signature(self.path)
                if found is not None and found[3] == os.fstat(handle).st_ino:
                    return
            finally:
                os.close(handle)
            # It was taken while we wrote: perhaps before our line was in it. Twice does no harm.
        raise OSError(f"{self.path} is taken faster than it can be written")

    def read(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """(branch, notes) of all that waits, what is being taken first. Two stat calls at least."""
        found = []
        for part in (self._taken, self.path):
            if not os.path.exists(part):
                continue
            try:
                lines = read_bytes(part, self._BYTES).splitlines()
            except (OSError, ValueError):
                continue
            for line in lines:
                try:
                    value = from_json(line)
                    notes = [one for one in value["notes"] if isinstance(one, dict)]
                    found.append((str(value["branch"]), notes))
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue  # torn by a crash; its writer was not told that it is kept
        return found

    def take(self) -> bool:
        """Set what waits aside for applying; under the branch's lock. Returns whether there is anything.

        What a killed process had set aside stays first; ``drop`` ends it once the state is written.
        """
        if os.path.exists(self._taken):
            return True
        try:
            os.rename(self.path, self._taken)
        except FileNotFoundError:
            return False
        return True

    def drop(self) -> None:
        """Forget what was set aside."""
        if os.path.exists(self._taken):
            os.unlink(self._taken)


def _apply(state: BranchState, waiting: list[tuple[str, list[dict[str, Any]]]]) -> None:
    """Apply the notes for the state's branch."""
    for note in (note for branch, notes in waiting if branch == state.branch for note in notes):
        try:
            state.apply(note)
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # not one of ours


def read_document(path: str, *, needle: str = "") -> dict[str, Any] | None:
    """The state document in ``path``, or None if it holds none of version 1.0 (or lacks ``needle``)."""
    document = read_json(path, _STATE_BYTES, needle=needle)
    if not isinstance(document, dict) or document.get("version") != VERSION:
        return None
    if not isinstance(document.get("branch"), str) or not isinstance(document.get("requirements"), dict):
        return None
    return document


def _flat(branch: str) -> str:
    """The original's file name of a branch, without its ending."""
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
    """Where per-session files lie."""
    return common_dir + FOLDER + "/sessions"


def _marker_path(common_dir: str, session_id: str) -> str:
    # Made of the session's alias or a hash, never of the id as it came; the id inside decides.
    return f"{sessions_folder(common_dir)}/{safe_name(session_id)}.paused"


def paused(common_dir: str, session_id: str) -> dict[str, Any] | None:
    """The marker that lifts the gates for this session alone; None if it is not paused.

    A marker without an id was written by the original.
    """
    path = _marker_path(common_dir, session_id)
    try:
        data = read_bytes(path, _MARKER_BYTES)
    except (OSError, ValueError):
        return None
    try:
        marker = from_json(data)
    except (ValueError, RecursionError):
        marker = None
    marker = marker if isinstance(marker, dict) else {}
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
    """Markers older than a week, whose sessions are long gone."""
    folder = sessions_folder(common_dir)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".paused")]
        paths = [f"{folder}/{name}" for name in names]
        return [path for path in paths if now - os.stat(path).st_mtime > _STALE_S]
    except OSError:
        return []
