"""Describes the surroundings of an operation: the store and its owner, the caller, the level of detail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.model.memory import VerbosityLevel

OnProgress = Callable[[int, int, str], None]
"""How far a job is: done, of how many, and what it is at. Never told after its end."""
OnDone = Callable[[Mapping[str, Any] | Exception], None]
"""The end of a job, as JSON or as what went wrong; once, after its start has returned, unless cancelled."""


class Job(Protocol):
    """Work that takes long. `cancel` ends it with nothing changed; what has ended stays as it is."""

    def cancel(self) -> None: ...
    def view(self) -> dict[str, Any]: ...


class Host(Protocol):
    """One client's view of the owner: one project's store. Every method may raise ContextGraphError."""

    @property
    def store_name(self) -> str:
        """The store's folder; sessions of two stores are told apart by it."""
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
        """The numbers of a live session (None: the one saved last), or SessionNotFoundError."""
        ...

    def figures(self) -> dict[str, Any]:
        """What the owner counts of the store: injections, consolidations."""
        ...

    def injections(self, limit: int) -> list[Any]:
        """The last injections, newest first."""
        ...

    def uses(self, node_id: UUID) -> Any:
        """How often a memory was injected and used; None if it never was."""
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
        any_state: bool = False,
        on_progress: OnProgress | None = None,
        on_done: OnDone | None = None,
    ) -> Job:
        """Begin a consolidation, all of ``params`` checked. The session's consciousness gates the mode:
        ModeNotAllowedError if it is not allowed now, and ``strict`` takes no other."""
        ...

    def discover_goals(
        self,
        params: Mapping[str, Any],
        *,
        session_id: str | None,
        on_progress: OnProgress | None = None,
        on_done: OnDone | None = None,
    ) -> Job:
        """Begin to look for the goals that the memories show. Changes nothing."""
        ...

    def job(self, job_id: str) -> Job:
        """A job that was begun and is not long over, or GraphQueryError."""
        ...

    def kept_goals(self, session_id: str | None) -> dict[str, Any]:
        """The goals that the last consolidations keep."""
        ...

    def problems(self) -> list[str]:
        """What the client's user should know: settings that were dropped, redaction that is limited."""
        ...

    def failed(self, operation: str, error: Exception) -> None:
        """A call failed, not by its parameters: log it, drop what can't be trusted any more."""
        ...


class Context(Protocol):
    """One call of an operation.

    Attributes:
        source: Who stores what is stored: tool or cli.
        session_id: The session as given, or else the client's session that the call belongs to.
        verbosity: How much is told; None: whole records, for a program.
        talk: The tool session, whose ``verbosity`` holds from one call to the next; None for a program.
    """

    host: Host
    source: str
    session_id: str | None
    verbosity: VerbosityLevel | None
    on_done: OnDone | None

    talk: Any

    def new_id(self) -> UUID | None:
        """An id for what this call makes; None where the store is to draw one."""
        ...

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Tell the caller how far a long call is."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation found, as JSON.

    Attributes:
        quotes: Some of it may be text out of memories, or made of them.
        nothing: A search that found no memory.
        job: The work that goes on: its answer comes later.
        text: The answer where it is no JSON.
    """

    found: Mapping[str, Any] = field(default_factory=dict)
    quotes: bool = False
    nothing: bool = False
    job: Job | None = None
    text: str = ""
