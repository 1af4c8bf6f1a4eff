"""What of an HTTP request matters here, and the way to refuse one."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs, urlsplit

import h11

__all__ = [
    "BODY_MAX",
    "JSON",
    "SSE",
    "RefusedError",
    "accepts",
    "headers_of",
    "host_of",
    "path_of",
    "query_of",
]

BODY_MAX: Final = 2 * 1024 * 1024
"""Bytes of a request's body; as for a message on the socket."""
JSON: Final = "application/json"
SSE: Final = "text/event-stream"


class RefusedError(Exception):
    """A request that is not served: status, words, further headers."""

    def __init__(self, status: int, why: str, *headers: tuple[str, str]) -> None:
        super().__init__(why)
        self.status = status
        self.headers = headers


def headers_of(request: h11.Request) -> dict[str, str]:
    """By lower-case name; of one given twice the first counts."""
    found: dict[str, str] = {}
    for name, value in request.headers:
        found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return found


def path_of(request: h11.Request) -> str:
    """The target without its query."""
    return urlsplit(_target(request)).path


def query_of(request: h11.Request, name: str) -> str | None:
    """The first value of the query's parameter ``name``."""
    return parse_qs(urlsplit(_target(request)).query).get(name, [None])[0]


def host_of(url: str) -> str | None:
    """The host that a URL names; None if it names none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def accepts(headers: dict[str, str], kind: str) -> bool:
    """Whether Accept admits ``kind``; without the header everything is admitted."""
    ranges = {part.partition(";")[0].strip().lower() for part in headers.get("accept", "*/*").split(",")}
    return bool(ranges & {kind, "*/*", kind.partition("/")[0] + "/*"})


def _target(request: h11.Request) -> str:
    return request.target.decode("ascii", "replace")
