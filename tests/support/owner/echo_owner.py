"""The real owner process around a small service of its own; run as a program by the owner's tests.

Verbs: `echo` gives the body back, `count` appends a mark to the file `count` of the root, `sleep`
takes params["ms"] milliseconds, `environment` and `modules` list names, `large` answers with
params["bytes"] bytes, `fail` raises what params["error"] names, `boom` something that is none of ours.
MCP tools: `echo`, `sleep`, `large`, `boom` likewise, `count`, which makes something once for a request, and
`later`, which answers after ms milliseconds, tells its progress in steps, and leaves the file `cancelled`
where it was.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from context_graph.config import Settings
from context_graph.errors import UsageError, error_for_code
from context_graph.owner.__main__ import main
from context_graph.wire.frames import APPLIED, Reply, Request

if TYPE_CHECKING:  # an owner without MCP clients must not pay for MCP
    from context_graph.operations.mcp.answers import Deferred, ToolResult
    from context_graph.operations.mcp.endpoint import Endpoint
    from context_graph.operations.mcp.tools import ToolCall


class EchoHost:
    """Says of which store its client is; has no memory."""

    project = None

    def __init__(self, store_name: str) -> None:
        self.store_name = store_name

    def session_of(self, tool_use_id: str | None) -> str | None:
        return tool_use_id

    def problems(self) -> list[str]:
        return ["something is not as it should be"]

    def failed(self, operation: str, error: Exception) -> None:
        """Nothing to drop."""


def _result(*args: Any, **kwargs: Any) -> ToolResult:
    from context_graph.operations.mcp.answers import ToolResult

    return ToolResult(*args, **kwargs)


def _echo(call: ToolCall) -> ToolResult:
    return _result(
        {"said": call.arguments.get("say"), "store": call.host.store_name, "session": call.session_id}
    )


def _tell(call: ToolCall) -> ToolResult:
    call.log("info", "half way")
    return _result({"told": True})


def _large(call: ToolCall) -> ToolResult:
    return _result(content=({"type": "text", "text": "x" * int(call.arguments["bytes"])},))


def _boom(call: ToolCall) -> ToolResult:
    raise ZeroDivisionError("a bug, on purpose")


class EchoService:
    """Stands where the stores' service stands; its effects are files in the root, which outlive kills."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def handle(self, request: Request) -> Reply:
        params = request.params
        if request.verb.endswith("echo"):
            return Reply(0, 0, request.body, b"")
        if request.verb == "count":
            with open(self._root / "count", "ab", buffering=0) as sink:
                sink.write(b"." if not request.event_id else request.event_id.encode() + b"\n")
            return Reply(0, APPLIED)
        if request.verb == "sleep":
            (self._root / "asleep").touch()
            time.sleep(float(str(params["ms"])) / 1000.0)
            return Reply(0, APPLIED, b"awake\n")
        if request.verb == "environment":
            return Reply(0, 0, "\n".join(os.environ).encode())
        if request.verb == "modules":
            return Reply(0, 0, "\n".join(sys.modules).encode())
        if request.verb == "large":
            return Reply(0, 0, b"x" * int(str(params["bytes"])))
        if request.verb.endswith("fail"):
            raise error_for_code(str(params["error"]))("it failed: as asked")
        if request.verb.endswith("boom"):
            raise ZeroDivisionError("a bug, on purpose")
        raise UsageError(f"no verb {request.verb!r}")

    def endpoint(self, request: Request) -> Endpoint:
        return self._endpoint(str(request.store), request.event_id.encode())

    def endpoint_of(self, pid: int) -> Endpoint:
        return self._endpoint(os.readlink(f"/proc/{pid}/cwd"), b"")

    def mcp_host(self) -> EchoService:
        return self

    def _endpoint(self, store: str, client: bytes) -> Endpoint:
        from context_graph.operations.mcp.endpoint import Endpoint
        from context_graph.operations.mcp.sessions import Sessions
        from context_graph.operations.mcp.tools import Tool, Toolbox

        runs = {
            "echo": _echo,
            "tell": _tell,
            "sleep": self._sleep,
            "large": _large,
            "boom": _boom,
            "count": self._count,
            "later": self._later,
        }
        tools = [Tool(name, name, {"type": "object"}, run) for name, run in runs.items()]
        return Endpoint(Toolbox(tools), EchoHost(store), Sessions(), client=client, plain=not client)

    def _sleep(self, call: ToolCall) -> ToolResult:
        (self._root / "asleep").touch()
        time.sleep(float(call.arguments["ms"]) / 1000.0)
        return _result({"slept": True})

    def _later(self, call: ToolCall) -> Deferred:
        import asyncio  # the owner's own start-up must be what imports it first

        from context_graph.operations.mcp.answers import Deferred

        given, deferred, loop = call.arguments, Deferred(), asyncio.get_running_loop()
        steps, seconds = int(given.get("steps", 0)), float(given.get("ms", 0)) / 1000.0
        (self._root / "later").touch()
        for step in range(1, steps + 1):
            loop.call_later(seconds * step / (steps + 1), call.progress, step, steps, f"step {step}")

        def end() -> None:
            if "fail" in given:
                deferred.failed(error_for_code(str(given["fail"]))("it failed: as asked"))
            elif "bug" in given:
                deferred.failed(ZeroDivisionError("a bug, on purpose"))
            else:
                deferred.done(_result({"waited_ms": seconds * 1000.0}))

        timer = loop.call_later(seconds, end)

        def cancel() -> None:
            timer.cancel()
            (self._root / "cancelled").touch()

        deferred.on_cancel = cancel
        return deferred

    def _count(self, call: ToolCall) -> ToolResult:
        made = self._root / "made"
        made.mkdir(exist_ok=True)
        (made / str(call.new_id())).touch()
        if call.arguments.get("die"):
            once = self._root / "died"
            if not once.exists() or call.arguments.get("die") == "always":
                once.touch()
                os._exit(9)
        return _result({"made": len(list(made.iterdir()))})

    def stats(self) -> dict[str, object]:
        return {"stores": 0, "sessions": 0, "events_waiting": 0}

    has_work = False
    busy = False

    def begin(self, loop: object, settle: object) -> None:
        """Nothing runs beside this one."""

    def leave(self) -> None:
        """Nothing to end."""

    def tidy(self) -> bool:
        """Nothing ever waits."""
        return False

    def retry(self) -> list[dict[str, object]]:
        """Nothing is ever set aside."""
        return []

    def settle(self) -> None:
        """Nothing is left for later here; it fails while the file `unsettled` is there."""
        if (self._root / "unsettled").exists():
            raise ZeroDivisionError("a bug in settling, on purpose")

    def catch_up(self) -> None:
        """No log is read here."""

    def checkpoint(self) -> None:
        self._note("checkpoint")

    def close(self) -> None:
        self._note("close")

    def _note(self, word: str) -> None:
        with contextlib.suppress(OSError), open(self._root / "closing", "a") as sink:
            sink.write(f"{os.getpid()} {word}\n")


def build_service(root: Path, settings: Settings, log: logging.Logger) -> EchoService:
    """What `owner.__main__` asks `owner.service` for."""
    with contextlib.suppress(OSError), open(root / "owners", "a") as sink:  # a full disk is no reason
        sink.write(f"{os.getpid()}\n")
    return EchoService(root)


if __name__ == "__main__":
    module = ModuleType("context_graph.owner.service")
    module.build_service = build_service  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    sys.exit(main([word for word in sys.argv[1:] if word not in ("-P", "-m", "context_graph.owner")]))
