"""Sends the words of a `memory …` command to the owner as JSON, and shows the answer.

`memory edit` is made of two requests: a memory's text in the person's editor becomes a new memory that
replaces it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from context_graph.cli.console.calling import ask, finish, read_stdin
from context_graph.cli.console.terminal import print_folded, shown
from context_graph.cli.memory.text import reworded_text
from context_graph.cli.words import DB_PATH, JSON, UNLIMITED, Argument, Command, Option
from context_graph.config import locate
from context_graph.errors import CommandLineError, ContextGraphError, InvalidInputError, UsageError
from context_graph.wire.client.request import Following, follow
from context_graph.wire.frames import FOLLOWS

CALL_S: Final = 30.0
_TEXT_BYTES: Final = 1024 * 1024
"""More than 65,536 characters can take; the owner names the limit."""
ASSUMED: Final = {"rationale": "noted by the user"}
"""What commands say where nothing is given, by the name in a request."""

Work = Callable[[str, dict[str, Any], "str | None"], Any]
"""(verb, arguments, --db-path) -> the answer."""


def word(
    name: str, field: str, kind: str, *, help: str = "", metavar: str = "", default: str | None = None
) -> Option | Argument:
    """Return an option, or with a name without dashes an argument, as the table has it.

    Args:
        field: Its name in the request to the owner.
        kind: Of options text, flag, int, float, list, json or time, behind a number's its limits as in
            `int 1 100`; words joined by `|` for a choice. Of arguments word, word? (it may be left out) or
            words, which are joined, or read from standard input for `-`.
    """
    if not name.startswith("-"):
        return Argument(name, field, help, required=kind != "word?", many=kind == "words")
    choices = tuple(kind.split("|")) if "|" in kind else ()
    takes = "" if kind == "flag" or choices else metavar or "TEXT"
    read = "text" if choices or kind in ("flag", "list") else kind
    default = default or ASSUMED.get(field)
    read, *limits = read.split()
    between = (float(limits[0]), float(limits[1])) if limits else UNLIMITED
    return Option(name, help, takes, choices, default, "", kind == "list", field, read, between)


def ask_memory(
    verb: str, arguments: Mapping[str, Any], db_path: str | None, *, timeout_s: float = CALL_S
) -> Any:
    """Return the reply's JSON; a reply that failed ends the command as it says.

    Args:
        arguments: The verb's arguments; those that are None are left out.
    """
    reply = ask(verb, {}, body_of(arguments), db_path=db_path, timeout_s=timeout_s)
    if reply.exit_code:
        finish(reply)
    return json.loads(reply.stdout)


def body_of(arguments: Mapping[str, Any]) -> bytes:
    """Return a verb's arguments as a request has them; those that are None are left out."""
    body = json.dumps({k: v for k, v in arguments.items() if v is not None}, ensure_ascii=False)
    return body.encode("utf-8", "replace")  # an argument need not be UTF-8


def follow_memory(verb: str, arguments: Mapping[str, Any], db_path: str | None) -> Following:
    """Begin long work, which ends with the connection; a reply that failed ends the command as it says."""
    body, place = body_of(arguments), locate(db_path)
    following = follow(verb, {FOLLOWS: True}, body, location=place, timeout_s=CALL_S)
    if following.reply.exit_code:
        finish(following.reply)
    return following


def last_of(following: Following) -> Mapping[str, Any]:
    """Return the last that the owner says of long work, once it is over; {} if it says nothing."""
    views: deque[Mapping[str, Any]] = deque(following, maxlen=1)
    return views.pop() if views else {}


def finished(job: Mapping[str, Any]) -> Any:
    """Return the result of long work, by the last that was said of it. Raises ContextGraphError for none."""
    if job.get("state") == "done":
        return job["result"]
    lost = "the owner ended; `memory runs` has what was changed, and if nothing was, ask again"
    raise ContextGraphError(job.get("error") or lost)


class Action(NamedTuple):
    """What a command does and shows."""

    text: Callable[[Any], str]
    """The answer as lines for people."""
    work: Work = ask_memory
    """What it does, if more than to ask the owner."""
    more: tuple[Option, ...] = ()
    """Options that only the command has."""


def perform(verb: str, action: Action, command: Command, values: dict[str, Any]) -> None:
    """Do what a command is for and print the answer; ``values`` are its own, by names in a request."""
    for argument in command.arguments:
        if argument.many:
            values[argument.field] = text_given(argument.field, " ".join(values[argument.field]))
    as_json, db_path = values.pop(JSON.parameter), values.pop(DB_PATH.parameter)
    arguments = {argument.field for argument in command.arguments}
    sent = {
        name: value
        for name, value in values.items()
        if value is not None and (name in arguments or not (value is False or value in ("", [])))
    }
    reply = action.work(verb, sent, db_path)
    if masked := reply.get("masked"):
        kinds = ", ".join(f"{count} {kind}" for kind, count in masked.items())
        print(f"masked before it was written: {kinds}", file=sys.stderr)
    print_reply(reply, action.text, as_json)


def print_reply(reply: Any, text: Callable[[Any], str], as_json: bool) -> None:
    """Print what a command has to say: as JSON, or as the lines that ``text`` makes of it."""
    if as_json:
        print(json.dumps(reply, ensure_ascii=False))
    else:
        print_folded(shown(text(reply)))


def text_given(name: str, text: str) -> str:
    """Return ``text``, or for `-` standard input without its last newline; a terminal is not read from."""
    content = _piped() if text == "-" else text
    if not content:
        where = " on standard input" if text == "-" else ""
        raise CommandLineError(f"the {name}{where} is empty; give at least one character")
    return content


def _piped() -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        raise CommandLineError("-: nothing is piped in; give the text as an argument, or pipe it")
    content = read_stdin(_TEXT_BYTES)
    try:
        return content.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"stdin: not UTF-8 at byte {error.start}; encode it as UTF-8") from error


EDITED: Final = "The new text, instead of opening $VISUAL or $EDITOR; - reads stdin."
_ID_CHARS: Final = 8
_COPIED: Final = ("rationale", "importance", "modality", "metadata", "tags", "agent_id", "pinned")


def edit(verb: str, arguments: dict[str, Any], db_path: str | None) -> Any:
    """Change the text of a memory: opens it in $VISUAL or $EDITOR, or takes --content.

    Of a session's note the text itself is changed, as by `memory reword`. Else the new text is a memory of
    its own with the old one's tags, importance and rationale, and supersedes it: the old text is no longer
    brought into sessions, and `memory history` and `memory show` still have it. `memory undo` undoes the
    change.

    Exit codes: 0 changed, or the text is the same; 1 no such memory, the id fits several, the editor failed,
    or there is no terminal and no --content; 3 the database is corrupt.

    Example: context-graph-cli memory edit 5f3c1a2b --content "Staging listens on 9443"
    """
    old = editable(ask_memory("memory.show", {"id": arguments["id"]}, db_path))
    content = (
        text_given("content", arguments["content"]) if "content" in arguments else _in_editor(old["content"])
    )
    if content == old["content"]:
        return {**old, "unchanged": True}
    return ask_memory(*changed(old, content), db_path)


def editable(old: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``old``, as `memory show` gives it, if its text may be changed; else raise InvalidInputError."""
    short = old["id"][:_ID_CHARS]
    if "tombstone" in old:
        raise InvalidInputError(f"{short} is forgotten; `context-graph-cli memory restore {short}` first")
    if old["source"] == "capture":
        raise InvalidInputError(
            f"{short} is a session's summary, which hooks write; store what you want to keep beside it"
        )
    return old


def changed(old: Mapping[str, Any], content: str) -> tuple[str, dict[str, Any]]:
    """Return the request that puts ``content`` in the place of ``old``'s text.

    A note of a session is reworded, for its session refreshes it under its own id; all else gets a successor.
    """
    if old["source"] == "note":
        return "memory.reword", {"id": old["id"], "content": content}
    new = {name: old.get(name) for name in _COPIED}
    more = {"scope": old.get("scope", "project"), "content": content, "supersedes": [old["id"]]}
    return "memory.store", {**new, **more}


def edited_text(answer: Mapping[str, Any]) -> str:
    """Return what came of it, and how to take it back."""
    new = answer["id"][:_ID_CHARS]
    if answer.get("unchanged"):
        return f"{new} is unchanged"
    if "superseded" not in answer:
        return reworded_text(answer)
    old = ", ".join(memory_id[:_ID_CHARS] for memory_id in answer.get("superseded", ()))
    return f"{new} replaces {old}; `context-graph-cli memory undo` undoes it\n{answer['content']}"


def _in_editor(text: str) -> str:
    if not (sys.stdin is not None and sys.stdin.isatty()):
        raise UsageError("there is no terminal for an editor; give the new text with --content")
    import shlex  # only a person waits for these
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile("w", prefix="memory-", suffix=".md", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        try:
            done = subprocess.run([*shlex.split(editor), file.name], check=False)
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"the editor {editor!r} can't be run: {error}; set $EDITOR") from error
        if done.returncode:
            raise InvalidInputError(
                f"the editor {editor!r} ended with {done.returncode}; nothing was changed"
            )
        with open(
            file.name, encoding="utf-8", errors="replace"
        ) as edited:  # an editor may put a new file there
            new_text = edited.read().removesuffix("\n")
    if not new_text.strip():
        raise InvalidInputError(
            "the text is empty, so nothing was changed; `memory forget` takes a memory out"
        )
    return new_text
