"""What an exchange asks of a store, in slices: hooks are served in between.

A slice of the owner's store is a request whose body is a JSON list of the method's arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import GenericAlias
from typing import Any, Final, NamedTuple, Protocol, get_type_hints

import msgspec

from context_graph.config import Location
from context_graph.errors import OwnerError
from context_graph.sync.transport import Head, Refusal
from context_graph.wire.client.request import request

_TIMEOUT_S: Final = 30.0
_LINES: Final = 32
"""Lines that one request brings: some 30 ms of the owner's time."""
CLOCK: Final = "clock "
"""How a cursor of `Side.stamp` begins while stamps are made anew."""


class Outgoing(NamedTuple):
    """Lines to push, in order; all are there already if there are none and no ``more``."""

    machine: str
    lines: Sequence[bytes]
    more: bool
    unfit: Sequence[Refusal] = ()
    """What is too long to be told."""


class Stretch(NamedTuple):
    """Some lines of another machine's log, as a place gave them."""

    machine: str
    lines: Sequence[bytes]
    upto: int
    """Number up to which they go; a place may have dropped some of them."""
    after: int | None = None
    """Number of the line that they follow; the last that was read if it is not said."""
    author: str = ""
    """Whose log it is, if the place vouches for that."""
    missing: Sequence[tuple[int, int]] = ()
    """First and last numbers of lines that are not among them and ought to be."""
    mark: str = ""
    """Of line ``upto``, as the place has it."""


class Merged(NamedTuple):
    """What came of a page."""

    new: int
    """Lines that told something new."""
    read: int
    """Number of the last line that has been read."""
    refused: Sequence[Refusal]
    waits_for_clock: bool
    """A line from later than our clock allows: its log waits there."""
    more: bool
    """Some of it is not written yet: `Side.apply`."""


Gaps = list[tuple[int, int]]
"""First and last number of lines that are missing."""
Lacking = tuple[str, str, list[str], list[str]]
"""Kind and subject, fields, and machines whose uses: what a place has not."""
Stamped = tuple[str, str, list[tuple[int, str, list[str]]], dict[str, int]]
"""Kind and subject, fields by the clock and machine of their stamps, and uses: what a store knows."""


class Known(NamedTuple):
    """What a store knows of a place."""

    read: Mapping[str, int]
    """Machine -> number of the last line of its log there that was read."""
    marks: Mapping[str, str]
    """Of those lines."""
    gaps: Mapping[str, Gaps]
    """Lines that were not there."""
    wanted: str | None
    """What others were looking for the last time; None before the first exchange."""
    former: Sequence[str]
    """Ids whose logs there are to be withdrawn."""
    earlier: Sequence[str]
    """Ids that this machine had before."""
    removed: Sequence[str]
    """Memories that were deleted for good and may still stand in what this machine has written there."""
    purged: int
    """Version of the notes after which ``removed`` begins, and ``version`` up to which it goes."""
    version: int
    more: bool
    """Whether there may be more of it."""


class Kept(NamedTuple):
    """What was seen to at a place; None and empty for what was not."""

    read: Mapping[str, int] | None = None
    marks: Mapping[str, str] = {}
    wanted: str | None = None
    purged: int | None = None
    withdrawn: Sequence[str] = ()


class Side(Protocol):
    """The store's side, in slices (`exchange.OpenStore`)."""

    def stamp(self, cursor: str, /) -> str | None:
        """Note what was changed here; where to go on, None at the end. "" at first.

        A cursor that begins with CLOCK says that stamps from later than now are made anew.
        """

    def machine(self) -> str:
        """Return the store's id."""

    def outgoing(self, place: str, head: Head | None, /) -> Outgoing: ...

    def again(self, place: str, head: Head | None, lacking: Sequence[Lacking], /) -> tuple[Outgoing, int]: ...

    def pushed(self, place: str, /) -> None: ...

    def known(self, place: str, /) -> Known: ...

    def keep(self, place: str, kept: Kept, /) -> None: ...

    def stamps(self, cursor: str, /) -> tuple[list[Stamped], str | None]:
        """Return all that the store knows, in slices from ""."""

    def merge(self, place: str, part: Stretch, /) -> Merged: ...

    def apply(self) -> bool:
        """Write some of what was merged; whether there is more."""

    def forget_told(self, place: str, /) -> int:
        """Delete some of what was heard at a place, here alone; how many memories, 0 when none is left."""


@cache
def types_of(name: str) -> tuple[Any, Any]:
    """Return the types of what a method of `Side` takes, as one of a tuple, and of what it returns."""
    *taken, returned = get_type_hints(getattr(Side, name)).values()
    return GenericAlias(tuple, tuple(taken)), returned


class OwnerSide:
    """The owner's store as a `Side`: each slice is a request."""

    def __init__(self, location: Location, *, autostart: bool = True) -> None:
        self._location, self._autostart = location, autostart

    def _ask(self, name: str, *arguments: object) -> Any:
        """Raises OwnerError: It refuses; with its words."""
        reply = request(
            f"sync.{name}",
            {},
            msgspec.json.encode(arguments),
            location=self._location,
            autostart=self._autostart,
            timeout_s=_TIMEOUT_S,
        )
        if reply.exit_code:
            message = reply.stderr.decode(errors="replace").strip()
            raise OwnerError(message.removeprefix("context-graph: ") or f"sync.{name} failed")
        return msgspec.json.decode(reply.stdout, type=types_of(name)[1])

    def stamp(self, cursor: str) -> str | None:
        next_cursor: str | None = self._ask("stamp", cursor)
        return next_cursor

    def machine(self) -> str:
        return str(self._ask("machine"))

    def outgoing(self, place: str, head: Head | None) -> Outgoing:
        page: Outgoing = self._ask("outgoing", place, head)
        return page

    def again(self, place: str, head: Head | None, lacking: Sequence[Lacking]) -> tuple[Outgoing, int]:
        page: tuple[Outgoing, int] = self._ask("again", place, head, lacking)
        return page

    def pushed(self, place: str) -> None:
        self._ask("pushed", place)

    def known(self, place: str) -> Known:
        known: Known = self._ask("known", place)
        return known

    def keep(self, place: str, kept: Kept) -> None:
        self._ask("keep", place, kept)

    def stamps(self, cursor: str) -> tuple[list[Stamped], str | None]:
        page: tuple[list[Stamped], str | None] = self._ask("stamps", cursor)
        return page

    def merge(self, place: str, part: Stretch) -> Merged:
        new, refused, after = 0, list[Refusal](), part.after
        for at in range(0, max(1, len(part.lines)), _LINES):
            some = part._replace(lines=part.lines[at : at + _LINES], after=after)
            if at + _LINES < len(part.lines):
                some = some._replace(upto=0, missing=(), mark="")
            merged: Merged = self._ask("merge", place, some)
            new += merged.new
            refused += merged.refused
            if merged.waits_for_clock:
                break
            after = merged.read if after is not None else None
        return merged._replace(new=new, refused=refused)

    def apply(self) -> bool:
        return bool(self._ask("apply"))

    def forget_told(self, place: str) -> int:
        """Delete all that was heard at a place, slice by slice; how many memories."""
        count = 0
        while forgotten := self._ask("forget_told", place):
            count += forgotten
        return count


def without(gaps: Iterable[tuple[int, int]], after: int, upto: int) -> Gaps:
    """Return what of ``gaps`` does not lie among the lines from behind ``after`` up to ``upto``."""
    return [
        part
        for first, last in gaps
        for part in ((first, min(last, after)), (max(first, upto + 1), last))
        if part[0] <= part[1]
    ]
