"""`context-graph-cli mcp`: the real bridge process in front of real owners that come and go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import stopped
from tests.support.owner.harness import WAIT_S, OwnerHarness, wait_until

LAUNCHER = Path(sysconfig.get_path("scripts")) / "context-graph-cli"
LINE_MAX = 2 * 1024 * 1024


class Bridge:
    """The bridge as a client runs it."""

    def __init__(self, env: dict[str, str], cwd: Path, *args: str) -> None:
        self.process = subprocess.Popen(
            [LAUNCHER, "mcp", *args],
            env=env,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr

    def send(self, *messages: dict[str, Any]) -> None:
        self.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self.stdin.flush()

    def read(self) -> Any:
        line = self.stdout.readline()
        assert line.endswith(b"\n"), f"the bridge ended: {line!r} {self.stderr.read().decode()}"
        return json.loads(line)

    def open(self, version: str = "2025-11-25") -> None:
        self.send(ask(0, "initialize", protocolVersion=version, capabilities={}, clientInfo={}))
        assert self.read()["result"]["protocolVersion"] == version
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert self.read()["method"] == "notifications/message"

    def call(self, name: str, number: int = 7, **arguments: Any) -> Any:
        self.send(ask(number, "tools/call", name=name, arguments=arguments))
        return self.read()

    def end(self, within_s: float = WAIT_S) -> int:
        self.stdin.close()
        code = self.process.wait(within_s)
        self.close()
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(WAIT_S)
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()


def ask(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@pytest.fixture
def bridge(owner: OwnerHarness, tmp_path: Path) -> Iterator[Bridge]:
    made = Bridge(dict(os.environ), tmp_path)
    yield made
    made.close()


def test_it_starts_an_owner_and_carries_the_conversation(owner: OwnerHarness, bridge: Bridge) -> None:
    """D2.6: `mcp` is native and starts the owner; its store is that of the client's folder."""
    bridge.open()
    said = bridge.call("echo", say="hé")["result"]["structuredContent"]
    assert said["said"] == "hé"
    assert said["store"].startswith(str(owner.root / "stores"))
    assert owner.pid()
    assert bridge.end() == 0


def test_an_owner_that_is_killed_mid_request_is_replaced_and_the_request_done_once(
    owner: OwnerHarness, bridge: Bridge
) -> None:
    """ADR 0012: the bridge sends what was in flight to the next owner, which knows it again."""
    bridge.open()
    first = owner.pid()
    assert bridge.call("count", die="once")["result"]["structuredContent"]["made"] == 1
    assert owner.pid() != first
    assert (owner.root / "died").exists()
    assert bridge.call("echo", say="on")["result"]["structuredContent"]["said"] == "on"


def test_a_request_that_two_owners_do_not_survive_is_answered_with_an_error(
    owner: OwnerHarness, bridge: Bridge
) -> None:
    bridge.open()
    answer = bridge.call("count", die="always")
    assert (answer["id"], answer["error"]["code"]) == (7, -32603)
    assert "may have been done" in answer["error"]["data"]["detail"]
    assert bridge.call("echo", say="on")["result"]["structuredContent"]["said"] == "on"


def test_many_requests_in_flight_all_get_their_answers_when_the_owner_dies(
    owner: OwnerHarness, bridge: Bridge
) -> None:
    bridge.open()
    bridge.send(
        *(ask(n, "tools/call", name="count", arguments={"die": "once", "n": n}) for n in range(1, 30))
    )
    answers = [bridge.read() for _ in range(29)]
    assert sorted(answer["id"] for answer in answers) == list(range(1, 30))
    assert all("result" in answer for answer in answers)
    assert len(list((owner.root / "made").iterdir())) == 29


def test_an_owner_that_leaves_is_not_missed(owner: OwnerHarness, bridge: Bridge) -> None:
    """Invariant 3: an owner drains and yields; the bridge finds the next one at the next message."""
    bridge.open()
    first = owner.pid()
    owner.ask("owner.stop")
    wait_until(lambda: not owner.held(), "the first owner to be gone")
    assert bridge.call("echo", say=1)["result"]["structuredContent"]["said"] == 1
    assert owner.pid() not in (0, first)


def test_a_client_that_waits_for_the_owner_to_start_loses_nothing(
    owner: OwnerHarness, tmp_path: Path
) -> None:
    """All is sent at once, and the end of file with it, before an owner exists."""
    lines = [
        ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={}),
        *(ask(n, "tools/call", name="echo", arguments={"say": n}) for n in range(1, 50)),
    ]
    text = b"\n".join(json.dumps(line).encode() for line in lines)  # the last one has no newline
    done = subprocess.run([LAUNCHER, "mcp"], input=text, cwd=tmp_path, capture_output=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == list(range(50))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(owner: OwnerHarness, bridge: Bridge, number: signal.Signals) -> None:
    """The client ends servers by SIGINT, then SIGTERM, then SIGKILL (contract section 7)."""
    bridge.open()
    bridge.process.send_signal(number)
    assert bridge.process.wait(WAIT_S) == 0
    assert bridge.stderr.read() == b""


def test_the_last_answer_is_delivered_after_the_client_closed_its_end(
    owner: OwnerHarness, bridge: Bridge
) -> None:
    bridge.open()
    bridge.send(ask(1, "tools/call", name="sleep", arguments={"ms": 200}))
    bridge.stdin.close()
    assert bridge.read()["id"] == 1
    assert bridge.stdout.read() == b""
    assert bridge.process.wait(WAIT_S) == 0


def test_an_owner_that_is_stopped_costs_the_call_an_error_and_its_late_answer_is_not_passed_on(
    owner: OwnerHarness, bridge: Bridge
) -> None:
    """Some 20 s; without an end the client would wait for ever, and its session with it."""
    bridge.open()
    pid = owner.pid()
    with stopped(pid):
        answer = bridge.call("echo", say="hello")
    assert (answer["id"], answer["error"]["code"]) == (7, -32002)
    assert "does not answer" in answer["error"]["message"]
    assert bridge.call("echo", 8, say="on")["id"] == 8
    assert owner.pid() == pid


@pytest.mark.thorough
def test_a_bridge_whose_client_has_gone_does_not_wait_for_a_stopped_owner(
    owner: OwnerHarness, bridge: Bridge
) -> None:
    """A client that is killed closes its end; what it asked was handed on."""
    bridge.open()
    pid = owner.pid()
    with stopped(pid):
        bridge.send(ask(7, "tools/call", name="echo", arguments={"say": "hello"}))
        assert bridge.end(60) == 0


def test_without_any_owner_each_request_gets_an_error_that_says_why(tmp_path: Path) -> None:
    env = {**os.environ, "CONTEXT_GRAPH_PYTHON": "/nowhere/python"}
    bridge = Bridge(env, tmp_path)
    try:
        for number in (1, 2):
            bridge.send(ask(number, "ping"))
            answer = bridge.read()
            assert (answer["id"], answer["error"]["code"]) == (number, -32002)
            message = "Storage error: ping failed - no owner can be reached: "
            assert answer["error"]["message"].startswith(message + "context-graph-owner was not found")
            assert "/nowhere/python" in answer["error"]["data"]["detail"]
        assert bridge.end() == 0
    finally:
        bridge.close()


def test_a_message_beyond_the_limit_is_refused_by_its_id_and_the_rest_goes_on(
    owner: OwnerHarness, bridge: Bridge
) -> None:
    """Invariant 9: one message has at most 2 MiB."""
    bridge.open()
    answer = bridge.call("echo", number=5, say="x" * LINE_MAX)
    assert (answer["id"], answer["error"]["code"]) == (5, -32600)
    assert bridge.call("echo", say="short")["result"]["structuredContent"]["said"] == "short"


def test_large_answers_to_a_slow_reader_arrive_whole_and_in_order(
    owner: OwnerHarness, bridge: Bridge
) -> None:
    bridge.open()
    bridge.send(*(ask(n, "tools/call", name="large", arguments={"bytes": 3_000_000}) for n in range(1, 6)))
    for number in range(1, 6):
        answer = bridge.read()
        assert answer["id"] == number
        assert len(answer["result"]["content"][0]["text"]) == 3_000_000


def test_garbage_reaches_the_owner_which_says_what_is_wrong(owner: OwnerHarness, bridge: Bridge) -> None:
    bridge.open()
    bridge.stdin.write(b'\n \nno json\n{"jsonrpc":"1.0","id":3,"method":"ping"}\n')
    bridge.stdin.flush()
    assert bridge.read()["error"]["code"] == -32700
    assert (bridge.read()["id"]) == 3


def test_a_batch_is_carried_and_survives_its_owner(owner: OwnerHarness, bridge: Bridge) -> None:
    bridge.open("2025-03-26")
    batch = [ask(1, "ping"), ask(2, "tools/call", name="count", arguments={"die": "once"})]
    bridge.stdin.write(json.dumps(batch).encode() + b"\n")
    bridge.stdin.flush()
    assert [answer["id"] for answer in bridge.read()] == [1, 2]


def test_a_wrong_option_is_a_usage_error(tmp_path: Path) -> None:
    done = subprocess.run([LAUNCHER, "mcp", "--bogus"], cwd=tmp_path, capture_output=True, timeout=10)
    assert done.returncode == 1
    assert b"unknown argument '--bogus'" in done.stderr
