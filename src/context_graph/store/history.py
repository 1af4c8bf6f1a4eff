"""What changes overwrote, kept for the retention: one mechanism for histories, reads as of a time, and undo.

Every commit that overwrites or removes a record of a memory or an edge leaves that record here, under its
own commit number, in the same batch. Nothing is kept of an addition (there was nothing before), of accesses
and traversals (uses, no changes), and of a memory that is deleted for good: with it goes its history.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Final

from context_graph.errors import CorruptedMemoryError, MemoryFormatError
from context_graph.store.batch import Batch
from context_graph.store.engine import Engine
from context_graph.store.graph_layout import HISTORY
from context_graph.store.history_layout import (
    BEGUN_KEY,
    CHANGE_PREFIX,
    RUN_PREFIX,
    Entry,
    Image,
    change_key,
    decode_begun,
    decode_entry,
    encode_begun,
    encode_entry,
    run_key,
    split_history_key,
    subject_key,
    subject_prefix,
)
from context_graph.store.layout import after
from context_graph.store.runs import Run, decode_run, encode_run

__all__ = ["PURGE_ENTRIES", "Entry", "HistoryTable", "Image"]

_LOG: Final = logging.getLogger(__name__)
PURGE_ENTRIES: Final = 1024
"""Entries that one batch drops."""


class HistoryTable:
    """Reads before-images and runs, and writes them into batches that its caller commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def kept(self) -> bool:
        """False in a store of the layout before that is open for reading alone: it has no history."""
        return HISTORY in self._engine.families

    def begun_ms(self) -> int:
        """Unix ms from which on every change is in here; 0 when nothing is known of it."""
        record = self._engine.get(HISTORY, BEGUN_KEY) if self.kept else None
        return 0 if record is None else decode_begun(record)

    # Entries

    def note(
        self,
        batch: Batch,
        seq: int,
        at_ms: int,
        op: int,
        subject: bytes,
        images: Sequence[Image],
        ends: Sequence[bytes] = (),
    ) -> None:
        """Add to ``batch``: what commit ``seq`` overwrote.

        Args:
            op: `graph_records.Op`.
            ends: Of an edge: ids of the memories at its ends, before and after.

        Cost: some 4 us.
        """
        key = change_key(seq)
        batch.put(HISTORY, key, encode_entry(key, at_ms, op, subject, ends, images))
        for one in (subject, *ends):
            batch.put(HISTORY, subject_key(one, seq), b"")

    def get(self, seq: int) -> Entry | None:
        """What commit ``seq`` overwrote; None if it overwrote nothing, or that is no longer kept."""
        key = change_key(seq)
        record = self._engine.get(HISTORY, key) if self.kept else None
        return None if record is None else decode_entry(key, record)

    def between(self, first: int, last: int) -> Iterator[Entry]:
        """The entries of the commits from ``first`` to ``last``, in their order."""
        if self.kept:
            for key, record in self._engine.scan(HISTORY, change_key(first), change_key(last + 1)):
                yield decode_entry(key, record)

    def all(self, *, skip_damaged: bool = False) -> Iterator[Entry]:
        """All entries that are kept, in the order of their commits.

        Args:
            skip_damaged: Pass over entries that can't be read instead of raising.
        """
        if not self.kept:
            return
        for key, record in self._engine.scan(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX)):
            try:
                yield decode_entry(key, record)
            except (CorruptedMemoryError, MemoryFormatError):
                if not skip_damaged:
                    raise

    def commits_of(self, subject: bytes, after_seq: int = 0) -> list[int]:
        """The commits after ``after_seq`` that changed a memory, an edge of it, or an edge; oldest first."""
        if not self.kept:
            return []
        scan = self._engine.scan(HISTORY, subject_key(subject, after_seq + 1), _end(subject))
        return [split_history_key(key) for key, _ in scan]

    def of(self, subject: bytes, after_seq: int = 0) -> Iterator[Entry]:
        """As `commits_of`, the entries."""
        for seq in self.commits_of(subject, after_seq):
            entry = self.get(seq)
            if entry is not None:
                yield entry

    def drop(self, batch: Batch, subject: bytes) -> None:
        """Add to ``batch``: nothing is to be known any more of what that memory, and its edges, have been."""
        for seq in self.commits_of(subject):
            batch.delete(HISTORY, subject_key(subject, seq))
            entry = self.get(seq)
            if entry is not None:
                self._drop_entry(batch, entry)

    def scrub(self) -> None:
        """Have RocksDB take what was dropped off the disk. Cost: a pass over the history."""
        self._engine.compact_range(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX))

    def purge(self, before_ms: int) -> int:
        """Drop what commits before that time overwrote, and the runs among them; how many entries it was.

        An entry that can't be read goes with the next one that can, if that goes. Commits, a batch for each
        PURGE_ENTRIES.
        """
        if not self.kept or before_ms <= self.begun_ms():
            return 0
        dropped, done = 0, False
        while not done:
            batch, size = self._engine.batch(), 0
            damaged: list[bytes] = []
            for key, record in self._engine.scan(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX)):
                try:
                    entry = decode_entry(key, record)
                except (CorruptedMemoryError, MemoryFormatError) as error:
                    _LOG.error("%s", error)
                    damaged.append(key)
                    continue
                if entry.at_ms >= before_ms or size == PURGE_ENTRIES:
                    done = size < PURGE_ENTRIES
                    break
                self._drop_entry(batch, entry)
                batch.delete(HISTORY, run_key(entry.seq))
                for older in damaged:
                    batch.delete(HISTORY, older)
                damaged.clear()
                size += 1
            else:
                done = True
            if done:
                batch.put(HISTORY, BEGUN_KEY, encode_begun(before_ms))
            self._engine.write(batch)
            dropped += size
        return dropped

    def _drop_entry(self, batch: Batch, entry: Entry) -> None:
        batch.delete(HISTORY, change_key(entry.seq))
        for one in (entry.subject, *entry.ends):
            batch.delete(HISTORY, subject_key(one, entry.seq))

    # Runs

    def put_run(self, batch: Batch, run: Run) -> None:
        """Add to ``batch``: a run, or what became of one."""
        key = run_key(run.first)
        batch.put(HISTORY, key, encode_run(key, run))

    def runs(self) -> Iterator[Run]:
        """All runs that can still be undone or were, newest first."""
        if self.kept:
            scan = self._engine.scan(HISTORY, after(RUN_PREFIX), RUN_PREFIX, reverse=True)
            for key, record in scan:
                yield decode_run(key, record)


def _end(subject: bytes) -> bytes:
    """The first key after all of that subject, whose last bytes may be 0xFF."""
    prefix = subject_prefix(subject)
    return (int.from_bytes(prefix, "big") + 1).to_bytes(len(prefix), "big")
