"""Encodes and decodes the records of sessions: snapshots, events, runtime, goals, evidence, queued requests.

Fixed binary layouts, little-endian, f64 phases and f32 vectors. Field order and kind numbers are on users'
disks: never renumber; a change takes a new version. A value that is not finite
is refused on writing, with its field named: once stored, it would spoil every number computed from it.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

import msgspec
import orjson

from context_graph.errors import InvalidInputError
from context_graph.model import (
    KURAMOTO_N,
    MAX_TRAJECTORY_LEN,
    EventKind,
    EventParts,
    HookEvent,
    SessionIdentitySnapshot,
)
from context_graph.store.layout import damaged, id_bytes, key_text, snapshot_key, unwrap, wrap

SNAPSHOT_VERSION: Final = 2
_UNKNOWN: Final = -1.0
"""A cross-session IC that was not measured."""
EVENT_VERSION: Final = 3
PLAIN_VERSION: Final = 1
"""Of every other record."""
Content = TypeVar("Content")

_KINDS: Final = {kind: number for number, kind in enumerate(EventKind, 1)}
"""The numbers are on disk: a new kind comes last."""
_KIND_OF: Final = {number: kind for kind, number in _KINDS.items()}
_SUCCESS: Final[dict[bool | None, int]] = {False: 0, True: 1, None: 2}
_SUCCESS_OF: Final = {number: success for success, number in _SUCCESS.items()}

# timestamp_ms, coupling, 13 phases | 6 + 1 scalars, 13 purpose | trajectory entries, id bytes, previous bytes
_SNAPSHOT: Final = struct.Struct(f"<qd{KURAMOTO_N}d7f{KURAMOTO_N}fBHH")
_SCALARS: Final = (
    "cross_session_ic",
    "last_ic",
    "crisis_threshold",
    "consciousness",
    "integration",
    "reflection",
    "differentiation",
)
_SCALARS_AT: Final = 2 + KURAMOTO_N
_PURPOSE_AT: Final = _SCALARS_AT + len(_SCALARS)
_NO_PREVIOUS: Final = 0xFFFF

# kind, success, at_ms, duration_ms, lengths of the texts
_EVENT_TEXTS: Final = (
    "session_id",
    "event_id",
    "tool_name",
    "tool_use_id",
    "prompt_id",
    "input_text",
    "output_text",
    "source",
    "reason",
    "previous_session_id",
    "cwd",
    "agent_id",
)
"""After them come the event's parts as JSON."""
_EVENT: Final = struct.Struct(f"<BBqq{len(_EVENT_TEXTS) + 1}H")
_SEQ: Final = struct.Struct("<Q")
# kind, at_ms, IC after it, value
_EVIDENCE: Final = struct.Struct("<Bqfd")
_EVIDENCE_KINDS: Final = {1: "ic_delta", 2: "session_end"}  # never renumber


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session in a listing, read without its vectors."""

    session_id: str
    timestamp_ms: int
    previous_session_id: str | None = None
    last_ic: float | None = None
    """None, as is consciousness, while nothing was measured in it."""
    consciousness: float | None = None
    damaged: str = ""
    """Why its record can't be read; the three fields before are then None."""
    cross_session_ic: float | None = None
    """Measured likelihood that it goes on with the work of the session before; None if unknown."""


class Evidence(NamedTuple):
    """A fact that a caller of the library reported about a session (D3.4)."""

    kind: str
    """``ic_delta`` (value: the capped delta) or ``session_end`` (value: the duration, ms)."""
    at_ms: int
    ic: float
    """Identity continuity after it, [0, 1]."""
    value: float


def encode_snapshot(snapshot: SessionIdentitySnapshot) -> bytes:
    """Return the record of ``snapshot`` for its key: 0.2 to 3.7 KB (REQ-SESSION-01: below 30 KB).
    InvalidInputError names a vector of the wrong length, and a value that is not finite or no number.
    """
    session_id = id_bytes(snapshot.session_id)
    previous = b""
    if snapshot.previous_session_id is not None:
        previous = id_bytes(snapshot.previous_session_id)
    _require_shape(snapshot)
    scalars = [getattr(snapshot, name) for name in _SCALARS]
    if scalars[0] is None:
        scalars[0] = _UNKNOWN
    try:
        head = _SNAPSHOT.pack(
            snapshot.timestamp_ms,
            snapshot.coupling,
            *snapshot.kuramoto_phases,
            *scalars,
            *snapshot.purpose_vector,
            len(snapshot.trajectory),
            len(session_id),
            _NO_PREVIOUS if snapshot.previous_session_id is None else len(previous),
        )
        flat = list(chain.from_iterable(snapshot.trajectory))
        trajectory = struct.pack(f"<{len(flat)}f", *flat)
        # One sum tells whether any value is NaN or infinite; which one it is, is worked out only then.
        if not math.isfinite(sum(flat) + sum(snapshot.kuramoto_phases) + sum(snapshot.purpose_vector)):
            _blame(snapshot)
        if not math.isfinite(sum(scalars) + snapshot.coupling):
            _blame(snapshot)
    except (struct.error, OverflowError, TypeError, ValueError) as error:
        _blame(snapshot, error)
    payload = b"".join((head, session_id, previous, trajectory))
    return wrap(snapshot_key(snapshot.session_id), SNAPSHOT_VERSION, payload)


def decode_snapshot(key: bytes, record: bytes) -> SessionIdentitySnapshot:
    """Return the snapshot in ``record``, which was read from ``key``.

    Raises FormatVersionError if it was written in a version this build does not know. Raises
    CorruptedIdentityError: Length, checksum or content are wrong; names session, fault and cure.
    """
    fields, session_id, previous, rest = _head(key, unwrap(key, record, SNAPSHOT_VERSION))
    entries = fields[_PURPOSE_AT + KURAMOTO_N]
    if entries > MAX_TRAJECTORY_LEN or len(rest) != entries * KURAMOTO_N * 4:
        raise damaged(key, f"{len(rest)} bytes of trajectory for {entries} entries")
    flat = struct.unpack(f"<{entries * KURAMOTO_N}f", rest)
    snapshot = SessionIdentitySnapshot(
        session_id=session_id,
        timestamp_ms=fields[0],
        previous_session_id=previous,
        kuramoto_phases=list(fields[2:_SCALARS_AT]),
        coupling=fields[1],
        purpose_vector=list(fields[_PURPOSE_AT : _PURPOSE_AT + KURAMOTO_N]),
        trajectory=[list(flat[at : at + KURAMOTO_N]) for at in range(0, len(flat), KURAMOTO_N)],
        **dict(zip(_SCALARS, fields[_SCALARS_AT:_PURPOSE_AT], strict=True)),
    )
    snapshot.cross_session_ic = _measured(fields[_SCALARS_AT])
    if not math.isfinite(sum(fields[1 : _PURPOSE_AT + KURAMOTO_N]) + sum(flat)):
        raise damaged(key, "a value that is not finite")
    return snapshot


def decode_row(key: bytes, record: bytes) -> SessionRow:
    """Return the first fields of the snapshot in ``record``; checks the checksum, skips the vectors.

    Raises FormatVersionError, CorruptedIdentityError as decode_snapshot.
    """
    fields, session_id, previous, _ = _head(key, unwrap(key, record, SNAPSHOT_VERSION))
    scalars = dict(zip(_SCALARS, fields[_SCALARS_AT:_PURPOSE_AT], strict=True))
    last_ic, consciousness = scalars["last_ic"], scalars["consciousness"]
    # These two together are a new session's defaults: C is 0 only where nothing has been measured.
    measured = (last_ic, consciousness) != (1.0, 0.0)
    return SessionRow(
        *(session_id, fields[0], previous),
        last_ic=last_ic if measured else None,
        consciousness=consciousness if measured else None,
        cross_session_ic=_measured(scalars["cross_session_ic"]) if previous else None,
    )


def _measured(stored: float) -> float | None:
    return None if stored == _UNKNOWN else stored


def encode_event(key: bytes, event: HookEvent) -> bytes:
    """Return the record of ``event``. Raises InvalidInputError for a text or number that is too big."""
    texts = [getattr(event, name).encode("utf-8", "surrogatepass") for name in _EVENT_TEXTS]
    texts.append(_encoded_parts(event.parts))
    for name, text in zip((*_EVENT_TEXTS, "parts"), texts, strict=True):
        if len(text) > 0xFFFF:
            raise InvalidInputError(f"{name} has {len(text)} bytes, an event record holds 65535; cut it")
    try:
        head = _EVENT.pack(
            _KINDS[event.kind], _SUCCESS[event.success], event.at_ms, event.duration_ms, *map(len, texts)
        )
    except struct.error as error:
        raise InvalidInputError(f"at_ms {event.at_ms} or duration_ms {event.duration_ms}: {error}") from error
    return wrap(key, EVENT_VERSION, head + b"".join(texts))


def _encoded_parts(parts: EventParts) -> bytes:
    """Return the parts as JSON; without the longest ones where escapes make them too long for a record."""
    content = parts.to_json()
    while True:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) if content else ""
        raw = text.encode("utf-8", "surrogatepass")
        if len(raw) <= 0xFFFF:
            return raw
        del content[max(content, key=lambda name: len(str(content[name])))]


def decode_event(key: bytes, record: bytes) -> HookEvent:
    """Return the event in ``record``, which was read from ``key``. Raises as decode_snapshot."""
    payload = unwrap(key, record, EVENT_VERSION)
    try:
        kind, success, at_ms, duration_ms, *lengths = _EVENT.unpack_from(payload)
        texts: list[str] = []
        at = _EVENT.size
        for length in lengths:
            texts.append(payload[at : at + length].decode("utf-8", "surrogatepass"))
            at += length
        if at != len(payload):
            raise ValueError(f"{len(payload)} bytes, its texts need {at}")
        parts = texts.pop()
        named: dict[str, Any] = dict(zip(_EVENT_TEXTS, texts, strict=True))
        event = HookEvent(
            kind=_KIND_OF[kind], success=_SUCCESS_OF[success], at_ms=at_ms, duration_ms=duration_ms, **named
        )
        if parts:
            event.parts = EventParts.from_json(orjson.loads(parts))
        return event
    except (struct.error, ValueError, KeyError, AttributeError) as error:
        raise damaged(key, f"event content: {error}") from error


def encode_opaque(key: bytes, content: bytes) -> bytes:
    """Return the record of what the store does not look into: live states, and what work was about."""
    return wrap(key, PLAIN_VERSION, content)


def decode_opaque(key: bytes, record: bytes) -> bytes:
    """Return the content of ``record``. Raises as decode_snapshot."""
    return unwrap(key, record, PLAIN_VERSION)


def encode_goals(key: bytes, seq: int, goals: bytes) -> bytes:
    """Return the record of a goal checkpoint taken after the event of sequence ``seq``."""
    return encode_opaque(key, _SEQ.pack(seq) + goals)


def decode_goals(key: bytes, record: bytes) -> tuple[int, bytes]:
    """Return (seq, goals) in ``record``. Raises as decode_snapshot."""
    payload = decode_opaque(key, record)
    if len(payload) < _SEQ.size:
        raise damaged(key, "a goal checkpoint without its sequence number")
    return _SEQ.unpack_from(payload)[0], payload[_SEQ.size :]


def encode_evidence(key: bytes, evidence: Iterable[Evidence]) -> bytes:
    """Return the record of a session's evidence, oldest first."""
    numbers = {name: number for number, name in _EVIDENCE_KINDS.items()}
    rows = (_EVIDENCE.pack(numbers[row.kind], row.at_ms, row.ic, row.value) for row in evidence)
    return encode_opaque(key, b"".join(rows))


def decode_evidence(key: bytes, record: bytes) -> list[Evidence]:
    """Return the evidence in ``record``, oldest first. Raises as decode_snapshot."""
    try:
        rows = _EVIDENCE.iter_unpack(decode_opaque(key, record))
        return [Evidence(_EVIDENCE_KINDS[kind], *row) for kind, *row in rows]
    except (struct.error, KeyError) as error:
        raise damaged(key, f"evidence content: {error}") from error


def encode_json(key: bytes, content: object) -> bytes:
    """Return the record of a queued consolidation request, or of a session's compactions, oldest first.

    Raises InvalidInputError if ``content`` holds what JSON can't.
    """
    try:
        text = json.dumps(content, allow_nan=False, separators=(",", ":"), sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"record {key_text(key)}: {error}") from error
    return encode_opaque(key, text.encode())


def decode_dream(key: bytes, record: bytes) -> dict[str, object]:
    """Return the consolidation request in ``record``. Raises as decode_snapshot."""
    return _decoded(key, record, dict[str, object])


def decode_compactions(key: bytes, record: bytes) -> list[dict[str, Any]]:
    """Return the compactions in ``record``. Raises as decode_snapshot."""
    return _decoded(key, record, list[dict[str, Any]])


def _decoded(key: bytes, record: bytes, kind: type[Content]) -> Content:
    try:
        # json, not msgspec, reads it: half a surrogate pair, which a text may hold, is refused by msgspec.
        return msgspec.convert(json.loads(decode_opaque(key, record)), kind)
    except ValueError as error:
        raise damaged(key, f"content: {error}") from error


def _head(key: bytes, payload: bytes) -> tuple[tuple[Any, ...], str, str | None, bytes]:
    """Fixed fields, session id, previous id and the rest of a snapshot's payload."""
    try:
        fields = _SNAPSHOT.unpack_from(payload)
        id_length, previous_length = fields[-2:]
        at = _SNAPSHOT.size + id_length
        session_id = payload[_SNAPSHOT.size : at].decode()
        previous = None
        if previous_length != _NO_PREVIOUS:
            previous = payload[at : at + previous_length].decode()
            at += previous_length
        if key != snapshot_key(session_id) or at > len(payload):
            raise ValueError(f"holds the id {session_id!r}")
    except (struct.error, ValueError, InvalidInputError) as error:
        raise damaged(key, f"snapshot content: {error}") from error
    return fields, session_id, previous, payload[at:]


def _require_shape(snapshot: SessionIdentitySnapshot) -> None:
    if len(snapshot.trajectory) > MAX_TRAJECTORY_LEN:
        raise InvalidInputError(
            f"trajectory has {len(snapshot.trajectory)} entries, at most {MAX_TRAJECTORY_LEN} are stored"
        )
    vectors = (snapshot.kuramoto_phases, snapshot.purpose_vector, *snapshot.trajectory)
    if set(map(len, vectors)) == {KURAMOTO_N}:
        return
    for name, vector in _vectors(snapshot):
        if len(vector) != KURAMOTO_N:
            raise InvalidInputError(f"{name} has {len(vector)} values, must have {KURAMOTO_N}")


def _vectors(snapshot: SessionIdentitySnapshot) -> Iterable[tuple[str, Sequence[float]]]:
    yield "kuramoto_phases", snapshot.kuramoto_phases
    yield "purpose_vector", snapshot.purpose_vector
    for index, vector in enumerate(snapshot.trajectory):
        yield f"trajectory[{index}]", vector


def _blame(snapshot: SessionIdentitySnapshot, error: Exception | None = None) -> NoReturn:
    """Name the field of ``snapshot`` that can't be stored."""
    named = [(name, getattr(snapshot, name)) for name in ("coupling", *_SCALARS)]
    named = [(name, value) for name, value in named if (name, value) != ("cross_session_ic", None)]
    for name, vector in _vectors(snapshot):
        named.extend((f"{name}[{index}]", value) for index, value in enumerate(vector))
    for name, value in named:
        try:
            # f32 for all: what is beyond it overflows on packing, and phases and coupling are small.
            struct.pack("<f", value)
            fits = math.isfinite(value)
        except (struct.error, OverflowError, TypeError):
            fits = False
        if not fits:
            raise InvalidInputError(f"{name} is {value!r}; it must be a finite number") from error
    raise InvalidInputError(f"timestamp_ms {snapshot.timestamp_ms!r} must be in [0, 2**63)") from error
