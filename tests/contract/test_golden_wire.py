"""The golden files that the launcher's tests read too: both languages mean the same bytes.

tools/golden/make.py writes them without either implementation; see there for the tables' quoting.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from tests.support.owner.brief_reader import read_line
from tests.support.owner.log_writer import encode_event, write_segment

from context_graph.errors import MalformedFrameError
from context_graph.owner.sessions.brief_cache import (
    FILE_BYTES,
    SLOT_BYTES,
    SLOTS_AT,
    decode_slot,
    encode_slot,
    first_slot,
    session_bytes,
)
from context_graph.owner.sessions.log_reader import LogReader, decode_line
from context_graph.wire.frames import (
    Reply,
    Request,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
    reply_length,
    request_length,
)

GOLDEN = Path(__file__).parents[1] / "golden"


def _rows(name: str) -> list[list[bytes]]:
    lines = (GOLDEN / name).read_bytes().rstrip(b"\n").split(b"\n")
    return [[unquote_to_bytes(cell) for cell in line.split(b"\t")] for line in lines[1:]]


def test_the_golden_request_is_read_and_written_byte_for_byte() -> None:
    data = (GOLDEN / "request_v1.bin").read_bytes()
    values = {name.decode(): value for _, name, value in _rows("request_v1.tsv")}
    assert request_length(data[:8]) == len(data) - 8
    request = decode_request(data[8:])
    assert request == Request(
        verb=values["verb"].decode(),
        event_id=values["event_id"].decode(),
        params={"format": "claude", "session-id": "abc", "success": "true", "stdin": True},
        body=values["body"],
        store=Path(values["store"].decode()),
        project=Path(values["project"].decode()),
        session_env=values["session_env"].decode(),
        cwd=Path(values["cwd"].decode()),
        env=dict(pair.split("=") for pair in values["env"].decode().split("\0")),
        deadline_ms=int.from_bytes(values["deadline_ms"], "little"),
        at_ms=int.from_bytes(values["at_ms"], "little", signed=True),
        version=values["version"].decode(),
    )
    assert encode_request(request) == data


def test_fields_that_came_later_have_a_golden_request_of_their_own() -> None:
    data = (GOLDEN / "request_v1_later.bin").read_bytes()
    values = {name.decode(): value for _, name, value in _rows("request_v1_later.tsv")}
    request = decode_request(data[8:])
    assert request == Request(
        verb=values["verb"].decode(),
        env=dict(pair.split("=") for pair in values["env"].decode().split("\0")),
        parent_pid=int.from_bytes(values["parent"], "little"),
    )
    assert encode_request(request) == data


def test_the_golden_reply_is_read_and_written_byte_for_byte() -> None:
    data = (GOLDEN / "response_v1.bin").read_bytes()
    values = {name.decode(): value for name, value in _rows("response_v1.tsv")}
    assert reply_length(data[:8]) == len(data) - 8
    reply = decode_reply(data[8:])
    assert reply == Reply(int(values["exit_code"]), int(values["flags"]), values["stdout"], values["stderr"])
    assert encode_reply(reply) == data


@pytest.mark.parametrize("row", _rows("event_log_v1.tsv"), ids=lambda row: row[0].decode())
def test_each_part_of_the_golden_log_is_taken_or_refused(row: list[bytes]) -> None:
    name, data = row
    if name.startswith(b"bad-"):
        with pytest.raises(MalformedFrameError):
            decode_line(data)
    else:
        assert encode_event(decode_line(data)) == data


def test_the_golden_log_is_read_line_by_line(tmp_path: Path) -> None:
    parts = _rows("event_log_v1.tsv")
    whole = (GOLDEN / "event_log_v1.log").read_bytes()
    assert b"".join(data for _, data in parts) == whole
    write_segment(tmp_path, whole)
    reader, lines = LogReader(tmp_path), []
    while reader.advance():
        while (line := reader.next_line()) is not None:
            lines.append(line)
    assert lines == [data.strip(b"\n") for _, data in parts]


@pytest.mark.parametrize("row", _rows("brief_v2.tsv"), ids=lambda row: row[0].decode()[:40])
def test_each_line_of_the_golden_brief_file_is_read(row: list[bytes], tmp_path: Path) -> None:
    asked, line = row
    shutil.copy(GOLDEN / "brief_v2.bin", tmp_path / "brief.bin")
    session = None if asked == b"-" else asked.decode()
    assert read_line(tmp_path, session) == line.decode()


def test_the_slots_of_the_golden_brief_file_are_written_byte_for_byte() -> None:
    data = (GOLDEN / "brief_v2.bin").read_bytes()
    assert len(data) == FILE_BYTES
    valid = 0
    for number, at in enumerate(range(SLOTS_AT, FILE_BYTES, SLOT_BYTES)):
        slot = decode_slot(data[at : at + SLOT_BYTES])
        if slot is not None:
            valid += 1
            assert encode_slot(slot) == data[at : at + SLOT_BYTES]
            assert 0 <= number - first_slot(session_bytes(slot.session_id)) < 8
    assert valid == 8
