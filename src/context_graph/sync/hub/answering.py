"""Answers questions to a store's hub: `python -m context_graph.sync.hub.answering STORE`, beside its owner.

A question is a line of JSON on standard input, its answer one on standard output. The owner starts it for
the first question; it keeps its connection for the next ones, and ends after IDLE_S without any or with its
owner.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from context_graph.errors import ConfigError, ContextGraphError
from context_graph.sync.hub import place_name
from context_graph.sync.hub.membership import Membership, joined
from context_graph.sync.hub.search import Candidate, Question, Search
from context_graph.sync.hub.transport import Hub
from context_graph.sync.once import last_exchanges

IDLE_S: Final = 600
_ANSWER_S: Final = 5.0
"""Seconds for one question, whatever the server does; the owner has told its client long before."""
_CURRENT_S: Final = 90.0
"""Seconds after an exchange for which the store has all of its own project: three of the background's
pauses."""


class Asked(msgspec.Struct, frozen=True):
    """A question, as the owner sends it."""

    number: int
    provider: str
    terms: list[int]
    weights: list[float]
    vector: list[float]


class Answered(msgspec.Struct, frozen=True):
    """Its answer."""

    number: int
    matches: list[Candidate] = []
    failed: str = ""
    """Why there is none, for people."""


class Answering:
    """The hub of one store, and the connection to it."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._member: Membership | None = None
        self._hub: Hub | None = None
        self._search: Search | None = None

    def answer(self, asked: Asked) -> Answered:
        """Return what the hub has for it, or why it has nothing."""
        try:
            matches = self._searching().find(
                Question(asked.provider, asked.terms, asked.weights, asked.vector, not self._has_own())
            )
        except ContextGraphError as error:
            return Answered(asked.number, failed=str(error))
        return Answered(asked.number, matches)

    def _searching(self) -> Search:
        member = joined(self._store)
        if member is None:
            raise ConfigError("this project has joined no hub; `hub join` does")
        if self._search is None or member != self._member:
            if self._hub is not None:
                self._hub.close()
            self._member, self._hub = member, Hub(member.url, member.project, answer_s=_ANSWER_S)
            self._search = Search(self._hub)
        return self._search

    def _has_own(self) -> bool:
        """Return whether the store has what is told of its own project, up to some seconds ago."""
        if self._member is None:
            return False
        last = last_exchanges(self._store).get(place_name(self._member.project))
        return last is not None and not last.failed and last.done_ms > (time.time() - _CURRENT_S) * 1000


def main(argv: list[str]) -> int:
    """Answer questions about the store in ``argv`` until standard input ends."""
    if len(argv) != 2:
        print("usage: python -m context_graph.sync.hub.answering STORE", file=sys.stderr)
        return 64
    answering, lines = Answering(Path(argv[1])), sys.stdin.buffer
    decoder, encoder = msgspec.json.Decoder(Asked), msgspec.json.Encoder()
    signal.alarm(IDLE_S)  # its default ends the process; select would not see a line that was read already
    for line in lines:
        sys.stdout.buffer.write(encoder.encode(answering.answer(decoder.decode(line))) + b"\n")
        sys.stdout.buffer.flush()
        signal.alarm(IDLE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
