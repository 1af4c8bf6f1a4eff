"""Which earlier session worked on what this one works on: by the prompt, and by what was done so far."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from research.fit.drift_data import hook_event
from research.measures.report import Data, Table
from research.measures.summaries import handover_sessions

from context_graph.consolidation.finders.hindsight import FLOORS, Best, counts, judged, worth
from context_graph.identity.earlier_work import (
    ALIKE_ENOUGH,
    BY_PROMPT,
    BY_WORK,
    KEPT,
    TOLD_AFTER,
    Alike,
    EarlierWork,
    Work,
)
from context_graph.identity.ego import EventReader
from context_graph.identity.live import MEASURED
from context_graph.redact import Redactor

CALLS: Final = (0, 3, 6, 12)
_RIGHT: Final = "right: an earlier one changed a file of its patch"
_READER: Final = EventReader()


class Row(NamedTuple):
    """A session after some calls."""

    right: set[str]
    """The earlier ones that changed a file of its patch."""
    alike: list[Alike]
    by_views: dict[frozenset[int], list[Alike]]
    """The same where other views are compared: of those of this moment one less, or one more."""


Session = dict[int, Row]
"""By the calls after which it was looked at."""


def tables(data: Data) -> list[Table]:
    """Hit rates of the most alike earlier session, and how often one above a floor is the right one."""
    projects = {
        name: list(_replayed(sessions)) for name, sessions in handover_sessions(data.handover).items()
    }
    if not projects:
        return []
    sessions = [session for group in projects.values() for session in group]
    rows = {calls: [session[calls] for session in sessions if calls in session] for calls in CALLS}
    source = f"{len(sessions)} sessions of {len(projects)} projects; {_RIGHT}"
    hits = [(calls, *_hits(rows[calls])) for calls in CALLS]
    shown = [(calls, floor, *_shown(rows[calls], floor)) for calls in CALLS[1:] for floor in FLOORS]
    return [
        Table("earlier work: found", source, ("calls", "sessions with one", "hit@1", "hit@5"), hits),
        Table("earlier work: the best above a floor", source, ("calls", "floor", "shown", "right"), shown),
        _views(rows, source),
        _told(projects, source),
        _moved(projects, source),
    ]


def _replayed(sessions: Sequence[dict[str, Any]]) -> Iterator[Session]:
    earlier, redactor = EarlierWork(), Redactor()
    for number, session in enumerate(sessions):
        right = {str(old) for old in range(number) if set(session["files"]) & set(sessions[old]["files"])}
        work, calls, due, found = Work(), 0, set(CALLS), Session()
        for at, raw in enumerate(session["events"]):
            event = hook_event(f"s{number}", at, raw, redactor)
            if not event.is_prompt and event.kind not in MEASURED:
                continue
            _READER.read(event.input_text, event.output_text)
            work.absorb(_READER, prompt=event.is_prompt)
            calls += not event.is_prompt
            if number and calls in due:
                due.remove(calls)
                base, strongest = _views_after(calls), work.strongest()
                sets = [base, *(base ^ {view} for view in range(len(KEPT)))] if right else [base]
                by_views = {views: earlier.alike(strongest, (), views) for views in sets}
                found[calls] = Row(right, by_views[base], by_views)
        earlier.put(str(number), work.strongest())
        yield found


def _views(rows: Mapping[int, Sequence[Row]], source: str) -> Table:
    """What each view is worth beside the others: the mean of hit@1 and hit@5, with a 95 % interval."""
    worths = []
    for calls, found in rows.items():
        asked, base = [row for row in found if row.right], _views_after(calls)
        for view, name in enumerate(KEPT):
            other = base ^ {view}
            gains = [_hit(row, row.by_views[base]) - _hit(row, row.by_views[other]) for row in asked]
            sign = 1 if view in base else -1
            mean, half = statistics.fmean(gains), 1.96 * statistics.stdev(gains) / math.sqrt(len(gains))
            worths.append((calls, name, "compared" if view in base else "not compared", sign * mean, half))
    columns = ("calls", "view", "", "gain of having it", "+-")
    return Table("earlier work: the worth of each view", source, columns, worths)


def _views_after(calls: int) -> frozenset[int]:
    return BY_WORK if calls else BY_PROMPT


def _hit(row: Row, alike: Sequence[Alike]) -> float:
    """The mean of hit@1 and hit@5."""
    return sum(any(one.session_id in row.right for one in alike[:most]) for most in (1, 5)) / 2


def _told(projects: Mapping[str, Sequence[Session]], source: str) -> Table:
    """What is told once a session, by the floor that the other projects give and by the one that ships."""
    rows = []
    for name, group in projects.items():
        others = [bests(one) for other, sessions in projects.items() if other != name for one in sessions]
        chosen = max(FLOORS, key=lambda floor, others=others: worth(others, floor))  # type: ignore[misc]
        own = [bests(one) for one in group]
        for how, floor in (("of the other projects", chosen), ("that ships", ALIKE_ENOUGH)):
            told, right = counts(own, floor)
            rows.append((name, how, floor, len(own), told, right, right / told if told else math.nan))
    for how in ("of the other projects", "that ships"):
        own_rows = [row for row in rows if row[1] == how]
        total, told, right = (sum(row[at] for row in own_rows) for at in (3, 4, 5))
        rows.append(("all", how, "", total, told, right, right / told))
    columns = ("project", "floor", "", "sessions", "told", "right", "share")
    return Table("earlier work: told once, after 3, 6 or 12 calls", source, columns, rows)


def _moved(projects: Mapping[str, Sequence[Session]], source: str) -> Table:
    """What the floor that a run finds by the first half of a project gives in the second."""
    rows = []
    for name, group in projects.items():
        sessions = [bests(one) for one in group]
        half = len(sessions) // 2
        found = judged(sessions[:half], ALIKE_ENOUGH)
        floor = ALIKE_ENOUGH if found is None else found.floor
        rows.append(
            (name, half, floor, *counts(sessions[half:], ALIKE_ENOUGH), *counts(sessions[half:], floor))
        )
    columns = ("project", "replayed", "floor then", "told before", "right", "told then", "right")
    return Table("hindsight: the floor of the first half, in the second", source, columns, rows)


def bests(session: Session) -> tuple[Best, ...]:
    """The best at each moment at which it may be told."""
    rows = (session[calls] for calls in sorted(TOLD_AFTER) if calls in session)
    return tuple(Best(row.alike[0].share, row.alike[0].session_id in row.right) for row in rows if row.alike)


def _hits(rows: Sequence[Row]) -> tuple[int, float, float]:
    asked = [row for row in rows if row.right]
    first = sum(any(one.session_id in row.right for one in row.alike[:1]) for row in asked)
    five = sum(any(one.session_id in row.right for one in row.alike[:5]) for row in asked)
    return len(asked), first / len(asked), five / len(asked)


def _shown(rows: Sequence[Row], floor: float) -> tuple[int, float]:
    best = [
        (row.alike[0].session_id in row.right) for row in rows if row.alike and row.alike[0].share >= floor
    ]
    return len(best), sum(best) / len(best) if best else 0.0
