"""Reads a hook's input from any host and writes the answer in its form; Claude Code's passes unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from context_graph.claude.events import EVENT_OF_VERB
from context_graph.claude.hooks.hook_input import MAX_INPUT_BYTES, HookInput, parse_hook_input, readable_input
from context_graph.claude.hosts.codex import CODEX
from context_graph.claude.hosts.cursor import CURSOR
from context_graph.claude.hosts.gemini import GEMINI
from context_graph.claude.hosts.host import Host
from context_graph.errors import InvalidInputError
from context_graph.model import EventKind

HOSTS: Final[Mapping[str, Host]] = {host.name: host for host in (CODEX, GEMINI, CURSOR)}
CLIENT_FORMATS: Final = ("claude", *HOSTS)
"""Formats of programs whose hooks call us: they get a document of theirs or nothing, and never an error."""


def input_of(kind: EventKind, body: bytes, params: Mapping[str, object]) -> HookInput:
    """As `parse_hook_input`, for any host: ``params["format"]`` says which.

    Cost: for another host than Claude Code one more pass of the JSON reader and writer, some 30 us for 2 KB.
    """
    host = HOSTS.get(str(params.get("format", "")))
    if host is None:
        return parse_hook_input(kind, body, params)
    hook = parse_hook_input(kind, _translated(host, kind, body), params)
    if hook.kind is EventKind.POST_TOOL and hook.tool_name in host.untold:
        hook.success = None
    return hook


def readable_of(kind: EventKind, body: bytes, params: Mapping[str, object]) -> HookInput:
    """As `readable_input`, for any host. Never raises."""
    host = HOSTS.get(str(params.get("format", "")))
    if host is None:
        return readable_input(kind, body, str(params.get("tool-name", "")))
    try:
        body = _translated(host, kind, body)
    except InvalidInputError:
        body = b"{}"
    return readable_input(kind, body)


def answer_of(named: str, event: str, document: bytes) -> bytes:
    """Return the ``document`` on an ``event`` in the format ``named``, with its newline, or nothing."""
    host = HOSTS.get(named)
    if host is None:
        return document
    made = host.from_claude(event, json.loads(document)) if document.strip() else {}
    if not made and not host.answers_always:
        return b""
    return json.dumps(made, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def takes_context(named: str, kind: EventKind) -> bool:
    """Return whether the host of the format ``named`` shows its model what the answer to ``kind`` tells."""
    host = HOSTS.get(named)
    return host is None or kind in host.context_at


def _translated(host: Host, kind: EventKind, body: bytes) -> bytes:
    """Return the body as Claude Code would have sent it; what is no object `parse_hook_input` refuses."""
    if not body.strip() or len(body) > MAX_INPUT_BYTES:
        return body
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(payload, dict):
        return body
    own, named = EVENT_OF_VERB[kind.value], payload.get("hook_event_name")
    known = named == host.events.get(kind) or (isinstance(named, str) and host.also.get(named) is kind)
    if named is not None and not known:
        raise InvalidInputError(
            f"hook_event_name: {str(named)[:60]!r} is not the event of `hooks {kind.value}` in {host.name}; "
            f"expected {host.events.get(kind, 'no event at all')!r}"
        )
    return json.dumps({"hook_event_name": own, **host.to_claude(kind, payload)}).encode()
