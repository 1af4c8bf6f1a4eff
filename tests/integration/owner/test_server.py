"""The owner's socket: every kind of client is answered or shown out, and none holds up the others."""

from __future__ import annotations

import os
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

import pytest
from tests.support.owner.harness import WAIT_S, OwnerHarness, wait_until

from context_graph.errors import DeadlineExceededError
from context_graph.wire.client.connection import exchange
from context_graph.wire.client.request import request
from context_graph.wire.frames import (
    KEEP_IT,
    MAX_PAYLOAD_BYTES,
    FrameDecoder,
    Reply,
    Request,
    decode_reply,
    encode_reply,
    encode_request,
    reply_length,
)


def _read_replies(connection: socket.socket, count: int) -> list[Reply]:
    decoder, found = FrameDecoder(reply_length), []
    while len(found) < count:
        payload = decoder.take()
        if payload is not None:
            found.append(decode_reply(payload))
            continue
        data = connection.recv(1 << 16)
        assert data, "closed before all replies came"
        decoder.feed(data)
    return found


def _ended(connection: socket.socket) -> bool:
    """Whether the owner closes this connection (its 5 s for a frame, and some for a busy machine)."""
    connection.settimeout(WAIT_S + 5.0)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_request_gets_the_service_s_reply_byte_for_byte(owner: OwnerHarness) -> None:
    owner.start()
    body = bytes(range(256)) * 8
    assert owner.ask("echo", body) == Reply(0, 0, body, b"")


def test_the_socket_is_private_to_the_user(owner: OwnerHarness) -> None:
    """Invariant 4: socket directory 0700, socket 0600."""
    owner.start()
    assert stat.S_IMODE(os.stat(owner.socket).st_mode) == 0o600
    for folder in (owner.root, owner.socket.parent, owner.root / "log"):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    for file in (owner.root / "log" / "owner.log", owner.root / "run" / "owner.lock"):
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


@pytest.mark.root
def test_another_user_is_shown_out_even_where_the_folders_let_them_in(owner: OwnerHarness) -> None:
    """Invariant 4: peer uid checked."""
    owner.start()
    for folder in (owner.root.parent, owner.root, owner.socket.parent):
        folder.chmod(0o755)
    owner.socket.chmod(0o666)
    frame = encode_request(Request(verb="count")).hex()
    code = (
        "import os,socket,sys\nos.setgid(65534); os.setuid(65534)\n"
        "s=socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect(sys.argv[1])\n"
        "try:\n s.sendall(bytes.fromhex(sys.argv[2])); print(len(s.recv(64)))\n"
        "except (BrokenPipeError, ConnectionResetError): print(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(owner.socket), frame], capture_output=True, text=True, timeout=20
    )
    assert done.stdout.strip() == "0", done.stderr
    assert not (owner.root / "count").exists()
    assert owner.status()["refused"] == 1
    assert "refused: a connection of uid 65534" in owner.log()


def test_several_requests_use_one_connection_in_order(owner: OwnerHarness) -> None:
    owner.start()
    frames = b"".join(encode_request(Request(verb="echo", body=b"%d" % number)) for number in range(50))
    with owner.raw() as connection:
        connection.sendall(frames)
        assert [reply.stdout for reply in _read_replies(connection, 50)] == [b"%d" % n for n in range(50)]
        end = time.monotonic() + WAIT_S
        assert exchange(connection, encode_request(Request(verb="echo", body=b"x")), end).stdout == b"x"


def test_a_client_that_closes_its_writing_end_still_gets_every_reply(owner: OwnerHarness) -> None:
    owner.start()
    with owner.raw() as connection:
        connection.sendall(encode_request(Request(verb="echo", body=b"a")) * 3)
        connection.shutdown(socket.SHUT_WR)
        assert len(_read_replies(connection, 3)) == 3
        assert _ended(connection)


def test_a_frame_may_come_byte_by_byte_while_others_are_served(owner: OwnerHarness) -> None:
    owner.start()
    with owner.raw() as slow:
        for byte in encode_request(Request(verb="echo", body=b"slow")):
            slow.sendall(bytes([byte]))
            assert owner.ask("echo", b"fast").stdout == b"fast"
        assert _read_replies(slow, 1)[0].stdout == b"slow"


def test_who_is_too_slow_to_send_or_to_read_is_dropped_and_costs_nobody_else(owner: OwnerHarness) -> None:
    """Invariant 9: a client gets 5 s to deliver a frame, begun or not, and to take its reply."""
    owner.start()
    with owner.raw() as begun, owner.raw() as silent, owner.raw() as deaf:
        begun.sendall(encode_request(Request(verb="count"))[:-1])
        deaf.sendall(encode_request(Request(verb="large", params={"bytes": 8_000_000})))
        for _ in range(20):
            assert owner.ask("echo", b"x").stdout == b"x"
        wait_until(lambda: owner.status()["clients"] == 4, "those who were answered to be gone")
        assert _ended(begun)
        assert _ended(silent)
        wait_until(lambda: owner.status()["clients"] == 1, "the deaf client to be dropped", seconds=15)
    assert not (owner.root / "count").exists()
    assert "too slow" in owner.log()


def test_a_large_reply_arrives_whole(owner: OwnerHarness) -> None:
    owner.start()
    assert len(owner.ask("large", bytes=12_000_000).stdout) == 12_000_000


def test_a_reply_over_the_limit_is_an_error_reply(owner: OwnerHarness) -> None:
    owner.start()
    reply = owner.ask("large", bytes=MAX_PAYLOAD_BYTES)
    assert (reply.exit_code, reply.stdout) == (1, b"")
    assert b"over the limit" in reply.stderr


def test_an_oversized_frame_is_refused_by_its_header(owner: OwnerHarness) -> None:
    owner.start()
    with owner.raw() as connection:
        connection.sendall(b"CGQ1" + struct.pack("<I", MAX_PAYLOAD_BYTES + 1))
        reply = _read_replies(connection, 1)[0]
        assert (reply.exit_code, reply.flags) == (1, KEEP_IT)
        assert b"over the limit" in reply.stderr
        assert _ended(connection)


def test_a_client_in_the_middle_of_an_oversized_frame_still_reads_why(owner: OwnerHarness) -> None:
    owner.start()
    frame = b"CGQ1" + struct.pack("<I", MAX_PAYLOAD_BYTES + 1) + bytes(4_000_000)
    with owner.raw() as connection:
        reply = exchange(connection, frame, time.monotonic() + WAIT_S)
    assert b"over the limit" in reply.stderr


@pytest.mark.parametrize(
    "data",
    [
        b"CGR1\0\0\0\0",
        bytes(64),
        b"\xff" * 4096,
        b"CGQ1\x04\0\0\0\x01\xff\xff\xff",
    ],
    ids=["reply", "zeros", "ones", "bad-fields"],
)
def test_garbage_is_refused_and_the_connection_closed(owner: OwnerHarness, data: bytes) -> None:
    owner.start()
    with owner.raw() as connection:
        connection.sendall(data)
        reply = _read_replies(connection, 1)[0]
        assert (reply.exit_code, reply.flags) == (1, KEEP_IT)
        assert _ended(connection)
    assert owner.status()["malformed"] == 1


def test_two_hundred_clients_at_once_are_all_served(owner: OwnerHarness) -> None:
    owner.start(max_clients=256)
    connections = [owner.raw() for _ in range(200)]
    try:
        for number, connection in enumerate(connections):
            connection.sendall(encode_request(Request(verb="echo", body=b"%d" % number)))
        replies = [_read_replies(connection, 1)[0].stdout for connection in connections]
        assert replies == [b"%d" % number for number in range(200)]
        assert owner.status()["clients"] == 201
    finally:
        for connection in connections:
            connection.close()
    wait_until(lambda: owner.status()["clients"] == 1, "all clients to be gone")


def test_a_client_beyond_the_limit_is_told_to_keep_its_event(owner: OwnerHarness) -> None:
    """Invariant 9: the number of clients is bounded."""
    owner.start(max_clients=2)
    with owner.raw() as first, owner.raw() as second:
        for connection in (first, second):
            connection.sendall(b"CGQ1")
        wait_until(lambda: "ready" in owner.log(), "the log")
        with owner.raw() as third:
            reply = _read_replies(third, 1)[0]
            assert reply.flags == KEEP_IT
            assert _ended(third)
    wait_until(lambda: not owner.ask("echo").flags, "room again")


def test_an_idle_client_makes_room_for_one_that_asks(owner: OwnerHarness) -> None:
    owner.start(max_clients=2)
    with owner.raw() as first, owner.raw() as second:
        for connection in (first, second):
            connection.sendall(encode_request(Request(verb="echo", body=b"x")))
            _read_replies(connection, 1)
        assert owner.ask("echo", b"y").stdout == b"y"
        assert _ended(first)


@pytest.mark.parametrize(
    ("code", "flags", "exit_code"),
    [
        ("invalid_input", 0, 4),
        ("session_not_found", 0, 5),
        ("store_read_only", KEEP_IT, 3),
        ("database_corruption", KEEP_IT, 3),
        ("owner", KEEP_IT, 3),
    ],
)
def test_an_error_of_the_service_becomes_its_exit_code(
    owner: OwnerHarness, code: str, flags: int, exit_code: int
) -> None:
    owner.start()
    reply = owner.ask("hooks.fail", error=code, format="json")
    assert (reply.exit_code, reply.flags, reply.stderr) == (
        exit_code,
        flags,
        b"context-graph: it failed: as asked\n",
    )
    assert owner.ask("hooks.fail", error=code, format="claude").exit_code == 0
    assert owner.ask("fail", error="database_corruption").exit_code == 3


def test_a_bug_in_the_service_is_logged_and_the_event_kept(owner: OwnerHarness) -> None:
    owner.start()
    reply = owner.ask("hooks.boom", format="json")
    assert (reply.exit_code, reply.flags) == (1, KEEP_IT)
    assert b"Traceback" not in reply.stderr and b"on purpose" not in reply.stderr
    assert "ZeroDivisionError: a bug, on purpose" in owner.log()
    assert owner.status()["errors"] == 1
    assert owner.ask("hooks.boom", format="claude").exit_code == 0


def test_what_fails_after_an_answer_is_logged_and_costs_no_client_its_own(owner: OwnerHarness) -> None:
    owner.start()
    (owner.root / "unsettled").touch()
    frames = b"".join(encode_request(Request(verb="echo", body=b"%d" % number)) for number in range(3))
    with owner.raw() as connection:
        connection.sendall(frames)
        connection.settimeout(WAIT_S)
        assert [reply.stdout for reply in _read_replies(connection, 3)] == [b"0", b"1", b"2"]
    assert owner.ask("owner.ping").exit_code == 0  # by then what follows the last answer has been done
    assert owner.log().count("ZeroDivisionError: a bug in settling") == 3


def test_an_unknown_owner_verb_is_an_error_and_nothing_more(owner: OwnerHarness) -> None:
    owner.start()
    assert owner.ask("owner.explode").exit_code == 1
    assert owner.ask("owner.ping").exit_code == 0


def test_status_says_what_was_served(owner: OwnerHarness) -> None:
    owner.start()
    for _ in range(10):
        owner.ask("echo", b"x")
    view = owner.status()
    assert view["pid"] == owner.pid()
    assert view["requests"] == 10
    assert view["by_verb"] == {"echo": 10}
    assert isinstance(view["p50_ms"], float) and isinstance(view["p95_ms"], float)
    assert 0 < view["p50_ms"] <= view["p95_ms"]
    for key in (
        "version",
        "rss_bytes",
        "uptime_s",
        "clients",
        "stores",
        "events_waiting",
        "started_at",
        "socket",
    ):
        assert key in view
    assert view["root"] == str(owner.root)


def test_verbs_of_a_strange_client_do_not_fill_the_memory(owner: OwnerHarness) -> None:
    """Invariant 9: caches are bounded."""
    owner.start()
    for number in range(100):
        owner.ask(f"strange-{number}")
    by_verb = owner.status()["by_verb"]
    assert isinstance(by_verb, dict)
    assert len(by_verb) <= 65
    assert sum(by_verb.values()) == 100


def test_the_log_has_one_line_a_request_and_nothing_of_its_content(owner: OwnerHarness) -> None:
    """Invariant 10: the log holds no content."""
    owner.start()
    frame = encode_request(
        Request(
            verb="echo",
            params={"prompt": "PLANTED-IN-PARAMS", "session-id": "unused"},
            body=b"PLANTED-IN-BODY",
            session_env="sess\nFORGED LINE",
            store=owner.root / "stores" / "proj-0123456789abcdef",
        )
    )
    with owner.raw() as connection:
        exchange(connection, frame, time.monotonic() + WAIT_S)
    wait_until(lambda: " echo store=" in owner.log(), "the request's line")
    text = owner.log()
    line = next(line for line in text.splitlines() if " echo store=" in line)
    assert "PLANTED" not in text
    assert "session=sess?FORGED?LINE" in line
    assert "store=proj-0123456789abcdef" in line
    for key in (
        "ms=",
        f"in={len(frame)}",
        f"out={len(encode_reply(Reply(stdout=b'PLANTED-IN-BODY')))}",
        "exit=0",
        "flags=0",
    ):
        assert key in line


def test_the_log_stays_within_its_bounds(owner: OwnerHarness) -> None:
    """Invariant 9: logs are bounded."""
    owner.start(log_max_bytes=10_000, log_files=2)
    with owner.raw() as connection:
        frame = encode_request(Request(verb="echo", session_env="s" * 60))
        for _ in range(600):
            exchange(connection, frame, time.monotonic() + WAIT_S)
    sizes = {path.name: path.stat().st_size for path in (owner.root / "log").iterdir()}
    assert set(sizes) == {"owner.log", "owner.log.1", "owner.log.2"}
    assert max(sizes.values()) < 11_000


def test_concurrent_clients_each_get_their_own_answer(owner: OwnerHarness) -> None:
    owner.start()
    wrong: list[object] = []

    def run(name: int) -> None:
        for number in range(50):
            body = b"%d-%d" % (name, number)
            got = request("echo", {}, body, location=owner.location, autostart=False).stdout
            if got != body:
                wrong.append((body, got))

    threads = [threading.Thread(target=run, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []
    assert owner.status()["requests"] == 400


def test_a_client_that_waits_no_longer_says_so(owner: OwnerHarness) -> None:
    owner.start()
    with pytest.raises(DeadlineExceededError):
        request("sleep", {"ms": 1000}, location=owner.location, timeout_s=0.2)


def test_memory_does_not_grow_with_what_passed_through(owner: OwnerHarness) -> None:
    """Invariant 9: what a large frame took is given back."""
    owner.start()
    owner.ask("echo", b"x")
    before = owner.status()["rss_bytes"]
    for _ in range(4):
        owner.ask("echo", bytes(8_000_000))
    assert isinstance(before, int)
    # The last frame's connection may still be open as the next is served.
    wait_until(
        lambda: int(str(owner.status()["rss_bytes"])) - before < 8_000_000, "the memory to be given back"
    )
