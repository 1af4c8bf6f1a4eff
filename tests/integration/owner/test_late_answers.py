"""Answers that come late, over the socket: progress, cancellation, leaving."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from typing import Any

import pytest
from tests.integration.owner.test_lines import Lines, attach, message
from tests.support.owner.harness import OwnerHarness, wait_until

LONG_MS = 30_000


def later(number: int | str, token: int | None = None, **arguments: Any) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return message(number, "tools/call", name="later", arguments=arguments, **meta)


def cancelled(number: int | str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


def is_cancelled(owner: OwnerHarness) -> None:
    wait_until((owner.root / "cancelled").exists, "the work to be cancelled")


def test_others_and_the_same_connection_are_served_while_an_answer_is_due(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.send(later(1, ms=300), message(2, "ping"), later(3, ms=100))
        assert client.read()["id"] == 2
        assert owner.ask("echo", b"hook").stdout == b"hook"
        assert [client.read()["id"], client.read()["id"]] == [3, 1]


def test_progress_comes_before_its_answer_and_only_to_who_asked(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.send(later(1, token=9, ms=200, steps=3))
        told = [client.read() for _ in range(4)]
        assert [one["params"] for one in told[:3]] == [
            {"progressToken": 9, "progress": n, "total": 3, "message": f"step {n}"} for n in (1, 2, 3)
        ]
        assert told[3]["id"] == 1
        client.send(later(2, ms=50, steps=3))
        assert client.read()["id"] == 2


def test_a_cancelled_call_ends_its_work_and_is_not_answered(owner: OwnerHarness) -> None:
    """MCP: the receiver stops the work and sends no response."""
    owner.start()
    with closing(attach(owner)) as client:
        client.send(later("long", ms=LONG_MS), message(1, "ping"))
        assert client.read()["id"] == 1
        client.send(cancelled("other"), cancelled("long"), message(2, "ping"))
        assert client.read()["id"] == 2
        is_cancelled(owner)
        client.send(cancelled("long"), later("long", ms=1))  # nothing left to cancel; its id is free again
        assert client.read()["id"] == "long"


def test_an_id_in_use_is_refused(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.send(later(1, ms=300), later(1, ms=1))
        assert client.read()["error"]["code"] == -32600
        assert client.read()["result"]["structuredContent"] == {"waited_ms": 300.0}


def test_no_more_calls_wait_than_a_connection_may_have(owner: OwnerHarness) -> None:
    """Invariant 9."""
    owner.start()
    with closing(attach(owner)) as client:
        client.send(*(later(n, ms=LONG_MS) for n in range(17)))
        answer = client.read()
        assert (answer["id"], answer["error"]["code"]) == (16, -32603)


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ({"fail": "store_full"}, -32002, "Insufficient disk space"),
        ({"bug": 1}, -32603, "Internal error"),
    ],
)
def test_late_failures_are_told_like_any_other(
    owner: OwnerHarness, how: dict[str, Any], code: int, words: str
) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        error = client.call("later", ms=20, **how)["error"]
        assert error["code"] == code
        assert words in error["message"]


def test_a_late_call_that_was_wrong_is_a_result_that_says_so(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        result = client.call("later", ms=20, fail="usage")["result"]
    assert result["isError"] is True and "as asked" in str(result["content"])


def test_a_bridge_that_goes_takes_its_work_with_it(owner: OwnerHarness) -> None:
    owner.start()
    client = attach(owner)
    client.send(later(1, ms=LONG_MS))
    wait_until((owner.root / "later").exists, "the work to begin")
    client.close()
    is_cancelled(owner)


def test_a_leaving_owner_gives_the_call_back_to_the_bridge_and_tells_others(owner: OwnerHarness) -> None:
    process = owner.start()
    with closing(attach(owner)) as bridge, closing(Lines(owner.raw())) as plain:
        bridge.send(later(1, ms=LONG_MS))
        plain.send(later(2, ms=LONG_MS), message(3, "ping"))
        assert plain.read()["id"] == 3
        owner.ask("owner.stop")
        answer = plain.read()
        assert (answer["id"], answer["error"]["code"]) == (2, -32002)
        assert bridge.source.readline() == b""  # it will ask the next owner
    is_cancelled(owner)
    assert owner.ended(process) == 0


def test_a_plain_client_that_has_said_all_is_waited_for(owner: OwnerHarness) -> None:
    """Seed 002: `echo "$REQUEST" | nc -U` closes its sending end, or is silent, and reads on."""
    owner.start()
    for ends in (True, False):
        with closing(Lines(owner.raw())) as client:
            client.send(later(1, ms=700))
            if ends:
                client.connection.shutdown(socket.SHUT_WR)
            answer = client.read()
            assert answer["result"]["waited_ms"] == 700.0
            assert client.source.readline() == b""


def test_a_plain_client_that_hangs_up_is_not(owner: OwnerHarness) -> None:
    owner.start()
    with closing(Lines(owner.raw())) as client:
        client.send(later(1, ms=LONG_MS))
        wait_until((owner.root / "later").exists, "the work to begin")
    is_cancelled(owner)


def test_a_batch_is_answered_when_all_of_it_is(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={})
        client.send(
            [later(1, token=5, ms=200, steps=1), message(2, "ping"), later(3, ms=50), later(4, ms=9000)]
        )
        time.sleep(0.02)
        client.send(cancelled(4), message(6, "ping"))
        *before, replies = (client.read() for _ in range(3))
        assert sorted(reply["id"] for reply in replies) == [1, 2, 3], (
            "the batch's answers come last, and once"
        )
        # A slow machine takes as long to send the second ping as the tool to its one step.
        assert [line["id"] for line in before if "id" in line] == [6]
        assert [line["params"]["progressToken"] for line in before if "params" in line] == [5]


def test_a_call_of_a_batch_that_waits_can_be_cancelled(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={})
        # All in one piece: the batch waits behind the ping while the cancellation is read.
        client.send(message(2, "ping"), [later(3, ms=50), later(4, ms=LONG_MS)], cancelled(4))
        assert client.read()["id"] == 2
        assert [reply["id"] for reply in client.read()] == [3]
    is_cancelled(owner)


def test_a_slow_reader_gets_its_answers_whole(owner: OwnerHarness) -> None:
    owner.start()
    with closing(attach(owner)) as client:
        client.send(
            later(1, token=1, ms=100, steps=20),
            message(2, "tools/call", name="large", arguments={"bytes": 2_000_000}),
        )
        time.sleep(0.4)
        lines = [client.read()]
        while "id" not in lines[-1] or len(lines) < 2 or lines[-1].get("id") != 1:
            lines.append(client.read())
        assert [line["id"] for line in lines if "id" in line] == [2, 1]
        assert len(lines) < 2 + 20, "progress that nobody reads is not heaped up"


def test_a_call_of_a_batch_that_is_served_can_be_cancelled_before_its_turn(owner: OwnerHarness) -> None:
    """Of a batch one message is served at a time: the cancellation is read while two wait."""
    owner.start()
    with closing(attach(owner)) as client:
        client.ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={})
        first = message(1, "tools/call", name="sleep", arguments={"ms": 300})
        client.send([first, message(2, "ping"), message(3, "ping"), later(4, ms=LONG_MS)])
        wait_until((owner.root / "asleep").exists, "the batch to be under way")
        client.send(cancelled(4))
        assert [reply["id"] for reply in client.read()] == [1, 2, 3]
