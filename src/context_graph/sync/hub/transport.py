"""Carries logs in PostgreSQL: told to one function, pulled in pages. Every wait has an end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import ClassVar, Final, TypeVar
from uuid import UUID

import psycopg

from context_graph.errors import ContextGraphError, InvalidInputError
from context_graph.sync.change import MAX_LINE_BYTES, decode, digest
from context_graph.sync.hub import place_name
from context_graph.sync.hub.connecting import Connection, bounded, connect, first_line
from context_graph.sync.hub.schema import AHEAD, CONFLICT, MOST_BYTES, QUOTA, UNFIT, check_version, version_of
from context_graph.sync.transport import (
    PAGE_BYTES,
    PAGE_LINES,
    ClockError,
    ConflictError,
    Head,
    LoggedChange,
    Page,
    Refusal,
    Transport,
    TransportError,
    untold,
)

ANSWER_S: Final = 20.0
"""Seconds for one push or page, whatever the server or the network does."""
MAX_MACHINES: Final = 10_000
_TRIES: Final = 5
"""Of one transaction, where the server ends it for the sake of another's."""
_T = TypeVar("_T")
_AT_ONCE: Final = 2048
"""Lines of one statement, which has a time limit of its own."""
_NEWS_LINES: Final = 1024
"""Lines that one question about all logs brings; of one log _NEWS_PAGE."""
_NEWS_PAGE: Final = 256
_NEWS: Final = """
WITH known AS (
  SELECT * FROM unnest(%(machines)s::text[], %(read)s::bigint[], %(marks)s::text[]) AS r (machine, seq, mark)
), wanted AS (
  SELECT m.machine, m.last, m.login, coalesce(r.seq, 0) AS after,
    r.mark <> '' AND NOT EXISTS (
      SELECT FROM context_graph.change AS seen WHERE seen.project = m.project AND seen.machine = m.machine
      AND seen.seq = r.seq AND seen.clock::text = r.mark
    ) AS is_behind,
    sum(least(m.last - coalesce(r.seq, 0), %(page)s)) OVER (ORDER BY m.machine)
      - least(m.last - coalesce(r.seq, 0), %(page)s) AS lines_before
  FROM context_graph.machine AS m LEFT JOIN known AS r ON r.machine = m.machine
  WHERE m.project = %(project)s AND m.last > coalesce(r.seq, 0) AND m.machine <> ALL (%(but)s)
)
SELECT machine, after, last, login, coalesce(is_behind, false), seq, line, clock FROM (
  SELECT machine, after, last, login, is_behind, seq, line, clock,
    sum(coalesce(octet_length(line), 0)) OVER (ORDER BY machine, seq) - coalesce(octet_length(line), 0)
      AS bytes_before
  FROM wanted LEFT JOIN LATERAL (
    SELECT seq, line, clock FROM context_graph.change AS own
    WHERE own.project = %(project)s AND own.machine = wanted.machine AND own.seq > wanted.after
    ORDER BY own.seq LIMIT %(page)s
  ) AS of_it ON true
  WHERE lines_before < %(lines)s
) AS sized WHERE bytes_before < %(bytes)s
UNION ALL
SELECT r.machine, r.seq, 0, '', true, NULL, NULL, NULL FROM known AS r
  LEFT JOIN context_graph.machine AS m ON m.project = %(project)s AND m.machine = r.machine
  WHERE r.seq > coalesce(m.last, 0) AND r.machine <> ALL (%(but)s)
ORDER BY machine, seq
"""
"""What is new in all logs: some of each, as many logs as fit; and which logs have lost some."""


class DeadlockError(TransportError):
    """The server undid a transaction that waited for another, which waited for it."""

    code: ClassVar[str] = "sync_deadlock"


class Hub(Transport):
    """The logs of one project in a hub. A connection is made when one is needed, and anew after a failure."""

    def __init__(self, url: str, project: UUID | str, *, answer_s: float = 0.0) -> None:
        self._url, self._project, self._answer_s = url, UUID(str(project)), answer_s
        self._name = place_name(str(self._project))
        self._open: Connection | None = None
        self._audits = ""

    @property
    def name(self) -> str:
        return self._name

    @property
    def project(self) -> str:
        """Its id."""
        return str(self._project)

    @property
    def pid(self) -> int:
        """Of the server's process for this connection, which signs its notifications; 0 without one."""
        return 0 if self._open is None else self._open.info.backend_pid

    def close(self) -> None:
        """End the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def is_read_only(self) -> bool:
        """Return whether this member is a reader. Raises TransportError if they are no member: what the
        database then hides must not look like a hub that has lost this machine's log.
        """
        with self.asking() as connection:
            row = connection.execute(
                "SELECT m.role, p.audits FROM context_graph.member AS m JOIN context_graph.project AS p "
                "ON p.id = m.project WHERE p.id = %s AND m.login = session_user AND m.removed_at IS NULL",
                (self._project,),
            ).fetchone()
        if row is None:
            raise TransportError("you are no member of this project in the hub (any more)")
        self._audits = str(row[1])
        return row[0] == "reader"

    def head(self, machine: str) -> Head | None:
        with self.asking() as connection:
            return self.head_in(connection, machine)

    def push(self, machine: str, lines: Sequence[LoggedChange]) -> Head:
        return self.commit(lambda connection: self.append(connection, machine, lines))

    def commit(self, act: Callable[[Connection], _T]) -> _T:
        """Return what ``act`` returns, all of it done in one transaction; tried anew after a deadlock.

        Two members who change the same memories at once take what they supersede in different orders.
        """
        for _ in range(_TRIES - 1):
            with suppress(DeadlockError), self.committing() as connection:
                return act(connection)
        with self.committing() as connection:
            return act(connection)

    @contextmanager
    def committing(self) -> Iterator[Connection]:
        """One transaction: all that is done within, or nothing. Raises TransportError."""
        with self.asking() as connection, connection.transaction():
            yield connection

    def append(self, connection: Connection, machine: str, lines: Sequence[LoggedChange]) -> Head:
        """As `push`, within a transaction of `committing`."""
        there = self.head_in(connection, machine)
        fresh = untold(machine, lines, there)
        if there is not None and not fresh:
            return there
        end = Head(fresh[-1].change.seq, digest(fresh[-1].line))
        for part in _parts(fresh):
            text = b"\n".join(line.line for line in part).decode()
            connection.execute(
                "SELECT context_graph.tell(%s, %s, %s, %s, %s)",
                (self._project, machine, text, part[0].change.seq, digest(part[-1].line)),
            )
        return end

    def machines(self) -> Sequence[str]:
        with self.asking() as connection:
            rows = connection.execute(
                "SELECT machine FROM context_graph.machine WHERE project = %s AND last > 0 "
                "ORDER BY machine LIMIT %s",
                (self._project, MAX_MACHINES),
            ).fetchall()
        return [str(row[0]) for row in rows]

    def pull(self, machine: str, after_seq: int, mark: str = "") -> Page:
        with self.asking() as connection:
            there = self.head_in(connection, machine) or Head(0, "")
            if there.seq <= after_seq:
                return Page(upto=after_seq, is_behind=there.seq < after_seq)
            rows = connection.execute(
                "SELECT seq, line, clock FROM (SELECT seq, line, clock, "
                "sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before FROM ("
                "SELECT seq, line, clock FROM context_graph.change "
                "WHERE project = %s AND machine = %s AND seq > %s ORDER BY seq LIMIT %s) AS taken) AS sized "
                "WHERE before < %s ORDER BY seq",
                (self._project, machine, after_seq, PAGE_LINES, PAGE_BYTES),
            ).fetchall()
        return _page(machine, rows, after_seq, there.seq)

    def news(
        self, read: Mapping[str, int], but: Collection[str], marks: Mapping[str, str] | None = None
    ) -> Iterator[tuple[str, Page]]:
        """Yield all logs in one question: a machine in a team of a hundred asks once, not a hundred times."""
        with self.asking() as connection:
            rows = connection.execute(
                _NEWS,
                {
                    "project": self._project,
                    "but": list(but),
                    "machines": list(read),
                    "read": list(read.values()),
                    "marks": [(marks or {}).get(machine, "") for machine in read],
                    "page": _NEWS_PAGE,
                    "lines": _NEWS_LINES,
                    "bytes": PAGE_BYTES,
                },
            ).fetchall()
        for machine, some in groupby(rows, lambda row: str(row[0])):
            of_it = list(some)
            after, last, author, is_behind = of_it[0][1:5]
            if is_behind:
                yield machine, Page(upto=int(str(after)), is_behind=True)
            else:
                lines = [row[5:] for row in of_it if row[5] is not None]
                yield machine, _page(machine, lines, int(str(after)), int(str(last)), str(author))

    def want(self, machine: str, gaps: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Have the server look, give lost lines their numbers back, and have members look (`wanted`)."""
        with self.asking() as connection:
            for log in gaps:
                connection.execute("SELECT context_graph.mend(%s, %s)", (self._project, log))
        self.is_read_only()

    def wanted(self, machine: str) -> tuple[str, bool]:
        return self._audits, False

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """Yield every line of every log with whose it is. Raises TransportError."""
        read = dict[str, int]()
        while pages := list(self.news(read, ())):
            for machine, page in pages:
                yield from ((page.author, line.line) for line in page.changes)
                read[machine] = page.upto

    def head_in(self, connection: Connection, machine: str) -> Head | None:
        row = connection.execute(
            "SELECT last, digest FROM context_graph.machine WHERE project = %s AND machine = %s",
            (self._project, machine),
        ).fetchone()
        return None if row is None or not row[0] else Head(int(str(row[0])), str(row[1]))

    @contextmanager
    def asking(self) -> Iterator[Connection]:
        """Hold the connection, for as long as ANSWER_S; after a failure the next question makes another."""
        try:
            if self._open is None or self._open.closed:
                self._open = connect(self._url)
                with bounded(self._open, ANSWER_S):
                    check_version(version_of(self._open), exactly=True)
            with bounded(self._open, self._answer_s or ANSWER_S):
                yield self._open
        except psycopg.Error as error:
            self.close()
            raise _error_of(error) from error


class Listener:
    """Hears that somebody told the hub something. Raises TransportError, ConfigError if it can't."""

    def __init__(self, url: str, project: str) -> None:
        self._open = connect(url)
        try:
            with bounded(self._open, ANSWER_S):
                self._open.execute(f"LISTEN context_graph_{UUID(project).hex}")
        except psycopg.Error as error:
            self._open.close()
            raise TransportError(f"the hub can't be listened to: {first_line(error)}") from error

    def fileno(self) -> int:
        """Readable when there is something to hear."""
        return self._open.fileno()

    def is_news(self, own: Hub | None) -> bool:
        """Return whether anybody but ``own`` told something since the last call. Raises TransportError."""
        try:
            with bounded(self._open, ANSWER_S):
                heard = list(self._open.notifies(timeout=0))
        except psycopg.Error as error:
            raise TransportError(f"the hub can't be listened to: {first_line(error)}") from error
        return any(notice.pid != (own and own.pid) for notice in heard)

    def close(self) -> None:
        """End the connection."""
        self._open.close()


def _parts(lines: Sequence[LoggedChange]) -> Iterator[list[LoggedChange]]:
    """As few portions as may be, each of which the hub takes in one call."""
    part: list[LoggedChange] = []
    size = 0
    for line in lines:
        if len(line.line) > MAX_LINE_BYTES:
            raise InvalidInputError(f"a change of {len(line.line)} bytes")
        if part and (size + len(line.line) >= MOST_BYTES or len(part) == _AT_ONCE):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line.line) + 1
    if part:
        yield part


def _error_of(error: psycopg.Error) -> ContextGraphError:
    if error.sqlstate == CONFLICT:
        return ConflictError(first_line(error))
    if error.sqlstate == AHEAD:
        return ClockError(f"the hub takes nothing: {first_line(error)}")
    if error.sqlstate in (QUOTA, UNFIT):
        return TransportError(f"the hub takes nothing: {first_line(error)}")
    if isinstance(error, psycopg.errors.DeadlockDetected):
        return DeadlockError(f"the hub is at many changes of the same memories: {first_line(error)}")
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return TransportError(f"the hub refuses it: {first_line(error)}")
    return TransportError(f"the hub failed: {first_line(error)}")


def _page(machine: str, rows: Sequence[Sequence[object]], after: int, last: int, author: str = "") -> Page:
    """Rows of one log that follow line ``after``, (number, line, clock) each; ``last`` is the log's end."""
    lines: list[LoggedChange] = []
    refused: list[Refusal] = []
    missing: list[tuple[int, int]] = []
    where, upto, mark = f"{machine} of {author}" if author else machine, after, ""

    def miss(end: int) -> None:
        if end > upto:
            missing.append((upto + 1, end))
            refused.append(Refusal(where, f"lines {upto + 1} to {end} are missing in the hub"))

    if not rows:
        miss(last)
        upto = last
    for seq, text, clock in rows:
        miss(int(str(seq)) - 1)
        upto, mark, line = int(str(seq)), str(clock), str(text).encode()
        if not line:  # what it told was deleted for good
            continue
        try:
            change = decode(line)
            if (change.machine, change.seq) != (machine, upto):
                raise InvalidInputError("a change of another log or number")
            lines.append(LoggedChange(change, line))
        except InvalidInputError as error:
            refused.append(Refusal(f"{where} line {upto}", str(error)))
    return Page(lines, refused, upto, upto < last, author, missing, mark)
