"""Saves, loads and lists sessions in one store: snapshots and the live state beside them.

Every save is one atomic batch, so a reader after any crash sees a session wholly before or wholly after an
event (REQ-SESSION-05, invariants 5 to 7). Keys are in `layout`, records in `records`, events
and queued requests in `event_log`, export and import in `transfer`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

from context_graph.errors import (
    CorruptedIdentityError,
    FormatVersionError,
    InvalidInputError,
    SessionNotFoundError,
)
from context_graph.model import HookEvent, SessionIdentitySnapshot, cut_session_id
from context_graph.store import layout
from context_graph.store.engine.batches import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.tuning import DEFAULT_TUNING, Tuning
from context_graph.store.layout import LATEST, RUNTIME, SESSION_IDENTITY, SNAPSHOT_PREFIX, TIME_PREFIX, after
from context_graph.store.schema import open_database
from context_graph.store.sessions import records, transfer
from context_graph.store.sessions.event_log import ConsolidationQueue, EventLog, RequirementLog
from context_graph.store.sessions.records import Content, SessionRow

EVIDENCE_KEPT: Final = 50
_ALIAS: Final = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{3,34}")
_CANDIDATES_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class Chain:
    """A session and those it continues, newest first."""

    sessions: tuple[SessionRow, ...]
    end: Literal["start", "missing", "damaged", "cycle", "limit"]
    """Why it ends: at a first session, or at one that is not there, can't be read, was there before, or
    lies beyond the limit."""
    at: str | None = None
    """The id it could not go on with; None at a start."""


class SessionStore:
    """The sessions of one database. Not thread-safe: one owner serves one request at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.event_log = EventLog(engine)
        self.dream_queue = ConsolidationQueue(engine)
        self.requirement_log = RequirementLog(engine)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: bool = True,
        read_only: bool = False,
        tuning: Tuning = DEFAULT_TUNING,
    ) -> SessionStore:
        """Open the database folder ``path``; arguments and errors as Engine.open."""
        return cls(open_database(path, create=create, read_only=read_only, tuning=tuning))

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def engine(self) -> Engine:
        """The database, for the other parts of the store."""
        return self._engine

    @property
    def path(self) -> Path:
        """The database's folder, absolute."""
        return self._engine.path

    def close(self) -> None:
        """Close the database. Safe to call twice; every other call then raises StoreClosedError."""
        self._engine.close()

    # Snapshots

    def save_snapshot(
        self, snapshot: SessionIdentitySnapshot, *, evidence: Sequence[records.Evidence] | None = None
    ) -> None:
        """Store ``snapshot`` (and its evidence) and make it the latest (REQ-SESSION-05, REQ-HOOKS-24).

        Raises:
            InvalidInputError: A value that is not finite or does not fit, named.
            CorruptedIdentityError: The session's stored record is damaged; it is not overwritten.
            StoreError: The write failed; nothing of it is stored.
        """
        batch = self._engine.batch()
        self._put_snapshot(batch, snapshot)
        if evidence is not None:
            key = layout.evidence_key(snapshot.session_id)
            batch.put(RUNTIME, key, records.encode_evidence(key, evidence[-EVIDENCE_KEPT:]))
        self._engine.write(batch)

    def load_snapshot(self, session_id: str | None = None) -> SessionIdentitySnapshot:
        """Return the snapshot of ``session_id`` (its first 100 characters), or the latest for None.

        Raises:
            SessionNotFoundError: There is none.
            CorruptedIdentityError: It can't be read back; names session, fault and cure.
            FormatVersionError: It was written by another version.
        """
        if session_id is not None:
            snapshot = self._snapshot(session_id)
            if snapshot is None:
                raise SessionNotFoundError.of(session_id)
            return snapshot
        latest = self.load_latest()
        if latest is None:
            raise SessionNotFoundError("no session in this store yet")
        return latest

    def load_latest(self) -> SessionIdentitySnapshot | None:
        """Return the snapshot saved last; None in an empty store.

        A pointer that is missing or names no session is worked out anew from the time index, newest first,
        skipping records that can't be read, and repaired. Raises CorruptedIdentityError: The record behind
        the pointer is damaged, or every record is.
        """
        pointer = self._engine.get(SESSION_IDENTITY, LATEST)
        if pointer is not None:
            snapshot = self._snapshot(pointer.decode("utf-8", "replace"))
            if snapshot is not None:
                return snapshot
        return self._recover()

    def _read(self, family: str, key: bytes, decode: Callable[[bytes, bytes], Content]) -> Content | None:
        record = self._engine.get(family, key)
        return None if record is None else decode(key, record)

    def _snapshot(self, session_id: str) -> SessionIdentitySnapshot | None:
        return self._read(SESSION_IDENTITY, layout.snapshot_key(session_id), records.decode_snapshot)

    def _recover(self) -> SessionIdentitySnapshot | None:
        unreadable: CorruptedIdentityError | FormatVersionError | None = None
        for session_id in newest_first(self._engine):
            try:
                snapshot = self._snapshot(session_id)
            except (CorruptedIdentityError, FormatVersionError) as error:
                unreadable = unreadable or error
                continue
            if snapshot is not None:
                if not self._engine.read_only:
                    self._engine.put(SESSION_IDENTITY, LATEST, layout.id_bytes(session_id))
                return snapshot
        if unreadable is not None:
            raise unreadable
        return None

    def _put_snapshot(self, batch: Batch, snapshot: SessionIdentitySnapshot, *, latest: bool = True) -> None:
        """Into ``batch``: the record, pointer, time index and chain index, less the session's old entries."""
        session_id = snapshot.session_id
        key, own = layout.snapshot_key(session_id), layout.id_bytes(session_id)
        record = records.encode_snapshot(snapshot)
        stored = self._engine.get(SESSION_IDENTITY, key)
        if stored is not None:
            old = records.decode_row(key, stored)
            if old.timestamp_ms != snapshot.timestamp_ms:
                batch.delete(SESSION_IDENTITY, layout.time_key(old.timestamp_ms, session_id))
            if old.previous_session_id and old.previous_session_id != snapshot.previous_session_id:
                link = layout.previous_key(old.previous_session_id)
                if self._engine.get(SESSION_IDENTITY, link) == own:
                    batch.delete(SESSION_IDENTITY, link)
        batch.put(SESSION_IDENTITY, key, record)
        batch.put(SESSION_IDENTITY, layout.time_key(snapshot.timestamp_ms, session_id), own)
        if snapshot.previous_session_id:
            batch.put(SESSION_IDENTITY, layout.previous_key(snapshot.previous_session_id), own)
        if latest:
            batch.put(SESSION_IDENTITY, LATEST, own)

    # Events and the live state

    def commit_event(
        self,
        snapshot: SessionIdentitySnapshot,
        *,
        event: HookEvent,
        seq: int,
        dedupe_key: str,
        runtime: bytes | None = None,
        goals: tuple[int, bytes] | None = None,
    ) -> None:
        """Write all that one event changes as one atomic batch; durable on return (invariants 5 and 6).

        Args:
            snapshot: The session after the event; all keys are its session's.
            event: The event, redacted.
            seq: Its number in the session, counted from 1.
            dedupe_key: What `EventLog.is_applied` then answers True for.
            runtime: The live state after the event; None leaves the stored one.
            goals: A goal checkpoint, behind the number of the event that it was taken after.

        Raises as save_snapshot; nothing of the event is stored then.
        """
        batch = self._engine.batch()
        self.event_log.put(batch, snapshot.session_id, event, seq, dedupe_key)
        self._put_state(batch, snapshot, runtime, goals)
        self._engine.write(batch)

    def save_state(
        self,
        snapshot: SessionIdentitySnapshot,
        *,
        runtime: bytes,
        goals: tuple[int, bytes] | None = None,
        dream: Mapping[str, object] | None = None,
        work: bytes = b"",
    ) -> None:
        """Write the session after appended events, as one atomic batch; arguments as commit_event's, a
        consolidation request to queue, and what its work was about, for `works` (b"" leaves what is stored).
        """
        batch = self._engine.batch()
        self._put_state(batch, snapshot, runtime, goals)
        if dream is not None:
            self.dream_queue.put(batch, dream)
        if work:
            key = layout.work_key(snapshot.session_id)
            batch.put(RUNTIME, key, records.encode_opaque(key, work))
        self._engine.write(batch)

    def _put_state(
        self,
        batch: Batch,
        snapshot: SessionIdentitySnapshot,
        runtime: bytes | None,
        goals: tuple[int, bytes] | None,
    ) -> None:
        self._put_snapshot(batch, snapshot)
        if runtime is not None:
            key = layout.runtime_key(snapshot.session_id)
            batch.put(RUNTIME, key, records.encode_opaque(key, runtime))
        if goals is not None:
            key = layout.goals_key(snapshot.session_id)
            batch.put(RUNTIME, key, records.encode_goals(key, *goals))

    def put_runtime(self, session_id: str, runtime: bytes) -> None:
        """Store the session's live state alone."""
        key = layout.runtime_key(session_id)
        self._engine.put(RUNTIME, key, records.encode_opaque(key, runtime))

    def load_runtime(self, session_id: str) -> bytes | None:
        """Return the session's live state, None if it has none. Raises CorruptedIdentityError if damaged."""
        return self._read(RUNTIME, layout.runtime_key(session_id), records.decode_opaque)

    def save_goals(self, session_id: str, seq: int, goals: bytes) -> None:
        """Store a goal checkpoint taken after event ``seq``."""
        key = layout.goals_key(session_id)
        self._engine.put(RUNTIME, key, records.encode_goals(key, seq, goals))

    def load_goals(self, session_id: str) -> tuple[int, bytes] | None:
        """Return (seq, goals) of the session's checkpoint. Raises CorruptedIdentityError if damaged."""
        return self._read(RUNTIME, layout.goals_key(session_id), records.decode_goals)

    def works(self) -> Iterator[tuple[str, bytes]]:
        """Yield (session id, what its work was about) of each that has it; damaged ones are left out."""
        for key, record in self._engine.scan(RUNTIME, layout.WORK_PREFIX, after(layout.WORK_PREFIX)):
            with suppress(CorruptedIdentityError):
                yield key[len(layout.WORK_PREFIX) :].decode(), records.decode_opaque(key, record)

    def save_compactions(self, session_id: str, compactions: Sequence[Mapping[str, object]]) -> None:
        """Replace what is known of the session's compactions, oldest first."""
        key = layout.compactions_key(session_id)
        self._engine.put(RUNTIME, key, records.encode_json(key, list(compactions)))

    def load_compactions(self, session_id: str) -> list[dict[str, Any]]:
        """Return what `save_compactions` kept; [] if there was none."""
        return self._read(RUNTIME, layout.compactions_key(session_id), records.decode_compactions) or []

    def load_evidence(self, session_id: str) -> list[records.Evidence]:
        """Return the reports of library callers, oldest first (D3.4)."""
        return self._read(RUNTIME, layout.evidence_key(session_id), records.decode_evidence) or []

    # Listings. They go by the time index (``t:``) and record heads: a page costs the same among 10,000.

    def list_sessions(
        self, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[SessionRow], str | None]:
        """Return one page of sessions, newest first, and the cursor of the next page (None at the end).

        A session whose record can't be read has its row with ``damaged`` saying why. Cost: one lookup a row.
        Raises InvalidInputError for a limit below 1, or a cursor that did not come from here.
        """
        if limit < 1:
            raise InvalidInputError(f"limit {limit} must be at least 1")
        start = layout.after(TIME_PREFIX) if cursor is None else _cursor_key(cursor)
        rows: list[SessionRow] = []
        following = ""
        for key, _ in self._engine.scan(SESSION_IDENTITY, start, TIME_PREFIX, reverse=True):
            if len(rows) == limit:
                return rows, following
            timestamp_ms, session_id = layout.split_time_key(key)
            rows.append(self._row(session_id, timestamp_ms))
            following = f"{timestamp_ms:x}.{session_id}"
        return rows, None

    def count(self) -> int:
        """Sessions in the store. Cost: a scan of the time index, some 10 ms for 10,000."""
        return sum(1 for _ in self._engine.scan(SESSION_IDENTITY, TIME_PREFIX, layout.after(TIME_PREFIX)))

    def chain(self, session_id: str, limit: int = 50) -> Chain:
        """Return the sessions that ``session_id`` continues, itself first, and how the chain ends.

        Raises SessionNotFoundError if ``session_id`` itself is not there.
        """
        rows: list[SessionRow] = []
        seen: set[str] = set()
        wanted: str | None = cut_session_id(session_id)
        while wanted is not None:
            if wanted in seen:
                return Chain(tuple(rows), "cycle", wanted)
            if len(rows) == limit:
                return Chain(tuple(rows), "limit", wanted)
            try:
                row = self._stored_row(wanted)
            except (CorruptedIdentityError, FormatVersionError):
                return Chain(tuple(rows), "damaged", wanted)
            if row is None:
                if not rows:
                    raise SessionNotFoundError.of(wanted)
                return Chain(tuple(rows), "missing", wanted)
            seen.add(wanted)
            rows.append(row)
            wanted = row.previous_session_id
        return Chain(tuple(rows), "start")

    def resolve_id(self, alias: str) -> str:
        """Return the full id that ``alias`` means: itself, or the one session whose id begins with it if it
        is at least four hex digits (D1.5 has eight).

        Raises SessionNotFoundError if no session fits. Raises InvalidInputError if several do, and lists
        them.
        """
        if self._engine.get(SESSION_IDENTITY, layout.snapshot_key(alias)) is not None:
            return cut_session_id(alias)
        matches: list[str] = []
        if _ALIAS.fullmatch(alias):
            for prefix in dict.fromkeys((alias, alias.lower(), alias.upper())):
                start = layout.snapshot_key(prefix)
                scan = self._engine.scan(SESSION_IDENTITY, start, layout.after(start))
                matches.extend(key[len(SNAPSHOT_PREFIX) :].decode() for key, _ in scan)
        if not matches:
            raise SessionNotFoundError.of(alias)
        if len(matches) > 1:
            named = ", ".join(matches[:_CANDIDATES_NAMED]) + (
                ", …" if len(matches) > _CANDIDATES_NAMED else ""
            )
            raise InvalidInputError(f"session id {alias!r} is ambiguous: {named}; give the full id")
        return matches[0]

    def _stored_row(self, session_id: str) -> SessionRow | None:
        return self._read(SESSION_IDENTITY, layout.snapshot_key(session_id), records.decode_row)

    def _row(self, session_id: str, timestamp_ms: int) -> SessionRow:
        try:
            row, why = self._stored_row(session_id), "it is in the time index, but has no record"
        except (CorruptedIdentityError, FormatVersionError) as error:
            row, why = None, str(error)
        return row or SessionRow(session_id, timestamp_ms, damaged=why)

    # Export and import

    def export(self, session_id: str) -> dict[str, object]:
        """Return one session as a JSON object by seed field names, with format version and checksum.

        Raises as load_snapshot.
        """
        return transfer.document([self.load_snapshot(session_id)])

    def export_all(self, limit: int = 1000, cursor: str | None = None) -> dict[str, object]:
        """Sessions newest first as one JSON object; ``next_cursor`` is in it when there are more.

        Some 12 KB of JSON a session, hence the limit. Raises CorruptedIdentityError if one of them can't be
        read; `list_sessions` says which ones can.
        """
        rows, following = self.list_sessions(limit, cursor)
        document = transfer.document([self.load_snapshot(row.session_id) for row in rows])
        if following is not None:
            document["next_cursor"] = following
        return document

    def import_(self, document: object, *, overwrite: bool = False) -> list[str]:
        """Store the sessions of an exported document, all or none, and return their ids.

        The latest session stays the latest, unless there was none: then the newest of the document is. Raises
        InvalidInputError: Names the field, its limit and the cure; or the ids that are there already, without
        ``overwrite``. Raises FormatVersionError for a document of another format version.
        """
        snapshots = transfer.read_document(document)
        if not overwrite:
            there = [snapshot.session_id for snapshot in snapshots if self.has(snapshot.session_id)]
            if there:
                raise InvalidInputError(
                    f"{len(there)} sessions are in the store already ({', '.join(there[:5])}); "
                    "overwrite replaces them"
                )
        first = self._engine.get(SESSION_IDENTITY, LATEST) is None
        newest = max(snapshots, key=lambda snapshot: snapshot.timestamp_ms, default=None)
        batch = self._engine.batch()
        for snapshot in sorted(snapshots, key=lambda snapshot: snapshot.timestamp_ms):
            self._put_snapshot(batch, snapshot, latest=first and snapshot is newest)
        self._engine.write(batch)
        return [snapshot.session_id for snapshot in snapshots]

    def has(self, session_id: str) -> bool:
        return self._engine.get(SESSION_IDENTITY, layout.snapshot_key(session_id)) is not None


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


def _by_record(engine: Engine) -> list[str]:
    """Session ids newest first, from the records themselves; unreadable ones last."""
    times: list[tuple[int, str]] = []
    for key, record in engine.scan(SESSION_IDENTITY, SNAPSHOT_PREFIX, layout.after(SNAPSHOT_PREFIX)):
        try:
            row = records.decode_row(key, record)
            times.append((row.timestamp_ms, row.session_id))
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
        raise InvalidInputError(f"cursor {cursor!r} did not come from a listing; leave it out") from error
