"""Carries logs in a folder that something else brings to other machines: synced, shared, or in git.

Each machine has a folder of its own and writes nowhere else, so no two write one file. Its log lies in
segments that never change once they are there: lines, then one line with their count, digest and end. A
segment that is only partly there, or was changed, has no such end; its log ends before it until the rest
comes. Files that other programs add, such as conflicted copies, have other names and are not looked at.
"""

from __future__ import annotations

import os
import re
from _blake2 import blake2b
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import orjson

from context_graph.errors import InvalidInputError
from context_graph.sync.change import MAX_LINE_BYTES, Change, canonical, decode, digest, encode, is_machine
from context_graph.sync.transport import (
    PAGE_BYTES,
    PAGE_LINES,
    ConflictError,
    Head,
    Page,
    Refusal,
    Told,
    Transport,
    TransportError,
)
from context_graph.whole_file import replacing

FORMAT: Final = 1
_END: Final = b'{"digest"'
"""How the last line of a segment begins, and no other."""
MAX_SEGMENTS: Final = 16
"""Of one machine; one more makes a snapshot of them all."""
MAX_MACHINES: Final = 1024
MAX_FILES: Final = 4096
MAX_SEGMENT_BYTES: Final = 1 << 30
_SEGMENT: Final = re.compile(r"([0-9]{12})-([0-9]{12})\.jsonl\Z")


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
    """Of the last line (`change.digest`)."""
    sum: str
    """BLAKE2b of all lines with their ends, 64 hex digits."""


class Folder(Transport):
    """The logs in one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = f"folder {digest(os.fsencode(path.resolve()))}"
        self._whole: dict[tuple[Path, int, int], _End] = {}
        """Segments that were found whole, by path, size and time of change."""
        self._next: dict[tuple[Path, int], int] = {}
        """Segment and number -> where in the file the line after that number begins."""

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

    def push(self, machine: str, told: Sequence[Told]) -> Head:
        head = self.head(machine) or Head(0, "")
        fresh = [one for one in told if one.change.seq > head.seq]
        if not fresh:
            self._check_there(machine, told, head)
            return head
        before = fresh[0].change.seq - 1
        if before != head.seq or any(
            one.change.seq != number for number, one in enumerate(fresh, before + 1)
        ):
            raise ConflictError(f"change {fresh[0].change.seq} does not continue the log of {machine}")
        if len(fresh) < len(told) and digest(told[-len(fresh) - 1].line) != head.digest:
            raise ConflictError(f"change {head.seq} of {machine} is another one there")
        home = self.path / machine
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(home, fresh[0].change.seq, fresh[-1].change.seq, (one.line for one in fresh))
            segments = self._segments(machine)
            if len(segments) > MAX_SEGMENTS:
                self._compact(machine, segments)
        except OSError as error:
            raise TransportError(f"{error.filename or home}: {error.strerror}") from error
        return Head(fresh[-1].change.seq, digest(fresh[-1].line))

    def _check_there(self, machine: str, told: Sequence[Told], head: Head) -> None:
        if told and told[-1].change.seq == head.seq and digest(told[-1].line) != head.digest:
            raise ConflictError(f"change {head.seq} of {machine} is another one there")

    def machines(self) -> Sequence[str]:
        try:
            with os.scandir(self.path) as found:
                names = [
                    one.name for one in found if is_machine(one.name) and one.is_dir(follow_symlinks=False)
                ]
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise TransportError(f"{self.path}: {error.strerror}") from error
        return sorted(names)[:MAX_MACHINES]

    def pull(self, machine: str, after_seq: int) -> Page:
        segments = [one for one in self._segments(machine) if one.last > after_seq]
        if not segments:
            return Page(upto=after_seq)
        segment = segments[0]
        if segment.first > after_seq + 1:
            why = f"lines {after_seq + 1} to {segment.first - 1} are not there yet"
            return Page((), (Refusal(machine, why),), after_seq)
        if self._end(segment) is None:
            return Page((), (Refusal(f"{machine}/{segment.path.name}", "is not whole (yet)"),), after_seq)
        try:
            told, refused, upto = self._lines(segment, machine, after_seq)
        except OSError as error:
            raise TransportError(f"{segment.path}: {error.strerror}") from error
        return Page(told, refused, upto, upto < segments[-1].last)

    def _lines(self, segment: Segment, machine: str, after_seq: int) -> tuple[list[Told], list[Refusal], int]:
        told: list[Told] = []
        refused: list[Refusal] = []
        size, upto = 0, after_seq
        at = self._next.pop((segment.path, after_seq), 0)
        for line in _lines_of(segment.path, at):
            if size >= PAGE_BYTES or len(told) >= PAGE_LINES:
                self._next[segment.path, upto] = at
                return told, refused, upto
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
                told.append(Told(change, line))
                size, upto = size + len(line), change.seq
        return told, refused, segment.last

    def _segments(self, machine: str) -> list[Segment]:
        """In order; of those that begin at one number the longest, none that lies within another."""
        found = []
        try:
            with os.scandir(self.path / machine) as entries:
                for number, entry in enumerate(entries):
                    match = _SEGMENT.match(entry.name)
                    if match is not None and entry.is_file(follow_symlinks=False):
                        found.append(Segment(int(match[1]), int(match[2]), Path(entry.path)))
                    if number == MAX_FILES:
                        break
        except FileNotFoundError:
            return []
        except OSError as error:
            raise TransportError(f"{self.path / machine}: {error.strerror}") from error
        kept: list[Segment] = []
        for one in sorted(found, key=lambda one: (one.first, -one.last)):
            if not kept or one.last > kept[-1].last:
                kept.append(one)
        return kept

    def _end(self, segment: Segment) -> _End | None:
        """The end of a segment whose lines are as they were written; None for another."""
        try:
            found = segment.path.stat()
        except OSError:
            return None
        key = segment.path, found.st_size, found.st_mtime_ns
        if key not in self._whole:
            end = _end_of(segment.path) if found.st_size <= MAX_SEGMENT_BYTES else None
            if end is None or end.seq != segment.last:
                return None
            self._whole[key] = end
        return self._whole[key]

    def _compact(self, machine: str, segments: Sequence[Segment]) -> None:
        """One snapshot in the place of several segments: without what later lines made needless.

        The first is left as it is while it is much larger than the others together, so that each line is
        written again a bounded number of times.
        """
        sizes = [one.path.stat().st_size for one in segments]
        if sizes[0] > 2 * sum(sizes[1:]):
            segments = segments[1:]
        if any(self._end(one) is None for one in segments):
            return
        newest: dict[tuple[str, str, str], tuple[int, str, int]] = {}
        for change in _changes(segments):
            for key, rank in _parts(change):
                newest[key] = max(rank, newest.get(key, (-1, "", 0)))
        last = segments[-1].last
        kept = (
            line for change in _changes(segments) if (line := _still_needed(change, newest, last)) is not None
        )
        snapshot = _write(self.path / machine, segments[0].first, last, kept)
        for one in segments:
            if one.path != snapshot:
                one.path.unlink(missing_ok=True)


def _parts(change: Change) -> Iterator[tuple[tuple[str, str, str], tuple[int, str, int]]]:
    """What a change sets, and how new that is."""
    for name in change.fields:
        yield (change.kind, change.subject, name), (change.clock, change.by, change.seq)
    for machine, (times, last) in change.uses.items():
        yield (change.kind, change.subject, f"uses {machine}"), (times, str(last).zfill(20), change.seq)


def _still_needed(
    change: Change, newest: dict[tuple[str, str, str], tuple[int, str, int]], last: int
) -> bytes | None:
    """The line of a change with what no later one sets; None if nothing is left, but never for the last."""
    if change.seq == last:  # its digest is the log's end
        return encode(change)
    left = {key[2] for key, rank in _parts(change) if newest[key] == rank}
    fields = {name: value for name, value in change.fields.items() if name in left}
    uses = {machine: count for machine, count in change.uses.items() if f"uses {machine}" in left}
    if not fields and not uses:
        return None
    return encode(msgspec.structs.replace(change, fields=fields, uses=uses))


def _end_of(path: Path) -> _End | None:
    """The last line of a segment if it is what the others make; reads the file in lines of bounded length."""
    sums, count, last = blake2b(digest_size=32), 0, b""
    try:
        with open(path, "rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 2):
                if line.startswith(_END):
                    end = msgspec.json.decode(line, type=_End)
                    said = (end.format, end.lines, end.digest, end.sum)
                    is_whole = said == (FORMAT, count, digest(last), sums.hexdigest())
                    return end if is_whole and not file.read(1) else None
                sums.update(line)
                count, last = count + 1, line.rstrip(b"\n")
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


def _lines_of(path: Path, at: int = 0) -> Iterator[bytes]:
    """The lines of a whole segment from that byte on, without its end."""
    with open(path, "rb") as file:
        file.seek(at)
        while line := file.readline(MAX_LINE_BYTES + 2):
            if line.startswith(_END):
                return
            yield line.rstrip(b"\n")


def _write(home: Path, first: int, last: int, lines: Iterator[bytes]) -> Path:
    path = home / f"{first:012d}-{last:012d}.jsonl"
    sums, count, line = blake2b(digest_size=32), 0, b""
    with replacing(path, is_durable=True) as out:
        for line in lines:
            out.write(line + b"\n")
            sums.update(line + b"\n")
            count += 1
        end = {"format": FORMAT, "lines": count, "seq": last, "digest": digest(line), "sum": sums.hexdigest()}
        out.write(canonical(end) + b"\n")
    return path


def check_home(path: Path, project: str, remote: str) -> None:
    """Make ``path`` the folder of one project, or see that it is that project's.

    Raises:
        InvalidInputError: It is another project's, or can't be written.
    """
    note = path / "project.json"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = orjson.loads(note.read_bytes()[:65536]) if note.exists() else None
        if found is None:
            with replacing(note) as out:
                out.write(canonical({"format": FORMAT, "project": project, "remote": remote}) + b"\n")
            return
    except (OSError, orjson.JSONDecodeError) as error:
        raise InvalidInputError(f"{note} can't be read or written: {error}") from error
    there = found.get("remote", "") if isinstance(found, dict) else ""
    if remote and there and there != remote:
        raise InvalidInputError(
            f"{path} holds the memory of another project, whose remote is {str(there)[:200]!r} "
            f"and not {remote!r}; name this one with --name"
        )
