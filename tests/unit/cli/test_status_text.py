"""What `owner status` says for people of consolidations that run, wait and are scheduled."""

from __future__ import annotations

from typing import Any

import pytest

from context_graph.cli.console.tables import owner_text

STATUS: dict[str, Any] = {
    **{"pid": 1, "version": "0", "uptime_s": 1.0, "rss_bytes": 1, "clients": 0, "stores": 0},
    **{"requests": 0, "p50_ms": None, "events_waiting": 0},
}
RUNNING = {
    **{"store": "project-1", "mode": "deep", "trigger": "asked", "stage": "clusters"},
    **{"done": 430, "total": 1000},
}
DUE = {"store": "project-2", "mode": "light", "trigger": "session_end", "in_s": 2.4, "aborted": 3}


@pytest.mark.parametrize(
    ("dreams", "lines"),
    [
        (
            {"running": None, "waiting": 0, "scheduled": []},
            ["consolidation  none scheduled"],
        ),
        (
            {"running": RUNNING, "waiting": 1, "scheduled": []},
            ["consolidating  deep of project-1 (asked for): clusters, 43%, 1 more wait"],
        ),
        (
            {"running": None, "waiting": 0, "scheduled": [DUE, {**DUE, "in_s": None, "aborted": 0}]},
            [
                "consolidation  light of project-2 (a session's end): in 2 s at the earliest, "
                "gave way to queries 3 times",
                "consolidation  light of project-2 (a session's end): no more: too many failed",
            ],
        ),
    ],
)
def test_each_state_has_its_words(dreams: dict[str, Any], lines: list[str]) -> None:
    found = owner_text({**STATUS, "dreams": dreams}).splitlines()
    assert [line for line in found if line.startswith("consolid")] == lines
