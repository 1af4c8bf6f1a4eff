"""Brief slots and their file: never a torn, foreign or unknown line (invariant 8)."""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.owner.brief_reader import COLD_LINE, read_line, read_slot

from context_graph.errors import MalformedFrameError
from context_graph.model import SessionIdentitySnapshot
from context_graph.owner.sessions.brief_cache import (
    FILE_BYTES,
    HOME_SLOTS,
    SLOT_BYTES,
    SLOTS_AT,
    STATE_COLD,
    WINDOW,
    BriefCache,
    BriefSlot,
    decode_slot,
    encode_slot,
    first_slot,
    session_bytes,
)

_FLOATS = st.floats(width=32, allow_nan=False)
SLOTS = st.builds(
    BriefSlot,
    session_id=st.text(st.characters(codec="utf-8"), min_size=1, max_size=100),
    state=st.sampled_from([0, 1, 2, 3, 4, STATE_COLD]),
    line=st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=16),
    updated_ms=st.integers(-(2**63), 2**63 - 1),
    consciousness=_FLOATS,
    r=_FLOATS,
    reflection=_FLOATS,
    differentiation=_FLOATS,
    ic=_FLOATS,
    crisis_threshold=_FLOATS,
    sequence=st.integers(0, 2**32 - 1),
    due=st.booleans(),
    files_over=st.booleans(),
    at_stop=st.booleans(),
)
LINE = "[C:CON r=0.97 IC=0.95]"


@dataclass(frozen=True)
class _State:
    short_name: str


@dataclass(frozen=True)
class _Metrics:
    state: _State
    consciousness: float = 0.9
    r: float = 0.97
    reflection: float = 0.5
    differentiation: float = 0.25
    ic: float = 0.95


def _slot(session_id: str, line: str = LINE, updated_ms: int = 1) -> BriefSlot:
    return BriefSlot(session_id, 3, line, updated_ms)


def _ids_of_home(home: int, count: int) -> list[str]:
    """Session ids whose window begins at slot ``home``."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        name = f"s{number}"
        number += 1
        if first_slot(name.encode()) == home:
            found.append(name)
    return found


@given(SLOTS)
def test_a_slot_comes_out_as_it_went_in(slot: BriefSlot) -> None:
    data = encode_slot(slot)
    assert len(data) == SLOT_BYTES
    assert decode_slot(data) == slot


@given(SLOTS, st.integers(0, SLOT_BYTES - 1), st.integers(1, 255))
def test_one_changed_byte_makes_a_slot_invalid(slot: BriefSlot, at: int, change: int) -> None:
    data = bytearray(encode_slot(slot))
    data[at] ^= change
    assert decode_slot(bytes(data)) is None


@given(SLOTS, SLOTS, st.integers(1, SLOT_BYTES - 1))
def test_half_of_one_slot_and_half_of_another_is_none(old: BriefSlot, new: BriefSlot, cut: int) -> None:
    mixed = encode_slot(new)[:cut] + encode_slot(old)[cut:]
    assert decode_slot(mixed) in (None, old, new)


@given(st.binary(min_size=SLOT_BYTES - 4, max_size=SLOT_BYTES - 4))
def test_a_checksummed_block_of_anything_is_a_slot_only_if_it_is_of_the_layout(block: bytes) -> None:
    slot = decode_slot(zlib.crc32(block).to_bytes(4, "little") + block)
    assert slot is None or block[:4] == b"CGB1"


def test_the_layout_is_what_the_page_says() -> None:
    data = encode_slot(BriefSlot("sess", 3, LINE, 77, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, sequence=9))
    assert struct.unpack_from("<I", data, 0)[0] == zlib.crc32(data[4:])
    assert data[4:8] == b"CGB1"
    assert struct.unpack_from("<IBBHq6f", data, 8) == (9, 3, len(LINE), 4, 77, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert data[48:112] == LINE.encode().ljust(64, b"\0")
    assert data[112:512] == b"sess".ljust(400, b"\0")


@pytest.mark.parametrize(
    "slot",
    [
        _slot("a", line="x" * 65),
        _slot("a", line="two\nlines"),
        _slot(""),
        replace(_slot("a"), state=256),
        replace(_slot("a"), updated_ms=2**63),
        replace(_slot("a"), ic=1e300),
    ],
)
def test_what_does_not_fit_a_slot_is_refused(slot: BriefSlot) -> None:
    with pytest.raises(MalformedFrameError):
        encode_slot(slot)


def test_the_cache_shows_each_session_its_own_line(tmp_path: Path) -> None:
    """REQ-SESSION-11: the brief of a session is read from a file, without a database."""
    cache = BriefCache(tmp_path / "brief.bin")
    names = [f"session-{number}" for number in range(64)]
    for number, name in enumerate(names):
        cache.write(_slot(name, f"[C:CON r=0.{number:02d} IC=0.95]"))
    shown = [read_line(tmp_path, name) for name in names]
    cache.close()
    evicted = shown.count(COLD_LINE)
    assert all(line in (COLD_LINE, f"[C:CON r=0.{number:02d} IC=0.95]") for number, line in enumerate(shown))
    assert evicted == 0, f"{evicted} of 64 sessions have no slot"
    found = os.stat(tmp_path / "brief.bin")
    assert found.st_size == FILE_BYTES
    assert found.st_mode & 0o777 == 0o600


def test_put_takes_a_snapshot_its_metrics_and_its_line(tmp_path: Path) -> None:
    path = tmp_path / "brief.bin"
    cache = BriefCache(path)
    snapshot = SessionIdentitySnapshot(session_id="abc", crisis_threshold=0.5)
    cache.put(snapshot, _Metrics(_State("CON")), LINE)
    slot = read_slot(path, "abc")
    assert slot is not None
    assert (slot.state, slot.line, slot.ic, slot.crisis_threshold) == (3, LINE, pytest.approx(0.95), 0.5)
    assert slot.updated_ms > 0
    cache.put(snapshot, _Metrics(_State("DOR")), None)
    assert read_line(tmp_path, "abc") == COLD_LINE
    cache.close()


def test_a_ninth_session_of_one_window_takes_the_slot_not_updated_for_longest(tmp_path: Path) -> None:
    path = tmp_path / "brief.bin"
    cache = BriefCache(path)
    names = _ids_of_home(HOME_SLOTS - 1, WINDOW + 1)
    for number, name in enumerate(names[:WINDOW]):
        cache.write(_slot(name, updated_ms=100 + number))
    cache.write(_slot(names[0], updated_ms=500))
    cache.write(_slot(names[WINDOW], "[C:EMG r=0.50 IC=0.80]", updated_ms=600))
    assert read_line(tmp_path, names[1]) == COLD_LINE
    assert [read_line(tmp_path, name) for name in (names[0], *names[2:WINDOW])] == [LINE] * (WINDOW - 1)
    assert read_line(tmp_path, names[WINDOW]) == "[C:EMG r=0.50 IC=0.80]"
    cache.close()


def test_without_a_session_id_the_newest_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "brief.bin"
    cache = BriefCache(path)
    assert read_line(tmp_path, None) == COLD_LINE
    cache.write(_slot("old", updated_ms=10))
    cache.write(_slot("new", "[C:EMG r=0.50 IC=0.80]", updated_ms=20))
    cache.write(_slot("older", updated_ms=5))
    cache.close()
    assert read_line(tmp_path, None) == "[C:EMG r=0.50 IC=0.80]"


def test_a_long_session_id_is_found_by_its_first_hundred_characters(tmp_path: Path) -> None:
    path = tmp_path / "brief.bin"
    cache = BriefCache(path)
    cache.write(_slot("ü" * 100))
    cache.close()
    assert read_line(tmp_path, "ü" * 130) == LINE
    assert read_line(tmp_path, "ü" * 99) == COLD_LINE
    assert len(session_bytes("\U0001f600" * 200)) == 400
    assert session_bytes("\ud800") == b"?"


def test_what_was_there_is_still_there_for_the_next_owner(tmp_path: Path) -> None:
    path = tmp_path / "brief.bin"
    for line in (LINE, "[C:EMG r=0.50 IC=0.80]"):
        cache = BriefCache(path)
        cache.write(_slot("abc", line))
        cache.close()
    slot = read_slot(path, "abc")
    assert slot is not None
    assert (slot.line, slot.sequence) == ("[C:EMG r=0.50 IC=0.80]", 2)


@pytest.mark.parametrize("damage", ["header", "version", "empty", "short", "long", "link", "folderless"])
def test_a_file_that_is_none_of_ours_is_made_anew(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "brief.bin"
    cache = BriefCache(path)
    cache.write(_slot("kept"))
    cache.close()
    data = bytearray(path.read_bytes())
    if damage == "header":
        data[:8] = b"XXXXXXXX"
    elif damage == "version":
        data[8] = 2
    elif damage == "empty":
        data.clear()
    elif damage == "short":
        del data[-SLOT_BYTES:]
    elif damage == "long":
        data += b"x"
    path.unlink()
    if damage == "link":
        (tmp_path / "elsewhere").write_bytes(data)
        path.symlink_to(tmp_path / "elsewhere")
    elif damage != "folderless":
        path.write_bytes(data)
    assert read_line(tmp_path, "new") == COLD_LINE
    cache.write(_slot("new"))
    assert read_line(tmp_path, "new") == LINE
    assert path.stat().st_size == FILE_BYTES
    if damage in ("short", "long"):
        assert read_line(tmp_path, "kept") == LINE
    if damage == "link":
        assert (tmp_path / "elsewhere").read_bytes() == data
    assert os.listdir(tmp_path).count("brief.bin") == 1
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".brief")]
    cache.close()


def test_a_file_deleted_under_the_owner_is_made_anew_at_the_next_event(tmp_path: Path) -> None:
    path = tmp_path / "brief.bin"
    cache = BriefCache(path)
    cache.write(_slot("a"))
    path.unlink()
    cache.write(_slot("a", "[C:EMG r=0.50 IC=0.80]"))
    assert read_line(tmp_path, "a") == "[C:EMG r=0.50 IC=0.80]"
    cache.close()


def test_a_file_of_another_version_is_cold(tmp_path: Path) -> None:
    path = tmp_path / "brief.bin"
    cache = BriefCache(path)
    cache.write(_slot("abc"))
    cache.close()
    with open(path, "r+b") as target:
        target.seek(8)
        target.write(b"\x03")
    assert read_line(tmp_path, "abc") == COLD_LINE
    assert read_line(tmp_path, None) == COLD_LINE


def test_a_torn_slot_is_cold_and_its_neighbours_are_not(tmp_path: Path) -> None:
    path = tmp_path / "brief.bin"
    cache = BriefCache(path)
    first, second = _ids_of_home(7, 2)
    cache.write(_slot(first))
    cache.write(_slot(second))
    cache.close()
    with open(path, "r+b") as target:
        target.seek(SLOTS_AT + 7 * SLOT_BYTES + 60)
        target.write(b"#")
    assert read_line(tmp_path, first) == COLD_LINE
    assert read_line(tmp_path, second) == LINE
