"""Defines the errors that a caller may meet, as one tree, with the codes that each maps to.

Each class carries a stable machine-readable ``code`` (in the reports of helper processes and in tools'
answers), the exit codes of seed 000's commands (``exit_code``), of seed 001's hook commands
(``hook_exit_code``) and of all others (``command_exit_code``), the code of JSON-RPC answers (``rpc_code``,
seed 003 REQ-CORE-026) and whether the same call may succeed later (``retryable``). A reply on the owner's
socket carries the exit code and the text.
"""

from __future__ import annotations

from typing import ClassVar, Final

_BY_CODE: dict[str, type[ContextGraphError]] = {}
_SEED_000: Final = frozenset(
    {
        *("session.restore-identity", "session.persist-identity"),
        *("consciousness.brief", "consciousness.check-identity", "consciousness.inject-context"),
    }
)
"""Commands that a client runs as hooks, to which 2 means `block`."""


class ContextGraphError(Exception):
    """Base of all errors; ``str(error)`` says what happened, with which value, and the cure."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    hook_exit_code: ClassVar[int] = 1
    command_exit_code: ClassVar[int] = 1
    rpc_code: ClassVar[int] = -32603
    retryable: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "code" not in cls.__dict__:
            raise TypeError(f"{cls.__name__} must declare its own code")
        if cls.code in _BY_CODE:
            raise TypeError(f"error code {cls.code!r} is already taken by {_BY_CODE[cls.code].__name__}")
        _BY_CODE[cls.code] = cls

    def __str__(self) -> str:
        """UTF-8 can carry it: a path that is not UTF-8 stands in it as surrogates, which are spelled out."""
        return super().__str__().encode("utf-8", "backslashreplace").decode()


class UsageError(ContextGraphError):
    """The caller's fault: a wrong option or argument."""

    code = "usage"
    hook_exit_code = 4
    rpc_code = -32602


class CommandLineError(UsageError):
    """The words of a command that can't be read: unknown, missing, or no value that is taken."""

    code = "command_line"
    command_exit_code = 2


class InvalidInputError(UsageError):
    """Input that is not of the documented form; names the field, the limit and the cure."""

    code = "invalid_input"


class PathNotAllowedError(InvalidInputError):
    """A path that leaves its allowed root (REQ-HOOKS-30)."""

    code = "path_not_allowed"


class InvalidParamsError(InvalidInputError):
    """A parameter of a memory call that is missing or outside its limits (ERR-CORE-004 to 007).

    Attributes:
        parameter: Its name.
        what: What is wrong with it, to be said behind its name; "" where the message is no such sentence.
        row: The row of seed 003's error table.
        detail: That row's text, filled in.
        recovery: That row's cure.
    """

    code = "invalid_params"

    def __init__(
        self,
        message: str,
        *,
        parameter: str = "",
        what: str = "",
        row: str = "ERR-CORE-004",
        detail: str = "",
        recovery: str = "",
    ) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.what = what
        self.row = row
        self.detail = detail or message
        self.recovery = recovery or "Review parameter schema from tools/list and correct request"

    @classmethod
    def of(cls, parameter: str, what: str) -> InvalidParamsError:
        """ERR-CORE-004: what is wrong with ``parameter``."""
        return cls(f"Invalid params: {parameter} - {what}", parameter=parameter, what=what)


class ConfigError(UsageError):
    """A configuration value that can't be used."""

    code = "config"


class SessionNotFoundError(UsageError, LookupError):
    """No session of that id in the store."""

    code = "session_not_found"
    hook_exit_code = 5
    rpc_code = -32000

    @classmethod
    def of(cls, session_id: str) -> SessionNotFoundError:
        """The one for an id, or the beginning of one, that no session of the store has."""
        return cls(f"no session {session_id!r} in this store; `context-graph-cli session list` shows them")


class GraphQueryError(UsageError, LookupError):
    """A memory or edge that a graph query names is not in the store (REQ-CORE-026)."""

    code = "graph_query"
    hook_exit_code = 5
    rpc_code = -32001


class RateLimitError(ContextGraphError):
    """Asked too often; ``retry_after_ms`` and ``limit`` (in words) say when to come back (D4.6)."""

    code = "rate_limit"
    rpc_code = -32004
    retryable = True

    def __init__(self, message: str, *, retry_after_ms: int = 0, limit: str = "") -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms
        self.limit = limit


class CrisisTriggeredError(ContextGraphError):
    """Identity continuity fell below the crisis threshold (IDENTITY-007)."""

    code = "crisis"
    hook_exit_code = 6


class StoreError(ContextGraphError):
    """The store could not do what was asked; ``node_id`` names the memory or edge it is about, if any."""

    code = "store"
    hook_exit_code = 3
    rpc_code = -32002

    def __init__(self, message: str = "", *, node_id: str = "") -> None:
        super().__init__(message)
        self.node_id = node_id


class StoreLockedError(StoreError):
    """Another process holds the store."""

    code = "store_locked"
    retryable = True


class StoreBusyError(StoreError, TimeoutError):
    """The store's lock was not free in time (ERR-CORE-009)."""

    code = "store_busy"
    retryable = True


class StoreClosedError(StoreError):
    """The store was used after it was closed."""

    code = "store_closed"


class StoreReadOnlyError(StoreError):
    """The store's folder can't be written, or a file in it may not be read."""

    code = "store_read_only"


class StoreFullError(StoreError):
    """No space left for the store."""

    code = "store_full"
    retryable = True


class CorruptedIdentityError(StoreError):
    """One stored identity record can't be read back (blocking, exit code 2 in seed 000's commands)."""

    code = "corrupted_identity"
    exit_code = 2
    command_exit_code = 3


class DatabaseCorruptionError(StoreError):
    """The database itself is damaged (blocking, exit code 2 in seed 000's commands)."""

    code = "database_corruption"
    exit_code = 2
    command_exit_code = 3


class MissingColumnFamilyError(DatabaseCorruptionError):
    """A column family that the store needs is not in the database."""

    code = "missing_column_family"


class LogReplayError(DatabaseCorruptionError):
    """The write-ahead log can't be replayed (ERR-CORE-010)."""

    code = "log_replay"


class FormatVersionError(StoreError):
    """A record or database written in a format version this build does not know."""

    code = "format_version"


class CorruptedMemoryError(StoreError):
    """The record of one memory or edge can't be read back (ERR-CORE-008); names its id."""

    code = "corrupted_memory"
    exit_code = 2
    command_exit_code = 3
    rpc_code = -32603


class MemoryFormatError(FormatVersionError):
    """The record of one memory in a version that can't be converted (EC-CORE-018); names both."""

    code = "memory_format"
    rpc_code = -32603

    def __init__(self, message: str, *, node_id: str = "", format_version: int = 0) -> None:
        super().__init__(message, node_id=node_id)
        self.format_version = format_version


class ReadFailedError(StoreError):
    """One memory could not be read: an I/O error, a missing file (ERR-CORE-002)."""

    code = "read_failed"


UNREADABLE_RECORD = (CorruptedMemoryError, MemoryFormatError, ReadFailedError)
"""One record can't be read: whoever asks for it is told; every other answer goes on without it."""


class ProviderMismatchError(StoreError):
    """The store's vectors are another embedding provider's; vectors are never mixed (D4.3)."""

    code = "provider_mismatch"


class EmbeddingDataError(ContextGraphError):
    """The data an embedding provider works with is missing or damaged."""

    code = "embedding_data"
    hook_exit_code = 3


class EmbeddingUnavailableError(UsageError):
    """An embedding provider whose optional parts are not installed."""

    code = "embedding_unavailable"


class OwnerError(ContextGraphError):
    """The owner process could not serve the request."""

    code = "owner"
    hook_exit_code = 3


class OwnerUnavailableError(OwnerError):
    """No owner answers, and none could be started in time."""

    code = "owner_unavailable"
    retryable = True


class DeadlineExceededError(OwnerError, TimeoutError):
    """The operation's time budget is used up (seed 001: exit code 2)."""

    code = "deadline_exceeded"
    hook_exit_code = 2
    retryable = True


class TookTooLongError(OwnerError):
    """The owner ended the call, which used more time than one may; what it had committed stands."""

    code = "took_too_long"
    rpc_code = -32002


class WireError(ContextGraphError):
    """Bytes on the socket that are not of the protocol."""

    code = "wire"


class MalformedFrameError(WireError):
    """A frame that can't be decoded."""

    code = "malformed_frame"


class FrameTooLargeError(WireError):
    """A frame above the size limit."""

    code = "frame_too_large"


def error_for_code(code: str) -> type[ContextGraphError]:
    """The class registered for ``code``; an unknown code gives the base class."""
    return _BY_CODE.get(code, ContextGraphError)


def exit_code_of(error: ContextGraphError, verb: str) -> int:
    """The exit code of the command `verb`, its words joined by a dot, that ended with ``error``."""
    if verb.startswith("hooks."):
        return error.hook_exit_code
    return error.exit_code if verb in _SEED_000 else error.command_exit_code
