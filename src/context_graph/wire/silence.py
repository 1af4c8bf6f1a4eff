"""Removes the notes that hooks leave in the `run` folder about an owner in trouble. Twin: trouble.rs.

`owner.silent`: it did not answer in time, so that for some seconds nobody waits for it again.
`told-owner-…`, `told-store-…`: a session's user has been told of a trouble.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

_WEEK_S: Final = 7 * 86_400


def forget_silence(root: Path) -> None:
    """Remove the note that the owner is silent: it answers, so hooks ask it again at once."""
    with contextlib.suppress(OSError):
        os.unlink(root / "run" / "owner.silent")


def forget_troubles(root: Path) -> None:
    """Remove the notes about a failed start and old marks: an owner has started."""
    forget_silence(root)
    with contextlib.suppress(OSError), os.scandir(root / "run") as entries:
        for entry in entries:
            old = entry.name.startswith("told-store-") and entry.stat().st_mtime < time.time() - _WEEK_S
            if old or entry.name.startswith("told-owner-"):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
