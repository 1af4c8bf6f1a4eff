"""Exchanges one store with its hub for as long as its owner lives: `python -m context_graph.sync.background`.

The owner starts it beside itself for a store that has joined a hub, and writes a line to its standard input
each time the store changed. When that closes, it ends. The hub wakes it with a notification; because those
may get lost, it looks by itself each POLL_S. Every wait has an end; after a failure the next try comes later.
"""

from __future__ import annotations

import os
import random
import select
import sys
import threading
import time
from pathlib import Path
from typing import Final

import psycopg

from context_graph.config import Location
from context_graph.errors import ContextGraphError, OwnerUnavailableError, StoreBusyError
from context_graph.sync.hub.membership import Membership, joined
from context_graph.sync.hub.memories import Indexer
from context_graph.sync.hub.transport import Hub, Listener
from context_graph.sync.run import exchange_once
from context_graph.sync.side import OwnerSide
from context_graph.system.processes import give_way

POLL_S: Final = 30.0
_PAUSE_S: Final = 0.25
"""Between two exchanges, at least; and twice as long as the last one took, so that a busy hub has rest."""
_BUSY_S: Final = 2.0
_BACK_OFF_S: Final = 1.0
_BACK_OFF_MOST_S: Final = 60.0
_OOM_SCORE: Final = "600"
_STDIN: Final = 0
_READ_BYTES: Final = 4096


class Background:
    """The exchanges of one store."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._side = OwnerSide(location, autostart=False)
        self._woken, self._wake = os.pipe()
        self._hub: Hub | None = None
        self._listener: Listener | None = None
        self._member: Membership | None = None
        self._index_at = 0.0
        """When to look whether others left something that is not indexed; what was told here is at once."""

    def run(self) -> None:
        """Exchange until the store has left the hub, or its owner is gone."""
        threading.Thread(target=self._hear_owner, daemon=True).start()
        failures = 0
        while self._has_hub():
            began = time.monotonic()
            try:
                self._exchange()
                failures = 0
                time.sleep(min(max(_PAUSE_S, 2 * (time.monotonic() - began)), POLL_S))
                self._wait()
            except OwnerUnavailableError:
                return
            except StoreBusyError:
                time.sleep(_BUSY_S)
            except (ContextGraphError, psycopg.Error):  # `once` has noted it
                self._forget()
                failures += 1
                wait_s = min(_BACK_OFF_MOST_S, _BACK_OFF_S * 2.0 ** (failures - 1))
                time.sleep(wait_s * random.uniform(0.5, 1.0))

    def _has_hub(self) -> bool:
        try:
            member = joined(self._location.store)
        except ContextGraphError:
            return False
        if member != self._member:
            self._forget()
            self._member = member
        return member is not None

    def _exchange(self) -> None:
        assert self._member is not None
        if self._hub is None:
            self._hub = Hub(self._member.url, self._member.project)
        if self._listener is None:  # before the exchange: what comes after it has been read is told
            self._listener = self._listening()
        report = exchange_once(self._location.store, self._member.where, self._side, self._hub)
        if report.read_only or (not report.told and time.monotonic() < self._index_at):
            return
        Indexer(self._hub).run()
        self._index_at = time.monotonic() + POLL_S

    def _listening(self) -> Listener | None:
        """None where it can't be had: the exchange itself says what is wrong, and POLL_S does."""
        assert self._member is not None
        try:
            return Listener(self._member.url, self._member.project)
        except ContextGraphError:
            return None

    def _wait(self) -> None:
        """Until the store changed, the hub says that somebody told something, or POLL_S."""
        end = time.monotonic() + POLL_S
        while (left := end - time.monotonic()) > 0:
            heard = [] if self._listener is None else [self._listener.fileno()]
            ready, _, _ = select.select([self._woken, *heard], [], [], left)
            if self._woken in ready:
                os.read(self._woken, _READ_BYTES)
                return
            if ready and self._listener is not None and self._listener.is_news(self._hub):
                return

    def _forget(self) -> None:
        for connection in (self._hub, self._listener):
            if connection is not None:
                connection.close()
        self._hub = self._listener = None

    def _hear_owner(self) -> None:
        while os.read(_STDIN, _READ_BYTES):
            os.write(self._wake, b"\n")
        os._exit(0)


def main(argv: list[str]) -> int:
    """Run for the root, store and project in ``argv``."""
    if len(argv) != 4:
        print("usage: python -m context_graph.sync.background ROOT STORE PROJECT", file=sys.stderr)
        return 64
    give_way(_OOM_SCORE)
    Background(Location(*map(Path, argv[1:]))).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
