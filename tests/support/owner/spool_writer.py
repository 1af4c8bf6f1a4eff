"""Writes spool lines as the launcher does: a twin of ext/launcher/src/spool.rs, for tests and benches."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict

from context_graph.errors import MalformedFrameError
from context_graph.owner.sessions.spool import SPOOL_VERSION, SpoolRecord


def encode_record(record: SpoolRecord) -> bytes:
    """The bytes to append, both newlines included.

    Raises:
        MalformedFrameError: If a value has no JSON form.
    """
    value = {"v": SPOOL_VERSION, **asdict(record)}
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        # A path may hold bytes that are not UTF-8; os.fsdecode made lone surrogates of them, which
        # only an escape can carry.
        data = text.encode() if text.isascii() else _utf8(text, value)
    except (TypeError, ValueError, RecursionError) as error:
        raise MalformedFrameError(f"spool record {record.id!r} can't be encoded: {error}") from error
    return b"\n%08x %b\n" % (zlib.crc32(data), data)


def _utf8(text: str, value: object) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
