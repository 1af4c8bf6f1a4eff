"""The owner as the host of MCP clients: which store a client means, and what its tools may see of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from context_graph.config import Settings, locate
from context_graph.errors import (
    ContextGraphError,
    DatabaseCorruptionError,
    InvalidInputError,
    SessionNotFoundError,
    StoreClosedError,
    TookTooLongError,
)
from context_graph.mcp_server.dream_tools import dream_tools
from context_graph.mcp_server.endpoint import Endpoint
from context_graph.mcp_server.host import Job, OnDone, OnProgress
from context_graph.mcp_server.registry import Toolbox
from context_graph.mcp_server.sessions import Sessions
from context_graph.mcp_server.tools import memory_tools
from context_graph.model import cut_session_id
from context_graph.owner.views import classification_of, state_of
from context_graph.wire.frames import Request

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.owner.dreams import Dreams
    from context_graph.owner.store_context import StoreContext

__all__ = ["McpHost", "Stores"]

_PEER_NAMES: Final = ("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "CONTEXT_GRAPH_DB_PATH", "HOME")
_ENVIRON_BYTES: Final = 1 << 20
_OF_THE_STORE: Final = (DatabaseCorruptionError, StoreClosedError, TookTooLongError)
"""Failures after which the store must be opened anew; from others the memory recovers by itself."""


class Stores(Protocol):
    """What this needs of the owner's service."""

    def open_store(self, request: Request) -> StoreContext:
        """The store that ``request`` names, opened, with its spool drained."""
        ...

    def drop_store(self, request: Request) -> None:
        """Forget what is in memory of that store: the disk is the truth, and it is read again."""
        ...

    def problems(self) -> list[str]:
        """What a user should know of settings and redaction."""
        ...

    def clean_id(self, text: str | None) -> str | None:
        """``text`` without what can be nothing but a key: it may be written down."""
        ...

    @property
    def dreams(self) -> Dreams:
        """Consolidations."""
        ...


class McpHost:
    """One for the owner's life: the tools, and the tool sessions of all clients."""

    def __init__(self, root: Path, stores: Stores, settings: Settings, log: logging.Logger) -> None:
        self._root = root
        self._stores = stores
        self._log = log
        self.toolbox = Toolbox([*memory_tools(), *dream_tools()])
        self.sessions = Sessions(settings.mcp_session_s)

    def endpoint(self, request: Request) -> Endpoint:
        """The conversation of a client that attached with ``request``; opens nothing yet.

        Raises:
            InvalidInputError: If the request names no store.
        """
        if request.store is None:
            raise InvalidInputError("the request names no store; field 5 must be an absolute path")
        host = _StoreHost(self._stores, request, self._log)
        return Endpoint(self.toolbox, host, self.sessions, client=request.event_id.encode())

    def endpoint_of(self, pid: int) -> Endpoint:
        """The conversation of a client of which only the process is known: the store is that of the project
        it works in, as for every command that is run there.

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
        host = _StoreHost(self._stores, request, self._log)
        return Endpoint(self.toolbox, host, self.sessions, plain=True)


class _StoreHost:
    """One client's `Host`."""

    def __init__(self, stores: Stores, request: Request, log: logging.Logger) -> None:
        self._stores = stores
        self._request = request
        self._log = log

    @property
    def store_name(self) -> str:
        return os.fspath(self._request.store or "")

    @property
    def project(self) -> str | None:
        project = self._request.project
        return None if project is None else os.fspath(project)

    def memory(self) -> Memex:
        self._stores.dreams.query()
        return self._stores.open_store(self._request).memory

    def session_of(self, tool_use_id: str | None) -> str | None:
        own = cut_session_id(self._request.session_env)
        if tool_use_id:
            known = self._stores.open_store(self._request).session_of_tool_use(tool_use_id, own)
            if known is not None:
                return known
        return own or None

    def identity(self, session_id: str | None) -> Mapping[str, Any]:
        context = self._stores.open_store(self._request)
        live = context.sessions.get(session_id) if session_id else context.sessions.latest()
        if live is None:
            raise SessionNotFoundError(session_id or "latest")
        snapshot, state, level = live.snapshot, state_of(live), classification_of(live)
        view: dict[str, Any] = {
            "session_id": snapshot.session_id,
            "previous_session_id": snapshot.previous_session_id,
            "events_applied": live.events_applied,
            "measured": live.has_evidence,
            "identity_continuity": round(level.value, 6),
            "level": level.level,
            "crisis": level.crisis_triggered,
        }
        if state is not None:
            view["state"] = live.metrics.state.name
            for name in ("consciousness", "integration", "reflection", "differentiation"):
                view[name] = round(getattr(state, name), 6)
            view["johari_quadrant"] = state.johari_quadrant
        return view

    @property
    def dream_available(self) -> bool:
        store = self._request.store
        return store is not None and self._stores.dreams.available(store)

    def consolidate(
        self,
        params: Mapping[str, Any],
        *,
        session_id: str | None,
        on_progress: OnProgress,
        on_done: OnDone,
    ) -> Job:
        session_id = self._stores.clean_id(session_id)
        return self._stores.dreams.consolidate(
            self._request, params, session_id=session_id, on_progress=on_progress, on_done=on_done
        )

    def discover_goals(
        self,
        params: Mapping[str, Any],
        *,
        session_id: str | None,
        on_progress: OnProgress,
        on_done: OnDone,
    ) -> Job:
        session_id = self._stores.clean_id(session_id)
        return self._stores.dreams.discover_goals(
            self._request, params, session_id=session_id, on_progress=on_progress, on_done=on_done
        )

    def problems(self) -> list[str]:
        return self._stores.problems()

    def failed(self, operation: str, error: Exception) -> None:
        if not isinstance(error, ContextGraphError):
            self._log.error("mcp %s failed", operation[:40], exc_info=error)
            return
        self._log.error("mcp %s: %s", operation[:40], error)
        if isinstance(error, _OF_THE_STORE):
            self._stores.drop_store(self._request)


def _environ(pid: int) -> dict[str, str]:
    """The few variables of a process's start that say where it works."""
    with open(f"/proc/{pid}/environ", "rb") as source:
        pairs = [os.fsdecode(entry).partition("=") for entry in source.read(_ENVIRON_BYTES).split(b"\0")]
    return {name: value for name, _, value in pairs if name in _PEER_NAMES}
