"""Sends a canary event through a hook's own command, as the client would run it."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from context_graph.claude.hooks.origin import CANARY_TOOL
from context_graph.doctor.hooks_in_use import Hook

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
    """The standard input that the client would give the hook; the event is PreToolUse or PostToolUse."""
    given: dict[str, Any] = {
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
        given["tool_response"] = {"stdout": "a canary", "stderr": "", "interrupted": False}
    return given


def hook_environment(
    project: Path, session_id: str, env: Mapping[str, str], plugin: Path | None
) -> dict[str, str]:
    """The client's environment for a hook."""
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
    ends = [socket.socketpair() for _ in range(3)]
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
        _close(ends)
        return HookRun(_since(began), 127, "", f"{argv[0]}: {error.strerror}")
    for _, theirs in ends:
        theirs.close()
    said = [b"", b""]
    try:
        timed_out = not _exchange([mine for mine, _ in ends], body, said, began + timeout_s)
        if timed_out:
            os.killpg(child.pid, signal.SIGKILL)
        code = child.wait(timeout=timeout_s)
    finally:
        _close(ends)
    took_ms = _since(began)
    out, err = (part.decode("utf-8", "replace") for part in said)
    return HookRun(took_ms, code, out, err, timed_out)


def _exchange(streams: list[socket.socket], body: bytes, said: list[bytes], end: float) -> bool:
    """Write ``body``, read both outputs to their ends; whether that came before ``end``."""
    stdin, *outputs = streams
    with selectors.DefaultSelector() as waiting:
        for number, output in enumerate(outputs):
            output.setblocking(False)
            waiting.register(output, selectors.EVENT_READ, number)
        stdin.setblocking(False)
        waiting.register(stdin, selectors.EVENT_WRITE)
        while waiting.get_map():
            ready = waiting.select(max(0.0, end - time.perf_counter()))
            if not ready:
                return False
            for key, _ in ready:
                if key.fileobj is stdin:
                    body = body[_send(stdin, body) :]
                    over = not body
                    if over:
                        _end(stdin)
                else:
                    part = _receive(key.fileobj)
                    said[key.data] += part
                    over = not part
                if over:
                    waiting.unregister(key.fileobj)
    return True


def _send(stdin: socket.socket, body: bytes) -> int:
    try:
        return stdin.send(body)
    except OSError:  # a hook need not read what it is given
        return len(body)


def _end(stdin: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may be gone already
        stdin.shutdown(socket.SHUT_WR)


def _receive(output: Any) -> bytes:
    try:
        part: bytes = output.recv(_READ_BYTES)
    except ConnectionResetError:
        return b""
    return part


def _close(ends: list[tuple[socket.socket, socket.socket]]) -> None:
    for pair in ends:
        for one in pair:
            one.close()


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
