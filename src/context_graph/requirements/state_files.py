"""Where a branch's state lies, and how it is read and replaced.

The original flattens a branch's name into a file's, so that feature/a and feature-a shared one. Here that
file belongs to the branch that it names inside, and any other branch of the same flat name gets a
file with a hash in its name. So no two branches share a file, and the original finds its own.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import Locked, read_bytes, signature, write_atomic
from context_graph.requirements.state import VERSION, BranchState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from context_graph.requirements.cache import GateCache

__all__ = ["FOLDER", "StateFiles", "read_document"]

FOLDER = "/requirements"
"""Below the common git folder, which all worktrees share."""

_STATE_BYTES = 8 << 20
_MAX_FLAT = 150
_MAX_FILES = 1000


class StateFiles:
    """The state of every branch of one repository."""

    __slots__ = ("_cache", "folder", "project")

    def __init__(self, common_dir: str, project: str, cache: GateCache | None = None) -> None:
        self.folder, self.project, self._cache = common_dir + FOLDER, project, cache

    def load(self, branch: str, now: float) -> BranchState:
        """The branch's state, not to be changed in place; a missing, damaged or foreign file is none."""
        document = self._find(branch)[1]
        return BranchState(branch, document) if document else BranchState.new(branch, self.project, now)

    def change(self, branch: str, now: float, apply: Callable[[BranchState], None]) -> BranchState:
        """Reload, ``apply`` and, if that changed anything, replace the file; all under the branch's lock.

        Raises:
            LockTimeoutError: If others hold the lock for too long.
            OSError: If the state can't be written.
        """
        os.makedirs(self.folder, exist_ok=True)
        flat = _flat(branch)
        with Locked(f"{self.folder}/{flat}.lock"):
            path, document = self._find(branch, fresh=True)
            state = BranchState(branch, document) if document else BranchState.new(branch, self.project, now)
            apply(state)
            if state.changed:
                state.document["updated_at"] = int(now)
                if not document:
                    _keep_aside(path)
                write_atomic(path, plain_json.dumps(state.document).encode())
                if self._cache is not None:
                    self._cache.forget_document(path)
            return state

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
        return found

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
        if self._cache is None or fresh:
            return read_document(path, needle=needle)
        document: dict[str, Any] | None = self._cache.document(path, read_document)
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
        os.replace(path, path + ".unreadable")
