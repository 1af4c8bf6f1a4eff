"""Prints `consciousness brief`: reads one session's slot of the brief cache, brief.bin.

Twin of ext/launcher/src/brief.rs and briefcmd.rs. The command is one line and exit code 0, always.
"""

from __future__ import annotations

import os

from context_graph.errors import ContextGraphError
from context_graph.front import paths
from context_graph.front.paths import is_debug, session_id
from context_graph.system.streams import write_all
from context_graph.wire.brief_layout import (
    COLD_LINE,
    HEADER,
    HEADER_BYTES,
    HEADER_USED,
    SESSION_AT,
    SLOT_BYTES,
    SLOTS,
    STATE_COLD,
    WINDOW,
    SlotParts,
    first_slot,
    slot_parts,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SESSION_CHARS = 100
"""REQ-SESSION-01: ids are cut to so many characters everywhere (model.MAX_SESSION_ID_LEN)."""
_TRIES = 3
"""A slot may be caught in the middle of a write; a write is over long before the third look."""


def cut_session(session: str) -> bytes:
    """The first characters of an id, as a slot keeps it; a byte that is not UTF-8 counts as one."""
    cut = session[:_SESSION_CHARS]
    try:
        return cut.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate, from an escape in someone's JSON
        return cut.encode("utf-8", "replace")


def lookup(path: str, session: str | None) -> SlotParts | None:
    """The slot of ``session`` in the cache at ``path``, or without one the newest; anything unusual is None.

    Cost: one open, the header, one read of 4 KiB (70 KiB without a session); more only if a slot is torn.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        if os.pread(handle, HEADER_USED, 0) != HEADER[:HEADER_USED]:
            return None
        for _ in range(_TRIES):
            found, torn = _newest(handle) if session is None else _own(handle, cut_session(session))
            if found is not None or not torn:
                return found
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def line(slot: SlotParts | None) -> str:
    """What prints, without a newline."""
    return warm_line(slot) or COLD_LINE


def warm_line(slot: SlotParts | None) -> str:
    """The line of a session in which something was measured, else nothing."""
    return slot[2] if slot is not None and slot[1] != STATE_COLD else ""


def measures(slot: SlotParts | None) -> tuple[float, ...] | None:
    """The six numbers, unless the slot is cold or one is no number: NaN is an error, never a state."""
    if slot is None or slot[1] == STATE_COLD:
        return None
    limit = float("inf")
    return slot[5] if all(-limit < number < limit for number in slot[5]) else None


def _own(handle: int, session: bytes) -> tuple[SlotParts | None, bool]:
    """A session's slot in its window, and whether one that bears its id was torn in the middle of a write."""
    data = os.pread(handle, WINDOW * SLOT_BYTES, HEADER_BYTES + first_slot(session) * SLOT_BYTES)
    torn = False
    for at in range(0, len(data) if session else 0, SLOT_BYTES):
        part = data[at : at + SLOT_BYTES]
        # The id is compared first: most slots are other sessions'.
        if part.startswith(session, SESSION_AT):
            slot = slot_parts(part)
            if slot is not None and slot[0] == session:
                return slot, False
            torn = torn or slot is None
    return None, torn


def _newest(handle: int) -> tuple[SlotParts | None, bool]:
    """The slot updated last in the whole file, and whether one was not whole."""
    data = os.pread(handle, SLOTS * SLOT_BYTES, HEADER_BYTES)
    best: SlotParts | None = None
    torn = False
    for at in range(0, len(data) - SLOT_BYTES + 1, SLOT_BYTES):
        part = data[at : at + SLOT_BYTES]
        slot = slot_parts(part)
        if slot is None:
            torn = torn or any(part[:8])
        elif best is None or slot[3] > best[3]:
            best = slot
    return best, torn


def read_options(args: Sequence[str]) -> tuple[str | None, str | None, str | None]:
    """The db path, the session, and the first argument that is not understood and changes nothing."""
    db_path = session = unknown = None
    rest = iter(args)
    for arg in rest:
        if arg == "--db-path":
            db_path = next(rest, None)
        elif arg == "--session-id":
            session = next(rest, None)
        elif arg.startswith("--db-path="):
            db_path = arg.partition("=")[2]
        elif arg.startswith("--session-id="):
            session = arg.partition("=")[2]
        else:
            unknown = unknown or arg
    return db_path, session, unknown


def run(env: Mapping[str, str], args: Sequence[str]) -> None:
    """Print the line.

    The session is --session-id, for a question names what it asks about; else the client's; else the newest
    of the store.
    """
    db_path, session, unknown = read_options(args)
    slot = None
    try:
        store = paths.locate(env, db_path).store
        slot = lookup(f"{store}/brief.bin", session or session_id(env) or None)
    except ContextGraphError as error:
        if is_debug(env):
            write_all(2, f"context-graph-cli: debug: {error}\n".encode("utf-8", "replace"))
    # One write, so that a reader never sees half of the line.
    write_all(1, f"{line(slot)}\n".encode())
    if unknown is not None:
        write_all(
            2, f"context-graph-cli: consciousness brief ignores '{unknown}'\n".encode("utf-8", "replace")
        )
