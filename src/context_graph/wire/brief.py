"""Reads and writes the brief cache: one fixed slot per session, readable without a lock.

Twin: ext/launcher/src/brief.rs. The owner is the only writer and writes whole slots; a reader trusts a slot
only if its checksum and its full session id match, so a torn or foreign line is never shown (invariant 8).
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from typing import Final

from context_graph.config import fnv1a64
from context_graph.errors import MalformedFrameError
from context_graph.model import cut_session_id

# The layout, byte by byte; never renumber. tests/golden/brief_v1.bin pins it for both languages.
HEADER_BYTES: Final = 4096
SLOT_BYTES: Final = 512
HOME_SLOTS: Final = 128
WINDOW: Final = 8
SLOTS: Final = HOME_SLOTS + WINDOW - 1
FILE_BYTES: Final = HEADER_BYTES + SLOTS * SLOT_BYTES
LINE_BYTES: Final = 64
SESSION_BYTES: Final = 400
HEADER: Final = struct.pack("<8sIIII", b"CGBRIEF1", 1, SLOT_BYTES, HOME_SLOTS, WINDOW).ljust(
    HEADER_BYTES, b"\0"
)

HEADER_USED: Final = 24
"""The rest of the header is reserved: readers of this version ignore it."""

STATES: Final = ("DOR", "FRG", "EMG", "CON", "HYP")
"""Consciousness states by their number in a slot."""
STATE_COLD: Final = 255
COLD_LINE: Final = "[C:? r=? IC=?]"
"""What a session without a valid slot shows."""

_SLOT: Final = struct.Struct("<IIIBBHq6f64s400s")
_MAGIC: Final = 0x31424743
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class BriefSlot:
    """The data of one session that the brief needs.

    ``state`` is an index into STATES or STATE_COLD; ``line`` is what prints, at most LINE_BYTES of
    UTF-8 without a newline; ``updated_ms`` is Unix milliseconds; the six numbers are float32.
    """

    session_id: str
    state: int
    line: str
    updated_ms: int
    consciousness: float = 0.0
    r: float = 0.0
    reflection: float = 0.0
    differentiation: float = 0.0
    ic: float = 0.0
    crisis_threshold: float = 0.0
    sequence: int = 0


def session_bytes(session_id: str) -> bytes:
    """A session id as a slot keeps it, cut as everywhere (REQ-SESSION-01): SESSION_BYTES or less."""
    session_id = cut_session_id(session_id)
    try:
        return session_id.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate, from an escape in someone's JSON
        return session_id.encode("utf-8", "replace")


def first_slot(session: bytes) -> int:
    """Number of the first of the WINDOW slots in which a session's slot may be."""
    return fnv1a64(session) % HOME_SLOTS


def encode_slot(slot: BriefSlot) -> bytes:
    """The SLOT_BYTES bytes of ``slot``.

    Raises:
        MalformedFrameError: If a text is too long, the line holds a newline, or a number does not fit.
    """
    line, session = slot.line.encode(), session_bytes(slot.session_id)
    if len(line) > LINE_BYTES or b"\n" in line:
        raise MalformedFrameError(f"brief line {slot.line!r} is over {LINE_BYTES} bytes or not one line")
    if not 0 < len(session) <= SESSION_BYTES:
        raise MalformedFrameError(f"brief: session id of {len(session)} bytes; 1 to {SESSION_BYTES} fit")
    try:
        data = _SLOT.pack(
            0, _MAGIC, slot.sequence & 0xFFFFFFFF, slot.state, len(line), len(session), slot.updated_ms,
            slot.consciousness, slot.r, slot.reflection, slot.differentiation, slot.ic,
            slot.crisis_threshold, line, session,
        )  # fmt: skip
    except (struct.error, OverflowError) as error:
        raise MalformedFrameError(f"brief slot of {slot.session_id!r}: {error}") from error
    return zlib.crc32(data[4:]).to_bytes(4, "little") + data[4:]


def decode_slot(data: bytes) -> BriefSlot | None:
    """The slot in ``data``, or None if it is empty, torn, damaged or of an unknown layout."""
    if len(data) != SLOT_BYTES or int.from_bytes(data[:4], "little") != zlib.crc32(data[4:]):
        return None
    _, magic, sequence, state, line_length, session_length, updated_ms, *numbers = _SLOT.unpack(data)
    line, session = numbers[6], numbers[7]
    known_state = state < len(STATES) or state == STATE_COLD
    if (
        magic != _MAGIC
        or line_length > LINE_BYTES
        or not 0 < session_length <= SESSION_BYTES
        or not known_state
    ):
        return None
    try:
        text = line[:line_length].decode()
    except UnicodeDecodeError:
        return None
    session_id = session[:session_length].decode("utf-8", "surrogateescape")
    c, r, reflection, differentiation, ic, threshold = numbers[:6]
    return BriefSlot(
        session_id, state, text, updated_ms, c, r, reflection, differentiation, ic, threshold, sequence
    )


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
