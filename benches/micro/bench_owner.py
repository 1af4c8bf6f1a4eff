"""The owner's socket: round trips of an empty verb, beside asyncio's own transports doing nothing at all.

`make bench` runs these. Group `round trip` compares servers, so its rows differ only in who answers;
start cost, memory and idle time of the measured owner are in `extra_info` of its first row.
"""

from __future__ import annotations

import contextlib
import itertools
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
from tests.support.owner.log_applier import opened
from tests.support.owner.log_writer import encode_event, write_segment

from context_graph.owner.sessions.brief_cache import BriefCache, BriefSlot, decode_slot, encode_slot
from context_graph.owner.sessions.log_reader import LoggedEvent, decode_line
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


def _logged(number: int) -> LoggedEvent:
    """One of eight sessions' calls, with 2 KB of text."""
    body = {
        "session_id": f"s-{number % 8}",
        "tool_name": "Edit",
        "tool_use_id": f"toolu_{number}",
        "tool_input": {"file_path": f"/p/{number % 50}.py", "new_string": f"quote {number} parcels " * 50},
        "tool_response": {"stdout": "word " * 200},
    }
    verb, at_ms = "hooks.post-tool", 1_800_000_000_000 + 1000 * number
    return LoggedEvent(f"{number:032x}", verb, "", at_ms, "/p", "/p", {"format": "claude"}, body)


def test_decoding_a_line_of_the_log(benchmark) -> None:
    benchmark.group = "wire"
    assert benchmark(decode_line, encode_event(_logged(1))) == _logged(1)


def test_encoding_and_decoding_a_brief_slot(benchmark) -> None:
    benchmark.group = "wire"
    slot = BriefSlot("7c6a1b2e-0000-4000-8000-000000000000", 3, "[C:CON r=0.97 IC=0.95]", 1)
    assert benchmark(lambda: decode_slot(encode_slot(slot))) == slot


def test_writing_a_brief(benchmark, tmp_path: Path) -> None:
    benchmark.group = "brief cache"
    cache = BriefCache(tmp_path / "brief.bin")
    benchmark(cache.write, BriefSlot("7c6a1b2e-0000-4000-8000-000000000000", 3, "[C:CON r=0.97 IC=0.95]", 1))
    cache.close()


def test_applying_a_thousand_events_that_wait(benchmark, tmp_path: Path) -> None:
    benchmark.group = "event log: 1000 events of 2 KB, applied"
    context = opened(tmp_path)
    numbers = itertools.count()

    def fill() -> None:
        events = (_logged(next(numbers)) for _ in range(1000))
        write_segment(tmp_path, *events, name=f"{next(numbers):013d}-00000000.log")

    benchmark.pedantic(lambda: context.events.read(60.0), setup=fill, rounds=5)
    assert (context.events.waiting, context.events.rejected) == (0, 0)
    context.close()
