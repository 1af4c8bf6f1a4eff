"""Questions about many sessions: pages, counts, chains, aliases. Reads only.

All go by the time index (``t:``) and record heads, so a page costs the same in a store of 10,000 sessions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from context_graph.errors import (
    CorruptedIdentityError,
    FormatVersionError,
    InvalidInputError,
    SessionNotFoundError,
)
from context_graph.model import cut_session_id
from context_graph.store import layout, records
from context_graph.store.engine import Engine
from context_graph.store.layout import SESSION_IDENTITY, SNAPSHOT_PREFIX, TIME_PREFIX

__all__ = ["Chain", "SessionRow", "chain", "count", "newest_first", "page", "resolve"]

_ALIAS: Final = re.compile(r"[0-9a-fA-F]{8}")
_CANDIDATES_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session in a listing."""

    session_id: str
    timestamp_ms: int
    previous_session_id: str | None = None
    last_ic: float | None = None
    consciousness: float | None = None
    damaged: str = ""
    """Why its record can't be read; the three fields before are then None."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A session and those it continues, newest first."""

    sessions: tuple[SessionRow, ...]
    end: Literal["start", "missing", "damaged", "cycle", "limit"]
    """Why it ends: at a first session, or at one that is not there, can't be read, was there before, or
    lies beyond the limit."""
    at: str | None = None
    """The id it could not go on with; None at a start."""


def newest_first(engine: Engine) -> Iterator[str]:
    """Session ids by time of their last save; by record where the time index has nothing.

    Ids may be of sessions whose record is missing or damaged.
    """
    indexed = False
    for key, _ in engine.scan(SESSION_IDENTITY, layout.after(TIME_PREFIX), TIME_PREFIX, reverse=True):
        indexed = True
        try:
            yield layout.split_time_key(key)[1]
        except CorruptedIdentityError:
            continue
    if not indexed:
        yield from _by_record(engine)


def page(engine: Engine, limit: int, cursor: str | None) -> tuple[list[SessionRow], str | None]:
    """See SessionStore.list_sessions."""
    if limit < 1:
        raise InvalidInputError(f"limit {limit} must be at least 1")
    start = layout.after(TIME_PREFIX) if cursor is None else _cursor_key(cursor)
    rows: list[SessionRow] = []
    following = ""
    for key, _ in engine.scan(SESSION_IDENTITY, start, TIME_PREFIX, reverse=True):
        if len(rows) == limit:
            return rows, following
        timestamp_ms, session_id = layout.split_time_key(key)
        rows.append(_row(engine, session_id, timestamp_ms))
        following = f"{timestamp_ms:x}.{session_id}"
    return rows, None


def count(engine: Engine) -> int:
    """See SessionStore.count."""
    return sum(1 for _ in engine.scan(SESSION_IDENTITY, TIME_PREFIX, layout.after(TIME_PREFIX)))


def chain(engine: Engine, session_id: str, limit: int) -> Chain:
    """See SessionStore.chain."""
    rows: list[SessionRow] = []
    seen: set[str] = set()
    wanted: str | None = session_id
    while wanted is not None:
        if wanted in seen:
            return Chain(tuple(rows), "cycle", wanted)
        if len(rows) == limit:
            return Chain(tuple(rows), "limit", wanted)
        try:
            head = _head(engine, wanted)
        except (CorruptedIdentityError, FormatVersionError):
            return Chain(tuple(rows), "damaged", wanted)
        if head is None:
            if not rows:
                raise SessionNotFoundError(f"session not found: {wanted!r}")
            return Chain(tuple(rows), "missing", wanted)
        seen.add(wanted)
        rows.append(_row_of(head))
        wanted = head.previous_session_id
    return Chain(tuple(rows), "start")


def resolve(engine: Engine, alias: str) -> str:
    """See SessionStore.resolve_id."""
    if engine.get(SESSION_IDENTITY, layout.snapshot_key(alias)) is not None:
        return cut_session_id(alias)
    found: list[str] = []
    if _ALIAS.fullmatch(alias):
        for prefix in dict.fromkeys((alias, alias.lower(), alias.upper())):
            key = layout.snapshot_key(prefix)
            scan = engine.scan(SESSION_IDENTITY, key, layout.after(key))
            found.extend(key[len(SNAPSHOT_PREFIX) :].decode() for key, _ in scan)
    if not found:
        raise SessionNotFoundError(f"session not found: {alias!r}")
    if len(found) > 1:
        named = ", ".join(found[:_CANDIDATES_NAMED]) + (", …" if len(found) > _CANDIDATES_NAMED else "")
        raise InvalidInputError(f"session id {alias!r} is ambiguous: {named}; give the full id")
    return found[0]


def _head(engine: Engine, session_id: str) -> records.SnapshotHead | None:
    key = layout.snapshot_key(session_id)
    record = engine.get(SESSION_IDENTITY, key)
    return None if record is None else records.decode_head(key, record)


def _row(engine: Engine, session_id: str, timestamp_ms: int) -> SessionRow:
    try:
        head = _head(engine, session_id)
    except (CorruptedIdentityError, FormatVersionError) as error:
        return SessionRow(session_id, timestamp_ms, damaged=str(error))
    if head is None:
        return SessionRow(session_id, timestamp_ms, damaged="it is in the time index, but has no record")
    return _row_of(head)


def _row_of(head: records.SnapshotHead) -> SessionRow:
    return SessionRow(
        head.session_id, head.timestamp_ms, head.previous_session_id, head.last_ic, head.consciousness
    )


def _by_record(engine: Engine) -> list[str]:
    """Session ids newest first, from the records themselves; unreadable ones last."""
    times: list[tuple[int, str]] = []
    for key, record in engine.scan(SESSION_IDENTITY, SNAPSHOT_PREFIX, layout.after(SNAPSHOT_PREFIX)):
        try:
            head = records.decode_head(key, record)
            times.append((head.timestamp_ms, head.session_id))
        except (CorruptedIdentityError, FormatVersionError):
            times.append((-1, key[len(SNAPSHOT_PREFIX) :].decode("utf-8", "replace")))
    return [session_id for _, session_id in sorted(times, reverse=True)]


def _cursor_key(cursor: str) -> bytes:
    time, dot, session_id = cursor.partition(".")
    try:
        if not dot:
            raise ValueError("no dot")
        return layout.time_key(int(time, 16), session_id)
    except (ValueError, InvalidInputError) as error:
        raise InvalidInputError(f"cursor {cursor!r} is none that a listing gave; leave it out") from error
