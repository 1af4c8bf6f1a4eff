"""Reads and writes sockets and the standard streams: every wait is a poll with the rest of a budget.

Twin: ext/launcher/src/sys/stream.rs. Loads no `socket`, `selectors` or `enum`: hooks wait for these imports.
"""

from __future__ import annotations

import _socket  # what `socket` is made of, at a tenth of its price
import errno
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PIPE_UNIT = select.PIPE_BUF
"""What a pipe takes without blocking once it is said to be writable."""
_FIRST_READ = 64 * 1024
READ, WRITE = 1, 4
"""Events of `wait`; POLLIN and POLLOUT where there is a poll(2)."""
END, LIMIT, LATE, FAILED = "end", "limit", "late", "failed"
"""Where reading a stream stopped."""
_TRY_AGAIN = (errno.EAGAIN, errno.EINTR)


class Deadline:
    """A moment on the monotonic clock, ``ms`` milliseconds after ``start`` (seconds; default: now)."""

    __slots__ = ("_at",)

    def __init__(self, ms: float, start: float | None = None) -> None:
        self._at = (time.monotonic() if start is None else start) + ms / 1000.0

    def left_ms(self) -> int:
        """Milliseconds left, rounded up; 0 when it has passed."""
        return max(0, -int((time.monotonic() - self._at) * 1000.0 // 1))


def wait(wanted: Sequence[tuple[int, int]], timeout_ms: int | None) -> list[int]:
    """Wait until one of the descriptors is ready for what is wanted of it; what each is ready for.

    An error or a hang-up counts as all that was wanted: the next read or write will say it. A descriptor that
    is negative or of which nothing is wanted is not watched: its hang-up must not wake us.
    """
    if not hasattr(select, "poll"):  # macOS, where Python finds its poll(2) broken
        return _wait_by_select(wanted, timeout_ms)
    poll = select.poll()
    for handle, events in wanted:
        if handle >= 0 and events:
            poll.register(handle, events)
    came = dict(poll.poll(timeout_ms))
    ready = []
    for handle, events in wanted:
        found = came.get(handle, 0) if events else 0
        ready.append(events if found & ~(READ | WRITE) else events & found)
    return ready


def _wait_by_select(wanted: Sequence[tuple[int, int]], timeout_ms: int | None) -> list[int]:
    reading = [handle for handle, events in wanted if handle >= 0 and events & READ]
    writing = [handle for handle, events in wanted if handle >= 0 and events & WRITE]
    seconds = None if timeout_ms is None else timeout_ms / 1000.0
    readable, writable, _ = select.select(reading, writing, [], seconds)
    return [
        events & ((READ if handle in readable else 0) | (WRITE if handle in writable else 0))
        for handle, events in wanted
    ]


def poll_readable(handle: int, timeout_ms: int) -> bool:
    """Whether a read would not block within ``timeout_ms``: data, end of file or an error."""
    return bool(wait(((handle, READ),), timeout_ms)[0])


def poll_writable(handle: int, timeout_ms: int) -> bool:
    """Whether a write would not block within ``timeout_ms``."""
    return bool(wait(((handle, WRITE),), timeout_ms)[0])


def read_to_end(handle: int, limit: int, deadline: Deadline) -> tuple[bytes, str]:
    """Read to the end, but no longer than until ``deadline``, and little more than ``limit`` bytes."""
    parts: list[bytes] = []
    size = 0
    while size <= limit:
        try:
            if not poll_readable(handle, deadline.left_ms()):
                if deadline.left_ms() == 0:
                    return b"".join(parts), LATE
                continue
            data = os.read(handle, _FIRST_READ)
        except OSError as error:
            if error.errno in _TRY_AGAIN:
                continue
            return b"".join(parts), FAILED
        if not data:
            return b"".join(parts), END
        parts.append(data)
        size += len(data)
    return b"".join(parts), LIMIT


def write_all(handle: int, data: bytes) -> None:
    """Write everything to a standard stream. A reader that is gone is not our failure: errors end it."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(handle, view) :]
        except OSError as error:
            # A non-blocking stdout (some terminals share it): wait a little for its reader.
            if error.errno == errno.EAGAIN and poll_writable(handle, 100):
                continue
            return


def write_some(handle: int, data: bytes) -> int:
    """Write what a descriptor takes without blocking, after ``wait`` has said that it takes some.

    Its mode is left alone: standard output may be shared with processes that expect it to block.
    """
    try:
        connection = _socket.socket(fileno=os.dup(handle))
    except OSError:
        return os.write(handle, data[:_PIPE_UNIT])  # no socket
    try:
        return connection.send(data, _socket.MSG_DONTWAIT)
    finally:
        connection.close()


def above_standard(handle: int) -> int:
    """``handle`` moved above the standard streams, which may be closed here.

    What goes to "stdout" must not end up in a spool or a socket.
    """
    if handle > 2:
        return handle
    import fcntl

    moved = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(handle)
    return moved


def make_private(folder: str) -> None:
    """Make ``folder`` and what is missing above it, for their owner alone.

    Raises OSError.
    """
    try:
        _mkdir(folder)
    except FileNotFoundError:
        make_private(os.path.dirname(folder))
        _mkdir(folder)


def _mkdir(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise


def keep_to_ourselves() -> None:
    """Let no program that is started from here on inherit a descriptor that is not named to it.

    A client may leave descriptors open, and an owner outlives it.
    """
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        names = [str(handle) for handle in range(256)]
    for name in names:
        if name.isdigit() and int(name) > 2:
            try:
                os.set_inheritable(int(name), False)
            except OSError:
                pass  # closed: it was that of the listing


def connect(path: str) -> _socket.socket:
    """Connect to the Unix stream socket at ``path``, non-blocking.

    Raises OSError; EAGAIN if its queue of clients is full (macOS says ECONNREFUSED then).
    """
    made = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    if made.fileno() <= 2:
        made = _socket.socket(fileno=above_standard(made.detach()))
    try:
        made.setblocking(False)
        made.connect(path)
    except BaseException:
        made.close()
        raise
    return made


def as_input(data: bytes) -> int:
    """A descriptor from which a program that is started reads ``data`` to its end, whatever its size.

    An unnamed file in memory; where the system has none, a pipe that a thread fills. Never a file on a disk:
    the data may hold secrets.
    """
    try:
        handle = above_standard(os.memfd_create("event"))
    except (AttributeError, OSError):
        return _filled_pipe(data)
    try:
        _write_whole(handle, data)
        os.lseek(handle, 0, os.SEEK_SET)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _filled_pipe(data: bytes) -> int:
    import threading

    reading, writing = (above_standard(handle) for handle in os.pipe())

    def fill() -> None:
        try:
            _write_whole(writing, data)
        except OSError:
            pass  # its reader has gone: it says itself what came of it
        finally:
            os.close(writing)

    threading.Thread(target=fill, daemon=True).start()
    return reading


def _write_whole(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
