"""One exchange between a store and a place: tell what is new here, read what is new there.

It runs apart from the owner, which hooks wait for; the store is asked in slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from context_graph.memory.memex import Memex
from context_graph.sync.change import decode
from context_graph.sync.exchange import Exchange, Merged, Outgoing
from context_graph.sync.transport import Head, Refusal, Told, Transport

_USES: Final = "uses "
MAX_REFUSED: Final = 100
"""That are listed; all are counted."""


class Side(Protocol):
    """The store's side, in slices (`Exchange`)."""

    def stamp(self, cursor: str) -> str | None:
        """Note what was changed here; where to go on, None at the end. "" at first."""

    def machine(self) -> str:
        """The store's id."""

    def outgoing(self, place: str, head: Head | None) -> Outgoing: ...

    def pushed(self, place: str) -> None: ...

    def read(self, place: str) -> dict[str, int]:
        """Machine -> number of the last line of its log there that was read."""

    def merge(self, place: str, machine: str, lines: Sequence[bytes], upto: int) -> Merged: ...


@dataclass(slots=True)
class Report:
    """What one exchange came to."""

    machine: str = ""
    told: int = 0
    """Lines pushed."""
    heard: int = 0
    """Lines of others that told something new."""
    machines: int = 0
    """Others with a log there."""
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
    report = Report()
    _tell(side, transport, report)
    _read(side, transport, report)
    return report


def _tell(side: Side, transport: Transport, report: Report) -> None:
    cursor: str | None = ""
    while cursor is not None:
        cursor = side.stamp(cursor)
    report.machine = side.machine()
    head, more = transport.head(report.machine), True
    while more:
        out = side.outgoing(transport.name, head)
        report.machine = out.machine  # another one if the place has not what this store has written
        report.refuse(out.unfit)
        if out.lines:
            head = transport.push(out.machine, [Told(decode(line), line) for line in out.lines])
            side.pushed(transport.name)
            report.told += len(out.lines)
        more = out.more


def _read(side: Side, transport: Transport, report: Report) -> None:
    read = side.read(transport.name)
    others = [machine for machine in transport.machines() if machine != report.machine]
    report.machines = len(others)
    for machine in others:
        at, more = read.get(machine, 0), True
        while more:
            page = transport.pull(machine, at)
            report.refuse(page.refused)
            merged = side.merge(transport.name, machine, [one.line for one in page.told], page.upto)
            report.heard += merged.new
            report.refuse(merged.refused)
            if merged.waits_for_clock:
                report.ahead.append(machine)
            more = page.more and merged.read > at
            at = merged.read


class OpenStore:
    """The side of a store that is open in this process."""

    def __init__(self, memex: Memex) -> None:
        self._core = memex.core

    def stamp(self, cursor: str) -> str | None:
        with self._core.operation("sync", writes=True) as core:
            work = Exchange(core)
            if not cursor:
                return "" if work.stamp() else _USES
            after = work.stamp_uses(bytes.fromhex(cursor.removeprefix(_USES)))
            return None if after is None else _USES + after.hex()

    def machine(self) -> str:
        with self._core.operation("sync", writes=True) as core:
            return Exchange(core).notes.machine.id

    def outgoing(self, place: str, head: Head | None) -> Outgoing:
        with self._core.operation("sync", writes=True) as core:
            return Exchange(core).outgoing(place, head)

    def pushed(self, place: str) -> None:
        with self._core.operation("sync", writes=True) as core:
            Exchange(core).pushed(place)

    def read(self, place: str) -> dict[str, int]:
        with self._core.operation("sync") as core:
            return dict(Exchange(core).notes.place(place).read)

    def merge(self, place: str, machine: str, lines: Sequence[bytes], upto: int) -> Merged:
        with self._core.operation("sync", writes=True) as core:
            return Exchange(core).merge(place, machine, lines, upto)
