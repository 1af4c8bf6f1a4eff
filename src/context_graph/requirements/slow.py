"""The gates without an owner: what the launcher runs, with a bare interpreter, when nobody answers.

Reads the event on standard input and answers on standard output: a first line that says that something was
decided, a line with what to record (or an empty one), and the client's document (or nothing). Without that
first line the launcher says aloud that nothing was decided, so a failure here just ends with code 1.
Start cost is the whole point: docs/adr/0013-gates.md has the figures and what must not be imported.
"""

from __future__ import annotations

import os
import sys

from context_graph.protocol.documents import EVENT_OF_VERB, background_work, document
from context_graph.requirements import plain_json
from context_graph.requirements.event import GateEvent
from context_graph.requirements.processes import client_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.requirements.event import GateResult

__all__ = ["main"]

ANSWER = "context-graph gate 1\n"
"""The launcher's twin is ext/launcher/src/gate.rs."""

CACHE_FOLDER = "/cache/requirements"
"""Below the data root: configurations as the gates read them."""

_FROM_INPUT = frozenset(
    (
        *("tool_input", "tool_use_id", "success", "prompt", "source", "reason"),
        *("stop_hook_active", "interrupted", "agent_id", "tool_name", "command_name", "background"),
    )
)


def main(words: list[str]) -> None:
    """Decide and leave; never returns.

    Args:
        words: verb, data root, the event's folder, session id, tool name, Unix milliseconds of the start,
            process id of the launcher's parent, and what other features tell the model and the user.
    """
    code = 1
    try:
        _say(_answer(*words))
        code = 0
    except Exception as error:
        _say(f"context-graph: gate: {type(error).__name__}: {error}\n", to=2)
    finally:
        os._exit(code)  # nothing of ours needs the interpreter's farewell, which costs a tenth of its start


def _answer(verb: str, root: str, *rest: str) -> str:
    *facts, context, notice = rest
    if verb == "statusline":
        return _status_line(_Call(verb, root, *facts))
    from context_graph.requirements.hooks import decide

    event = _Call(EVENT_OF_VERB[verb], root, *facts)
    result = decide(event, cache=None, may_run=True)
    if event.unreadable and not result.decision:
        why = f"context-graph: the gates could not read this call's input ({event.unreadable[:200]})"
        notice = f"{notice}\n{why}" if notice else why
    made = document(
        EVENT_OF_VERB[verb],
        context="\n".join(part for part in (context, result.context) if part),
        system_message="\n".join(part for part in (notice, result.system_message) if part),
        refusal=result.reason if result.decision in ("deny", "block") else "",
    )
    shown = plain_json.dumps(made) + "\n" if made else ""
    return f"{ANSWER}{_records(event, result)}\n{shown}"


def _status_line(call: _Call) -> str:
    from context_graph.requirements.statusline import status_line

    try:
        given = _input()
    except (ValueError, RecursionError):
        given = {}  # a status bar has no place for complaints; folder and session are known without
    line = status_line(
        given,
        project_dir=call.project_dir or call.cwd,
        session_id=call.session_id,
        claude_dir=call.claude_dir,
        now=call.at,
        cache_dir=call.cache_dir,
    )
    return f"{ANSWER}\n{line}\n"


def _records(event: GateEvent, result: GateResult) -> str:
    if not result.records:
        return ""
    common = {
        "session_id": event.session_id,
        "event": event.name,
        "tool": event.tool_name,
        "project": result.project,
        "branch": result.branch,
    }
    return plain_json.dumps({"records": [{**common, **record} for record in result.records]})


def _clock(at_ms: str) -> float:
    """The decision's time: when the hook started, moved as the environment asks."""
    try:
        offset = float(os.environ.get("CONTEXT_GRAPH_CLOCK_OFFSET", "") or 0)
    except ValueError:
        offset = 0.0
    return int(at_ms) / 1000 + offset


def _input() -> dict[str, Any]:
    """The object on standard input; empty if there is none."""
    parts = []
    while part := os.read(0, 1 << 20):
        parts.append(part)
    value = plain_json.loads(b"".join(parts).removeprefix(b"\xef\xbb\xbf")) if parts else {}
    return value if isinstance(value, dict) else {}


def _say(text: str, to: int = 1) -> None:
    data = memoryview(text.encode("utf-8", "replace"))
    while data:
        data = data[os.write(to, data) :]


class _Call(GateEvent):
    """The hook call. What stands in its input is read when it is first asked for: most calls never ask."""

    unreadable = ""
    """Why the input could not be read, if it was asked for."""

    def __init__(
        self, name: str, root: str, cwd: str, session_id: str, tool: str, at_ms: str, parent: str
    ) -> None:
        # Not the base's: it would set what has to stay unknown until it is wanted.
        self.name, self.session_id, self.cwd = name, session_id, cwd
        if tool:
            self.tool_name = tool
        env = self.env = os.environ
        self.project_dir = env.get("CLAUDE_PROJECT_DIR", "")
        self.home = env.get("HOME", "")
        self.config_dir = env.get("CLAUDE_CONFIG_DIR", "")
        self.at = _clock(at_ms)
        self.cache_dir = root + CACHE_FOLDER
        self._parent = int(parent)

    def __getattr__(self, name: str) -> Any:
        if name == "pid":
            value: Any = client_pid(self._parent)
            self.pid = value
            return value
        if name not in _FROM_INPUT:
            raise AttributeError(name)
        try:
            given = _input()
        except (ValueError, RecursionError) as error:
            # The launcher has found it well formed, so this is a number or a depth beyond Python's. The
            # tool's name can still be refused.
            self.unreadable, given = str(error), {}
        self._take(given)
        return self.__dict__[name]

    def _take(self, given: dict[str, Any]) -> None:
        """The client's flat shape, and seed 001's nested one."""
        payload = given.get("payload")
        data = payload.get("data") if isinstance(payload, dict) else None
        given = {**given, **data} if isinstance(data, dict) else given
        texts = ("tool_use_id", "prompt", "source", "reason", "agent_id", "tool_name", "command_name")
        for name in texts:
            value = given.get(name)
            self.__dict__.setdefault(name, value if isinstance(value, str) else "")
        self.tool_input = given.get("tool_input")
        self.background = background_work(given.get("background_tasks"))
        self.stop_hook_active = given.get("stop_hook_active") is True
        self.interrupted = given.get("is_interrupt") is True
        failed = given.get("hook_event_name") == "PostToolUseFailure" or given.get("error") is not None
        self.success = not failed if self.name == "PostToolUse" else None


if __name__ == "__main__":
    main(sys.argv[1:])
