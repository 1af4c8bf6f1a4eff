"""kill -9 of a command before its n-th call that changes a file, by a library preloaded into it.

What it does in between changes nothing on the disk, so these moments are all there are, but for a write
that is cut in the middle.
"""

from __future__ import annotations

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.faults.shim import compile_library
from tests.support.cli import Cli

__all__ = ["Steps"]

_SOURCE = Path(__file__).with_name("steps.c")
_FORM = struct.Struct("<qq")
_LIMIT_S = 120.0


@dataclass(frozen=True)
class Steps:
    """The built library and the file that rules it."""

    library: Path
    control: Path

    @classmethod
    def build(cls, folder: Path) -> Steps:
        """Compile it; the test is skipped where there is no compiler."""
        return cls(compile_library(_SOURCE, folder), folder / "steps")

    def start(
        self, cli: Cli, *words: str, die_at: int = 0, exchanges: bool = True
    ) -> subprocess.Popen[bytes]:
        """Run a command; it dies before its call number ``die_at`` (0: never).

        Args:
            exchanges: Whether the file system can exchange two names in one step.
        """
        self.control.write_bytes(_FORM.pack(die_at, not exchanges))
        added = {
            "LD_PRELOAD": str(self.library),
            "CONTEXT_GRAPH_FAULT_STEPS": str(self.control),
            "PYTHONDONTWRITEBYTECODE": "1",  # the calls are to be the same each time
        }
        return subprocess.Popen(
            [str(cli.launcher), *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**cli.env, **added}, cwd=cli.project, start_new_session=True,
        )  # fmt: skip

    def run(
        self, cli: Cli, *words: str, die_at: int = 0, exchanges: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        """The same, to its end."""
        with self.start(cli, *words, die_at=die_at, exchanges=exchanges) as process:
            out, err = process.communicate(timeout=_LIMIT_S)
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    @property
    def calls(self) -> list[str]:
        """The calls of the last command, as "name path"; the one it died before is not among them."""
        return self.control.with_name(f"{self.control.name}.log").read_text().splitlines()
