"""Carries logs in PostgreSQL: pushed with COPY, pulled in pages. Every wait has an end."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Final
from uuid import UUID

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from context_graph.errors import ConfigError, InvalidInputError
from context_graph.sync.change import MAX_LINE_BYTES, Change, decode, digest
from context_graph.sync.hub import place_name
from context_graph.sync.hub.schema import check_version, version_of
from context_graph.sync.transport import (
    PAGE_BYTES,
    PAGE_LINES,
    ConflictError,
    Head,
    Page,
    Refusal,
    Told,
    Transport,
    TransportError,
)

Connection = psycopg.Connection[tuple[object, ...]]
CONNECT_S: Final = 5
ANSWER_S: Final = 20.0
"""For one push or page, whatever the server or the network does."""
MAX_MACHINES: Final = 10_000
CHANNEL: Final = "context_graph"
"""Of the notifications that something was pushed; they carry the project's id and nothing else."""
_AT_ONCE: Final = 2048
"""Lines of one statement, which has a time limit of its own."""
_NEWS_LINES: Final = 1024
"""Of one question about all logs, and of one of them _NEWS_PAGE."""
_NEWS_PAGE: Final = 256
_NEWS: Final = """
WITH wanted AS (
  SELECT m.machine, m.last, m.login, coalesce(r.seq, 0) AS after,
    sum(least(m.last - coalesce(r.seq, 0), %(page)s)) OVER (ORDER BY m.machine)
      - least(m.last - coalesce(r.seq, 0), %(page)s) AS lines_before
  FROM context_graph.machine AS m
  LEFT JOIN unnest(%(machines)s::text[], %(read)s::bigint[]) AS r (machine, seq) ON r.machine = m.machine
  WHERE m.project = %(project)s AND m.last > coalesce(r.seq, 0) AND m.machine <> ALL (%(but)s)
)
SELECT machine, seq, line, last, login FROM (
  SELECT machine, last, login, seq, line,
    sum(octet_length(line)) OVER (ORDER BY machine, seq) - octet_length(line) AS bytes_before
  FROM wanted CROSS JOIN LATERAL (
    SELECT seq, line FROM context_graph.change AS own
    WHERE own.project = %(project)s AND own.machine = wanted.machine AND own.seq > wanted.after
    ORDER BY own.seq LIMIT %(page)s
  ) AS of_it
  WHERE lines_before < %(lines)s
) AS sized WHERE bytes_before < %(bytes)s ORDER BY machine, seq
"""
"""What is new in all logs: some of each, as many logs as fit, each from its beginning."""
_OPTIONS: Final = (
    "-c statement_timeout=15000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=15000"
)
_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def checked_url(url: str) -> str:
    """``url`` with our limits, and with TLS and a checked certificate unless it stays on this machine.

    Raises:
        ConfigError: It is no URL of a PostgreSQL, or it asks for less than that.
    """
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise ConfigError(f"hub_url is no address of a PostgreSQL: {str(error).strip()[:200]}") from error
    hosts = str(given.get("host") or "").split(",")
    is_local = all(host in _LOOPBACK or host.startswith("/") for host in hosts) and bool(hosts[0])
    if not is_local:
        mode = given.get("sslmode", "verify-full")
        if mode != "verify-full":
            raise ConfigError(
                f"hub_url has sslmode={mode}; a hub on another machine needs verify-full, the default: "
                "leave sslmode out"
            )
        bundle = next((path for path in _BUNDLES if Path(path).exists()), "system")
        given = {"sslrootcert": bundle, **given, "sslmode": mode}
    limits = {"connect_timeout": CONNECT_S, "options": _OPTIONS, "application_name": "context-graph"}
    alive = {
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 15_000,
    }
    wanted = {**given, **limits, **alive}
    return make_conninfo("", **{name: str(value) for name, value in wanted.items() if value is not None})


def connect(url: str) -> Connection:
    """A connection that commits each statement by itself. Raises TransportError, ConfigError."""
    address = checked_url(url)
    try:
        return psycopg.connect(address, autocommit=True)
    except psycopg.Error as error:
        raise TransportError(f"the hub can't be reached: {_said(error)}") from error


class Hub(Transport):
    """The logs of one project in a hub. A connection is made when one is needed, and anew after a failure."""

    def __init__(self, url: str, project: UUID | str, *, answer_s: float = 0.0) -> None:
        self._url, self._project, self._answer_s = url, UUID(str(project)), answer_s
        self._name = place_name(str(self._project))
        self._open: Connection | None = None

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
        """Whether this member is a reader. Raises TransportError if they are no member: what the database
        then hides must not look like a hub that has lost this machine's log.
        """
        with self.asking() as connection:
            row = connection.execute(
                "SELECT role FROM context_graph.member "
                "WHERE project = %s AND login = session_user AND removed_at IS NULL",
                (self._project,),
            ).fetchone()
        if row is None:
            raise TransportError("you are no member of this project in the hub (any more)")
        return row[0] == "reader"

    def head(self, machine: str) -> Head | None:
        with self.asking() as connection:
            return self.head_in(connection, machine)

    def push(self, machine: str, told: Sequence[Told]) -> Head:
        with self.committing() as connection:
            return self.append(connection, machine, told)

    @contextmanager
    def committing(self) -> Iterator[Connection]:
        """One transaction: all that is done within, or nothing. Raises TransportError."""
        with self.asking() as connection, connection.transaction():
            yield connection

    def append(self, connection: Connection, machine: str, told: Sequence[Told]) -> Head:
        """As `push`, within a transaction of `committing`."""
        connection.execute(
            "INSERT INTO context_graph.machine (project, machine) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (self._project, machine),
        )
        there = self.head_in(connection, machine, lock=True) or Head(0, "")
        fresh = [one for one in told if one.change.seq > there.seq]
        self._check(connection, machine, told, fresh, there)
        if not fresh:
            return there
        end = Head(fresh[-1].change.seq, digest(fresh[-1].line))
        size = sum(len(one.line) for one in fresh)
        self._check_quota(connection, size)
        self._copy(connection, machine, fresh)
        connection.execute(
            "UPDATE context_graph.machine "
            "SET last = %s, digest = %s, bytes = bytes + %s, pushed_at = now() "
            "WHERE project = %s AND machine = %s",
            (end.seq, end.digest, size, self._project, machine),
        )
        connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(self._project)))
        return end

    def machines(self) -> Sequence[str]:
        with self.asking() as connection:
            rows = connection.execute(
                "SELECT machine FROM context_graph.machine WHERE project = %s AND last > 0 "
                "ORDER BY machine LIMIT %s",
                (self._project, MAX_MACHINES),
            ).fetchall()
        return [str(row[0]) for row in rows]

    def pull(self, machine: str, after_seq: int) -> Page:
        with self.asking() as connection:
            there = self.head_in(connection, machine)
            if there is None or there.seq <= after_seq:
                return Page(upto=after_seq)
            rows = connection.execute(
                "SELECT seq, line FROM (SELECT seq, line, sum(octet_length(line)) OVER (ORDER BY seq) "
                "- octet_length(line) AS before FROM (SELECT seq, line FROM context_graph.change "
                "WHERE project = %s AND machine = %s AND seq > %s ORDER BY seq LIMIT %s) AS taken) AS sized "
                "WHERE before < %s ORDER BY seq",
                (self._project, machine, after_seq, PAGE_LINES, PAGE_BYTES),
            ).fetchall()
        if not rows:
            return Page((), (Refusal(f"{machine} line {after_seq + 1}", "is missing in the hub"),), after_seq)
        return _page(machine, rows, there.seq)

    def news(self, read: Mapping[str, int], but: Collection[str]) -> Iterator[tuple[str, Page]]:
        """All logs in one question: a machine in a team of a hundred asks once, not a hundred times."""
        with self.asking() as connection:
            rows = connection.execute(
                _NEWS,
                {
                    "project": self._project,
                    "but": list(but),
                    "machines": list(read),
                    "read": list(read.values()),
                    "page": _NEWS_PAGE,
                    "lines": _NEWS_LINES,
                    "bytes": PAGE_BYTES,
                },
            ).fetchall()
        for machine, some in groupby(rows, lambda row: str(row[0])):
            found = [row[1:] for row in some]
            last, author = found[0][2:]
            yield machine, _page(machine, [row[:2] for row in found], int(str(last)), str(author))

    def lines(self) -> Iterator[tuple[str, bytes]]:
        """Every line of every log with whose it is. Raises TransportError."""
        read = dict[str, int]()
        while pages := list(self.news(read, ())):
            for machine, page in pages:
                yield from ((page.author, one.line) for one in page.told)
                read[machine] = page.upto

    def head_in(self, connection: Connection, machine: str, *, lock: bool = False) -> Head | None:
        row = connection.execute(
            "SELECT last, digest FROM context_graph.machine WHERE project = %s AND machine = %s"
            + (" FOR UPDATE" if lock else ""),
            (self._project, machine),
        ).fetchone()
        return None if row is None or not row[0] else Head(int(str(row[0])), str(row[1]))

    def _check(
        self,
        connection: Connection,
        machine: str,
        told: Sequence[Told],
        fresh: Sequence[Told],
        there: Head,
    ) -> None:
        """What is there must be what is pushed again, and what is new must follow it."""
        if any(one.change.seq != number for number, one in enumerate(fresh, there.seq + 1)):
            raise ConflictError(f"change {fresh[0].change.seq} does not continue the log of {machine}")
        known = [one for one in told if one.change.seq <= there.seq]
        if known and known[-1].change.seq == there.seq and digest(known[-1].line) != there.digest:
            raise ConflictError(f"change {there.seq} of {machine} is another one there")

    def _check_quota(self, connection: Connection, size: int) -> None:
        row = connection.execute(
            "SELECT quota_bytes, "
            "(SELECT coalesce(sum(bytes), 0) FROM context_graph.machine WHERE project = %s) "
            "FROM context_graph.project WHERE id = %s",
            (self._project, self._project),
        ).fetchone()
        if row is None:
            raise TransportError("the hub no longer has this project, or you are no member of it")
        quota, used = int(str(row[0])), int(str(row[1]))
        if used + size > quota:  # some of what was told may have been taken out since
            used = self._bytes_held(connection)
        if used + size > quota:
            raise TransportError(
                f"the project's {quota} bytes in the hub are used up ({used}); an owner can raise the quota"
            )

    def _bytes_held(self, connection: Connection) -> int:
        row = connection.execute(
            "SELECT coalesce(sum(octet_length(line)), 0) FROM context_graph.change WHERE project = %s",
            (self._project,),
        ).fetchone()
        return int(str(row[0])) if row is not None else 0

    def _copy(self, connection: Connection, machine: str, fresh: Sequence[Told]) -> None:
        """By a table of this connection: a policy on rows does not go with COPY."""
        connection.execute(
            "CREATE TEMP TABLE IF NOT EXISTS arriving "
            "(seq bigint, subject text, clock bigint, by text, fields text[], line text) "
            "ON COMMIT DELETE ROWS"
        )
        for at in range(0, len(fresh), _AT_ONCE):
            if at:
                connection.execute("DELETE FROM arriving")
            with connection.cursor().copy(
                "COPY arriving (seq, subject, clock, by, fields, line) FROM STDIN"
            ) as copy:
                for one in fresh[at : at + _AT_ONCE]:
                    copy.write_row(_row(one))
            connection.execute(
                "INSERT INTO context_graph.change (project, machine, seq, subject, clock, by, fields, line) "
                "SELECT %s, %s, seq, subject, clock, by, fields, line FROM arriving",
                (self._project, machine),
            )

    @contextmanager
    def asking(self) -> Iterator[Connection]:
        """The connection, for as long as ANSWER_S; after a failure the next question makes another."""
        try:
            if self._open is None or self._open.closed:
                self._open = connect(self._url)
                with _bounded(self._open):
                    check_version(version_of(self._open))
            with _bounded(self._open, self._answer_s or ANSWER_S):
                yield self._open
        except psycopg.errors.InsufficientPrivilege as error:
            self.close()
            raise TransportError(f"the hub refuses it: {_said(error)}") from error
        except psycopg.Error as error:
            self.close()
            raise TransportError(f"the hub failed: {_said(error)}") from error


class Listener:
    """Hears that somebody told the hub something. Raises TransportError, ConfigError if it can't."""

    def __init__(self, url: str, project: str) -> None:
        self._project = project
        self._open = connect(url)
        try:
            with _bounded(self._open):
                self._open.execute(f"LISTEN {CHANNEL}")
        except psycopg.Error as error:
            self._open.close()
            raise TransportError(f"the hub can't be listened to: {_said(error)}") from error

    def fileno(self) -> int:
        """Readable when there is something to hear."""
        return self._open.fileno()

    def is_news(self, own: Hub | None) -> bool:
        """Whether anybody but ``own`` told something since the last call. Raises TransportError."""
        try:
            with _bounded(self._open):
                heard = list(self._open.notifies(timeout=0))
        except psycopg.Error as error:
            raise TransportError(f"the hub can't be listened to: {_said(error)}") from error
        return any(one.payload == self._project and one.pid != (own and own.pid) for one in heard)

    def close(self) -> None:
        """End the connection."""
        self._open.close()


def _row(one: Told) -> tuple[object, ...]:
    if len(one.line) > MAX_LINE_BYTES:
        raise InvalidInputError(f"a change of {len(one.line)} bytes")
    told = one.change
    return told.seq, told.subject, told.clock, told.by, field_names(told), one.line.decode()


def field_names(told: Change) -> list[str]:
    """What a change sets, as the hub compares it."""
    return [name for name in told.fields if name.isidentifier()]


def _page(machine: str, rows: Sequence[tuple[object, ...]], last: int, author: str = "") -> Page:
    """Rows of one log, (number, line) each, in order; ``last`` is the log's last number."""
    told: list[Told] = []
    refused: list[Refusal] = []
    upto = 0
    for seq, text in rows:
        upto, line = int(str(seq)), str(text).encode()
        if not line:  # what it told was deleted for good
            continue
        try:
            change = decode(line)
            if (change.machine, change.seq) != (machine, upto):
                raise InvalidInputError("a change of another log or number")
            told.append(Told(change, line))
        except InvalidInputError as error:
            refused.append(Refusal(f"{machine} line {upto}", str(error)))
    return Page(told, refused, upto, upto < last, author)


@contextmanager
def _bounded(connection: Connection, answer_s: float = 0.0) -> Iterator[None]:
    """Cut the connection if it is not done in that time: a server that hangs sends no error."""
    copy = socket.socket(fileno=os.dup(connection.fileno()))
    timer = threading.Timer(answer_s or ANSWER_S, _cut, (copy,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        copy.close()


def _cut(copy: socket.socket) -> None:
    with suppress(OSError):
        copy.shutdown(socket.SHUT_RDWR)


def _said(error: psycopg.Error) -> str:
    """The first line of what the server or libpq said, without the address."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
