"""Describes what an operation needs around it: the store and its owner, the caller, the level of detail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.memory.traces import Words
    from context_graph.model.memory import MemoryNode, VerbosityLevel

OnProgress = Callable[[int, int, str], None]
"""Called with done, total and the current stage of a job; never after its end."""
OnDone = Callable[[Mapping[str, Any] | Exception], None]
"""Called once with a job's result, as JSON or as an error, after its start has returned; not if cancelled."""


class Job(Protocol):
    """Long work. `cancel` ends it with nothing changed, unless it has ended already.

    ``on_change`` is called after each change.
    """

    on_change: Callable[[], None] | None

    @property
    def over(self) -> bool: ...
    def cancel(self) -> None: ...
    def view(self) -> dict[str, Any]: ...


class Elsewhere(NamedTuple):
    """A memory that is not on this machine."""

    node: MemoryNode
    """Without secrets; its metadata say who told it."""
    project: str
    """Its project's name in the hub."""
    superseded_by: UUID | None
    """The memory that holds instead."""


class Host(Protocol):
    """A client's view of the owner, for one project's store. Every method may raise ContextGraphError."""

    @property
    def store_name(self) -> str:
        """The store's folder; it tells sessions of two stores apart."""
        ...

    @property
    def project(self) -> str | None:
        """The project's top folder, recorded with what is stored."""
        ...

    @property
    def tells_identity(self) -> bool:
        """Whether the model is told of states and pulses, not of alarms alone (`identity_lines`)."""
        ...

    def memory(self) -> Memex:
        """Return the store's memory, opened if needed. Ask in each call: it may be closed between two."""
        ...

    def of_user(self, *, make: bool = False) -> Memex | None:
        """Return the memory of what holds in all projects of the client's account; None if there is none, and
        none is to be made or can be.
        """
        ...

    def recorded(self, words: Words, *, erase: bool) -> list[str]:
        """Return the sessions whose recorded events have these words; ``erase`` takes them out there, and off
        the disk.
        """
        ...

    def session_of(self, tool_use_id: str | None) -> str | None:
        """Return the client's session of a call, by the hook that saw that tool use, or the environment."""
        ...

    def alike(self, query: str, session_id: str | None) -> tuple[Mapping[str, float], bool]:
        """Earlier sessions whose work is like what that one has done so far, with how much, [0, 1]; until
        something can be said of that, or without a session, those that did what the query asks for, and True.
        """
        ...

    def identity(self, session_id: str | None) -> Mapping[str, Any]:
        """Return the numbers of a live session (None: the one saved last), or SessionNotFoundError."""
        ...

    def figures(self) -> dict[str, Any]:
        """Return the owner's counts for the store: injections, consolidations."""
        ...

    def injections(self, limit: int) -> list[Any]:
        """Return the last injections, newest first."""
        ...

    def uses(self, node_id: UUID) -> Any:
        """Return how often a memory was injected and used; None if it never was."""
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
        """Begin a consolidation with checked ``params``; with ``goals`` among them a search for those.

        ModeNotAllowedError if the session's consciousness does not allow the mode and ``strict`` forbids a
        lesser one.
        """
        ...

    def ask_team(
        self,
        query: str,
        then: Callable[[Sequence[Elsewhere], str], Mapping[str, Any]],
        on_done: OnDone | None,
    ) -> Job:
        """Ask the project's hub for memories that are not here; ``then`` makes the answer of them, and of why
        there are none, within seconds. InvalidParamsError if the project has joined no hub.
        """
        ...

    def kept_goals(self, session_id: str | None) -> dict[str, Any]:
        """Return the goals that the last consolidations keep."""
        ...

    def problems(self) -> list[str]:
        """Return what the user should know: settings that were dropped, redaction that is limited."""
        ...

    def failed(self, operation: str, error: Exception) -> None:
        """Log a call that failed, not because of its parameters, and drop what can't be trusted any more."""
        ...


class Context(Protocol):
    """One call of an operation.

    Attributes:
        source: tool or cli; recorded with what is stored.
        session_id: The session as given, else the client's session of the call.
        verbosity: How much the answer tells; None for whole records, for a program.
        talk: The tool session, which keeps its ``verbosity``; None for a program.
    """

    host: Host
    source: str
    session_id: str | None
    verbosity: VerbosityLevel | None
    on_done: OnDone | None

    talk: Any

    def new_id(self) -> UUID | None:
        """Return an id for what this call creates; None to let the store choose."""
        ...

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Report the progress of a long call."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of an operation, as JSON.

    Attributes:
        quotes: Some of it may be text from memories, or made of it.
        nothing: A search that found no memory.
        touched: The memories that it brings, the best first.
        job: The work that goes on; its answer comes later.
        text: The answer if it is not JSON.
    """

    content: Mapping[str, Any] = field(default_factory=dict)
    quotes: bool = False
    nothing: bool = False
    touched: Sequence[UUID] = ()
    job: Job | None = None
    text: str = ""
