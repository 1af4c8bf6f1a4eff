"""Keeps the requests that wait for answers, and what a new owner must learn of the old one's conversation.

Twin of ext/launcher/src/bridge/flight.rs.
"""

from __future__ import annotations

import json

from context_graph.front.bridge import message
from context_graph.front.bridge.message import Id, id_json

_SENDS_MAX = 2
"""How often a request is sent: one that two owners in a row did not survive may be why."""


def failure(key: bytes, code: int, text: str, detail: str) -> bytes:
    """An error answer without its newline; ``key`` is JSON."""
    error = {
        "code": code,
        "message": text,
        "data": {
            "error": "ERR-CORE-001",
            "detail": detail,
            "recovery": "Try again; context-graph-cli owner status tells more",
        },
    }
    body = json.dumps(error, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (key, body)


class _Flight:
    """A request in flight: its line, kept to be sent again."""

    __slots__ = ("batch", "key", "line", "method", "sends")

    def __init__(self, key: Id | None, batch: list[Id], method: str, line: bytes) -> None:
        self.key, self.batch, self.method, self.line, self.sends = key, batch, method, line, 1

    def failure(self, code: int, text: str, detail: str) -> bytes:
        if self.key is not None:
            return failure(id_json(self.key), code, text, detail) + b"\n"
        return b"[%b]\n" % b",".join(failure(id_json(key), code, text, detail) for key in self.batch)


class Flights:
    """The conversation as far as it has to outlive an owner."""

    def __init__(self) -> None:
        self._flying: list[_Flight] = []
        # `initialize` as it was sent and the last logging/setLevel, once answered.
        self._handshake: dict[str, tuple[Id, bytes]] = {}
        # Answers that the client has had already, from an owner before or from us.
        self._swallow: list[Id] = []

    @property
    def count(self) -> int:
        """Requests that wait."""
        return len(self._flying)

    @property
    def held(self) -> int:
        """Bytes of their lines."""
        return sum(len(flight.line) for flight in self._flying)

    def sent(self, line: bytes) -> None:
        """Note a line (with its newline) that is about to go to the owner."""
        kind, key, method = message.sent(line.strip())
        if kind == message.REQUEST:
            self._flying.append(_Flight(key, [], method, line))
        elif kind == message.BATCH and key:
            self._flying.append(_Flight(None, key, method, line))
        elif kind == message.CANCELLED:
            self._flying = [flight for flight in self._flying if not _is(flight.key, key)]

    def got(self, line: bytes) -> bool:
        """Note a line of the owner's; whether it is for the client."""
        kind, key = message.got(line)
        if kind == message.OTHER:
            return True
        if key is None:
            found = next((flight for flight in self._flying if flight.key is None), None)
            if found is None:
                return False  # late: it has been answered by us
        else:
            for at, known in enumerate(self._swallow):
                if _is(known, key):
                    del self._swallow[at]
                    return False
            found = next((flight for flight in self._flying if _is(flight.key, key)), None)
            if found is None:
                return True
        self._flying.remove(found)
        if found.key is not None and found.method in ("initialize", "logging/setLevel"):
            self._handshake[found.method] = (found.key, found.line)
        return True

    def lost_owner(self) -> bytes:
        """An owner has gone: what can't be sent once more, with the answers for it."""
        self._swallow.clear()
        given_up = [flight for flight in self._flying if flight.sends >= _SENDS_MAX]
        self._flying = [flight for flight in self._flying if flight.sends < _SENDS_MAX]
        why = (
            "the owner ended twice while it served this; its log says why. What was asked may have been done"
        )
        return b"".join(flight.failure(-32603, f"Internal error: {why}", why) for flight in given_up)

    def give_up(self, why: str) -> bytes:
        """No owner can be reached: answers for all that wait."""
        return self._answer_all("no owner can be reached", why)

    def abandon(self, why: str) -> bytes:
        """The owner is there and silent: answers for all that wait; its own, late ones are kept from the
        client.
        """
        self._swallow += [flight.key for flight in self._flying if flight.key is not None]
        return self._answer_all("the owner process does not answer", why)

    def _answer_all(self, what: str, why: str) -> bytes:
        waiting, self._flying = self._flying, []
        # A client may show the message alone.
        return b"".join(
            flight.failure(-32002, f"Storage error: {flight.method} failed - {what}: {why}", why)
            for flight in waiting
        )

    def replay(self) -> bytes:
        """What a new owner is sent first: the handshake it has not seen, then what still waits.

        Not the client's `initialized`: what an owner says to that, the client has been told.
        """
        lines = []
        for method in ("initialize", "logging/setLevel"):
            if method in self._handshake:
                key, line = self._handshake[method]
                lines.append(line)
                self._swallow.append(key)
        for flight in self._flying:
            lines.append(flight.line)
            flight.sends += 1
        return b"".join(lines)


def _is(one: Id | None, other: Id) -> bool:
    """Whether two ids are the same; the number 1 is not the text "1", nor true."""
    return type(one) is type(other) and one == other
