"""The installed launcher as tests use it, and its owner held where it is."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cli", "stopped"]


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
        timeout: float = 30,
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


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Hold a process that the test has started where it is; on leaving it goes on, if it is still there."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
