"""Frames: what goes in comes out, and nothing that comes in can do more than be refused."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.errors import FrameTooLargeError, MalformedFrameError, WireError
from context_graph.wire.frames import (
    APPLIED,
    ENV_NAMES,
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    FrameDecoder,
    Reply,
    Request,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
    reply_length,
    request_length,
)

_TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
_PATHS = st.none() | st.binary(max_size=30).filter(lambda raw: b"\0" not in raw).map(
    lambda raw: Path("/" + raw.decode("utf-8", "surrogateescape").strip("/"))
)
REQUESTS = st.builds(
    Request,
    verb=st.sampled_from(["hooks.post-tool", "owner.ping", "session.show"]),
    event_id=st.just("") | st.binary(min_size=16, max_size=16).map(bytes.hex),
    params=st.dictionaries(_TEXT, _TEXT | st.booleans(), max_size=4),
    body=st.binary(max_size=200),
    store=_PATHS,
    project=_PATHS,
    session_env=_TEXT,
    cwd=_PATHS,
    env=st.dictionaries(st.sampled_from(sorted(ENV_NAMES)), _TEXT.filter(lambda text: "\0" not in text)),
    deadline_ms=st.integers(0, 2**32 - 1),
    at_ms=st.integers(-(2**63), 2**63 - 1),
    version=st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,2}", fullmatch=True),
)
REPLIES = st.builds(
    Reply,
    exit_code=st.integers(0, 255),
    flags=st.integers(0, 255),
    stdout=st.binary(max_size=200),
    stderr=st.binary(max_size=200),
)


def _field(tag: int, value: bytes) -> bytes:
    return struct.pack("<BI", tag, len(value)) + value


@given(REQUESTS)
def test_a_request_comes_out_as_it_went_in(request_: Request) -> None:
    frame = encode_request(request_)
    assert request_length(frame[:HEADER_BYTES]) == len(frame) - HEADER_BYTES
    assert decode_request(frame[HEADER_BYTES:]) == request_


@given(REPLIES)
def test_a_reply_comes_out_as_it_went_in(reply: Reply) -> None:
    frame = encode_reply(reply)
    assert reply_length(frame[:HEADER_BYTES]) == len(frame) - HEADER_BYTES
    assert decode_reply(frame[HEADER_BYTES:]) == reply


@given(st.lists(REQUESTS, min_size=1, max_size=3), st.lists(st.integers(1, 64), min_size=1, max_size=8))
def test_frames_are_found_however_the_stream_is_cut(requests: list[Request], cuts: list[int]) -> None:
    stream = b"".join(map(encode_request, requests))
    decoder, found, at, step = FrameDecoder(request_length), [], 0, 0
    while at < len(stream):
        size = cuts[step % len(cuts)]
        decoder.feed(stream[at : at + size])
        at, step = at + size, step + 1
        while (payload := decoder.take()) is not None:
            found.append(decode_request(payload))
    assert found == requests
    assert decoder.buffered == 0
    assert decoder.wanted == HEADER_BYTES


@given(REQUESTS, st.data())
def test_a_frame_cut_short_is_never_taken(request_: Request, data: st.DataObject) -> None:
    frame = encode_request(request_)
    cut = data.draw(st.integers(0, len(frame) - 1))
    decoder = FrameDecoder(request_length)
    decoder.feed(frame[:cut])
    assert decoder.take() is None
    assert decoder.buffered == cut
    assert 0 < decoder.wanted <= len(frame) - cut


@given(st.binary(max_size=300))
def test_garbage_is_a_wire_error_and_nothing_else(data: bytes) -> None:
    for decode in (decode_request, decode_reply, request_length, reply_length):
        with contextlib.suppress(WireError):
            decode(data.ljust(HEADER_BYTES, b"\0") if decode in (request_length, reply_length) else data)


@given(REQUESTS, st.data())
def test_a_damaged_payload_is_decoded_or_refused_never_more(request_: Request, data: st.DataObject) -> None:
    payload = bytearray(encode_request(request_)[HEADER_BYTES:])
    payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(WireError):
        decode_request(payload)


def test_fields_of_the_future_are_skipped() -> None:
    payload = _field(200, b"\xff" * 9) + _field(1, b"owner.ping")
    assert decode_request(payload).verb == "owner.ping"


def test_the_header_alone_shows_that_a_frame_is_too_large() -> None:
    decoder = FrameDecoder(request_length)
    decoder.feed(b"CGQ1" + struct.pack("<I", MAX_PAYLOAD_BYTES + 1))
    with pytest.raises(FrameTooLargeError):
        decoder.take()
    with pytest.raises(FrameTooLargeError):
        encode_request(Request(verb="x", body=bytes(MAX_PAYLOAD_BYTES)))
    with pytest.raises(FrameTooLargeError):
        encode_reply(Reply(stdout=bytes(MAX_PAYLOAD_BYTES)))


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        _field(1, b""),
        _field(1, b"a\nb"),
        _field(1, b"x" * 65),
        _field(1, b"\xff"),
        _field(1, b"x") + _field(1, b"x"),
        _field(1, b"x") + b"\x02\x00",
        _field(1, b"x") + b"\x02\xff\xff\xff\xff",
        _field(1, b"x") + _field(2, b"0" * 31),
        _field(1, b"x") + _field(2, b"G" * 32),
        _field(1, b"x") + _field(3, b"[1]"),
        _field(1, b"x") + _field(3, b"{"),
        _field(1, b"x") + _field(3, b"\xff"),
        _field(1, b"x") + _field(3, b"[" * 100_000),
        _field(1, b"x") + _field(5, b"relative"),
        _field(1, b"x") + _field(6, b"/a\0b"),
        _field(1, b"x") + _field(8, b"/" + b"a" * 4096),
        _field(1, b"x") + _field(10, b"123"),
        _field(1, b"x") + _field(11, b"1234"),
        _field(1, b"x") + _field(12, b"1" * 65),
    ],
)
def test_a_field_that_is_not_of_its_form_is_refused(payload: bytes) -> None:
    with pytest.raises(MalformedFrameError):
        decode_request(payload)


def test_only_request_scoped_variables_travel() -> None:
    with pytest.raises(MalformedFrameError):
        encode_request(Request(verb="x", env={"LD_PRELOAD": "/tmp/x.so"}))
    payload = _field(1, b"x") + _field(9, b"LD_PRELOAD=/tmp/x.so\0CONTEXT_GRAPH_IDENTITY_LINES=off")
    assert decode_request(payload).env == {"CONTEXT_GRAPH_IDENTITY_LINES": "off"}


def test_a_session_id_that_is_not_utf8_does_not_cost_the_event() -> None:
    assert decode_request(_field(1, b"x") + _field(7, b"a\xffb")).session_env == "a\ufffdb"


@pytest.mark.parametrize("reply", [Reply(exit_code=256), Reply(exit_code=-1), Reply(flags=256)])
def test_a_reply_that_does_not_fit_its_head_is_refused(reply: Reply) -> None:
    with pytest.raises(MalformedFrameError):
        encode_reply(reply)


def test_a_reply_longer_or_shorter_than_its_parts_is_refused() -> None:
    payload = encode_reply(Reply(0, APPLIED, b"out", b"err"))[HEADER_BYTES:]
    for damaged in (payload[:-1], payload + b"x", payload[:7], b""):
        with pytest.raises(MalformedFrameError):
            decode_reply(damaged)
