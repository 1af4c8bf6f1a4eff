"""Changes that came when others held a branch's lock for long: appended here, applied by the next who has it.

Readers see them at once, so nothing is lost and nobody waits. Only changes that mean the same whenever, and
however often, they are applied are kept this way: satisfying, arming, using up.
"""

from __future__ import annotations

import os

from context_graph.requirements import plain_json
from context_graph.requirements.files import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.state import BranchState

__all__ = ["SUFFIX", "append", "apply", "drop", "read", "take"]

SUFFIX = ".pending"
_TAKEN = ".taken"
_BYTES = 4 << 20
_TRIES = 16


def append(path: str, branch: str, notes: list[dict[str, Any]]) -> None:
    """Write the notes down, durably.

    Raises:
        OSError: If they can't be written.
    """
    line = plain_json.dumps({"branch": branch, "notes": notes}).encode() + b"\n"
    for _ in range(_TRIES):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(handle, line)
            os.fsync(handle)
            if _inode(path) == os.fstat(handle).st_ino:
                return
        finally:
            os.close(handle)
        # It was taken while we wrote: perhaps before our line was in it. Twice does no harm.
    raise OSError(f"{path} is taken faster than it can be written")


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return -1


def read(path: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """(branch, notes) of all that waits at ``path``, what is being taken first. Two stat calls at least."""
    found = []
    for part in (path + _TAKEN, path):
        if not os.path.exists(part):
            continue
        try:
            lines = read_bytes(part, _BYTES).splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            try:
                value = plain_json.loads(line)
                found.append((str(value["branch"]), [one for one in value["notes"] if isinstance(one, dict)]))
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # torn by a crash; its writer was not told that it is kept
    return found


def take(path: str) -> bool:
    """Set what waits aside for applying; under the branch's lock. Returns whether there is anything.

    What a killed process had set aside stays first; ``drop`` ends it once the state is written.
    """
    if os.path.exists(path + _TAKEN):
        return True
    try:
        os.rename(path, path + _TAKEN)
    except FileNotFoundError:
        return False
    return True


def drop(path: str) -> None:
    """Forget what was set aside."""
    if os.path.exists(path + _TAKEN):
        os.unlink(path + _TAKEN)


def apply(state: BranchState, waiting: list[tuple[str, list[dict[str, Any]]]]) -> None:
    """Apply the notes for the state's branch."""
    for branch, notes in waiting:
        if branch == state.branch:
            for one in notes:
                try:
                    state.apply(one)
                except (KeyError, TypeError, ValueError, AttributeError):
                    continue  # not one of ours
