"""A `memory` command's way to the owner: arguments as one JSON object there, one JSON value back."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any, Final

from context_graph.cli.calling import ask, finish, read_stdin
from context_graph.cli.memory_options import Format
from context_graph.cli.shown import shown
from context_graph.errors import InvalidInputError

__all__ = ["CALL_S", "ask_memory", "ask_options", "print_found", "text_given"]

CALL_S: Final = 30.0
_TEXT_BYTES: Final = 1024 * 1024
"""More than 65,536 characters can take; the owner names the limit."""


def ask_memory(verb: str, given: Mapping[str, Any], db_path: str | None, *, timeout_s: float = CALL_S) -> Any:
    """The reply's JSON; a reply that failed ends the command as it says.

    Args:
        given: The verb's arguments; those that are None are left out.
    """
    body = json.dumps({k: v for k, v in given.items() if v is not None}, ensure_ascii=False)
    sent = body.encode("utf-8", "replace")  # an argument need not be UTF-8
    reply = ask(verb, {}, sent, db_path=db_path, timeout_s=timeout_s)
    if reply.exit_code:
        finish(reply)
    return json.loads(reply.stdout)


def ask_options(verb: str, given: dict[str, Any], db_path: str | None) -> Any:
    """As `ask_memory`; an option that is empty counts as one that was not given."""
    return ask_memory(verb, {k: v for k, v in given.items() if v not in ([], "")}, db_path)


def text_given(name: str, text: str) -> str:
    """``text``, or for `-` standard input without its last newline; a terminal is not read from.

    Raises:
        InvalidInputError: It is empty (names it ``name``), or what is piped in is not UTF-8.
    """
    found = _piped() if text == "-" else text
    if not found:
        where = " on standard input" if text == "-" else ""
        raise InvalidInputError(f"the {name}{where} is empty; give at least one character")
    return found


def _piped() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        raise InvalidInputError("-: nothing is piped in; give the text as an argument, or pipe it")
    given = read_stdin(_TEXT_BYTES)
    try:
        return given.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"stdin: not UTF-8 at byte {error.start}; encode it as UTF-8") from error


def print_found(found: Any, output: Format, text: str) -> None:
    """Print ``text``, made safe for a terminal, or what was ``found`` as JSON."""
    print(json.dumps(found, ensure_ascii=False) if output is Format.JSON else shown(text))
