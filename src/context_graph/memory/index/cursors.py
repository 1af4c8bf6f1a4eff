"""Writes and reads the cursors of recalls: which place of which ranking the next page begins at."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from struct import Struct
from struct import error as StructError
from typing import Final

from context_graph.errors import InvalidParamsError

MAX_DEPTH: Final = 1000
"""Memories that one query's cursor can reach."""
_CURSOR: Final = Struct("<BIQ8s")
_CURSOR_VERSION: Final = 1


def key_of(query: str, filters: str, recency: float) -> bytes:
    """Return what tells one ranking from another."""
    return blake2b(f"{query}\0{filters}\0{recency!r}".encode(), digest_size=8).digest()


def cursor_of(start: int, watermark: int, key: bytes) -> str:
    """Return the cursor of the place ``start`` in a ranking, as of the commit ``watermark``."""
    return urlsafe_b64encode(_CURSOR.pack(_CURSOR_VERSION, start, watermark, key)).decode()


def read_cursor(cursor: str | None, key: bytes) -> tuple[int, int | None]:
    """Return (place, commit) of a cursor; (0, None) for none. InvalidParamsError for one of another
    ranking."""
    if cursor is None:
        return 0, None
    try:
        version, start, watermark, of = _CURSOR.unpack(urlsafe_b64decode(cursor))
    except (ValueError, TypeError, StructError) as error:
        raise InvalidParamsError.of("cursor", "is not one of recall_memory's next_cursor") from error
    if version != _CURSOR_VERSION or of != key or start > MAX_DEPTH:
        raise InvalidParamsError.of(
            "cursor", "belongs to another query or other filters; repeat those of its page"
        )
    return start, watermark
