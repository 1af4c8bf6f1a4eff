"""The owner's store as one side of an exchange: each slice is a request, hooks are served in between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from context_graph.config import Location
from context_graph.errors import OwnerError
from context_graph.sync.run import Merged, Outgoing
from context_graph.sync.transport import Head, Refusal
from context_graph.wire.client import request

_TIMEOUT_S: Final = 30.0
_LINES: Final = 32
"""Lines that one request brings: some 30 ms of the owner's time."""


class OwnerSide:
    """As `context_graph.sync.run.Side` says."""

    def __init__(self, location: Location, *, autostart: bool = True) -> None:
        self._location, self._autostart = location, autostart

    def _ask(self, name: str, **given: Any) -> Any:
        """Raises OwnerError: It refuses; with its words."""
        body = json.dumps(given).encode()
        reply = request(
            f"sync.{name}",
            {},
            body,
            location=self._location,
            autostart=self._autostart,
            timeout_s=_TIMEOUT_S,
        )
        if reply.exit_code:
            said = reply.stderr.decode(errors="replace").strip()
            raise OwnerError(said.removeprefix("context-graph: ") or f"sync.{name} failed")
        return json.loads(reply.stdout)

    def stamp(self, cursor: str) -> str | None:
        found: str | None = self._ask("stamp", cursor=cursor)["cursor"]
        return found

    def machine(self) -> str:
        return str(self._ask("machine")["machine"])

    def outgoing(self, place: str, head: Head | None) -> Outgoing:
        found = self._ask("outgoing", place=place, head=head)
        unfit = [Refusal(*one) for one in found["unfit"]]
        return Outgoing(found["machine"], [line.encode() for line in found["lines"]], found["more"], unfit)

    def pushed(self, place: str) -> None:
        self._ask("pushed", place=place)

    def read(self, place: str) -> dict[str, int]:
        found: dict[str, int] = self._ask("read", place=place)["read"]
        return found

    def forget_told(self, place: str) -> int:
        """Delete here what was heard at that place; how many memories."""
        count = 0
        while forgotten := self._ask("forget", place=place)["forgotten"]:
            count += forgotten
        return count

    def merge(self, place: str, machine: str, lines: Sequence[bytes], upto: int, author: str = "") -> Merged:
        new, refused = 0, list[Refusal]()
        for at in range(0, max(1, len(lines)), _LINES):
            some = [line.decode(errors="replace") for line in lines[at : at + _LINES]]
            is_last = at + _LINES >= len(lines)
            found = self._ask(
                "merge",
                place=place,
                machine=machine,
                lines=some,
                upto=upto if is_last else 0,
                author=author,
            )
            new += found["new"]
            refused += [Refusal(*one) for one in found["refused"]]
            if found["waits_for_clock"]:
                break
        return Merged(new, found["read"], refused, found["waits_for_clock"])
