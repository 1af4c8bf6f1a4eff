"""The owner's socket: round trips of an empty verb, beside asyncio's own transports doing nothing at all.

`make bench` runs these. Group `round trip` compares servers, so its rows differ only in who answers;
start cost, memory and idle time of the measured owner are in `extra_info` of its first row.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.owner.spool_writer import encode_record

from context_graph.owner.sessions.brief_cache import BriefCache, BriefSlot, decode_slot, encode_slot
from context_graph.owner.sessions.spool import SpoolRecord, decode_line, drain
from context_graph.wire.client.connection import connect, exchange
from context_graph.wire.frames import Request, decode_request, encode_request

OWNER = Path(__file__).parents[2] / "tests" / "support" / "owner" / "echo_owner.py"
IDLE_S = 2.0

# The least that asyncio's Protocol classes can do: same frames, no decoding, no log.
TRANSPORTS = """
import asyncio, os, sys
class Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""
    def data_received(self, data):
        self.data += data
        if len(self.data) >= 8 + int.from_bytes(self.data[4:8], "little"):
            self.data = b""
            self.transport.write(b"CGR1\\x0c\\0\\0\\0" + bytes(12))
async def main():
    os.makedirs(os.path.dirname(sys.argv[1]), 0o700)
    await asyncio.get_running_loop().create_unix_server(Echo, sys.argv[1])
    await asyncio.Event().wait()
asyncio.run(main())
"""

REQUEST = Request(
    verb="echo",
    event_id="0123456789abcdef" * 2,
    params={"format": "claude", "session-id": "7c6a1b2e-0000-4000-8000-000000000000"},
    body=b"",
    store=Path("/home/somebody/.local/share/context-graph/stores/project-0123456789abcdef"),
    project=Path("/home/somebody/project"),
    session_env="7c6a1b2e-0000-4000-8000-000000000000",
    cwd=Path("/home/somebody/project/src"),
    deadline_ms=1000,
    at_ms=1_790_000_000_000,
    version="0.1.0",
)


@dataclass(frozen=True)
class Server:
    """A process that answers on the socket of ``root``."""

    root: Path
    process: subprocess.Popen[bytes]

    def cpu_ms(self) -> float:
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e6

    def rss_kib(self) -> int:
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(text.split("Rss:")[1].split()[0])


@contextlib.contextmanager
def _serving(*command: str, root: Path) -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, *command])
    try:
        end = time.monotonic() + 20
        while (connection := connect(root, end)) is None:
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.002)
        connection.close()
        yield Server(root, process)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def short_root() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="cg-bench-"))
    yield folder / "root"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def owner(short_root: Path) -> Iterator[Server]:
    with _serving("-P", str(OWNER), "--root", str(short_root), root=short_root) as server:
        yield server


def _ask_anew(root: Path, frame: bytes) -> None:
    end = time.monotonic() + 5.0
    connection = connect(root, end)
    assert connection is not None
    with connection:
        exchange(connection, frame, end)


def test_round_trip_on_a_connection_of_its_own(benchmark, owner: Server) -> None:
    benchmark.group = "round trip: connect, ask, close"
    benchmark.extra_info["owner start, cpu ms"] = owner.cpu_ms()
    frame = encode_request(REQUEST)
    benchmark(_ask_anew, owner.root, frame)
    time.sleep(0.1)  # its part of the last connection
    benchmark.extra_info["owner, rss KiB"] = owner.rss_kib()
    before = owner.cpu_ms()
    time.sleep(IDLE_S)
    benchmark.extra_info[f"owner, cpu ms in {IDLE_S:g} s of idling"] = owner.cpu_ms() - before


def test_round_trip_with_asyncio_transports(benchmark, short_root: Path) -> None:
    benchmark.group = "round trip: connect, ask, close"
    path = short_root / "run" / "owner.sock"
    with _serving("-c", TRANSPORTS, str(path), root=short_root) as server:
        benchmark(_ask_anew, server.root, encode_request(REQUEST))


def test_round_trip_on_a_kept_connection(benchmark, owner: Server) -> None:
    benchmark.group = "round trip: kept connection"
    frame = encode_request(REQUEST)
    connection = connect(owner.root, time.monotonic() + 5.0)
    assert isinstance(connection, socket.socket)
    with connection:
        benchmark(lambda: exchange(connection, frame, time.monotonic() + 5.0))


def test_decoding_a_request(benchmark) -> None:
    benchmark.group = "wire"
    payload = encode_request(REQUEST)[8:]
    assert benchmark(decode_request, payload) == REQUEST


def test_decoding_a_spool_line_of_two_kilobytes(benchmark) -> None:
    benchmark.group = "wire"
    line = encode_record(
        SpoolRecord("0" * 32, "hooks.stop", "s", 1, "/p", "/p", {}, {"prompt": "word " * 400})
    )
    assert benchmark(decode_line, line).verb == "hooks.stop"


def test_encoding_and_decoding_a_brief_slot(benchmark) -> None:
    benchmark.group = "wire"
    slot = BriefSlot("7c6a1b2e-0000-4000-8000-000000000000", 3, "[C:CON r=0.97 IC=0.95]", 1)
    assert benchmark(lambda: decode_slot(encode_slot(slot))) == slot


def test_writing_a_brief(benchmark, tmp_path: Path) -> None:
    benchmark.group = "brief cache"
    cache = BriefCache(tmp_path / "brief.bin")
    benchmark(cache.write, BriefSlot("7c6a1b2e-0000-4000-8000-000000000000", 3, "[C:CON r=0.97 IC=0.95]", 1))
    cache.close()


def test_draining_a_thousand_lines(benchmark, tmp_path: Path) -> None:
    benchmark.group = "spool: 1000 lines of 2 KB"
    data = encode_record(
        SpoolRecord("0" * 32, "hooks.stop", "s", 1, "/p", "/p", {}, {"prompt": "word " * 400})
    )
    os.mkdir(tmp_path / "spool")

    def fill() -> None:
        (tmp_path / "spool" / "events.log").write_bytes(data * 1000)

    def take() -> None:
        assert drain(tmp_path, lambda record: None).applied == 1000

    benchmark.pedantic(take, setup=fill, rounds=20)
