"""Runs the gates without an owner: `python -m context_graph.gates` decides from the project's files alone.

Twin of ext/launcher/src/gate.rs. Whatever fails on this way ends in "allowed, and said so": a gate that fails
in silence is none.
"""

from __future__ import annotations

import os

from context_graph.front import programs
from context_graph.front.paths import PATH_MAX
from context_graph.system.streams import (
    END,
    FAILED,
    LATE,
    Deadline,
    above_standard,
    as_input,
    read_to_end,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_ANSWER = b"context-graph gate 1\n"
"""First line of what Python answers. Without it nothing was decided, whatever else was printed."""
_CONFIG = ".claude/requirements.yaml"
_HELD = "cache/requirements/held"
"""There while a session is held to what only a person may satisfy (gates/decide/held.py)."""
_REGISTRY_MAX = 1 << 20
"""What is read of the client's list of sessions: some thousand of them."""
_OUTPUT_MAX = 1024 * 1024
_SILENT_KINDS = ("pre-compact", "post-compact", "subagent-start", "subagent-stop")
_WITHIN_MS = {
    "session-start": 4_500,
    "post-tool": 2_700,
    "post-tool-failure": 2_700,
    "permission-denied": 2_700,
    "session-end": 1_400,
}


class GateError(Exception):
    """Why nothing was decided."""


def decides(kind: str, output: str) -> bool:
    """Whether anything is decided for such an event. The others cost no Python start."""
    return output == "claude" and kind not in _SILENT_KINDS


def within_ms(kind: str) -> int:
    """Milliseconds from the hook's start within which an owner or Python has to answer.

    Before the client's own limit (claude/settings/events.py), whose end would be a call allowed in silence.
    """
    return _WITHIN_MS.get(kind, 4_000)


def holds(root: str) -> bool:
    """Whether some session is held to requirements that it has seen, wherever their file is now."""
    return os.path.exists(f"{root}/{_HELD}")


def is_governed(folders: Iterable[str]) -> bool:
    """Whether a project file stands in or above one of ``folders``, of those that are absolute."""
    seen: set[str] = set()
    for folder in folders:
        place = folder if folder.startswith("/") and "\0" not in folder else ""
        while place and place not in seen:
            seen.add(place)
            if len(place) <= PATH_MAX and os.path.lexists(f"{place.rstrip('/')}/{_CONFIG}"):
                return True
            place = "" if place == "/" else os.path.dirname(place)
    return False


def is_known(env: Mapping[str, str], session: str) -> bool:
    """Whether the client's list of live sessions names ``session``.

    Gates have seen it at work, so there may be something to say although no file governs here, such as that
    it is gone.
    """
    folder = env.get("CLAUDE_CONFIG_DIR") or (f"{env['HOME']}/.claude" if env.get("HOME") else "")
    if not folder or not session:
        return False
    try:
        handle = os.open(
            f"{folder}/sessions.json",
            os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY,
        )
    except (OSError, ValueError):
        return False
    try:
        return session.encode("utf-8", "surrogateescape") in os.pread(handle, _REGISTRY_MAX, 0)
    except (OSError, UnicodeEncodeError):
        return False
    finally:
        os.close(handle)


def ask(
    env: Mapping[str, str], base: str, question: Sequence[str], body: bytes, deadline: Deadline
) -> tuple[bytes, bytes]:
    """Ask Python: the record, empty if there is nothing to record, and the client's document, or nothing.

    Args:
        base: What a relative CONTEXT_GRAPH_PYTHON is meant from.
        question: The words that gates/__main__.py takes.

    Raises:
        GateError: Nothing was decided, and why.
    """
    try:
        command = programs.find(programs.GATE, env, base)
    except programs.NotFoundError as error:
        raise GateError(str(error)) from error
    try:
        return _read(_run([*command, *question], body, deadline))
    except GateError as error:
        raise GateError(f"{command[0]}: {error}") from error


def _run(command: Sequence[str], body: bytes, deadline: Deadline) -> bytes:
    """What the program wrote to its standard output, if it ended with 0 before ``deadline``."""
    import subprocess

    handles: list[int] = []
    try:
        handles.append(as_input(body))
        reading, writing = os.pipe()
        handles += (above_standard(reading), above_standard(writing))
        child = subprocess.Popen(command, stdin=handles[0], stdout=handles[2])
        os.close(handles.pop())  # our end for writing would keep the output from ever ending
        output, stop = read_to_end(handles[1], _OUTPUT_MAX, deadline)
        if stop != END:
            child.kill()
        code = child.wait()
    except (OSError, ValueError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise GateError(f"it can't be run ({why})") from error
    finally:
        for handle in handles:
            os.close(handle)
    if stop == END and code == 0:
        return output
    if stop == END:
        raise GateError(f"it ended with code {code if code >= 0 else 128 - code}")
    raise GateError(
        "it did not end in time"
        if stop == LATE
        else "it can't be run"
        if stop == FAILED
        else "it said more than 1 MiB"
    )


def _read(output: bytes) -> tuple[bytes, bytes]:
    """The two parts behind the first line: the record on a line of its own, then the document."""
    if output.startswith(_ANSWER):
        record, newline, document = output[len(_ANSWER) :].partition(b"\n")
        if newline and (not document or document.endswith(b"\n")):
            return record, document
    raise GateError("it gave no answer")
