"""Classifies lines of JSON-RPC for the bridge: whose answer a line is, and whether it may be sent again.

Twin of ext/launcher/src/bridge/message.rs.
"""

from __future__ import annotations

import json

from context_graph.front.document import Fault, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DIGITS_MAX = 18
"""Digits of a number that every reader takes for the same whole number."""
_ANSWER = b'{"jsonrpc":"2.0","id":'

Id = str | int
"""A request's id: a text or a whole number."""
REQUEST, BATCH, CANCELLED, OTHER, ANSWER = "request", "batch", "cancelled", "other", "answer"


def id_json(key: Id) -> bytes:
    """As it stands in JSON."""
    return json.dumps(key, ensure_ascii=False).encode("utf-8", "replace")


def _id_of(value: object) -> Id | None:
    if isinstance(value, bool):
        return None
    return value if isinstance(value, (str, int)) else None


def _head(line: bytes) -> dict[str, Any]:
    try:
        return parse(line)
    except Fault:
        return {}


def sent(line: bytes) -> tuple[str, Any, str]:
    """What a line of the client's is: its kind, its id (of a batch, the ids that wait), its method.

    REQUEST waits for an answer with this id; CANCELLED no longer does; OTHER is nothing that is answered, or
    that we understand: the owner will say what is wrong with it.
    """
    if line.startswith(b"["):
        ids = _batch(line)
        return (OTHER, None, "") if ids is None else (BATCH, ids, "batch")
    head = _head(line)
    method, key = head.get("method"), _id_of(head.get("id"))
    if not isinstance(method, str):
        return OTHER, None, ""
    if key is not None:
        return REQUEST, key, method
    params = head.get("params")
    named = _id_of(params.get("requestId")) if isinstance(params, dict) else None
    if method == "notifications/cancelled" and named is not None and "id" not in head:
        return CANCELLED, named, method
    return OTHER, None, ""


def _batch(line: bytes) -> list[Id] | None:
    try:
        messages = parse(b'{"b":%b}' % line)["b"]
    except Fault:
        return None
    ids = [_id_of(message.get("id")) for message in messages if isinstance(message, dict)]
    return [key for key in ids if key is not None]


def got(line: bytes) -> tuple[str, Id | None]:
    """What a line of the owner's is: ANSWER with its id, BATCH, or OTHER.

    Its answers all begin alike, so that long ones need not be read.
    """
    if line.startswith(b"["):
        return BATCH, None
    if line.startswith(_ANSWER):
        raw = line[len(_ANSWER) : len(_ANSWER) + 2 * _DIGITS_MAX].partition(b",")[0]
        digits = raw.removeprefix(b"-")
        if len(digits) <= _DIGITS_MAX and digits.isdigit():
            return ANSWER, int(raw)
    head = _head(line)
    key = _id_of(head.get("id"))
    if key is not None and ("result" in head or "error" in head):
        return ANSWER, key
    return OTHER, None
