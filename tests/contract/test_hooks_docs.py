"""docs/hooks.md says of each event what the settings, the launcher and the protocol have."""

from __future__ import annotations

import re
from pathlib import Path

from context_graph.hooks_config.events import EVENTS, command_line
from context_graph.protocol.documents import EVENT_OF_VERB

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
LAUNCHER = ROOT / "ext" / "launcher" / "src"


def rows() -> dict[str, list[str]]:
    """The cells of each row whose first one is `Event, verb`."""
    found = re.findall(r"^\| (\w+), `([a-z-]+)` \|(.*)\|$", PAGE, re.MULTILINE)
    return {verb: [name, *(cell.strip() for cell in rest.split("|"))] for name, verb, rest in found}


def budgets() -> dict[str, int]:
    """Milliseconds by event, as the launcher's source has them, cut to what the client's format gets."""
    text = (LAUNCHER / "event.rs").read_text(encoding="utf-8")
    body = text.split("fn budget_ms", 1)[1].split("\n    }\n", 1)[0]
    most = int(re.findall(r"CLAUDE_BUDGET_MS: u32 = ([\d_]+)", (LAUNCHER / "hook.rs").read_text())[0])
    found = {}
    for kinds, number in re.findall(r"((?:Kind::\w+[\s|]*)+)=> ([\d_]+)", body):
        for kind in re.findall(r"Kind::(\w+)", kinds):
            found[re.sub(r"(?<!^)([A-Z])", r"-\1", kind).lower()] = min(int(number), most)
    return found


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
