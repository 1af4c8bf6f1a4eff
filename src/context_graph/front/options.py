"""Parses the arguments of `hooks <kind>` (seed 001 section 2.3), and knows the kinds' time budgets.

Twin of ext/launcher/src/options.rs and kind.rs; ``claude.hooks.claude`` has the kinds' names.

Every kind takes every option; ``cli.command_table`` has them too, for help, and tests/contract compares the
three.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLIENT_BUDGET_MS = 1_000
"""A client waits no longer than this for a hook of ours, but for those that start an owner."""
START_WAIT_MS = 3_000
"""How long a session start or a prompt waits for an owner that is being started, and for its answer: on a
loaded machine that takes longer than a hook may take else, and what it is told can't be made up for later. A
gate waits for half of its own time, so that Python has the other half."""
_BUDGETS_MS = {
    "session-start": 5_000,
    "pre-tool": 100,
    "post-tool": 3_000,
    "post-tool-failure": 3_000,
    "session-end": 30_000,
}
_BUDGET_MS = 2_000
CLIENTS = ("claude", "codex", "gemini", "cursor")
"""The formats of programs whose hooks call us. They get exit code 0 and a document of theirs, or nothing."""
FORMATS = ("json", "json-compact", "text", *CLIENTS)
SWITCH, BOOLEAN, FORMAT, MILLISECONDS, NAME, PATH, TEXT = range(7)
"""What an option takes: true, false or nothing; true or false; a format; a number; a name, which counts as
not given where it is empty (scripts pass "$SESSION_ID" whether it is set or not); a path, where an empty one
is a mistake that must be told; anything, even what begins with dashes."""

OPTIONS = {
    "format": FORMAT,
    "db-path": PATH,
    "session-id": NAME,
    "previous-session-id": NAME,
    "tool-name": NAME,
    "success": BOOLEAN,
    "prompt": TEXT,
    "duration-ms": MILLISECONDS,
    "stdin": SWITCH,
    "fast-path": SWITCH,
    "generate-summary": SWITCH,
}
_BOOLEANS = ("true", "false")


class UsageError(Exception):
    """Names the wrong argument and what would be right."""


def _shown(text: str) -> str:
    return os.fsencode(text)[:200].decode("utf-8", "replace")


def _takes_next(takes: int, word: str) -> bool:
    if takes == SWITCH:
        return word in _BOOLEANS
    return takes == TEXT or not word.startswith("--")


def _wanted(takes: int, value: str) -> str:
    """What ``value`` must be instead; "" if it is right."""
    if takes in (SWITCH, BOOLEAN) and value not in _BOOLEANS:
        return "true or false"
    if takes == MILLISECONDS and not (len(value) <= 18 and value.isascii() and value.isdigit()):
        return "a whole number of milliseconds"
    if takes == FORMAT and value not in FORMATS:
        return "json, json-compact, text, claude, codex, gemini or cursor"
    return ""


def budget_ms(kind: str) -> int:
    """Seed 001's time budget, milliseconds; events that it does not have get UserPromptSubmit's."""
    return _BUDGETS_MS.get(kind, _BUDGET_MS)


def allowed_ms(kind: str, output: str) -> int:
    """Milliseconds that the owner may take for its answer to a call with that format."""
    budget = budget_ms(kind)
    if output not in CLIENTS:
        return budget
    # What a session's start is told can't be made up for later.
    return START_WAIT_MS if kind == "session-start" else min(budget, CLIENT_BUDGET_MS)


class Options:
    """One hook call's arguments. An option given twice counts as given last.

    Attributes:
        kind: The event, as its command is called.
        format: One of FORMATS.
        help: Whether help is asked for.
    """

    __slots__ = ("_given", "format", "help", "kind")

    def __init__(self, kind: str, args: Sequence[str]) -> None:
        """Raises UsageError."""
        self.kind = kind
        self.help = False
        self._given: dict[str, str] = {}
        at = 0
        while at < len(args):
            at = self._take(args, at)
        self.format = self._given.get("format", "json")

    def _take(self, args: Sequence[str], at: int) -> int:
        """Take the argument at ``at``; where the next one is."""
        arg = args[at]
        at += 1
        if arg in ("--help", "-h"):
            self.help = True
            return at
        name, equals, value = arg.partition("=") if arg.startswith("--") else (arg, "", "")
        option = name[2:] if name.startswith("--") else ""
        if option not in OPTIONS:
            raise UsageError(f"unknown argument '{_shown(arg)}'; see context-graph-cli hooks --help")
        takes = OPTIONS[option]
        if not equals:
            if at < len(args) and _takes_next(takes, args[at]):
                value = args[at]
                at += 1
            elif takes == SWITCH:
                value = "true"
            else:
                raise UsageError(f"option '{_shown(name)}' needs a value")
        wanted = _wanted(takes, value)
        if wanted:
            raise UsageError(f"option '{_shown(name)}' is '{_shown(value)}'; it must be {wanted}")
        if takes == NAME and not value:
            self._given.pop(option, None)
        else:
            self._given[option] = value
        return at

    @property
    def db_path(self) -> str | None:
        """`--db-path`."""
        return self._given.get("db-path")

    @property
    def session_id(self) -> str | None:
        """`--session-id`."""
        return self._given.get("session-id")

    def given(self) -> Iterator[tuple[str, int, str]]:
        """What was given, and the format in any case: name, what it takes, value."""
        for name, takes in OPTIONS.items():
            if takes == FORMAT:
                yield name, takes, self.format
            elif name in self._given:
                yield name, takes, self._given[name]

    @property
    def insists_on_stdin(self) -> bool:
        """Whether standard input is asked for by name, so that an empty one is a mistake."""
        return self._given.get("stdin") == "true"

    @property
    def reads_stdin(self) -> bool:
        """Whether standard input is read at all."""
        asked = self._given.get("stdin")
        if asked is not None:
            return asked == "true"
        return self.format in CLIENTS or self.session_id is None
