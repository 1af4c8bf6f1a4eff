"""The history's part of a salvage: entries and runs are copied, the ways to them worked out anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from context_graph.errors import InvalidInputError
from context_graph.store.engine import Engine
from context_graph.store.graph_layout import HISTORY
from context_graph.store.history_layout import (
    BEGUN_KEY,
    CHANGE_PREFIX,
    RUN_PREFIX,
    SUBJECT_PREFIX,
    decode_begun,
    decode_entry,
    subject_key,
)
from context_graph.store.layout import after
from context_graph.store.runs import decode_run

__all__ = ["check_history", "complete_history"]

BATCH_ENTRIES: Final = 256
_NUMBERED_BYTES: Final = 10
_RECORDS: Final[dict[bytes, Callable[[bytes, bytes], object]]] = {
    CHANGE_PREFIX: decode_entry,
    RUN_PREFIX: decode_run,
}


def check_history(key: bytes, record: bytes) -> bool:
    """Decode a record of the history; True for those that are not copied but worked out anew.

    Raises:
        CorruptedMemoryError, MemoryFormatError: It can't be read.
        InvalidInputError: It is none of ours.
    """
    if key == BEGUN_KEY:
        decode_begun(record)
        return False
    if key.startswith(SUBJECT_PREFIX):
        return True
    decode = _RECORDS.get(key[:2])
    if decode is None or len(key) != _NUMBERED_BYTES:
        raise InvalidInputError("no record that this build knows")
    decode(key, record)
    return False


def complete_history(target: Engine) -> None:
    """The ways from memories and edges to the entries that are about them."""
    batch = target.batch()
    entries = target.scan(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX))
    for number, (key, record) in enumerate(entries, 1):
        entry = decode_entry(key, record)
        for one in (entry.subject, *entry.ends):
            batch.put(HISTORY, subject_key(one, entry.seq), b"")
        if number % BATCH_ENTRIES == 0:
            target.write(batch)
            batch = target.batch()
    target.write(batch)
