"""Writes the commands that settings hold for our hooks, and recognises commands that run us.

And checks hooks against the client's settings schema: faults for which the client silently ignores the file.
Every rule was observed in the client: a single hook entry of a wrong type disables every hook of the file and
its ``env``. The client ignores unknown keys and events, and so does this check.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

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


_OTHERS: Final = ("PostToolBatch", "StopFailure", "Notification", "InstructionsLoaded")
_REQUIRED_TEXTS: Final = {
    "command": ("command",),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
}
_OPTIONAL: Final[dict[str, tuple[type, str]]] = {
    "async": (bool, "true or false"),
    "asyncRewake": (bool, "true or false"),
    "once": (bool, "true or false"),
    "if": (str, "text"),
    "statusMessage": (str, "text"),
    "shell": (str, "text"),
    "model": (str, "text"),
    "args": (list, "a list"),
    "headers": (dict, "an object"),
    "input": (dict, "an object"),
}


def hook_problems(settings: Any) -> list[str]:
    """Return what the client would reject in parsed ``settings``, each as ``path: what it must be``."""
    if not isinstance(settings, dict):
        return [f"settings: must be an object, not {_kind(settings)}"]
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        return [f"hooks: must be an object, not {_kind(hooks)}"]
    if not hooks:
        return []
    from context_graph.claude.events import EVENTS  # `status` asks where there are none

    known = {*(event.name for event in EVENTS), *_OTHERS}
    return [
        problem
        for event, groups in hooks.items()
        if event in known
        for problem in _event_problems(f"hooks.{event}", groups)
    ]


def _event_problems(path: str, groups: Any) -> Iterator[str]:
    if not isinstance(groups, list):
        yield f"{path}: must be a list, not {_kind(groups)}"
        return
    for at, group in enumerate(groups):
        place = f"{path}[{at}]"
        if not isinstance(group, dict):
            yield f"{place}: must be an object, not {_kind(group)}"
            continue
        if "matcher" in group and not isinstance(group["matcher"], str):
            yield f"{place}.matcher: must be text, not {_kind(group['matcher'])}"
        hooks = group.get("hooks")
        if not isinstance(hooks, list):
            yield f"{place}.hooks: must be a list, not {_kind(hooks)}"
            continue
        for number, hook in enumerate(hooks):
            yield from _hook_problems(f"{place}.hooks[{number}]", hook)


def _hook_problems(path: str, hook: Any) -> Iterator[str]:
    if not isinstance(hook, dict):
        yield f"{path}: must be an object, not {_kind(hook)}"
        return
    kind = hook.get("type")
    if not isinstance(kind, str) or kind not in _REQUIRED_TEXTS:
        yield f"{path}.type: must be one of {', '.join(_REQUIRED_TEXTS)}, not {kind!r}"
        return
    for name in _REQUIRED_TEXTS[kind]:
        if not isinstance(hook.get(name), str) or not hook[name]:
            yield f"{path}.{name}: must be text that is not empty, not {hook.get(name)!r}"
    if "timeout" in hook and not _is_seconds(hook["timeout"]):
        yield f"{path}.timeout: must be a number of seconds above 0, not {hook['timeout']!r}"
    if hook.get("onFailure", "block") not in ("continue", "block"):
        yield f"{path}.onFailure: must be continue or block, not {hook['onFailure']!r}"
    for name, (wanted, words) in _OPTIONAL.items():
        if name in hook and not isinstance(hook[name], wanted):
            yield f"{path}.{name}: must be {words}, not {hook[name]!r}"


def _is_seconds(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and value > 0


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
