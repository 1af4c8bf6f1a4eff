"""JSON-RPC on the owner's socket: attached bridges and plain clients, bounds, fairness, leaving."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.owner.harness import WAIT_S, OwnerHarness, wait_until

from context_graph.operations.mcp.rpc import parse
from context_graph.owner.socket import lines
from context_graph.owner.socket.lines import LINE_MAX
from context_graph.wire.frames import Request, decode_reply, encode_request

BRIDGE = "0123456789abcdef0123456789abcdef"


class Lines:
    """A client that speaks lines."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.source = connection.makefile("rb")

    def send(self, *messages: dict[str, Any] | list[Any]) -> None:
        self.connection.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def read(self) -> Any:
        line = self.source.readline()
        assert line.endswith(b"\n"), f"the connection ended: {line!r}"
        return json.loads(line)

    def ask(self, method: str, **params: Any) -> Any:
        self.send(message(7, method, **params))
        return self.read()

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", name=name, arguments=arguments)

    def close(self) -> None:
        self.source.close()
        self.connection.close()


def message(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def attach(owner: OwnerHarness, *, event_id: str = BRIDGE, version: str = "", behind: bytes = b"") -> Lines:
    """An attached connection; ``behind`` is sent in the same breath as the frame."""
    connection = owner.raw()
    request = Request(
        verb="mcp.attach", event_id=event_id, store=owner.root / "stores" / "s", version=version
    )
    connection.sendall(encode_request(request) + behind)
    header = connection.recv(8, socket.MSG_WAITALL)
    reply = decode_reply(connection.recv(int.from_bytes(header[4:], "little"), socket.MSG_WAITALL))
    assert reply.exit_code == 0, reply.stderr
    return Lines(connection)


def test_an_attached_connection_speaks_lines_of_mcp(owner: OwnerHarness) -> None:
    """ADR 0012: mcp.attach turns a frame connection into newline-delimited JSON-RPC."""
    owner.start()
    with closing(attach(owner)) as client:
        opened = client.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={})
        assert opened["result"]["protocolVersion"] == "2025-11-25"
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert client.read()["params"]["data"] == "something is not as it should be"
        result = client.call("echo", say="hé")["result"]
        assert result["structuredContent"]["said"] == "hé"
        assert "said" not in result


def test_what_comes_in_the_same_breath_as_the_frame_is_served(owner: OwnerHarness) -> None:
    owner.start()
    behind = json.dumps(message(1, "ping")).encode() + b"\n"
    with closing(attach(owner, behind=behind)) as client:
        assert client.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_messages_in_any_pieces_come_out_in_order(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        text = b"".join(json.dumps(message(n, "ping")).encode() + b"\r\n" for n in range(40))
        for at in range(0, len(text), 7):
            client.connection.sendall(text[at : at + 7])
        assert [client.read()["id"] for _ in range(40)] == list(range(40))


def test_a_cancelled_request_that_still_waits_is_not_served(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.send(
            message(1, "tools/call", name="sleep", arguments={"ms": 30}),
            message(2, "tools/call", name="count", arguments={}),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}},
            message(3, "ping"),
        )
        assert [client.read()["id"], client.read()["id"]] == [1, 3]
    assert not (owner.root / "made").exists()


def test_a_flood_of_cancellations_holds_up_nobody(owner: OwnerHarness) -> None:
    """Each was compared with every message that waits, parsed anew: the owner answered nobody meanwhile."""
    owner.start()
    large = message(1, "tools/call", name="count", arguments={"a": [{}] * 400_000})
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
    with closing(attach(owner)) as client:
        client.send(message(0, "tools/call", name="sleep", arguments={"ms": 300}), large, *[cancel] * 700)
        client.send(message(2, "ping"))
        assert [client.read()["id"] for _ in range(3)] == [0, 1, 2]


def test_a_message_that_waits_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    monkeypatch.setattr(lines, "parse", lambda line: parsed.append(line) or parse(line))
    waiting = lines._Waiting(json.dumps(message(5, "tools/call")).encode())
    assert [waiting.is_request(wanted) for wanted in (4, 5, "5", None)] == [False, True, False, False]
    assert len(parsed) == 1
    assert not lines._Waiting(json.dumps(message(5, "initialize")).encode()).is_request(5)
    assert not lines._Waiting(b"not JSON").is_request(None)


def test_the_same_request_of_the_same_bridge_makes_the_same_thing(owner: OwnerHarness) -> None:
    """ADR 0012: what a request makes has an id that follows from the bridge and the request's bytes."""
    owner.start()
    for expected, event_id in ((1, BRIDGE), (1, BRIDGE), (2, "f" * 32)):
        with closing(attach(owner, event_id=event_id)) as client:
            assert client.call("count")["result"]["structuredContent"]["made"] == expected


def test_a_hook_waits_for_one_message_not_for_a_backlog(owner: OwnerHarness) -> None:
    """Invariant 9: the loop serves other clients between two messages of one connection."""
    owner.start()
    with closing(attach(owner)) as client:
        client.send(*(message(n, "tools/call", name="sleep", arguments={"ms": 50}) for n in range(40)))
        wait_until(lambda: (owner.root / "asleep").exists(), "the first message to be served")
        assert owner.ask("echo", b"hook").stdout == b"hook"
        assert _arrived(client).count(b"\n") < 30


def test_a_batch_gives_the_loop_back_too(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={})
        batch = [message(n, "tools/call", name="sleep", arguments={"ms": 50}) for n in range(20)]
        client.send(batch)
        wait_until(lambda: (owner.root / "asleep").exists(), "the first message to be served")
        assert owner.ask("echo", b"hook").stdout == b"hook"
        assert not _arrived(client)
        assert [answer["id"] for answer in client.read()] == list(range(20))


def test_a_message_beyond_the_limit_ends_the_connection_with_a_reason(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (LINE_MAX + 1000))
        answer = client.read()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)
        assert client.source.readline() == b""


def test_large_answers_reach_a_slow_reader_whole(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.send(
            *(message(n, "tools/call", name="large", arguments={"bytes": 2_000_000}) for n in range(3))
        )
        assert owner.ask("echo", b"meanwhile").stdout == b"meanwhile"
        for number in range(3):
            answer = client.read()
            assert answer["id"] == number
            assert len(answer["result"]["content"][0]["text"]) == 2_000_000


def test_an_attached_client_keeps_an_idle_owner(owner: OwnerHarness) -> None:
    process = owner.start(idle_s=0.2)
    client = attach(owner)
    client.ask("ping")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.6)
    client.close()
    assert owner.ended(process) == 0


def test_a_leaving_owner_serves_what_it_has_read_then_closes(owner: OwnerHarness) -> None:
    process = owner.start()
    with closing(attach(owner)) as client:
        client.send(message(1, "tools/call", name="sleep", arguments={"ms": 100}), message(2, "ping"))
        wait_until(lambda: (owner.root / "asleep").exists(), "the first message to be served")
        owner.ask("owner.stop")
        assert client.read()["id"] == 1
        rest = client.source.read()
        assert rest in (b"", b'{"jsonrpc":"2.0","id":2,"result":{}}\n')
    assert owner.ended(process) == 0


def test_a_newer_bridge_makes_an_older_owner_yield(owner: OwnerHarness) -> None:
    process = owner.start()
    connection = owner.raw()
    connection.sendall(encode_request(Request(verb="mcp.attach", store=owner.root, version="99.0")))
    assert connection.recv(4096)[9] == 4  # flags: yielding
    connection.close()
    assert owner.ended(process) == 0


def test_a_bug_in_a_tool_is_an_error_answer_and_nothing_else(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        error = client.call("boom")["error"]
        assert error["code"] == -32603
        assert "ZeroDivisionError" in error["message"] and "owner.log" in error["message"], error
        assert client.call("echo", say=1)["result"]["structuredContent"]["said"] == 1


def test_beyond_max_clients_an_idle_bridge_makes_room(owner: OwnerHarness) -> None:
    owner.start(max_clients=2)
    with closing(attach(owner)) as first, closing(attach(owner)) as second:
        first.ask("ping")
        second.ask("ping")
        assert owner.ask("echo", b"in").stdout == b"in"
        assert first.source.readline() == b""
        assert second.ask("ping")["result"] == {}


def test_a_plain_client_is_answered_for_its_folder_and_then_closed(
    owner: OwnerHarness, tmp_path: Path
) -> None:
    """Seed 002: one request over the socket, without initialize, is answered and the connection ended; the
    answer's fields stand in `result` itself."""
    owner.start()
    script = 'printf \'%s\' "$1" | exec python3 -c "$2" "$3"'
    talk = (
        "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
        "s.sendall(sys.stdin.buffer.read())\n"
        "while d:=s.recv(65536): sys.stdout.buffer.write(d)"
    )
    spread = json.dumps(
        message("a{", "tools/call", name="mcp__context-graph__echo", arguments={"say": '}"\\'}), indent=2
    )
    done = subprocess.run(
        ["sh", "-c", script, "sh", spread + "\n", talk, str(owner.socket)],
        cwd=tmp_path,
        capture_output=True,
        timeout=WAIT_S,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["id"] == "a{"
    assert answer["result"]["said"] == '}"\\'
    assert answer["result"]["store"] == os.path.realpath(tmp_path)
    assert answer["result"]["structuredContent"]["said"] == '}"\\'


def test_plain_clients_may_send_several_and_garbage_gets_a_parse_error(owner: OwnerHarness) -> None:
    owner.start()
    with closing(Lines(owner.raw())) as client:
        client.send(message(1, "ping"), message(2, "nothing/like/it"))
        client.connection.sendall(b"no json\n[]\n")
        assert client.read()["result"] == {}
        assert client.read()["error"]["code"] == -32601
        assert client.read()["error"]["code"] == -32700
        assert client.read()["error"]["code"] == -32600
        assert client.source.readline() == b""


def test_a_plain_client_that_initializes_stays_connected(owner: OwnerHarness) -> None:
    owner.start()
    with closing(Lines(owner.raw())) as client:
        client.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
        time.sleep(0.5)
        assert client.ask("ping")["result"] == {}


def _arrived(client: Lines) -> bytes:
    """What can be read now; it stays there."""
    ready, _, _ = select.select([client.connection], [], [], 0)
    return client.connection.recv(1 << 20, socket.MSG_PEEK) if ready else b""
