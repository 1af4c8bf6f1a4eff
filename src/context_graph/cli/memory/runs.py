"""Follows a consolidation that a command began, with a progress bar; Ctrl-C cancels it."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from context_graph.cli.calling import Finished
from context_graph.cli.memory.call import ask_memory
from context_graph.cli.output.bar import updating
from context_graph.errors import ContextGraphError

_POLL_S: Final = (0.02, 0.05, 0.1, 0.1, 0.1, 0.2)
"""Pauses between two looks at a run, the last one from then on: a light one is over in a moment."""
_INTERRUPTED: Final = 130
"""Exit code of what Ctrl-C ended, as in shells."""


def followed(verb: str, given: dict[str, Any], what: str, db_path: str | None) -> Any:
    """Run ``verb`` in the owner and wait for its result; a signal ends the run, with nothing changed."""
    with _Interrupts() as interrupts:
        job = ask_memory(verb, given, db_path)
        try:
            interrupts.come()
            with _bar(what) as tell:
                job = _awaited(job, tell, db_path)
        except KeyboardInterrupt:
            job = ask_memory("memory.consolidate.cancel", {"job": job["job"]}, db_path)
            job = _awaited(job, lambda _: None, db_path)  # what is being committed already goes through
            if job["state"] != "done":  # else it came too late: what was done is told
                print("interrupted; nothing was changed", file=sys.stderr)
                raise Finished(_INTERRUPTED) from None
    if job["state"] == "done":
        return job["result"]
    raise ContextGraphError(job.get("error") or f"the run was {job['state']}; nothing was changed")


def _awaited(job: dict[str, Any], tell: Callable[[dict[str, Any]], None], db_path: str | None) -> Any:
    looks = 0
    while job["state"] in ("queued", "running"):
        tell(job)
        time.sleep(_POLL_S[min(looks, len(_POLL_S) - 1)])
        looks += 1
        job = ask_memory("memory.consolidate.status", {"job": job["job"]}, db_path)
    return job


class _Interrupts:
    """Turns Ctrl-C, SIGTERM and SIGHUP into KeyboardInterrupt, so that a run nobody waits for is not
    committed.

    Until `come` is called the first of them is held back, because a run without a known name can't be ended.
    """

    _SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self._wait = True
        self._waiting = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> _Interrupts:
        self._before = {number: signal.signal(number, self._on_signal) for number in self._SIGNALS}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def come(self) -> None:
        """Raise signals at once from now on, and the one that was held back."""
        self._wait = False
        if self._waiting:
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: object) -> None:
        if not self._wait or self._waiting:
            raise KeyboardInterrupt
        self._waiting = True


@contextlib.contextmanager
def _bar(what: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A progress bar for jobs."""
    with updating(what) as update:

        def tell(job: dict[str, Any]) -> None:
            stage = "waiting for another run" if job["state"] == "queued" else job.get("stage") or what
            update(description=stage, total=job["total"], completed=job["done"])

        yield tell
