"""Identifies the process at the other end of a Unix socket, as the kernel reports it."""

from __future__ import annotations

import socket
import struct
from typing import Final

_UCRED: Final = struct.Struct("iII")
# macOS: SOL_LOCAL, LOCAL_PEERCRED and the start of struct xucred; Python names none of them.
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1
_XUCRED: Final = struct.Struct("II")


def peer_uid(connection: socket.socket) -> int:
    """User id of the process that opened the other end.

    Raises:
        OSError: If the kernel does not say; the connection must then not be trusted.
    """
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is not None:
        raw = connection.getsockopt(socket.SOL_SOCKET, option, _UCRED.size)
        return int(_UCRED.unpack(raw)[1])
    raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 128)
    return int(_XUCRED.unpack_from(raw)[1])


def peer_pid(connection: socket.socket) -> int:
    """Process id of the other end, as it was when it connected.

    Raises:
        OSError: If the kernel does not say.
    """
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        raise OSError("this system does not say which process connected")
    return int(_UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _UCRED.size))[0])
