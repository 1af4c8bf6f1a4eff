"""Describes a tool's answer, at once or later: a result, the promise of one, and the way that it takes.

All on the server's one thread. A deferred call does not block the loop: its own connection and all others are
served meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson

from context_graph.operations.mcp.rpc import INTERNAL_ERROR, INVALID_REQUEST, RequestId, RpcError
from context_graph.text.quoting import TRUST, inert


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answers with.

    Attributes:
        structured: The answer as a JSON object; its text becomes the content where ``content`` is empty.
        content: MCP content blocks, for tools that answer with something else.
        failed: MCP's isError: the tool itself failed, in words for the model.
    """

    structured: Mapping[str, Any] | None = None
    content: tuple[Mapping[str, Any], ...] = ()
    failed: bool = False

    def blocks(self) -> list[Mapping[str, Any]]:
        """Return the content as sent: where there is none, the structured answer's JSON, spelled inertly."""
        if self.content or self.structured is None:
            return list(self.content)
        return [{"type": "text", "text": inert(orjson.dumps(self.structured).decode())}]


def answer(content: Mapping[str, Any], pulse: Mapping[str, Any] | None, *, quotes: bool = True) -> ToolResult:
    """Return the result of a tool that answers ``content``, with the pulse (REQ-CORE-019).

    Args:
        pulse: None where a model reads the answer: nothing that it does follows from one.
        quotes: Whether some of it may be text from memories: then the first field says so, before anything
            that such a text could claim of itself.
    """
    ends = {} if pulse is None else {"pulse": pulse}
    return ToolResult({**(TRUST if quotes else {}), **content, **ends})


_RUNNING_MAX: Final = 16
"""Calls of one connection whose answers are still to come."""


class Outlet(Protocol):
    """The transport's side of a message: where late lines go."""

    def expect(self) -> None:
        """Announce one more late answer: the connection stays open."""
        ...

    def late(self, lines: bytes, *, last: bool) -> None:
        """Lines for the client, perhaps none; with ``last`` one expected answer is settled."""
        ...

    @property
    def clear(self) -> bool:
        """Whether the client has taken what it was sent; while it has not, progress is not added to it."""
        ...


class Deferred:
    """A call whose answer is not there yet: what a tool returns in place of a result.

    The first of `done`, `failed` and `cancel` settles it and the others are then ignored, so that the end of
    the work and a client's cancellation may cross.
    """

    def __init__(self) -> None:
        self.on_cancel: Callable[[], None] = _nothing
        """Ends the work, of which nothing may stay half done. Not called once it has ended."""
        self.outcome: ToolResult | Exception | None = None
        """None also where it was cancelled: a cancelled request is not answered."""
        self.settled = False
        self._then: Callable[[], None] = _nothing

    def done(self, result: ToolResult) -> None:
        """End the call with ``result``."""
        self._settle(result)

    def failed(self, error: Exception) -> None:
        """End the call with an error, which the client gets like any other."""
        self._settle(error)

    def cancel(self) -> None:
        """Cancel the call: the client no longer wants it, or has gone."""
        if not self.settled:
            self._settle(None)
            self.on_cancel()

    def when_settled(self, then: Callable[[], None]) -> None:
        """Call ``then`` as soon as it has ended."""
        self._then = then

    def _settle(self, outcome: ToolResult | Exception | None) -> None:
        if not self.settled:
            self.settled, self.outcome = True, outcome
            self._then()


class Notes:
    """Collects the notifications of a call: sent before its answer, or at once if that is late."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._late = False
        self._kept: list[bytes] = []

    def __call__(self, note: bytes) -> None:
        if self._late:
            self._outlet.late(note + b"\n", last=False)
        else:
            self._kept.append(note)

    @property
    def clear(self) -> bool:
        """As `Outlet.clear`."""
        return not self._late or self._outlet.clear

    def take(self) -> bytes:
        """Return the lines so far, which precede the answer."""
        lines = b"".join(note + b"\n" for note in self._kept)
        self._kept.clear()
        return lines

    def go_late(self) -> None:
        """Send notifications at once from now on: the answer is a late one."""
        self._late = True
        self._outlet.expect()


class Running:
    """The calls of one conversation that are not answered yet, by the ids of their requests."""

    def __init__(self) -> None:
        self._calls: dict[RequestId, Deferred] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def check(self, request_id: RequestId) -> None:
        """Refuse an id that could not be told from one in use.

        Raises:
            RpcError: If a request of that id is not answered yet.
        """
        if request_id in self._calls:
            raise RpcError(INVALID_REQUEST, "Invalid Request: a request of this id is still being served")

    def add(self, request_id: RequestId, call: Deferred, then: Callable[[], None]) -> None:
        """Note a call that will be settled later; ``then`` is called when it is.

        Raises:
            RpcError: If there are too many; the call has been cancelled.
        """
        if len(self._calls) >= _RUNNING_MAX:
            call.cancel()
            why = f"{_RUNNING_MAX} calls of this connection are running already; wait for one, or cancel it"
            raise RpcError(INTERNAL_ERROR, why)

        def settled() -> None:
            del self._calls[request_id]
            then()

        self._calls[request_id] = call
        call.when_settled(settled)

    def cancel(self, request_id: object) -> None:
        """Cancel the call of that request, if it is still running."""
        if isinstance(request_id, (str, int)) and not isinstance(request_id, bool):
            call = self._calls.get(request_id)
            if call is not None:
                call.cancel()

    def cancel_all(self) -> None:
        """Cancel all calls: nobody waits any more."""
        for call in list(self._calls.values()):
            call.cancel()

    def fail_all(self, error: Exception) -> None:
        """End all calls, and tell the clients why."""
        for call in list(self._calls.values()):
            call.failed(error)
            call.on_cancel()


def _nothing() -> None:
    """Does nothing; the default callback."""
