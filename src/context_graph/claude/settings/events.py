"""Lists the client's events that we register for, with the verb for each and the client's time limit."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from context_graph.errors import InvalidInputError

GATED: Final = "PreToolUse"
"""The event whose hook may be asked to block where it fails (`setup --strict-gates`)."""


@dataclass(frozen=True, slots=True)
class HookedEvent:
    """One of the client's events.

    Attributes:
        name: The client's own, PascalCase.
        verb: Of ``context-graph-cli hooks``.
        timeout_s: Seconds after which the client kills the hook and goes on as if it had allowed. The
            launcher ends by itself before (gate.rs: within 4 s at worst where requirements gate), so this
            is a backstop: short enough for a user who waits, long enough for a loaded machine.
        for_tools: Whether the client takes a matcher of tool names for it.
        quoted: Whether the client quotes the hook's command to its model: a Stop that is held, a compaction.
        script: File stem of seed 001's script, empty where it has none.
        requirements: Ids for the script's head.
    """

    name: str
    verb: str
    timeout_s: int
    for_tools: bool = False
    script: str = ""
    requirements: str = ""
    quoted: bool = False


EVENTS: Final = (
    HookedEvent("SessionStart", "session-start", 5, False, "session_start", "REQ-HOOKS-01, REQ-HOOKS-17"),
    HookedEvent("PreToolUse", "pre-tool", 5, True, "pre_tool_use", "REQ-HOOKS-02, REQ-HOOKS-18"),
    HookedEvent("PostToolUse", "post-tool", 3, True, "post_tool_use", "REQ-HOOKS-03, REQ-HOOKS-19"),
    # PostToolUse fires for success only; a failed tool has an event of its own.
    HookedEvent("PostToolUseFailure", "post-tool-failure", 3, True),
    HookedEvent(
        "UserPromptSubmit", "prompt-submit", 5, False, "user_prompt_submit", "REQ-HOOKS-04, REQ-HOOKS-20"
    ),
    # A skill that the user types: the model makes no call of it that PostToolUse would tell of.
    HookedEvent("UserPromptExpansion", "prompt-expansion", 5),
    # Reaches the subagent's first request only: it has nothing of its parent's context.
    HookedEvent("SubagentStart", "subagent-start", 5),
    HookedEvent("Stop", "stop", 5, quoted=True),
    # Fires only where the user would be asked, so it costs nobody else anything. SubagentStop is served but
    # not registered: a subagent can't satisfy what its parent's Stop is held to.
    HookedEvent("PermissionRequest", "permission-request", 5, True),
    # A call that was refused without a question has changed nothing, and no other event says so.
    HookedEvent("PermissionDenied", "permission-denied", 3, True),
    HookedEvent("PreCompact", "pre-compact", 2, quoted=True),
    # Has the model's own summary: what that lacks of the session is shown, or at least measured.
    HookedEvent("PostCompact", "post-compact", 3, quoted=True),
    # A change of the settings takes hooks away from a session that runs (gates/decide/watch.py).
    HookedEvent("ConfigChange", "config-change", 5),
    # Without a time limit of its own the client gives SessionEnd 1.5 s; the user waits through it.
    HookedEvent("SessionEnd", "session-end", 5, False, "session_end", "REQ-HOOKS-05, REQ-HOOKS-21"),
)


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


def command_line(event: HookedEvent, *, strict: bool = False, form: str = "claude") -> str:
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


def exec_form(event: HookedEvent, program: str) -> dict[str, object]:
    """Return the command and arguments without a shell. ``program`` is a path: the client expands nothing in
    it."""
    return {"command": program, "args": ["hooks", event.verb, "--format", "claude"]}


def events_of(names: str) -> list[HookedEvent]:
    """Return the events that a comma-separated list names, in any of the spellings in use; all for an empty
    list.

    ``post-tool-use`` means both outcomes of a tool, as seed 001 knew one event for them.

    Raises:
        InvalidInputError: Naming the word that is no event, and those that are.
    """
    wanted = {_key(word) for word in names.split(",") if word.strip()}
    if not wanted:
        return list(EVENTS)
    known = {_key(event.name) for event in EVENTS}
    unknown = sorted(wanted - known)
    if unknown:
        raise InvalidInputError(
            f"--hooks: {unknown[0]!r} is no hook; known: {', '.join(_kebab(event.name) for event in EVENTS)}"
        )
    if "posttooluse" in wanted:
        wanted.add("posttoolusefailure")
    return [event for event in EVENTS if _key(event.name) in wanted]


def _key(name: str) -> str:
    return name.strip().replace("-", "").replace("_", "").lower()


def _kebab(name: str) -> str:
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name).lstrip("-")


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
