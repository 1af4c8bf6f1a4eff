"""Talks to an MCP server on standard input and output, just enough to try the tools."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from context_graph import __version__

_VERSION: Final = "2025-11-25"
_LEAVE_S: Final = 2.0
_MAX_BYTES: Final = 16 * 1024 * 1024


class McpFailedError(Exception):
    """The server did not do what was asked; the text says why."""


class McpClient:
    """One server process. Not thread-safe.

    Args:
        timeout_s: For each answer.

    Raises:
        McpFailedError: It can't be started.
    """

    def __init__(
        self, argv: Sequence[str], folder: Path, env: Mapping[str, str], timeout_s: float = 10.0
    ) -> None:
        self._timeout_s = timeout_s
        self._rest = b""
        self._number = 0
        try:
            self._server = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            missing = isinstance(error, FileNotFoundError) and "/" not in argv[0]
            why = "it is not on PATH" if missing else error.strerror
            raise McpFailedError(f"{argv[0]} can't be started: {why}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        with contextlib.suppress(OSError):
            self._server.stdin.close()
        try:
            self._server.wait(timeout=_LEAVE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()
        self._server.stdout.close()

    def begin(self) -> dict[str, Any]:
        """Send `initialize` and what goes with it; returns its result."""
        client = {"name": "context-graph-doctor", "version": __version__}
        result = self.ask(
            "initialize", {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": client}
        )
        self._send({"method": "notifications/initialized"})
        return result

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; its answer as an object.

        Raises:
            McpFailedError: It refused, failed, or gave another kind of answer.
        """
        result = self.ask("tools/call", {"name": tool, "arguments": dict(arguments)})
        if result.get("isError"):
            raise McpFailedError(f"{tool}: {_text_of(result)}")
        content = result.get("structuredContent")
        if not isinstance(content, dict):
            raise McpFailedError(f"{tool} gave no object")
        return content

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and return its result.

        Raises:
            McpFailedError: An error came back, or nothing in time.
        """
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        end = time.monotonic() + self._timeout_s
        while True:
            message = self._message(method, end)
            if message.get("id") != self._number:
                continue  # a notification
            if "error" in message:
                error = message["error"]
                text = error.get("message") if isinstance(error, dict) else error
                raise McpFailedError(f"{method}: {text}")
            result = message.get("result")
            return result if isinstance(result, dict) else {}

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._server.stdin is not None
        try:
            self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._server.stdin.flush()
        except OSError as error:
            raise McpFailedError(f"the server closed its end ({self._server.poll()})") from error

    def _message(self, method: str, end: float) -> dict[str, Any]:
        line = self._line(method, end)
        try:
            message = json.loads(line)
        except ValueError:
            return {}  # a banner; clients put up with one
        return message if isinstance(message, dict) else {}

    def _line(self, method: str, end: float) -> bytes:
        assert self._server.stdout is not None
        handle = self._server.stdout.fileno()
        while b"\n" not in self._rest:
            ready, _, _ = select.select([handle], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise McpFailedError(f"{method}: no answer within {self._timeout_s:g} s")
            part = os.read(handle, 1 << 16)
            if not part or len(self._rest) > _MAX_BYTES:
                raise McpFailedError(f"{method}: the server ended without an answer")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _text_of(result: Mapping[str, Any]) -> str:
    parts = result.get("content")
    texts = (
        [part.get("text", "") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    )
    return " ".join(texts)[:300] or "it failed"
