"""Hosts MCP clients in the owner: finds the store that a client means, and what its tools may use of it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from context_graph.config import Settings, locate
from context_graph.errors import (
    ContextGraphError,
    DatabaseCorruptionError,
    InvalidInputError,
    StoreClosedError,
    TookTooLongError,
)
from context_graph.mcp.endpoint import Endpoint
from context_graph.mcp.sessions import Sessions
from context_graph.mcp.tools import Toolbox, memory_tools
from context_graph.owner.commands.store_host import StoreHost
from context_graph.wire.frames import Request

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.owner.service import OwnerService

_PEER_NAMES: Final = ("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "CONTEXT_GRAPH_DB_PATH", "HOME")
_ENVIRON_BYTES: Final = 1 << 20
_OF_THE_STORE: Final = (DatabaseCorruptionError, StoreClosedError, TookTooLongError)
"""Failures after which the store must be opened anew; from others the memory recovers by itself."""


class McpHost:
    """One for the owner's life: the tools, and the tool sessions of all clients."""

    def __init__(self, root: Path, service: OwnerService, settings: Settings, log: logging.Logger) -> None:
        self._root = root
        self._service = service
        self._log = log
        self.toolbox = Toolbox(memory_tools())
        self.sessions = Sessions(settings.mcp_session_s)

    def endpoint(self, request: Request) -> Endpoint:
        """The conversation of a client that attached with ``request``; opens nothing yet.

        Raises:
            InvalidInputError: If the request names no store.
        """
        if request.store is None:
            raise InvalidInputError("the request names no store; field 5 must be an absolute path")
        host = _McpStoreHost(self._service, request, self._log)
        return Endpoint(self.toolbox, host, self.sessions, client=request.event_id.encode())

    def endpoint_of(self, pid: int) -> Endpoint:
        """The conversation of a client of which only the process is known: its store is that of the
        project it works in, as for every command that is run there.

        Raises:
            OSError: If the process is gone, or not ours to look at.
        """
        env = {**_environ(pid), "CONTEXT_GRAPH_HOME": os.fspath(self._root)}
        place = locate(None, env, Path(os.readlink(f"/proc/{pid}/cwd")))
        request = Request(
            verb="mcp.plain",
            store=place.store,
            project=place.project,
            session_env=env.get("CLAUDE_CODE_SESSION_ID", ""),
        )
        host = _McpStoreHost(self._service, request, self._log)
        return Endpoint(self.toolbox, host, self.sessions, plain=True)


class _McpStoreHost(StoreHost):
    """One MCP client's `Host`."""

    def __init__(self, service: OwnerService, request: Request, log: logging.Logger) -> None:
        super().__init__(request, lambda: service.open_store(request), service.dreams, service.clean_id)
        self._service = service
        self._log = log

    def memory(self) -> Memex:
        self._service.dreams.query()
        return super().memory()

    def problems(self) -> list[str]:
        return self._service.problems()

    def failed(self, operation: str, error: Exception) -> None:
        if not isinstance(error, ContextGraphError):
            self._log.error("mcp %s failed", operation[:40], exc_info=error)
            return
        self._log.error("mcp %s: %s", operation[:40], error)
        if isinstance(error, _OF_THE_STORE):
            self._service.drop_store(self._request)


def _environ(pid: int) -> dict[str, str]:
    with open(f"/proc/{pid}/environ", "rb") as source:
        pairs = [os.fsdecode(entry).partition("=") for entry in source.read(_ENVIRON_BYTES).split(b"\0")]
    return {name: value for name, _, value in pairs if name in _PEER_NAMES}
