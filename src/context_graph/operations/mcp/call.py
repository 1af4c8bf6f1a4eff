"""Describes one call of a tool: the arguments and surroundings that the tool gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

from context_graph.model.memory import VerbosityLevel
from context_graph.operations.context import Host, OnDone
from context_graph.operations.mcp import rpc
from context_graph.operations.mcp.answers import Notes
from context_graph.operations.mcp.protocol import LOG_LEVELS
from context_graph.operations.mcp.sessions import Session

_LOG: Final = "notifications/message"
_PROGRESS: Final = "notifications/progress"


@dataclass(slots=True)
class ToolCall:
    """A call with all that a tool needs; an operation's `Context`.

    Attributes:
        talk: The tool session that ``session_id`` names, or the connection's own.
        session_id: The session as given, or else the client's session that the call belongs to.
        request: Names this request among all that were ever sent, the same when it is sent again; empty
            where a client can't be told from others.
        send: Takes a notification that goes out before the answer, at once where that is a late one.
        progress_token: As the client gave it, None if it wants no progress.
        log_level: The least level that the client wants to hear of; None for nothing.
        on_done: Takes the end of what takes long; see `tools`.
        tells_pulse: Whether the answer has the pulse: not where Claude Code's model asks, unless its
            `identity_lines` want more than alarms.
    """

    arguments: Mapping[str, Any]
    host: Host
    talk: Session
    session_id: str | None
    verbosity: VerbosityLevel | None
    request: bytes
    send: Notes
    progress_token: str | int | None = None
    log_level: str | None = "info"
    on_done: OnDone | None = None
    source: str = "tool"
    tells_pulse: bool = True
    _made: int = field(default=0)
    _told: float = field(default=-1.0)

    def new_id(self) -> UUID | None:
        """Return the id for what this call makes, derived from the request: one that is sent again after a
        crash makes nothing twice. None where nothing can be derived; the store then draws one."""
        if not self.request:
            return None
        self._made += 1
        digest = blake2b(self.request, digest_size=16, salt=self._made.to_bytes(8, "little")).digest()
        return UUID(bytes=digest, version=4)

    def log(self, level: str, text: str, logger: str = "context-graph") -> None:
        """Tell the client's log, if it wants that level."""
        if self.log_level is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.log_level):
            self.send(rpc.notification(_LOG, {"level": level, "logger": logger, "data": text}))

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Tell a client that asked for it how far a long call is. What is no more than was told before is
        left out, as the protocol wants it, and so is what a client is too slow to take."""
        if self.progress_token is None or done <= self._told or not self.send.clear:
            return
        self._told = done
        params: dict[str, object] = {"progressToken": self.progress_token, "progress": done, "total": total}
        if message:
            params["message"] = message
        self.send(rpc.notification(_PROGRESS, params))
