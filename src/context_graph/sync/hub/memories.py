"""Makes a hub's memories of its lines, and keeps up what they are searched by.

The lines are the only truth: what a memory is follows from them here as on each machine, by `Register`. The
table `memory` has its words as hashes and its vector, and can be made anew from the lines.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg.types.json import Jsonb

from context_graph.errors import ContextGraphError
from context_graph.memory.embed import EmbeddingProvider, default_provider, dense_part
from context_graph.memory.exchange import records
from context_graph.memory.index.blend import hashes
from context_graph.memory.writing import text_to_embed
from context_graph.sync import values
from context_graph.sync.change import MEMORY, Change, Origin, Register, Stamp, decode, value_digest
from context_graph.sync.hub.connecting import Connection
from context_graph.sync.hub.transport import Hub
from context_graph.sync.transport import PAGE_BYTES

PAGE: Final = 128
"""Lines that one transaction indexes."""
MOST_TERMS: Final = 2048
"""Terms of one memory that it is found by; a text has that many different words from some 3,000 on."""
_NEEDED: Final = frozenset(values.NEEDED[MEMORY])
_ORIGIN: Final = Origin(1, "")
_SIGNED: Final = struct.Struct("<q")
_UNSIGNED: Final = struct.Struct("<Q")
_PAGE: Final = """
SELECT seq, subject FROM (
  SELECT seq, subject, sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before FROM (
    SELECT seq, subject, line FROM context_graph.change
    WHERE project = %s AND machine = %s AND seq > %s ORDER BY seq LIMIT %s
  ) AS taken
) AS sized WHERE before < %s ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class HubMemory:
    """A live memory of a hub's project."""

    values: Mapping[str, Any]
    """Its fields, as `values.node_of` takes them."""
    author: str
    """The login whose log has its text."""
    machine: str
    """The machine that set it."""

    def searched_text(self, subject: str) -> str:
        """Return what it is found by, as in a store."""
        fields = {name: self.values[name] for name in values.NODE_FIELDS if name in self.values}
        return text_to_embed(records.node_from_json({"id": subject, **fields}))


def changes(lines: Iterable[Sequence[object]]) -> list[tuple[Change, str]]:
    """Return (change, login that told it) of each (subject, login, line) that can be read."""
    rows = []
    for subject, login, line in lines:
        try:
            change = decode(str(line).encode())
            values.check(change)
        except (ContextGraphError, ValueError):
            continue
        if change.subject == subject:
            rows.append((change, str(login)))
    return rows


def registers(changes: Iterable[tuple[Change, str]], kind: str) -> dict[str, Register]:
    """Return what is known of each memory or link of that kind, from all changes of it in any order."""
    registers: dict[str, Register] = {}
    for change, _ in changes:
        if change.kind == kind:
            registers.setdefault(change.subject, Register(kind, change.subject)).take(change, _ORIGIN)
    return registers


def composed(changes: Sequence[tuple[Change, str]]) -> dict[str, HubMemory]:
    """Return the live memories that these changes tell of; as `registers`."""
    authors = {
        (change.subject, *_stamp(change)): login for change, login in changes if "content" in change.fields
    }
    memories = {}
    for subject, register in registers(changes, MEMORY).items():
        if register.removed or register.buried or not register.values.keys() >= _NEEDED:
            continue
        stamp = register.stamps["content"]
        memories[subject] = HubMemory(register.values, authors.get((subject, *stamp), ""), stamp.by)
    return memories


def _stamp(change: Change) -> Stamp:
    """Return that of its text: somebody else may have told another under the same clock and machine."""
    return Stamp(change.clock, change.by, value_digest(change.fields["content"]))


def signed(term: int) -> int:
    """Return a term's hash, uint64, as PostgreSQL's bigint has it."""
    return int(_SIGNED.unpack(_UNSIGNED.pack(term))[0])


def vector_text(dense: Iterable[float]) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.6g}" for value in dense) + "]"


class Indexer:
    """Indexes lines that are not indexed yet, ``limit`` a call: what this login told, for an owner all."""

    def __init__(self, hub: Hub, *, limit: int = 4096) -> None:
        self._hub, self._limit = hub, limit
        self._provider: EmbeddingProvider = default_provider()

    def run(self) -> int:
        """Go on until nothing is left, somebody else is at it, or the limit; how many lines were read.

        Raises TransportError. Cost: 1 to 2 ms of the server for each memory, most of it pgvector's graph.
        """
        done, read = 0, 1
        while read and done < self._limit:
            with self._hub.committing() as connection:
                read = self._page(connection)
            done += read
        return done

    def _page(self, connection: Connection) -> int:
        """Index the next lines of one log; how many were read."""
        project = self._hub.project
        log = connection.execute("SELECT log, done FROM context_graph.to_index(%s)", (project,)).fetchone()
        if log is None:
            return 0
        rows = connection.execute(_PAGE, (project, *log, PAGE, PAGE_BYTES)).fetchall()
        subjects = sorted({str(row[1]) for row in rows if "/" not in str(row[1])})
        memories = composed(changes(_lines_of(connection, project, subjects)))
        upto = rows[-1][0] if rows else (1 << 63) - 1
        done = connection.execute(
            "SELECT context_graph.put_index(%s, %s, %s, %s, %s, %s)",
            (
                project,
                *log,
                upto,
                Jsonb(self._rows(memories)),
                [subject for subject in subjects if subject not in memories],
            ),
        ).fetchone()
        return len(rows) if done is not None and done[0] else 0

    def _rows(self, memories: Mapping[str, HubMemory]) -> list[dict[str, Any]]:
        rows = list[dict[str, Any]]()
        for subject, memory in memories.items():
            encoded = self._provider.encode(memory.searched_text(subject))
            rows.append(
                {
                    "subject": subject,
                    "provider": self._provider.digest,
                    "terms": [signed(term) for term in hashes(encoded.terms)[:MOST_TERMS]],
                    "embedding": vector_text(dense_part(encoded.embedding)),
                }
            )
        return rows


def _lines_of(connection: Connection, project: str, subjects: Sequence[str]) -> list[tuple[object, ...]]:
    """Return (subject, login, line) of all that is told of these."""
    return connection.execute(
        "SELECT c.subject, m.login, c.line FROM context_graph.change AS c "
        "JOIN context_graph.machine AS m ON m.project = c.project AND m.machine = c.machine "
        "WHERE c.project = %s AND c.subject = ANY (%s) AND c.fields <> '{}'",
        (project, list(subjects)),
    ).fetchall()
