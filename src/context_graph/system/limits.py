"""Takes the resource limits that a resident process needs, and tells whose limits are wider."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Mapping
from typing import Final

FILES: Final = 65_536
"""Descriptors: a store keeps some hundred of its tables open, and nobody needs more than this."""
_WIDEST: Final = {
    resource.RLIMIT_NOFILE: (FILES, "open files"),
    resource.RLIMIT_FSIZE: (resource.RLIM_INFINITY, "size of a file"),
    resource.RLIMIT_AS: (resource.RLIM_INFINITY, "memory"),
    resource.RLIMIT_DATA: (resource.RLIM_INFINITY, "data in memory"),
}
_CORE_BYTES: Final = 1


def take_files() -> None:
    """Take as many descriptors as we may have, up to FILES."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _value(soft) < (wanted := min(_value(hard), FILES)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (int(wanted), hard))


def dump_no_core() -> None:
    """Have a crash of this process, or of one that it starts, leave no copy of its memory.

    Not 0: Linux hands a core to the program in core_pattern whatever the limit says, unless that is 1. No
    file is written for either. PR_SET_DUMPABLE would hide the process from its own user's commands as well.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (int(min(_CORE_BYTES, _value(hard))), hard))


def narrow() -> dict[int, float]:
    """By its number each limit of this process that is narrower than it could be."""
    own = {kind: _value(resource.getrlimit(kind)[0]) for kind in _WIDEST}
    return {kind: limit for kind, limit in own.items() if limit < _value(_WIDEST[kind][0])}


def wider(pid: int, own: Mapping[int, float]) -> str:
    """Return what process ``pid``, and so whatever it starts, may use more of than ``own``; "" if of
    nothing.

    Also if the kernel does not tell: it does only on Linux, and only for processes of the same user.
    """
    for kind, limit in own.items():
        try:
            soft, hard = resource.prlimit(pid, kind)
        except (AttributeError, OSError, ValueError):
            return ""
        other = min(_value(hard), FILES) if kind == resource.RLIMIT_NOFILE else _value(soft)
        if other > limit:
            return _WIDEST[kind][1]
    return ""


def _value(limit: int) -> float:
    return float("inf") if limit == resource.RLIM_INFINITY else limit
