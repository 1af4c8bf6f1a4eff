"""Tests a canary memory over real MCP, by a client just large enough: stored, recalled, deleted for good."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from context_graph import __version__
from context_graph.claude.hooks.origin import CANARY_TAG
from context_graph.claude.install.entries import SERVER
from context_graph.claude.settings.hook_commands import runs_us
from context_graph.cli.doctor.client_files import ERROR, NOTE, WARNING, Finding, SettingsFile, read_object
from context_graph.wire.client.spawn import find_launcher

TAG: Final = CANARY_TAG
_LEFT: Final = timedelta(minutes=10)
_WORDS: Final = (
    *("amber", "badger", "cedar", "dune", "ember", "falcon", "glacier", "harbour", "indigo", "juniper"),
    *("kestrel", "lantern", "meadow", "nutmeg", "orchid", "pebble", "quartz", "raven", "saffron", "thistle"),
)
_NAME: Final = re.compile(r"\w++")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Server:
    """The command that starts the memory tools' server."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    source: str
    """The file that says so; "" where none does, and ours is tried as it would be written there."""


@dataclass(slots=True)
class MemoryTrial:
    """The result of trying the tools with a canary."""

    steps_ms: dict[str, float] = field(default_factory=dict)
    """connect (process start to the answer of initialize), list, store, recall, forget; milliseconds."""
    tools: int = 0
    findings: list[Finding] = field(default_factory=list)


def server_in_use(
    project: Path, settings: list[SettingsFile], env: Mapping[str, str], plugin: Path
) -> tuple[Server, list[Finding]]:
    """Return the server that the project's `.mcp.json` names, else that of the plugin in this package."""
    findings = []
    path = project / ".mcp.json"
    try:
        content = read_object(path) or {}
    except ValueError as error:
        findings.append(Finding(ERROR, f"{path}: {error}", "fix it"))
        content = {}
    name, entry = _ours(content)
    findings += _foreign(content, path)
    if entry is not None:
        findings += _refused(name, settings)
        return _server(entry, env, str(path)), findings
    text = "no .mcp.json lists the memory tools here (a plugin or your own settings may)"
    findings.append(Finding(NOTE, text, "`context-graph-cli setup`"))
    _, packaged = _ours(read_object(plugin / ".mcp.json") or {})
    return _server(packaged or {}, env, ""), findings


def _servers(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    servers = content.get("mcpServers")
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        if isinstance(entry, dict):
            yield name, entry


def _is_ours(entry: Mapping[str, Any]) -> bool:
    command, arguments = entry.get("command"), entry.get("args")
    return isinstance(command, str) and runs_us(command, arguments if isinstance(arguments, list) else ())


def _ours(content: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | None]:
    """Name and entry of our server, by what it runs: names are anybody's."""
    servers = [(name, entry) for name, entry in _servers(content) if _is_ours(entry)]
    return next((server for server in servers if server[0] == SERVER), servers[0] if servers else ("", None))


def _foreign(content: Mapping[str, Any], path: Path) -> list[Finding]:
    """Return another program's server under our name."""
    entry = dict(_servers(content)).get(SERVER)
    if entry is None or _is_ours(entry):
        return []
    runs = entry.get("command") or entry.get("url") or "something else"
    text = f"{path}: the server {SERVER!r} is another program's; it runs {runs}"
    cure = "`context-graph-cli setup --server-name context-graph-memory` adds ours beside it"
    return [Finding(NOTE if _ours(content)[1] is not None else WARNING, text, cure)]


def _refused(name: str, settings: list[SettingsFile]) -> list[Finding]:
    """Return whether somebody pressed Enter at the client's dialog "New MCP server found"."""
    off = [file.path for file in settings if name in (file.content.get("disabledMcpjsonServers") or ())]
    text = "the memory tools are disabled, perhaps because they were refused when Claude Code asked"
    cure = (
        "run `claude mcp reset-project-choices`, then accept the server; if that does not help, remove it "
        "from disabledMcpjsonServers in that file"
    )
    return [Finding(ERROR, f"{off[0]}: {text}", cure)] if off else []


def _server(entry: Mapping[str, Any], env: Mapping[str, str], source: str) -> Server:
    def expanded(text: object) -> str:
        before, *parts = str(text).split("${")
        return before + "".join(_in_place(part, env) for part in parts)

    arguments, more = entry.get("args"), entry.get("env")
    words = [entry.get("command", ""), *(arguments if isinstance(arguments, list) else ())]
    named = {key: expanded(value) for key, value in more.items()} if isinstance(more, dict) else {}
    return Server(tuple(map(expanded, words)), named, source)


def _in_place(text: str, env: Mapping[str, str]) -> str:
    """Return what follows a `${`: `NAME}` and `NAME:-default}` with their value; else unchanged."""
    inner, brace, rest = text.partition("}")
    name, mark, default = inner.partition(":-")
    if not (brace and _NAME.fullmatch(name)):
        return "${" + text
    return (env.get(name) or (default if mark else "")) + rest


def try_memory(server: Server, project: Path, env: Mapping[str, str]) -> MemoryTrial:
    """Store a canary, find it, delete it for good. No other memory is touched.

    It belongs to no session, because a session's name would stay in the index.
    """
    trial = MemoryTrial()
    environment = {**env, "CLAUDE_PROJECT_DIR": str(project), **server.env}
    environment.pop("CLAUDE_CODE_SESSION_ID", None)
    argv = _argv(server)
    if shutil.which(argv[0], path=environment.get("PATH", "")) is None:
        text = f"memory tools: {argv[0]} of {server.source} is not on PATH, so Claude Code can't start it"
        cure = (
            "add its folder to the PATH of the shell that starts `claude`; `context-graph-cli setup --link` "
            "links it into ~/.local/bin, and says if that is not on PATH"
        )
        trial.findings.append(Finding(ERROR, text, cure))
        return trial
    try:
        began = time.perf_counter()
        with McpClient(argv, project, environment) as client:
            client.begin()
            trial.steps_ms["connect"] = (time.perf_counter() - began) * 1000
            trial.tools = len(_timed(trial, "list", lambda: client.ask("tools/list", {})).get("tools", ()))
            _sweep(client)
            _through(client, trial)
    except McpFailedError as error:
        done = ", ".join(trial.steps_ms) or "nothing"
        cure = "`context-graph-cli owner status`, and log/owner.log in the data root, may say why"
        trial.findings.append(Finding(ERROR, f"memory tools: {error} (steps done before: {done})", cure))
    return trial


def _argv(server: Server) -> list[str]:
    """Return ``server``'s command; ours is found beside this program where the search path has none."""
    argv = list(server.argv)
    if not server.source and not any(
        os.access(os.path.join(folder, argv[0]), os.X_OK) for folder in os.get_exec_path()
    ):
        argv[0] = str(find_launcher())
    return argv


def _through(client: McpClient, trial: MemoryTrial) -> None:
    words = " ".join(secrets.choice(_WORDS) for _ in range(4))
    text = f"A canary of the doctor command, to be deleted at once: {words} {secrets.randbelow(10**6)}"
    stored = _timed(
        trial,
        "store",
        lambda: client.call(
            "store_memory",
            {
                "content": text,
                "rationale": "Shows that memories can be stored and found; deleted at once.",
                "importance": 0.1,
                "tags": [TAG],
            },
        ),
    )
    node_id = stored.get("node_id")
    try:
        ids = _timed(trial, "recall", lambda: _found(client, text, {"tags": [TAG]}))
        if node_id not in ids:
            cure = "`context-graph-cli memory stats`"
            trial.findings.append(Finding(ERROR, "a memory that was just stored can't be found", cure))
    finally:
        _timed(trial, "forget", lambda: _forget(client, node_id))
    if node_id in _found(client, text, {"tags": [TAG]}):
        trial.findings.append(Finding(ERROR, f"the canary {node_id} is still found after its deletion"))


def _sweep(client: McpClient) -> None:
    """Delete canaries of a doctor that was ended before it did so itself."""
    before = (datetime.now(UTC) - _LEFT).isoformat()
    for node_id in _found(client, "canary of the doctor", {"tags": [TAG], "created_before": before}):
        _forget(client, node_id)


def _found(client: McpClient, query: str, filters: Mapping[str, Any]) -> list[Any]:
    answer = client.call("recall_memory", {"query": query, "top_k": 10, "filters": dict(filters)})
    return [row.get("node_id") or row.get("id") for row in answer.get("nodes", ()) if isinstance(row, dict)]


def _forget(client: McpClient, node: object) -> dict[str, Any]:
    return client.call("forget_memory", {"node_id": node, "soft_delete": False, "reason": "user_requested"})


def _timed(trial: MemoryTrial, step: str, work: Callable[[], _T]) -> _T:
    began = time.perf_counter()
    done = work()
    trial.steps_ms[step] = (time.perf_counter() - began) * 1000
    return done


_VERSION: Final = "2025-11-25"
_LEAVE_S: Final = 2.0
_MAX_BYTES: Final = 16 * 1024 * 1024


class McpFailedError(Exception):
    """The server did not do what was asked; the text says why."""


class McpClient:
    """One server process. Not thread-safe.

    Args:
        timeout_s: For each answer.

    Raises:
        McpFailedError: It can't be started.
    """

    def __init__(
        self, argv: Sequence[str], folder: Path, env: Mapping[str, str], timeout_s: float = 10.0
    ) -> None:
        self._timeout_s = timeout_s
        self._rest = b""
        self._number = 0
        try:
            self._server = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            missing = isinstance(error, FileNotFoundError) and "/" not in argv[0]
            why = "it is not on PATH" if missing else error.strerror
            raise McpFailedError(f"{argv[0]} can't be started: {why}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server.stdin is not None and self._server.stdout is not None
        with contextlib.suppress(OSError):
            self._server.stdin.close()
        try:
            self._server.wait(timeout=_LEAVE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()
        self._server.stdout.close()

    def begin(self) -> dict[str, Any]:
        """Send `initialize` and what goes with it; returns its result."""
        info = {"name": "context-graph-doctor", "version": __version__}
        result = self.ask("initialize", {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": info})
        self._send({"method": "notifications/initialized"})
        return result

    def call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool; its answer as an object.

        Raises:
            McpFailedError: It refused, failed, or gave another kind of answer.
        """
        result = self.ask("tools/call", {"name": tool, "arguments": dict(arguments)})
        if result.get("isError"):
            raise McpFailedError(f"{tool}: {_text_of(result)}")
        content = result.get("structuredContent")
        if not isinstance(content, dict):
            raise McpFailedError(f"{tool} gave no object")
        return content

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send one request and return its result.

        Raises:
            McpFailedError: An error came back, or nothing in time.
        """
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        end = time.monotonic() + self._timeout_s
        while True:
            message = self._message(method, end)
            if message.get("id") != self._number:
                continue  # a notification
            if "error" in message:
                error = message["error"]
                text = error.get("message") if isinstance(error, dict) else error
                raise McpFailedError(f"{method}: {text}")
            result = message.get("result")
            return result if isinstance(result, dict) else {}

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._server.stdin is not None
        try:
            self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._server.stdin.flush()
        except OSError as error:
            raise McpFailedError(f"the server closed its end ({self._server.poll()})") from error

    def _message(self, method: str, end: float) -> dict[str, Any]:
        line = self._line(method, end)
        try:
            message = json.loads(line)
        except ValueError:
            return {}  # a banner; clients put up with one
        return message if isinstance(message, dict) else {}

    def _line(self, method: str, end: float) -> bytes:
        assert self._server.stdout is not None
        handle = self._server.stdout.fileno()
        while b"\n" not in self._rest:
            ready, _, _ = select.select([handle], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise McpFailedError(f"{method}: no answer within {self._timeout_s:g} s")
            part = os.read(handle, 1 << 16)
            if not part or len(self._rest) > _MAX_BYTES:
                raise McpFailedError(f"{method}: the server ended without an answer")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _text_of(result: Mapping[str, Any]) -> str:
    parts = result.get("content")
    texts = (
        [part.get("text", "") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    )
    return " ".join(texts)[:300] or "it failed"
