"""Applying what the launcher left in a spool while no owner answered."""

from __future__ import annotations

import logging
from typing import Protocol

import orjson

from context_graph.errors import InvalidInputError
from context_graph.model import EventKind, HookEvent
from context_graph.owner.events import hook_event
from context_graph.redact import TextRedactor
from context_graph.wire.spool import SpoolRecord

__all__ = ["Sessions", "apply_spooled"]


class Sessions(Protocol):
    """Where events go: a store's live sessions."""

    def start(self, event: HookEvent) -> object:
        """Begin or take up a session."""

    def apply(self, event: HookEvent) -> object:
        """Apply an event once, durably."""


def apply_spooled(
    sessions: Sessions, record: SpoolRecord, redactor: TextRedactor, log: logging.Logger
) -> None:
    """Apply one spooled hook call, exactly as the live path would have.

    Raises:
        InvalidInputError: If the record's input is of no known shape; the drain keeps it as rejected.
        StoreError: If it can't be made durable; the drain stops and the record stays.
    """
    try:
        kind = EventKind(record.verb.removeprefix("hooks."))
    except ValueError as error:
        raise InvalidInputError(f"spooled verb {record.verb!r} is no hook") from error
    event = hook_event(
        kind,
        b"" if record.body is None else orjson.dumps(record.body),
        record.params,
        session_env=record.session,
        event_id=record.id,
        at_ms=record.at_ms,
        redactor=redactor,
    )
    if kind is EventKind.SESSION_START:
        sessions.start(event)
    else:
        sessions.apply(event)
    log.debug("spooled %s of %s applied", record.verb, event.session_id)
