"""Tells clients what happens, one JSON line each time, for as long as they stay connected.

Such a client says nothing. What happens while a line is still being sent is said in one line afterwards, so a
client that is slow, or a busy session, costs no memory.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.socket.connection import Channel, Server
from context_graph.store.graph.history import Run

if TYPE_CHECKING:
    from context_graph.operations.context import Job


_PAUSE_S: Final = 0.25
"""Between two lines about a store."""

Changed = Callable[[], tuple[str, ...]]
"""The parts that changed since its last call."""


class _Telling(Channel):
    """State: waiting, or (``_out``) sending a line."""

    SLOW_S: ClassVar[float] = 30.0

    @property
    def buffered(self) -> int:
        """It reads nothing."""
        return 0

    def _say(self, message: object) -> None:
        self._send(json.dumps(message).encode() + b"\n")


class FollowConnection(_Telling):
    """Tells which parts of a store changed, at most four times a second.

    ``changed`` is asked each time something may have changed; ``ended`` is called once.
    """

    def __init__(
        self,
        connected: socket.socket,
        server: Server,
        loop: asyncio.AbstractEventLoop,
        *,
        changed: Changed,
        ended: Callable[[FollowConnection], None],
    ) -> None:
        super().__init__(connected, server, loop)
        self._changed, self._ended = changed, ended
        self._waiting: dict[str, None] = {}
        self._pause: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """It may go when room is needed: the client connects again and reads everything anew."""
        return not self._out

    def start(self) -> None:
        """Wait for changes, or for the client to go."""
        self._changed()
        self._read_on()

    def look(self) -> None:
        """Something may have changed: say so, now or soon."""
        self._waiting |= dict.fromkeys(self._changed())
        if self._waiting and not self._out and self._pause is None:
            self._tell()

    def leave(self) -> None:
        """Close, as the owner leaves."""
        self.close()

    def _tell(self) -> None:
        parts = list(self._waiting)
        self._waiting.clear()
        self._pause = self._loop.call_later(_PAUSE_S, self._resume)
        self._say({"changed": parts})

    def _resume(self) -> None:
        self._pause = None
        if self._waiting and not self._out and not self._is_closed:
            self._tell()

    def _on_readable(self) -> None:
        self.close()  # the end, or a client that speaks out of turn

    def _sent(self) -> None:
        self._read_on()
        if self._pause is None:
            self._resume()

    def _closed(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._ended(self)
        super()._closed()


class JobConnection(_Telling):
    """Tells how far a job is, until its end. The job ends with the client, or when that ends its own side."""

    def __init__(
        self, connected: socket.socket, server: Server, loop: asyncio.AbstractEventLoop, job: Job
    ) -> None:
        super().__init__(connected, server, loop)
        self._job = job
        self._is_awaited = True
        self._shown: dict[str, object] = {}

    @property
    def idle(self) -> bool:
        """Never: somebody waits for the job."""
        return False

    def start(self) -> None:
        """Tell how far the job is from now on."""
        self._job.on_change = self.look
        self._read_on()
        self.look()

    def look(self) -> None:
        """Tell how far the job is now, as soon as what was told before is sent."""
        view = self._job.view()
        if view != self._shown and not self._out and not self._is_closed:
            self._shown = view
            self._say(view)

    def leave(self) -> None:
        """Wait for the job's end, which an owner that leaves brings about."""

    def _on_readable(self) -> None:
        self._is_awaited = False
        self._stop_reading()
        self._job.cancel()  # one that is being committed goes on, and its end is told

    def _sent(self) -> None:
        if self._shown == self._job.view() and self._job.over:
            self.close()
            return
        if self._is_awaited:
            self._read_on()
        self.look()

    def _closed(self) -> None:
        if self._is_awaited:
            self._is_awaited = False
            self._job.cancel()
        super()._closed()


# Which parts of a store changed


def changes(context: StoreContext) -> Callable[[], tuple[str, ...]]:
    """Return a function that names the parts (`rows.PARTS`) which changed since it was called last.

    Cost of a call: some 2 us; 20 us more after a change of the memory.
    """
    known: dict[str, object] = {}

    def changed() -> tuple[str, ...]:
        now = _counts(context)
        if now["memories"] != known.get("memories"):
            now["runs"] = _last_run(context)
        changed = [name for name, value in now.items() if known.get(name) != value]
        known.update(now)
        return tuple([*changed, "health"] if changed else changed)

    return changed


def _counts(context: StoreContext) -> dict[str, object]:
    has_memory = context.memory_seq() is not None
    totals = tuple(context.memory_hooks.ledger.totals().values()) if has_memory else None
    return {
        "memories": context.memory_seq(),
        "map": context.memory_seq(),
        "ledger": totals,
        "effect": totals,
        "sessions": context.store.event_log.written,
        "gates": context.store.requirement_log.written,
    }


def _last_run(context: StoreContext) -> object:
    if context.memory_seq() is None:
        return None
    newest: list[Run] = list(context.memory.runs(1))
    return newest[0].token if newest else None
