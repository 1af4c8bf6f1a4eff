"""The owner's store as one side of an exchange: each slice is a request, hooks are served in between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from context_graph.config import Location
from context_graph.errors import OwnerError
from context_graph.sync.side import Kept, Known, Lacking, Merged, Outgoing, Stamped, Stretch
from context_graph.sync.transport import Head, Refusal
from context_graph.wire.client.request import request

_TIMEOUT_S: Final = 30.0
_LINES: Final = 32
"""Lines that one request brings: some 30 ms of the owner's time."""


class OwnerSide:
    """As `context_graph.sync.run.Side` says."""

    def __init__(self, location: Location, *, autostart: bool = True) -> None:
        self._location, self._autostart = location, autostart

    def _ask(self, name: str, **params: Any) -> Any:
        """Raises OwnerError: It refuses; with its words."""
        body = msgspec.json.encode(params)
        reply = request(
            f"sync.{name}",
            {},
            body,
            location=self._location,
            autostart=self._autostart,
            timeout_s=_TIMEOUT_S,
        )
        if reply.exit_code:
            message = reply.stderr.decode(errors="replace").strip()
            raise OwnerError(message.removeprefix("context-graph: ") or f"sync.{name} failed")
        return msgspec.json.decode(reply.stdout)

    def stamp(self, cursor: str) -> str | None:
        next_cursor: str | None = self._ask("stamp", cursor=cursor)["cursor"]
        return next_cursor

    def machine(self) -> str:
        return str(self._ask("machine")["machine"])

    def outgoing(self, place: str, head: Head | None) -> Outgoing:
        return _outgoing(self._ask("outgoing", place=place, head=head))

    def again(self, place: str, head: Head | None, lacking: Sequence[Lacking]) -> tuple[Outgoing, int]:
        reply = self._ask("again", place=place, head=head, lacking=lacking)
        return _outgoing(reply), reply["count"]

    def pushed(self, place: str) -> None:
        self._ask("pushed", place=place)

    def known(self, place: str) -> Known:
        return msgspec.convert(self._ask("known", place=place), Known)

    def keep(self, place: str, kept: Kept) -> None:
        self._ask("keep", place=place, kept=kept)

    def stamps(self, cursor: str) -> tuple[list[Stamped], str | None]:
        reply = self._ask("stamps", cursor=cursor)
        return msgspec.convert(reply["rows"], list[Stamped]), reply["cursor"]

    def forget_told(self, place: str) -> int:
        """Delete here what was heard at that place; how many memories."""
        count = 0
        while forgotten := self._ask("forget", place=place)["forgotten"]:
            count += forgotten
        return count

    def merge(self, place: str, part: Stretch) -> Merged:
        new, refused, after = 0, list[Refusal](), part.after
        for at in range(0, max(1, len(part.lines)), _LINES):
            some = part._replace(lines=part.lines[at : at + _LINES], after=after)
            if at + _LINES < len(part.lines):
                some = some._replace(upto=0, missing=(), mark="")
            lines = [line.decode(errors="replace") for line in some.lines]
            reply = self._ask("merge", place=place, **{**some._asdict(), "lines": lines})
            new += reply["new"]
            refused += [Refusal(*row) for row in reply["refused"]]
            if reply["waits_for_clock"]:
                break
            after = reply["read"] if after is not None else None
        return Merged(new, reply["read"], refused, reply["waits_for_clock"], reply["more"])

    def apply(self) -> bool:
        return bool(self._ask("apply")["more"])


def _outgoing(reply: Any) -> Outgoing:
    unfit = [Refusal(*row) for row in reply["unfit"]]
    return Outgoing(reply["machine"], [line.encode() for line in reply["lines"]], reply["more"], unfit)
