"""The wire format: one change is one line of JSON with sorted keys. docs/dev/formats.md describes the fields.

A line is a promise to every machine that has read one: fields may be added under a new ``v``, never reused.
"""

from __future__ import annotations

import re
from _blake2 import blake2b
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

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
    """Return ``value`` as the one JSON of it. Raises InvalidInputError: too deep, too large a number."""
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


# What a machine knows of one memory or link


REMOVED: Final = "removed"
TOMBSTONE: Final = "tombstone"
GONE: Final = "gone"
KEPT: Final = frozenset({REMOVED, TOMBSTONE, GONE})
"""Fields whose values are kept here, for the records that they speak of may be gone."""
MAX_USES: Final = (1 << 32) - 1
MAX_USERS: Final = 1024
"""Machines whose uses are kept: those with the smallest ids, the same in whatever order they come."""


class Origin(NamedTuple):
    """How this machine came to know something."""

    version: int
    """The version of its notes; later is larger."""
    source: str
    """The place that it was read from; "" if it was made here."""


class Stamp(NamedTuple):
    """Who set a field, when, and to what."""

    clock: int
    by: str
    digest: str


def value_digest(value: Any) -> str:
    """16 hex digits of a field's value."""
    return blake2b(canonical(value), digest_size=8).hexdigest()


@dataclass(slots=True)
class Register:
    """One memory or link: for each field the newest stamp and a digest of its value.

    Two of these merge into one in any order and any number of times with the same result: for each field
    the largest (clock, machine, digest) holds, for each machine its largest count of uses, and `removed` is
    final.
    """

    kind: str
    subject: str
    version: int = 0
    """The last of its origins."""
    was: int = field(default=0, compare=False)
    """The version that its note has in the store; 0 while there is none."""
    stamps: dict[str, Stamp] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    """The origin of each field's stamp."""
    uses: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Machine -> how often it used the memory, Unix ms of the last time."""
    use_origins: dict[str, Origin] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    """The values of the fields in KEPT, and of those that no record has yet."""

    @property
    def removed(self) -> bool:
        """Deleted for good."""
        return REMOVED in self.stamps

    @property
    def buried(self) -> bool:
        """Soft-deleted, or a link that is no more."""
        return bool(self.values.get(TOMBSTONE) or self.values.get(GONE))

    @property
    def is_unwritten(self) -> bool:
        """Whether it has values that no record has yet."""
        return bool(set(self.values) - KEPT)

    @property
    def times(self) -> int:
        """Uses by all machines."""
        return min(sum(times for times, _ in self.uses.values()), MAX_USES)

    @property
    def last_ms(self) -> int:
        """Unix ms of the last use anywhere."""
        return max((last for _, last in self.uses.values()), default=0)

    def set(self, name: str, stamp: Stamp, value: Any, origin: Origin) -> bool:
        """Take a field's value if its stamp is the newest; whether it was."""
        if self.removed and name != REMOVED:
            return False
        there = self.stamps.get(name)
        if there is not None and there >= stamp:
            return False
        if name == REMOVED and not self.removed:
            for part in (self.stamps, self.origins, self.values, self.uses, self.use_origins):
                part.clear()
        self.stamps[name], self.origins[name], self.values[name] = stamp, origin, value
        self.version = origin.version
        return True

    def used(self, machine: str, uses: tuple[int, int], origin: Origin) -> bool:
        """Take a machine's count of uses if it is larger; whether it was."""
        times, last = self.uses.get(machine, (0, 0))
        newest = max(times, uses[0]), max(last, uses[1])
        if self.removed or newest == (times, last):
            return False
        if machine not in self.uses and len(self.uses) >= MAX_USERS:
            last_id = max(self.uses)
            if machine > last_id:
                return False
            del self.uses[last_id], self.use_origins[last_id]
        self.uses[machine], self.use_origins[machine] = newest, origin
        self.version = origin.version
        return True

    def take(self, change: Change, origin: Origin) -> bool:
        """Merge a change; whether anything is new."""
        new = False
        for name in sorted(change.fields, key=lambda name: name != REMOVED):
            value = change.fields[name]
            new |= self.set(name, Stamp(change.clock, change.by, value_digest(value)), value, origin)
        for machine, (times, last) in change.uses.items():
            new |= self.used(machine, (times, last), origin)
        return new

    def forget_values(self) -> None:
        """Drop the values that the records have now."""
        self.values = {name: value for name, value in self.values.items() if name in KEPT}

    def untold(self, version: int, place: str) -> tuple[dict[tuple[int, str], list[str]], list[str]]:
        """Return what is new to ``place``: fields by (clock, machine), and machines whose uses are."""

        def is_new(origin: Origin) -> bool:
            return origin.version > version and origin.source != place

        names = [name for name, origin in self.origins.items() if is_new(origin)]
        users = [machine for machine, origin in self.use_origins.items() if is_new(origin)]
        return self.groups(names), sorted(users)

    def ahead(self, clock: int) -> list[str]:
        """Return its fields whose stamps are later than that clock."""
        return [name for name, stamp in self.stamps.items() if stamp.clock > clock]

    def groups(self, names: Iterable[str]) -> dict[tuple[int, str], list[str]]:
        """Return those of its fields that it has, by (clock, machine) of their stamps, in that order."""
        groups: dict[tuple[int, str], list[str]] = {}
        for name in names:
            if name in self.stamps:
                groups.setdefault(self.stamps[name][:2], []).append(name)
        return dict(sorted(groups.items()))

    def note(self) -> dict[str, Any]:
        """As it is stored; fields that were set together stand together."""
        groups: dict[tuple[Any, ...], dict[str, str]] = {}
        for name, stamp in sorted(self.stamps.items()):
            groups.setdefault((*stamp[:2], *self.origins[name]), {})[name] = stamp.digest
        note: dict[str, Any] = {
            "k": self.kind,
            "s": self.subject,
            "n": self.version,
            "f": [[*head, names] for head, names in groups.items()],
        }
        if self.uses:
            note["u"] = {
                machine: [*self.uses[machine], *self.use_origins[machine]] for machine in sorted(self.uses)
            }
        if self.values:
            note["v"] = self.values
        return note

    @classmethod
    def of(cls, note: Mapping[str, Any]) -> Register:
        """Return what `note` gave."""
        made = cls(note["k"], note["s"], note["n"], note["n"], values=dict(note.get("v", {})))
        for clock, by, version, source, names in note["f"]:
            for name, its in names.items():
                made.stamps[name], made.origins[name] = Stamp(clock, by, its), Origin(version, source)
        for machine, (times, last, version, source) in note.get("u", {}).items():
            made.uses[machine], made.use_origins[machine] = (times, last), Origin(version, source)
        return made

    def agreed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state that all machines agree on once they have heard of each other, JSON-able.
        ``values``: of its fields, as they are on this machine.
        """
        fields = {
            name: [values[name], *stamp[:2]]
            for name, stamp in sorted(self.stamps.items())
            if name in values and (name in KEPT or not (self.removed or self.buried))
        }
        return {
            "kind": self.kind,
            "subject": self.subject,
            "fields": fields,
            "uses": dict(sorted(self.uses.items())),
        }
