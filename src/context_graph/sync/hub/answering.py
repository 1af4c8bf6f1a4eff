"""Answers questions to a store's hub: `python -m context_graph.sync.hub.answering STORE`, beside its owner.

A question is a line of JSON on standard input, its answer one on standard output. The owner starts it for
the first question; it keeps its connection for the next ones, and ends after IDLE_S without any or with its
owner.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from context_graph.errors import ConfigError, ContextGraphError
from context_graph.memory.evidence import SUPERSEDING
from context_graph.sync.change import LINK, Change
from context_graph.sync.hub import place_name
from context_graph.sync.hub.connecting import Connection
from context_graph.sync.hub.membership import Membership, joined
from context_graph.sync.hub.memories import changes, composed, registers, signed, vector_text
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import last_exchanges
from context_graph.sync.values import NODE_FIELDS

IDLE_S: Final = 600
_ANSWER_S: Final = 5.0
"""Seconds for one question, whatever the server does; the owner has told its client long before."""
_CURRENT_S: Final = 90.0
"""Seconds after an exchange for which the store has all of its own project: three of the background's
pauses."""


class Question(msgspec.Struct, frozen=True):
    """A question in the form that a store's own index asks in, as the owner sends it."""

    provider: str
    """Digest of what made terms and vector."""
    terms: list[int]
    """Hashes, uint64, the rarest first."""
    weights: list[float]
    """What each counts: its rarity."""
    vector: list[float]
    """Semantic slice; all zeros where the question means nothing."""
    number: int = 0


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

    def answer(self, question: Question) -> Answered:
        """Return what the hub has for it, or why it has nothing."""
        try:
            matches = self._searching().find(question, own=not self._has_own())
        except ContextGraphError as error:
            return Answered(question.number, failed=str(error))
        return Answered(question.number, matches)

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
    decoder, encoder = msgspec.json.Decoder(Question), msgspec.json.Encoder()
    signal.alarm(IDLE_S)  # its default ends the process; select would not see a line that was read already
    for line in lines:
        sys.stdout.buffer.write(encoder.encode(answering.answer(decoder.decode(line))) + b"\n")
        sys.stdout.buffer.flush()
        signal.alarm(IDLE_S)
    return 0


NEAREST: Final = 100
"""Candidates by meaning."""
WORDED: Final = 200
"""Candidates by words."""
_ASKED_TERMS: Final = 8
_EXACT_UP_TO: Final = 20_000
"""Memories among which vectors are compared one by one; among more the graph is asked."""
_BREADTH: Final = 200
"""pgvector's `ef_search`: recall of the nearest 10 is above .95 with it (benches/exchange/hub_search.py)."""
_KNOWN_S: Final = 5.0
"""Seconds for which a question assumes that projects and their size are what they were."""
_ASK: Final = """
SELECT of_project::text, of_subject, of_login, of_line FROM context_graph.ask(
  %(projects)s::uuid[], %(provider)s, %(words)s::bigint[], %(weights)s::float8[], %(vector)s, %(exact)s,
  %(breadth)s, %(nearest)s, %(most)s, %(superseding)s
)
"""


class Candidate(msgspec.Struct, frozen=True):
    """One candidate."""

    id: str
    project: str
    """The hub's name of it."""
    author: str
    machine: str
    superseded_by: str
    """Id of a memory that holds instead; "" if there is none."""
    values: dict[str, Any]
    """As `sync.values.node_of` takes them."""


class _Known(msgspec.Struct, frozen=True):
    names: dict[str, str]
    """Project id -> name, of the team."""
    few: bool
    """Few enough memories to compare all vectors."""
    until: float


class Search:
    """Questions to one hub, as a member of ``hub``'s project."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._known: _Known | None = None

    def find(self, question: Question, *, own: bool) -> list[Candidate]:
        """Candidates, in no order; at most NEAREST and WORDED. ``own``: this project's too, for the machine
        has not all of it. Raises TransportError.
        """
        with self._hub.asking() as connection:
            known = self._looked(connection, own)
            if not known.names:
                return []
            words = question.terms[:_ASKED_TERMS]
            params = {
                "projects": list(known.names),
                "provider": question.provider,
                "words": [signed(term) for term in words],
                "weights": question.weights[: len(words)],
                "vector": vector_text(question.vector) if any(question.vector) else "",
                "exact": known.few,
                "breadth": _BREADTH,
                "nearest": NEAREST,
                "most": WORDED,
                "superseding": sorted(SUPERSEDING),
            }
            rows = connection.execute(_ASK, params).fetchall()
        return self._made(known, rows)

    def _looked(self, connection: Connection, own: bool) -> _Known:
        known, now = self._known, time.monotonic()
        if known is None or known.until < now or own != (self._hub.project in known.names):
            known = self._known = self._look(connection, own, now + _KNOWN_S)
        return known

    def _look(self, connection: Connection, own: bool, until: float) -> _Known:
        rows = connection.execute(
            "SELECT id::text, name FROM context_graph.project WHERE (%s OR id <> %s) "
            "AND team = (SELECT team FROM context_graph.project WHERE id = %s)",
            (own, self._hub.project, self._hub.project),
        ).fetchall()
        names = {str(row[0]): str(row[1]) for row in rows}
        count = connection.execute(
            "SELECT count(*) FROM "
            "(SELECT FROM context_graph.memory WHERE project = ANY (%s::uuid[]) LIMIT %s) AS first",
            (list(names), _EXACT_UP_TO + 1),
        ).fetchone()
        few = count is not None and int(str(count[0])) <= _EXACT_UP_TO
        return _Known(names, few, until)

    def _made(self, known: _Known, rows: Iterable[Sequence[object]]) -> list[Candidate]:
        lines_of: dict[str, list[Sequence[object]]] = {}
        for project, *line in rows:
            lines_of.setdefault(str(project), []).append(line)
        matches = []
        for project, lines in lines_of.items():
            told_there = changes(lines)
            newer = _superseded(told_there)
            matches += [
                Candidate(
                    *(subject, known.names[project], memory.author, memory.machine),
                    newer.get(subject, ""),
                    {name: memory.values[name] for name in NODE_FIELDS if name in memory.values},
                )
                for subject, memory in composed(told_there).items()
            ]
        return matches


def _superseded(changes: Iterable[tuple[Change, str]]) -> dict[str, str]:
    """Memory -> the one that supersedes it, by the links that are there."""
    links = registers(changes, LINK)
    newer = {}
    for subject, link in sorted(links.items()):
        source, target, _ = subject.split("/", 2)
        if "id" in link.values and not link.buried:
            newer[target] = source
    return newer


if __name__ == "__main__":
    sys.exit(main(sys.argv))
