"""Notes an owner in trouble for the next hook. Twin of ext/launcher/src/trouble.rs.

`run/owner.silent`: an owner did not answer in time. For some seconds nobody else waits for it; then one tries
again. The owner removes it as soon as it answers. `run/told-…`: a session's user has been told of a trouble.
"""

from __future__ import annotations

import os
import time

from context_graph.config.places import fnv1a64
from context_graph.system.streams import make_private

_REMEMBERED_S = 10
"""How long an owner that was silent once is not asked again."""
NOTHING, BEFORE, JUST_NOW = "nothing", "before", "just now"
"""What is known of the owner's silence: nothing speaks against asking; it was silent some time ago, and
whoever asks now is the one to try; it was silent a moment ago."""
_SAFE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


class Silence:
    """The memory of an owner that does not answer."""

    def __init__(self, root: str) -> None:
        self._path = f"{root}/run/owner.silent"

    def heard(self) -> str:
        """One look at a file that is there only in trouble. A time ahead of the clock says nothing."""
        try:
            age_s = int(time.time()) - int(os.lstat(self._path).st_mtime)
        except OSError:
            return NOTHING
        return JUST_NOW if -1 <= age_s < _REMEMBERED_S else BEFORE

    def note(self) -> None:
        """It did not answer, or is being tried: the others do not wait for it. One write, of one byte."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | _SAFE, 0o600)
        except OSError:
            return
        try:
            os.write(handle, b"1")
        except OSError:
            pass  # the disk is full: the next hook waits as this one did
        finally:
            os.close(handle)

    def forget(self) -> None:
        """It has answered."""
        try:
            os.unlink(self._path)
        except OSError:
            pass  # somebody else has done it


def first_to_tell(root: str, what: str, session: str, anyway: bool) -> bool:
    """Whether this caller is the one to tell the user of ``what``, once a session.

    Where no file can be made to remember it by, ``anyway``.
    """
    name = fnv1a64(session.encode("utf-8", "surrogatepass"))
    mark = f"{root}/run/told-{what}-{name:016x}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE
    try:
        try:
            os.close(os.open(mark, flags, 0o600))
        except FileNotFoundError:
            make_private(os.path.dirname(mark))
            os.close(os.open(mark, flags, 0o600))
    except FileExistsError:
        return False
    except OSError:
        return anyway
    return True
