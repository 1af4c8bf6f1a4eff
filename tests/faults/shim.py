"""A wall clock that jumps and a disk that is slow, by a library preloaded into the owner and the commands.

The launcher is static, so hooks have the real clock: the two disagree, as on a machine whose clock is set
while sessions run.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.cli import Cli

__all__ = ["Shim", "compile_library"]

_SOURCE = Path(__file__).with_name("shim.c")
_FORM = struct.Struct("<qqq")


def compile_library(source: Path, folder: Path) -> Path:
    """Build the C file ``source`` as a library in ``folder``; skips the test where there is no compiler."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here: apt-get install gcc")
    made = folder / f"{source.stem}.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-o", made, source, "-ldl"]
    subprocess.run(command, check=True)
    return made


@dataclass(frozen=True)
class Shim:
    """The built library and the file that rules it."""

    library: Path
    control: Path

    @classmethod
    def build(cls, folder: Path) -> Shim:
        """Compile it; the test is skipped where there is no compiler."""
        made = cls(compile_library(_SOURCE, folder), folder / "control")
        made.set()
        return made

    def set(self, *, clock_s: float = 0.0, delay_ms: float = 0.0) -> None:
        """From now on the clock is that much ahead and each write takes that much longer."""
        delayed = self.delayed if self.control.exists() else 0
        # In place: the processes have the file mapped.
        with open(self.control, "r+b" if self.control.exists() else "wb") as sink:
            sink.write(_FORM.pack(int(clock_s * 1e9), int(delay_ms * 1e3), delayed))

    @property
    def delayed(self) -> int:
        """How many writes were delayed so far."""
        count: int = _FORM.unpack(self.control.read_bytes())[2]
        return count

    def around(self, cli: Cli) -> Cli:
        """The same program, below the shim."""
        env = {"LD_PRELOAD": str(self.library), "CONTEXT_GRAPH_FAULT_CONTROL": str(self.control)}
        return Cli(cli.launcher, cli.project, {**cli.env, **env})
