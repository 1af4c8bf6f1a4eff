"""Tells this machine from others."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_MACHINE_IDS: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def machine_id() -> str:
    """Return the system's own id of this machine, else its name."""
    machine = ""
    for path in _MACHINE_IDS:
        with suppress(OSError):
            machine = machine or Path(path).read_text(encoding="ascii", errors="replace").strip()
    return machine or os.uname().nodename
