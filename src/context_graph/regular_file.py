"""Reads files that others may have put there: a pipe or a device is refused, for it would block."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO


def read_bytes(path: str, limit: int) -> bytes:
    """The whole file.

    Raises:
        OSError: If it can't be read.
        ValueError: If it is no regular file (a pipe would block), or larger than ``limit`` bytes.
    """
    with open_regular(path) as source:
        size = os.fstat(source.fileno()).st_size
        if size > limit:
            raise ValueError(f"{path} has {size} bytes; the limit is {limit}")
        return source.read()


def open_regular(path: str) -> BinaryIO:
    """The file, open for reading.

    Raises:
        OSError: If it can't be opened.
        ValueError: If it is no regular file: a pipe would block.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f"{path} is no regular file")
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise
