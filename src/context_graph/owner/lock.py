"""Makes a process the only owner of a data root: sets up its folders, its lock and its socket's place."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
from pathlib import Path
from typing import Final

from context_graph.config import lock_path, log_dir, socket_path, waker_path
from context_graph.errors import OwnerError
from context_graph.wire import run_folder
from context_graph.wire.build import owner_build

# Exit codes of a refused start, from sysexits.h.
EXIT_CANNOT_CREATE: Final = 73
EXIT_LOCKED: Final = 75
EXIT_NOT_OURS: Final = 77

_PRIVATE: Final = 0o700


class StartRefusedError(OwnerError):
    """The owner can't start here; ``exit_status`` is what its process exits with."""

    code = "start_refused"

    def __init__(self, exit_status: int, message: str) -> None:
        super().__init__(message)
        self.exit_status = exit_status


def prepare_folders(root: Path) -> None:
    """Create what the owner needs under ``root``, private to the user.

    Raises StartRefusedError if the root can't be written, or a folder belongs to someone else.
    """
    try:
        os.makedirs(root, mode=_PRIVATE, exist_ok=True)
        _keep_others_from_writing(root)
        for folder in (lock_path(root).parent, log_dir(root), root / "stores", root / "cache"):
            _make_private(folder)
        sockets = socket_path(root).parent
        if sockets != lock_path(root).parent:
            _make_private(sockets)
    except OSError as error:
        raise StartRefusedError(
            EXIT_CANNOT_CREATE,
            f"data root {root} can't be written: {error.strerror}: {error.filename}; "
            "make it writable or name another with CONTEXT_GRAPH_HOME",
        ) from error


def lock_root(root: Path, handed: int | None) -> int:
    """Return the descriptor that holds the lock of ``root``, close-on-exec, the holder written into its file.

    On ``handed`` the starter took the lock already. StartRefusedError: another process holds it, or the file
    can't be written.
    """
    path = lock_path(root)
    handle = None if handed is None else _verify_handed(handed, path)
    if handle is None:
        try:
            handle = run_folder.take_lock(path)
        except OSError as error:
            raise StartRefusedError(
                EXIT_CANNOT_CREATE, f"lock file {path} can't be opened: {error.strerror}"
            ) from error
    if handle is None:
        holder = run_folder.read_holder(path)
        who = f"pid {holder.pid}, version {holder.version}" if holder else "its pid is not yet known"
        raise StartRefusedError(EXIT_LOCKED, f"an owner ({who}) already serves {root}")
    # A full disk refuses the text, which only informs; the lock itself is not on the disk.
    with contextlib.suppress(OSError):
        run_folder.write_holder(handle, run_folder.Holder(os.getpid(), owner_build()))
    return handle


def bind(root: Path) -> socket.socket:
    """Return the socket of ``root``, non-blocking, mode 0600; nobody can connect before it listens. Call it
    only under the lock.

    Raises StartRefusedError if something that is not a stale socket of ours is in its place.
    """
    return _bound(socket_path(root), socket.SOCK_STREAM)


def bind_waker(root: Path) -> socket.socket:
    """Return the socket on which hooks tell of events, mode 0600. Call and errors are as of `bind`."""
    return _bound(waker_path(root), socket.SOCK_DGRAM)


def _bound(path: Path, kind: socket.SocketKind) -> socket.socket:
    _clear_stale(path)
    listener = socket.socket(socket.AF_UNIX, kind)
    listener.setblocking(False)
    try:
        mask = os.umask(0o177)  # the file must never exist with wider permissions, not even for an instant
        try:
            listener.bind(os.fspath(path))
        finally:
            os.umask(mask)
    except OSError as error:
        listener.close()
        raise StartRefusedError(
            EXIT_CANNOT_CREATE, f"socket {path} can't be bound: {error.strerror}"
        ) from error
    return listener


def _verify_handed(handle: int, path: Path) -> int | None:
    """Return ``handle`` if it is open on the lock file and holds the lock; else None, and it is closed."""
    try:
        os.set_inheritable(handle, False)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if run_folder.same_file(handle, path):
            return handle
    except OSError:
        pass  # it is not open, or another description holds the lock
    with contextlib.suppress(OSError):
        os.close(handle)
    return None


def _keep_others_from_writing(root: Path) -> None:
    """Remove others' write permission: who may write the root could replace our folders."""
    status = os.stat(root)
    mode = stat.S_IMODE(status.st_mode)
    if status.st_uid == os.geteuid() and mode & 0o022:
        os.chmod(root, mode & ~0o022)


def _make_private(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, _PRIVATE)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        kind = "not a folder" if not stat.S_ISDIR(status.st_mode) else f"owned by uid {status.st_uid}"
        raise StartRefusedError(EXIT_NOT_OURS, f"{folder} is {kind}; move it away, or fix its owner")
    if stat.S_IMODE(status.st_mode) != _PRIVATE:
        os.chmod(folder, _PRIVATE)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(folder))


def _clear_stale(path: Path) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise StartRefusedError(EXIT_NOT_OURS, f"{path} is not a socket of ours; move it away")
    # We hold the lock, so the process that bound it is dead or has let go of this root.
    os.unlink(path)
