"""Handles one client's conversation with the server: life cycle, tools/list, tools/call, ping, logging.

Both eras on one connection: a request whose `_meta` names a stateless version is served by that alone, any
other belongs to the conversation that `initialize` opened.

Independent of the transport: takes the bytes of one message and returns those of the answers. The caller
decides how often other clients are served in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, Final

from context_graph.errors import ContextGraphError, RateLimitError, TookTooLongError, UsageError
from context_graph.memory.faults import rpc_fault  # here: out of descriptors nothing can be imported
from context_graph.model.memory import VerbosityLevel
from context_graph.operations.context import Host
from context_graph.operations.mcp import rpc
from context_graph.operations.mcp.answers import Deferred, Notes, Outlet, Running, ToolResult
from context_graph.operations.mcp.rpc import (
    LATEST,
    LOG_LEVELS,
    PLAIN,
    Invalid,
    Notification,
    Request,
    Response,
    RpcError,
    Version,
    completed,
    discover_result,
    initialize_result,
    log_level_of,
    named_version,
    negotiate,
)
from context_graph.operations.mcp.sessions import Sessions
from context_graph.operations.mcp.tools import Toolbox, ToolCall
from context_graph.operations.operation import Shown, read
from context_graph.system import watchdog
from context_graph.system.watchdog import Piece, TookTooLong

_TOOL_USE: Final = "claudecode/toolUseId"
_LOG: Final = "notifications/message"
_DISCOVER: Final = "server/discover"
_STATELESS: Final = frozenset({_DISCOVER, "tools/list", "tools/call"})
"""Methods of the stateless versions; ping, logging/setLevel and initialize are gone there."""
_STORAGE_ERROR: Final = -32002
INPUT_FAULT: Final = "context-graph/error"
"""Key of a result's `_meta`."""
_LOG_SAYS: Final = "log/owner.log in the data root says where"


class Endpoint:
    """The server's side of one connection.

    Args:
        client: Names the client's process, the same when it connects again; b"" if that is not known.
            Together with a request's own bytes it tells a request that is sent again from a new one.
        plain: It may call without `initialize`, and then finds a tool's fields beside MCP's own in the
            result, where seed 002's script looks for them.
    """

    def __init__(
        self, toolbox: Toolbox, host: Host, sessions: Sessions, *, client: bytes = b"", plain: bool = False
    ) -> None:
        self._toolbox = toolbox
        self._host = host
        self._sessions = sessions
        self._client = client
        self._plain = plain
        self._version: Version | None = None
        self._log_level = "info"
        self._own = sessions.anonymous()
        self._running = Running()
        self._methods: dict[str, Callable[[Request, bytes, Notes], Any]] = {
            "initialize": self._initialize,
            "ping": lambda *_: {},
            "tools/list": lambda request, *_: {"tools": toolbox.listed(self._spoken(request))},
            "tools/call": self._call,
            "logging/setLevel": self._set_level,
            _DISCOVER: lambda *_: discover_result(),
        }

    @property
    def initialized(self) -> bool:
        """Whether the client has sent MCP's `initialize`."""
        return self._version is not None

    @property
    def version(self) -> Version:
        """The protocol's version that is spoken."""
        return self._version or (PLAIN if self._plain else LATEST)

    def receive(self, text: bytes, outlet: Outlet) -> Iterator[bytes]:
        """Serve the message or batch in ``text``: each step serves one message and gives what is to be sent
        (lines, perhaps none). What can't be answered yet goes to ``outlet`` when it can."""
        incoming = rpc.parse(text)
        if not isinstance(incoming, list):
            yield self._serve(incoming, text, Notes(outlet), lambda line: outlet.late(line, last=True))
            return
        if not self.version.batches:
            why = f"Invalid Request: protocol version {self.version.name} has no batches"
            yield rpc.failure(None, RpcError(rpc.INVALID_REQUEST, why, rpc.OF_A_BATCH)) + b"\n"
            return
        batch = _Batch(outlet)
        for at, item in enumerate(incoming):
            if isinstance(item, Request) and item.method == "initialize":
                item = Invalid(
                    item.id, RpcError(rpc.INVALID_REQUEST, "Invalid Request: initialize in a batch")
                )
            notes = Notes(outlet)
            yield batch.take(self._answer(item, b"%d:" % at + text, notes, batch.late), notes)
        yield batch.served()

    def cancel(self, request_id: object) -> None:
        """Cancel a request that is not answered yet, at the client's wish."""
        self._running.cancel(request_id)

    def leave(self) -> None:
        """End what is not answered yet, and say so: the server is leaving."""
        why = "Storage error: the owner is stopping; call again"
        self._running.fail_all(RpcError(_STORAGE_ERROR, why, {"retryable": True}))

    def close(self) -> None:
        """Cancel everything: the client has gone. Safe to call twice."""
        self._running.cancel_all()

    def _serve(self, item: rpc.Incoming, text: bytes, notes: Notes, late: Callable[[bytes], None]) -> bytes:
        answer = self._answer(item, text, notes, lambda line: late(line + b"\n" if line else b""))
        if answer is None:
            return notes.take()
        return notes.take() + (answer + b"\n" if answer else b"")

    def _answer(
        self, item: rpc.Incoming, text: bytes, notes: Notes, late: Callable[[bytes], None]
    ) -> bytes | None:
        """Return the answer to one message, b"" if it has none; None if ``late`` will be called with it.
        ``notes`` takes notifications that precede it."""
        if isinstance(item, Response):
            return b""  # we ask clients nothing
        if isinstance(item, Notification):
            self._note(item, notes)
            return b""
        if isinstance(item, Invalid):
            return rpc.failure(item.id, item.error)
        try:
            self._running.check(item.id)
            named = named_version(item.params, needed=item.method == _DISCOVER)
            method = self._methods.get(item.method)
            if method is None or (named is not None and item.method not in _STATELESS):
                shown = item.method[:80]
                raise RpcError(rpc.METHOD_NOT_FOUND, f"Method not found: {shown}", {"method": shown})
            piece = Piece(f"{_operation(item)} of an MCP client", self._host.store_name)
            outcome = watchdog.run(piece, lambda: method(item, text, notes))
            if isinstance(outcome, Deferred) and not outcome.settled:
                self._running.add(item.id, outcome, lambda: late(self._outcome(item, outcome)))
                notes.go_late()
                return None
        except TookTooLong as ended:
            return self._failure(item, TookTooLongError(str(ended)))
        except Exception as error:
            return self._failure(item, error)
        return self._outcome(item, outcome) if isinstance(outcome, Deferred) else self._success(item, outcome)

    def _outcome(self, request: Request, call: Deferred) -> bytes:
        """Return the answer to a call that has ended; b"" if it was cancelled."""
        if isinstance(call.outcome, Exception):
            return self._failure(request, call.outcome)
        if call.outcome is None:
            return b""
        return self._success(request, self._shaped(call.outcome, self._spoken(request)))

    def _spoken(self, request: Request) -> Version:
        """Return the version that a request is answered in."""
        return named_version(request.params, needed=False) or self.version

    def _success(self, request: Request, result: dict[str, Any]) -> bytes:
        if self._spoken(request).stateless:
            result = completed(result, cached=request.method != "tools/call")
        return rpc.success(request.id, result)

    def _failure(self, request: Request, error: Exception) -> bytes:
        if isinstance(error, ContextGraphError):
            error = self._fault(request, error)
            if error.code == rpc.INVALID_PARAMS and request.method == "tools/call":
                version = self._spoken(request)
                if version.faults_in_results:
                    return self._success(request, _refused(error))
        elif not isinstance(error, RpcError):
            self._host.failed(request.method, error)
            why = f"Internal error: a bug in context-graph ({type(error).__name__}); {_LOG_SAYS}"
            error = RpcError(rpc.INTERNAL_ERROR, why, {"recovery": "Report it with what log/owner.log says"})
        return rpc.failure(request.id, error)

    def _fault(self, request: Request, error: ContextGraphError) -> RpcError:
        operation = _operation(request)
        code, message, data = rpc_fault(error, operation)
        if not isinstance(error, UsageError | RateLimitError):  # those are the client's to mend
            self._host.failed(operation, error)
        return RpcError(code, message, data)

    def _note(self, item: Notification, notes: Notes) -> None:
        """Handle a notification; unknown ones are ignored, as JSON-RPC requires."""
        if item.method == "notifications/cancelled":
            self.cancel(item.params.get("requestId"))
        elif item.method == "notifications/initialized":
            for problem in self._host.problems():
                self._tell(notes, "warning", problem)

    def _tell(self, notes: Notes, level: str, text: str) -> None:
        if LOG_LEVELS.index(level) >= LOG_LEVELS.index(self._log_level):
            notes(rpc.notification(_LOG, {"level": level, "logger": "context-graph", "data": text}))

    def _initialize(self, request: Request, text: bytes, notes: Notes) -> object:
        wanted = request.params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise RpcError(
                rpc.INVALID_PARAMS,
                "Invalid params: protocolVersion - must be a string",
                {"error": "ERR-CORE-004", "parameter": "protocolVersion"},
            )
        self._version = negotiate(wanted)
        return initialize_result(self._version)

    def _set_level(self, request: Request, text: bytes, notes: Notes) -> object:
        level = request.params.get("level")
        if level not in LOG_LEVELS:
            why = f"Invalid params: level - must be one of {', '.join(LOG_LEVELS)}"
            raise RpcError(rpc.INVALID_PARAMS, why, {"error": "ERR-CORE-004", "parameter": "level"})
        self._log_level = level
        return {}

    def _call(self, request: Request, text: bytes, notes: Notes) -> object:
        name, arguments = request.params.get("name"), request.params.get("arguments")
        tool = self._toolbox.find(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(self._toolbox.names())
            raise RpcError(rpc.INVALID_PARAMS, f"Unknown tool: {str(name)[:80]}", {"known": known})
        if arguments is not None and not isinstance(arguments, dict):
            why = "Invalid params: arguments - must be an object"
            raise RpcError(rpc.INVALID_PARAMS, why, {"error": "ERR-CORE-004", "parameter": "arguments"})
        call = self._tool_call(tool.name, arguments or {}, request.params, text, notes)
        version = self._spoken(request)
        if version.stateless:
            call.log_level = log_level_of(request.params)
        limit = (self._host.store_name, tool.name, call.session_id or self._client.hex())
        if tool.once_a_minute:
            self._sessions.limits.check(limit)
        outcome = tool.run(call)
        if tool.once_a_minute:  # what was refused by its parameters has not been done
            self._sessions.limits.count(limit)
        return outcome if isinstance(outcome, Deferred) else self._shaped(outcome, version)

    def _tool_call(
        self, tool: str, arguments: dict[str, Any], params: dict[str, Any], text: bytes, notes: Notes
    ) -> ToolCall:
        shared = read(Shown, {name: arguments.get(name) for name in Shown.__struct_fields__}, tool)
        session_id, level = shared.session_id, shared.verbosity_level
        session = self._own if session_id is None else self._sessions.use(self._host.store_name, session_id)
        raw = params.get("_meta")
        meta: dict[str, Any] = raw if isinstance(raw, dict) else {}
        token, use = meta.get("progressToken"), meta.get(_TOOL_USE)
        return ToolCall(
            arguments=arguments,
            host=self._host,
            talk=session,
            session_id=session_id or self._host.session_of(use if isinstance(use, str) else None),
            verbosity=session.verbosity if level is None else VerbosityLevel.from_value(level),
            request=blake2b(self._client + b"\0" + text, digest_size=32).digest() if self._client else b"",
            send=notes,
            progress_token=token if isinstance(token, (str, int)) else None,
            log_level=self._log_level,
            tells_pulse=not isinstance(use, str) or self._host.tells_identity,
        )

    def _shaped(self, result: ToolResult, version: Version) -> dict[str, Any]:
        shaped: dict[str, Any] = {}
        if version is PLAIN and result.structured is not None:
            shaped.update(result.structured)
        shaped["content"] = result.blocks()
        if version.structured and result.structured is not None:
            shaped["structuredContent"] = result.structured
        if result.failed:
            shaped["isError"] = True
        return shaped


def _refused(error: RpcError) -> dict[str, Any]:
    """Return the result of a call whose input was wrong; programs find the error object in it."""
    content = [{"type": "text", "text": error.message}]
    return {"content": content, "isError": True, "_meta": {INPUT_FAULT: rpc.error_object(error)}}


def _operation(request: Request) -> str:
    return str(request.params.get("name", ""))[:80] or request.method[:80]


class _Batch:
    """The answers to one batch, sent as one array once all are there."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._answers: list[bytes] = []
        self._waiting = 0
        self._served = False

    def take(self, answer: bytes | None, notes: Notes) -> bytes:
        """Note a message's answer, None for a late one; the lines to send now."""
        if answer is None:
            self._waiting += 1
        elif answer:
            self._answers.append(answer)
        return notes.take()

    def late(self, answer: bytes) -> None:
        """Take a late answer, b"" for one that was cancelled."""
        self._waiting -= 1
        if answer:
            self._answers.append(answer)
        self._outlet.late(self._lines() if self._served else b"", last=True)

    def served(self) -> bytes:
        """Note that all messages have been served; returns the lines to send now."""
        self._served = True
        return self._lines()

    def _lines(self) -> bytes:
        return b"[" + b",".join(self._answers) + b"]\n" if self._answers and not self._waiting else b""
