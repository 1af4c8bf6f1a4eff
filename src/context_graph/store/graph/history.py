"""Keeps what changes overwrote, for the retention: one mechanism for histories, reads as of a time, and undo.

Every commit that overwrites or removes a record of a memory or an edge leaves that record here, under its
own commit number, in the same batch. Nothing is kept of an addition (there was nothing before), of accesses
and traversals (uses, no changes), and of a memory that is deleted for good: with it goes its history.

    begun                       i64 Unix ms: what changed since then is in it
    c: + commit number (8)      what that commit overwrote: i64 Unix ms, u8 what (records.Op), 16 bytes
                                subject, u8 number of images, u8 number of ends, 16 bytes for each end (the
                                memories of an edge), then each image: u8 family, u16 bytes of key, u32 bytes
                                of record plus one (0: there was none), key, record
    s: + id + commit number     nothing: that commit changed this memory or edge, or an edge of this memory
    r: + commit number          a run that began there, a JSON object (Run)
    u: + commit number          what a command or tool did from there on, a JSON object (Run)

Numbers in use are on users' disks: never renumber.
"""

from __future__ import annotations

import heapq
import logging
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from context_graph.errors import CorruptedMemoryError, MemoryFormatError
from context_graph.store.engine.batches import Batch
from context_graph.store.engine.engine import Engine
from context_graph.store.engine.tuning import Write
from context_graph.store.graph.records import (
    OTHER_VERSION,
    damaged_memory,
    decode_meta,
    encode_meta,
    payload_of,
    unpack_fixed,
)
from context_graph.store.layout import ACCESS, BEGUN_KEY, EDGES, HISTORY, META, NODES, TOMBSTONES, after, wrap

CHANGE_PREFIX: Final = b"c:"
SUBJECT_PREFIX: Final = b"s:"
RUN_PREFIX: Final = b"r:"
ACT_PREFIX: Final = b"u:"
ACCESS_AFTER: Final = "memory_access after"
"""No family: the accesses that a run wrote, so that its undoing can keep the uses since."""

_FAMILIES: Final = ("", NODES, ACCESS, TOMBSTONES, EDGES, META, ACCESS_AFTER)
_NUMBER: Final = {name: number for number, name in enumerate(_FAMILIES)}
_BEGUN: Final = struct.Struct("<q")
_HEAD: Final = struct.Struct("<qB16s2B")
_IMAGE: Final = struct.Struct("<BHI")
_BE64: Final = struct.Struct(">Q")
_ID_BYTES: Final = 16


class Image(NamedTuple):
    """One record as it was before a commit."""

    family: str
    key: bytes
    before: bytes | None
    """None: there was none."""


class Entry(NamedTuple):
    """The records that one commit overwrote."""

    seq: int
    at_ms: int
    op: int
    subject: bytes
    """Id of a memory or an edge, or token of a run, 16 bytes."""
    ends: tuple[bytes, ...]
    """The memories at an edge's ends, before and after; empty for a memory."""
    images: tuple[Image, ...]

    def image(self, family: str) -> Image | None:
        """Return the image of that family; None if it has none."""
        return next((image for image in self.images if image.family == family), None)


def change_key(seq: int) -> bytes:
    """Return ``c:`` + commit number."""
    return CHANGE_PREFIX + _BE64.pack(seq)


def run_key(seq: int, *, act: bool = False) -> bytes:
    """Return ``r:``, or of an act ``u:``, and the number of its first commit."""
    return (ACT_PREFIX if act else RUN_PREFIX) + _BE64.pack(seq)


def subject_key(subject: bytes, seq: int) -> bytes:
    """Return ``s:`` + id + commit number."""
    return SUBJECT_PREFIX + subject + _BE64.pack(seq)


def split_history_key(key: bytes) -> int:
    """Return the commit number at the end of such a key."""
    return int.from_bytes(key[-_BE64.size :], "big")


def encode_begun(at_ms: int) -> bytes:
    """Return the record of when this history begins."""
    return wrap(BEGUN_KEY, OTHER_VERSION, _BEGUN.pack(at_ms))


def decode_begun(record: bytes) -> int:
    """Unix ms. Raises as decode_node."""
    return int(unpack_fixed(BEGUN_KEY, record, _BEGUN)[0])


def encode_entry(
    key: bytes, at_ms: int, op: int, subject: bytes, ends: Sequence[bytes], images: Sequence[Image]
) -> bytes:
    """Return the record of what one commit overwrote."""
    parts = [_HEAD.pack(at_ms, op, subject, len(images), len(ends)), *ends]
    for family, name, before in images:
        size = 0 if before is None else len(before) + 1
        parts += (_IMAGE.pack(_NUMBER[family], len(name), size), name, before or b"")
    return wrap(key, OTHER_VERSION, b"".join(parts))


def decode_entry(key: bytes, record: bytes) -> Entry:
    """Return the entry in ``record``, which was read from ``key``. Raises as decode_node."""
    payload = payload_of(key, record)
    try:
        at_ms, op, subject, images, ends = _HEAD.unpack_from(payload)
        at = _HEAD.size + _ID_BYTES * ends
        end_ids = tuple(payload[start : start + _ID_BYTES] for start in range(_HEAD.size, at, _ID_BYTES))
        kept = []
        for _ in range(images):
            family, name, size = _IMAGE.unpack_from(payload, at)
            start = at + _IMAGE.size
            middle, at = start + name, start + name + max(0, size - 1)
            before = payload[middle:at] if size else None
            kept.append(Image(_FAMILIES[family], payload[start:middle], before))
        if at != len(payload):
            raise ValueError(f"{len(payload)} bytes, its images need {at}")
    except (struct.error, IndexError, ValueError) as error:
        raise damaged_memory(key, f"content: {error}") from error
    return Entry(split_history_key(key), at_ms, op, subject, end_ids, tuple(kept))


UNDO = "undo"
"""The mode of a run that undid another."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is undone as one: a consolidation, an act of a command or tool, or the undoing of either."""

    token: UUID
    """The token by which it is undone."""
    mode: str
    """light, deep, rem; store, supersede, edit, forget, restore, link, confirm, import; or undo."""
    at_ms: int
    first: int
    """Commit number of its first change, Op.RUN."""
    last: int
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many of each kind of change it made."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What its caller wanted to be kept with it, a JSON object."""
    undoes: UUID | None = None
    """The run that this one undid."""
    undone_by: UUID | None = None
    """The run that undid this one."""
    by: str = ""
    """Who asked for an act: cli, tool or library; "" for a consolidation and its undoing."""
    parts: Sequence[tuple[int, int]] = ()
    """Its ranges of commits where others came between them, as an import's may."""

    @property
    def ranges(self) -> Sequence[tuple[int, int]]:
        """(first, last) of each of its ranges of commits."""
        return self.parts or ((self.first, self.last),)

    @property
    def is_open(self) -> bool:
        """Whether it is the next to be undone, if it is the last."""
        return self.undone_by is None and self.mode != UNDO

    def grown(self, first: int, last: int) -> Run:
        """With the commits from ``first`` to ``last``, too."""
        if not self.first:
            return replace(self, first=first, last=last)
        *before, (begin, end) = self.ranges
        parts = [*before, (begin, last)] if end + 1 == first else [*before, (begin, end), (first, last)]
        return replace(self, last=last, parts=parts if len(parts) > 1 else ())


@dataclass(slots=True)
class Act:
    """What goes on to be committed, to be undone as one; each commit is added to ``run``."""

    run: Run


def encode_run(key: bytes, run: Run) -> bytes:
    """Return the record of ``run``. Raises InvalidParamsError for more than 1 MiB of details."""
    return encode_meta(key, msgspec.to_builtins(run))


def decode_run(key: bytes, record: bytes) -> Run:
    """Return the run in ``record``. Raises as decode_node."""
    try:
        return msgspec.convert(decode_meta(key, record), Run)
    except msgspec.ValidationError as error:
        raise damaged_memory(key, f"run: {error}") from error


_LOG: Final = logging.getLogger(__name__)
PURGE_ENTRIES: Final = 1024
"""Entries that one batch drops."""


class HistoryTable:
    """Reads before-images and runs, and writes them into batches that its caller commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begun_ms(self) -> int:
        """Unix ms from which on every change is in here; 0 when nothing is known of it."""
        record = self._engine.get(HISTORY, BEGUN_KEY)
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
        """Add to ``batch``: what commit ``seq`` overwrote. Cost: some 4 us.

        ``op`` is of `records.Op`; ``ends`` are ids of the memories at an edge's ends, before and after.
        """
        key = change_key(seq)
        batch.put(HISTORY, key, encode_entry(key, at_ms, op, subject, ends, images))
        for subject_id in (subject, *ends):
            batch.put(HISTORY, subject_key(subject_id, seq), b"")

    def get(self, seq: int) -> Entry | None:
        """Return the entry of commit ``seq``; None if it overwrote nothing, or is no longer kept."""
        key = change_key(seq)
        record = self._engine.get(HISTORY, key)
        return None if record is None else decode_entry(key, record)

    def between(self, first: int, last: int) -> Iterator[Entry]:
        """Yield the entries of the commits from ``first`` to ``last``, in their order."""
        for key, record in self._engine.scan(HISTORY, change_key(first), change_key(last + 1)):
            yield decode_entry(key, record)

    def all(self, *, skip_damaged: bool = False) -> Iterator[Entry]:
        """Yield all that is kept, in the order of commits; ``skip_damaged``: but what can't be read."""
        for key, record in self._engine.scan(HISTORY, CHANGE_PREFIX, after(CHANGE_PREFIX)):
            try:
                yield decode_entry(key, record)
            except (CorruptedMemoryError, MemoryFormatError):
                if not skip_damaged:
                    raise

    def commits_of(self, subject: bytes, after_seq: int = 0) -> list[int]:
        """Return the commits after ``after_seq`` that changed a memory, its edges, or an edge, in order."""
        scan = self._engine.scan(
            HISTORY, subject_key(subject, after_seq + 1), after(SUBJECT_PREFIX + subject)
        )
        return [split_history_key(key) for key, _ in scan]

    def of(self, subject: bytes, after_seq: int = 0) -> Iterator[Entry]:
        """As `commits_of`, the entries."""
        for seq in self.commits_of(subject, after_seq):
            entry = self.get(seq)
            if entry is not None:
                yield entry

    def removal(self, subject: bytes) -> Iterator[Write]:
        """After these nothing is known any more of what that memory, and its edges, have been."""
        for seq in self.commits_of(subject):
            yield Write(HISTORY, subject_key(subject, seq), None)
            entry = self.get(seq)
            if entry is not None:
                yield from _entry_removal(entry)

    def removal_of_facts(self, names: Collection[str]) -> Iterator[Write]:
        """After these nothing is known any more of what facts of these names have been.

        Undoing a run leaves them as they are then. Cost: a read for each run that is kept.
        """
        keys = {name.encode() for name in names}
        for run in self.runs() if keys else ():
            entry = self.get(run.first)
            if entry is None:
                continue
            kept = [image for image in entry.images if image.family != META or image.key not in keys]
            if len(kept) < len(entry.images):
                key = change_key(entry.seq)
                record = encode_entry(key, entry.at_ms, entry.op, entry.subject, entry.ends, kept)
                yield Write(HISTORY, key, record)

    def purge(self, before_ms: int) -> int:
        """Drop what commits before that time overwrote, and the runs among them; how many entries it was.

        An entry that can't be read goes with the next one that can, if that goes. Commits, a batch for each
        PURGE_ENTRIES.
        """
        if before_ms <= self.begun_ms():
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
                batch.apply(_entry_removal(entry))
                batch.delete(HISTORY, run_key(entry.seq))
                for older in damaged:
                    batch.delete(HISTORY, older)
                damaged.clear()
                size += 1
            else:
                done = True
            if done:
                self._purge_acts(batch, before_ms)
                batch.put(HISTORY, BEGUN_KEY, encode_begun(before_ms))
            self._engine.write(batch)
            dropped += size
        return dropped

    def _purge_acts(self, batch: Batch, before_ms: int) -> None:
        """Drop the records of old acts: one need not have overwritten anything, so no entry takes it."""
        for key, record in self._engine.scan(HISTORY, ACT_PREFIX, after(ACT_PREFIX)):
            if decode_run(key, record).at_ms >= before_ms:
                break
            batch.delete(HISTORY, key)

    # Runs

    def put_run(self, batch: Batch, run: Run) -> None:
        """Add to ``batch``: a run, or what became of one."""
        key = run_key(run.first, act=bool(run.by))
        batch.put(HISTORY, key, encode_run(key, run))

    def runs(self, prefix: bytes = RUN_PREFIX) -> Iterator[Run]:
        """Yield all consolidations that can still be undone or were, newest first; of ACT_PREFIX all acts."""
        for key, record in self._engine.scan(HISTORY, after(prefix), prefix, reverse=True):
            yield decode_run(key, record)

    def all_runs(self) -> Iterator[Run]:
        """Consolidations and acts, newest first."""
        both = (self.runs(), self.runs(ACT_PREFIX))
        yield from heapq.merge(*both, key=lambda run: run.first, reverse=True)


def _entry_removal(entry: Entry) -> Iterator[Write]:
    yield Write(HISTORY, change_key(entry.seq), None)
    for subject_id in (entry.subject, *entry.ends):
        yield Write(HISTORY, subject_key(subject_id, entry.seq), None)
