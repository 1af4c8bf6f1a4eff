"""What a machine knows of one memory or link: for each field the newest stamp and a digest of its value.

Two of these merge into one in any order and any number of times with the same result: for each field the
largest (clock, machine, digest) holds, for each machine its largest count of uses, and `removed` is final.
"""

from __future__ import annotations

from _blake2 import blake2b
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from context_graph.sync.change import Change, canonical

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
    """One memory or link."""

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
        """Return what ``place`` was not told: fields by (clock, machine), and machines whose uses are new to
        it."""

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

        Args:
            values: Of its fields, as they are on this machine.
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
