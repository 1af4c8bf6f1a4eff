"""The installed launcher as tests use it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cli"]


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
