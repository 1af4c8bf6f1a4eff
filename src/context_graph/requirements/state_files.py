"""Where a branch's state lies, and how it is read and replaced.

The original flattens a branch's name into a file's, so that feature/a and feature-a shared one. Here that
file belongs to the branch that it names inside, and any other branch of the same flat name gets a
file with a hash in its name. So no two branches share a file, and the original finds its own.
"""

from __future__ import annotations

import errno
import os

from context_graph.requirements import pending, plain_json
from context_graph.requirements.files import (
    LOCK_WAIT_S,
    Locked,
    LockTimeoutError,
    read_bytes,
    signature,
    write_atomic,
)
from context_graph.requirements.state import VERSION, BranchState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from context_graph.requirements.cache import GateCache

__all__ = ["FOLDER", "StateFiles", "read_document"]

FOLDER = "/requirements"
"""Below the common git folder, which all worktrees share."""

_NOTE_WAIT_S = 0.3
"""How long a change waits that can be left to others."""

_STATE_BYTES = 8 << 20
_MAX_FLAT = 150
_MAX_FILES = 1000


class StateFiles:
    """The state of every branch of one repository."""

    __slots__ = ("cache", "folder", "project")

    def __init__(self, common_dir: str, project: str, cache: GateCache | None = None) -> None:
        self.folder, self.project, self.cache = common_dir + FOLDER, project, cache

    def load(self, branch: str, now: float) -> BranchState:
        """The branch's state, not to be changed in place; a missing, damaged or foreign file is none."""
        document = self._find(branch)[1]
        waiting = pending.read(self._pending(branch))
        if waiting and document:
            document = plain_json.loads(plain_json.dumps(document))
        state = BranchState(branch, document) if document else BranchState.new(branch, self.project, now)
        pending.apply(state, waiting)
        return state

    def change(
        self,
        branch: str,
        now: float,
        apply: Callable[[BranchState], None],
        *,
        wait_s: float = LOCK_WAIT_S,
    ) -> None:
        """Reload, ``apply`` and, if that changed anything, replace the file; all under the branch's lock.

        Raises:
            LockTimeoutError: If others hold the lock for longer than ``wait_s``.
            OSError: If the state can't be written.
        """
        os.makedirs(self.folder, exist_ok=True)
        waiting = self._pending(branch)
        with Locked(f"{self.folder}/{_flat(branch)}.lock", wait_s):
            path, document = self._find(branch, fresh=True)
            state = BranchState(branch, document) if document else BranchState.new(branch, self.project, now)
            late = pending.take(waiting)
            if late:
                pending.apply(state, pending.read(waiting))
            apply(state)
            if state.changed:
                state.document["updated_at"] = int(now)
                if not document:
                    _keep_aside(path)
                write_atomic(path, plain_json.dumps(state.document).encode())
                if self.cache is not None:
                    self.cache.forget_document(path)
            if late:
                pending.drop(waiting)

    def note(self, branch: str, now: float, notes: list[dict[str, Any]]) -> None:
        """Apply satisfactions and armings; where the lock is long in coming, leave them for who has it.

        Raises:
            OSError: If the state can't be written.
        """

        def apply(state: BranchState) -> None:
            for one in notes:
                state.apply(one)

        try:
            self.change(branch, now, apply, wait_s=_NOTE_WAIT_S)
        except LockTimeoutError:
            pending.append(self._pending(branch), branch, notes)

    def forget_pending(self, branch: str) -> None:
        """Drop what waits for the branch; under its lock."""
        path = self._pending(branch)
        while pending.take(path):
            pending.drop(path)

    def _pending(self, branch: str) -> str:
        return self._hashed(_flat(branch), branch).removesuffix(".json") + pending.SUFFIX

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
        """``states`` and what waits for other branches than ``branch``; rarely anything does."""
        if not os.path.isdir(self.folder):
            return states
        names = [name for name in os.listdir(self.folder) if pending.SUFFIX in name]
        paths = {f"{self.folder}/{name.partition(pending.SUFFIX)[0]}{pending.SUFFIX}" for name in names}
        late = {found for path in paths for found, _ in pending.read(path)} - {branch}
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
        plain = f"{self.folder}/{flat}.json"
        document = self._read(plain, fresh=fresh)
        if document is None or document["branch"] == branch:
            if document is None and os.path.exists(hashed := self._hashed(flat, branch)):
                return hashed, self._own(hashed, branch, fresh=fresh)
            return plain, document
        hashed = self._hashed(flat, branch)
        return hashed, self._own(hashed, branch, fresh=fresh)

    def _own(self, path: str, branch: str, *, fresh: bool) -> dict[str, Any] | None:
        document = self._read(path, fresh=fresh)
        return document if document and document["branch"] == branch else None

    def _hashed(self, flat: str, branch: str) -> str:
        value = 0xCBF29CE484222325
        for byte in os.fsencode(branch):
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        return f"{self.folder}/{flat}~{value:016x}.json"

    def _read(self, path: str, *, fresh: bool = False, needle: str = "") -> dict[str, Any] | None:
        if self.cache is None or fresh:
            return read_document(path, needle=needle)
        document: dict[str, Any] | None = self.cache.document(path, read_document)
        return document


def read_document(path: str, *, needle: str = "") -> dict[str, Any] | None:
    """The state document in ``path``, or None if it holds none of version 1.0 (or lacks ``needle``)."""
    try:
        data = read_bytes(path, _STATE_BYTES)
        if needle and needle.encode("utf-8", "surrogatepass") not in data:
            return None
        document = plain_json.loads(data)
    except (OSError, ValueError, RecursionError):
        return None
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
    """What can't be read as state is kept beside it, once; then the path is free."""
    if signature(path) is not None:
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, "another user's state can't be read", path)
        os.replace(path, path + ".unreadable")
