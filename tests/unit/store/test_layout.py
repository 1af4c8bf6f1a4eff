"""Keys and the envelope: what stands on users' disks."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_graph.errors import CorruptedIdentityError, FormatVersionError, InvalidInputError
from context_graph.store import layout

ids = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=100)
times = st.integers(0, 2**63 - 1)


def test_the_column_families_are_those_of_the_formats_page() -> None:
    """REQ-SESSION-04: session_identity, beside the store's own."""
    assert layout.FAMILIES == ("default", "session_identity", "runtime", "events", "system")


def test_keys_are_byte_for_byte_as_documented() -> None:
    """REQ-SESSION-04, D3.5: `t:` is followed by 8 raw big-endian bytes and the id."""
    assert layout.snapshot_key("abc") == b"s:abc"
    assert layout.LATEST == b"latest"
    assert layout.time_key(0x0102030405060708, "abc") == b"t:\x01\x02\x03\x04\x05\x06\x07\x08abc"
    assert layout.previous_key("abc") == b"p:abc"
    assert layout.runtime_key("abc") == b"r:abc"
    assert layout.goals_key("abc") == b"g:abc"
    assert layout.evidence_key("abc") == b"v:abc"
    assert layout.capture_key("abc") == b"c:abc"
    assert layout.compactions_key("abc") == b"k:abc"
    assert layout.event_key("abc", 258) == b"e:abc\0\0\0\0\0\0\0\x01\x02"
    assert layout.applied_key("abc", "post-tool\0u\0toolu_1") == (
        b"d:abc\0" + bytes.fromhex("1b2f0493e6dc783d8ef3b809a98f5300")
    )
    assert layout.dream_key(258, "abc")[:10] == b"q:\0\0\0\0\0\0\x01\x02"
    assert len(layout.dream_key(258, "abc")) == 18
    assert layout.requirement_log_key(258) == b"l:\0\0\0\0\0\0\x01\x02"


@given(ids, times, ids, times)
def test_time_keys_sort_by_time_and_give_back_what_went_in(
    first_id: str, first_ms: int, second_id: str, second_ms: int
) -> None:
    """TC-SESSION-06: key order is time order."""
    first, second = layout.time_key(first_ms, first_id), layout.time_key(second_ms, second_id)
    assert layout.split_time_key(first) == (first_ms, first_id)
    if first_ms != second_ms:
        assert (first < second) == (first_ms < second_ms)


@given(ids, ids, st.integers(0, 2**63 - 1))
def test_a_session_s_event_keys_never_fall_among_another_s(own: str, other: str, seq: int) -> None:
    prefix = layout.event_prefix(own)
    key = layout.event_key(other, seq)
    assert (prefix <= key < layout.after(prefix)) == (own == other)


@pytest.mark.parametrize("session_id", ["", "a\0b", "\ud800"])
def test_an_id_that_can_be_no_key_is_refused(session_id: str) -> None:
    with pytest.raises(InvalidInputError):
        layout.snapshot_key(session_id)


def test_a_long_id_is_cut_on_a_character_boundary() -> None:
    """REQ-SESSION-01: 100 characters, never in the middle of one."""
    long = "ä" * 99 + "🧠🧠"
    assert layout.snapshot_key(long) == b"s:" + ("ä" * 99 + "🧠").encode()


@pytest.mark.parametrize("timestamp_ms", [-1, 2**63])
def test_a_time_whose_bytes_would_not_sort_is_refused(timestamp_ms: int) -> None:
    with pytest.raises(InvalidInputError, match="timestamp_ms"):
        layout.time_key(timestamp_ms, "abc")


@pytest.mark.parametrize("key", [b"s:abc", b"t:short", b"t:\0\0\0\0\0\0\0\0\xff"])
def test_a_key_that_is_no_time_key_is_an_error_that_names_it(key: bytes) -> None:
    with pytest.raises(CorruptedIdentityError):
        layout.split_time_key(key)


def test_the_envelope_is_version_length_payload_checksum() -> None:
    """D4.7: the checksum covers the key as well."""
    record = layout.wrap(b"s:abc", 7, b"payload")
    head = struct.pack("<BI", 7, 7) + b"payload"
    assert record == head + struct.pack("<I", zlib.crc32(b"s:abc" + head))


@given(st.binary(max_size=50), st.integers(0, 255), st.binary(max_size=200))
def test_unwrap_gives_back_what_was_wrapped(key: bytes, version: int, payload: bytes) -> None:
    assert layout.unwrap(key, layout.wrap(key, version, payload), version) == payload


def test_another_version_is_named_with_its_key() -> None:
    with pytest.raises(FormatVersionError, match=r"s:abc has format version 2, this build reads 1"):
        layout.unwrap(b"s:abc", layout.wrap(b"s:abc", 2, b"x"), 1)


def test_a_record_copied_under_another_key_is_refused() -> None:
    record = layout.wrap(b"s:abc", 1, b"x")
    with pytest.raises(CorruptedIdentityError, match="checksum"):
        layout.unwrap(b"s:abd", record, 1)


@pytest.mark.parametrize("cut", range(12))
def test_a_cut_record_names_session_fault_and_cure(cut: int) -> None:
    record = layout.wrap(b"s:abc", 1, b"xyz")
    with pytest.raises(CorruptedIdentityError) as caught:
        layout.unwrap(b"s:abc", record[:cut], 1)
    for part in ("corrupted identity", "s:abc", "context-graph-cli repair --cf session_identity"):
        assert part in str(caught.value)


def test_after_is_above_every_key_with_the_prefix() -> None:
    assert b"t:" + b"\xff" * 200 < layout.after(b"t:") <= b"t;"


def test_key_text_shows_bytes_that_are_no_text() -> None:
    assert layout.key_text(b"t:\0\xffabc") == r"t:\x00\\xffabc"
