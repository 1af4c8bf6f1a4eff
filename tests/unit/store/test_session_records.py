"""Records: golden bytes, round trips, refusal of what must not be stored, and damage."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.examples import examples

from context_graph.errors import (
    ContextGraphError,
    CorruptedIdentityError,
    FormatVersionError,
    InvalidInputError,
)
from context_graph.model import EventKind, EventParts, HookEvent, SessionIdentitySnapshot
from context_graph.store import layout
from context_graph.store.sessions import records

GOLDEN = Path(__file__).parents[2] / "golden" / "snapshot_v2.bin"
KEY = layout.snapshot_key("11111111-2222-3333-4444-555555555555")


def golden_snapshot() -> SessionIdentitySnapshot:
    """Values that float32 holds exactly, each field another."""
    return SessionIdentitySnapshot(
        session_id="11111111-2222-3333-4444-555555555555",
        timestamp_ms=1_763_761_234_567,
        previous_session_id="vorherige-Sitzung-ä",
        cross_session_ic=0.875,
        kuramoto_phases=[index / 7 for index in range(13)],
        coupling=2.3,
        purpose_vector=[index / 16 - 0.25 for index in range(13)],
        trajectory=[[(row * 13 + index) / 64 for index in range(13)] for row in range(3)],
        last_ic=0.9375,
        crisis_threshold=0.5,
        consciousness=0.625,
        integration=0.96875,
        reflection=0.75,
        differentiation=0.84375,
    )


def golden_bytes(version: int = 2) -> bytes:
    """The same record, stated without the code under test."""
    snapshot = golden_snapshot()
    own, previous = snapshot.session_id.encode(), "vorherige-Sitzung-ä".encode()
    payload = struct.pack("<qd", snapshot.timestamp_ms, snapshot.coupling)
    payload += struct.pack("<13d", *snapshot.kuramoto_phases)
    payload += struct.pack("<7f", 0.875, 0.9375, 0.5, 0.625, 0.96875, 0.75, 0.84375)
    payload += struct.pack("<13f", *snapshot.purpose_vector)
    payload += struct.pack("<BHH", 3, len(own), len(previous)) + own + previous
    for vector in snapshot.trajectory:
        payload += struct.pack("<13f", *vector)
    body = struct.pack("<BI", version, len(payload)) + payload
    return body + struct.pack("<I", zlib.crc32(b"s:" + own + body))


def event(**changes: object) -> HookEvent:
    """An event with every field set."""
    made = HookEvent(
        kind=EventKind.POST_TOOL_FAILURE,
        session_id="abc",
        event_id="0123456789abcdef0123456789abcdef",
        at_ms=1_763_761_234_567,
        tool_name="Bash",
        tool_use_id="toolu_01",
        prompt_id="prompt_1",
        input_text="ls 🧠",
        output_text="no such file",
        success=False,
        source="startup",
        reason="clear",
        previous_session_id="before",
        duration_ms=1234,
        cwd="/home/x/\udcff",
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # the tests' own names


unit = st.floats(0, 1, width=32)
vectors = st.lists(st.floats(-100, 100, width=32), min_size=13, max_size=13)
snapshots = st.builds(
    SessionIdentitySnapshot,
    session_id=st.text(
        st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=120
    ),
    timestamp_ms=st.integers(0, 2**63 - 1),
    previous_session_id=st.none() | st.just("before"),
    cross_session_ic=st.none() | unit,
    kuramoto_phases=st.lists(st.floats(0, 6.28), min_size=13, max_size=13),
    coupling=st.floats(0, 10),
    purpose_vector=vectors,
    trajectory=st.lists(vectors, max_size=4),
    last_ic=unit,
    crisis_threshold=unit,
    consciousness=unit,
    integration=unit,
    reflection=unit,
    differentiation=unit,
)


def test_a_snapshot_s_bytes_are_the_golden_ones() -> None:
    """REQ-SESSION-05: version 2 never changes."""
    assert golden_bytes() == GOLDEN.read_bytes()
    assert records.encode_snapshot(golden_snapshot()) == GOLDEN.read_bytes()
    assert records.decode_snapshot(KEY, GOLDEN.read_bytes()) == golden_snapshot()


@given(snapshots)
def test_a_snapshot_comes_back_as_it_went_in(snapshot: SessionIdentitySnapshot) -> None:
    """TC-SESSION-01."""
    key = layout.snapshot_key(snapshot.session_id)
    record = records.encode_snapshot(snapshot)
    assert records.decode_snapshot(key, record) == snapshot
    row = records.decode_row(key, record)
    is_new = (snapshot.last_ic, snapshot.consciousness) == (1.0, 0.0)
    assert row == records.SessionRow(
        *(snapshot.session_id, snapshot.timestamp_ms, snapshot.previous_session_id),
        last_ic=None if is_new else snapshot.last_ic,
        consciousness=None if is_new else snapshot.consciousness,
        cross_session_ic=snapshot.cross_session_ic if snapshot.previous_session_id else None,
    )


def test_a_full_snapshot_stays_below_30_kilobytes() -> None:
    """REQ-SESSION-01: 50 vectors and the longest ids in the widest characters."""
    snapshot = SessionIdentitySnapshot(session_id="🧠" * 150, previous_session_id="🧠" * 100)
    for index in range(60):
        snapshot.append_to_trajectory([index / 100] * 13)
    record = records.encode_snapshot(snapshot)
    assert len(snapshot.trajectory) == 50
    assert len(snapshot.session_id) == 100
    assert len(record) < 3_800 < 30_000


def test_the_trajectory_drops_its_oldest_vector() -> None:
    """TC-SESSION-02, and the order survives storage."""
    snapshot = SessionIdentitySnapshot(session_id="abc")
    for index in range(53):
        snapshot.append_to_trajectory([float(index)] * 13)
    stored = records.decode_snapshot(layout.snapshot_key("abc"), records.encode_snapshot(snapshot))
    assert [vector[0] for vector in stored.trajectory] == [float(index) for index in range(3, 53)]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "1.0", None])
@pytest.mark.parametrize(
    "name",
    [
        "coupling",
        "cross_session_ic",
        "last_ic",
        "crisis_threshold",
        "consciousness",
        "integration",
        "reflection",
        "differentiation",
    ],
)
def test_a_number_that_is_not_finite_is_refused_by_name(name: str, bad: object) -> None:
    if bad is None and name == "cross_session_ic":
        pytest.skip("None there means that it was not measured")
    snapshot = SessionIdentitySnapshot(session_id="abc")
    setattr(snapshot, name, bad)
    with pytest.raises(InvalidInputError, match=rf"^{name} is"):
        records.encode_snapshot(snapshot)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e39])
def test_a_vector_with_a_value_that_can_t_be_stored_is_refused_by_place(bad: float) -> None:
    for name, place in (("purpose_vector", "purpose_vector[4]"), ("trajectory", "trajectory[1][4]")):
        snapshot = SessionIdentitySnapshot(session_id="abc", trajectory=[[0.0] * 13, [0.0] * 13])
        (snapshot.purpose_vector if name == "purpose_vector" else snapshot.trajectory[1])[4] = bad
        with pytest.raises(InvalidInputError) as caught:
            records.encode_snapshot(snapshot)
        assert str(caught.value).startswith(place)
    snapshot = SessionIdentitySnapshot(session_id="abc")
    snapshot.kuramoto_phases[12] = math.copysign(math.inf, bad)
    with pytest.raises(InvalidInputError, match=r"^kuramoto_phases\[12\]"):
        records.encode_snapshot(snapshot)


@pytest.mark.parametrize(
    ("name", "value"),
    [("purpose_vector", [0.0] * 12), ("kuramoto_phases", [0.0] * 14), ("trajectory", [[0.0] * 13, [0.0]])],
)
def test_a_vector_of_another_length_is_refused_by_name(name: str, value: object) -> None:
    snapshot = SessionIdentitySnapshot(session_id="abc")
    setattr(snapshot, name, value)
    with pytest.raises(InvalidInputError, match=rf"^{name}.* must have 13"):
        records.encode_snapshot(snapshot)


def test_a_trajectory_above_its_limit_is_refused() -> None:
    snapshot = SessionIdentitySnapshot(session_id="abc", trajectory=[[0.0] * 13] * 51)
    with pytest.raises(InvalidInputError, match="at most 50"):
        records.encode_snapshot(snapshot)


def test_a_time_that_is_no_whole_number_is_refused_by_name() -> None:
    snapshot = SessionIdentitySnapshot(session_id="abc", timestamp_ms=2**63)
    with pytest.raises(InvalidInputError, match="timestamp_ms"):
        records.encode_snapshot(snapshot)


def test_every_flipped_bit_of_a_record_is_an_error_and_never_another_snapshot() -> None:
    """REQ-SESSION-05: exhaustive, over each bit of the golden record."""
    record = GOLDEN.read_bytes()
    for bit in range(len(record) * 8):
        damaged = bytearray(record)
        damaged[bit // 8] ^= 1 << bit % 8
        expected = FormatVersionError if bit < 8 else CorruptedIdentityError
        for decode in (records.decode_snapshot, records.decode_row):
            with pytest.raises(expected):
                decode(KEY, bytes(damaged))


@settings(max_examples=examples(300))
@given(data=st.data())
def test_a_damaged_record_is_an_error_or_itself(data: st.DataObject) -> None:
    """Overwritten, cut, extended, shuffled: a typed error, never a wrong snapshot."""
    record = GOLDEN.read_bytes()
    start = data.draw(st.integers(0, len(record)))
    length = data.draw(st.integers(0, 64))
    damaged = record[:start] + data.draw(st.binary(max_size=4)) + record[start + length :]
    try:
        assert records.decode_snapshot(KEY, damaged) == golden_snapshot()
        assert damaged == record
    except ContextGraphError as error:
        assert isinstance(error, CorruptedIdentityError | FormatVersionError)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\0" * 100,
        golden_bytes()[5:-4][:205] + b"\0" * 10,  # ids that don't fit
        golden_bytes()[5:-4] + b"\0",  # trailing
        golden_bytes()[5:-4][:-52],  # a vector short
    ],
)
def test_a_well_sealed_record_with_wrong_content_is_an_error(payload: bytes) -> None:
    with pytest.raises(CorruptedIdentityError):
        records.decode_snapshot(KEY, layout.wrap(KEY, records.SNAPSHOT_VERSION, payload))


def test_a_stored_value_that_is_not_finite_is_an_error() -> None:
    payload = bytearray(golden_bytes()[5:-4])
    payload[8:16] = struct.pack("<d", math.nan)
    with pytest.raises(CorruptedIdentityError, match="not finite"):
        records.decode_snapshot(KEY, layout.wrap(KEY, records.SNAPSHOT_VERSION, bytes(payload)))


def _texts(made: HookEvent) -> tuple[str, ...]:
    identity = ("abc", made.event_id, "Bash", "toolu_01", "prompt_1")
    return (*identity, "", "no such file", "startup", "clear", "before", "")


def test_an_event_s_bytes_are_the_documented_ones() -> None:
    """Never renumber: kind 4 is a failed tool, success 0 is false."""
    made = event(cwd="", input_text="", agent_id="a1", parts=EventParts(command="ls x", exit_code=2))
    texts = (*_texts(made), "a1", '{"command":"ls x","exit_code":2}')
    payload = struct.pack("<BBqq13H", 4, 0, made.at_ms, 1234, *map(len, texts)) + "".join(texts).encode()
    key = layout.event_key("abc", 9)
    assert records.encode_event(key, made) == layout.wrap(key, 3, payload)
    assert records.decode_event(key, records.encode_event(key, made)) == made


def test_a_version_that_nobody_knows_is_an_error() -> None:
    key = layout.event_key("abc", 9)
    with pytest.raises(FormatVersionError, match="version 9"):
        records.decode_event(key, bytes([9]) + records.encode_event(key, event())[1:])


def test_parts_that_escapes_make_too_long_go_without_the_longest() -> None:
    key = layout.event_key("abc", 9)
    made = event(parts=EventParts(command="ls", words="\x01" * 20_000))
    found = records.decode_event(key, records.encode_event(key, made))
    assert found.parts == EventParts(command="ls")


@pytest.mark.parametrize("success", [True, False, None])
@pytest.mark.parametrize("kind", EventKind)
def test_an_event_comes_back_as_it_went_in(kind: EventKind, success: bool | None) -> None:
    made = event(kind=kind, success=success)
    key = layout.event_key("abc", 1)
    assert records.decode_event(key, records.encode_event(key, made)) == made


def test_the_kind_numbers_stay() -> None:
    numbers = {kind: records.encode_event(b"e:", event(kind=kind))[5] for kind in EventKind}
    assert len(set(numbers.values())) == len(EventKind)
    assert (
        numbers.items()
        >= {
            EventKind.SESSION_START: 1,
            EventKind.PRE_TOOL: 2,
            EventKind.POST_TOOL: 3,
            EventKind.POST_TOOL_FAILURE: 4,
            EventKind.PROMPT_SUBMIT: 5,
            EventKind.STOP: 6,
            EventKind.PRE_COMPACT: 7,
            EventKind.SESSION_END: 8,
            EventKind.PERMISSION_REQUEST: 9,
            EventKind.SUBAGENT_STOP: 10,
            EventKind.PROMPT_EXPANSION: 11,
            EventKind.PERMISSION_DENIED: 12,
            EventKind.POST_COMPACT: 13,
            EventKind.SUBAGENT_START: 14,
            EventKind.CONFIG_CHANGE: 15,
        }.items()
    )


def test_an_event_with_a_text_too_long_is_refused_by_field() -> None:
    with pytest.raises(InvalidInputError, match="output_text has 65536 bytes"):
        records.encode_event(b"e:", event(output_text="x" * 65536))
    with pytest.raises(InvalidInputError, match="at_ms"):
        records.encode_event(b"e:", event(at_ms=2**63))


def test_every_flipped_bit_of_an_event_is_an_error() -> None:
    key = layout.event_key("abc", 1)
    record = records.encode_event(key, event())
    for bit in range(len(record) * 8):
        damaged = bytearray(record)
        damaged[bit // 8] ^= 1 << bit % 8
        known = damaged[0] == records.EVENT_VERSION  # then the checksum tells
        with pytest.raises(CorruptedIdentityError if known else FormatVersionError):
            records.decode_event(key, bytes(damaged))


@pytest.mark.parametrize("payload", [b"", b"\x09" + b"\0" * 50, b"\1\3" + b"\0" * 50, b"\1\1" + b"\xff" * 50])
def test_an_event_with_wrong_content_is_an_error(payload: bytes) -> None:
    key = layout.event_key("abc", 1)
    with pytest.raises(CorruptedIdentityError, match="event content"):
        records.decode_event(key, layout.wrap(key, records.EVENT_VERSION, payload))


def test_runtime_goals_evidence_and_requests_come_back_as_they_went_in() -> None:
    key = layout.runtime_key("abc")
    assert records.decode_opaque(key, records.encode_opaque(key, b"state")) == b"state"
    assert records.decode_goals(key, records.encode_goals(key, 7, b"goals")) == (7, b"goals")
    rows = [records.Evidence("ic_delta", 5, 0.5, -0.1), records.Evidence("session_end", 6, 1.0, 1234.0)]
    assert records.decode_evidence(key, records.encode_evidence(key, rows)) == rows
    request = {"session_id": "abc", "at_ms": 5, "ic": 0.25}
    assert records.decode_dream(key, records.encode_json(key, request)) == request
    compactions = [{"summary": "half a pair \ud83d"}, {"summary": ""}]
    assert records.decode_compactions(key, records.encode_json(key, compactions)) == compactions


def test_wrong_content_of_the_small_records_is_an_error() -> None:
    key = b"x:abc"
    for decode in (records.decode_goals, records.decode_evidence, records.decode_dream):
        with pytest.raises(CorruptedIdentityError):
            decode(key, layout.wrap(key, 1, b"\xff"))
    with pytest.raises(CorruptedIdentityError):
        records.decode_dream(key, layout.wrap(key, 1, b"[]"))
    with pytest.raises(CorruptedIdentityError):
        records.decode_compactions(key, layout.wrap(key, 1, b"[{}, 1]"))
    with pytest.raises(CorruptedIdentityError):
        records.decode_evidence(key, layout.wrap(key, 1, struct.pack("<Bqfd", 9, 0, 0, 0)))
    with pytest.raises(InvalidInputError, match="x:abc"):
        records.encode_json(key, {"ic": math.nan})
    with pytest.raises(InvalidInputError, match="x:abc"):
        records.encode_json(key, {"ic": object()})


def test_the_seed_s_field_names_are_the_snapshot_s() -> None:
    """REQ-SESSION-01: 14 fields."""
    assert list(asdict(golden_snapshot())) == [
        "session_id",
        "timestamp_ms",
        "previous_session_id",
        "cross_session_ic",
        "kuramoto_phases",
        "coupling",
        "purpose_vector",
        "trajectory",
        "last_ic",
        "crisis_threshold",
        "consciousness",
        "integration",
        "reflection",
        "differentiation",
    ]
