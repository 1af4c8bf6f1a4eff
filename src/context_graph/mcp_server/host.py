"""What whoever serves MCP lends to it: the store, the live sessions, the join with the hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex

__all__ = ["Host", "Job", "OnDone", "OnProgress"]

OnProgress = Callable[[int, int, str], None]
"""How far a job is: done, of how many, and what it is at. Never told after its end."""
OnDone = Callable[[Mapping[str, Any] | Exception], None]
"""The end of a job, as JSON or as what went wrong; once, after its start has returned, unless cancelled."""


class Job(Protocol):
    """Work that takes long."""

    def cancel(self) -> None:
        """End it with nothing changed. What has ended stays as it is."""
        ...


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

    @property
    def dream_available(self) -> bool:
        """Whether a consolidation of the store could begin now."""
        ...

    def consolidate(
        self,
        params: Mapping[str, Any],
        *,
        session_id: str | None,
        on_progress: OnProgress,
        on_done: OnDone,
    ) -> Job:
        """Begin a consolidation of the store: mode, salience_threshold, max_memories, dry_run, strict, all
        checked for type and range. The session's consciousness gates the mode.

        Raises:
            ModeNotAllowedError: The mode is not allowed now, and ``strict`` takes no other.
        """
        ...

    def discover_goals(
        self,
        params: Mapping[str, Any],
        *,
        session_id: str | None,
        on_progress: OnProgress,
        on_done: OnDone,
    ) -> Job:
        """Begin to look for the goals that the memories show: min_confidence, max_goals. Changes nothing."""
        ...

    def problems(self) -> list[str]:
        """What the client's user should know: settings that were dropped, redaction that is limited."""
        ...

    def failed(self, operation: str, error: Exception) -> None:
        """A call failed, not by its parameters: log it, drop what can't be trusted any more."""
        ...
