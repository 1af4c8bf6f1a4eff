"""Reading a column family around blocks that can't be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from context_graph.errors import DatabaseCorruptionError
from context_graph.store.engine import Engine
from context_graph.store.layout import key_text

__all__ = ["Gap", "read_around"]

PROBES: Final = 200
"""Seeks between two damaged blocks in search of readable ones."""
_KEY_WIDTH: Final = 40  # bytes of a key that a search tells apart: prefix, a UUID and two to spare


class Gap(NamedTuple):
    """A stretch of keys with damage in it; both ends were readable, empty is open."""

    low: bytes
    high: bytes
    reason: str

    def text(self) -> str:
        """For people."""
        return f"between {key_text(self.low) or 'the start'} and {key_text(self.high) or 'the end'}"


def read_around(engine: Engine, family: str, gaps: list[Gap]) -> Iterator[tuple[bytes, bytes]]:
    """All records of ``family`` but those in blocks that can't be read; appends to ``gaps`` where that was.

    Upwards to the first damaged block, downwards to the last, then by halves in between. Keys may come twice.
    """
    low, high = b"", b""
    try:
        for key, record in engine.scan(family):
            yield key, record
            low = key
        return
    except DatabaseCorruptionError as error:
        reason = str(error.__cause__ or error)
    try:
        for key, record in engine.scan(family, reverse=True, until=low):
            if key <= low:
                break
            yield key, record
            high = key
    except DatabaseCorruptionError:
        yield from _between(engine, family, low, high)
    gaps.append(Gap(low, high, reason))


def _between(engine: Engine, family: str, low: bytes, high: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Records between two damaged blocks: seek to the middle, read both ways, go on in what is left."""
    gaps = [(low, high)]
    for _ in range(PROBES):
        if not gaps:
            return
        low, high = gaps.pop(0)
        middle = _middle(low, high)
        if middle is None:
            continue
        first, last = middle, middle
        for reverse in (False, True):
            try:
                for key, record in engine.scan(family, middle, low if reverse else high, reverse=reverse):
                    if key <= low:
                        break
                    yield key, record
                    first, last = min(first, key), max(last, key)
            except DatabaseCorruptionError:
                continue
        gaps += [(low, first), (last, high)]


def _middle(low: bytes, high: bytes) -> bytes | None:
    """A key half way between two; None when they are too close to tell."""
    floor = int.from_bytes(low[:_KEY_WIDTH].ljust(_KEY_WIDTH, b"\0"), "big")
    ceiling = int.from_bytes((high or b"\xff" * _KEY_WIDTH)[:_KEY_WIDTH].ljust(_KEY_WIDTH, b"\0"), "big")
    if ceiling - floor < 2:
        return None
    return ((floor + ceiling) // 2).to_bytes(_KEY_WIDTH, "big")
