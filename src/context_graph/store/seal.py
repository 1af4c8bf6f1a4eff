"""What RocksDB can't tell on opening, told from its files first.

Measured on RocksDB 9.8 (rocksdict 0.3.29), each reproduced in tests/integration/test_engine.py:
a MANIFEST cut at most offsets opens without a word, older or empty, and the tables it no longer names are
then deleted; a log record whose type byte flips to one of the recyclable kinds makes opening spin for ever.

So the engine keeps a seal beside the database (what the MANIFEST was when last seen, and the sequence number)
and walks the record headers of MANIFEST and write-ahead logs. The checks read; only `write_seal` writes.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from context_graph.errors import DatabaseCorruptionError, LogReplayError
from context_graph.store.failures import shut_file, translate
from context_graph.store.layout import REPAIR

__all__ = [
    "LOG_NOTE",
    "SEAL",
    "bad_frame",
    "check_files",
    "check_sequence",
    "choose_log_folder",
    "current_manifest",
    "frames",
    "has_database",
    "leftovers",
    "log_bytes",
    "log_files",
    "log_folder",
    "write_seal",
]

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
"""Record kinds that can stand in our logs. The recyclable ones can't: logs are never recycled here."""


def has_database(path: Path) -> bool:
    """Whether there is a database at ``path`` (its CURRENT file)."""
    return (path / "CURRENT").exists()


def leftovers(path: Path) -> list[str]:
    """Files of a database in a folder without CURRENT: it was one, and must not be made anew over them."""
    try:
        return sorted(name for name in os.listdir(path) if _DATA.fullmatch(name))
    except FileNotFoundError:
        return []


def log_files(path: Path) -> list[Path]:
    """The write-ahead logs, oldest first."""
    return sorted(log_folder(path).glob("[0-9]*.log"))


def log_bytes(path: Path) -> int:
    """Bytes of write-ahead log that opening will replay; 0 after a clean close."""
    return sum(file.stat().st_size for file in log_files(path))


def log_folder(path: Path) -> Path:
    """Where the write-ahead logs of the database at ``path`` are: as its note says, else beside its tables.

    Raises:
        LogReplayError: The noted folder is gone, and what was not flushed with it.
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
    """The folder for the logs of the database at ``path``, made and noted: one of its own below ``root``.

    Logs that a crash left stay where they are, and are used there: RocksDB would not look for them anywhere
    else. They move at the first opening after a clean close. A folder with logs in it that is not noted is of
    a database that was at this path before (a restore keeps it): this one gets another.

    Raises:
        StoreReadOnlyError, StoreFullError, StoreError: The folder can't be made.
    """
    known = log_folder(path)
    wanted = path if root is None else Path(os.path.abspath(root)) / _log_name(path)
    if wanted == known or any(file.stat().st_size for file in known.glob("[0-9]*.log")):
        return known
    if root is not None and known.parent == wanted.parent and known.name.startswith(f"{wanted.name}-"):
        return known
    if root is not None and any(wanted.glob("[0-9]*.log")):
        wanted = wanted.with_name(f"{wanted.name}-{secrets.token_hex(4)}")
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


def _log_name(path: Path) -> str:
    """Of a database's own folder below the configured one: two databases never share one."""
    return f"{path.parent.name}-{zlib.crc32(os.fsencode(path)):08x}"


def check_files(path: Path) -> None:
    """Refuse a database whose CURRENT, MANIFEST or logs can't be trusted to open.

    Cost: one pass over the MANIFEST, and over the headers of logs (empty after a clean close).

    Raises:
        DatabaseCorruptionError: Names the file and what is wrong with it.
        StoreReadOnlyError: A file may not be read by this user, which says nothing of what is in it.
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
            raise _corrupt(file, f"no record of RocksDB's at byte {at}", kind)


def check_sequence(path: Path, sequence: int) -> None:
    """Refuse a database that has gone back behind the sequence number of its seal.

    Raises:
        DatabaseCorruptionError: Writes that had been there when it was last seen are gone.
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
    """The offset of the first record header in ``file`` that RocksDB did not write, None when all are fine.

    A record that is cut off by the end of the file is fine: that is how a crash leaves a log.
    """
    try:
        content = file.read_bytes()
    except FileNotFoundError:  # a live database may have removed it since it was listed
        return None
    return next((at for at, kind in frames(content) if kind not in _TYPES), None)


def frames(content: bytes) -> Iterator[tuple[int, int]]:
    """(offset, type) of each record header of a log or MANIFEST."""
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
    """The MANIFEST that CURRENT names. Raises DatabaseCorruptionError, PermissionError."""
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
    if _number(manifest.name) < int(number[1]):
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


def _number(manifest: str) -> int:
    found = _MANIFEST.fullmatch(manifest)
    return int(found[1]) if found else -1


def _corrupt(
    file: Path, what: str, kind: type[DatabaseCorruptionError] = DatabaseCorruptionError
) -> DatabaseCorruptionError:
    return kind(f"database corruption: {file}: {what}; run `{REPAIR}`")
