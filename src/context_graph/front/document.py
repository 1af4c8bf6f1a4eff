"""Reads a hook's JSON where it has to be looked into: once something is out of the ordinary. Twin of the
launcher's json.

Strict: what RFC 8259 takes and a byte order mark in front (PowerShell writes one), nothing else.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEPTH_MAX = 512
"""Deepest nesting that is read; the client's own input is not a tenth of it."""
_DIGITS_MAX = 18
"""Of a whole number; beyond 64 bits readers disagree, and the strict ones refuse: it is kept as text."""
_KEPT_TEXT = 8192
"""The longest text that a stand-in keeps, bytes."""
_SPACE = " \t\r\n"
_BOM = "\ufeff"


class Fault(Exception):
    """Where a text stopped being a JSON object, and why."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(f"stdin: not a JSON object: {what} at byte {at}")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= _DIGITS_MAX else digits


def _fraction(digits: str) -> float | str:
    value = float(digits)
    return value if -1e308 < value < 1e308 else digits


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_fraction, parse_constant=_refuse_constant)


def _text_of(body: bytes) -> str:
    at = body.find(b"\0")
    if at >= 0:
        raise Fault("a NUL byte", at)
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Fault("bytes that are not UTF-8", error.start) from error


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object ``body``; of a name given twice the last counts.

    Raises:
        Fault: It is none.
    """
    text = _text_of(body)
    start = text.removeprefix(_BOM).lstrip(_SPACE)
    if not start.startswith("{"):
        raise Fault("something that is no object" if start else "nothing", len(body) - len(start.encode()))
    try:
        found = _DECODER.decode(start.rstrip(_SPACE))
    except RecursionError as error:
        raise Fault("nesting that is too deep", 0) from error
    except json.JSONDecodeError as error:
        before = len(body) - len(start.encode()) + len(error.doc[: error.pos].encode())
        raise Fault(error.msg, before) from error
    except ValueError as error:
        raise Fault(str(error), 0) from error
    if not isinstance(found, dict) or _depth(found) > DEPTH_MAX:
        raise Fault("nesting that is too deep", 0)
    return found


def _depth(value: object) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            inner
            for part in level
            for inner in (part.values() if isinstance(part, dict) else part)  # type: ignore[attr-defined]
            if isinstance(inner, (dict, list))
        ]
    return depth


def is_object(body: bytes) -> bool:
    """Whether ``body`` is a JSON object and nothing else."""
    try:
        parse(body)
    except Fault:
        return False
    return True


def top_text(body: bytes, name: str) -> str:
    """The text of the top-level field ``name``; "" if there is none, or ``body`` is no object."""
    try:
        return clean(parse(body).get(name))
    except Fault:
        return ""


def inner_texts(body: bytes, outer: str, wanted: Callable[[str], bool]) -> list[str]:
    """The texts of the object in the top-level field ``outer`` whose names ``wanted`` takes."""
    try:
        inner = parse(body).get(outer)
    except Fault:
        return []
    if not isinstance(inner, dict):
        return []
    return [clean(text) for name, text in inner.items() if isinstance(text, str) and wanted(name)]


def clean(value: object) -> str:
    """A text without halves of surrogate pairs, which JavaScript writes and strict readers refuse.

    "" for what is no text.
    """
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def dumps(value: object) -> bytes:
    """``value`` on one line; halves of surrogate pairs become U+FFFD."""
    return clean(json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)).encode()


def reduced(start: bytes) -> bytes:
    """What an object that is too big is replaced with: its scalars, short texts, and `"truncated":true`.

    ``start`` may stop anywhere inside the object; then fields behind the stop are missing.

    Raises:
        Fault: It is no beginning of an object.
    """
    text = _start_text(start)
    kept: dict[str, Any] = {}
    at = _skip(text, 1 if text.startswith(_BOM) else 0)
    if text[at : at + 1] != "{":
        raise Fault("something that is no object", at)
    at = _skip(text, at + 1)
    try:
        while text[at : at + 1] == '"':
            at = _member(text, at, kept)
    except (json.JSONDecodeError, StopIteration, RecursionError, ValueError) as error:
        where = error.pos if isinstance(error, json.JSONDecodeError) else getattr(error, "value", 0)
        cut = isinstance(error, json.JSONDecodeError) and error.msg.startswith("Unterminated")
        if not cut and (not isinstance(where, int) or where < len(text) - 8):
            raise Fault("something that is no JSON", where if isinstance(where, int) else 0) from error
    kept.pop("truncated", None)
    return dumps({**kept, "truncated": True})


def _member(text: str, at: int, kept: dict[str, Any]) -> int:
    """Read `"name": value` at ``at``, keep it if it is small; where the next one is, the end if there is
    none.
    """
    name, at = _DECODER.raw_decode(text, at)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise json.JSONDecodeError("a key without ':'", text, at)
    value, at = _DECODER.raw_decode(text, _skip(text, at + 1))
    if isinstance(value, str):
        value = clean(value).encode()[:_KEPT_TEXT].decode("utf-8", "ignore")
    if not isinstance(value, (dict, list)):
        kept[clean(name)] = value
    at = _skip(text, at)
    after = text[at : at + 1]
    if after not in (",", "}", ""):
        raise json.JSONDecodeError("something between values", text, at)
    return _skip(text, at + 1) if after == "," else len(text)


def _start_text(start: bytes) -> str:
    try:
        return _text_of(start)
    except Fault:
        # A stop inside a character is not the sender's fault.
        text = start.decode("utf-8", "ignore")
        if start.startswith(text.encode()) and len(start) - len(text.encode()) < 4 and b"\0" not in start:
            return text
        raise


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in (" ", "\t", "\r", "\n"):
        at += 1
    return at
