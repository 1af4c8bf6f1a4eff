"""Spool lines: whole or refused, and a torn one costs no other."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.owner.spool_writer import encode_record

from context_graph.errors import MalformedFrameError
from context_graph.owner.sessions.spool import SpoolRecord, decode_line

_TEXT = st.text(max_size=30)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.builds(
    SpoolRecord,
    id=st.binary(min_size=16, max_size=16).map(bytes.hex),
    verb=st.sampled_from(["hooks.post-tool", "hooks.stop"]),
    session=_TEXT,
    at_ms=st.integers(0, 2**53),
    project=_TEXT,
    cwd=_TEXT,
    params=st.dictionaries(_TEXT, _TEXT | st.booleans(), max_size=3),
    body=st.none() | st.dictionaries(_TEXT, _JSON, max_size=3),
)


def _lines(stream: bytes) -> list[SpoolRecord]:
    """What a drain finds in ``stream``: records, with the lines that are none left out."""
    found = []
    for line in stream.split(b"\n"):
        try:
            if line:
                found.append(decode_line(line))
        except MalformedFrameError:
            pass
    return found


def _line(value: object) -> bytes:
    data = json.dumps(value).encode()
    return b"%08x %b" % (zlib.crc32(data), data)


@given(RECORDS)
def test_a_record_comes_out_as_it_went_in(record: SpoolRecord) -> None:
    data = encode_record(record)
    assert data.startswith(b"\n") and data.endswith(b"\n") and data.count(b"\n") == 2
    assert decode_line(data) == record


@given(RECORDS, st.data())
def test_one_changed_byte_is_noticed(record: SpoolRecord, data: st.DataObject) -> None:
    line = bytearray(encode_record(record).strip(b"\n"))
    at = data.draw(st.integers(0, len(line) - 1))
    changed = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[at] and byte != 10))
    if at < 8 and bytes([changed]).lower() == bytes([line[at]]):
        return  # the checksum in capitals is the same checksum
    line[at] = changed
    with pytest.raises(MalformedFrameError):
        decode_line(bytes(line))


@given(RECORDS, RECORDS, st.data())
def test_a_record_cut_short_does_not_cost_its_successor(
    torn: SpoolRecord, whole: SpoolRecord, data: st.DataObject
) -> None:
    first = encode_record(torn)
    cut = data.draw(st.integers(0, len(first) - 2))
    assert _lines(first[:cut] + encode_record(whole)) == [whole]


@given(st.binary(max_size=100))
def test_garbage_is_refused_and_nothing_else(data: bytes) -> None:
    with pytest.raises(MalformedFrameError):
        decode_line(data)


@pytest.mark.parametrize(
    "change",
    [{"v": 2}, {"v": None}, {"id": 5}, {"at_ms": "1"}, {"params": []}, {"body": "text"}, {"session": None}],
)
def test_a_record_of_another_version_or_with_a_wrong_field_is_refused(change: dict[str, object]) -> None:
    value = {
        **{"v": 1, "id": "0" * 32, "verb": "hooks.stop", "session": "", "at_ms": 1},
        **{"project": "/p", "cwd": "/p", "params": {}, "body": None},
    }
    assert decode_line(_line(value)).verb == "hooks.stop"
    with pytest.raises(MalformedFrameError):
        decode_line(_line({**value, **change}))
    with pytest.raises(MalformedFrameError):
        decode_line(_line([value]))


def test_a_checksummed_line_that_is_not_json_is_refused() -> None:
    for data in (b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(MalformedFrameError):
            decode_line(b"%08x %b" % (zlib.crc32(data), data))


def test_a_path_that_is_not_utf8_survives() -> None:
    project = b"/caf\xe9".decode("utf-8", "surrogateescape")
    record = SpoolRecord("0" * 32, "hooks.stop", "", 1, project, "/", {}, {"a": "ä"})
    assert decode_line(encode_record(record)) == record


def test_what_has_no_json_form_is_refused() -> None:
    record = SpoolRecord("0" * 32, "hooks.stop", "", 1, "/", "/", {"n": float("nan")}, None)
    with pytest.raises(MalformedFrameError):
        encode_record(record)
