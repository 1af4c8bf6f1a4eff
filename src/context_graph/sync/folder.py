"""Carries logs in a folder that something else brings to other machines: synced, shared, or in git.

Each machine has a folder of its own and writes nowhere else, so no two write one file. Its log lies in
segments: lines, then one line with their count, digest and end. A segment that is only partly there, or was
changed, has no such end; who reads goes on behind it, and says in a file of their own what they miss. Other
programs' files, such as conflicted copies, have other names and are not looked at.
"""

from __future__ import annotations

import errno
import os
import re
from _blake2 import blake2b
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec

from context_graph.errors import InvalidInputError
from context_graph.model.memory import MERGED_FROM
from context_graph.sync.change import (
    MAX_LINE_BYTES,
    REMOVED,
    Change,
    canonical,
    decode,
    digest,
    encode,
    is_machine,
)
from context_graph.sync.home import FORMAT, small_file
from context_graph.sync.transport import (
    PAGE_BYTES,
    PAGE_LINES,
    ConflictError,
    Head,
    LoggedChange,
    Page,
    Refusal,
    Transport,
    TransportError,
    untold,
)
from context_graph.system.small_files import open_regular, replacing

_END: Final = b'{"digest"'
"""How the last line of a segment begins, and no other."""
MAX_SEGMENTS: Final = 16
"""Segments of one machine; one more makes a snapshot of them all."""
MAX_MACHINES: Final = 1024
MAX_FILES: Final = 4096
MAX_SEGMENT_BYTES: Final = 1 << 30
_LACKS: Final = "lacks.json"
_METADATA: Final = "metadata"
_MAX_LACKS: Final = 256
_SEGMENT: Final = re.compile(r"([0-9]{12})-([0-9]{12})\.jsonl\Z")
_DRAFT: Final = re.compile(r"\.(?:[0-9]{12}-[0-9]{12}\.jsonl|lacks\.json)\.[a-z0-9_]{8}\Z")
"""What `replacing` was writing when its process died."""


class Segment(NamedTuple):
    """A file with the lines from ``first`` to ``last``; a snapshot lacks what later ones made needless."""

    first: int
    last: int
    path: Path


class _End(msgspec.Struct, forbid_unknown_fields=True):
    """The last line of a segment."""

    format: int
    lines: int
    seq: int
    """Number of the last line."""
    digest: str
    """Of the last line as it was told (`change.digest`): a snapshot may lack it."""
    sum: str
    """BLAKE2b of all lines with their ends, 64 hex digits."""


class _Lacks(msgspec.Struct):
    """What a machine misses of others' logs."""

    format: int
    lacks: list[tuple[str, int, int]]
    """Machine, first and last number."""


class Folder(Transport):
    """The logs in one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = f"folder {digest(os.fsencode(path.resolve()))}"
        self._whole: dict[tuple[Path, int, int], _End] = {}
        """Segments that were found whole, by path, size and time of change."""
        self._next: dict[tuple[Path, int], int] = {}
        """Segment and number -> where in the file the line after that number begins."""
        self._lacking: set[str] = set()
        """Machines that miss something, as far as their folders have been looked at."""

    @property
    def name(self) -> str:
        return self._name

    def head(self, machine: str) -> Head | None:
        segments = self._segments(machine)
        if not segments:
            return None
        end = self._end(segments[-1])
        if end is None:
            raise ConflictError(
                f"{segments[-1].path.name}, the end of this machine's own log, is damaged there"
            )
        return Head(end.seq, end.digest)

    def push(self, machine: str, lines: Sequence[LoggedChange]) -> Head:
        head = self.head(machine) or Head(0, "")
        fresh = untold(machine, lines, head)
        if not fresh:
            return head
        try:
            home = self._own(machine)
            _drop_drafts(home)
            end = digest(fresh[-1].line)
            _write(home, fresh[0].change.seq, fresh[-1].change.seq, end, (line.line for line in fresh))
            segments = self._segments(machine)
            if len(segments) > MAX_SEGMENTS:
                self._compact(machine, segments)
        except OSError as error:
            raise _failed(self.path / machine, error) from error
        return Head(fresh[-1].change.seq, digest(fresh[-1].line))

    def _own(self, machine: str) -> Path:
        """Return the folder that this machine writes in, made if missing. Raises OSError, TransportError."""
        home = self.path / machine
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if home.is_symlink():
            raise TransportError(f"{home} is a link; what is told would be written elsewhere")
        return home

    def machines(self) -> Sequence[str]:
        try:
            with os.scandir(self.path) as entries:
                names = [
                    entry.name
                    for entry in entries
                    if is_machine(entry.name) and entry.is_dir(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise TransportError(f"{self.path}: {error.strerror}") from error
        return sorted(names)[:MAX_MACHINES]

    def pull(self, machine: str, after_seq: int, mark: str = "") -> Page:
        segments = self._segments(machine)
        last = segments[-1].last if segments else 0
        if last <= after_seq:
            return Page(upto=after_seq, is_behind=last < after_seq)
        segment = next(segment for segment in segments if segment.last > after_seq)
        start, missing, refused = after_seq, list[tuple[int, int]](), list[Refusal]()
        if segment.first > after_seq + 1:
            start = segment.first - 1
            missing.append((after_seq + 1, start))
            refused.append(Refusal(machine, f"lines {after_seq + 1} to {start} are not there (yet)"))
        if self._end(segment) is not None:
            try:
                lines, unread, upto = self._lines(segment, machine, start)
                return Page(lines, [*refused, *unread], upto, upto < last, missing=missing)
            except FileNotFoundError:
                pass  # its author has written the log anew meanwhile
            except OSError as error:
                raise TransportError(f"{segment.path}: {error.strerror}") from error
        missing.append((start + 1, segment.last))
        refused.append(Refusal(f"{machine}/{segment.path.name}", "is not whole (yet)"))
        upto = start if segment.last == last else segment.last  # the newest is often on its way
        return Page((), refused, upto, upto < last and segment.last < last, missing=missing)

    def is_torn(self, machine: str) -> bool:
        end = 0
        for segment in self._segments(machine):
            if segment.first > end + 1:
                return True
            end = segment.last
        return False

    def want(self, machine: str, gaps: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        path = self.path / machine / _LACKS
        try:
            if gaps or path.exists():
                self._own(machine)
            if not gaps:
                path.unlink(missing_ok=True)
                return
            rows = [(log, *gap) for log in sorted(gaps) for gap in gaps[log]][:_MAX_LACKS]
            data = canonical({"format": FORMAT, "lacks": rows})
            if small_file(path) != data:
                with replacing(path) as out:
                    out.write(data)
        except OSError as error:
            raise _failed(path, error) from error

    def wanted(self, machine: str) -> tuple[str, bool]:
        entries, is_own = set[str](), False
        for other in self._lacking - {machine}:
            try:
                data = small_file(self.path / other / _LACKS)
                lacks = msgspec.json.decode(data, type=_Lacks).lacks if data else []
            except (OSError, msgspec.DecodeError, msgspec.ValidationError):
                continue
            entries.update(digest(canonical([other, row]))[:8] for row in lacks[:_MAX_LACKS])
            is_own |= any(row[0] == machine for row in lacks)
        return ",".join(sorted(entries)[:_MAX_LACKS]), is_own

    def rewrite(self, machine: str, gone: Collection[str] = ()) -> None:
        """As `Transport.rewrite`; what is damaged in it is left out, for it was handed on before."""
        segments = self._segments(machine)
        whole = [segment for segment in segments if self._end(segment) is not None]
        try:
            if segments:
                _drop_drafts(self.path / machine)
            if gone and not any(_tells_of(change, gone) for change in _changes(whole)):
                return
            if whole and whole[-1] == segments[-1]:
                self._write_anew(machine, 1, segments, whole, gone)
        except OSError as error:
            raise _failed(self.path / machine, error) from error

    def withdraw(self, machine: str) -> None:
        home = self.path / machine
        if home.is_symlink():
            return  # somebody put it there: nothing of this machine's lies behind it
        try:
            _drop_drafts(home)
            for segment in self._segments(machine):
                segment.path.unlink(missing_ok=True)
            (home / _LACKS).unlink(missing_ok=True)
            with suppress(OSError):  # something else lies there
                home.rmdir()
        except OSError as error:
            raise _failed(home, error) from error

    def _lines(
        self, segment: Segment, machine: str, after_seq: int
    ) -> tuple[list[LoggedChange], list[Refusal], int]:
        lines: list[LoggedChange] = []
        refused: list[Refusal] = []
        size, upto = 0, after_seq
        at = self._next.pop((segment.path, after_seq), 0)
        for line in _lines_of(segment.path, at):
            if size >= PAGE_BYTES or len(lines) >= PAGE_LINES:
                self._next[segment.path, upto] = at
                return lines, refused, upto
            at += len(line) + 1
            try:
                change = decode(line)
                if change.machine != machine:
                    raise InvalidInputError("a change of another machine's log")
            except InvalidInputError as error:
                refused.append(
                    Refusal(f"{machine}/{segment.path.name} byte {at - len(line) - 1}", str(error))
                )
                continue
            if change.seq > upto:
                lines.append(LoggedChange(change, line))
                size, upto = size + len(line), change.seq
        return lines, refused, segment.last

    def _segments(self, machine: str) -> list[Segment]:
        """In order; of those that begin at one number the longest, none that lies within another."""
        segments: list[Segment] = []
        try:
            if (self.path / machine).is_symlink():
                return segments
            with os.scandir(self.path / machine) as entries:
                self._lacking.discard(machine)
                for number, entry in enumerate(entries):
                    if entry.name == _LACKS:
                        self._lacking.add(machine)
                    match = _SEGMENT.match(entry.name)
                    if match is not None and entry.is_file(follow_symlinks=False):
                        segments.append(Segment(int(match[1]), int(match[2]), Path(entry.path)))
                    if number == MAX_FILES:
                        break
        except FileNotFoundError:
            return []
        except OSError as error:
            raise TransportError(f"{self.path / machine}: {error.strerror}") from error
        kept: list[Segment] = []
        for segment in sorted(segments, key=lambda segment: (segment.first, -segment.last)):
            if not kept or segment.last > kept[-1].last:
                kept.append(segment)
        return kept

    def _end(self, segment: Segment) -> _End | None:
        """Return the end of a segment whose lines are as they were written; None for another."""
        try:
            status = segment.path.lstat()
        except OSError:
            return None
        key = segment.path, status.st_size, status.st_mtime_ns
        if key not in self._whole:
            end = _end_of(segment.path) if status.st_size <= MAX_SEGMENT_BYTES else None
            if end is None or end.seq != segment.last:
                return None
            self._whole[key] = end
        return self._whole[key]

    def _compact(self, machine: str, segments: Sequence[Segment]) -> None:
        """One snapshot in the place of several segments: without what later lines made needless.

        The first is left as it is while it is much larger than the others together, so that each line is
        written again a bounded number of times.
        """
        sizes = [segment.path.stat().st_size for segment in segments]
        if sizes[0] > 2 * sum(sizes[1:]):
            segments = segments[1:]
        if all(self._end(segment) is not None for segment in segments):
            self._write_anew(machine, segments[0].first, segments, segments, ())

    def _write_anew(
        self,
        machine: str,
        first: int,
        segments: Sequence[Segment],
        whole: Sequence[Segment],
        gone: Collection[str],
    ) -> None:
        """One snapshot in the place of ``segments``, with what is needed of those that are ``whole``."""
        newest: dict[tuple[str, str, str], tuple[int, str, int]] = {}
        removed = set(gone)
        for change in _changes(whole):
            if REMOVED in change.fields:
                removed.add(change.subject)
            for key, rank in _parts(change):
                newest[key] = max(rank, newest.get(key, (-1, "", 0)))
        end = self._end(whole[-1])
        assert end is not None
        kept = (
            line for change in _changes(whole) if (line := _still_needed(change, newest, removed)) is not None
        )
        snapshot = _write(self.path / machine, first, end.seq, end.digest, kept)
        self._next.clear()
        for segment in segments:
            if segment.path != snapshot:
                segment.path.unlink(missing_ok=True)


def _tells_of(change: Change, gone: Collection[str]) -> bool:
    if change.subject in gone:
        return change.fields.keys() != {REMOVED} or bool(change.uses)
    return _quotes(change, gone)


def _quotes(change: Change, gone: Collection[str]) -> bool:
    """Return whether it has words of one that is gone, which had been merged into its memory."""
    metadata = change.fields.get(_METADATA)
    rows = metadata.get(MERGED_FROM) if isinstance(metadata, dict) else None
    return isinstance(rows, list) and any(
        isinstance(row, dict) and str(row.get("id")) in gone for row in rows
    )


def _drop_drafts(home: Path) -> None:
    """Of processes that died, in this machine's folder; a store has one exchange at a time."""
    with suppress(FileNotFoundError), os.scandir(home) as entries:
        for entry in entries:
            if _DRAFT.match(entry.name):
                os.unlink(entry.path)


def _failed(path: Path, error: OSError) -> TransportError:
    return TransportError(f"{error.filename or path}: {error.strerror}")


def _parts(change: Change) -> Iterator[tuple[tuple[str, str, str], tuple[int, str, int]]]:
    """Yield what a change sets, and how new that is."""
    for name in change.fields:
        yield (change.kind, change.subject, name), (change.clock, change.by, change.seq)
    for machine, (times, last) in change.uses.items():
        yield (change.kind, change.subject, f"uses {machine}"), (times, str(last).zfill(20), change.seq)


def _still_needed(
    change: Change, newest: dict[tuple[str, str, str], tuple[int, str, int]], removed: Collection[str]
) -> bytes | None:
    """Return a change with what no later one sets and nothing of what is removed; None if nothing is left."""
    left = {key[2] for key, rank in _parts(change) if newest[key] == rank}
    if change.subject in removed:
        left &= {REMOVED}
    elif _quotes(change, removed):
        left -= {_METADATA}  # whoever takes the words out of it tells the rest anew
    fields = {name: value for name, value in change.fields.items() if name in left}
    uses = {machine: count for machine, count in change.uses.items() if f"uses {machine}" in left}
    if not fields and not uses:
        return None
    return encode(msgspec.structs.replace(change, fields=fields, uses=uses))


def _end_of(path: Path) -> _End | None:
    """Return the last line of a segment if the others make it; reads in lines of bounded length."""
    sums, count = blake2b(digest_size=32), 0
    try:
        with _opened(path) as file:
            while line := file.readline(MAX_LINE_BYTES + 2):
                if line.startswith(_END):
                    end = msgspec.json.decode(line, type=_End)
                    is_whole = (end.format, end.lines, end.sum) == (FORMAT, count, sums.hexdigest())
                    return end if is_whole and not file.read(1) else None
                sums.update(line)
                count += 1
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return None
    return None


def _changes(segments: Sequence[Segment]) -> Iterator[Change]:
    seen = 0
    for segment in segments:
        for line in _lines_of(segment.path):
            change = decode(line)
            if change.seq > seen:
                seen = change.seq
                yield change


def _opened(path: Path) -> BinaryIO:
    """Raises OSError if something else has taken its place since it was seen: a link, a pipe."""
    try:
        return open_regular(os.fspath(path), follow=False)
    except ValueError as error:
        raise OSError(errno.EINVAL, "it is no plain file", str(path)) from error


def _lines_of(path: Path, at: int = 0) -> Iterator[bytes]:
    """Yield the lines of a whole segment from that byte on, without its end."""
    with _opened(path) as file:
        file.seek(at)
        while line := file.readline(MAX_LINE_BYTES + 2):
            if line.startswith(_END):
                return
            yield line.rstrip(b"\n")


def _write(home: Path, first: int, last: int, end_digest: str, lines: Iterator[bytes]) -> Path:
    path = home / f"{first:012d}-{last:012d}.jsonl"
    sums, count = blake2b(digest_size=32), 0
    with replacing(path, is_durable=True) as out:
        for line in lines:
            out.write(line + b"\n")
            sums.update(line + b"\n")
            count += 1
        end = {"format": FORMAT, "lines": count, "seq": last, "digest": end_digest, "sum": sums.hexdigest()}
        out.write(canonical(end) + b"\n")
    return path
