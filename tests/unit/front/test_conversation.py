"""What the bridge in Python remembers of a conversation: the launcher's rules (ext/launcher/src/bridge)."""

from __future__ import annotations

import json

import pytest

from context_graph.front.bridge import message
from context_graph.front.bridge.carry import Lines
from context_graph.front.bridge.flight import Flights

INITIALIZE = b'{"id":0,"method":"initialize"}\n'
CALL = b'{"id":7,"method":"tools/call"}\n'


def opened() -> Flights:
    flights = Flights()
    flights.sent(INITIALIZE)
    assert flights.got(b'{"jsonrpc":"2.0","id":0,"result":{}}')
    flights.sent(b'{"method":"notifications/initialized"}\n')
    return flights


def test_a_new_owner_hears_the_handshake_and_what_waits_and_the_client_each_answer_once() -> None:
    flights = opened()
    flights.sent(CALL)
    assert flights.lost_owner() == b"" and flights.replay() == INITIALIZE + CALL
    assert not flights.got(b'{"jsonrpc":"2.0","id":0,"result":{}}')
    assert flights.got(b'{"jsonrpc":"2.0","id":7,"result":{}}')
    assert flights.count == 0 and flights.replay() == INITIALIZE


def test_an_initialize_that_was_never_answered_is_sent_again_and_answered() -> None:
    flights = Flights()
    flights.sent(INITIALIZE)
    assert flights.lost_owner() == b"" and flights.replay() == INITIALIZE
    assert flights.got(b'{"jsonrpc":"2.0","id":0,"result":{}}')


def test_a_request_that_two_owners_did_not_survive_gets_an_error() -> None:
    flights = opened()
    flights.sent(CALL)
    assert flights.lost_owner() == b""
    flights.replay()
    answer = json.loads(flights.lost_owner())
    assert (flights.count, answer["id"], answer["error"]["code"]) == (0, 7, -32603)


def test_what_a_silent_owner_says_late_is_kept_from_the_client() -> None:
    flights = opened()
    flights.sent(CALL)
    flights.sent(b'[{"id":8,"method":"a"}]\n')
    said = flights.abandon("it is stopped").splitlines()
    assert json.loads(said[0])["id"] == 7 and json.loads(said[1])[0]["id"] == 8 and flights.count == 0
    assert not flights.got(b'{"jsonrpc":"2.0","id":7,"result":{}}')
    assert not flights.got(b'[{"jsonrpc":"2.0","id":8,"result":{}}]')
    flights.sent(b'{"id":9,"method":"tools/call"}\n')
    assert flights.got(b'{"jsonrpc":"2.0","id":9,"result":{}}')


def test_a_batch_is_answered_together_and_a_cancelled_request_not_waited_for() -> None:
    flights = opened()
    flights.sent(b'[{"id":1,"method":"a"},{"id":"x","method":"b"}]\n')
    assert [one["id"] for one in json.loads(flights.give_up("why"))] == [1, "x"]
    flights.sent(CALL)
    flights.sent(b'{"method":"notifications/cancelled","params":{"requestId":7}}\n')
    assert flights.count == 0


def test_the_log_level_outlives_its_owner() -> None:
    level = b'{"id":3,"method":"logging/setLevel"}\n'
    flights = opened()
    flights.sent(level)
    assert flights.got(b'{"jsonrpc":"2.0","id":3,"result":{}}')
    assert flights.replay() == INITIALIZE + level
    assert not flights.got(b'{"jsonrpc":"2.0","id":3,"result":{}}')


def test_an_id_of_1_is_neither_true_nor_a_text() -> None:
    flights = opened()
    flights.sent(b'{"id":1,"method":"a"}\n')
    assert flights.got(b'{"id":"1","result":{}}') and flights.count == 1
    assert flights.got(b'{"id":1,"result":{}}') and flights.count == 0


@pytest.mark.parametrize(
    ("line", "kind", "key"),
    [
        (b'{"method":"ping","id":0,"jsonrpc":"2.0"}', message.REQUEST, 0),
        (b'{"id":"a\\u0062","method":"m","params":{"id":9,"method":"x"}}', message.REQUEST, "ab"),
        (b'{"id":null,"method":"m"}', message.OTHER, None),
        (b'{"id":1.5,"method":"m"}', message.OTHER, None),
        (b'{"id":1,"method":"m"', message.OTHER, None),
        (b"hello", message.OTHER, None),
        (b'{"jsonrpc":"2.0","method":"notifications/initialized"}', message.OTHER, None),
        (b'{"method":"notifications/cancelled","params":{"requestId":7}}', message.CANCELLED, 7),
        (b'{"method":"notifications/cancelled","params":{}}', message.OTHER, None),
        (b'[{"method":"a"},{"method":"b","id":1}]', message.BATCH, [1]),
        (b'[{"method":"a","params":{"id":1}}]', message.BATCH, []),
        (b"[1", message.OTHER, None),
    ],
)
def test_the_client_s_lines_are_told_apart(line: bytes, kind: str, key: object) -> None:
    assert message.sent(line)[:2] == (kind, key)


@pytest.mark.parametrize(
    ("line", "kind", "key"),
    [
        (b'{"jsonrpc":"2.0","id":12,"result":{"a":"}"}}', message.ANSWER, 12),
        (b'{"jsonrpc":"2.0","id":"a,b","error":{}}', message.ANSWER, "a,b"),
        (b'{"result":{},"id":3}', message.ANSWER, 3),
        (b'{"jsonrpc":"2.0","id":null,"error":{}}', message.OTHER, None),
        (b'{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1}}', message.OTHER, None),
        (b'[{"id":1}]', message.BATCH, None),
    ],
)
def test_the_owner_s_lines_are_told_apart(line: bytes, kind: str, key: object) -> None:
    assert message.got(line) == (kind, key)


def test_lines_come_out_whole_however_they_are_cut() -> None:
    lines = Lines()
    data = b"one\n\ntwo\nthree"
    came = [line for at in range(len(data)) for line in lines.take(data[at : at + 1])]
    assert came == [b"one\n", b"\n", b"two\n"] and len(lines) == 5
    assert lines.take(b"!\nfour") == [b"three!\n"]
