"""Tells who is at the other end of a Unix socket, as the kernel reports it."""

from __future__ import annotations

import socket
import sys

_UCRED_BYTES = 12
"""Linux: struct ucred, three 32-bit numbers: pid, uid, gid."""
# macOS: SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID and the start of struct xucred; Python names none of them.
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
_XUCRED_BYTES = 76
_BY_UCRED: int | None = getattr(socket, "SO_PEERCRED", None)


def peer_uid(connection: socket.socket, by_ucred: int | None = _BY_UCRED) -> int:
    """User id of the process that opened the other end.

    Args:
        by_ucred: The option that gives a struct ucred; None where the system has none, as macOS.

    Raises OSError if the kernel does not say; the connection must then not be trusted.
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
