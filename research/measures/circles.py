"""Does a session that repeats itself get noticed, and does one that does not stay unnoticed?

Planted: at a session's middle its last 3 to 6 tool results come again, 2 to 4 times, with other digits in
their outputs, and no prompt between. Control: as many results of the session's own continuation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from research.fit.drift_data import Session, load_sessions
from research.measures.report import Data, Table, auc, interval

from context_graph.identity.circles import Circles
from context_graph.identity.live import LiveSession
from context_graph.model import EventKind, HookEvent, SessionIdentitySnapshot

BLOCKS: Final = (3, 4, 5, 6)
TIMES: Final = (2, 3, 4)
SETS: Final = {"all": "", "swe": "swe:", "cc": "cc:"}
"""All dev sessions, SWE-bench agents, pieces of real Claude Code transcripts; by how their names begin."""

Signals = tuple[float, float, float]
"""The highest after the cut of: HYPERSYNC as shown, repeats in a row, calls of one tool in a row."""


@dataclass(frozen=True, slots=True)
class Case:
    planted: Signals
    control: Signals


@dataclass(frozen=True, slots=True)
class Seen:
    """One session: its cases, and what it showed when left alone."""

    name: str
    cases: tuple[Case, ...]
    results: int
    alarms: int
    in_circles: int


def tables(data: Data) -> list[Table]:
    if not data.drift.is_dir():
        return []
    seen = [_look(session) for session in load_sessions(data.drift).values()]
    groups = {name: [one for one in seen if one.name.startswith(begin)] for name, begin in SETS.items()}
    rows = [_row(name, group) for name, group in groups.items() if group]
    columns = (
        *("set", "sessions", "cases", "AUC of HYP", "95 %", "AUC of repeats", "AUC of one tool in a row"),
        *("noticed", "results", "alarms per 100", "95 %", "in circles per 100"),
    )
    return [Table("circles", _SOURCE, columns, rows, ("The baseline counts calls of one tool in a row.",))]


_SOURCE: Final = (
    "drift_dev; planted repeats against the session's own continuation, alarms on sessions left alone. "
    "WINDOW and STREAK were chosen on the same sessions; nothing else is fitted."
)


def is_result(event: HookEvent) -> bool:
    """Whether the session's state may follow from this event."""
    return event.kind in (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE) and not event.is_delegated


def begun(session: Session) -> LiveSession:
    """A live session that has begun and seen nothing yet."""
    live = LiveSession(SessionIdentitySnapshot(session_id=session.name, timestamp_ms=0))
    live.apply(HookEvent(EventKind.SESSION_START, session.name, "start", at_ms=0, source="startup"))
    return live


def _look(session: Session) -> Seen:
    middle = len(session.events) // 2
    before, after = session.events[:middle], session.events[middle:]
    own = [event for event in before if is_result(event)]
    cases = [
        Case(
            _signals(session, before, planted),
            _signals(session, before, list(_first_results(after, len(planted)))),
        )
        for size in BLOCKS
        for times in TIMES
        if len(own) >= size
        for planted in [[_again(event, n) for n in range(times) for event in own[-size:]]]
    ]
    live, shown = begun(session), []
    for event in session.events:
        live.apply(event)
        if is_result(event):
            shown.append(live.circling)
    alarms = sum(now and not last for last, now in zip([False, *shown], shown, strict=False))
    return Seen(session.name, tuple(cases), len(shown), alarms, sum(shown))


def _again(event: HookEvent, n: int) -> HookEvent:
    """The same call later: other times and process ids in its output."""
    digits = "0123456789"
    turned = str.maketrans(digits, digits[n + 1 :] + digits[: n + 1])
    return replace(event, output_text=event.output_text.translate(turned))


def _first_results(events: Sequence[HookEvent], count: int) -> Iterator[HookEvent]:
    """The events up to and with the ``count``-th tool result."""
    left = count
    for event in events:
        if left <= 0:
            return
        left -= is_result(event)
        yield event


def _signals(session: Session, before: Sequence[HookEvent], after: Sequence[HookEvent]) -> Signals:
    live, circles, tool, run = begun(session), Circles(), "", 0
    best: Signals = (0.0, 0.0, 0.0)
    for number, event in enumerate((*before, *after)):
        live.apply(event)
        if event.is_prompt:
            circles.prompt()
        if not is_result(event):
            continue
        circles.observe(event)
        run = run + 1 if event.tool_name == tool else 1
        tool = event.tool_name
        if number >= len(before):
            now = (float(live.circling), float(circles.streak), float(run))
            best = (max(best[0], now[0]), max(best[1], now[1]), max(best[2], now[2]))
    return best


def _row(name: str, group: Sequence[Seen]) -> list[object]:
    cases = sum(len(one.cases) for one in group)
    results = sum(one.results for one in group)
    noticed = sum(case.planted[0] for one in group for case in one.cases) / cases
    return [
        *(name, len(group), cases, _auc(0)(group), _span(group, _auc(0)), _auc(1)(group), _auc(2)(group)),
        *(noticed, results, _alarms(group), _span(group, _alarms)),
        100 * sum(one.in_circles for one in group) / results,
    ]


def _auc(signal: int) -> Callable[[Sequence[Seen]], float]:
    def value(group: Sequence[Seen]) -> float:
        cases = [case for one in group for case in one.cases]
        return auc([case.planted[signal] for case in cases], [case.control[signal] for case in cases])

    return value


def _alarms(group: Sequence[Seen]) -> float:
    return 100 * sum(one.alarms for one in group) / sum(one.results for one in group)


def _span(group: Sequence[Seen], value: Callable[[Sequence[Seen]], float]) -> str:
    low, high = interval(group, value)
    return f"{low:.3f} to {high:.3f}"
