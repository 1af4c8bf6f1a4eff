"""The wire format: one change is one line of JSON with sorted keys. docs/dev/formats.md describes the fields.

A line is a promise to every machine that has read one: fields may be added under a new ``v``, never reused.
"""

from __future__ import annotations

import re
from _blake2 import blake2b
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

from context_graph.errors import InvalidInputError

VERSION: Final = 1
MAX_LINE_BYTES: Final = 2 << 20
"""Bytes of one change; a memory that needs more stays where it is."""
MEMORY: Final = "memory"
LINK: Final = "link"
_KINDS: Final = frozenset({MEMORY, LINK})
_MACHINE: Final = re.compile(r"[0-9a-f]{32}\Z")
_MAX_FIELDS: Final = 32
_MAX_MACHINES: Final = 1024
_MAX_USES: Final = (1 << 32) - 1
_MAX_SUBJECT: Final = 160


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one machine tells of one memory or link."""

    v: int
    machine: str
    """Whose log it is in: 32 hex digits."""
    seq: int
    """Its place in that log, from 1 and without gaps."""
    clock: int
    by: str
    """The machine that made the change; another than ``machine`` where one tells all that it knows."""
    kind: str
    """memory or link."""
    subject: str
    """A memory's UUID; of a link source UUID, target UUID and relationship, with slashes between."""
    fields: dict[str, Any]
    """Values at that clock. ``removed`` of a memory and its link-less end is final."""
    uses: dict[str, tuple[int, int]] = {}
    """Machine -> how often it used the memory so far, and Unix ms of the last time."""


_DECODER: Final = msgspec.json.Decoder(Change)


def is_machine(text: str) -> bool:
    """Return whether ``text`` can be a machine's id."""
    return _MACHINE.match(text) is not None


def canonical(value: Any) -> bytes:
    """Return ``value`` as JSON of which there is but one. Raises InvalidInputError: too deep, too large a
    number."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise InvalidInputError(f"a value that can't be told: {error}") from error


def digest(data: bytes) -> str:
    """32 hex digits."""
    return blake2b(data, digest_size=16).hexdigest()


def encode(change: Change) -> bytes:
    """Return the line of ``change``, without its end. Raises InvalidInputError if it is too long."""
    line = canonical(msgspec.to_builtins(change))
    if len(line) > MAX_LINE_BYTES:
        raise InvalidInputError(f"{change.kind} {change.subject} has {len(line)} bytes, too much to be told")
    return line


def decode(line: bytes) -> Change:
    """Return the change in ``line``, every part of its frame checked; what fields hold is not.

    Raises InvalidInputError: It is none; the text says why and quotes nothing of it.
    """
    if len(line) > MAX_LINE_BYTES:
        raise InvalidInputError(f"a change of {len(line)} bytes")
    try:
        change = _DECODER.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidInputError(f"no change: {str(error)[:120]}") from error
    if change.v != VERSION:
        raise InvalidInputError(f"a change of version {change.v}, this build reads {VERSION}")
    fault = _fault(change)
    if fault:
        raise InvalidInputError(f"a change with {fault}")
    return change


def _fault(change: Change) -> str:
    if not (is_machine(change.machine) and is_machine(change.by)):
        return "no machine's id"
    if not (1 <= change.seq <= MAX_CLOCK and 0 <= change.clock <= MAX_CLOCK):
        return "a number out of range"
    if change.kind not in _KINDS or not 1 <= len(change.subject) <= _MAX_SUBJECT:
        return "no known kind or subject"
    if len(change.fields) > _MAX_FIELDS:
        return f"{len(change.fields)} fields"
    return _uses_fault(change.uses)


def _uses_fault(uses: Mapping[str, tuple[int, int]]) -> str:
    if len(uses) > _MAX_MACHINES or not all(map(is_machine, uses)):
        return "uses of no machine"
    if not all(0 <= n <= _MAX_USES and 0 <= last <= MAX_CLOCK for n, last in uses.values()):
        return "uses out of range"
    return ""


COUNTER_BITS: Final = 16
MAX_CLOCK: Final = (1 << 63) - 1
MAX_AHEAD_MS: Final = 600_000
"""How far another machine's clock may be ahead of ours."""


def packed(at_ms: int) -> int:
    """Return the first clock value of that millisecond."""
    return min(max(0, at_ms) << COUNTER_BITS, MAX_CLOCK)


def latest(now_ms: int) -> int:
    """Return the largest value that a clock may have."""
    return packed(now_ms + MAX_AHEAD_MS + 1) - 1


def after(last: int, at_ms: int) -> int:
    """Return the value of an event at ``at_ms`` that comes after all up to ``last``."""
    return max(packed(at_ms), last + 1)


def is_ahead(clock: int, now_ms: int) -> bool:
    """Return whether a value is further ahead of ``now_ms`` than any clock may be."""
    return clock > latest(now_ms)
