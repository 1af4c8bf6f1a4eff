"""One exchange of a store with a place: tell what is new here, read what is new there, keep the place whole.

It runs apart from the owner, which hooks wait for; the store is asked in slices.
"""

from __future__ import annotations

from context_graph.sync.audit import see_to
from context_graph.sync.hearing import OTHER, Report, head_of, hear, push
from context_graph.sync.side import CLOCK, Side
from context_graph.sync.transport import ClockError, ConflictError, Transport


def exchange(side: Side, transport: Transport) -> Report:
    """Tell and read until there is nothing new, and hand on what the place has lost.

    Raises:
        TransportError: The place can't be reached; what was told and read until then stands, and the next
            exchange goes on there.
        ClockError: The place takes nothing from a clock like ours; what others told was read.
        StoreError: The store can't be written.
    """
    report = Report(side.machine())
    report.read_only = transport.is_read_only()
    late: ClockError | None = None
    if not report.read_only:
        try:
            _tell(side, transport, report)
        except ClockError as error:
            late = error
    known = side.known(transport.name)
    hearing = hear(side, transport, report, known)
    if late is not None:
        raise late
    see_to(side, transport, report, known, hearing)
    return report


def _tell(side: Side, transport: Transport, report: Report) -> None:
    report.clock_was_wrong = stamp_all(side)
    report.machine = side.machine()
    head, more, conflicts = head_of(transport, report.machine), True, 0
    while more:
        out = side.outgoing(transport.name, head)
        report.machine = out.machine  # another one if the place has not what this store has written
        report.refuse(out.unfit)
        if out.lines:
            try:
                head = push(transport, report, out)
            except ConflictError:
                conflicts += 1
                if conflicts > 1:
                    raise
                head = OTHER
                continue
            if not out.more:  # else the next question tells the store by its head
                side.pushed(transport.name)
        more = out.more


def stamp_all(side: Side) -> bool:
    """Stamp what was changed in the store since; whether its clock had been wrong. Raises StoreError."""
    cursor: str | None = ""
    was_wrong = False
    while cursor is not None:
        cursor = side.stamp(cursor)
        was_wrong |= cursor is not None and cursor.startswith(CLOCK)
    return was_wrong
