"""Reads the brief cache as the client sees it: by the launcher, which prints one session's line."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Final

from context_graph.owner.sessions.brief_cache import (
    FILE_BYTES,
    SLOT_BYTES,
    SLOTS_AT,
    BriefSlot,
    decode_slot,
)

__all__ = ["COLD_LINE", "read_line", "read_slot"]

COLD_LINE: Final = "[C:? r=? IC=?]"
_LAUNCHER: Final = Path(sysconfig.get_path("scripts")) / "context-graph-cli"


def read_line(store: Path, session_id: str | None) -> str:
    """The brief of ``session_id`` (None: of the newest session) in the store's folder, without a newline."""
    asked = () if session_id is None else ("--session-id", session_id)
    words = [_LAUNCHER, "consciousness", "brief", "--db-path", store, *asked]
    env = {**os.environ, "CONTEXT_GRAPH_ALLOWED_ROOTS": "/"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True, timeout=60)
    assert not done.stderr, done.stderr
    return done.stdout.removesuffix("\n")


def read_slot(path: Path, session_id: str) -> BriefSlot | None:
    """The slot of ``session_id`` in the file; None if it has none."""
    data = path.read_bytes()
    slots = (decode_slot(data[at : at + SLOT_BYTES]) for at in range(SLOTS_AT, FILE_BYTES, SLOT_BYTES))
    return next((slot for slot in slots if slot is not None and slot.session_id == session_id), None)
