"""Reads files that others may have put there: a pipe or a device is refused, for it would block."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO


def read_bytes(path: str, limit: int, *, follow: bool = True) -> bytes:
    """Return the whole file. Arguments and errors are `open_regular`'s, and:

    Raises:
        ValueError: If it is larger than ``limit`` bytes.
    """
    with open_regular(path, follow=follow) as source:
        data = source.read(limit + 1)  # a file may grow, and its size may be told wrongly
    if len(data) > limit:
        raise ValueError(f"{path} has more than {limit} bytes; that is the limit")
    return data


def open_regular(path: str, *, follow: bool = True) -> BinaryIO:
    """Return the file, open for reading.

    Args:
        follow: Whether the path itself may be a link.

    Raises:
        OSError: If it can't be opened or read.
        ValueError: If it is no regular file: a pipe would block.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f"{path} is no regular file")
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise
