"""Which earlier session worked on what this one works on: by the prompt, and by what was done so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from research.fit.drift_data import hook_event
from research.measures.report import Data, Table
from research.measures.summaries import handover_sessions

from context_graph.identity.earlier_work import Alike, EarlierWork, Work
from context_graph.identity.ego import EventReader
from context_graph.identity.live import MEASURED
from context_graph.redact import Redactor

CALLS: Final = (0, 3, 6, 12)
FLOORS: Final = (0.2, 0.25, 0.3, 0.33, 0.4)
_RIGHT: Final = "right: an earlier one changed a file of its patch"
_READER: Final = EventReader()


class Row(NamedTuple):
    """A session after some calls."""

    right: set[str]
    """The earlier ones that changed a file of its patch."""
    alike: list[Alike]


def tables(data: Data) -> list[Table]:
    """Hit rates of the most alike earlier session, and how often one above a floor is the right one."""
    projects = handover_sessions(data.handover)
    rows: dict[int, list[Row]] = {calls: [] for calls in CALLS}
    for sessions in projects.values():
        for calls, row in _replayed(sessions):
            rows[calls].append(row)
    if not projects:
        return []
    source = f"{sum(map(len, projects.values()))} sessions of {len(projects)} projects; {_RIGHT}"
    hits = [(calls, *_hits(rows[calls])) for calls in CALLS]
    shown = [(calls, floor, *_shown(rows[calls], floor)) for calls in CALLS[1:] for floor in FLOORS]
    return [
        Table("earlier work: found", source, ("calls", "sessions with one", "hit@1", "hit@5"), hits),
        Table("earlier work: the best above a floor", source, ("calls", "floor", "shown", "right"), shown),
    ]


def _replayed(sessions: Sequence[dict[str, Any]]) -> Iterator[tuple[int, Row]]:
    earlier, redactor = EarlierWork(), Redactor()
    for number, session in enumerate(sessions):
        right = {str(old) for old in range(number) if set(session["files"]) & set(sessions[old]["files"])}
        work, calls, due = Work(), 0, set(CALLS)
        for at, raw in enumerate(session["events"]):
            event = hook_event(f"s{number}", at, raw, redactor)
            if not event.is_prompt and event.kind not in MEASURED:
                continue
            _READER.read(event.input_text, event.output_text)
            work.absorb(_READER, prompt=event.is_prompt)
            calls += not event.is_prompt
            if number and calls in due:
                due.remove(calls)
                yield calls, Row(right, earlier.alike(work.strongest(), ()))
        earlier.put(str(number), work.strongest())


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
