"""MCP over HTTP, by a real client's bytes: who may speak, what is answered, what a session is."""

from __future__ import annotations

import http.client
import json
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.integration.owner_harness import WAIT_S, OwnerHarness, wait_until

from context_graph.config import store_dir
from context_graph.mcp_server.http_request import BODY_MAX


class Web:
    """One HTTP client of the owner's endpoint."""

    def __init__(self, owner: OwnerHarness, port: int) -> None:
        self.port = port
        self.token = (owner.root / "http-token").read_text().strip()
        self.session: str | None = None
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)

    def request(
        self, method: str, body: bytes | None = None, path: str = "/mcp", **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (lower case), body. A header given as None is left out."""
        sent: dict[str, str | None] = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-session-id": self.session,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        given = {name: value for name, value in sent.items() if value is not None}
        self.connection.request(method, path, body, given)
        answer = self.connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def ask(self, method: str, number: int = 1, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        status, headers, body = self.request("POST", json.dumps(message).encode())
        assert (status, headers["content-type"]) == (200, "application/json"), body
        return json.loads(body)

    def open(self, path: str = "/mcp") -> None:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        status, headers, body = self.request("POST", json.dumps(message).encode(), path)
        assert status == 200, body
        self.session = headers["mcp-session-id"]

    def close(self) -> None:
        self.connection.close()


PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.fixture
def web(owner: OwnerHarness, tmp_path: Path) -> Any:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    owner.start(http_port=port, http_project=tmp_path)
    owner.status()  # it answers, so it has opened the port too
    made = Web(owner, port)
    yield made
    made.close()


def test_a_session_is_opened_used_and_ended(web: Web, owner: OwnerHarness, tmp_path: Path) -> None:
    web.open()
    said = web.ask("tools/call", name="echo", arguments={"say": "hé"})["result"]["structuredContent"]
    assert said["said"] == "hé"
    assert said["store"] == str(store_dir(owner.root, tmp_path))
    status, _, body = web.request("POST", b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert (status, body) == (202, b"")
    assert web.request("DELETE", mcp_protocol_version="2025-11-25")[0] == 204
    assert web.request("POST", PING)[0] == 404
    assert web.request("DELETE")[0] == 404


def test_the_token_is_of_the_owners_eyes_only(web: Web, owner: OwnerHarness) -> None:
    """Invariant 4: loopback, token, Host and Origin."""
    assert stat.S_IMODE((owner.root / "http-token").stat().st_mode) == 0o600
    assert len(web.token) == 64
    with open("/proc/net/tcp") as table:
        listening = [line.split()[1] for line in table if line.split()[3] == "0A"]
    assert f"0100007F:{web.port:04X}" in listening
    assert f"00000000:{web.port:04X}" not in listening


@pytest.mark.parametrize(
    "given", [None, "Bearer", "Bearer x", "Basic TOKEN", "TOKEN", "Bearer TOKENx", "Bearer ü"]
)
def test_without_the_token_nothing_is_served(web: Web, given: str | None) -> None:
    header = None if given is None else given.replace("TOKEN", web.token)
    encoded = None if header is None else header.encode().decode("latin-1")
    status, headers, body = web.request("POST", PING, authorization=encoded)
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    assert web.token.encode() not in body


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example.com"}, 403),
        ({"host": "127.0.0.1.evil.example.com"}, 403),
        ({"host": "[::1"}, 403),
        ({"origin": "http://evil.example.com"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:5173"}, 200),
        ({"host": "localhost"}, 200),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": None}, 415),
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"accept": "text/html"}, 406),
        ({"accept": "application/json"}, 200),
        ({"accept": None}, 200),
        ({"mcp_protocol_version": "1999-01-01"}, 400),
        ({"mcp_protocol_version": "2025-03-26"}, 200),
        ({"mcp_session_id": "0" * 32}, 404),
        ({"mcp_session_id": None}, 400),
    ],
)
def test_each_header_is_held_to_the_specification(web: Web, headers: dict[str, Any], status: int) -> None:
    """DNS rebinding, content types, versions, sessions."""
    web.open()
    assert web.request("POST", PING, **headers)[0] == status


def test_other_methods_and_paths_are_told_what_there_is(web: Web) -> None:
    web.open()
    assert web.request("GET")[:1] == (405,)
    assert web.request("GET")[1]["allow"] == "POST, DELETE"
    assert web.request("PUT", PING)[0] == 405
    assert web.request("OPTIONS")[0] == 405
    assert web.request("POST", PING, path="/")[0] == 404


def test_bodies_are_bounded_and_must_be_messages(web: Web) -> None:
    """Invariant 9."""
    web.open()
    assert web.request("POST", b"x" * (BODY_MAX + 1))[0] == 413
    status, _, body = web.request("POST", b"no json")
    assert (status, json.loads(body)["error"]["code"]) == (400, -32700)
    # Chunks say no length in front.
    chunks = (b"x" * 65536 for _ in range(BODY_MAX // 65536 + 2))
    web.connection.request("POST", "/mcp", chunks, _headers(web), encode_chunked=True)
    assert web.connection.getresponse().status == 413


def test_notifications_before_an_answer_make_it_a_stream(web: Web) -> None:
    web.open()
    call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "tell", "arguments": {}}}
    status, headers, body = web.request("POST", json.dumps(call).encode())
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    events = [json.loads(part.split(b"data: ", 1)[1]) for part in body.strip().split(b"\n\n")]
    assert events[0]["params"]["data"] == "half way"
    assert events[-1]["id"] == 3
    status, headers, body = web.request("POST", json.dumps(call).encode(), accept="application/json")
    assert (headers["content-type"], json.loads(body)["id"]) == ("application/json", 3)


def test_a_project_is_named_by_the_url(web: Web, owner: OwnerHarness, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    web.open(f"/mcp?project={other}")
    said = web.ask("tools/call", name="echo", arguments={})["result"]["structuredContent"]
    assert said["store"] == str(store_dir(owner.root, other))
    hello = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
    for wrong in ("relative", f"{tmp_path}/none"):
        assert web.request("POST", hello, f"/mcp?project={wrong}")[0] == 400


def test_several_clients_and_hooks_are_served_side_by_side(web: Web, owner: OwnerHarness) -> None:
    web.open()
    done: list[int] = []

    def work(number: int) -> None:
        client = Web(owner, web.port)
        client.open()
        for n in range(20):
            said = client.ask("tools/call", n, name="echo", arguments={"say": number * 100 + n})
            done.append(said["result"]["structuredContent"]["said"])
        client.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    assert owner.ask("echo", b"hook").stdout == b"hook"
    for thread in threads:
        thread.join(WAIT_S)
    assert sorted(done) == sorted(number * 100 + n for number in range(8) for n in range(20))


def test_garbage_on_the_port_is_a_bad_request(web: Web) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=WAIT_S) as raw:
        raw.sendall(b"\x16\x03\x01 no http at all\r\n\r\n")
        assert raw.recv(4096).startswith(b"HTTP/1.1 400")


def test_a_port_that_is_taken_does_not_keep_the_owner_from_serving(owner: OwnerHarness) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        owner.start(http_port=taken.getsockname()[1])
        assert owner.ask("echo", b"on").stdout == b"on"
        assert "is not served" in owner.log()


def test_a_token_that_others_may_read_is_not_used(owner: OwnerHarness) -> None:
    owner.root.mkdir(mode=0o700)
    token = owner.root / "http-token"
    token.write_text("a" * 64)
    token.chmod(0o644)
    owner.start(http_port=_free_port())
    owner.status()
    assert "chmod 600" in owner.log()


def test_with_http_an_owner_stays_when_idle_and_leaves_when_told(web: Web, owner: OwnerHarness) -> None:
    web.open()
    (process,) = owner.processes
    owner.ask("owner.stop")
    assert owner.ended(process) == 0
    second = owner.start(http_port=_free_port(), idle_s=0.1)
    wait_until(lambda: "http: listening" in owner.log(), "the second owner to listen")
    assert second.poll() is None
    assert owner.ask("echo", b"still").stdout == b"still"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _headers(web: Web) -> dict[str, str]:
    assert web.session
    return {
        "authorization": f"Bearer {web.token}",
        "content-type": "application/json",
        "mcp-session-id": web.session,
        "transfer-encoding": "chunked",
    }
