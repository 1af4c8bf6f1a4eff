"""The front's strict reading of a hook's JSON, held to what the launcher takes (ext/launcher/src/json)."""

from __future__ import annotations

import json

import pytest

from context_graph.front.document import (
    DEPTH_MAX,
    Fault,
    clean,
    inner_texts,
    is_object,
    parse,
    reduced,
    top_text,
)

GOOD = (
    b"{}",
    b' {"a":1} \n',
    b'{"a":[],"b":{},"c":[1,2.5,-0,1e9,1E-2,-0.0e+1]}',
    b'{"a":true,"b":false,"c":null}',
    b'{"":""}',
    b'{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d"}',
    '{"ä":"😀"}'.encode(),
    b'\xef\xbb\xbf{"a":1}',
    b'{"a":{"a":{"a":[[[[]]]]}},"a":1}',
)
BAD = (
    *(b"", b"  ", b"[]", b"1", b'"x"', b"null", b"{", b"}", b"{]", b'{"a"}', b'{"a":}', b'{"a":1,}', b"{,}"),
    *(b'{"a":[1,]}', b'{"a":[1}', b"{a:1}", b"{'a':1}", b'{"a":01}', b'{"a":1.}', b'{"a":.5}', b'{"a":+1}'),
    *(
        b'{"a":1e}',
        b'{"a":NaN}',
        b'{"a":tru}',
        b'{"a":"\n"}',
        b'{"a":"\\x"}',
        b'{"a":"\\u12g4"}',
        b'{"a":"\\u12',
    ),
    *(b'{"a":"', b"{} {}", b"{}\0", b'{"a":"\xff"}', b'{"a" 1}', b'{"a":Infinity}', b'{"a":1}\x0b'),
)


@pytest.mark.parametrize("body", GOOD)
def test_objects_of_the_grammar_are_taken(body: bytes) -> None:
    assert is_object(body)


@pytest.mark.parametrize("body", BAD)
def test_anything_else_is_refused_with_its_place(body: bytes) -> None:
    with pytest.raises(Fault, match=r"stdin: not a JSON object: .* at byte \d+"):
        parse(body)


def test_nesting_stops_at_the_limit() -> None:
    def nested(levels: int) -> bytes:
        return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"

    assert is_object(nested(DEPTH_MAX)) and not is_object(nested(DEPTH_MAX + 1))
    assert not is_object(b'{"a":' * 1_000_000)


def test_fields_are_found_at_their_level_alone_and_read_as_text() -> None:
    body = (
        b'{"x":{"session_id":"inner"},"session_id":"o\\u0075ter","n":1,"tool_input":{"file_path":"/a","n":2}}'
    )
    assert (top_text(body, "session_id"), top_text(body, "n"), top_text(b"x", "n")) == ("outer", "", "")
    assert inner_texts(body, "tool_input", lambda name: name.endswith("path")) == ["/a"]
    assert clean("x\ud83dy") == "x\ufffdy" and clean("\ud83d\ude00") == "\U0001f600" and clean(7) == ""


def test_numbers_that_readers_disagree_about_become_text() -> None:
    assert parse(b'{"n":123456789012345678901,"m":7,"x":1e999}') == {
        "n": "123456789012345678901",
        "m": 7,
        "x": "1e999",
    }


def test_a_big_object_is_reduced_to_its_scalars_even_when_it_is_cut() -> None:
    start = '{"session_id":"s","n":1,"tool_input":{"x":[1]},"ok":true,"long":"ä' + "y" * 9000
    whole = json.loads(reduced((start + '","last":2}').encode()))
    assert whole.pop("long").encode()[:4] == "ä".encode() + b"yy"
    assert whole == {"session_id": "s", "n": 1, "ok": True, "last": 2, "truncated": True}
    assert json.loads(reduced(start.encode())) == {"session_id": "s", "n": 1, "ok": True, "truncated": True}
    with pytest.raises(Fault):
        reduced(b'{"a":oops,"b":1' + b" " * 20)


def test_every_cut_of_a_big_object_is_taken() -> None:
    whole = '{"a":[1.5e+3,true,{"b":"x\\u0041\\n"}],"s":"ö\\u00e9","ok":null,"z":{"q":1}}'.encode()
    for end in range(1, len(whole) + 1):
        assert json.loads(reduced(whole[:end]))["truncated"] is True
