"""The sentence of `status`: it says "Working" only where it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_graph.view.health import sentence

NOW = 1_800_000_000_000
HOUR = 3_600_000


def summary(found: dict[str, Any], hooks_set_up: Callable[[], bool]) -> tuple[bool, str]:
    return sentence(found["store"], found["at_ms"], hooks_set_up)


def found(*, ago_ms: int | None, waiting: int = 0, sessions: Any = None, **memory: Any) -> dict[str, Any]:
    last = None if ago_ms is None else NOW - ago_ms
    return {
        "at_ms": NOW,
        "store": {
            "memory": {"live": 12, "shown_since": 2, **memory},
            "sessions": sessions or {"last_event_ms": last},
            "events_waiting": waiting,
        },
    }


def set_up() -> bool:
    return True


def test_events_of_today_say_that_it_works_where_hooks_are_set_up() -> None:
    said = "Working: last event 3 min ago, 12 memories, 2 shown today."
    assert summary(found(ago_ms=180_000), set_up) == (True, said)
    assert summary(found(ago_ms=180_000, waiting=3), set_up) == (True, f"{said} 3 events not recorded yet.")
    one = found(ago_ms=0, live=1, shown_since=0)
    assert summary(one, set_up) == (True, "Working: last event just now, 1 memory, 0 shown today.")


@pytest.mark.parametrize(
    ("ago_ms", "set_up", "works", "said"),
    [
        (50 * HOUR, True, True, "Working: last event 2 d ago"),
        (
            50 * HOUR,
            False,
            False,
            "Not working: the last event was 2 d ago, and no hooks are set up here; run",
        ),
        (HOUR, False, True, "No hooks are set up here, but an event came 1 h ago: by a plugin"),
        (None, True, True, "Ready: hooks are set up and nothing has happened yet; 12 memories."),
        (None, False, False, "Not working: no hooks are set up here; run `context-graph-cli setup`."),
    ],
)
def test_where_no_hooks_are_set_up_it_never_says_working(
    ago_ms: int | None, set_up: bool, works: bool, said: str
) -> None:
    told = summary(found(ago_ms=ago_ms), lambda: set_up)
    assert told[0] is works and told[1].startswith(said)


def test_a_damaged_store_is_named() -> None:
    assert summary(found(ago_ms=0, error="a record is corrupt"), set_up) == (
        False,
        "Not working: a record is corrupt",
    )
    broken = found(ago_ms=0, sessions={"error": "the file is gone"})
    assert summary(broken, set_up) == (False, "Not working: the file is gone")
