"""The error tree: every failure a caller may meet, with the codes it maps to.

Each class carries a stable machine-readable ``code`` (crosses the socket), the exit code of
seed 000's commands (``exit_code``), the exit code of seed 001's hook commands
(``hook_exit_code``) and whether the same call may succeed later (``retryable``).
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ConfigError",
    "ContextGraphError",
    "CorruptedIdentityError",
    "CrisisTriggeredError",
    "DatabaseCorruptionError",
    "DeadlineExceededError",
    "FormatVersionError",
    "FrameTooLargeError",
    "InvalidInputError",
    "MalformedFrameError",
    "MissingColumnFamilyError",
    "OwnerError",
    "OwnerUnavailableError",
    "PathNotAllowedError",
    "SessionNotFoundError",
    "StoreClosedError",
    "StoreError",
    "StoreFullError",
    "StoreLockedError",
    "StoreReadOnlyError",
    "UsageError",
    "WireError",
    "error_for_code",
]

_BY_CODE: dict[str, type[ContextGraphError]] = {}


class ContextGraphError(Exception):
    """Base of all errors; ``str(error)`` says what happened, with which value, and the cure."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    hook_exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "code" not in cls.__dict__:
            raise TypeError(f"{cls.__name__} must declare its own code")
        if cls.code in _BY_CODE:
            raise TypeError(f"error code {cls.code!r} is already taken by {_BY_CODE[cls.code].__name__}")
        _BY_CODE[cls.code] = cls


class UsageError(ContextGraphError):
    """The caller's fault: a wrong option or argument."""

    code = "usage"
    hook_exit_code = 4


class InvalidInputError(UsageError):
    """Input that is not of the documented form; names the field, the limit and the cure."""

    code = "invalid_input"


class PathNotAllowedError(InvalidInputError):
    """A path that leaves its allowed root (REQ-HOOKS-30)."""

    code = "path_not_allowed"


class ConfigError(UsageError):
    """A configuration value that can't be used."""

    code = "config"


class SessionNotFoundError(UsageError, LookupError):
    """No session of that id in the store."""

    code = "session_not_found"
    hook_exit_code = 5


class CrisisTriggeredError(ContextGraphError):
    """Identity continuity fell below the crisis threshold (IDENTITY-007)."""

    code = "crisis"
    hook_exit_code = 6


class StoreError(ContextGraphError):
    """The store could not do what was asked."""

    code = "store"
    hook_exit_code = 3


class StoreLockedError(StoreError):
    """Another process holds the store."""

    code = "store_locked"
    retryable = True


class StoreClosedError(StoreError):
    """The store was used after it was closed."""

    code = "store_closed"


class StoreReadOnlyError(StoreError):
    """The store's folder can't be written."""

    code = "store_read_only"


class StoreFullError(StoreError):
    """No space left for the store."""

    code = "store_full"
    retryable = True


class CorruptedIdentityError(StoreError):
    """One stored identity record can't be read back (blocking, exit code 2 in seed 000's commands)."""

    code = "corrupted_identity"
    exit_code = 2


class DatabaseCorruptionError(StoreError):
    """The database itself is damaged (blocking, exit code 2 in seed 000's commands)."""

    code = "database_corruption"
    exit_code = 2


class MissingColumnFamilyError(DatabaseCorruptionError):
    """A column family that the store needs is not in the database."""

    code = "missing_column_family"


class FormatVersionError(StoreError):
    """A record or database written in a format version this build does not know."""

    code = "format_version"


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
