"""Exchanges lines and files between the owner and the process that computes a consolidation.

The owner makes a folder with a checkpoint of the store's database (`take_checkpoint`), starts
``arguments(folder)`` and writes one line, the `Request`, to its standard input, which stays open: when it
closes, the process ends at once, so it never outlives its owner. The process writes lines to its standard
output, `Update` while it works and, if it can't be done, one `Failed` at the end; else the file ``prepared``
into the folder, the changes of records. It writes nowhere else and may be killed at any time.

| exit code | |
|---|---|
| 0 | ``prepared`` is complete |
| 1 | `Failed` |
| 3 | standard input was closed |
| negative | killed by that signal |
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from context_graph.consolidation import FOLDER
from context_graph.consolidation.progress import Update
from context_graph.consolidation.request import Request
from context_graph.errors import ContextGraphError, OwnerError, error_for_code

if TYPE_CHECKING:
    from context_graph.store.graph.graph import GraphStore

DATABASE: Final = "db"
"""The checkpoint in a run's folder."""
PREPARED: Final = "prepared"
ABANDONED: Final = 3
"""Exit code of a process whose standard input was closed."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """It could not be done; nothing of it is to be applied."""

    code: str
    message: str

    def error(self) -> ContextGraphError:
        """As an exception of the class that ``code`` names."""
        kind = error_for_code(self.code)
        return (OwnerError if kind is ContextGraphError else kind)(self.message)


Line = Update | Failed

_ENCODER: Final = msgspec.json.Encoder()
_LINES: Final[msgspec.json.Decoder[Line]] = msgspec.json.Decoder(Update | Failed)
_REQUESTS: Final = msgspec.json.Decoder(Request)


def arguments(folder: Path) -> list[str]:
    """Return the command that computes what is prepared in ``folder``."""
    # -P: a folder that the owner happens to run in must not shadow our modules.
    return [sys.executable, "-P", "-m", "context_graph.consolidation", str(folder)]


def write_line(line: Line | Request) -> bytes:
    """Return ``line`` with its newline."""
    return _ENCODER.encode(line) + b"\n"


def read_line(raw: bytes) -> Line:
    """Return what the process said. Raises OwnerError: it is no such line."""
    try:
        return _LINES.decode(raw)
    except msgspec.DecodeError as error:
        raise OwnerError(f"the consolidation's process said {raw[:80]!r}: {error}") from error


def read_request(raw: bytes) -> Request:
    """Return the first line of standard input. Raises msgspec.DecodeError, InvalidParamsError: it is none."""
    return _REQUESTS.decode(raw)


def run_folder(store: Path, name: str) -> Path:
    """Return where the run of that name is computed, in the store folder ``store``."""
    return store / FOLDER / name


def take_checkpoint(store: GraphStore, folder: Path) -> None:
    """Make ``folder`` (0700) with a checkpoint of ``store`` in it, which may then change freely.

    Raises:
        StoreError: It can't be made; nothing is left of it then.

    Cost: some 5 ms; up to 50 ms if much was written lately, which is flushed first.
    """
    from context_graph.store.engine.failures import translate

    try:
        os.makedirs(folder.parent, mode=0o700, exist_ok=True)
        os.mkdir(folder, mode=0o700)
    except OSError as error:
        raise translate(error, folder) from error
    try:
        store.checkpoint(folder / DATABASE)
    except BaseException:
        discard(folder)
        raise


def discard(folder: Path) -> None:
    """Remove a run's folder, and the one above if it is empty. Never fails: leftovers are tried again."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.parent.rmdir()
    except OSError:
        return


def leftovers(store: Path) -> list[Path]:
    """Folders of runs in the store folder ``store``: those of dead processes, if none is running."""
    try:
        return sorted(path for path in (store / FOLDER).iterdir() if path.is_dir())
    except OSError:
        return []
