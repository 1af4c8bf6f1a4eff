"""Connects to the owner's socket, sends one frame, reads one."""

from __future__ import annotations

import os
import socket
import stat
import time
from pathlib import Path
from typing import Final

from context_graph.config import socket_path
from context_graph.errors import DeadlineExceededError, OwnerUnavailableError
from context_graph.system.processes import peer_uid
from context_graph.wire.frames import FrameDecoder, Reply, decode_reply, reply_length

_RECV_BYTES: Final = 256 * 1024


def time_left(end: float) -> float:
    """Return seconds until the monotonic time ``end``; never 0, which a socket takes for non-blocking."""
    return max(end - time.monotonic(), 0.001)


def connect(root: Path, end: float) -> socket.socket | None:
    """Return a connection to the owner of ``root``, or None if nothing listens there.

    Raises OwnerUnavailableError if what is there is another user's or can't be used, DeadlineExceededError if
    the owner accepts nobody until the monotonic time ``end``.
    """
    path = socket_path(root)
    try:
        folder = os.lstat(path.parent)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OwnerUnavailableError(f"{path.parent} can't be checked: {error.strerror}") from error
    # Where the root's path is too long the socket is in /tmp, and anyone may have been there first.
    if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.geteuid():
        raise OwnerUnavailableError(f"{path.parent} is not a folder of yours; move it away")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _connect(connection, path, end)
        if peer_uid(connection) != os.geteuid():
            raise OwnerUnavailableError(f"{path} is served by another user; move it away")
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        if isinstance(error, TimeoutError):
            raise DeadlineExceededError(f"the owner at {path} did not accept a connection in time") from error
        raise OwnerUnavailableError(f"{path} can't be used: {error.strerror}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(connection: socket.socket, path: Path, end: float) -> None:
    while True:
        try:
            connection.settimeout(time_left(end))
            connection.connect(os.fspath(path))
            return
        except BlockingIOError:
            # Linux says this, whatever the timeout, while the queue of the listener is full.
            if time.monotonic() >= end:
                raise TimeoutError from None
            time.sleep(0.005)


def exchange(connection: socket.socket, frame: bytes, end: float) -> Reply:
    """Send ``frame``, read one reply until the monotonic time ``end``. The connection may be used again.

    ConnectionError: the owner closed it before the whole reply was there. DeadlineExceededError: ``end`` came
    first. MalformedFrameError, FrameTooLargeError: what came is no reply.
    """
    decoder = FrameDecoder(reply_length)
    broken: OSError | None = None
    try:
        connection.settimeout(time_left(end))
        try:
            connection.sendall(frame)
        except (BrokenPipeError, ConnectionResetError) as error:
            broken = error  # refused in mid-frame; the reply that says why may be waiting
        while (payload := decoder.take()) is None:
            connection.settimeout(time_left(end))
            data = connection.recv(min(_RECV_BYTES, decoder.wanted))  # what may follow is not ours to read
            if not data:
                raise broken or ConnectionResetError("it closed the connection without a reply")
            decoder.feed(data)
    except TimeoutError as error:
        raise DeadlineExceededError("the owner did not answer in time; its log may say why") from error
    return decode_reply(payload)
