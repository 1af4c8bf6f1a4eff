"""Replays a store's last sessions: of which earlier one each would be told, and whether it is the right one.

Right is one that changed a file which the session changed as well. How alike two sessions have to be
(`earlier_work.ALIKE_ENOUGH`) is chosen by the older half of the sessions, and kept only if it tells more that
is right, or less that is wrong, in the newer half too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from context_graph.consolidation.finders.salience import recorded_work
from context_graph.consolidation.plan import Hindsight
from context_graph.consolidation.progress import Progress, silent
from context_graph.consolidation.snapshot import Snapshot
from context_graph.errors import CorruptedIdentityError
from context_graph.identity.earlier_work import TOLD_AFTER, EarlierWork, Work
from context_graph.identity.ego import EventReader
from context_graph.identity.live import MEASURED
from context_graph.model import HookEvent
from context_graph.model.memory import CAPTURED
from context_graph.store.graph.graph import GraphStore
from context_graph.store.sessions.sessions import SessionStore
from context_graph.text.flattening import relative_paths, root_of

SESSIONS: Final = 60
"""The last ones are replayed, and compared with all before them."""
LEAST: Final = 20
"""Sessions at least: fewer say nothing."""
FLOORS: Final = (0.2, 0.25, 0.3, 0.33, 0.36, 0.4, 0.45, 0.5, 0.6)
MOST_S: Final = 5.0
"""Seconds after which the sessions replayed by then must do."""
MOST_EVENTS: Final = 256
"""Events that are replayed of one session, from its start on."""


class Best(NamedTuple):
    """The earlier session most like one at a moment."""

    share: float
    is_right: bool


Session = tuple[Best, ...]
"""The best at each moment at which it may be told."""


def look_back(
    store: GraphStore, snap: Snapshot, floor: float, *, most_s: float = MOST_S, progress: Progress = silent
) -> Hindsight | None:
    """Return what the last sessions would have been told by ``floor``, and by the one that serves better.

    Returns:
        None with too few sessions.

    Cost: some 30 ms a session, ``most_s`` at most.
    """
    return judged(_replayed(store, _changed(snap), most_s, progress), floor)


def judged(sessions: Sequence[Session], floor: float) -> Hindsight | None:
    """Return what ``sessions``, oldest first, would have been told, and by which floor from now on."""
    if len(sessions) < LEAST:
        return None
    half = len(sessions) // 2
    older, newer = sessions[:half], sessions[half:]
    best = max(FLOORS, key=lambda other: (worth(older, other), -abs(other - floor)))
    kept = best if worth(newer, best) > worth(newer, floor) else floor
    return Hindsight(len(sessions), kept, *counts(sessions, kept), floor, *counts(sessions, floor))


def _changed(snap: Snapshot) -> dict[str, frozenset[str]]:
    """Session -> the files in folders that it changed, in order of time; a bare name is a scratch file."""
    rows = [row for row in range(len(snap)) if snap.source[row] == CAPTURED]
    sessions: dict[str, frozenset[str]] = {}
    for row in sorted(rows, key=lambda row: (int(snap.created_ms[row]), row)):
        changed = recorded_work(snap, row).get("changed")
        session_id = snap.node(row).session_id
        if session_id and isinstance(changed, dict):
            sessions[session_id] = frozenset(path for path in changed if "/" in path)
    return sessions


def _replayed(
    store: GraphStore, changed: dict[str, frozenset[str]], most_s: float, progress: Progress
) -> list[Session]:
    """Return the last sessions, oldest first."""
    until, kept = time.monotonic() + most_s, SessionStore(store.engine)
    works = dict(kept.works())
    order = [session_id for session_id in changed if session_id in works]
    since = max(1, len(order) - SESSIONS)
    earlier, replayed = EarlierWork(), list[Session]()
    for number, session_id in enumerate(order):
        if number >= since:
            if time.monotonic() >= until:
                break
            progress(number - since, len(order) - since)
            with suppress(CorruptedIdentityError):
                events = list(_first(kept.event_log.after(session_id, 0)))
                replayed.append(tuple(_bests(events, earlier, changed, changed[session_id])))
        with suppress(ValueError):
            earlier.put(session_id, works[session_id])
    return replayed


def _first(events: Iterable[HookEvent]) -> Iterator[HookEvent]:
    for number, event in enumerate(events):
        if number == MOST_EVENTS:
            return
        if event.is_prompt or (event.kind in MEASURED and not event.is_delegated):
            yield event


def _bests(
    events: Sequence[HookEvent],
    earlier: EarlierWork,
    changed: dict[str, frozenset[str]],
    own: frozenset[str],
) -> Iterator[Best]:
    work, reader, last = Work(), EventReader(), max(TOLD_AFTER)
    root = root_of(events[0].cwd) if events else ""
    for event in events:
        before = work.events
        reader.read(relative_paths(event.input_text, root), relative_paths(event.output_text, root))
        work.absorb(reader, prompt=event.is_prompt)
        if work.events > before and work.events in TOLD_AFTER:
            alike = earlier.alike(work.strongest(), ())
            if alike:
                yield Best(alike[0].share, not own.isdisjoint(changed[alike[0].session_id]))
        if work.events >= last:
            return


def counts(sessions: Sequence[Session], floor: float) -> tuple[int, int]:
    """Return (sessions told of an earlier one, those told of a right one), by the first that is alike
    enough."""
    bests = [next((best for best in session if best.share >= floor), None) for session in sessions]
    shown = [best for best in bests if best is not None]
    return len(shown), sum(best.is_right for best in shown)


def worth(sessions: Sequence[Session], floor: float) -> int:
    """Right ones less wrong ones."""
    shown, right = counts(sessions, floor)
    return 2 * right - shown
