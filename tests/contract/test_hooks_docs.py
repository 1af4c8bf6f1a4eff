"""docs/hooks.md says of each event what the settings, the launcher and the protocol have."""

from __future__ import annotations

import re
from pathlib import Path

from context_graph.claude.hooks.claude import EVENT_OF_VERB
from context_graph.claude.settings.events import EVENTS, command_line

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
LAUNCHER = ROOT / "ext" / "launcher" / "src"


def rows() -> dict[str, list[str]]:
    """The cells of each row whose first one is `Event, verb`."""
    found = re.findall(r"^\| (\w+), `([a-z-]+)` \|(.*)\|$", PAGE, re.MULTILINE)
    return {verb: [name, *(cell.strip() for cell in rest.split("|"))] for name, verb, rest in found}


def budgets() -> dict[str, int]:
    """Milliseconds by event, as the launcher's source has them, cut to what the client's format gets."""
    text = (LAUNCHER / "kind.rs").read_text(encoding="utf-8")
    hook = (LAUNCHER / "hook.rs").read_text(encoding="utf-8")
    most, start = (
        int(re.findall(rf"{name}: u32 = ([\d_]+)", hook)[0]) for name in ("CLIENT_BUDGET_MS", "START_WAIT_MS")
    )
    facts = re.findall(r'\w+ = \("hooks\.([a-z-]+)", "\w+", ([\d_]+), \w+\)', text)
    return {verb: min(int(number), start if verb == "session-start" else most) for verb, number in facts}


def test_every_event_has_a_row_and_no_other() -> None:
    assert {verb: row[0] for verb, row in rows().items()} == dict(EVENT_OF_VERB)


def test_times_are_those_of_settings_and_launcher() -> None:
    budget = budgets()
    for event in EVENTS:
        row = rows()[event.verb]
        assert row[-1] == f"{event.timeout_s} s", event.name
        told = int(re.findall(r"[\d,]+", row[-2])[0].replace(",", ""))
        assert told == budget[event.verb], event.name


def test_the_command_is_the_one_that_settings_get() -> None:
    (event,) = (event for event in EVENTS if event.verb == "post-tool")
    assert f"    {command_line(event)}\n" in PAGE
