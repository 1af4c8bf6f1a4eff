"""Translates errors into seed 003's: JSON-RPC code, exact message, data (REQ-CORE-026, EC-CORE, ERR-CORE).

Python callers get exceptions that name files and cures. Clients of the protocol get these messages, without
paths or anything of the implementation (CON-CORE-007); the owner's log has the rest.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from context_graph.errors import (
    ContextGraphError,
    CorruptedMemoryError,
    DatabaseCorruptionError,
    FormatVersionError,
    GraphQueryError,
    InvalidParamsError,
    LogReplayError,
    MemoryFormatError,
    RateLimitError,
    ReadFailedError,
    SessionNotFoundError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreReadOnlyError,
    UsageError,
)


class RpcFault(NamedTuple):
    """A JSON-RPC error object."""

    code: int
    message: str
    data: dict[str, object]


_WRITE_CURE: Final = "Check disk space and permissions. If corruption, run database repair tool."
_ID_CURE: Final = (
    "Use an id that recall_memory returned in this project; restore_memory brings back a forgotten one"
)
_SESSION_CURE: Final = "Create new session or omit session_id for anonymous operation"
_READ_CURE: Final = "Verify database integrity. Check for disk errors."
_RECORD_CURE: Final = "Report to administrators with error ID for investigation"
_BUSY_CURE: Final = "Retry operation. If persistent, reduce concurrent load."
_REPLAY_CURE: Final = "Check WAL directory permissions and integrity. May require manual recovery."
_SERIALIZATION: Final = "Internal error: Data serialization failed"
_STATUS: Final = "context-graph-cli owner status; log/owner.log in the data root"
_DOCTOR: Final = "context-graph-cli doctor, then context-graph-cli repair"


def rpc_fault(error: Exception, operation: str = "Operation") -> RpcFault:
    """Return the error object for ``error``, raised in ``operation`` (a word for the message: Write, Read,
    Delete).

    If an EC-CORE row words a message, it is used; ``data.detail`` is then the ERR-CORE row's.
    """
    if isinstance(error, InvalidParamsError):
        data = {"error": error.row, "detail": error.detail, "parameter": error.parameter}
        return RpcFault(error.rpc_code, str(error), {**data, "recovery": error.recovery})
    if isinstance(error, RateLimitError):
        return RpcFault(
            error.rpc_code,
            str(error),
            {"retry_after_ms": error.retry_after_ms, "limit": error.limit, "retryable": True},
        )
    if isinstance(error, StoreError):
        return _store_fault(error, operation)
    if isinstance(error, SessionNotFoundError):
        return RpcFault(
            error.rpc_code, "Session expired or not found", _row("003", str(error), _SESSION_CURE)
        )
    if isinstance(error, GraphQueryError):  # seed 003 has a code for it, and no row
        return RpcFault(error.rpc_code, str(error), {"detail": str(error), "recovery": _ID_CURE})
    if isinstance(error, UsageError):
        return RpcFault(error.rpc_code, str(error), {"error": "ERR-CORE-004", "detail": str(error)})
    if isinstance(error, ContextGraphError):  # seed 003 has no row for it; the caller is told all the same
        reason = _without_paths(str(error))
        known: dict[str, object] = {
            "kind": error.code,
            "detail": reason,
            "retryable": error.retryable,
            "next": _STATUS,
        }
        return RpcFault(error.rpc_code, f"{operation} failed - {reason}", known)
    where = "log/owner.log in the data root says where"
    defect = f"Internal error: a bug in context-graph ({type(error).__name__}); {where}"
    return RpcFault(-32603, defect, {"kind": "internal"})


def _without_paths(text: str) -> str:
    """Return ``text`` as clients of the protocol may have it (CON-CORE-007)."""
    return " ".join("(a path)" if word.lstrip("'\"(").startswith("/") else word for word in text.split())


def _store_fault(error: StoreError, operation: str) -> RpcFault:
    if isinstance(error, CorruptedMemoryError):
        return RpcFault(
            error.rpc_code, _SERIALIZATION, _row("008", _SERIALIZATION, _RECORD_CURE, error.node_id)
        )
    if isinstance(error, MemoryFormatError):
        data = _row("008", _SERIALIZATION, _RECORD_CURE, error.node_id)
        return RpcFault(error.rpc_code, _SERIALIZATION, {**data, "format_version": error.format_version})
    if isinstance(error, FormatVersionError):
        return RpcFault(-32603, _SERIALIZATION, _row("008", _SERIALIZATION, _RECORD_CURE))
    if isinstance(error, LogReplayError):
        message = "Storage error: Write-ahead log replay failed"
        return RpcFault(error.rpc_code, message, {**_row("010", message, _REPLAY_CURE), "next": _DOCTOR})
    if isinstance(error, DatabaseCorruptionError):
        detail = f"Storage error: {operation} failed - database corruption"
        data = _row("001", detail, _WRITE_CURE)
        message = "Database integrity check failed. Recovery required."
        return RpcFault(error.rpc_code, message, {**data, "next": _DOCTOR})
    if isinstance(error, StoreFullError):
        detail = f"Storage error: {operation} failed - no space left on device"
        return RpcFault(error.rpc_code, "Insufficient disk space", _row("001", detail, _WRITE_CURE))
    if isinstance(error, StoreReadOnlyError):
        message = f"Storage error: {operation} failed - permission denied"
        return RpcFault(error.rpc_code, message, _row("001", message, _WRITE_CURE))
    if isinstance(error, StoreBusyError | StoreLockedError):
        message = "Storage error: Operation timed out due to lock contention"
        return RpcFault(error.rpc_code, message, {**_row("009", message, _BUSY_CURE), "retryable": True})
    if isinstance(error, ReadFailedError):
        message = f"Storage error: Read failed for node {error.node_id}"
        return RpcFault(error.rpc_code, message, _row("002", message, _READ_CURE, error.node_id))
    message = f"Storage error: {operation} failed - {error.code}"
    return RpcFault(-32002, message, _row("001", message, _WRITE_CURE))


def _row(number: str, detail: str, recovery: str, node_id: str = "") -> dict[str, object]:
    data: dict[str, object] = {"error": f"ERR-CORE-{number}", "detail": detail, "recovery": recovery}
    if node_id:
        data["node_id"] = node_id
    return data
