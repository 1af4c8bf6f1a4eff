"""Lines of the event log: whole or refused, and a torn one costs no other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.owner.log_writer import encode_event

from context_graph.errors import MalformedFrameError
from context_graph.owner.sessions.log_reader import LoggedEvent, decode_line
from context_graph.wire.store_folder import frame

_TEXT = st.text(max_size=30)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.builds(
    LoggedEvent,
    id=st.binary(min_size=16, max_size=16).map(bytes.hex),
    verb=st.sampled_from(["hooks.post-tool", "hooks.stop"]),
    session=_TEXT,
    at_ms=st.integers(0, 2**53),
    project=_TEXT,
    cwd=_TEXT,
    params=st.dictionaries(_TEXT, _TEXT | st.booleans(), max_size=3),
    body=st.none() | st.dictionaries(_TEXT, _JSON, max_size=3),
)
WHOLE = {
    "verb": "hooks.stop", "session": "", "at_ms": 1, "project": "/p", "cwd": "/p", "params": {}, "body": None,
}  # fmt: skip


def _lines(stream: bytes) -> list[LoggedEvent]:
    """The events in ``stream``, with the lines that are none left out."""
    found = []
    for line in stream.split(b"\n"):
        try:
            if line:
                found.append(decode_line(line))
        except MalformedFrameError:
            pass
    return found


def _line(value: object) -> bytes:
    return frame("0" * 32, json.dumps(value).encode())


@given(EVENTS)
def test_an_event_comes_out_as_it_went_in(event: LoggedEvent) -> None:
    data = encode_event(event)
    assert data.startswith(b"\n") and data.endswith(b"\n") and data.count(b"\n") == 2
    assert decode_line(data) == event


@given(EVENTS, st.data())
def test_one_changed_byte_is_noticed(event: LoggedEvent, data: st.DataObject) -> None:
    line = bytearray(encode_event(event).strip(b"\n"))
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[at] and byte != 10))
    with pytest.raises(MalformedFrameError):
        decode_line(bytes(line))


@given(EVENTS, EVENTS, st.data())
def test_a_record_cut_short_does_not_cost_its_successor(
    torn: LoggedEvent, whole: LoggedEvent, data: st.DataObject
) -> None:
    first = encode_event(torn)
    cut = data.draw(st.integers(0, len(first) - 2))
    assert _lines(first[:cut] + encode_event(whole)) == [whole]


@given(st.binary(max_size=100))
def test_garbage_is_refused_and_nothing_else(data: bytes) -> None:
    with pytest.raises(MalformedFrameError):
        decode_line(data)


@pytest.mark.parametrize(
    "change",
    [{"verb": 5}, {"at_ms": "1"}, {"params": []}, {"body": "text"}, {"session": None}, {"project": None}],
)
def test_a_record_with_a_wrong_field_is_refused(change: dict[str, object]) -> None:
    assert decode_line(_line(WHOLE)).verb == "hooks.stop"
    with pytest.raises(MalformedFrameError):
        decode_line(_line({**WHOLE, **change}))
    with pytest.raises(MalformedFrameError):
        decode_line(_line([WHOLE]))


def test_a_line_of_another_version_is_refused() -> None:
    with pytest.raises(MalformedFrameError):
        decode_line(_line(WHOLE).replace(b"\nE1 ", b"\nE2 "))


def test_a_checksummed_line_that_is_not_json_is_refused() -> None:
    for data in (b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(MalformedFrameError):
            decode_line(frame("0" * 32, data))


def test_a_path_that_is_not_utf8_survives() -> None:
    project = b"/caf\xe9".decode("utf-8", "surrogateescape")
    event = LoggedEvent("0" * 32, "hooks.stop", "", 1, project, "/", {}, {"a": "ä"})
    assert decode_line(encode_event(event)) == event
