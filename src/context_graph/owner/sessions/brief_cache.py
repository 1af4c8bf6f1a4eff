"""Writes the cache that the launcher reads without a lock: a slot for each session, and a filter of files.

A tool call whose session has nothing due, and that touches no file of the filter, is not asked about. The
filter may name too many files, never too few. The owner is the only writer and writes whole slots; a reader
trusts a slot only if its checksum and its full session id match, so a torn or foreign line is never shown
(invariant 8). Reader: ext/launcher/src/brief.rs.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from context_graph.config import fnv1a64
from context_graph.errors import MalformedFrameError
from context_graph.model import SessionIdentitySnapshot, cut_session_id
from context_graph.system.small_files import open_regular, write_atomic
from context_graph.wire.run_folder import same_file

if TYPE_CHECKING:
    from context_graph.identity.consciousness import Metrics

# The layout, byte by byte; never renumber. tests/golden/brief_v2.bin pins it for both languages.
HEADER_BYTES: Final = 4096
FILTER_BYTES: Final = 16 * 1024
SLOTS_AT: Final = HEADER_BYTES + FILTER_BYTES
SLOT_BYTES: Final = 1024
HOME_SLOTS: Final = 128
WINDOW: Final = 8
SLOTS: Final = HOME_SLOTS + WINDOW - 1
FILE_BYTES: Final = SLOTS_AT + SLOTS * SLOT_BYTES
LINE_BYTES: Final = 64
SESSION_BYTES: Final = 400
HEADER: Final = struct.pack("<8sIIII", b"CGBRIEF2", 2, SLOT_BYTES, HOME_SLOTS, WINDOW).ljust(
    HEADER_BYTES, b"\0"
)

HEADER_USED: Final = 24
"""The rest of the header is reserved: readers of this version ignore it."""

STATES: Final = ("DOR", "FRG", "EMG", "CON", "HYP")
"""Consciousness states by their number in a slot."""
STATE_COLD: Final = 255

DONE: Final = 127
"""Most files that a slot can mark as done: nothing more is shown about them in its session."""

_SLOT: Final = struct.Struct(f"<IIIBBHq6f64s400sI{DONE}I")
_MAGIC: Final = 0x31424743
_DUE, _FILES_OVER, _AT_STOP = 1, 2, 4
_PART_BYTES: Final = 64
_FILTER_BITS: Final = 4


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
    due: bool = False
    """There is a line for the session's next event."""
    files_over: bool = False
    """Nothing more is shown about files in the session."""
    at_stop: bool = False
    """The session's next Stop is asked about."""
    done: tuple[int, ...] = ()
    """`mark` of the files about which nothing more is shown, the newest last."""


def session_bytes(session_id: str) -> bytes:
    """Return a session id as a slot keeps it, cut as everywhere (REQ-SESSION-01): SESSION_BYTES or less."""
    session_id = cut_session_id(session_id)
    try:
        return session_id.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate, from an escape in someone's JSON
        return session_id.encode("utf-8", "replace")


def first_slot(session: bytes) -> int:
    """Number of the first of the WINDOW slots in which a session's slot may be."""
    return fnv1a64(session) % HOME_SLOTS


def encode_slot(slot: BriefSlot) -> bytes:
    """Return the SLOT_BYTES bytes of ``slot``.

    Raises MalformedFrameError if a text is too long, the line holds a newline, or a number does not fit.
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
            _DUE * slot.due | _FILES_OVER * slot.files_over | _AT_STOP * slot.at_stop,
            *slot.done, *[0] * (DONE - len(slot.done)),
        )  # fmt: skip
    except (struct.error, OverflowError) as error:
        raise MalformedFrameError(f"brief slot of {slot.session_id!r}: {error}") from error
    return zlib.crc32(data[4:]).to_bytes(4, "little") + data[4:]


def decode_slot(data: bytes) -> BriefSlot | None:
    """Return the slot in ``data``, or None if it is empty, torn, damaged or of an unknown layout."""
    if len(data) != SLOT_BYTES or int.from_bytes(data[:4], "little") != zlib.crc32(data[4:]):
        return None
    _, magic, sequence, state, line_length, session_length, updated_ms, *numbers = _SLOT.unpack(data)
    line, session, flags, *done = numbers[6:]
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
    due, files_over, at_stop = (bool(flags & flag) for flag in (_DUE, _FILES_OVER, _AT_STOP))
    measures = (c, r, reflection, differentiation, ic, threshold)
    marks = tuple(filter(None, done))
    return BriefSlot(
        session_id, state, text, updated_ms, *measures, sequence, due, files_over, at_stop, marks
    )


def key_of(path: str) -> int:
    """Return the filter's key of a file, 64 bits; of its path only its folder's name and its own count, so
    that it is the same in each checkout.
    """
    hashed = fnv1a64("/".join(path.split("/")[-2:]).encode("utf-8", "surrogateescape"))
    return hashed ^ hashed >> 32


def mark(path: str) -> int:
    """Return the file as a slot's `done` names it, 1 to 2 ** 32 - 1."""
    return max(1, key_of(path) >> 32)


class BriefCache:
    """The only writer of one store's ``brief.bin``. Opened at the first write; not thread-safe.

    What it knows of the slots is kept in memory (135 small entries), so a write reads nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle = -1
        self._slots: list[BriefSlot | None] = []
        self._number_of: dict[bytes, int] = {}
        self._filter = bytearray()
        self._due: set[str] = set()

    def put(self, snapshot: SessionIdentitySnapshot, metrics: Metrics, line: str | None) -> None:
        """Show ``line`` for the snapshot's session; None: the session has no evidence yet.

        Raises OSError if the file can't be written; readers go on seeing the slot as it was. Raises
        MalformedFrameError: If the line does not fit a slot.
        """
        self._open()
        known = self._known(snapshot.session_id)
        done = known.done if known is not None else ()
        self.write(
            BriefSlot(
                session_id=snapshot.session_id,
                state=STATE_COLD if line is None else STATES.index(metrics.state.short_name),
                line=line or "",
                updated_ms=time.time_ns() // 1_000_000,
                consciousness=metrics.consciousness,
                r=metrics.r,
                reflection=metrics.reflection,
                differentiation=metrics.differentiation,
                ic=metrics.ic,
                crisis_threshold=snapshot.crisis_threshold,
                due=snapshot.session_id in self._due,
                files_over=known is not None and known.files_over,
                at_stop=known is not None and known.at_stop,
                done=done,
            )
        )

    def set_due(self, session_id: str, *, due: bool) -> None:
        """Have the session's next event asked about, or not. Raises OSError as `put`."""
        known = self._known(session_id)
        (self._due.add if due else self._due.discard)(session_id)
        if known is not None and known.due != due:
            self.write(replace(known, due=due))

    def set_at_stop(self, session_id: str, *, asks: bool) -> None:
        """Have the session's next Stop asked about, or not. Raises OSError as `put`."""
        known = self._known(session_id)
        if known is not None and known.at_stop != asks:
            self.write(replace(known, at_stop=asks))

    def add_done(self, session_id: str, paths: Iterable[str], over: bool = False) -> None:
        """Mark these files, or all, as done: nothing more is shown about them. Raises OSError as `put`."""
        known = self._known(session_id)
        if known is None:
            return
        fresh = [path_mark for path_mark in map(mark, paths) if path_mark not in known.done]
        if fresh or over != known.files_over:
            self.write(replace(known, done=(*known.done, *fresh)[-DONE:], files_over=over))

    def forget_done(self, *, but: str = "") -> None:
        """There may be something to tell about any file again, in all sessions but one. Raises as `put`."""
        for slot in [known for known in self._slots if known is not None and known.session_id != but]:
            if slot.done or slot.files_over:
                self.write(replace(slot, done=(), files_over=False))

    def forget_done_in(self, session_id: str) -> None:
        """There may be something to tell about any file again in one session. Raises as `put`."""
        known = self._known(session_id)
        if known is not None and (known.done or known.files_over):
            self.write(replace(known, done=(), files_over=False))

    def add(self, paths: Iterable[str]) -> None:
        """There may be something to tell about these files. Raises as `put`. Cost: a write for each."""
        self._open()
        for path in paths:
            key = key_of(path)
            part = (key & 0xFF) * _PART_BYTES
            for number in range(_FILTER_BITS):
                bit = key >> (8 + 9 * number) & 0x1FF
                self._filter[part + bit // 8] |= 1 << bit % 8
            os.pwrite(self._handle, self._filter[part : part + _PART_BYTES], HEADER_BYTES + part)

    def write(self, slot: BriefSlot) -> None:
        """Write one slot; its ``sequence`` is set here. Raises as ``put``. Cost: one 512-byte write."""
        self._open()
        session = session_bytes(slot.session_id)
        number = self._number(session)
        old = self._slots[number]
        slot = replace(slot, sequence=(old.sequence + 1) & 0xFFFFFFFF if old is not None else 1)
        written = os.pwrite(self._handle, encode_slot(slot), SLOTS_AT + number * SLOT_BYTES)
        if written != SLOT_BYTES:
            raise OSError(f"{self._path}: {written} of {SLOT_BYTES} bytes written")
        if old is not None:
            self._number_of.pop(session_bytes(old.session_id), None)
        self._slots[number] = slot
        self._number_of[session] = number

    def close(self) -> None:
        """Let go of the file; the next write opens it again."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        self._slots.clear()
        self._number_of.clear()

    def _known(self, session_id: str) -> BriefSlot | None:
        number = self._number_of.get(session_bytes(session_id))
        return None if number is None else self._slots[number]

    def _number(self, session: bytes) -> int:
        """Return the session's slot, else a free one of its window, else the least recently updated one."""
        known = self._number_of.get(session)
        if known is not None:
            return known
        first = first_slot(session)
        return min(range(first, first + WINDOW), key=self._age)

    def _age(self, number: int) -> tuple[bool, int]:
        slot = self._slots[number]
        return (slot is not None, slot.updated_ms if slot is not None else 0)

    def _open(self) -> None:
        """Open and index the file at ``path``; create it if there is none of ours."""
        if self._handle >= 0 and same_file(self._handle, self._path):
            return
        self.close()
        data = self._read()
        if len(data) != FILE_BYTES or not data.startswith(HEADER[:HEADER_USED]):
            data = self._create(data)
        self._handle = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._filter = bytearray(data[HEADER_BYTES:SLOTS_AT])
        self._slots = [
            decode_slot(data[at : at + SLOT_BYTES]) for at in range(SLOTS_AT, FILE_BYTES, SLOT_BYTES)
        ]
        self._number_of = {
            session_bytes(slot.session_id): at for at, slot in enumerate(self._slots) if slot is not None
        }
        self.forget_done()  # what an earlier owner had told is not known here

    def _read(self) -> bytes:
        try:
            with open_regular(str(self._path), follow=False) as source:
                return source.read(FILE_BYTES + 1)
        except (OSError, ValueError):
            return b""

    def _create(self, damaged: bytes) -> bytes:
        """Return a new file by rename, all blocks written now, with the valid slots of a damaged one."""
        data = bytearray(HEADER.ljust(FILE_BYTES, b"\0"))
        if damaged.startswith(HEADER[:HEADER_USED]):
            for number in range(SLOTS):
                at = SLOTS_AT + number * SLOT_BYTES
                slot = decode_slot(damaged[at : at + SLOT_BYTES])
                if slot is not None and 0 <= number - first_slot(session_bytes(slot.session_id)) < WINDOW:
                    data[at : at + SLOT_BYTES] = damaged[at : at + SLOT_BYTES]
        whole = bytes(data)
        write_atomic(str(self._path), whole, sync=False)
        return whole
