"""Reads what others told, and pushes what this machine tells: the parts that each exchange is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from context_graph.sync.change import REMOVED, decode
from context_graph.sync.side import Gaps, Known, Merged, Outgoing, Side, Stretch, without
from context_graph.sync.transport import ConflictError, Head, LoggedChange, Page, Refusal, Transport

OTHER: Final = Head(0, "another")
"""No end that any log of ours has: the store takes a new id."""
MAX_REFUSED: Final = 100
"""Refused lines that are listed; all are counted."""


@dataclass(slots=True)
class Report:
    """What one exchange came to."""

    machine: str = ""
    told: int = 0
    """Lines pushed."""
    handed_on: int = 0
    """Those of these lines that the place had lost or never had, whoever sent them first."""
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
    clock_was_wrong: bool = False
    """This machine had stamped changes with later than now; they have been stamped anew."""
    removed: set[str] = field(default_factory=set)
    """Memories that were told or heard to be deleted for good."""

    def refuse(self, some: Sequence[Refusal]) -> None:
        """Count and list what was not taken."""
        self.refused_count += len(some)
        self.refused.extend(some[: MAX_REFUSED - len(self.refused)])


def push(transport: Transport, report: Report, out: Outgoing) -> Head:
    """Push a page. Raises as the transport does."""
    lines = [LoggedChange(decode(line), line) for line in out.lines]
    head = transport.push(out.machine, lines)
    report.told += len(lines)
    report.removed.update(line.change.subject for line in lines if REMOVED in line.change.fields)
    return head


def head_of(transport: Transport, machine: str) -> Head | None:
    try:
        return transport.head(machine)
    except ConflictError:
        return OTHER


@dataclass(slots=True)
class Hearing:
    """What hearing came to."""

    read: dict[str, int]
    marks: dict[str, str]
    gaps: dict[str, Gaps]
    """Lines that are missing, by machine."""
    lost: set[str] = field(default_factory=set)
    """Machines of whose logs the place has less than was read."""


def hear(side: Side, transport: Transport, report: Report, known: Known) -> Hearing:
    """Read what others told, round after round, until one finds nothing that can be read on.

    The log of ``report.machine`` is not read. Raises as `exchange`.
    """
    hearing = Hearing(
        dict(known.read), dict(known.marks), {machine: [*gaps] for machine, gaps in known.gaps.items()}
    )
    done, more = {report.machine}, True
    for machine, gaps in known.gaps.items():
        for first, last in gaps:
            _fill(side, transport, report, hearing, machine, first, last)
    while more:
        more = False
        for machine, page in transport.news(hearing.read, done, hearing.marks):
            after = hearing.read.get(machine, 0)
            if page.is_behind:
                hearing.lost.add(machine)
                done.add(machine)
                continue
            page_read = merged(side, transport, report, machine, page, after)
            hearing.gaps.setdefault(machine, []).extend(page.missing)
            if page_read.waits_for_clock and machine not in known.former:
                report.ahead.append(machine)
            if page_read.waits_for_clock or page_read.read <= after:
                done.add(machine)
            else:
                more = True
            hearing.read[machine], hearing.marks[machine] = page_read.read, page.mark
    return hearing


def _fill(
    side: Side, transport: Transport, report: Report, hearing: Hearing, machine: str, first: int, last: int
) -> None:
    """Read lines that were missing, if they have come."""
    after = first - 1
    while after < last:
        page = transport.pull(machine, after)
        if page.is_behind or page.upto <= after:
            return
        upto = min(page.upto, last)
        lines = [line for line in page.changes if line.change.seq <= upto]
        missing = [(a, min(b, upto)) for a, b in page.missing if a <= upto]
        part = Page(lines, (), upto, False, page.author, missing)
        merged(side, transport, report, machine, part, after)
        hearing.gaps[machine] = sorted([*without(hearing.gaps.get(machine, []), after, upto), *missing])
        after = upto


def merged(side: Side, transport: Transport, report: Report, machine: str, page: Page, after: int) -> Merged:
    """Have the store take a page that follows line ``after``. Raises StoreError."""
    report.machines.add(machine)
    report.refuse(page.refused)
    report.removed.update(line.change.subject for line in page.changes if REMOVED in line.change.fields)
    lines = [line.line for line in page.changes]
    part = Stretch(machine, lines, page.upto, after, page.author, page.missing, page.mark)
    done = side.merge(transport.name, part)
    report.heard += done.new
    report.refuse(done.refused)
    more = done.more
    while more:
        more = side.apply()
    return done
