"""Lays out the brief cache, brief.bin: a header, then one fixed slot per session. Offsets are on disk.

tests/golden/brief_v1.bin pins the layout for both languages. The owner writes slots
(owner.sessions.brief_cache); the launcher (ext/launcher/src/brief.rs) and ``front.brief`` read them without a
lock: a slot is believed only if its checksum and its full session id match, so a torn or foreign line is
never shown (invariant 8).
"""

from __future__ import annotations

import struct
import zlib

from context_graph.config.places import fnv1a64

HEADER_BYTES = 4096
HEADER_USED = 24
"""The rest of the header is reserved: readers of this version ignore it."""
SLOT_BYTES = 512
HOME_SLOTS = 128
WINDOW = 8
SLOTS = HOME_SLOTS + WINDOW - 1
FILE_BYTES = HEADER_BYTES + SLOTS * SLOT_BYTES
LINE_BYTES = 64
SESSION_BYTES = 400
SESSION_AT = 112
HEADER = struct.pack("<8sIIII", b"CGBRIEF1", 1, SLOT_BYTES, HOME_SLOTS, WINDOW).ljust(HEADER_BYTES, b"\0")
STATES = ("DOR", "FRG", "EMG", "CON", "HYP")
"""Consciousness states by their number in a slot."""
STATE_COLD = 255
COLD_LINE = "[C:? r=? IC=?]"
"""What a session without a valid slot shows."""

SLOT = struct.Struct("<IIIBBHq6f64s400s")
"""Checksum of what follows, magic, sequence, state, lengths of line and session, Unix milliseconds,
consciousness, r, reflection, differentiation, ic, crisis threshold, line, session."""
MAGIC = 0x31424743

SlotParts = tuple[bytes, int, str, int, int, tuple[float, ...]]
"""Session, state, line, Unix milliseconds, sequence and the six numbers of a slot."""


def first_slot(session: bytes) -> int:
    """Number of the first of the WINDOW slots in which a session's slot may be."""
    return fnv1a64(session) % HOME_SLOTS


def slot_parts(data: bytes) -> SlotParts | None:
    """The content of the slot in ``data``; None if it is empty, torn, damaged or of an unknown layout."""
    if len(data) != SLOT_BYTES or int.from_bytes(data[:4], "little") != zlib.crc32(data[4:]):
        return None
    _, magic, sequence, state, line_length, session_length, updated_ms, *rest = SLOT.unpack(data)
    if (
        magic != MAGIC
        or line_length > LINE_BYTES
        or not 0 < session_length <= SESSION_BYTES
        or not (state < len(STATES) or state == STATE_COLD)
    ):
        return None
    try:
        line = rest[6][:line_length].decode()
    except UnicodeDecodeError:
        return None
    return rest[7][:session_length], state, line, updated_ms, sequence, tuple(rest[:6])
