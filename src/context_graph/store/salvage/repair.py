"""Copies what a damaged database still holds into a new one. The original stays unchanged, byte for byte.

RocksDB writes into a folder as soon as it opens it, so all work is done on copies. First a copy is read as it
is, around blocks that can't be read. If it does not open, lacks a family, or is known to have lost writes, a
second copy goes through RocksDB's own repair, which drops whole damaged tables but needs no MANIFEST. A
record is taken only if it decodes under its own checksum; of two versions of a snapshot the newer one is.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from context_graph.errors import ContextGraphError, DatabaseCorruptionError, InvalidInputError, StoreError
from context_graph.store import layout
from context_graph.store.engine import integrity_seal
from context_graph.store.engine.engine import Engine, open_as_it_is
from context_graph.store.engine.failures import refuse_held, translate
from context_graph.store.engine.opening import rebuild_rocksdb
from context_graph.store.graph.reader import counted
from context_graph.store.graph.records import Counters, decode_counters
from context_graph.store.layout import (
    COUNTERS_KEY,
    EDGES,
    EMBEDDINGS,
    EVENTS,
    FAMILIES,
    FORMAT_KEY,
    INDEX,
    LATEST,
    MEMORY_FAMILIES,
    MEMORY_KEY,
    META,
    NODES,
    RUNTIME,
    SESSION_IDENTITY,
    SYSTEM,
    key_text,
)
from context_graph.store.salvage.memory_repair import check_memory, complete_memory
from context_graph.store.schema import STORE, gain_memory, has_memory, open_database
from context_graph.store.sessions import records
from context_graph.store.sessions.event_log import decode_entry
from context_graph.store.sessions.sessions import newest_first

UNREADABLE_NAMED: Final = 1000
ALL_FAMILIES: Final = (*FAMILIES, *MEMORY_FAMILIES)
_MADE_ANEW: Final = frozenset((INDEX, EMBEDDINGS))
_IN_COUNTERS: Final = frozenset((NODES, EDGES))


@dataclass(frozen=True, slots=True)
class UnreadableKey:
    """A record, or a stretch of keys, that could not be saved."""

    family: str
    key: str
    reason: str


@dataclass(slots=True)
class RepairReport:
    """The result of a salvage. JSON-able."""

    source: str
    target: str
    family: str
    """The family asked for; ``all`` for each."""
    rebuilt: bool = False
    """Whether RocksDB's own repair had to be used (on a copy)."""
    copied: dict[str, int] = field(default_factory=dict)
    """Records in the target, by family."""
    missing: list[str] = field(default_factory=list)
    """Families that the database does not have; they are empty in the target."""
    unreadable: list[UnreadableKey] = field(default_factory=list)
    """At most UNREADABLE_NAMED, those of the family asked for first."""
    unreadable_count: int = 0
    notes: list[str] = field(default_factory=list)
    """What was wrong with the database as a whole."""
    complete: bool = True
    """Whether nothing of the family asked for is known or feared to be lost: nothing unreadable or missing,
    and no log or state that could not be read whole (what stood only there can't be named). What is made anew
    from the rest can't be lost; memories and links are all there if they are as many as the store had."""


PROBES: Final = 200
"""Seeks between two damaged blocks in search of readable ones."""
_KEY_WIDTH: Final = 40  # bytes of a key that a search tells apart: prefix, a UUID and two to spare


class Gap(NamedTuple):
    """A stretch of keys with damage in it; both ends were readable, empty is open."""

    low: bytes
    high: bytes
    reason: str

    def text(self) -> str:
        """For people."""
        return f"between {key_text(self.low) or 'the start'} and {key_text(self.high) or 'the end'}"


def read_around_damage(engine: Engine, family: str, gaps: list[Gap]) -> Iterator[tuple[bytes, bytes]]:
    """Yield all records of ``family`` but those in blocks that can't be read; appends to ``gaps`` where that
    was.

    Upwards to the first damaged block, downwards to the last, then by halves in between. Keys may come twice.
    """
    low, high = b"", b""
    try:
        for key, record in engine.scan(family):
            yield key, record
            low = key
        return
    except DatabaseCorruptionError as error:
        reason = str(error.__cause__ or error)
    try:
        for key, record in engine.scan(family, reverse=True, until=low):
            if key <= low:
                break
            yield key, record
            high = key
    except DatabaseCorruptionError:
        yield from _between(engine, family, low, high)
    gaps.append(Gap(low, high, reason))


def _between(engine: Engine, family: str, low: bytes, high: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Records between two damaged blocks: seek to the middle, read both ways, go on in what is left."""
    gaps = [(low, high)]
    for _ in range(PROBES):
        if not gaps:
            return
        low, high = gaps.pop(0)
        middle = _middle(low, high)
        if middle is None:
            continue
        first, last = middle, middle
        for reverse in (False, True):
            try:
                for key, record in engine.scan(family, middle, low if reverse else high, reverse=reverse):
                    if key <= low:
                        break
                    yield key, record
                    first, last = min(first, key), max(last, key)
            except DatabaseCorruptionError:
                continue
        gaps += [(low, first), (last, high)]


def _middle(low: bytes, high: bytes) -> bytes | None:
    """Return a key half way between two; None when they are too close to tell."""
    floor = int.from_bytes(low[:_KEY_WIDTH].ljust(_KEY_WIDTH, b"\0"), "big")
    ceiling = int.from_bytes((high or b"\xff" * _KEY_WIDTH)[:_KEY_WIDTH].ljust(_KEY_WIDTH, b"\0"), "big")
    if ceiling - floor < 2:
        return None
    return ((floor + ceiling) // 2).to_bytes(_KEY_WIDTH, "big")


BATCH_RECORDS: Final = 256
_NOT_COPIED: Final = re.compile(r"LOCK|LOG(\.old\..*+)?|" + integrity_seal.LOG_NOTE)
_GAP: Final = b"\0"  # no key begins with it: marks a stretch of keys among the unreadable ones
_DIGEST_AT: Final = 17  # NUL and 16 bytes end the key of an applied event
_SEQ_AT: Final = 9  # NUL and 8 bytes end the key of an event


def salvage(db_path: Path | str, target_path: Path | str, cf: str = SESSION_IDENTITY) -> RepairReport:
    """Copy what is readable of the database ``db_path`` into a new one at ``target_path``.

    All families are copied, so that the target can take the original's place; ``cf`` is the one that the
    report is about. Needs space for two copies beside the target while it runs.

    Args:
        db_path: A database folder, damaged or not. Nothing in it is changed.
        target_path: Must not exist.
        cf: A family of the store, or ``all``.

    Raises:
        InvalidInputError: An unknown family, or a target that exists or lies in ``db_path``.
        StoreLockedError: A process has the database open.
        StoreError: There is no database, or the target can't be written.
    """
    source, target = Path(db_path).absolute(), Path(target_path).absolute()
    _check_arguments(source, target, cf)
    report = RepairReport(str(source), str(target), cf)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{target.name}.work-", dir=target.parent))
    try:
        _Salvage(source, work, report).run()
        (work / "target").rename(target)
    except OSError as error:
        raise translate(error, target) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return report


class _Salvage:
    """One run, in the folder ``work``: copies ``as-it-is`` and ``rebuilt``, result ``target``."""

    def __init__(self, source: Path, work: Path, report: RepairReport) -> None:
        self._source = source
        self._work = work
        self._report = report
        self._unreadable: dict[tuple[str, bytes], str] = {}
        self._latest: bytes | None = None
        self._ids: set[str] = set()
        self._feared = False
        self._counters: Counters | None = None
        """What the store says that it has, if that could be read and was its latest state."""

    def run(self) -> None:
        self._report.missing = list(FAMILIES)
        self._families: tuple[str, ...] = FAMILIES
        target = open_database(self._work / "target")
        try:
            trusted = self._read_as_it_is(target)
            gaps = any(key.startswith(_GAP) for _, key in self._unreadable)
            if not trusted or gaps or self._report.missing:
                self._read_rebuilt(target, trusted=trusted)
            self._index(target)
            if has_memory(target):
                self._report.notes += complete_memory(target)
            self._count(target)
        finally:
            target.close()

    def _read_as_it_is(self, target: Engine) -> bool:
        """Take what the database shows as it is; False if it does not open or shows an older state."""
        trusted = True
        try:
            integrity_seal.check_files(self._source)
        except DatabaseCorruptionError as error:
            self._note(error)
            trusted = False
        copy = self._copy("as-it-is")
        for lenient in (False, True):
            try:
                engine = open_as_it_is(copy, STORE, lenient=lenient)
            except StoreError as error:
                self._note(error)
                continue
            # RocksDB passes over damaged records of its logs then, and does not say so.
            self._feared |= lenient and any(file.stat().st_size for file in integrity_seal.log_files(copy))
            try:
                self._take(engine, target, fill=False)
                self._counters = _counters_of(engine) if trusted else None
            finally:
                engine.close()
            return trusted
        self._feared |= (
            trusted  # a MANIFEST that is known to be damaged may ask for tables that are rightly gone
        )
        return False

    def _read_rebuilt(self, target: Engine, *, trusted: bool) -> None:
        """Take what RocksDB's repair makes of a fresh copy; if the first was trusted, only what it lacks."""
        self._report.rebuilt = True
        copy = self._copy("rebuilt")
        try:
            rebuild_rocksdb(copy)
            engine = open_as_it_is(copy, STORE, lenient=True)
        except StoreError as error:
            self._note(error)
            return
        try:
            self._take(engine, target, fill=trusted)
        finally:
            engine.close()
        for table in sorted((copy / "lost").glob("*.sst")):
            self._feared |= not trusted  # else what it lacks was named as it was read
            self._report.notes.append(f"{self._source / table.name} can't be read completely")

    def _copy(self, name: str) -> Path:
        """Return a copy of the source that RocksDB can open without spinning on a foreign log record."""
        copy = self._work / name
        copy.mkdir(mode=0o700)
        for file in (*sorted(self._source.iterdir()), *self._logs_elsewhere()):
            if file.is_file() and not _NOT_COPIED.fullmatch(file.name):
                shutil.copyfile(file, copy / file.name)
        for file in (*copy.glob("MANIFEST-*"), *integrity_seal.log_files(copy)):
            at = integrity_seal.bad_frame(file)
            if at is not None:
                self._feared |= file.suffix == ".log"
                with file.open("r+b") as handle:
                    handle.truncate(at)
        return copy

    def _logs_elsewhere(self) -> list[Path]:
        """Write-ahead logs in another folder (`Tuning.wal_dir`); a copy has them beside its tables."""
        try:
            return (
                []
                if integrity_seal.log_folder(self._source) == self._source
                else integrity_seal.log_files(self._source)
            )
        except DatabaseCorruptionError as error:
            self._note(error)
            self._feared = True
            return []

    def _take(self, engine: Engine, target: Engine, *, fill: bool) -> None:
        """Copy all sound records; with ``fill`` those that the target does not have yet."""
        self._expect_memory(engine, target)
        self._report.missing = [family for family in self._report.missing if family not in engine.families]
        for family in self._families:
            if family not in engine.families:
                continue
            batch, size = target.batch(), 0
            gaps: list[Gap] = []
            for key, record in read_around_damage(engine, family, gaps):
                if self._accept(target, family, key, record, fill=fill):
                    batch.put(family, key, record)
                    size += 1
                if size == BATCH_RECORDS:
                    target.write(batch)
                    batch, size = target.batch(), 0
            target.write(batch)
            for gap in gaps:
                self._unreadable[family, _GAP + gap.text().encode()] = gap.reason

    def _expect_memory(self, engine: Engine, target: Engine) -> None:
        """Have the target hold memories as well, if the source ever did."""
        try:
            layout_there = engine.get(SYSTEM, MEMORY_KEY) if SYSTEM in engine.families else None
        except StoreError:
            layout_there = None  # its block can't be read: the families tell
        there = set(MEMORY_FAMILIES) & set(engine.families)
        if has_memory(target) or not (layout_there or there):
            return
        gain_memory(target)
        self._families = ALL_FAMILIES
        self._report.missing += MEMORY_FAMILIES

    def _accept(self, target: Engine, family: str, key: bytes, record: bytes, *, fill: bool) -> bool:
        """Return whether the record is sound and to be copied; notes why not."""
        there = target.get(family, key)
        try:
            derived = self._check(family, key, record)
        except ContextGraphError as error:
            if there is None:
                self._unreadable[family, key] = str(error)
            return False
        self._unreadable.pop((family, key), None)
        if derived or (fill and there is not None):
            return False
        return there is None or not _is_older(family, key, record, there)

    def _check(self, family: str, key: bytes, record: bytes) -> bool:
        """Decode a record by its key; True for those that are not copied but worked out anew."""
        # Without its position the event log is read from its start: what was lost comes again.
        if key == FORMAT_KEY or (family == SYSTEM and key in (MEMORY_KEY, layout.EVENT_LOG_KEY)):
            return True
        if family in MEMORY_FAMILIES:
            return check_memory(family, key, record)
        return self._check_session(family, key, record)

    def _check_session(self, family: str, key: bytes, record: bytes) -> bool:
        prefix = key[:2]
        if family == SESSION_IDENTITY:
            return self._check_identity(key, record)
        if family == RUNTIME and prefix in _RUNTIME_CHECKS:
            self._know(key[2:])
            _RUNTIME_CHECKS[prefix](key, record)
        elif family == EVENTS and prefix == b"e:":
            self._know(key[2:-_SEQ_AT])
            records.decode_event(key, record)
        elif family == EVENTS and prefix == b"d:":
            if len(record) != 8 or key[-_DIGEST_AT : -_DIGEST_AT + 1] != b"\0":
                raise layout.damaged(key, "not the mark of an applied event")
        elif family == EVENTS and prefix == layout.REQUIREMENT_LOG_PREFIX:
            decode_entry(key, record)
        elif family == SYSTEM and prefix == layout.DREAM_PREFIX:
            records.decode_dream(key, record)
        elif key != layout.PROJECT_KEY:
            raise InvalidInputError("no record that this build knows")
        return False

    def _check_identity(self, key: bytes, record: bytes) -> bool:
        if key.startswith(layout.SNAPSHOT_PREFIX):
            records.decode_snapshot(key, record)
            return False
        if key == LATEST:
            self._latest = record
        elif key.startswith(layout.TIME_PREFIX):
            self._ids.add(layout.split_time_key(key)[1])
        elif key.startswith(b"p:"):
            self._know(record)
        else:
            raise InvalidInputError("no record that this build knows")
        return True

    def _know(self, session_id: bytes) -> None:
        """Remember an id that something other than a snapshot names: a session that has been there."""
        self._ids.add(session_id.decode("utf-8", "replace"))

    def _index(self, target: Engine) -> None:
        """Pointer, time index and chain index, worked out from the snapshots that were saved."""
        batch = target.batch()
        newest: bytes | None = None
        session_ids: set[str] = set()
        for session_id in reversed(list(newest_first(target))):
            key, own = layout.snapshot_key(session_id), layout.id_bytes(session_id)
            head = records.decode_row(key, target.get(SESSION_IDENTITY, key) or b"")
            session_ids.add(session_id)
            batch.put(SESSION_IDENTITY, layout.time_key(head.timestamp_ms, session_id), own)
            if head.previous_session_id:
                batch.put(SESSION_IDENTITY, layout.previous_key(head.previous_session_id), own)
            newest = own
        if self._latest is not None and self._latest.decode("utf-8", "replace") in session_ids:
            newest = self._latest
        if newest is not None:
            batch.put(SESSION_IDENTITY, LATEST, newest)
        target.write(batch)
        for session_id in self._ids - session_ids:
            self._unreadable.setdefault(
                (SESSION_IDENTITY, layout.snapshot_key(session_id)),
                "other records name it, but its own is missing",
            )

    def _count(self, target: Engine) -> None:
        report = self._report
        for family in self._families:
            report.copied[family] = sum(1 for key, _ in target.scan(family) if key != FORMAT_KEY)
        report.unreadable_count = len(self._unreadable)
        wanted_first = sorted(
            self._unreadable.items(), key=lambda item: (item[0][0] != report.family, item[0])
        )
        report.unreadable = [
            UnreadableKey(family, layout.key_text(key.removeprefix(_GAP)), reason)
            for (family, key), reason in wanted_first[:UNREADABLE_NAMED]
        ]
        wanted = set(ALL_FAMILIES if report.family == "all" else (report.family,)) - _MADE_ANEW
        if has_memory(target) and self._counters is not None and self._counters[1:] == counted(target)[1:]:
            wanted -= _IN_COUNTERS
        lost = any(family in wanted for family in report.missing)
        unread = any(family in wanted for family, _ in self._unreadable)
        report.complete = not (lost or unread or self._feared)

    def _note(self, error: Exception) -> None:
        text = str(error).replace(str(self._work / "as-it-is"), str(self._source))
        if text not in self._report.notes:
            self._report.notes.append(text)


def _counters_of(engine: Engine) -> Counters | None:
    try:
        record = engine.get(META, COUNTERS_KEY) if META in engine.families else None
        return None if record is None else decode_counters(COUNTERS_KEY, record)
    except ContextGraphError:
        return None


def _check_mark(key: bytes, record: bytes) -> bytes:
    if len(record) != 8:
        raise layout.damaged(key, "not the mark of a session that is to be captured")
    return record


_RUNTIME_CHECKS: Final = {
    layout.CAPTURE_PREFIX: _check_mark,
    b"r:": records.decode_opaque,
    b"g:": records.decode_goals,
    layout.WORK_PREFIX: records.decode_opaque,
    b"v:": records.decode_evidence,
    layout.COMPACTIONS_PREFIX: records.decode_compactions,
}


def _is_older(family: str, key: bytes, record: bytes, there: bytes) -> bool:
    """Return whether ``record`` is a snapshot from before the one that is ``there``; others have no time."""
    if family != SESSION_IDENTITY or not key.startswith(layout.SNAPSHOT_PREFIX):
        return False
    return records.decode_row(key, record).timestamp_ms < records.decode_row(key, there).timestamp_ms


def _check_arguments(source: Path, target: Path, cf: str) -> None:
    if cf not in (*ALL_FAMILIES, "all"):
        raise InvalidInputError(f"column family {cf!r} is none of {', '.join(ALL_FAMILIES)} or all")
    if target.exists() or target == source or source in target.parents:
        raise InvalidInputError(f"target {target} must be a new folder outside {source}")
    if not integrity_seal.has_database(source) and not integrity_seal.leftovers(source):
        raise StoreError(f"there is no database at {source}")
    refuse_held(source)
