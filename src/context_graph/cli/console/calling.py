"""Sends a command's request to the owner and shows the reply: standard input, output and exit code."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn, TextIO

from context_graph.cli.console.terminal import complain, print_folded
from context_graph.config import locate
from context_graph.errors import ContextGraphError, InvalidInputError
from context_graph.wire.client.request import request
from context_graph.wire.frames import Reply

MAX_INPUT_BYTES: Final = 4 * 1024 * 1024
_OWNERS: Final = "context-graph: "
_STDIN_S: Final = 5.0
_READ_BYTES: Final = 1 << 16


class Finished(SystemExit):
    """The command's own exit code: any other exit with code 2 is a usage error and gets another."""


def ask(
    verb: str,
    params: Mapping[str, object] | None = None,
    body: bytes = b"",
    *,
    db_path: str | None = None,
    timeout_s: float = 5.0,
    quiet: bool = False,
) -> Reply:
    """Send one request about the store of this project, or of ``db_path``; starts the owner if need be.

    What the owner says beside a good answer is printed, unless ``quiet``.

    Raises:
        ContextGraphError: As ``locate`` and ``client.request``.
    """
    sent = {name: value for name, value in (params or {}).items() if value not in (None, "", False)}
    reply = request(verb, sent, body, location=locate(db_path), timeout_s=timeout_s)
    if reply.exit_code or quiet:
        return reply
    _say(reply.stderr)
    return replace(reply, stderr=b"")


def ask_json(
    verb: str,
    params: Mapping[str, object] | None = None,
    *,
    db_path: str | None = None,
    timeout_s: float = 5.0,
) -> Any:
    """Return the reply's JSON; a reply that failed ends the command as it says."""
    reply = ask(verb, params, db_path=db_path, timeout_s=timeout_s)
    if reply.exit_code:
        finish(reply)
    return json.loads(reply.stdout)


class RefusedError(ContextGraphError):
    """The owner's answer says what is wrong; ``reply_code`` is its exit code."""

    code = "refused"

    def __init__(self, message: str, reply_code: int) -> None:
        super().__init__(message)
        self.reply_code = reply_code


def granted(reply: Reply) -> bytes:
    """Return what the owner answered. Raises RefusedError, in its words, for a reply that failed."""
    if reply.exit_code:
        message = reply.stderr.decode("utf-8", "replace").strip().removeprefix(_OWNERS)
        raise RefusedError(message or "the owner refused to answer", reply.exit_code)
    return reply.stdout


def finish(reply: Reply, *, exit_code: int | None = None) -> NoReturn:
    """Print the owner's answer and exit with its code, or with ``exit_code``."""
    _emit(sys.stdout, reply.stdout)
    _say(reply.stderr)
    raise Finished(reply.exit_code if exit_code is None else exit_code)


def _say(message: bytes) -> None:
    """Print the owner's words on standard error, an error under the name of the program that is run."""
    text = message.decode("utf-8", "replace").rstrip("\n")
    if text.startswith(_OWNERS):
        complain(text.removeprefix(_OWNERS))
    elif text and sys.stderr is not None:
        print_folded(text, to=sys.stderr)


def _emit(stream: TextIO | None, data: bytes) -> None:
    if stream is None or not data:  # None: the caller closed that descriptor
        return
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


def warn(error: ContextGraphError | str) -> None:
    """Print a problem that does not stop the session, in seed 000's form."""
    print(f"Warning: {error}", file=sys.stderr)


def read_stdin(limit: int = MAX_INPUT_BYTES) -> bytes:
    """Standard input to its end, if it is no terminal; what came within five seconds if it has no end.

    Raises:
        InvalidInputError: If it is longer than ``limit`` bytes.
    """
    try:
        handle = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # closed, or replaced by a test
        return b""
    if os.isatty(handle):
        return b""
    parts: list[bytes] = []
    size, end = 0, time.monotonic() + _STDIN_S
    while select.select([handle], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(handle, _READ_BYTES)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if size > limit:
            raise InvalidInputError(f"stdin: more than the limit of {limit} bytes; send less")
    return b"".join(parts)


def lenient_input(session_id: str | None, source: str | None = None) -> bytes:
    """Return the JSON body of a seed-000 command: stdin, completed by options that it does not say itself.

    Input that is no JSON object means defaults there, so it is not judged here either.
    """
    body = read_stdin()
    options = {
        name: value for name, value in (("session_id", session_id), ("source", source)) if value is not None
    }
    if not options:
        return body
    try:
        fields = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        fields = {}
    fields = fields if isinstance(fields, dict) else {}
    return json.dumps({**options, **fields}).encode("utf-8", "replace")
