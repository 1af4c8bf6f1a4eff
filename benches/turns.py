"""Turns between two processes that measure the same cases: one works while the other waits.

`benches/beside.py` starts both and passes the turn on. A bench that nobody passes turns to always has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ASKED", "DONE", "GRANTED", "join", "turn"]

ASKED, GRANTED, DONE = b"?", b"!", b"."
_pipes: list[int] = []


def join(pipes: str) -> None:
    """From now on wait for turns: ``pipes`` is READ,WRITE, two open descriptors."""
    _pipes[:] = [int(number) for number in pipes.split(",")]


@contextmanager
def turn() -> Iterator[None]:
    """Work while the other side waits.

    Raises:
        SystemExit: Nobody passes turns any more.
    """
    if not _pipes:
        yield
        return
    reads, writes = _pipes
    os.write(writes, ASKED)
    if os.read(reads, 1) != GRANTED:
        raise SystemExit("nobody passes turns any more")
    try:
        yield
    finally:
        os.write(writes, DONE)
