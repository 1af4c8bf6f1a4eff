"""Consolidates one project of a hub: its memories are rebuilt from the logs, the result is told as one run.

The store that is rebuilt lies in a temporary folder of this process's user, and goes with the task.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final
from uuid import UUID

import msgspec
from distributed import as_completed, worker_client

from context_graph.consolidation.consolidate import consolidate
from context_graph.consolidation.finders import closeness
from context_graph.consolidation.finders.closeness import Bound, Close
from context_graph.consolidation.plan import Mode
from context_graph.consolidation.progress import Progress, Update
from context_graph.consolidation.snapshot import F32
from context_graph.errors import ContextGraphError
from context_graph.memory.memex import Memex
from context_graph.sync.change import Change, decode, digest
from context_graph.sync.exchange import OpenStore
from context_graph.sync.hearing import Report, hear
from context_graph.sync.hub import runs
from context_graph.sync.hub.transport import Hub
from context_graph.sync.run import stamp_all
from context_graph.sync.side import Merged, Stretch
from context_graph.sync.transport import Head, LoggedChange, TransportError

URL: Final = "CONTEXT_GRAPH_HUB_ADMIN_URL"
"""Where a worker finds the hub's address: it is a secret, and no scheduler needs to know it."""
SPLIT_FROM: Final = 50_000
"""Memories from which the search for pairs is spread over all workers."""
_RENEW_S: Final = 60.0


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done with one project."""

    project: str
    """Its id."""
    name: str
    mode: Mode
    command: str
    """A UUID, the same for all tasks of one command."""
    dry_run: bool = False
    split_from: int = SPLIT_FROM


class Outcome(msgspec.Struct, kw_only=True):
    """What came of it."""

    project: str
    name: str
    memories: int = 0
    """Live ones before."""
    merged: int = 0
    """Memories that went into others; ``pruned`` were forgotten."""
    pruned: int = 0
    linked: int = 0
    changes: int = 0
    """Lines told; 0 in a dry run."""
    run: int = 0
    """Its number, to undo it; 0 where nothing was changed."""
    unread: int = 0
    """Lines of the logs that could not be taken."""
    seconds: float = 0.0
    failed: str = ""
    """Why nothing was changed; empty if all went well."""


def consolidate_project(task: Task) -> Outcome:
    """Do it; what goes wrong is told in the outcome, so that it stops no other project."""
    began, outcome = time.monotonic(), Outcome(project=task.project, name=task.name)
    hub = Hub(os.environ.get(URL, ""), task.project, answer_s=runs.COMMIT_S)
    try:
        if not os.environ.get(URL):
            raise TransportError(f"${URL} is not set where the worker runs")
        if task.dry_run:
            _consolidate(task, hub, None, outcome)
        else:
            _committed(task, hub, outcome)
    except ContextGraphError as error:
        outcome.failed = str(error)
    finally:
        hub.close()
    outcome.seconds = round(time.monotonic() - began, 3)
    return outcome


def _committed(task: Task, hub: Hub, outcome: Outcome) -> None:
    run = runs.begin(hub, UUID(task.command), task.mode.value)
    try:
        lines, reversals = _consolidate(task, hub, run, outcome)
        if not lines:
            runs.fail(hub, run)
            return
        counts = {"merged": outcome.merged, "pruned": outcome.pruned, "linked": outcome.linked}
        runs.commit(hub, run, lines, reversals, counts)
        outcome.run, outcome.changes = run.number, len(lines)
    except BaseException:
        with suppress(TransportError):
            runs.fail(hub, run)
        raise


def _consolidate(
    task: Task, hub: Hub, run: runs.Run | None, outcome: Outcome
) -> tuple[list[LoggedChange], list[runs.Reversal]]:
    """Return the run's changes, and what takes them back."""
    with _rebuilt() as memex:
        side, report = _Copy(memex, hub, run), Report()
        hear(side, hub, report, side.known(hub.name))
        outcome.unread = report.refused_count
        if report.ahead:
            raise TransportError("a machine's clock is far ahead; its log can't be read to its end")
        head = None
        if run is not None:
            head = hub.head(run.machine)
            side.speak_as(run.machine, hub.name, head)
        search = spread_search(task.split_from)
        result = consolidate(memex, task.mode, dry_run=task.dry_run, progress=side.progress, search=search)
        plan = result.plan
        outcome.memories, outcome.pruned = plan.memories, len(plan.prunes)
        outcome.merged = sum(len(merge.losers) for merge in plan.merges)
        outcome.linked = len(plan.links)
        if run is None or result.undo_token is None:
            return [], []
        lines = _lines(side, hub.name, head)
        memex.undo(result.undo_token)
        end = Head(lines[-1].change.seq, digest(lines[-1].line)) if lines else head
        return lines, _reversals(lines, [line.change for line in _lines(side, hub.name, end)])


def _reversals(lines: list[LoggedChange], back: list[Change]) -> list[runs.Reversal]:
    """Of each change what its undoing sets of the same fields."""
    touched: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        touched.setdefault((line.change.kind, line.change.subject), set()).update(line.change.fields)
    reversals = []
    for change in back:
        wanted = touched.get((change.kind, change.subject), set())
        fields = {name: value for name, value in change.fields.items() if name in wanted}
        if fields:
            reversals.append(runs.Reversal(change.kind, change.subject, fields))
    return reversals


def _lines(side: OpenStore, place: str, head: Head | None) -> list[LoggedChange]:
    """Return all that is new in the store, as lines that follow ``head``."""
    stamp_all(side)
    lines: list[LoggedChange] = []
    more = True
    while more:
        out = side.outgoing(place, head)
        lines += [LoggedChange(decode(line), line) for line in out.lines]
        if out.lines:
            side.pushed(place)
            head = Head(lines[-1].change.seq, digest(lines[-1].line))
        more = out.more
    return lines


@contextmanager
def _rebuilt() -> Iterator[Memex]:
    """Make an empty store."""
    with tempfile.TemporaryDirectory(prefix="context-graph-hub-") as folder:
        memex = Memex.open(folder)
        try:
            yield memex
        finally:
            memex.close()


class _Copy(OpenStore):
    """The rebuilt store. While it hears and is worked on, the hub is told that the run goes on."""

    def __init__(self, memex: Memex, hub: Hub, run: runs.Run | None) -> None:
        super().__init__(memex)
        self._hub, self._run = hub, run
        self._last = time.monotonic()

    def progress(self, update: Update | None = None) -> None:
        """Raises FencedError: Another run has begun."""
        if self._run is not None and time.monotonic() - self._last > _RENEW_S:
            self._last = time.monotonic()
            runs.renew(self._hub, self._run)

    def merge(self, place: str, part: Stretch) -> Merged:
        self.progress()
        return super().merge(place, part)


PART_ROWS: Final = 8 * closeness.BLOCK_ROWS
"""Rows that one task compares with as many others: 16 MiB of each, some 100 ms."""


def spread_search(split_from: int) -> closeness.Search:
    """Return a search on all workers for at least that many rows, on this one's threads for fewer."""

    def search(rows: F32, threshold: float, progress: Progress) -> Iterator[Close]:
        if len(rows) < split_from:
            yield from closeness.close_pairs(rows, threshold, progress=progress, forest=True)
        else:
            yield from _spread(rows, threshold, progress)

    return search


def _spread(rows: F32, threshold: float, progress: Progress) -> Iterator[Close]:
    bound, starts = Bound.of(rows), range(0, len(rows), PART_ROWS)
    with worker_client() as client:
        parts = {at: client.scatter(rows[at : at + PART_ROWS], hash=False) for at in starts}
        places = {
            client.submit(
                closeness.joined_pairs,
                bound,
                parts[start],
                None if start == other else parts[other],
                threshold,
                pure=False,
            ): (start, other)
            for start in starts
            for other in starts
            if other >= start
        }
        waiting = as_completed(list(places))
        for done, future in enumerate(waiting, 1):
            start, other = places.pop(future)
            close = future.result()
            future.release()
            yield Close(close.i + start, close.j + other, close.product)
            progress(done, done + len(places))
