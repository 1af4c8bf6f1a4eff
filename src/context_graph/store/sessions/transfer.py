"""Exports snapshots as JSON documents, and imports them.

    {"format": "context-graph/sessions", "format_version": 2, "sessions": [{...}], "checksum": "0123abcd"}

A session is an object of the seeds' 14 field names. The checksum is over the sessions' stored form, so that
another program may reformat the JSON (spacing, order of keys, 1 for 1.0) without breaking it; a document that
was edited on purpose goes in without the key.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from functools import partial
from typing import Final, NoReturn, cast

from context_graph.errors import FormatVersionError, InvalidInputError
from context_graph.model import KURAMOTO_N, MAX_SESSION_ID_LEN, MAX_TRAJECTORY_LEN, SessionIdentitySnapshot
from context_graph.store.layout import CRC_BYTES
from context_graph.store.sessions.records import encode_snapshot

FORMAT: Final = "context-graph/sessions"
FORMAT_VERSION: Final = 2
MAX_SESSIONS: Final = 10_000
"""Sessions of one document: it becomes one atomic write of some 3 KB a session."""
MAX_COUPLING: Final = 10.0
_FIELDS: Final = tuple(field.name for field in fields(SessionIdentitySnapshot))
_OPTIONAL: Final = frozenset({"previous_session_id", "trajectory"})  # as in the seeds
_FLOAT32_MAX: Final = 3.4028234663852886e38


def document(snapshots: Sequence[SessionIdentitySnapshot]) -> dict[str, object]:
    """Return the document of ``snapshots``, in their order."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "sessions": [asdict(snapshot) for snapshot in snapshots],
        "checksum": _checksum(snapshots),
    }


def read_document(document: object) -> list[SessionIdentitySnapshot]:
    """Return the snapshots of a document, each field checked.

    Raises InvalidInputError, naming the field, its limit and the cure. Raises FormatVersionError for a format
    version this build does not know.
    """
    content = _object("the document", document)
    if content.get("format") != FORMAT:
        raise InvalidInputError(f"format is {content.get('format')!r}, must be {FORMAT!r}")
    version = content.get("format_version")
    if version != FORMAT_VERSION:
        raise FormatVersionError(f"format_version is {version!r}, this build reads {FORMAT_VERSION}")
    sessions = content.get("sessions")
    if not isinstance(sessions, list):
        raise InvalidInputError("sessions must be a list")
    if len(sessions) > MAX_SESSIONS:
        raise InvalidInputError(
            f"sessions has {len(sessions)} entries, at most {MAX_SESSIONS}; split the file"
        )
    snapshots = [_snapshot(f"sessions[{index}]", session) for index, session in enumerate(sessions)]
    seen: set[str] = set()
    for index, snapshot in enumerate(snapshots):
        if snapshot.session_id in seen:
            raise InvalidInputError(f"sessions[{index}].session_id {snapshot.session_id!r} appears twice")
        seen.add(snapshot.session_id)
    if "checksum" in content and content["checksum"] != _checksum(snapshots):
        raise InvalidInputError(
            "checksum does not match the sessions: the file was changed or cut. "
            "If that was on purpose, remove the checksum key"
        )
    return snapshots


def _checksum(snapshots: Sequence[SessionIdentitySnapshot]) -> str:
    crc = 0
    for snapshot in snapshots:
        # Without the record's own CRC: the CRC of data and its CRC is the same for any data.
        crc = zlib.crc32(encode_snapshot(snapshot)[:-CRC_BYTES], crc)
    return f"{crc:08x}"


def _snapshot(at: str, value: object) -> SessionIdentitySnapshot:
    content = _object(at, value)
    unknown = sorted(set(content) - set(_FIELDS))
    if unknown:
        raise InvalidInputError(
            f"{at}.{unknown[0]} is not a field of a session; the fields are {', '.join(_FIELDS)}"
        )
    missing = [name for name in _FIELDS if name not in content and name not in _OPTIONAL]
    if missing:
        raise InvalidInputError(f"{at}.{missing[0]} is missing")
    checked = {name: _CHECKS.get(name, _share)(f"{at}.{name}", value) for name, value in content.items()}
    # Each check returns its field's type; a dict of them all has no narrower type than object.
    return SessionIdentitySnapshot(**cast("dict[str, float]", checked))  # type: ignore[arg-type]  # see above


def _object(at: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{at} must be a JSON object, is {type(value).__name__}")
    return value


def _fail(at: str, value: object, rule: str) -> NoReturn:
    text = repr(value)
    raise InvalidInputError(f"{at} is {text if len(text) <= 80 else text[:77] + '...'}; it must be {rule}")


def _id(at: str, value: object) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_SESSION_ID_LEN or "\0" in value:
        _fail(at, value, f"text of 1 to {MAX_SESSION_ID_LEN} characters without NUL")
    return value


def _previous(at: str, value: object) -> str | None:
    return None if value is None else _id(at, value)


def _timestamp(at: str, value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 63:
        _fail(at, value, "whole milliseconds since 1970, in [0, 2**63)")
    return value


def _number(at: str, value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        _fail(at, value, f"a number in [{low:g}, {high:g}]")
    return float(value)


def _share(at: str, value: object) -> float:
    return _number(at, value, 0.0, 1.0)


def _unknown_or_share(at: str, value: object) -> float | None:
    return None if value is None else _share(at, value)


def _vector(at: str, value: object, low: float, high: float) -> list[float]:
    if not isinstance(value, list) or len(value) != KURAMOTO_N:
        _fail(at, value, f"a list of {KURAMOTO_N} numbers")
    return [_number(f"{at}[{index}]", number, low, high) for index, number in enumerate(value)]


def _trajectory(at: str, value: object, low: float, high: float) -> list[list[float]]:
    if not isinstance(value, list) or len(value) > MAX_TRAJECTORY_LEN:
        _fail(at, value, f"a list of at most {MAX_TRAJECTORY_LEN} vectors")
    return [_vector(f"{at}[{index}]", vector, low, high) for index, vector in enumerate(value)]


_CHECKS: Final[dict[str, Callable[[str, object], object]]] = {
    "session_id": _id,
    "timestamp_ms": _timestamp,
    "previous_session_id": _previous,
    "cross_session_ic": _unknown_or_share,
    "kuramoto_phases": partial(_vector, low=0.0, high=2 * math.pi),
    "coupling": partial(_number, low=0.0, high=MAX_COUPLING),
    "purpose_vector": partial(_vector, low=-_FLOAT32_MAX, high=_FLOAT32_MAX),
    "trajectory": partial(_trajectory, low=-_FLOAT32_MAX, high=_FLOAT32_MAX),
}
"""The checks of the fields; each other field is a number in [0, 1]."""
