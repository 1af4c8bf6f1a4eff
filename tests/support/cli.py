"""The installed launcher as tests use it, and its owner held where it is."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from context_graph.config import lock_path
from context_graph.wire.client.spawn import start_owner, stop_owner, wait_ready
from context_graph.wire.run_folder import read_holder

__all__ = ["Cli", "alone", "end_process", "only_for_owners", "stopped"]


def alone(cli: Cli, folder: Path) -> Path:
    """A copy of the launcher, with what it runs if the environment names no interpreter."""
    shutil.copy(cli.launcher.with_name("context-graph-py"), folder)
    return Path(shutil.copy(cli.launcher, folder / "context-graph-cli"))


def only_for_owners(path: Path, program: str, others: Path) -> Path:
    """An interpreter at ``path``: ``program`` for the owner, ``others`` for all else."""
    path.write_text(
        f'#!/bin/sh\ncase "$*" in *context_graph.owner*) exec {program} "$@";; esac\nexec {others} "$@"\n'
    )
    path.chmod(0o755)
    return path


@dataclass(frozen=True)
class Cli:
    """The installed launcher, run as a process in ``project`` with an environment of its own."""

    launcher: Path
    project: Path
    env: Mapping[str, str]

    def run(
        self,
        *args: str,
        stdin: str | bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run one command to its end; text in and out."""
        done = subprocess.run(
            [str(self.launcher), *args],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env={**self.env, **(env or {})},
            cwd=cwd or self.project,
            timeout=timeout,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args,
            done.returncode,
            done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"),
        )

    @property
    def root(self) -> Path:
        return Path(self.env["CONTEXT_GRAPH_HOME"])

    def start_owner(self) -> None:
        """What `owner start` does, without starting a Python for it."""
        with patch.dict(os.environ, self.env, clear=True), start_owner(self.root) as starting:
            wait_ready(self.root, time.monotonic() + 30, starting)

    def owner_pid(self) -> int:
        """The process of its owner, which answers; one is started if there is none.

        `owner status` may tell of one that only starts, by the pid 0: a signal to that is one to all tests.
        """
        self.start_owner()
        holder = read_holder(lock_path(self.root))
        assert holder is not None
        return holder.pid

    def stop_owner(self) -> None:
        """What `owner stop` does, without starting a Python for it, and with more patience."""
        stop_owner(self.root, 40.0)


def end_process(pid: int) -> None:
    """Kill a process and wait until it is gone: on a busy machine a killed one still listens for a while."""
    with open(os.pidfd_open(pid), "rb", buffering=0) as gone:
        os.kill(pid, signal.SIGKILL)
        select.select([gone], [], [])


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Hold a process that the test has started where it is; on leaving it goes on, if it is still there."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
