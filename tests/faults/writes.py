"""The n-th write to a database's log fails or kills, by a library preloaded into the process.

A batch is one such write, so that a change which takes two batches shows: with the first and without the
second.
"""

from __future__ import annotations

import shlex
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.faults.shim import compile_library

__all__ = ["Writes"]

_SOURCE = Path(__file__).with_name("writes.c")
_FORM = struct.Struct("<qqq")


@dataclass(frozen=True)
class Writes:
    """The built library and the file that rules it."""

    library: Path
    control: Path

    @classmethod
    def build(cls, folder: Path) -> Writes:
        """Compile it; the test is skipped where there is no compiler."""
        made = cls(compile_library(_SOURCE, folder), folder / "writes")
        made.arm(0, kills=False)
        return made

    @property
    def env(self) -> Mapping[str, str]:
        """For the process that is to be struck."""
        return {"LD_PRELOAD": str(self.library), "CONTEXT_GRAPH_FAULT_WRITES": str(self.control)}

    def python(self) -> Path:
        """An interpreter for $CONTEXT_GRAPH_PYTHON that is below it: a start may drop variables."""
        wrapper = self.control.with_name("python")
        wrapper.write_text(
            "#!/bin/sh\n"
            + "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.env.items())
            + f'exec {shlex.quote(sys.executable)} "$@"\n'
        )
        wrapper.chmod(0o755)
        return wrapper

    def arm(self, at: int, *, kills: bool) -> None:
        """Strike at the write of that number, from 1; 0 for none. The count begins anew."""
        # In place: the processes have the file mapped.
        with open(self.control, "r+b" if self.control.exists() else "wb") as sink:
            sink.write(_FORM.pack(at, kills, 0))

    @property
    def seen(self) -> int:
        """Writes since it was armed."""
        count: int = _FORM.unpack(self.control.read_bytes())[2]
        return count
