"""Runs of work on a whole project in the hub: one at a time, committed at once or not at all.

A run has a lease. When that has ended, another may begin, and the first can no longer commit: ending a run
and pushing its changes is one transaction, and a project has one run at most that has not ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from context_graph.errors import InvalidInputError, StoreBusyError
from context_graph.sync.change import VERSION, Change, after, decode, digest, encode
from context_graph.sync.hub.connecting import Connection
from context_graph.sync.hub.transport import Hub
from context_graph.sync.transport import LoggedChange, TransportError
from context_graph.system.processes import look, machine_id

LEASE_S: Final = 600.0
"""Without a sign of life."""
COMMIT_S: Final = 600.0
UNDO: Final = "undo"


class FencedError(TransportError):
    """Another run has begun since; nothing was committed."""

    code = "run_fenced"


class Run(NamedTuple):
    """One that has begun."""

    number: int
    login: str
    machine: str
    """The log that it tells its changes in: one for each project and login."""


class Reversal(NamedTuple):
    """What takes one change back: other values for some of its fields."""

    kind: str
    subject: str
    fields: Mapping[str, object]


def begin(hub: Hub, command: UUID, mode: str) -> Run:
    """Begin a run of this project.

    A run that the same ``command`` began, on a machine that died, is ended; so is one whose process was on
    this machine and is gone. Raises StoreBusyError if somebody's run goes on, ConfigError, TransportError.
    """
    host, process = _here()
    with hub.committing() as connection:
        there = connection.execute(
            "SELECT number, host, process, login FROM context_graph.run "
            "WHERE project = %s AND ended_at IS NULL",
            (hub.project,),
        ).fetchone()
        if there is not None and there[1] == host and not _lives(str(there[2])):
            _ended(connection, hub, int(str(there[0])), "expired")
        try:
            row = connection.execute(
                "SELECT of_number, of_login FROM context_graph.begin_run(%s, %s, %s, %s, %s, %s)",
                (hub.project, command, mode, host, process, LEASE_S),
            ).fetchone()
        except psycopg.errors.UniqueViolation as error:
            raise StoreBusyError(
                f"another run of this project goes on in the hub{_whose(there)}; try again when it is done"
            ) from error
    assert row is not None
    number, login = int(str(row[0])), str(row[1])
    return Run(number, login, digest(f"runs of {login} in {hub.project}".encode()))


def renew(hub: Hub, run: Run) -> None:
    """Give a sign of life. Raises FencedError, TransportError."""
    with hub.committing() as connection:
        row = connection.execute(
            "SELECT context_graph.renew_run(%s, %s, %s)", (hub.project, run.number, LEASE_S)
        ).fetchone()
    _check_fence(row, run)


def fail(hub: Hub, run: Run) -> None:
    """End a run that commits nothing. Raises TransportError; then its lease ends by itself."""
    with hub.committing() as connection:
        _ended(connection, hub, run.number, "failed")


def commit(
    hub: Hub,
    run: Run,
    changes: Sequence[LoggedChange],
    reversals: Sequence[Reversal],
    counts: Mapping[str, int],
) -> None:
    """Tell a run's changes and end it, both or neither.

    ``changes`` are in the run's log, following its end; by ``reversals`` `undo` takes them back; ``counts``
    are for people. FencedError: another run has begun, nothing is told. ConflictError, TransportError.
    """

    def act(connection: Connection) -> None:
        _end(connection, hub, run, changes, counts)
        lines = [encode(_reversed(reversal, run.machine, at, 0)) for at, reversal in enumerate(reversals, 1)]
        if lines:
            connection.execute(
                "SELECT context_graph.keep_reversals(%s, %s, %s, %s)",
                (hub.project, run.number, run.machine, b"\n".join(lines).decode()),
            )

    hub.commit(act)


def undo(hub: Hub, number: int, command: UUID) -> tuple[Run, int]:
    """Take back what run ``number`` did, except what was changed since; the new run, and how many changes.

    InvalidInputError: there is no such run, or nothing of it is left to be undone. Raises as `begin` and
    `commit` too.
    """
    run = begin(hub, command, UNDO)
    try:
        return run, hub.commit(lambda connection: _take_back(connection, hub, number, run))
    except BaseException:
        fail(hub, run)
        raise


def _take_back(connection: Connection, hub: Hub, number: int, run: Run) -> int:
    lines = _undoable(connection, hub, number)
    clock, head = _last_clock(connection, hub, number), hub.head_in(connection, run.machine)
    end = 0 if head is None else head.seq
    changes = [
        _reversed(Reversal(change.kind, change.subject, change.fields), run.machine, end + at, clock)
        for at, change in enumerate(lines, 1)
    ]
    new_lines = [LoggedChange(change, encode(change)) for change in changes]
    _end(connection, hub, run, new_lines, {"changes": len(new_lines)})
    connection.execute("SELECT context_graph.mark_undone(%s, %s, %s)", (hub.project, number, run.number))
    return len(new_lines)


def last_run(connection: Connection, project: str) -> dict[str, object] | None:
    """Return the last run of a project that committed something; None without any."""
    row = connection.execute(
        "SELECT number, mode, login, (extract(epoch FROM ended_at) * 1000)::bigint, counts "
        "FROM context_graph.run WHERE project = %s AND outcome = 'committed' ORDER BY number DESC LIMIT 1",
        (project,),
    ).fetchone()
    return None if row is None else dict(zip(("number", "mode", "by", "at_ms", "counts"), row, strict=True))


def _end(
    connection: Connection, hub: Hub, run: Run, lines: Sequence[LoggedChange], counts: Mapping[str, int]
) -> None:
    first, last = (lines[0].change.seq, lines[-1].change.seq) if lines else (None, None)
    row = _ended(connection, hub, run.number, "committed", run.machine, first, last, Jsonb(dict(counts)))
    _check_fence(row, run)
    if lines:
        hub.append(connection, run.machine, lines)


def _ended(
    connection: Connection, hub: Hub, number: int, outcome: str, *of: object
) -> Sequence[object] | None:
    more = of or (None, None, None, Jsonb({}))
    return connection.execute(
        "SELECT context_graph.end_run(%s, %s, %s, %s, %s, %s, %s)", (hub.project, number, outcome, *more)
    ).fetchone()


def _check_fence(row: Sequence[object] | None, run: Run) -> None:
    if row is None or not row[0]:
        raise FencedError(f"run {run.number} has ended: its lease ran out, and another may have begun")


def _undoable(connection: Connection, hub: Hub, number: int) -> list[Change]:
    row = connection.execute(
        "SELECT outcome, undone_by FROM context_graph.run WHERE project = %s AND number = %s",
        (hub.project, number),
    ).fetchone()
    if row is None or row[0] != "committed":
        raise InvalidInputError(
            f"run {number} has changed nothing in this project; `hub status` shows the last"
        )
    rows = connection.execute(
        "SELECT line FROM context_graph.undo WHERE project = %s AND run = %s ORDER BY number",
        (hub.project, number),
    ).fetchall()
    if not rows:
        why = (
            f"run {row[1]} undid it" if row[1] else "all of it was changed since, or it is older than 30 days"
        )
        raise InvalidInputError(f"nothing of run {number} is left to be undone: {why}")
    return [decode(str(row[0]).encode()) for row in rows]


def _last_clock(connection: Connection, hub: Hub, number: int) -> int:
    """Return a value after all that the run told, by this machine's clock if that is later."""
    row = connection.execute(
        "SELECT coalesce(max(c.clock), 0) FROM context_graph.run AS r JOIN context_graph.change AS c "
        "ON c.project = r.project AND c.machine = r.machine AND c.seq BETWEEN r.first AND r.last "
        "WHERE r.project = %s AND r.number = %s",
        (hub.project, number),
    ).fetchone()
    return after(int(str(row[0])) if row else 0, time.time_ns() // 1_000_000)


def _reversed(reversal: Reversal, machine: str, seq: int, clock: int) -> Change:
    return Change(
        VERSION, machine, seq, clock, machine, reversal.kind, reversal.subject, dict(reversal.fields)
    )


def _here() -> tuple[str, str]:
    """This machine, by its name and what tells it from others of that name; and this process."""
    try:
        space = os.readlink("/proc/self/ns/pid")  # another container's processes can't be seen
    except OSError:
        space = ""
    host = f"{os.uname().nodename[:64]} {digest(f'{machine_id()} {space}'.encode())[:16]}"
    return host, _process(os.getpid())


def _process(pid: int) -> str:
    """Return its id and when it began, which tells it from a later one of that id."""
    seen = look(pid)
    return f"{pid} {seen[2] if seen else 0}"


def _lives(process: str) -> bool:
    pid = process.partition(" ")[0]
    return not pid.isdecimal() or _process(int(pid)) == process


def _whose(there: Sequence[object] | None) -> str:
    if there is None or not there[1]:
        return ""
    return f", by {there[3]} on {str(there[1]).partition(' ')[0]} (process {str(there[2]).partition(' ')[0]})"
