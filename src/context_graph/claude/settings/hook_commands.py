"""Writes the commands that settings hold for our hooks, and recognises commands that run us."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from context_graph.errors import InvalidInputError

if TYPE_CHECKING:
    from context_graph.claude.events import ClientEvent

GATED: Final = "PreToolUse"
"""The event whose hook may be asked to block where it fails (`setup --strict-gates`)."""


EXEC_SINCE: Final = (2, 1, 197)
"""The oldest client that was seen to run a hook's ``args`` without a shell; an older one would drop them."""
SEARCH: Final = "PATH=$PATH:~/.local/bin"
"""First in every shell line of ours: `setup` links the program there, and few terminals have that on PATH."""
MISSING: Final = (
    "context-graph-cli is neither on PATH nor in ~/.local/bin: memory and requirement gates are off here"
)
_STRICT_END: Final = (
    '[ ! -e "${CLAUDE_PROJECT_DIR:-.}/.claude/requirements.yaml" ] || '
    "{ echo 'the requirement gates could not be checked: context-graph-cli is missing or failed' >&2; "
    "exit 1; }"
)


def command_line(event: ClientEvent, *, strict: bool = False, form: str = "claude") -> str:
    """Return the settings' shell command: exit 0 whatever happens. ``form`` is the format that the host
    reads.

    It names no folder of one machine, since a project's settings are shared. Where the program is missing,
    SessionStart tells the user so, once a session; the other events are silent.

    With ``strict`` it fails where the CLI is missing or crashes in a project that has requirements, which
    blocks the call together with ``onFailure``; elsewhere it stays silent.

    No ``exec``: a binary that can't run here would be read as a shell script and end in exit code 2,
    which blocks every tool call. The fork it saves costs 0.1 ms.
    """
    test = "command -v context-graph-cli >/dev/null 2>&1"
    call = f"context-graph-cli hooks {event.verb} --format {form}"
    if event.name == "SessionStart":
        message = json.dumps({"systemMessage": MISSING})
        return f"{SEARCH}; if {test}; then {call}; else echo '{message}'; fi || true"
    return f"{SEARCH}; {test} && {call} || {_STRICT_END if strict else 'true'}"


def exec_form(event: ClientEvent, program: str) -> dict[str, object]:
    """Return command and arguments without a shell. ``program`` is a path, in which nothing is expanded."""
    return {"command": program, "args": ["hooks", event.verb, "--format", "claude"]}


def events_of(names: str) -> list[ClientEvent]:
    """Return the events that a comma-separated list names, in any of the spellings in use; all for an empty
    list.

    ``post-tool-use`` means both outcomes of a tool, as seed 001 knew one event for them.

    Raises:
        InvalidInputError: Naming the word that is no event, and those that are.
    """
    from context_graph.claude.events import REGISTERED  # `status` looks for hooks without the table

    wanted = {_key(word) for word in names.split(",") if word.strip()}
    if not wanted:
        return list(REGISTERED)
    known = {_key(event.name) for event in REGISTERED}
    unknown = sorted(wanted - known)
    if unknown:
        raise InvalidInputError(f"--hooks: {unknown[0]!r} is no hook; known: {', '.join(hook_names())}")
    if "posttooluse" in wanted:
        wanted.add("posttoolusefailure")
    return [event for event in REGISTERED if _key(event.name) in wanted]


def hook_names() -> list[str]:
    """Return what `events_of` takes, but for the failed tool, which goes with its success."""
    from context_graph.claude.events import REGISTERED

    names = (event.name for event in REGISTERED if event.name != "PostToolUseFailure")
    return ["".join(f"-{char.lower()}" if char.isupper() else char for char in name)[1:] for name in names]


def _key(name: str) -> str:
    return name.strip().replace("-", "").replace("_", "").lower()


_PROGRAMS: Final = frozenset({"context-graph", "context-graph-cli", "context-graph-py"})
_ANYWHERE: Final = re.compile(
    r"(?<![\w.@+-])context-graph-(?:cli|py)(?![\w.@+/-])"
    r"|(?<![\w./@+-])context-graph (?:hooks|session|consciousness|mcp|status|req)\b"
    r"|(?<![\w.])context_graph\.cli\b"
)


def runs_us(command: str, arguments: Iterable[object] = ()) -> bool:
    """Return whether a command line, or the text of a script, calls our program.

    `memgraph-context-graph` and `run.sh` in a folder `context-graph` don't.
    """
    try:
        first = (shlex.split(command, comments=True) or [""])[0]
    except ValueError:
        first = command
    if os.path.basename(first) in _PROGRAMS or os.path.basename(command) in _PROGRAMS:
        return True
    return _ANYWHERE.search(" ".join([command, *map(str, arguments)])) is not None
