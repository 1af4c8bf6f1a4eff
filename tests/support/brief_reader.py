"""Reads the brief cache as the launcher does: a twin of ext/launcher/src/brief.rs, for tests and benches."""

from __future__ import annotations

import os
from typing import Final

from context_graph.owner.sessions.brief_cache import (
    HEADER,
    HEADER_BYTES,
    HEADER_USED,
    SLOT_BYTES,
    SLOTS,
    STATE_COLD,
    WINDOW,
    BriefSlot,
    decode_slot,
    first_slot,
    session_bytes,
)

COLD_LINE: Final = "[C:? r=? IC=?]"
"""What a session without a valid slot shows."""
_TRIES: Final = 3


def read_slot(path: str | os.PathLike[str], session_id: str | None) -> BriefSlot | None:
    """The slot of ``session_id``, or without one the newest slot of the file; None if there is none.

    Cost: one open, the header, one read of 4 KiB (70 KiB without a session id); more only if a slot is torn.
    """
    session = None if session_id is None else session_bytes(session_id)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if os.pread(handle, HEADER_USED, 0) != HEADER[:HEADER_USED]:
            return None
        for _ in range(_TRIES):
            found, torn = _newest(handle) if session is None else _own(handle, session)
            if found is not None or not torn:
                return found
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def read_line(path: str | os.PathLike[str], session_id: str | None) -> str:
    """The brief of ``session_id`` (None: of the newest session), without a newline; COLD_LINE if unknown.

    Never raises for what is or isn't on disk.
    """
    slot = read_slot(path, session_id)
    return COLD_LINE if slot is None or slot.state == STATE_COLD or not slot.line else slot.line


def _own(handle: int, session: bytes) -> tuple[BriefSlot | None, bool]:
    """A session's slot, and whether a slot with its id was torn in the middle of a write."""
    data = os.pread(handle, WINDOW * SLOT_BYTES, HEADER_BYTES + first_slot(session) * SLOT_BYTES)
    torn = False
    for at in range(0, len(data), SLOT_BYTES):
        part = data[at : at + SLOT_BYTES]
        slot = decode_slot(part)
        if slot is not None and session_bytes(slot.session_id) == session:
            return slot, False
        torn = torn or (slot is None and part[112 : 112 + len(session)] == session)
    return None, torn


def _newest(handle: int) -> tuple[BriefSlot | None, bool]:
    data = os.pread(handle, SLOTS * SLOT_BYTES, HEADER_BYTES)
    slots = (decode_slot(data[at : at + SLOT_BYTES]) for at in range(0, len(data), SLOT_BYTES))
    return max(
        (slot for slot in slots if slot is not None), key=lambda slot: slot.updated_ms, default=None
    ), False
