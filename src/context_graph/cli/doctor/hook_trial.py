"""Tries the hooks: sends canary events through them as the client would, and looks for them in the store."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from context_graph.claude.hooks.origin import CANARY_TOOL
from context_graph.cli.doctor.client_files import ERROR, NOTE, WARNING, Finding
from context_graph.cli.doctor.hooks_in_use import Hook, HooksInUse
from context_graph.cli.doctor.owner_view import ask_owner
from context_graph.config import Location
from context_graph.errors import ContextGraphError

_READ_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class HookRun:
    """The result of one run of a command."""

    took_ms: float
    """From its start until its output was at its end, which is what the client waits for."""
    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool = False


def canary_input(event: str, session_id: str, project: Path, tool_use_id: str) -> dict[str, Any]:
    """Return the standard input that the client would give the hook; of PreToolUse or PostToolUse."""
    hook_input: dict[str, Any] = {
        "session_id": session_id,
        "transcript_path": os.devnull,
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": event,
        "tool_name": CANARY_TOOL,
        "tool_input": {"note": "sent by context-graph-cli doctor; it is removed again"},
        "tool_use_id": tool_use_id,
    }
    if event == "PostToolUse":
        hook_input["tool_response"] = {"stdout": "a canary", "stderr": "", "interrupted": False}
    return hook_input


def hook_environment(
    project: Path, session_id: str, env: Mapping[str, str], plugin: Path | None
) -> dict[str, str]:
    """Return the client's environment for a hook."""
    more = {"CLAUDE_PROJECT_DIR": str(project), "CLAUDE_CODE_SESSION_ID": session_id, "CLAUDECODE": "1"}
    if plugin is not None:
        more["CLAUDE_PLUGIN_ROOT"] = str(plugin)
    return {**env, **more}


def run_hook(hook: Hook, session_id: str, project: Path, env: Mapping[str, str], tool_use_id: str) -> HookRun:
    """Run ``hook`` once for a canary; its output only goes into the result."""
    environment = hook_environment(project, session_id, env, hook.plugin)
    body = json.dumps(canary_input(hook.event, session_id, project, tool_use_id)).encode() + b"\n"
    return run_command(hook.argv(environment), body, project, environment, hook.timeout_s)


def run_command(
    argv: list[str], body: bytes, folder: Path, env: Mapping[str, str], timeout_s: float
) -> HookRun:
    """Run a command as the client runs hooks: a session of its own, sockets for all three streams.

    Whatever it started that still holds them is waited for, until ``timeout_s``; then its group is ended.
    """
    began = time.perf_counter()
    with contextlib.ExitStack() as open_ends:
        ends = [socket.socketpair() for _ in range(3)]
        for end in itertools.chain(*ends):
            open_ends.enter_context(end)
        (stdin, _), (stdout, _), (stderr, _) = ends
        try:
            child = subprocess.Popen(
                argv,
                stdin=ends[0][1].fileno(),
                stdout=ends[1][1].fileno(),
                stderr=ends[2][1].fileno(),
                cwd=folder,
                env=dict(env),
                start_new_session=True,
            )
        except OSError as error:
            return HookRun(_since(began), 127, "", f"{argv[0]}: {error.strerror}")
        for _, child_end in ends:
            child_end.close()
        with ThreadPoolExecutor() as pool:
            works = [pool.submit(_send, stdin, body), *(pool.submit(_read, end) for end in (stdout, stderr))]
            timed_out = bool(wait(works, max(0.0, began + timeout_s - time.perf_counter())).not_done)
            if timed_out:
                os.killpg(child.pid, signal.SIGKILL)
                for mine, _ in ends:  # whoever left the group may hold the other end
                    with contextlib.suppress(OSError):
                        mine.shutdown(socket.SHUT_RDWR)
            code = child.wait(timeout=timeout_s)
        took_ms = _since(began)
    out, err = (work.result().decode("utf-8", "replace") for work in works[1:])
    return HookRun(took_ms, code, out, err, timed_out)


def _send(stdin: socket.socket, body: bytes) -> bytes:
    with contextlib.suppress(OSError):  # a hook need not read what it is given, and may be gone already
        stdin.sendall(body)
        stdin.shutdown(socket.SHUT_WR)
    return b""


def _read(output: socket.socket) -> bytes:
    """Return what comes until the other end is closed."""
    parts: list[bytes] = []
    with contextlib.suppress(ConnectionResetError):
        while part := output.recv(_READ_BYTES):
            parts.append(part)
    return b"".join(parts)


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


TRIED: Final = ("PreToolUse", "PostToolUse")
"""The two that each tool call waits for. A start or a prompt would change what the model is told."""
_RUNS: Final = 5
_PROGRAM: Final = "context-graph-cli"
_OWNER: Final = "`context-graph-cli owner status`, and log/owner.log in the data root, may say why"


@dataclass(slots=True)
class HookTrial:
    """The results of the hooks' commands."""

    runs_ms: dict[str, list[float]] = field(default_factory=dict)
    """By event, each run's milliseconds."""
    floor_ms: float = 0.0
    """The same of a shell that does nothing."""
    sent: int = 0
    recorded: int | None = None
    """How many the store has; None where it was not asked."""
    findings: list[Finding] = field(default_factory=list)

    def medians(self) -> dict[str, float]:
        """By event."""
        return {event: statistics.median(runs) for event, runs in self.runs_ms.items() if runs}


def try_hooks(
    hooks: HooksInUse, place: Location, folder: Path, session_id: str, env: Mapping[str, str], *, look: bool
) -> HookTrial:
    """Send canaries through the commands of ``hooks`` and see whether the store has each of them.

    Args:
        folder: What the client takes for the project's folder.
        look: Whether to ask the store; without, what the commands do where there is none to use is seen.
    """
    trial = HookTrial()
    nothing = [run_command(["/bin/sh", "-c", "true "], b"{}\n", folder, env, 10.0) for _ in range(_RUNS)]
    trial.floor_ms = statistics.median(run.took_ms for run in nothing)
    sent: dict[str, str] = {}
    for event in TRIED:
        for hook in hooks.of(event):
            for number in range(_RUNS):
                tool_use_id = f"toolu_doctor_{secrets.token_hex(8)}"
                run = run_hook(hook, session_id, folder, env, tool_use_id)
                trial.runs_ms.setdefault(event, []).append(run.took_ms)
                sent[tool_use_id] = event
                trial.sent += 1
                if number == 0:
                    trial.findings += _faults(hook, run)
    if look:
        _look_for(trial, sent, place, session_id, env)
    return trial


def _faults(hook: Hook, run: HookRun) -> Iterator[Finding]:
    """Yield the faults that the client would not accept."""
    where = f"the {hook.event} hook of {hook.source}"
    if run.timed_out:
        yield Finding(ERROR, f"{where} did not end within its {hook.timeout_s:g} s", _OWNER)
    elif run.exit_code:
        blocks = ", which blocks every tool call" if run.exit_code == 2 else ""
        yield Finding(ERROR, f"{where} ends with {run.exit_code}{blocks}: {_said(run)}", _OWNER)
    elif run.stderr.strip():
        yield Finding(WARNING, f"{where} complains: {_said(run)}", _OWNER)
    output = run.stdout.strip()
    if output and not (run.timed_out or run.exit_code or _is_object(output)):
        yield Finding(NOTE, f"{where} prints plain text, which the model does not see")


def _cure_of_lost(trial: HookTrial, env: Mapping[str, str]) -> str:
    """Return the likely reason for lost canaries: hooks without their program silently do nothing."""
    if not trial.recorded and shutil.which(_PROGRAM, path=env.get("PATH", "")) is None:
        return (
            f"{_PROGRAM} is not on PATH, so the hooks do nothing: `{_PROGRAM} setup --link` links it into "
            "~/.local/bin; then restart Claude Code"
        )
    return (
        f"check that the disk is not full, and that the hook runs the {_PROGRAM} of this installation with "
        "the same data root"
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _said(run: HookRun) -> str:
    return (run.stderr.strip() or run.stdout.strip() or "no message")[:300]


def _look_for(
    trial: HookTrial, sent: Mapping[str, str], place: Location, session_id: str, env: Mapping[str, str]
) -> None:
    try:
        answer = ask_owner("doctor.canary", {"session": session_id}, place, env)
    except ContextGraphError as error:
        trial.findings.append(Finding(ERROR, f"the canary events can't be read back: {error}", _OWNER))
        return
    events: list[dict[str, Any]] = answer["events"]
    there = {event["tool_use_id"] for event in events}
    trial.recorded = len(there & set(sent))
    for event in TRIED:
        of_event = [call for call, kind in sent.items() if kind == event]
        lost = [call for call in of_event if call not in there]
        if lost:
            text = f"{len(lost)} of {len(of_event)} {event} canaries are not in the store {place.store}"
            trial.findings.append(Finding(ERROR, text, _cure_of_lost(trial, env)))
