"""Whatever comes over the owner's socket: frames, lines of JSON-RPC, tools with any arguments.

It answers or hangs up, meets no bug, and goes on serving. CONTEXT_GRAPH_FUZZ_EXAMPLES sets how many inputs.
"""

from __future__ import annotations

import json
import os
import socket
import sysconfig
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.faults.world import owner_pid
from tests.support.cli import Cli

from context_graph.config import data_root, socket_path, store_dir
from context_graph.errors import WireError
from context_graph.operations.mcp import rpc
from context_graph.wire.client.connection import connect, exchange
from context_graph.wire.frames import HEADER_BYTES, Request, decode_request, encode_request

EXAMPLES = int(os.environ.get("CONTEXT_GRAPH_FUZZ_EXAMPLES", "40"))
WAIT_S = 240.0
"""A consolidation among the calls takes idle time only."""
VERBS = (
    *("owner.ping", "owner.status", "hooks.pre-tool", "hooks.post-tool", "hooks.stop", "hooks.prompt-submit"),
    *("session.show", "session.list", "session.export", "memory.store", "memory.recall", "memory.list"),
    *(
        "memory.show",
        "memory.stats",
        "memory.history",
        "memory.undo",
        "memory.runs",
        "memory.goals",
        "memory.link",
    ),
    *("memory.forget", "consciousness.brief", "req.status", "no.such", "", "hooks.", "memory.import"),
)
words = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", "\0", "../x", "-1", "1e999", "latest", "x" * 3000, "2026-01-01", "\ud800"]),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    *("session-id", "limit", "id", "text", "rationale", "format", "json", "query", "top-k", "tags", "cursor"),
    *("importance", "mode", "as-of", "since", "token", "reason", "stdin", "source", "dry-run"),
)
many = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """One owner for all inputs."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "p" / ".git").mkdir(parents=True)
    env = {
        **{name: os.environ[name] for name in ("PATH",)},
        "HOME": str(folder),
        "CONTEXT_GRAPH_HOME": str(folder / "cg"),
        "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
        "CONTEXT_GRAPH_DREAM": "false",
    }
    made = Cli(Path(sysconfig.get_path("scripts")) / "context-graph-cli", folder / "p", env)
    assert made.run("owner", "start", timeout=60).returncode == 0
    yield made
    made.run("owner", "stop")


def _still_serves(cli: Cli) -> None:
    """The owner of before answers, and has met no bug."""
    root = data_root(cli.env)
    connection = connect(root, time.monotonic() + WAIT_S)
    assert connection is not None, "the owner is gone"
    with connection:
        reply = exchange(connection, encode_request(Request(verb="owner.ping")), time.monotonic() + WAIT_S)
    assert json.loads(reply.stdout)["pid"] == owner_pid(root)
    log = (root / "log" / "owner.log").read_text(errors="replace")
    assert "Traceback" not in log, log[log.index("Traceback") - 300 :][:3000]


def _send(cli: Cli, data: bytes) -> bytes:
    """What comes back until the owner has no more to say."""
    back = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(WAIT_S)
        client.connect(str(socket_path(data_root(cli.env))))
        with suppress(ConnectionError):
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            while part := client.recv(1 << 16):
                back += part
    return back


def _stays(frame: bytes, cli: Cli) -> bool:
    """Whether the store that ``frame`` names, if it can be read, is below this test's folder."""
    try:
        store = decode_request(frame[HEADER_BYTES:]).store
    except WireError:
        return True
    return store is None or store.is_relative_to(data_root(cli.env))


@pytest.mark.timeout(0)
@many
@given(
    verb=st.sampled_from(VERBS) | st.text(max_size=12),
    params=st.dictionaries(st.sampled_from(NAMES), values, max_size=5),
    body=st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode("utf-8", "replace")),
    damage=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=3),
)
def test_frames(
    cli: Cli, verb: str, params: dict[str, Any], body: bytes, damage: list[tuple[int, int]]
) -> None:
    """Well-formed frames of any content, and some with wrong bytes."""
    store = store_dir(data_root(cli.env), cli.project)
    if verb == "owner.stop":
        return
    try:
        frame = bytearray(
            encode_request(Request(verb=verb, params=params, body=body, store=store, project=cli.project))
        )
    except (WireError, ValueError):
        return  # what no client of ours could send
    for at, value in damage:
        frame[at % len(frame)] = value
    if not _stays(bytes(frame), cli):
        return  # the launcher's check, and made by a test it would be a store among the user's own folders
    back = _send(cli, bytes(frame))
    assert b"the owner failed to serve this" not in back, (verb, params, body)
    _still_serves(cli)


@pytest.mark.timeout(0)
@many
@given(data=st.binary(max_size=200) | st.binary(max_size=60).map(lambda rest: b"CGQ1" + rest))
def test_bytes(cli: Cli, data: bytes) -> None:
    """No frame at all."""
    _send(cli, data)
    _still_serves(cli)


class Mcp:
    """A plain JSON-RPC client of the store of this process's folder."""

    def __init__(self, cli: Cli) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_S)
        self.socket.connect(str(socket_path(data_root(cli.env))))
        self.source = self.socket.makefile("rb")
        self.number = 0

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        self.number += 1
        asked = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.socket.sendall(json.dumps(asked).encode("utf-8", "replace") + b"\n")
        while True:
            line = self.source.readline()
            assert line, "the owner hung up"
            said = json.loads(line)
            if said.get("id") in (self.number, None) and "method" not in said:
                found: dict[str, Any] = said
                return found


@pytest.fixture(scope="module")
def mcp(cli: Cli) -> Iterator[Mcp]:
    folder = os.getcwd()
    os.chdir(cli.project)  # the owner asks which folder a plain client runs in
    try:
        client = Mcp(cli)
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        assert "result" in client.ask("initialize", about)
        yield client
        client.source.close()
        client.socket.close()
    finally:
        os.chdir(folder)


@pytest.mark.timeout(0)
@many
@given(data=st.data())
def test_tools_with_any_arguments(cli: Cli, mcp: Mcp, data: Any) -> None:
    """A result or an error of the protocol that says what is wrong; never an internal one."""
    listed = mcp.ask("tools/list", {})["result"]["tools"]
    tool = data.draw(st.sampled_from(listed))
    properties = tool["inputSchema"].get("properties", {})
    arguments = data.draw(_arguments(properties) | values)
    said = mcp.ask("tools/call", {"name": tool["name"], "arguments": arguments})
    error = said.get("error", {})
    assert error.get("code") != rpc.INTERNAL_ERROR, (tool["name"], arguments, error)
    _still_serves(cli)


def _arguments(properties: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Some of a tool's own arguments, right or wrong, and one it does not know."""
    near = {"string": words, "integer": st.integers(), "number": st.floats(), "boolean": st.booleans()}
    given_ = {
        name: st.one_of(
            near.get(str(one.get("type")), values), values, st.sampled_from(one.get("enum", [""]))
        )
        for name, one in properties.items()
    }
    return st.fixed_dictionaries({}, optional={**given_, "unknown": values})


@pytest.mark.timeout(0)
@many
@given(method=st.sampled_from(["tools/list", "ping", "resources/list", "initialize"]) | words, params=values)
def test_methods_with_any_parameters(cli: Cli, mcp: Mcp, method: str, params: Any) -> None:
    """Any method, any parameters."""
    said = mcp.ask(method, params)
    assert said.get("error", {}).get("code") != rpc.INTERNAL_ERROR, (method, params, said)
    _still_serves(cli)
