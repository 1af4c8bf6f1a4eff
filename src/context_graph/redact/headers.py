"""Finds credentials in headers: ``Authorization: Bearer``, ``Bearer`` alone, ``Cookie:``, ``curl -b``.

These functions find the end of the credential and leave the sentence that follows. After a scheme's name, a
plain word is a credential only where the header is alone on its line or between its quotes: people write
"Authorization: Bearer is required" far more often than they choose a word for a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from context_graph.redact.credential import Span, is_placeholder, looks_drawn, text_of

_Match = Callable[[bytes, int], re.Match[bytes] | None]

_QUOTE: Final = r"""\\*["'`]"""
AUTHORIZATION: Final = (
    rf"(?i)authorization(?:{_QUOTE})?\]?[ \t]*(?:=>|[:=])[ \t]*(?:{_QUOTE})?"
    r"(?:(?:bearer|basic|token|digest|negotiate|apikey|api-key|aws4-hmac-sha256|sharedkey|sso-key|hawk"
    r"|oauth)[ \t]+)?"
    # {"name": "Authorization", "value": "Basic ..."}, flattened or not
    rf"|(?i)authorization(?:{_QUOTE})?[ \t\n,]+(?:(?:{_QUOTE})?value(?:{_QUOTE})?:[ \t]*)?"
    rf"(?:{_QUOTE})?(?:basic|token)[ \t]+"
)
BEARER: Final = r"(?i)\bbearer[ \t]+"
COOKIE: Final = (
    rf"(?i)\b(?:set-)?cookie(?:{_QUOTE})?\]?[ \t]*(?:=>|[:=])[ \t]*(?:{_QUOTE})?"
    rf"|\bcurl\b[^\r\n]*?\s(?:-b|--cookie)[ =]*(?:{_QUOTE})?"
)

_TOKEN: Final = re.compile(rb"[A-Za-z0-9._~+/=:%-]++")
_PARAMETER: Final = re.compile(rb"""[A-Za-z_]\w*+=(?:\\*+"[^"\r\n\\]*+\\*+"|[^\s,"'`\\]++)""")
_NEXT_PARAMETER: Final = re.compile(rb",[ \t]*+" + _PARAMETER.pattern)
_SCHEME: Final = re.compile(rb"[A-Za-z0-9][ \t]++\Z")
_OTHER_SCHEME: Final = re.compile(rb"[A-Z][A-Za-z-]++[ \t]++")
"""Splunk, SSWS and the like: their credentials are long and have digits."""
_PAIR: Final = re.compile(rb"[A-Za-z0-9!#$%&*+.^_|~-]++=[^\s;,\"'`\\()\[\]{}<>]++", re.IGNORECASE)
_NEXT_PAIR: Final = re.compile(
    rb";[ \t]*+(?:expires=[A-Za-z]{3},? [^;\r\n\"'`\\]{11,22}GMT|"
    + _PAIR.pattern
    + rb"|(?:httponly|secure|partitioned)\b)",
    re.IGNORECASE,
)
_ATTRIBUTES: Final = frozenset({b"path", b"domain", b"samesite", b"max-age", b"expires", b"priority"})
_SENTENCE_END: Final = b".,:;"
_SHORTEST: Final = 6
_SHORTEST_BARE: Final = 8
_SHORTEST_OTHER: Final = 20
_DIGITS_OTHER: Final = 4
_TYPED_BEFORE: Final = re.compile(
    rb"""(?:\A|[\r\n"'`{,\[]|-H)[ \t]{0,24}+\\{0,24}+["'`]?(?:proxy-|x-){0,12}+\Z""", re.IGNORECASE
)
_TYPED_BEHIND: Final = re.compile(rb"""\\*+["'`]|\\[rn]|[ \t]*+(?:[\r\n]|\Z)""")
_HEAD_BEFORE: Final = 24
"""Bytes that _TYPED_BEFORE looks at; its bounds are no less."""


def authorization_value(data: bytes, start: int, end: int) -> Span | None:
    """The credential after the head ``data[start:end]`` of an authorization header, or None."""
    parts = _row(data, end, _PARAMETER.match, _NEXT_PARAMETER.match)
    if len(parts) > 1:
        return end, end + sum(map(len, parts))
    found = _TOKEN.match(data, end)
    if not found:
        return None
    value = _without_stop(data, *found.span())
    said = text_of(data, *value)
    head = data[start:end]
    schemed = _SCHEME.search(head) is not None
    if not schemed and (other := _other_scheme_value(data, end)):
        return other
    if is_placeholder(said):
        return None
    separated = any(sign in head for sign in b":=")
    alone = schemed or _closing(head) or (len(said) >= 2 * _SHORTEST_BARE and said.isalnum())
    if separated and alone and _is_typed_in(data, start, value[1]):
        return value
    if looks_drawn(said) and value[1] - value[0] >= (_SHORTEST if schemed else 2 * _SHORTEST_BARE):
        return value
    return None


def _other_scheme_value(data: bytes, at: int) -> Span | None:
    """The credential behind the scheme at ``at``, whatever its name."""
    scheme = _OTHER_SCHEME.match(data, at)
    found = _TOKEN.match(data, scheme.end()) if scheme else None
    if not found:
        return None
    value = _without_stop(data, *found.span())
    said = text_of(data, *value)
    drawn = (
        len(said) >= _SHORTEST_OTHER and sum(map(str.isdigit, said)) >= _DIGITS_OTHER and looks_drawn(said)
    )
    return value if drawn else None


def _closing(head: bytes) -> bool:
    return head.rstrip(b" \t").endswith((b'"', b"'", b"`"))


def bearer_value(data: bytes, start: int, end: int) -> Span | None:
    """The credential after ``Bearer`` alone, or None."""
    found = _TOKEN.match(data, end)
    if not found:
        return None
    value = _without_stop(data, *found.span())
    said = text_of(data, *value)
    return value if len(said) >= _SHORTEST_BARE and looks_drawn(said) else None


def cookie_value(data: bytes, start: int, end: int) -> Span | None:
    """The pairs after a cookie header's head with their attributes, or None."""
    parts = _row(data, end, _PAIR.match, _NEXT_PAIR.match)
    if not parts:
        return None
    pairs = [part.lstrip(b"; \t").partition(b"=") for part in parts]
    telling = any(
        name.lower() not in _ATTRIBUTES and not is_placeholder(text_of(value)) for name, _, value in pairs
    )
    return _without_stop(data, end, end + sum(map(len, parts))) if telling else None


def _row(data: bytes, start: int, first: _Match, more: _Match) -> list[bytes]:
    """What ``first`` matches at ``start`` and each ``more`` right behind it; nothing if ``first`` does not.

    One pattern for all of it would be tried again inside its own repetition.
    """
    parts: list[bytes] = []
    found = first(data, start)
    while found:
        parts.append(found[0])
        found = more(data, found.end())
    return parts


def _is_typed_in(data: bytes, start: int, end: int) -> bool:
    """Whether the header is the whole of its line or of what is between quotes."""
    near = data[max(0, start - _HEAD_BEFORE) : start]
    return _TYPED_BEFORE.search(near) is not None and _TYPED_BEHIND.match(data, end) is not None


def _without_stop(data: bytes, start: int, end: int) -> Span:
    """The span without a sentence's own full stop or comma."""
    return start, start + len(data[start:end].rstrip(_SENTENCE_END))
