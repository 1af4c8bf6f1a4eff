"""HTTP on the owner's socket: the same requests as frames; nothing that comes in so holds the owner up."""

from __future__ import annotations

import json
import random
import socket
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Cli
from tests.support.sessions import memory

from context_graph.owner.socket.http import BODY_MAX

FACT = "Staging listens on port 8443"
SESSION = "5f1d7e94-9f40-4a76-8f4e-0c8a6d6a2b11"


class _Connection(HTTPConnection):
    """HTTP over the owner's Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = _connected(self._path)


def _connected(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(10)
    made.connect(str(path))
    return made


def _socket(cli: Cli) -> Path:
    assert cli.run("owner", "start").returncode == 0
    return Path(json.loads(cli.run("owner", "status", "--json").stdout)["socket"])


def post(cli: Cli, verb: str, given: object, method: str = "POST") -> tuple[int, Any]:
    """Status and JSON answer of one request."""
    connection = _Connection(_socket(cli))
    body = given if isinstance(given, bytes) else json.dumps(given).encode()
    connection.request(method, f"/v1/{verb}", body=body, headers={"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text else None


def raw(cli: Cli, data: bytes) -> bytes:
    """What the owner says to ``data``, until it closes."""
    connection, said = _connected(_socket(cli)), b""
    connection.sendall(data)
    while part := connection.recv(1 << 16):
        said += part
    connection.close()
    return said


def hook(cli: Cli, verb: str, event: str, **fields: str) -> str:
    body = {"session_id": SESSION, "cwd": str(cli.project), "hook_event_name": event, **fields}
    return cli.run("hooks", verb, "--format", "claude", stdin=json.dumps(body)).stdout


def told_once(cli: Cli) -> None:
    """A store with one memory that a prompt was told."""
    hook(cli, "session-start", "SessionStart", source="startup")
    assert cli.run("memory", "store", FACT, "--rationale", "a rule that a person told").returncode == 0
    assert FACT in hook(cli, "prompt-submit", "UserPromptSubmit", prompt="which port does staging listen on?")


def test_the_pane_says_how_it_is_and_what_was_told_and_its_actions_act(cli: Cli) -> None:
    told_once(cli)
    project = {"project": str(cli.project)}
    status, pane = post(cli, "view.pane", project)
    assert status == 200
    (row,) = pane["shown"]
    assert row["text"] == FACT and row["cause"] == "prompt" and row["relevance"] > 0.5
    assert pane["shown_lines"][0][0] == FACT
    assert (
        pane["health"]["sentence"].startswith("Working: last event ")
        and "1 memory, 1 shown" in pane["health"]["sentence"]
    )
    assert pane["lines"] == [pane["health"]["sentence"]]
    assert "Claude was told 1 memory in " in pane["effect_line"] and "0 of them left" in pane["effect_line"]
    status, _ = post(cli, "memory.forget", {**project, "body": {"id": row["memory_id"]}})
    assert status == 200 and memory(cli, "list")["nodes"] == []
    assert post(cli, "view.pane", project)[1]["shown"] == [], "nothing to forget or correct"
    status, _ = post(cli, "memory.restore", {**project, "body": {"id": row["memory_id"]}})
    assert status == 200 and [one["content"] for one in memory(cli, "list")["nodes"]] == [FACT]
    corrected = {
        "content": f"{FACT}, since May",
        "rationale": "corrected in the pane",
        "supersedes": [row["memory_id"]],
    }
    assert post(cli, "memory.store", {**project, "body": corrected})[0] == 200
    found = memory(cli, "recall", "which port does staging listen on")["nodes"]
    assert found[0]["content"] == corrected["content"]


def test_a_compaction_is_asked_to_keep_what_the_session_is_about(cli: Cli) -> None:
    hook(cli, "session-start", "SessionStart", source="startup")
    hook(cli, "prompt-submit", "UserPromptSubmit", prompt="Round the VAT of each invoice line")
    given = {"project": str(cli.project), "session_id": SESSION}
    told = post(cli, "view.compaction", given)[1]["instructions"]
    assert "Round the VAT of each invoice line" in told and "requirements" not in told
    assert post(cli, "view.compaction", {"project": str(cli.project)})[1] == {}


def test_an_event_by_http_is_the_event_that_a_hook_sends(cli: Cli) -> None:
    (cli.project / ".claude").mkdir(exist_ok=True)
    (cli.project / ".claude/context-graph.toml").write_text('identity_lines = "changes"\n')
    given = {"project": str(cli.project), "params": {"format": "claude"}, "session_id": SESSION}
    body = {
        "session_id": SESSION,
        "cwd": str(cli.project),
        "hook_event_name": "SessionStart",
        "source": "startup",
    }
    status, said = post(cli, "hooks.session-start", {**given, "body": body})
    assert status == 200 and said["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    shown = json.loads(cli.run("session", "show", "--session-id", SESSION, "--json").stdout)
    assert shown["events_by_kind"] == {"session-start": 1}


@pytest.mark.parametrize(
    ("verb", "given", "status", "text"),
    [
        ("owner.nothing", {}, 400, "unknown verb"),
        ("no-such-verb", {}, 400, "unknown verb"),
        ("view.pane", {}, 400, "store"),
        ("view.pane", {"project": "relative"}, 400, "absolute path"),
        ("view.pane", {"project": 3}, 400, "Expected `str | null`, got `int` - at `$.project`"),
        ("view.pane", {"projekt": "/"}, 400, "unknown field `projekt`"),
        ("view.pane", {"params": []}, 400, "Expected `object`, got `array` - at `$.params`"),
        ("view.pane", [], 400, "Expected `object`, got `array`"),
        ("view.pane", b"{", 400, "not JSON"),
        ("mcp.attach", {"project": "/tmp"}, 400, "mcp.attach is not served over HTTP"),
    ],
)
def test_what_is_wrong_is_said(cli: Cli, verb: str, given: object, status: int, text: str) -> None:
    answered, said = post(cli, verb, given)
    assert (answered, text in said["error"]) == (status, True), said


def test_other_methods_paths_and_lengths_are_refused(cli: Cli) -> None:
    assert post(cli, "owner.ping", b"", "PUT")[0] == 405
    assert raw(cli, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").startswith(b"HTTP/1.1 404")
    long = b"POST /v1/owner.ping HTTP/1.1\r\nhost: x\r\nx-a: " + b"a" * 20_000
    assert raw(cli, long).startswith(b"HTTP/1.1 431")
    too_much = f"POST /v1/owner.ping HTTP/1.1\r\nhost: x\r\ncontent-length: {BODY_MAX + 1}\r\n\r\n".encode()
    assert raw(cli, too_much).startswith(b"HTTP/1.1 413")
    twice = b"POST /v1/owner.ping HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n" * 2
    assert raw(cli, twice).count(b"HTTP/1.1 200") == 1, "one request a connection"


@pytest.mark.thorough
def test_whoever_is_slow_or_talks_rubbish_holds_nobody_up(cli: Cli) -> None:
    slow = _connected(_socket(cli))
    slow.sendall(b"POST /v1/owner.ping HTTP/1.1\r\nhost")
    order = random.Random(7)
    start = b"POST /v1/owner.ping HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"
    for _ in range(200):
        broken = bytearray(start)
        for _ in range(order.randrange(1, 6)):
            broken[order.randrange(4, len(broken))] = order.randrange(256)
        connection = (
            _connected(_socket(cli)) if order.random() < 0.1 else _connected(Path(slow.getpeername()))
        )
        connection.sendall(bytes(broken[: order.randrange(4, len(broken) + 1)]))
        connection.close()
    assert post(cli, "owner.ping", b"")[0] == 200
    began = time.monotonic()
    assert slow.recv(1) == b"" and time.monotonic() - began < 9, "its five seconds are over"
    slow.close()
    status = json.loads(cli.run("owner", "status", "--json").stdout)
    assert status["errors"] == 0 and status["clients"] <= 1
