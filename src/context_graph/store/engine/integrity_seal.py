"""Detects, before a database is opened, damage that RocksDB would accept silently.

Measured on RocksDB 9.8 (rocksdict 0.3.29), each case reproduced by test_engine_damage.py and test_lost_log.py
in tests/integration/store. A MANIFEST cut at most offsets opens, older or empty, and the tables it no longer
names are then deleted. A log record whose type byte flips to one of the recyclable kinds makes opening loop
for ever. A log that is missing or cut is taken for one that ends there. Neither paranoid checks nor any mode
of log recovery shows the first two (tried with the same version), and RocksDB's check for the third covers
only synced logs.

So the engine keeps a seal beside the database (the MANIFEST as last seen, and the sequence number), and walks
the record headers of MANIFEST and write-ahead logs. It also keeps a mark: the numbers of the last write and
of the logs, written after each write without a sync, so that it outlives the process as the log does. What is
missing from the logs is recorded in another file; the store continues with what is there.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from struct import Struct
from struct import error as StructError
from typing import Any, Final, NamedTuple

from context_graph.errors import DatabaseCorruptionError, LogReplayError, StoreError
from context_graph.store.engine.failures import REPAIR, shut_file, translate

_LOG: Final = logging.getLogger(__name__)
SEAL: Final = "seal.json"
LOG_NOTE: Final = "wal_dir"
"""File in the database's folder: where its write-ahead logs are, when not beside its tables."""
_SEAL_VERSION: Final = 1
_MANIFEST: Final = re.compile(r"MANIFEST-(\d{6,})")
_DATA: Final = re.compile(r"MANIFEST-\d++|\d++\.(sst|log|blob)")

# RocksDB's log format: blocks of 32 KiB, each record u32 crc, u16 length, u8 type; 0 fills what is left.
_BLOCK: Final = 32768
_HEADER: Final = 7
_TYPES: Final = frozenset(range(5)) | {9, 10, 130}
"""Record kinds that our logs may have. Not the recyclable ones: logs are never recycled here."""
MARK: Final = "log.mark"
LOSSES: Final = "lost.json"
LOSSES_KEPT: Final = 20
LOOK_EVERY: Final = 256
"""Writes from one look at which logs there are to the next."""
_MAGIC: Final = b"CGLM\x01\0\0\0"
_FORM: Final = Struct("<8s3Q16Q")
"""Magic; last write; last write when it was opened, all of which are in tables; logs; their numbers."""
_LAST: Final = Struct("<Q")
_LAST_AT: Final = len(_MAGIC)
_LOGS: Final = 16
_FULL, _FIRST = 1, 2
"""Kinds of log records that begin a batch: its number (u64), its length in writes (u32), and the writes."""
_BATCH: Final = Struct("<QI")
_MIN_LOG: Final = 10
_PLAIN_TAGS: Final = frozenset({2, 3, 4, 9, 203, _MIN_LOG})
"""The tags of a MANIFEST's record that have one number; they come before all others but the comparator."""


def has_database(path: Path) -> bool:
    """Return whether there is a database at ``path`` (its CURRENT file)."""
    return (path / "CURRENT").exists()


def leftovers(path: Path) -> list[str]:
    """Files of a database in a folder without CURRENT: it was one, and must not be made anew over them."""
    try:
        return sorted(name for name in os.listdir(path) if _DATA.fullmatch(name))
    except FileNotFoundError:
        return []


def log_files(path: Path) -> list[Path]:
    """Return the write-ahead logs, oldest first."""
    return sorted(log_folder(path).glob("[0-9]*.log"))


def log_bytes(path: Path) -> int:
    """Bytes of write-ahead log that opening will replay; 0 after a clean close."""
    return sum(file.stat().st_size for file in log_files(path))


def log_folder(path: Path) -> Path:
    """Return where the write-ahead logs of the database at ``path`` are: as its note says, else beside its
    tables.

    Raises LogReplayError if the noted folder is gone, and what was not flushed with it.
    """
    try:
        noted = Path(os.fsdecode((path / LOG_NOTE).read_bytes().rstrip(b"\n")))
    except OSError:
        return path
    if not noted.is_dir():
        raise LogReplayError(
            f"write-ahead log replay failed: {path} keeps its logs in {noted}, which is not there; "
            f"bring it back, or run `{REPAIR}` to go on without them"
        )
    return noted


def choose_log_folder(path: Path, root: Path | None) -> Path:
    """Return the folder for the logs of the database at ``path``, made and noted: one of its own below
    ``root``.

    Logs that a crash left stay where they are, and are used there: RocksDB would not look for them anywhere
    else. They move at the first opening after a clean close. A folder with logs in it that is not noted is of
    a database that was at this path before (a restore keeps it): this one gets another. Raises
    StoreReadOnlyError, StoreFullError, StoreError: The folder can't be made.
    """
    known = log_folder(path)
    wanted = path
    if root is not None:  # two databases never share a folder
        wanted = Path(os.path.abspath(root)) / f"{path.parent.name}-{zlib.crc32(os.fsencode(path)):08x}"
    if wanted == known or any(file.stat().st_size for file in known.glob("[0-9]*.log")):
        return known
    if root is not None and known.parent == wanted.parent and known.name.startswith(f"{wanted.name}-"):
        return known
    if root is not None and any(wanted.glob("[0-9]*.log")):
        wanted = wanted.with_name(f"{wanted.name}-{os.urandom(4).hex()}")
    try:
        os.makedirs(wanted, mode=0o700, exist_ok=True)
        if root is None:
            (path / LOG_NOTE).unlink(missing_ok=True)
        else:
            draft = path / (LOG_NOTE + ".new")
            draft.write_bytes(os.fsencode(wanted) + b"\n")
            draft.replace(path / LOG_NOTE)
    except OSError as error:
        raise translate(error, wanted) from error
    return wanted


def check_files(path: Path) -> None:
    """Refuse a database whose CURRENT, MANIFEST or logs can't be trusted to open.

    Cost: one pass over the MANIFEST, and over the headers of logs (empty after a clean close). Raises
    DatabaseCorruptionError: Names the file and what is wrong with it. Raises StoreReadOnlyError if a file may
    not be read by this user, which says nothing of what is in it.
    """
    try:
        _check_files(path)
    except PermissionError as error:
        raise shut_file(Path(error.filename), error) from error


def _check_files(path: Path) -> None:
    manifest = current_manifest(path)
    _check_seal(path, manifest)
    for file in (manifest, *log_files(path)):
        at = bad_frame(file)
        if at is not None:
            kind = DatabaseCorruptionError if file == manifest else LogReplayError
            raise _corrupt(file, f"no RocksDB record at byte {at}", kind)


def check_sequence(path: Path, sequence: int) -> None:
    """Refuse a database that has gone back behind the sequence number of its seal.

    Raises DatabaseCorruptionError if writes that had been there when it was last seen are gone.
    """
    sealed = _read_seal(path)
    known = sealed.get("sequence") if sealed else None
    if isinstance(known, int) and sequence < known:
        raise _corrupt(path, f"ends at write {sequence}, but had {known} writes when it was last open")


def write_seal(path: Path, sequence: int) -> None:
    """Note what the MANIFEST of the database at ``path`` is now. Best effort: a full disk keeps the old seal,
    and an old seal is still a true lower bound."""
    try:
        manifest = current_manifest(path)
        content = manifest.read_bytes()
        seal = {
            "version": _SEAL_VERSION,
            "manifest": manifest.name,
            "size": len(content),
            "crc32": zlib.crc32(content),
            "sequence": sequence,
        }
        draft = path / (SEAL + ".new")
        draft.write_text(json.dumps(seal))
        draft.replace(path / SEAL)
    except (OSError, DatabaseCorruptionError):
        return


def bad_frame(file: Path) -> int | None:
    """Return the offset of the first record header in ``file`` that RocksDB did not write, None when all are
    fine.

    A record that is cut off by the end of the file is fine: that is how a crash leaves a log.
    """
    try:
        content = file.read_bytes()
    except FileNotFoundError:  # a live database may have removed it since it was listed
        return None
    return next((at for at, kind in frames(content) if kind not in _TYPES), None)


def frames(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield (offset, type) of each record header of a log or MANIFEST."""
    at, end = 0, len(content)
    while at + _HEADER <= end:
        left = _BLOCK - at % _BLOCK
        if left < _HEADER:
            at += left
            continue
        length = content[at + 4] | content[at + 5] << 8
        kind = content[at + 6]
        yield at, kind
        # Zeros are space that was allocated ahead; a length beyond the block is damage that RocksDB reports.
        at += left if (kind == 0 and length == 0) or _HEADER + length > left else _HEADER + length


def current_manifest(path: Path) -> Path:
    """Return the MANIFEST that CURRENT names. Raises DatabaseCorruptionError, PermissionError."""
    current = path / "CURRENT"
    try:
        named = current.read_bytes()
    except PermissionError:
        raise
    except OSError as error:
        raise _corrupt(current, f"can't be read: {error.strerror}") from error
    text = named.decode("ascii", "replace")
    if not text.endswith("\n") or not _MANIFEST.fullmatch(text[:-1]):
        raise _corrupt(current, f"does not name a MANIFEST: {text[:40]!r}")
    manifest = path / text[:-1]
    if not manifest.exists():
        raise _corrupt(current, f"names {manifest.name}, which is not there")
    return manifest


def _check_seal(path: Path, manifest: Path) -> None:
    seal = _read_seal(path)
    if seal is None:
        return
    known, size, crc = str(seal.get("manifest")), seal.get("size"), seal.get("crc32")
    number = _MANIFEST.fullmatch(known)
    if number is None or not isinstance(size, int):
        return
    if int(manifest.name.rpartition("-")[2]) < int(number[1]):
        raise _corrupt(path / "CURRENT", f"names {manifest.name}, but {known} was in use before")
    if manifest.name != known:
        return  # opened since by something that left no seal: a crash right after opening
    content = manifest.read_bytes()
    if len(content) < size:
        raise _corrupt(manifest, f"has {len(content)} bytes, had {size} when it was last seen")
    if zlib.crc32(content[:size]) != crc:
        raise _corrupt(manifest, "was changed since it was last seen")


def _read_seal(path: Path) -> dict[str, object] | None:
    try:
        seal = json.loads((path / SEAL).read_text())
    except (OSError, ValueError):
        return None  # no evidence either way
    return seal if isinstance(seal, dict) and seal.get("version") == _SEAL_VERSION else None


def _corrupt(
    file: Path, what: str, kind: type[DatabaseCorruptionError] = DatabaseCorruptionError
) -> DatabaseCorruptionError:
    return kind(f"database corruption: {file}: {what}; run `{REPAIR}`")


class LogMark:
    """The mark of a database that is open for writing."""

    def __init__(self, folder: Path, sequence: int) -> None:
        """Start a new mark: all writes up to ``sequence`` are there."""
        self._folder = folder
        self._handle: int | None = None
        self._begun = sequence
        self._writes = 0
        with suppress(OSError):  # a full disk: then a loss may go unnoticed, and nothing else
            self._handle = os.open(folder / MARK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.look(sequence)

    def note(self, sequence: int) -> None:
        """Note the last write that is in the log by now. Cost: 1 us."""
        if self._handle is None:
            return
        self._writes += 1
        if self._writes % LOOK_EVERY == 0:
            self.look(sequence)
            return
        try:  # noqa: SIM105  # suppress() costs as much as the write
            os.pwrite(self._handle, _LAST.pack(sequence), _LAST_AT)
        except OSError:
            pass

    def close(self) -> None:
        """Close the file, which stays."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def look(self, sequence: int) -> None:
        """As `note`, with the logs that there are by now. Cost: a listing of the folder."""
        with suppress(OSError, StoreError):
            self._write(sequence, _numbers(self._folder)[:_LOGS])

    def finish(self, sequence: int) -> None:
        """Note that all writes are in tables: no log is needed any more."""
        with suppress(OSError):
            self._write(sequence, [])

    def _write(self, sequence: int, logs: list[int]) -> None:
        if self._handle is not None:
            padded = [*logs, *([0] * (_LOGS - len(logs)))]
            os.pwrite(self._handle, _FORM.pack(_MAGIC, sequence, self._begun, len(logs), *padded), 0)


class Evidence(NamedTuple):
    """The state of mark and logs before the database is opened, which replays and removes the logs."""

    sequence: int
    """The last write there was; 0 where nothing is known."""
    damage: list[str]
    """What is wrong with the logs."""

    @classmethod
    def of(cls, folder: Path) -> Evidence:
        """Read it. Cost: one pass over the headers of the logs, which are empty after a clean close."""
        try:
            magic, sequence, begun, count, *numbers = _FORM.unpack((folder / MARK).read_bytes())
        except (OSError, StructError):  # none yet, or cut: no evidence
            return cls(0, [])
        if magic != _MAGIC:
            return cls(0, [])
        needed = [number for number in numbers[: min(count, _LOGS)] if number >= _oldest_kept(folder)]
        spans = {int(file.stem): _span(file) for file in log_files(folder) if file.stem.isdigit()}
        begins = min((span[0] for span in spans.values() if span), default=0)
        damage = [f"the log {number:06d}.log is gone" for number in needed if number not in spans]
        if not damage and begins > begun + 1 and any(spans[number] is None for number in needed):
            damage.append(f"up to {begins - begun - 1} writes before the first log are gone")
        damage += _gaps(spans)
        return cls(sequence if sequence >= begun else 0, damage)

    def losses(self, sequence: int) -> list[str]:
        """Return the losses of a database whose last write is ``sequence`` now that it is open."""
        lost = self.sequence - sequence
        end = [f"the last {lost} writes to its log are lost: the log was cut or removed"] if lost > 0 else []
        return [*self.damage, *end]


def losses(folder: Path) -> list[dict[str, Any]]:
    """Return the losses of the database in ``folder`` and when each was noticed, the newest last."""
    try:
        rows = json.loads((folder / LOSSES).read_text())
    except (OSError, ValueError):
        return []
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def note_losses(folder: Path, lost: list[str]) -> None:
    """Log losses and record them, to be reported; of many only the newest. Best effort on a full disk."""
    if not lost:
        return
    for loss in lost:
        _LOG.error("%s: %s; the rest is used", folder, loss)
    at_ms = time.time_ns() // 1_000_000
    kept = [*losses(folder), *({"at_ms": at_ms, "what": loss, "told": False} for loss in lost)]
    _write_losses(folder, kept[-LOSSES_KEPT:])


def tell_losses(folder: Path) -> list[str]:
    """Return the losses that were not reported yet; they count as reported from now on."""
    kept = losses(folder)
    untold = [str(loss.get("what")) for loss in kept if not loss.get("told")]
    if untold:
        _write_losses(folder, [{**loss, "told": True} for loss in kept])
    return untold


def _write_losses(folder: Path, kept: list[dict[str, Any]]) -> None:
    with suppress(OSError):
        draft = folder / (LOSSES + ".new")
        draft.write_text(json.dumps(kept))
        draft.replace(folder / LOSSES)


def _numbers(folder: Path) -> list[int]:
    """Return the numbers of the logs, ascending."""
    return sorted(int(file.stem) for file in log_files(folder) if file.stem.isdigit())


def _gaps(spans: Mapping[int, tuple[int, int] | None]) -> Iterator[str]:
    """Yield where a log does not go on at the write after the end of the one before it."""
    end = before = 0
    for number in sorted(spans):
        span = spans[number]
        if span is None:
            continue
        if end and span[0] > end:
            yield f"{span[0] - end} writes between the logs {before:06d}.log and {number:06d}.log are gone"
        end, before = span[1], number


def _span(file: Path) -> tuple[int, int] | None:
    """Number of the first write in a log, and of the first after it; None for one without any."""
    content = file.read_bytes()
    first = end = 0
    for at, kind in frames(content):
        if kind in (_FULL, _FIRST) and at + _HEADER + _BATCH.size <= len(content):
            number, count = _BATCH.unpack_from(content, at + _HEADER)
            first, end = first or number, max(end, number + count)
    return (first, end) if end else None


def _oldest_kept(folder: Path) -> int:
    """Return the oldest log that RocksDB still needs, as the MANIFEST says it."""
    oldest = 0
    with suppress(OSError, IndexError, StoreError):
        content = current_manifest(folder).read_bytes()
        for at, kind in frames(content):
            if kind in (_FULL, _FIRST):
                oldest = max(oldest, _min_log(content, at + _HEADER))
    return oldest


def _min_log(content: bytes, at: int) -> int:
    """Return the oldest log to be kept that one record of a MANIFEST names, 0 for none. Raises IndexError."""
    while True:
        tag, at = _varint(content, at)
        if tag == 1:
            size, at = _varint(content, at)
            at += size
            continue
        if tag not in _PLAIN_TAGS:
            return 0
        value, at = _varint(content, at)
        if tag == _MIN_LOG:
            return value


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80 or shift > 63:
            return value, at
        shift += 7
