"""Keeps what events leave in the store: their records, the gates' log, requests for consolidations.

For each session: the records of its events, which of them were applied, and which ask for a capture. A canary
of `doctor` has only events, which are read back, then removed. The log of the gates holds every refusal, and
everything that satisfied or lifted a requirement, one JSON object an entry, the newest KEPT of them. People
read it (`context-graph-cli req log`); the gates never do. Requests wait in a durable queue (D3.7).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import orjson

from context_graph.claude.hooks.origin import CANARY_PREFIX
from context_graph.errors import UNREADABLE_RECORD, CorruptedIdentityError, InvalidInputError
from context_graph.model import HookEvent
from context_graph.store import layout
from context_graph.store.engine.batches import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.layout import (
    EVENTS,
    REQUIREMENT_LOG_PREFIX,
    RUNTIME,
    SYSTEM,
    after,
    damaged,
    requirement_log_key,
    unwrap,
    wrap,
)
from context_graph.store.sessions import records

_LOG: Final = logging.getLogger(__name__)
EVENTS_KEPT: Final = 512
"""Event records a session keeps at least; some 1 KB each. Digests of applied events are kept for good."""
TRIM_EVERY: Final = 64
"""Events between two trims: one range delete for so many events, and at most so many records too many."""


class EventLog:
    """The log in one open engine. Not thread-safe, like the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.written = 0
        """Events that this log has stored since it was opened."""

    def append(
        self, session_id: str, *, event: HookEvent, seq: int, dedupe_key: str, capture: bool = False
    ) -> None:
        """Store the event alone, durable on return; `SessionStore.save_state` follows.

        What it did can be worked out again: a session whose runtime is behind its events is brought up by
        applying those that are `after` it. With ``capture`` the same batch says that the session's memory is
        to be refreshed.
        """
        batch = self._engine.batch()
        self.put(batch, session_id, event, seq, dedupe_key)
        if capture:
            batch.put(RUNTIME, layout.capture_key(session_id), seq.to_bytes(8, "big"))
        self._engine.write(batch)

    def is_applied(self, session_id: str, dedupe_key: str) -> bool:
        """Return whether the event of that key has been committed for the session. Cost: one lookup."""
        return self._engine.get(EVENTS, layout.applied_key(session_id, dedupe_key)) is not None

    def after(self, session_id: str, seq: int) -> Iterator[HookEvent]:
        """Return the session's events above ``seq`` in order, as far as they are kept (EVENTS_KEPT).

        Raises CorruptedIdentityError at the first event that can't be read back.
        """
        return (event for _, event in self.numbered_after(session_id, seq))

    def numbered_after(self, session_id: str, seq: int) -> Iterator[tuple[int, HookEvent]]:
        """As `after`, each event with its number in the session."""
        prefix = layout.event_prefix(session_id)
        first, end = layout.event_key(session_id, seq + 1), layout.after(prefix)
        for key, record in self._engine.scan(EVENTS, first, end):
            yield int.from_bytes(key[len(prefix) :], "big"), records.decode_event(key, record)

    def rewrite(self, session_id: str, events: Mapping[int, HookEvent]) -> None:
        """Put others in the place of recorded events, by number. What stood there leaves the disk, and so
        does what the session's compactions were before. Raises StoreError.

        Cost: a flush, and the tables of the session's events are written anew.
        """
        batch = self._engine.batch()
        for number, event in events.items():
            key = layout.event_key(session_id, number)
            batch.put(EVENTS, key, records.encode_event(key, event))
        self._engine.write(batch)
        self._engine.flush()
        prefix, kept = layout.event_prefix(session_id), layout.compactions_key(session_id)
        self._engine.compact_range(EVENTS, prefix, layout.after(prefix))
        self._engine.compact_range(RUNTIME, kept, kept + b"\0")

    def last_number(self, session_id: str) -> int:
        """Return the number of the session's last event, starts included; 0 for none. Cost: a look-up."""
        prefix = layout.event_prefix(session_id)
        rows = self._engine.scan(EVENTS, layout.after(prefix), prefix, reverse=True)
        return next((int.from_bytes(key[len(prefix) :], "big") for key, _ in rows), 0)

    def position(self) -> tuple[str, int]:
        """Return how far the log's segments have been read (`put_position`); ("", 0) if none was."""
        key = layout.EVENT_LOG_KEY
        record = self._engine.get(SYSTEM, key)
        if record is None:
            return "", 0
        payload = unwrap(key, record, _VERSION)
        return payload[8:].decode("ascii", "replace"), int.from_bytes(payload[:8], "big")

    def put_position(self, segment: str, offset: int) -> None:
        """Store that all before ``offset`` of ``segment`` has been applied, with what is written together."""
        key = layout.EVENT_LOG_KEY
        self._engine.put(SYSTEM, key, wrap(key, _VERSION, offset.to_bytes(8, "big") + segment.encode()))

    def captures_due(self) -> list[str]:
        """Return the sessions whose memory is to be refreshed: `append` said so, `captured` did not yet."""
        prefix = layout.CAPTURE_PREFIX
        rows = self._engine.scan(RUNTIME, prefix, layout.after(prefix))
        return [key[len(prefix) :].decode("utf-8", "replace") for key, _ in rows]

    def captured(self, session_id: str) -> None:
        """Note that the session's memory has been refreshed."""
        self._engine.delete(RUNTIME, layout.capture_key(session_id))

    def put(self, batch: Batch, session_id: str, event: HookEvent, seq: int, dedupe_key: str) -> None:
        """Add the event to ``batch``; of those before it more than EVENTS_KEPT go, once in a while."""
        self.written += 1
        key = layout.event_key(session_id, seq)
        batch.put(EVENTS, key, records.encode_event(key, event))
        batch.put(EVENTS, layout.applied_key(session_id, dedupe_key), seq.to_bytes(8, "big"))
        if seq % TRIM_EVERY == 0 and seq > EVENTS_KEPT:
            first_kept = layout.event_key(session_id, seq - EVENTS_KEPT + 1)
            batch.delete_range(EVENTS, layout.event_prefix(session_id), first_kept)


LEFT_MS: Final = 600_000
"""Age at which a canary's events are left over: the `doctor` that sent them was ended before it looked."""


class CanaryEvents:
    """The events of `doctor`'s canary sessions. Not thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._log = EventLog(engine)

    def append(self, event: HookEvent) -> None:
        """Record ``event`` as any other is recorded, durable on return; one that is there already once."""
        session_id, key = event.session_id, event.dedupe_key()
        if not self._log.is_applied(session_id, key):
            seq = sum(1 for _ in self._log.after(session_id, 0)) + 1
            self._log.append(session_id, event=event, seq=seq, dedupe_key=key)

    def take(self, session_id: str, now_ms: int) -> list[HookEvent]:
        """Return the canary's events in order, which are removed; with them those that were left ten minutes
        ago.

        Raises CorruptedIdentityError if what was written can't be read back. Raises StoreError if it could
        not be removed.
        """
        events = list(self._log.after(session_id, 0))
        self._remove(session_id)
        for left in self._left(now_ms):
            self._remove(left)
        return events

    def _left(self, now_ms: int) -> set[str]:
        prefix = layout.event_prefix(CANARY_PREFIX)[:-1]
        session_ids = set()
        for key, record in self._engine.scan(EVENTS, prefix, layout.after(prefix)):
            event = records.decode_event(key, record)
            if event.at_ms < now_ms - LEFT_MS:
                session_ids.add(event.session_id)
        return session_ids

    def _remove(self, session_id: str) -> None:
        batch = self._engine.batch()
        for prefix in (layout.event_prefix(session_id), layout.applied_prefix(session_id)):
            batch.delete_range(EVENTS, prefix, layout.after(prefix))
        self._engine.write(batch)


KEPT: Final = 10_000
"""Entries; some 200 bytes each."""
_TRIM_EVERY: Final = 256
_REMEMBERED: Final = 512
_VERSION: Final = 1
_TEXT_CHARS: Final = 500
_NAMES: Final = 64
_NAME_CHARS: Final = 100
_TEXTS: Final = ("kind", "session_id", "event", "tool", "by", "detail", "branch", "project")


class RequirementLog:
    """The log in one open engine. Not thread-safe, like the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next: int | None = None
        self.written = 0
        """Entries that this log has stored since it was opened."""

    def append(self, entries: Sequence[Mapping[str, object]], *, once: str = "") -> None:
        """Store ``entries`` as one batch, in their order; durable on return.

        With ``once`` (an id) nothing is stored if one of the newest _REMEMBERED entries came under that id:
        an event log whose end was not stored is read again.

        Of each ``at_ms`` (Unix milliseconds), the texts of _TEXTS and the list ``requirements`` are kept, cut
        to _TEXT_CHARS and _NAME_CHARS characters and _NAMES names. Cost: one write; the first call of an
        engine one look-up more. Raises StoreError if they can't be made durable; none is stored then.
        """
        if not entries or (once and self._has(once)):
            return
        seq = self._following()
        batch = self._engine.batch()
        for number, entry in enumerate(entries, seq):
            key = requirement_log_key(number)
            batch.put(EVENTS, key, wrap(key, _VERSION, orjson.dumps(_clean(entry, once))))
            if number % _TRIM_EVERY == 0 and number > KEPT:
                batch.delete_range(EVENTS, requirement_log_key(0), requirement_log_key(number - KEPT + 1))
        self._engine.write(batch)
        self._next = seq + len(entries)
        self.written += len(entries)

    def entries(
        self, *, limit: int = 50, session_id: str = "", requirement: str = ""
    ) -> list[dict[str, Any]]:
        """Return the newest ``limit`` entries first, of one session and about one requirement if they are
        named.

        An entry that can't be read is listed as kind ``damaged`` with the reason, so that none is lost in
        silence. Cost: one read an entry that is looked at. Raises InvalidInputError for a limit that is not 1
        to KEPT.
        """
        if not 1 <= limit <= KEPT:
            raise InvalidInputError(f"--limit {limit} must be a number from 1 to {KEPT}")
        matches: list[dict[str, Any]] = []
        for entry in self._newest_first():
            wanted = not session_id or entry.get("session_id") == session_id
            if wanted and (not requirement or requirement in entry.get("requirements", ())):
                matches.append(entry)
                if len(matches) == limit:
                    break
        # Entries that waited in several segments were not recorded in the order in which they happened.
        return sorted(matches, key=lambda entry: entry["at_ms"], reverse=True)

    def _has(self, once: str) -> bool:
        return any(entry.get("id") == once for entry in islice(self._newest_first(), _REMEMBERED))

    def _newest_first(self) -> Iterator[dict[str, Any]]:
        end = after(REQUIREMENT_LOG_PREFIX)
        for key, record in self._engine.scan(EVENTS, end, REQUIREMENT_LOG_PREFIX, reverse=True):
            try:
                yield decode_entry(key, record)
            except CorruptedIdentityError as error:
                yield {"kind": "damaged", "at_ms": 0, "requirements": [], "detail": str(error)}

    def _following(self) -> int:
        if self._next is None:
            end = after(REQUIREMENT_LOG_PREFIX)
            last = next(iter(self._engine.scan(EVENTS, end, REQUIREMENT_LOG_PREFIX, reverse=True)), None)
            self._next = 1 if last is None else int.from_bytes(last[0][-8:], "big") + 1
        return self._next


def decode_entry(key: bytes, record: bytes) -> dict[str, Any]:
    """Return the entry in ``record``.

    Raises CorruptedIdentityError if it is damaged or no entry. Raises FormatVersionError if it was written
    in another version.
    """
    try:
        entry = orjson.loads(unwrap(key, record, _VERSION))
    except orjson.JSONDecodeError as error:
        raise damaged(key, f"entry of the requirement log: {error}") from error
    if not isinstance(entry, dict):
        raise damaged(key, "the entry of the requirement log is not a JSON object")
    return entry


def _clean(entry: Mapping[str, object], once: str) -> dict[str, object]:
    at_ms, names = entry.get("at_ms"), entry.get("requirements")
    clean: dict[str, object] = {"at_ms": at_ms if isinstance(at_ms, int) and 0 <= at_ms < 1 << 53 else 0}
    if once:
        clean["id"] = once[:_NAME_CHARS]
    for name in _TEXTS:
        value = entry.get(name)
        if isinstance(value, str) and value:
            clean[name] = value[:_TEXT_CHARS].encode("utf-8", "replace").decode()
    listed = names if isinstance(names, (list, tuple)) else ()
    clean["requirements"] = [
        name[:_NAME_CHARS].encode("utf-8", "replace").decode()
        for name in listed[:_NAMES]
        if isinstance(name, str)
    ]
    return clean


class ConsolidationQueue:
    """The queue in one open engine. Not thread-safe, like the engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._unseen: list[bytes] | None = None
        """Keys that were queued since `unseen` was called last; None before its first call."""

    def queue(self, request: Mapping[str, object]) -> str:
        """Queue a request of ``session_id``, ``at_ms`` (Unix ms) and more, durably; return its id (D3.7)."""
        batch = self._engine.batch()
        key = self.put(batch, request)
        self._engine.write(batch)
        return key[2:].hex()

    def pending(self) -> list[dict[str, object]]:
        """Return the queued requests, oldest first, each with its ``id``."""
        return [_request(key, record) for key, record in self._waiting()]

    def _waiting(self) -> Iterator[tuple[bytes, bytes]]:
        return self._engine.scan(SYSTEM, layout.DREAM_PREFIX, layout.after(layout.DREAM_PREFIX))

    def unseen(self) -> list[dict[str, object]]:
        """Return the requests that no earlier call has returned, oldest first; a damaged one is logged and
        left out.

        Cost: one read of the queue, once.
        """
        if self._unseen is None:
            rows = list(self._waiting())
        else:  # one whose batch failed is not there
            rows = [(key, record) for key in self._unseen if (record := self._engine.get(SYSTEM, key))]
        if not rows and self._unseen is not None:
            return []
        self._unseen = []
        requests: list[dict[str, object]] = []
        for key, record in rows:
            try:
                requests.append(_request(key, record))
            except (CorruptedIdentityError, *UNREADABLE_RECORD) as error:
                _LOG.error("%s", error)
        return requests

    def finish(self, dream_id: str) -> bool:
        """Take a request off the queue; False if it is not there (any more)."""
        try:
            key = layout.DREAM_PREFIX + bytes.fromhex(dream_id)
        except ValueError:
            return False
        if self._engine.get(SYSTEM, key) is None:
            return False
        self._engine.delete(SYSTEM, key)
        return True

    def put(self, batch: Batch, request: Mapping[str, object]) -> bytes:
        """Add a request to ``batch``; its key. Raises InvalidInputError if it lacks a field."""
        session_id, at_ms = request.get("session_id"), request.get("at_ms")
        if not isinstance(session_id, str) or type(at_ms) is not int:
            raise InvalidInputError("a dream request needs session_id (text) and at_ms (Unix ms)")
        key = layout.dream_key(at_ms, session_id)
        batch.put(SYSTEM, key, records.encode_json(key, dict(request)))
        if self._unseen is not None:
            self._unseen.append(key)
        return key


def _request(key: bytes, record: bytes) -> dict[str, object]:
    return {"id": key[2:].hex(), **records.decode_dream(key, record)}
