"""JSON-RPC messages and the cutting of streams into them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.operations.mcp import rpc
from context_graph.operations.mcp.rpc import Invalid, Notification, Request, Response, RpcError
from context_graph.owner.socket.lines import MessageSplitter

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"m"}', Request(1, "m", {})),
        ('{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}', Request("a", "m", {"x": 1})),
        ('{"jsonrpc":"2.0","method":"m","params":null}', Notification("m", {})),
        ('{"jsonrpc":"2.0","id":4,"result":{}}', Response(4)),
        ('{"jsonrpc":"2.0","id":4,"error":{"code":1,"message":""}}', Response(4)),
    ],
)
def test_messages_are_told_apart(text: str, expected: object) -> None:
    assert rpc.parse(text.encode()) == expected


@pytest.mark.parametrize(
    ("text", "code", "known"),
    [
        ("", rpc.PARSE_ERROR, None),
        ("{", rpc.PARSE_ERROR, None),
        ('{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":NaN}}', rpc.PARSE_ERROR, None),
        ("[" * 100_000, rpc.PARSE_ERROR, None),
        ("[]", rpc.INVALID_REQUEST, None),
        ("1", rpc.INVALID_REQUEST, None),
        ('{"id":3,"method":"m"}', rpc.INVALID_REQUEST, 3),
        ('{"jsonrpc":"1.0","id":"x","method":"m"}', rpc.INVALID_REQUEST, "x"),
        ('{"jsonrpc":"2.0","id":3}', rpc.INVALID_REQUEST, 3),
        ('{"jsonrpc":"2.0","id":3,"method":7}', rpc.INVALID_REQUEST, 3),
        ('{"jsonrpc":"2.0","id":null,"method":"m"}', rpc.INVALID_REQUEST, None),
        ('{"jsonrpc":"2.0","id":true,"method":"m"}', rpc.INVALID_REQUEST, None),
        ('{"jsonrpc":"2.0","id":1.5,"method":"m"}', rpc.INVALID_REQUEST, None),
        ('{"jsonrpc":"2.0","id":3,"method":"m","params":[1]}', rpc.INVALID_PARAMS, 3),
    ],
)
def test_what_is_no_message_says_why_and_whose_it_is(text: str, code: int, known: object) -> None:
    """ERR-CORE-004's kin in the protocol: -32700, -32600, -32602."""
    found = rpc.parse(text.encode())
    assert isinstance(found, Invalid)
    assert (found.error.code, found.id) == (code, known)


def test_lone_surrogates_become_replacement_characters_and_keep_their_request() -> None:
    """JSON.stringify writes them; the client waits for an answer with its id."""
    found = rpc.parse(
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"x\\ud800y","b":"\\ud83d\\ude42"}}'
    )
    assert found == Request(1, "m", {"a": "x\ufffdy", "b": "🙂"})


def test_numbers_of_any_length_are_read() -> None:
    found = rpc.parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":123456789012345678901234567890}}')
    assert isinstance(found, Request)
    assert found.params["a"] == pytest.approx(1.2345678901234568e29)


def test_batches_are_taken_apart_up_to_their_limit() -> None:
    one = {"jsonrpc": "2.0", "id": 1, "method": "m"}
    assert rpc.parse(json.dumps([one, 1]).encode())[0] == Request(1, "m", {})  # type: ignore[index]
    assert isinstance(rpc.parse(json.dumps([one] * 65).encode()), Invalid)


def test_paths_that_are_not_utf8_still_make_an_answer() -> None:
    assert json.loads(rpc.success(1, {"path": "/tmp/\udcff"}))["result"]["path"] == "/tmp/\ufffd"


def test_errors_carry_code_message_and_data() -> None:
    """REQ-CORE-026."""
    text = rpc.failure("x", RpcError(-32004, "slow down", {"retry_after_ms": 5}))
    assert json.loads(text) == {
        "jsonrpc": "2.0",
        "id": "x",
        "error": {"code": -32004, "message": "slow down", "data": {"retry_after_ms": 5}},
    }


@given(st.binary(max_size=200))
def test_any_bytes_give_an_answerable_result(data: bytes) -> None:
    """Fuzz: parse never raises, and whatever it says can be answered."""
    found = rpc.parse(data)
    for item in found if isinstance(found, list) else [found]:
        if isinstance(item, Invalid):
            assert json.loads(rpc.failure(item.id, item.error))["error"]["code"] < 0


@given(VALUES, st.integers() | st.text() | st.none() | st.booleans())
def test_any_json_gives_an_answerable_result(value: Any, number: Any) -> None:
    for message in (value, {"jsonrpc": "2.0", "id": number, "method": "m", "params": value}):
        found = rpc.parse(json.dumps(message).encode())
        for item in found if isinstance(found, list) else [found]:
            if isinstance(item, Request):
                assert json.loads(rpc.success(item.id, item.params))["id"] == item.id


@given(
    st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=6),
    st.booleans(),
    st.booleans(),
    st.integers(1, 9),
)
def test_a_stream_in_any_pieces_gives_the_messages_that_were_sent(
    messages: list[dict[str, Any]], spread: bool, indented: bool, step: int
) -> None:
    """With ``spread`` also messages that span lines, and with no newline between them."""
    indent = 1 if spread and indented else None
    end = "" if spread and indented else "\r\n"
    text = "".join(json.dumps(one, indent=indent, ensure_ascii=False) + end for one in messages)
    data = text.encode("utf-8", "replace")
    splitter = MessageSplitter(1 << 20, spread=spread)
    found = [one for at in range(0, len(data), step) for one in splitter.feed(data[at : at + step])]
    tail = splitter.tail()
    found += [tail] if tail else []
    sent = [json.loads(json.dumps(one, ensure_ascii=False).encode("utf-8", "replace")) for one in messages]
    assert [json.loads(one) for one in found] == sent
    assert splitter.buffered == 0


def test_garbage_between_spread_messages_ends_with_its_line() -> None:
    splitter = MessageSplitter(1 << 20, spread=True)
    assert list(splitter.feed(b'oops{"\n {"a":\n 1} {"b":2}')) == [b'oops{"', b'{"a":\n 1}', b'{"b":2}']


def test_a_message_that_never_ends_is_noticed() -> None:
    """Invariant 9."""
    splitter = MessageSplitter(1000)
    assert list(splitter.feed(b"x" * 1001)) == []
    assert splitter.too_long
    splitter.drop()
    assert not splitter.too_long
    assert list(splitter.feed(b"{}\n")) == [b"{}"]
