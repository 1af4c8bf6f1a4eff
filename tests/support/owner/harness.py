"""The real owner process around the echo service of echo_owner.py, and raw ways to talk to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from context_graph.config import Location, lock_path, socket_path
from context_graph.wire import run_folder
from context_graph.wire.client.connection import connect, exchange
from context_graph.wire.client.silent import look_at
from context_graph.wire.frames import Reply, Request, encode_request

PROGRAM = Path(__file__).with_name("echo_owner.py")
WAIT_S = 30.0


def wait_until(condition: Callable[[], object], what: str, seconds: float = WAIT_S) -> None:
    """Return as soon as ``condition`` holds; fail after ``seconds``."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.005)


@dataclass
class OwnerHarness:
    """Starts, kills and asks owners of one data root; ends every process it started."""

    root: Path
    env: dict[str, str]
    command: list[str]
    """The echo owner's, but for its words."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def spawn(self, *args: str, **settings: object) -> subprocess.Popen[bytes]:
        """Start an owner process; ``settings`` become their environment twins. Does not wait for it."""
        env = {**self.env, **{f"CONTEXT_GRAPH_{key.upper()}": str(value) for key, value in settings.items()}}
        process = subprocess.Popen(
            [*self.command, "--root", str(self.root), *args],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.processes.append(process)
        return process

    def start(self, **settings: object) -> subprocess.Popen[bytes]:
        """Start an owner process and wait until it answers."""
        process = self.spawn(**settings)
        wait_until(lambda: self.listens() or process.poll() is not None, "an owner that listens")
        assert process.poll() is None, process.stderr and process.stderr.read()
        return process

    def listens(self) -> bool:
        connection = connect(self.root, time.monotonic() + WAIT_S)
        if connection is not None:
            connection.close()
        return connection is not None

    def raw(self) -> socket.socket:
        """A connected socket with a 5 s timeout; the caller closes it."""
        connection = connect(self.root, time.monotonic() + WAIT_S)
        assert connection is not None, "no owner listens"
        connection.settimeout(WAIT_S)
        return connection

    def ask(self, verb: str, body: bytes = b"", version: str = "", **params: object) -> Reply:
        """One request on a connection of its own."""
        frame = encode_request(Request(verb=verb, params=params, body=body, version=version))
        with self.raw() as connection:
            return exchange(connection, frame, time.monotonic() + WAIT_S)

    def status(self) -> dict[str, object]:
        view = json.loads(self.ask("owner.status").stdout)
        assert isinstance(view, dict)
        return view

    def pid(self) -> int:
        """The pid that the lock file names."""
        holder = run_folder.read_holder(lock_path(self.root))
        return holder.pid if holder is not None else 0

    def held(self) -> bool:
        return run_folder.is_locked(lock_path(self.root))

    def log(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.root / "log" / "owner.log").read_text()
        return ""

    @property
    def socket(self) -> Path:
        return socket_path(self.root)

    @property
    def location(self) -> Location:
        return Location(self.root, self.root / "stores" / "s", self.root)

    def ended(self, process: subprocess.Popen[bytes], seconds: float = WAIT_S) -> int:
        """Wait for the process's end; its exit code."""
        code = process.wait(seconds)
        if process.stderr is not None:
            process.stderr.close()
        return code

    def close(self) -> None:
        """End every owner of this root: ours by their handles, detached ones by the pid in the lock."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(WAIT_S)
            if process.stderr is not None:
                process.stderr.close()
        started = self.root / "owners"
        pids = [int(word) for word in started.read_text().split()] if started.exists() else []
        for pid in {*pids, self.pid()} - {process.pid for process in self.processes}:
            with contextlib.suppress(OSError):
                if pid and str(PROGRAM).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        try:
            wait_until(lambda: not self.held(), "the lock to be free after the test")
        except AssertionError as late:
            raise AssertionError(f"{late}; {look_at(self.root)}") from late
