"""Parses and writes JSON-RPC 2.0 messages: bytes in, checked requests out, answers back to bytes.

Source: jsonrpc.org/specification and the MCP schema, which is narrower: an id is a text or a whole number,
never null; params are an object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import orjson

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

_BATCH_MAX: Final = 64
"""Messages of one batch; each is a turn of the owner's loop."""
_SHOWN_CHARS: Final = 80

OF_A_BATCH: Final = {"batch": True}
"""Data of the one error that a refused batch gets: without an id, nothing else says what it answers.
ext/launcher/src/bridge/message.rs knows it."""

RequestId = str | int


class RpcError(Exception):
    """An error object for the client: code, message and data."""

    def __init__(self, code: int, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Request:
    """A call that must be answered."""

    id: RequestId
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Notification:
    """A call that must not be answered."""

    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Response:
    """The client's answer to a request of ours."""

    id: RequestId | None


@dataclass(frozen=True, slots=True)
class Invalid:
    """JSON that is no message; ``id`` where one could be told."""

    id: RequestId | None
    error: RpcError


Incoming = Request | Notification | Response | Invalid


def parse(text: bytes) -> Incoming | list[Incoming]:
    """Return the message in ``text``, or the messages of a batch. Never raises: what is wrong is an
    `Invalid`.

    Cost: one pass of orjson; a text that orjson refuses is read once more by the standard library, because
    JavaScript clients send lone surrogates, and they wait for an answer that bears their id.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        try:
            value = _lenient(text)
        except (ValueError, OverflowError, RecursionError):
            return Invalid(None, RpcError(PARSE_ERROR, "Parse error", {"detail": str(error)[:200]}))
    if not isinstance(value, list):
        return _message(value)
    if not value:
        return Invalid(None, RpcError(INVALID_REQUEST, "Invalid Request: the batch is empty", OF_A_BATCH))
    if len(value) > _BATCH_MAX:
        why = f"Invalid Request: a batch of {len(value)} messages; at most {_BATCH_MAX} are taken at once"
        return Invalid(None, RpcError(INVALID_REQUEST, why, OF_A_BATCH))
    return [_message(item) for item in value]


def success(request_id: RequestId, result: object) -> bytes:
    """Return the answer to a request, without a newline. NaN and infinities become null: JSON has neither."""
    return _dump({"jsonrpc": "2.0", "id": request_id, "result": result})


def failure(request_id: RequestId | None, error: RpcError) -> bytes:
    """Return the error answer to a request, without a newline; the id is null where none could be told."""
    return _dump({"jsonrpc": "2.0", "id": request_id, "error": error_object(error)})


def error_object(error: RpcError) -> dict[str, object]:
    """JSON-RPC's error object."""
    document: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data:
        document["data"] = error.data
    return document


def notification(method: str, params: Mapping[str, object]) -> bytes:
    """Return a notification of ours, without a newline."""
    return _dump({"jsonrpc": "2.0", "method": method, "params": params})


def _dump(message: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(message)
    except TypeError:  # a path that is not UTF-8 comes as surrogates
        return orjson.dumps(_clean(message))


def _message(value: object) -> Incoming:
    if not isinstance(value, dict):
        return Invalid(None, RpcError(INVALID_REQUEST, "Invalid Request: a message must be an object"))
    message_id = value.get("id")
    known = message_id if isinstance(message_id, (str, int)) and not isinstance(message_id, bool) else None
    if value.get("jsonrpc") != "2.0":
        return Invalid(known, RpcError(INVALID_REQUEST, 'Invalid Request: "jsonrpc" must be "2.0"'))
    method = value.get("method")
    if method is None and ("result" in value or "error" in value):
        return Response(known)
    if not isinstance(method, str):
        return Invalid(known, RpcError(INVALID_REQUEST, 'Invalid Request: "method" must be a text'))
    params = value.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        return Invalid(known, RpcError(INVALID_PARAMS, 'Invalid params: "params" must be an object'))
    if "id" not in value:
        return Notification(method, params)
    if known is None:
        why = f'Invalid Request: "id" is {str(message_id)[:_SHOWN_CHARS]!r}, must be a text or a whole number'
        return Invalid(None, RpcError(INVALID_REQUEST, why))
    return Request(known, method, params)


def _lenient(text: bytes) -> object:
    """Return what orjson refuses and is JSON all the same: lone surrogates (replaced), numbers of any
    length."""
    return _clean(json.loads(text.decode(), parse_constant=_no_constant))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {str(_clean(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 64:
        return float(value)  # what JSON's other readers make of it
    return value
