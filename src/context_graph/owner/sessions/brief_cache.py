"""Writes the brief cache, one slot per event; ``wire.brief`` defines its format."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from dataclasses import replace
from pathlib import Path

from context_graph.identity.consciousness import Metrics
from context_graph.model import SessionIdentitySnapshot
from context_graph.wire.brief import (
    FILE_BYTES,
    HEADER,
    HEADER_BYTES,
    HEADER_USED,
    SLOT_BYTES,
    SLOTS,
    STATE_COLD,
    STATES,
    WINDOW,
    BriefSlot,
    decode_slot,
    encode_slot,
    first_slot,
    session_bytes,
)
from context_graph.wire.run_folder import same_file


class BriefCache:
    """The only writer of one store's ``brief.bin``. Opened at the first write; not thread-safe.

    What it knows of the slots is kept in memory (135 small entries), so a write reads nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle = -1
        self._slots: list[BriefSlot | None] = []
        self._number_of: dict[bytes, int] = {}

    def put(self, snapshot: SessionIdentitySnapshot, metrics: Metrics, line: str | None) -> None:
        """Show ``line`` for the snapshot's session; None: the session has no evidence yet.

        Raises:
            OSError: If the file can't be written; readers go on seeing the slot as it was.
            MalformedFrameError: If the line does not fit a slot.
        """
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
            )
        )

    def write(self, slot: BriefSlot) -> None:
        """Write one slot; its ``sequence`` is set here. Raises as ``put``. Cost: one 512-byte write."""
        self._open()
        session = session_bytes(slot.session_id)
        number = self._number(session)
        old = self._slots[number]
        slot = replace(slot, sequence=(old.sequence + 1) & 0xFFFFFFFF if old is not None else 1)
        written = os.pwrite(self._handle, encode_slot(slot), HEADER_BYTES + number * SLOT_BYTES)
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

    def _number(self, session: bytes) -> int:
        """The session's slot, else a free one of its window, else the least recently updated one."""
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
        self._slots = [
            decode_slot(data[at : at + SLOT_BYTES]) for at in range(HEADER_BYTES, FILE_BYTES, SLOT_BYTES)
        ]
        self._number_of = {
            session_bytes(slot.session_id): at for at, slot in enumerate(self._slots) if slot is not None
        }

    def _read(self) -> bytes:
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return b""
        with open(handle, "rb") as source:
            return source.read(FILE_BYTES + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else b""

    def _create(self, damaged: bytes) -> bytes:
        """A whole new file by rename, all blocks written now, with the valid slots of a damaged one."""
        data = bytearray(HEADER.ljust(FILE_BYTES, b"\0"))
        if damaged.startswith(HEADER[:HEADER_USED]):
            for number in range(SLOTS):
                at = HEADER_BYTES + number * SLOT_BYTES
                slot = decode_slot(damaged[at : at + SLOT_BYTES])
                if slot is not None and 0 <= number - first_slot(session_bytes(slot.session_id)) < WINDOW:
                    data[at : at + SLOT_BYTES] = damaged[at : at + SLOT_BYTES]
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            with open(os.open(temporary, flags, 0o600), "wb", buffering=0) as sink:
                sink.write(data)
            os.replace(temporary, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        return bytes(data)
