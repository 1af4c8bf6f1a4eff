"""One exchange between a store and a place: tell what is new here, read what is new there.

It runs apart from the owner, which hooks wait for; the store is asked in slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from context_graph.sync.change import decode
from context_graph.sync.transport import ConflictError, Head, Refusal, Told, Transport

_OTHER: Final = Head(0, "another")
"""No end that any log of ours has: the store takes a new id."""
MAX_REFUSED: Final = 100
"""That are listed; all are counted."""


class Outgoing(NamedTuple):
    """Lines to push, in order; all are there already if there are none and no ``more``."""

    machine: str
    lines: Sequence[bytes]
    more: bool
    unfit: Sequence[Refusal] = ()
    """What is too long to be told."""


class Merged(NamedTuple):
    """What came of a page."""

    new: int
    """Lines that told something new."""
    read: int
    """Number of the last line that has been read."""
    refused: Sequence[Refusal]
    waits_for_clock: bool
    """A line from later than our clock allows: its log waits there."""


class Side(Protocol):
    """The store's side, in slices (`exchange.OpenStore`)."""

    def stamp(self, cursor: str) -> str | None:
        """Note what was changed here; where to go on, None at the end. "" at first."""

    def machine(self) -> str:
        """The store's id."""

    def outgoing(self, place: str, head: Head | None) -> Outgoing: ...

    def pushed(self, place: str) -> None: ...

    def read(self, place: str) -> dict[str, int]:
        """Machine -> number of the last line of its log there that was read."""

    def merge(
        self, place: str, machine: str, lines: Sequence[bytes], upto: int, author: str = ""
    ) -> Merged: ...


@dataclass(slots=True)
class Report:
    """What one exchange came to."""

    machine: str = ""
    told: int = 0
    """Lines pushed."""
    read_only: bool = False
    """Nothing may be told there."""
    heard: int = 0
    """Lines of others that told something new."""
    machines: set[str] = field(default_factory=set)
    """Others whose logs had something new."""
    refused_count: int = 0
    refused: list[Refusal] = field(default_factory=list)
    """The first MAX_REFUSED."""
    ahead: list[str] = field(default_factory=list)
    """Machines whose clocks are ahead of ours: the rest of their logs waits."""

    def refuse(self, some: Sequence[Refusal]) -> None:
        """Count and list what was not taken."""
        self.refused_count += len(some)
        self.refused.extend(some[: MAX_REFUSED - len(self.refused)])


def exchange(side: Side, transport: Transport) -> Report:
    """Tell and read until there is nothing new.

    Raises:
        TransportError: The place can't be reached; what was told and read until then stands, and the next
            exchange goes on there.
        StoreError: The store can't be written.
    """
    report = Report(side.machine())
    report.read_only = transport.is_read_only()
    if not report.read_only:
        _tell(side, transport, report)
    hear(side, transport, report)
    return report


def _tell(side: Side, transport: Transport, report: Report) -> None:
    stamp_all(side)
    report.machine = side.machine()
    head, more, conflicts = _head(transport, report.machine), True, 0
    while more:
        out = side.outgoing(transport.name, head)
        report.machine = out.machine  # another one if the place has not what this store has written
        report.refuse(out.unfit)
        if out.lines:
            try:
                head = transport.push(out.machine, [Told(decode(line), line) for line in out.lines])
            except ConflictError:
                conflicts += 1
                if conflicts > 1:
                    raise
                head = _OTHER
                continue
            report.told += len(out.lines)
            if not out.more:  # else the next question tells the store by its head
                side.pushed(transport.name)
        more = out.more


def _head(transport: Transport, machine: str) -> Head | None:
    try:
        return transport.head(machine)
    except ConflictError:
        return _OTHER


def stamp_all(side: Side) -> None:
    """Stamp what was changed in the store since the last time. Raises StoreError."""
    cursor: str | None = ""
    while cursor is not None:
        cursor = side.stamp(cursor)


def hear(side: Side, transport: Transport, report: Report) -> None:
    """Read what others told, round after round, until one finds nothing that can be read on.

    The log of ``report.machine`` is not read. Raises as `exchange`.
    """
    read, done, more = dict(side.read(transport.name)), {report.machine}, True
    while more:
        more = False
        for machine, page in transport.news(read, done):
            report.machines.add(machine)
            report.refuse(page.refused)
            lines = [one.line for one in page.told]
            merged = side.merge(transport.name, machine, lines, page.upto, page.author)
            report.heard += merged.new
            report.refuse(merged.refused)
            if merged.waits_for_clock:
                report.ahead.append(machine)
            if merged.waits_for_clock or merged.read <= read.get(machine, 0):
                done.add(machine)
            else:
                more = True
            read[machine] = merged.read
