"""What whoever serves MCP lends to it: the store, the live sessions, the join with the hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex

__all__ = ["Host"]


class Host(Protocol):
    """One client's view of the owner: one project's store. Every method may raise ContextGraphError."""

    @property
    def store_name(self) -> str:
        """Names the store among all; sessions of two stores are told apart by it."""
        ...

    @property
    def project(self) -> str | None:
        """The project's top folder, noted on what is stored."""
        ...

    def memory(self) -> Memex:
        """The store's memory, opened if need be. Asked for in each call: it may be closed between two."""
        ...

    def session_of(self, tool_use_id: str | None) -> str | None:
        """The client's session that a call belongs to: by the hook that saw the same tool use, else by the
        environment of the client's process."""
        ...

    def identity(self, session_id: str | None) -> Mapping[str, Any]:
        """The numbers of a live session (None: the one saved last) for get_identity.

        Raises:
            SessionNotFoundError: If there is none.
        """
        ...

    def problems(self) -> list[str]:
        """What the client's user should know: settings that were dropped, redaction that is limited."""
        ...

    def failed(self, operation: str, error: Exception) -> None:
        """A call failed, not by its parameters: log it, drop what can't be trusted any more."""
        ...
