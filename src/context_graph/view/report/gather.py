"""Asks a source for all rows that a report shows, in pages, and keeps those of its span."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from context_graph.errors import ContextGraphError, OwnerError
from context_graph.view.rows import (
    WHOLE_CHARS,
    Effect,
    Gates,
    Health,
    Ledger,
    Map,
    MemoryRow,
    RunDetail,
    RunRow,
    SessionDetail,
    SessionRow,
)
from context_graph.view.source import Source

MEMORIES: Final = 10_000
"""Memories in one file, the newest; with them up to 500 that were forgotten, where there is room."""
_FORGOTTEN: Final = 500
_SESSIONS: Final = 500
_SESSION_DETAILS: Final = 10
_RUNS: Final = 100
_RUN_DETAILS: Final = 10
_RUN_CHANGES: Final = 40
_LEDGER: Final = 500
_GATES: Final = 300
_WEEK_MS: Final = 7 * 86_400_000
_PAGE: Final = 500
"""Of one request: a few hundred KB, which keep the owner from hooks for some 10 ms."""


_T = TypeVar("_T")


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one report shows; each part newest first."""

    since_ms: int | None
    """Where its span begins; None for all that is kept."""
    last_ms: int
    """When the newest thing in the store happened; 0 for an empty one."""
    health: Health
    memories: Sequence[MemoryRow]
    memories_total: int
    """Live memories in the store, of all time."""
    forgotten: Sequence[MemoryRow]
    ledger: Ledger
    sessions: Sequence[SessionRow]
    sessions_total: int
    details: Sequence[SessionDetail]
    """Of the newest sessions."""
    runs: Sequence[RunRow]
    run_details: Sequence[RunDetail]
    """Of the newest runs."""
    gates: Gates
    map: Map
    effect: Effect
    problems: Sequence[tuple[str, str]]
    """Parts that could not be read, and why."""


def gather(source: Source, since_ms: int | None = None) -> Report:
    """Return the rows since ``since_ms``; goals and how requirements stand are those of today.

    A part that can't be read is named in ``problems``; the rest is there.

    Raises:
        ContextGraphError: The health can't be read, or the owner is gone.

    Cost: a request for every 500 memories or sessions, and one for each of some 20 details.
    """
    return _Gathering(source, since_ms).report()


class _Gathering:
    """Asks for one part after another, and notes which failed."""

    def __init__(self, source: Source, since_ms: int | None) -> None:
        self._source, self._since_ms, self._begin = source, since_ms, since_ms or 0
        self._problems: list[tuple[str, str]] = []
        self._last_ms = 0

    def report(self) -> Report:
        source = self._source
        memories, total = self._memories(MEMORIES, is_forgotten=False)
        forgotten, _ = self._memories(min(_FORGOTTEN, MEMORIES - len(memories)), is_forgotten=True)
        ask_sessions = partial(source.sessions, limit=_PAGE)
        sessions, sessions_total = self._paged("sessions", ask_sessions, "last_ms", _SESSIONS)
        runs, ledger, gates = self._runs(), self._ledger(), self._gates()
        return Report(
            since_ms=self._since_ms,
            last_ms=self._last_ms,
            health=source.health(as_of_ms=self._last_ms or None),
            memories=memories,
            memories_total=total,
            forgotten=forgotten,
            ledger=ledger,
            sessions=sessions,
            sessions_total=sessions_total,
            details=self._each(
                "session", [row.id for row in sessions if not row.damage][:_SESSION_DETAILS], source.session
            ),
            runs=runs,
            run_details=self._each(
                "consolidation",
                [row.token for row in runs[:_RUN_DETAILS]],
                lambda token: source.run(token, limit=_RUN_CHANGES),
            ),
            gates=gates,
            map=self._asked("map", self._map, Map()),
            effect=self._asked("effect", self._effect, Effect(weeks=(), broken=())),
            problems=self._problems,
        )

    def _kept(self, at_ms: int) -> bool:
        """Return whether something of that time belongs into the report; all in the store passes here."""
        self._last_ms = max(self._last_ms, at_ms)
        return at_ms >= self._begin

    def _memories(self, room: int, *, is_forgotten: bool) -> tuple[list[MemoryRow], int]:
        ask = partial(self._source.memories, forgotten=is_forgotten, limit=_PAGE, chars=WHOLE_CHARS)
        what = "forgotten memories" if is_forgotten else "memories"
        return self._paged(what, ask, "created_ms", room, is_newest_first=not is_forgotten)

    def _paged(
        self, what: str, ask: Callable[..., Any], time: str, room: int, *, is_newest_first: bool = True
    ) -> tuple[list[Any], int]:
        """Return rows of the span, page by page, and how many there are; ``time`` is the field of theirs."""
        rows: list[Any] = []

        def read() -> int:
            cursor, total = "", 0
            while len(rows) < room:
                page = ask(cursor=cursor)
                kept = [row for row in page.rows if self._kept(getattr(row, time))]
                rows.extend(kept)
                cursor, total = page.next_cursor, page.total
                if not cursor or (is_newest_first and len(kept) < len(page.rows)):
                    break
            return total

        total = self._asked(what, read, 0)
        return rows[:room], total

    def _runs(self) -> list[RunRow]:
        none: Sequence[RunRow] = ()
        rows = self._asked("consolidations", lambda: self._source.runs(limit=_RUNS), none)
        return [row for row in rows if self._kept(row.at_ms)]

    def _ledger(self) -> Ledger:
        ledger = self._asked("ledger", lambda: self._source.ledger(limit=_LEDGER), Ledger(rows=(), days=()))
        first = day(self._begin)
        return Ledger(
            rows=[row for row in ledger.rows if self._kept(row.at_ms)],
            days=[total for total in ledger.days if total.day >= first],
        )

    def _map(self) -> Map:
        drawn = self._source.map()
        return msgspec.structs.replace(
            drawn,
            sessions=[session for session in drawn.sessions if session.at_ms >= self._begin],
            notes=[note for note in drawn.notes if note.at_ms >= self._begin],
        )

    def _effect(self) -> Effect:
        effect, first = self._source.effect(), day(max(0, self._begin - _WEEK_MS))
        return Effect(
            weeks=[week for week in effect.weeks if not self._begin or week.begin > first],
            broken=[row for row in effect.broken if row.at_ms >= self._begin],
        )

    def _gates(self) -> Gates:
        gates = self._asked("gates", lambda: self._source.gates(limit=_GATES), Gates(rows=(), states=()))
        return Gates(rows=[row for row in gates.rows if self._kept(row.at_ms)], states=gates.states)

    def _each(self, what: str, names: Sequence[str], ask: Callable[[str], _T]) -> list[_T]:
        """Return the details of ``names`` that can be read."""
        details = [self._asked(f"{what} {name}", lambda name=name: ask(name), None) for name in names]  # type: ignore[misc]
        return [detail for detail in details if detail is not None]

    def _asked(self, what: str, ask: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return ask()
        except OwnerError:
            raise
        except ContextGraphError as error:
            self._problems.append((what, str(error)))
            return otherwise


def day(at_ms: int) -> str:
    """Return the day (UTC) of Unix milliseconds, as 2026-11-23."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")
