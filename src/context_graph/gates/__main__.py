"""Decides one hook without an owner; the launcher runs it when no owner comes up in time.

Reads the event on standard input and writes to standard output: a first line that says that a decision was
made, a line with what to record (or an empty one), and the client's document (or nothing). Without the first
line the launcher reports that nothing was decided, so a failure here just ends with code 1.
"""

from __future__ import annotations

import json
import os
import sys

from context_graph.claude.hooks.claude import EVENT_OF_VERB
from context_graph.errors import InvalidInputError
from context_graph.gates.decide.git_hook import git_answer, git_event
from context_graph.gates.decide.hooks import decide, rendered
from context_graph.gates.decide.messages import status_line
from context_graph.gates.event import CACHE_FOLDER, GateEvent, claude_dir_of
from context_graph.gates.files import from_json
from context_graph.hosts.translate import answer_of, input_of, readable_of
from context_graph.model import EventKind

ANSWER = b"context-graph gate 1\n"
"""The launcher's twin is ext/launcher/src/gate.rs."""


def main(words: list[str]) -> int:
    """Answer the hook; the exit code.

    Args:
        words: verb, data root, the event's folder, session id, tool name, Unix milliseconds of the start,
            process id of the launcher's parent, what other features tell the model and the user, and the
            format of the client's input and answer.
    """
    try:
        if words[0] == "git":
            answer = _git(*words[1:7])
        else:
            answer = _status_line(*words[1:6]) if words[0] == "statusline" else _decision(*words)
    except Exception as error:
        print(f"context-graph: gate: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(ANSWER + answer)
    return 0


def _decision(
    verb: str,
    root: str,
    cwd: str,
    session_id: str,
    tool: str,
    at_ms: str,
    parent: str,
    context: str,
    notice: str,
    form: str = "claude",
) -> bytes:
    kind = EventKind(verb)
    body = sys.stdin.buffer.read()
    params = {"session-id": session_id, "tool-name": tool, "format": form}
    try:
        given, unreadable = input_of(kind, body, params), ""
    except InvalidInputError as error:
        # The launcher has found it well formed: something in it is odd. The tool call can still be refused.
        given, unreadable = readable_of(kind, body, params), str(error)
    event = GateEvent.of_hook(
        given,
        os.environ,
        session_id=session_id,
        cwd=cwd,
        at_ms=int(at_ms),
        parent_pid=int(parent),
        root=root,
    )
    result = decide(event)
    if unreadable and not result.decision:
        why = f"context-graph: the gates could not read this call's input ({unreadable[:200]})"
        notice = f"{notice}\n{why}" if notice else why
    records = ""
    if result.records:
        common = {
            "session_id": event.session_id,
            "event": event.name,
            "tool": event.hook.tool_name,
            "project": result.project,
            "branch": result.branch,
        }
        records = json.dumps({"records": [{**common, **record} for record in result.records]})
    # The client checks the name against the event it fired, not the one that the input makes of it.
    document = rendered(EVENT_OF_VERB[verb], result, context=context, message=notice)
    return records.encode() + b"\n" + answer_of(form, EVENT_OF_VERB[verb], document)


def _git(root: str, cwd: str, session_id: str, _tool: str, at_ms: str, pid: str) -> bytes:
    body = from_json(sys.stdin.buffer.read())
    event = git_event(
        body, os.environ, session_id=session_id, cwd=cwd, at_ms=int(at_ms), pid=int(pid), root=root
    )
    result = decide(event)
    if result.failed:
        raise RuntimeError(result.system_message)
    return git_answer(event, result)


def _status_line(root: str, cwd: str, session_id: str, tool: str, at_ms: str) -> bytes:
    try:
        given = from_json(sys.stdin.buffer.read())
    except (ValueError, RecursionError):
        given = {}  # a status bar has no place for complaints; folder and session are known without
    line = status_line(
        given if isinstance(given, dict) else {},
        project_dir=os.environ.get("CLAUDE_PROJECT_DIR", "") or cwd,
        session_id=session_id,
        claude_dir=claude_dir_of(os.environ),
        now=int(at_ms) / 1000,
        cache_dir=f"{root}/{CACHE_FOLDER}",
    )
    return b"\n" + line.encode("utf-8", "replace") + b"\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
