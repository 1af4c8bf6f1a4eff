"""Has the table of the client's events, `events.toml`, from which launcher and pages are made too.

A build makes `event_table.py` of it: reading TOML would cost each start of an owner some 4 ms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from context_graph.claude.event_table import ROWS
from context_graph.model import EventKind


@dataclass(frozen=True, slots=True)
class ClientEvent:
    """One event of the client; `events.toml` says what each field is."""

    name: str
    verb: str
    budget_ms: int
    waits_ms: int
    ends_ms: int
    gates: bool
    asks: bool
    context: bool
    help: str
    settings_s: int = 0
    """Seconds; 0 where it is served and not registered."""
    refusal: str = ""
    tools: bool = False
    quoted: bool = False
    script: str = ""
    requirements: str = ""
    example: str = ""
    unregistered: str = ""
    reads: str = ""
    tells: str = ""
    refuses: str = ""
    waits_more: str = ""

    @property
    def kind(self) -> EventKind:
        return EventKind(self.verb)


EVENTS: Final = tuple(ClientEvent(**row) for row in ROWS)
REGISTERED: Final = tuple(event for event in EVENTS if event.settings_s)
"""Those that `setup` writes into settings."""
EVENT_OF_VERB: Final = {event.verb: event.name for event in EVENTS}
"""Our verb to the client's own name of the event; ``hookEventName`` must be the one that fired."""
VERB_OF_EVENT: Final = {event.name: event.verb for event in EVENTS}
