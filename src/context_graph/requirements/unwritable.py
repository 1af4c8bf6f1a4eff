"""What a person is told when a file can't be written: which, why, and what helps."""

from __future__ import annotations

import errno

from context_graph.errors import UsageError

__all__ = ["unwritable"]

_CURES = {
    errno.EACCES: "make it writable for you",
    errno.EPERM: "make it writable for you",
    errno.EROFS: "its file system is read-only; work in a copy that can be written",
    errno.ENOSPC: "free some space on its disk",
    errno.EDQUOT: "free some space on its disk",
    errno.ENOTDIR: "a file stands where a folder must be; move it away",
    errno.EEXIST: "a file stands where a folder must be; move it away",
    errno.EISDIR: "a folder stands where a file must be; move it away",
}


def unwritable(what: str, error: OSError, place: str = "") -> UsageError:
    """``what`` did not work because of ``error``; ``place`` is the file where the error names none."""
    where = error.filename or place
    named = f" ({where})" if where and str(where) not in what else ""
    cure = _CURES.get(error.errno or 0, "")
    return UsageError(f"{what}: {error.strerror or error}{named}{'; ' + cure if cure else ''}")
