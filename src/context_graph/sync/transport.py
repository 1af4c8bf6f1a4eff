"""What carries logs of changes between machines. The conformance kit proves each of them.

A transport knows logs and lines, not memories. Each machine appends to its own log alone; all read all.
`tests/support/exchange/transports.py` is that kit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, Protocol

from context_graph.errors import ContextGraphError
from context_graph.sync.change import Change, digest

PAGE_LINES: Final = 256
PAGE_BYTES: Final = 1 << 20
"""A page ends behind the line that reaches this."""


class Head(NamedTuple):
    """The end of one machine's log."""

    seq: int
    digest: str
    """Of its last line (`change.digest`)."""


class LoggedChange(NamedTuple):
    """A change and the line that it stands in."""

    change: Change
    line: bytes


class Refusal(NamedTuple):
    """Something that was not taken."""

    where: str
    why: str
    """A sentence's end, which quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some changes of one machine, in its order."""

    changes: Sequence[LoggedChange] = ()
    refused: Sequence[Refusal] = ()
    upto: int = 0
    """All up to this number have been read; compaction may have dropped some of them."""
    more: bool = False
    """Whether there is more to be had now."""
    author: str = ""
    """Whose log it is, where the place itself knows that."""
    missing: Sequence[tuple[int, int]] = ()
    """First and last number of lines up to ``upto`` that must be there and are not."""
    mark: str = ""
    """By what the place tells line ``upto`` from another of that number; "" if it can't."""
    is_behind: bool = False
    """The place has lost what was read: the log ends before, or has another line there."""


class ConflictError(ContextGraphError):
    """This machine's log there is not what this store has written: it was restored or copied."""

    code: ClassVar[str] = "sync_conflict"


class TransportError(ContextGraphError):
    """The place can't be reached or written; nothing was lost, and it can be tried again."""

    code: ClassVar[str] = "sync_transport"


class ClockError(TransportError):
    """The place takes nothing that was stamped so far in its future; what others told can be read."""

    code: ClassVar[str] = "sync_clock"


def untold(machine: str, lines: Sequence[LoggedChange], there: Head | None) -> Sequence[LoggedChange]:
    """Return those of ``lines`` that follow what is ``there`` of that machine's log; None: it shows nothing.

    Raises ConflictError if they don't continue it, or others are there under their numbers.
    """
    fresh = [line for line in lines if there is None or line.change.seq > there.seq]
    first = fresh[0].change.seq if fresh else 0
    start = first if there is None else there.seq + 1
    if any(line.change.seq != number for number, line in enumerate(fresh, start)):
        raise ConflictError(f"change {first} does not continue the log of {machine}")
    known = lines[: len(lines) - len(fresh)]
    if there and known and known[-1].change.seq == there.seq and digest(known[-1].line) != there.digest:
        raise ConflictError(f"change {there.seq} of {machine} is another one there")
    return fresh


class Transport(Protocol):
    """The contract.

    - A push that returned is durable and seen by every later pull. One that raised or died may have happened:
      it is pushed again, and lines that are there already are not added twice.
    - Each log is read in its machine's order, without gaps that compaction did not make.
    - What is damaged or missing is told as `Refusal` and in ``missing``, never given out in part; what
      follows is given out. Who reads says what they miss (`want`), and others hand on what they know of it.
    - Every method takes bounded memory, whatever others wrote.
    """

    @property
    def name(self) -> str:
        """Of this place: 1 to 64 characters, by which a store notes what it has told and read there."""

    def head(self, machine: str) -> Head | None:
        """Return the end of that machine's log; None if it has none. Raises TransportError."""

    def is_read_only(self) -> bool:
        """Return whether nothing may be told there, by what the place itself says. Raises TransportError."""
        return False

    def push(self, machine: str, lines: Sequence[LoggedChange]) -> Head:
        """Append to that machine's log, all or none; returns its new end.

        The lines' numbers follow one another; some or all may be there already. ConflictError: they don't
        follow the end, or others are there under their numbers. TransportError: it failed.
        """

    def machines(self) -> Sequence[str]:
        """Return the machines that have a log, sorted. Raises TransportError."""

    def pull(self, machine: str, after_seq: int, mark: str = "") -> Page:
        """Return at most PAGE_LINES changes of that machine from after ``after_seq``, a line that had
        ``mark`` on the page that brought it. Raises TransportError.
        """

    def news(
        self, read: Mapping[str, int], but: Collection[str], marks: Mapping[str, str] | None = None
    ) -> Iterator[tuple[str, Page]]:
        """Yield a page of each log, as many as fit, that has more or less than was read; nothing if all was
        read.

        ``read`` has the last line's number by machine, ``marks`` those of these lines; logs of ``but`` are
        not looked at. Raises TransportError.
        """
        for machine in sorted({*self.machines(), *read}.difference(but)):
            after = read.get(machine, 0)
            page = self.pull(machine, after, (marks or {}).get(machine, ""))
            if page.changes or page.refused or page.upto > after or page.is_behind:
                yield machine, page

    # What keeps places whole. A place that can't lose anything needs none of it.

    def is_torn(self, machine: str) -> bool:
        """Return whether lines are missing in the middle of that machine's own log. Raises TransportError."""
        return False

    def want(self, machine: str, gaps: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Say that ``machine`` misses these lines of others; nothing any more if there are none.

        Raises TransportError.
        """
        return None

    def wanted(self, machine: str) -> tuple[str, bool]:
        """Return what others miss: a text that is another one when they miss something else, and whether
        lines of ``machine`` are among it. Raises TransportError.
        """
        return "", False

    def rewrite(self, machine: str, gone: Collection[str] = ()) -> None:
        """Write that machine's own log anew, without what was said of the subjects that are ``gone``.

        Raises TransportError.
        """
        return None

    def withdraw(self, machine: str) -> None:
        """Take away the log of an id that this machine had. Raises TransportError."""
        return None
