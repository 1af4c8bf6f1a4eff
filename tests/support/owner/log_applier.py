"""Applies a store's event log, dying by SIGKILL at a named step; a program for the log's tests.

argv: store folder, number of the step at which to die (0: never). A step is each moment between two effects:
around each write to the database, each segment that is closed or removed, each line that is kept aside.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.memories import REDACTOR

from context_graph.config import Settings
from context_graph.errors import InvalidInputError
from context_graph.owner.sessions import event_reader, log_reader
from context_graph.owner.sessions.event_reader import EventReader
from context_graph.owner.sessions.log_reader import LoggedEvent
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.store.engine.engine import Engine


def opened(folder: Path, **settings: Any) -> StoreContext:
    """The store in ``folder``, opened as the owner opens it."""
    return StoreContext(
        folder, project=None, settings=Settings(**settings), log=logging.getLogger("test"), redactor=REDACTOR
    )


def faulty(real: Callable[[EventReader, LoggedEvent], None]) -> Callable[[EventReader, LoggedEvent], None]:
    """As ``real``, but for two verbs, of which one is refused and one meets a bug."""

    def apply(context: EventReader, event: LoggedEvent) -> None:
        if event.verb == "hooks.refused":
            raise InvalidInputError("this one never will")
        if event.verb == "hooks.bug":
            raise ZeroDivisionError("a bug, on purpose")
        real(context, event)

    return apply


def main() -> None:
    folder, die_at = Path(sys.argv[1]), int(sys.argv[2])
    steps = 0

    def around(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            step()
            result = real(*args, **options)
            step()
            return result

        return call

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    context = opened(folder)
    EventReader._apply = around(faulty(EventReader._apply))  # type: ignore[method-assign]
    event_reader._SLICE = 2
    os.unlink = around(os.unlink)
    os.fchmod = around(os.fchmod)
    log_reader._append = around(log_reader._append)
    Engine._write_together = around(Engine._write_together)  # type: ignore[method-assign]
    logging.disable()
    more = context.events.read(60)
    print(int(more), context.events.rejected, steps)
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)  # nothing that only a good end would write may be needed
