"""Tells of other processes: from /proc where there is one, else from ps(1), as on macOS; sets our limits.

Each function that tells takes where /proc is, None for a system without; tests ask both ways for the same
process. What neither says is said to be unknown: 0, "" or an OSError, never a guess.
"""

from __future__ import annotations

import os
import resource
import socket
import stat
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

PROC: str | None = "/proc" if os.path.exists("/proc/self/stat") else None
"""Where the kernel shows its processes; None where it does not."""
_PS_S = 2.0
_ENVIRON_BYTES = 1 << 20
_ARGUMENT_BYTES = 64 * 1024
_NAME_BYTES = 15
"""To which Linux cuts the name of a program; those of others are cut alike, so that they compare."""
_DAY_S = 86_400


def exists(pid: int) -> bool:
    """Return whether there is such a process, anybody's."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's, so it runs
    return True


def look(pid: int, proc: str | None = PROC) -> tuple[bytes, int, int] | None:
    """Name, parent and start of a process; None if it is gone, or nothing is known of it.

    The start is in clock ticks since boot, without /proc in Unix seconds: it tells a process from a later one
    of the same id.
    """
    if proc is None:
        words = _ps(pid, "ppid=,lstart=,ucomm=").split(None, 6)
        if len(words) < 7:
            return None
        try:
            started = int(time.mktime(time.strptime(" ".join(words[1:6]), "%a %b %d %H:%M:%S %Y")))
            return os.fsencode(words[6].strip())[:_NAME_BYTES], int(words[0]), started
        except (ValueError, OverflowError):
            return None
    try:
        with open(f"{proc}/{pid}/stat", "rb", buffering=0) as source:
            data = source.read(1024)
    except OSError:
        return None
    name, _, rest = data.partition(b"(")[2].rpartition(b")")
    fields = rest.split()
    return (name, int(fields[1]), int(fields[19])) if len(fields) > 19 else None


def state(pid: int, proc: str | None = PROC) -> str:
    """Return the kernel's letter: R, S, T (stopped), D (waits for a disk), Z; "" if unknown."""
    if proc is None:
        letter = _ps(pid, "stat=").strip()[:1]
        return "D" if letter == "U" else letter
    try:
        with open(f"{proc}/{pid}/stat", "rb", buffering=0) as source:
            return source.read(1024).rpartition(b") ")[2][:1].decode("ascii", "replace")
    except OSError:
        return ""


def arguments(pid: int, proc: str | None = PROC) -> list[str]:
    """Return its command line, empty if unknown. Without /proc words with a space in them come apart."""
    if proc is None:
        return _ps(pid, "args=").split()
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as source:
            return source.read(_ARGUMENT_BYTES).decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def environment(pid: int, proc: str | None = PROC) -> list[bytes]:
    """`NAME=value` of all variables that it was started with.

    Raises OSError if it is gone, not ours, or the system does not tell.
    """
    if proc is None:
        raise OSError(f"this system does not tell the environment of process {pid}")
    with open(f"{proc}/{pid}/environ", "rb") as source:
        return source.read(_ENVIRON_BYTES).split(b"\0")


def working_folder(pid: int, proc: str | None = PROC) -> str:
    """Return where it works. Raises OSError if it is gone, not ours, or the system does not tell."""
    if proc is None:
        raise OSError(f"this system does not tell where process {pid} works")
    return os.readlink(f"{proc}/{pid}/cwd")


def processor_s(pid: int, proc: str | None = PROC) -> float:
    """Return processor seconds that it has used; 0 if that can't be told."""
    try:
        if proc is None:
            return _seconds(_ps(pid, "time=").strip())
        with open(f"{proc}/{pid}/stat", "rb") as source:
            fields = source.read(1024).rpartition(b") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))
    except (OSError, IndexError, ValueError):
        return 0.0


def has_open(pid: int, path: str, program: str, proc: str | None = PROC) -> bool:
    """Return whether process ``pid`` has the file open: ids wrap, and a file may name a process of old.

    Without /proc, whether it is alive and ``program`` stands in its command line.
    """
    if proc is None:
        return exists(pid) and program in " ".join(arguments(pid, None))
    try:
        wanted = os.stat(path)
        names = os.listdir(f"{proc}/{pid}/fd")
    except OSError:
        return False
    for name in names:
        try:
            if os.path.samestat(os.stat(f"{proc}/{pid}/fd/{name}"), wanted):
                return True
        except OSError:
            pass  # closed meanwhile, or nothing that can be looked at
    return False


def flock_holder(path: str, proc: str | None = PROC) -> int:
    """Return the process that took the flock(2) of ``path``, as the kernel has it; 0 if unknown."""
    try:
        inode = f":{os.stat(path).st_ino}"
        with open(f"{proc}/locks", encoding="ascii", errors="replace") as table:
            rows = [line.split() for line in table]
    except OSError:
        return 0
    for words in rows:
        if len(words) > 5 and words[1] == "FLOCK" and words[3] == "WRITE" and words[5].endswith(inode):
            return int(words[4]) if words[4].isdigit() else 0
    return 0


def processors() -> int:
    """Return processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def give_way(oom_score: str) -> str:
    """Run only while nobody else wants to, and leave one processor to others; what could not be had, or "".

    Where the system has no such means, the nice value must do.
    """
    os.nice(19)
    try:
        if hasattr(os, "sched_setscheduler"):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        if hasattr(os, "sched_setaffinity"):
            allowed = sorted(os.sched_getaffinity(0))
            if len(allowed) > 1:
                os.sched_setaffinity(0, allowed[1:])
        if PROC is not None:
            with open(f"{PROC}/self/oom_score_adj", "w", encoding="ascii") as sink:
                sink.write(oom_score)
    except OSError as error:
        return str(error)
    return ""


def allocate(handle: int, size: int) -> None:
    """Give the empty file ``size`` bytes, so that a full disk says so here and not by a signal at a write."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
    elif os.fstat(handle).st_size < size and stat.S_ISREG(os.fstat(handle).st_mode):
        os.pwrite(handle, bytes(size), 0)


def _ps(pid: int, columns: str) -> str:
    """Return what ps says of one process; "" if it is gone."""
    if pid <= 0:
        return ""
    import subprocess

    try:
        done = subprocess.run(
            ["/bin/ps", "-ww", "-o", columns, "-p", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={"LC_ALL": "C", "PATH": "/bin:/usr/bin"},
            timeout=_PS_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stdout).strip("\n")


def _seconds(text: str) -> float:
    """`[days-][[hours:]minutes:]seconds`, as ps writes it."""
    days, _, rest = text.rpartition("-")
    seconds = 0.0
    for part in rest.split(":"):
        seconds = 60.0 * seconds + float(part)
    return seconds + _DAY_S * int(days or 0)


# Which process stands above which

_MAX_DEPTH = 64
_SHELLS = frozenset(
    (
        *(b"sh", b"bash", b"dash", b"zsh", b"ksh", b"mksh", b"ash", b"fish", b"busybox", b"pwsh", b"env"),
        *(b"timeout", b"nice", b"setsid", b"stdbuf", b"context-graph-c", b"context-graph"),
    )
)
"""What runs hook scripts and wraps commands; names as the kernel keeps them, cut to 15 bytes."""


def started_ticks(pid: int) -> int:
    """Return when the process started, ticks since boot, 0 unknown: it tells one from a later one."""
    seen = look(pid) if pid > 0 else None
    return seen[2] if seen else 0


def is_alive(pid: int, ticks: int = 0) -> bool:
    """Return whether the process runs; with ``ticks``, whether it is still the same one."""
    if not exists(pid):
        return False
    started = started_ticks(pid)
    return not ticks or not started or started == ticks


def client_pid(pid: int) -> int:
    """Return the first process from ``pid`` upwards that is no shell; 0 if that can't be told.

    A hook's parent is the client, or a shell that the client started for the hook's command line and that
    is gone with it: only what is above the shells can tell whether a session is alive.
    """
    for _ in range(_MAX_DEPTH):
        seen = look(pid) if pid > 1 else None
        if seen is None:
            return 0
        if seen[0] not in _SHELLS:
            return pid
        pid = seen[1]
    return 0


def ancestors(pid: int) -> list[int]:
    """Return ``pid`` and its ancestors up to, not including, process 1."""
    line: list[int] = []
    while pid > 1 and len(line) < _MAX_DEPTH:
        line.append(pid)
        seen = look(pid)
        if seen is None:
            break
        pid = seen[1]
    return line


_UCRED_BYTES = 12
"""Linux: struct ucred, three 32-bit numbers: pid, uid, gid."""
# macOS: SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID and the start of struct xucred; Python names none of them.
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
_XUCRED_BYTES = 76
_BY_UCRED: int | None = getattr(socket, "SO_PEERCRED", None)


def peer_uid(connection: socket.socket, by_ucred: int | None = _BY_UCRED) -> int:
    """User id of the process that opened the other end.

    ``by_ucred`` is the option that gives a struct ucred; None where the system has none, as macOS. Raises
    OSError if the kernel does not say; the connection must then not be trusted.
    """
    if by_ucred is not None:
        return _number(connection.getsockopt(socket.SOL_SOCKET, by_ucred, _UCRED_BYTES), 4)
    raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_BYTES)
    if _number(raw, 0) != 0:
        raise OSError("the system tells of a peer in a form that is not known")
    return _number(raw, 4)


def peer_pid(connection: socket.socket, by_ucred: int | None = _BY_UCRED) -> int:
    """Process id of the other end, as it was when it connected.

    Raises OSError if the kernel does not say.
    """
    if by_ucred is not None:
        return _number(connection.getsockopt(socket.SOL_SOCKET, by_ucred, _UCRED_BYTES), 0)
    return _number(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4), 0)


def _number(raw: bytes, at: int) -> int:
    if len(raw) < at + 4:
        raise OSError("the system does not say who is at the other end")
    return int.from_bytes(raw[at : at + 4], sys.byteorder)


_MACHINE_IDS: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def machine_id() -> str:
    """Return the system's own id of this machine, else its name."""
    machine = ""
    for path in _MACHINE_IDS:
        with suppress(OSError):
            machine = machine or Path(path).read_text(encoding="ascii", errors="replace").strip()
    return machine or os.uname().nodename


# The limits of this process, and whose are wider


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
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (int(wanted), hard))


def dump_no_core() -> None:
    """Have a crash of this process, or of one that it starts, leave no copy of its memory.

    Not 0: Linux hands a core to the program in core_pattern whatever the limit says, unless that is 1. No
    file is written for either. PR_SET_DUMPABLE would hide the process from its own user's commands as well.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    with suppress(OSError, ValueError):
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
