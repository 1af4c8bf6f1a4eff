"""The table of the client's events fits the client's time limits; docs/hooks.md quotes what settings get."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_graph.claude.events import EVENTS, REGISTERED, ClientEvent
from context_graph.claude.settings.hook_commands import command_line
from context_graph.model import EventKind

ROOT = Path(__file__).resolve().parents[2]


def test_every_kind_is_an_event_and_has_one_row() -> None:
    assert sorted(event.verb for event in EVENTS) == sorted(EventKind)
    assert len({event.name for event in EVENTS}) == len(EVENTS)


@pytest.mark.parametrize("event", REGISTERED, ids=lambda event: event.verb)
def test_a_hook_ends_before_the_client_kills_it(event: ClientEvent) -> None:
    """What the client ends has allowed the call in silence."""
    assert event.waits_ms <= event.budget_ms
    assert event.waits_ms < event.ends_ms < event.settings_s * 1000
    assert event.refusal in ("", "deny", "permission", "block")


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.verb)
def test_an_event_that_is_not_registered_says_why(event: ClientEvent) -> None:
    assert bool(event.unregistered) is (event not in REGISTERED)
    assert event in REGISTERED or not event.reads


def test_the_command_is_the_one_that_settings_get() -> None:
    (event,) = (event for event in REGISTERED if event.verb == "post-tool")
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    assert f"    {command_line(event)}\n" in page
