"""What /proc says of processes: who is alive, whose child somebody is, and whether an agent started us."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["ancestors", "client_pid", "is_alive", "started_by_agent", "started_ticks"]

_MAX_DEPTH = 64
_SHELLS = frozenset(
    (
        *(b"sh", b"bash", b"dash", b"zsh", b"ksh", b"mksh", b"ash", b"fish", b"busybox", b"pwsh", b"env"),
        *(b"timeout", b"nice", b"setsid", b"stdbuf", b"context-graph-c", b"context-graph"),
    )
)
"""What runs hook scripts and wraps commands; names as the kernel keeps them, cut to 15 bytes."""
_AGENT_MARK = b"\0CLAUDECODE="


def _stat(pid: int) -> tuple[bytes, int, int] | None:
    """(name, parent, start time in clock ticks since boot) of a process."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as source:
            data = source.read(1024)
    except OSError:
        return None
    name, _, rest = data.partition(b"(")[2].rpartition(b")")
    fields = rest.split()
    return (name, int(fields[1]), int(fields[19])) if len(fields) > 19 else None


def started_ticks(pid: int) -> int:
    """When the process started, in ticks since boot (0 unknown): tells it from a later one of that pid."""
    found = _stat(pid) if pid > 0 else None
    return found[2] if found else 0


def is_alive(pid: int, ticks: int = 0) -> bool:
    """Whether the process runs; with ``ticks``, whether it is still the same one."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's, so it runs
    found = started_ticks(pid)
    return not ticks or not found or found == ticks


def client_pid(pid: int) -> int:
    """The first process from ``pid`` upwards that is no shell; 0 if that can't be told.

    A hook's parent is the client, or a shell that the client started for the hook's command line and that
    is gone with it: only what is above the shells can tell whether a session is alive.
    """
    for _ in range(_MAX_DEPTH):
        seen = _stat(pid) if pid > 1 else None
        if seen is None:
            return 0
        if seen[0] not in _SHELLS:
            return pid
        pid = seen[1]
    return 0


def ancestors(pid: int) -> list[int]:
    """``pid`` and its ancestors up to, not including, process 1."""
    found: list[int] = []
    while pid > 1 and len(found) < _MAX_DEPTH:
        found.append(pid)
        seen = _stat(pid)
        if seen is None:
            break
        pid = seen[1]
    return found


def started_by_agent(pid: int, env: Mapping[str, str], clients: Collection[int]) -> bool:
    """Whether a client's tool call is behind process ``pid``.

    By its own environment, by that of any ancestor (unsetting a variable does not change the shell's), or
    because an ancestor is a registered client.
    """
    if env.get("CLAUDECODE") or env.get("CLAUDE_CODE_SESSION_ID") or env.get("CLAUDE_CODE_CHILD_SESSION"):
        return True
    line = ancestors(pid)
    return any(other in clients for other in line) or any(_marked(other) for other in line)


def _marked(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as source:
            return _AGENT_MARK in b"\0" + source.read()
    except OSError:
        return False
