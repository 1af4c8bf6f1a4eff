"""One exchange of a store with a place: tell what is new here, read what is new there, keep the place whole.

It runs apart from the owner, which hooks wait for; the store is asked in slices. What a place has lost is
handed on, and what must go is taken out; nothing of that is done while the place is as it was: the question
for news also compares where each log ends with what was read of it.

A store has one exchange at a time: two would tell different lines under one number. What the last one with
each place came to is noted for people: `sync`, `doctor` and the view show it, nothing goes by it.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from context_graph.errors import ContextGraphError, StoreBusyError
from context_graph.sync.change import REMOVED, Change
from context_graph.sync.hearing import OTHER, Hearing, Report, head_of, hear, merged, push
from context_graph.sync.side import CLOCK, Kept, Known, Lacking, Side, Stamped
from context_graph.sync.transport import ClockError, ConflictError, Page, Transport
from context_graph.system.small_files import replacing


def exchange(side: Side, transport: Transport) -> Report:
    """Tell and read until there is nothing new, and hand on what the place has lost.

    TransportError: it can't be reached; what was told and read until then stands, and the next exchange goes
    on there. ClockError: it takes nothing from a clock like ours; what others told was read. StoreError: the
    store can't be written.
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


_AT_ONCE: Final = 64
"""Memories and links that one question to the store names."""


def see_to(side: Side, transport: Transport, report: Report, known: Known, heard: Hearing) -> None:
    """Do what follows hearing. Raises as `exchange`."""
    gaps = {machine: gaps for machine, gaps in heard.gaps.items() if gaps}
    if gaps or known.gaps:
        transport.want(report.machine, gaps)
    wanted, is_own = transport.wanted(report.machine)
    is_torn = not report.read_only and transport.is_torn(report.machine)
    if heard.lost or is_torn or _is_new(wanted, known.wanted):
        _audit(side, transport, report, heard)
    if (is_torn or is_own) and not report.read_only:
        transport.rewrite(report.machine)
    if heard.lost or wanted != known.wanted:
        kept = Kept(None, {}, wanted)
        if heard.lost:  # what was taken out may be there again
            kept = Kept(heard.read, heard.marks, wanted, purged=0)
        side.keep(transport.name, kept)
        known = side.known(transport.name)
    if not report.read_only:
        for former in known.former:
            transport.withdraw(former)
        if known.former:
            side.keep(transport.name, Kept(withdrawn=known.former))
        _purge(side, transport, report, known)


def _is_new(wanted: str, before: str | None) -> bool:
    return before is not None and bool(set(wanted.split(",")) - {"", *before.split(",")})


def _purge(side: Side, transport: Transport, report: Report, known: Known) -> None:
    """Take out of this machine's logs what was deleted for good, whoever deleted it."""
    gone = {*report.removed, *known.removed}
    while known.more:
        side.keep(transport.name, Kept(purged=known.version))
        known = side.known(transport.name)
        gone.update(known.removed)
    for machine in (report.machine, *known.earlier) if gone else ():
        transport.rewrite(machine, gone)
    if known.version > known.purged:
        side.keep(transport.name, Kept(purged=known.version))


def _audit(side: Side, transport: Transport, report: Report, heard: Hearing) -> None:
    """Compare all that the place has with all that the store knows, and tell what is not there."""
    there, names = _There(), transport.machines()
    for machine in heard.lost:
        heard.read.pop(machine, None)
        heard.marks.pop(machine, None)
    for machine in names:
        for after, page in _pages(transport, machine):
            for line in page.changes:
                there.add(line.change)
            if machine in heard.lost and machine != report.machine:
                done = merged(side, transport, report, machine, page, after)
                heard.read[machine], heard.marks[machine] = done.read, page.mark
                if done.waits_for_clock:
                    break
    if not report.read_only:
        _hand_on(side, transport, report, there)


def _pages(transport: Transport, machine: str) -> Iterator[tuple[int, Page]]:
    """Yield the pages of a whole log, each with the number that it follows."""
    after = 0
    while (page := transport.pull(machine, after)).upto > after:
        yield after, page
        after = page.upto


def _hand_on(side: Side, transport: Transport, report: Report, there: _There) -> None:
    """Tell what is not there, deletions first: nothing that was deleted must rise."""
    lacking = sorted(_lacking(side, there), key=lambda row: REMOVED not in row[2])
    head, at = head_of(transport, report.machine), 0
    while at < len(lacking):
        out, count = side.again(transport.name, head, lacking[at : at + _AT_ONCE])
        at += count
        if out.lines:
            head = push(transport, report, out)
            report.handed_on += len(out.lines)
            side.pushed(transport.name)


def _lacking(side: Side, there: _There) -> Iterator[Lacking]:
    cursor: str | None = ""
    while cursor is not None:
        rows, cursor = side.stamps(cursor)
        for row in rows:
            names, users = there.lacks(row)
            if names or users:
                yield row[0], row[1], names, users


class _There:
    """Which stamps a place has: some 100 bytes for each change of a memory."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._fields: dict[int, int] = {}
        """Hash of a stamp and what it is about -> a bit for each field."""
        self._uses: dict[int, int] = {}

    def add(self, change: Change) -> None:
        """Add what one line tells."""
        key = hash((change.kind, change.subject, change.clock, change.by))
        self._fields[key] = self._fields.get(key, 0) | self._mask(change.fields)
        for machine, (times, _) in change.uses.items():
            key = hash((change.kind, change.subject, machine))
            self._uses[key] = max(times, self._uses.get(key, 0))

    def lacks(self, row: Stamped) -> tuple[list[str], list[str]]:
        """Fields and users of a memory or link that no line tells."""
        kind, subject, groups, uses = row
        names = list[str]()
        for clock, by, some in groups:
            mask = self._fields.get(hash((kind, subject, clock, by)), 0)
            names += [name for name in some if not mask & self._mask([name])]
        users = [
            user for user, times in uses.items() if times > self._uses.get(hash((kind, subject, user)), 0)
        ]
        return names, users

    def _mask(self, names: Iterable[str]) -> int:
        mask = 0
        for name in names:
            mask |= 1 << self._bits.setdefault(name, len(self._bits))
        return mask


# One at a time

_LOCK: Final = "sync.lock"
_NOTES: Final = "sync.json"
_WAIT_S: Final = 5.0
_LOOK_S: Final = 0.02
_MAX_WHY: Final = 500
_KEPT: Final = 5
"""Refusals that are noted of an exchange."""


class Last(msgspec.Struct):
    """The last exchanges with one place. Times are Unix milliseconds, 0 for never."""

    where: str
    """A folder's path, or a hub's team and project."""
    tried_ms: int = 0
    done_ms: int = 0
    """Of the last one that was not cut off."""
    told_ms: int = 0
    """Of the last that told something; `heard_ms` of the last that heard something."""
    heard_ms: int = 0
    told: int = 0
    """Lines, of all exchanges together."""
    heard: int = 0
    refused_count: int = 0
    refused: list[tuple[str, str]] = []
    """The last ones: where, and why."""
    refused_ms: int = 0
    ahead: list[str] = []
    """Machines whose clocks are ahead of ours."""
    failed: str = ""
    """Why the last one was cut off; empty if it was not."""


def exchange_once(store: Path, where: str, side: Side, transport: Transport) -> Report:
    """Exchange with a place, and note what came of it.

    Raises StoreBusyError if another exchange of this store is running, and as `exchange`, whose error is
    noted.
    """
    with alone(store):
        began_ms = time.time_ns() // 1_000_000
        try:
            report = exchange(side, transport)
        except ContextGraphError as error:
            note_failure(store, transport.name, where, str(error), began_ms)
            raise
        _note(store, transport.name, where, report, began_ms)
        return report


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Wait a little for the exchange that runs by itself, which mostly takes a moment.

    Raises StoreBusyError: Another exchange of this store goes on running.
    """
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    end = time.monotonic() + _WAIT_S
    with open(store / _LOCK, "ab") as lock:
        while not _took(lock.fileno()):
            if time.monotonic() > end:
                raise StoreBusyError("another `sync` of this project is running; try again when it is done")
            time.sleep(_LOOK_S)
        yield


def _took(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def last_exchanges(store: Path) -> dict[str, Last]:
    """By the place's name; nothing if none was made, or the note can't be read."""
    try:
        return msgspec.json.decode((store / _NOTES).read_bytes(), type=dict[str, Last])
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return {}


def note_failure(store: Path, name: str, where: str, why: str, began_ms: int) -> None:
    """Note that a place could not be reached."""
    notes = last_exchanges(store)
    last = notes.setdefault(name, Last(where))
    last.where, last.tried_ms, last.failed = where, began_ms, why[:_MAX_WHY]
    _write(store, notes)


def _note(store: Path, name: str, where: str, report: Report, began_ms: int) -> None:
    notes = last_exchanges(store)
    last = notes.setdefault(name, Last(where))
    last.where, last.tried_ms, last.failed, last.ahead = where, began_ms, "", report.ahead
    last.done_ms = time.time_ns() // 1_000_000
    if report.told:
        last.told_ms, last.told = last.done_ms, last.told + report.told
    if report.heard:
        last.heard_ms, last.heard = last.done_ms, last.heard + report.heard
    if report.refused_count:
        last.refused_count += report.refused_count
        last.refused_ms = last.done_ms
        last.refused = [(refusal.where, refusal.why) for refusal in report.refused[:_KEPT]]
    _write(store, notes)


def _write(store: Path, notes: dict[str, Last]) -> None:
    try:
        with replacing(store / _NOTES) as out:
            out.write(msgspec.json.encode(notes))
    except OSError:
        pass  # a full disk must not undo an exchange that went through
