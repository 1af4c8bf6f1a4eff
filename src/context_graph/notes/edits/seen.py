"""Remembers what a session last read of its files, to see where an edit was, and what a file has now that it
had not when the turn began. Bounded; not kept on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import Match, SequenceMatcher
from itertools import pairwise
from typing import Final, NamedTuple

from context_graph.notes.edits.rows import one_line
from context_graph.notes.edits.swaps import unescaped
from context_graph.text.definitions import around
from context_graph.text.patterns import linear

_FILES: Final = 16
_WINDOWS: Final = 12
_CHARS: Final = 4096
_LINES: Final = 240
"""Of a part: comparing takes their square where all are the same."""
_NUMBER: Final = linear(r"^[ \t]*(\d+)(?:\t|→)")
_WHERE: Final = linear(r" (\d{1,7}) (\d{1,7}) (\d{1,7})$")
"""What the client says behind what was read: how many lines, from which one, of how many."""
_LEFT_OUT: Final = "..."
_MOVED: Final = 40
"""Lines by which edits above may have moved a part between two looks."""
_ANCHOR: Final = 12
"""Characters of a line that two parts of one file hardly have by chance."""
_ANCHORS: Final = 2
_ALIKE: Final = 0.6
_VERY_ALIKE: Final = 0.75
_TORN: Final = 2
"""Lines at an end that an edit may have changed, or that hardly tell anything."""
_FEW_LINES: Final = 24
"""Of one difference: of more nobody knows that it is one."""


@dataclass(slots=True)
class _Window:
    """A part of a file."""

    now: str
    base: str
    """As it was when the turn began, or was first read in it."""
    is_clean: bool
    """Whether the session had not changed the file then."""
    turn: int
    start: int
    """The number of its first line; 0 where that is not known."""

    def may_share_lines_with(self, other: _Window) -> bool:
        """Return whether two parts may have lines in common, moved a little."""
        if not (self.start and other.start):
            return True
        return other.start <= self.end and self.start <= other.end

    def has_all_of(self, other: _Window) -> bool:
        """Return whether nothing of another part is not in this one."""
        return other.now in self.now and other.base in self.base

    @property
    def end(self) -> int:
        """The number of the last line that it may have after edits above."""
        return self.start + self.now.count("\n") + _MOVED


class Look(NamedTuple):
    """What a look at a file tells of the edits since the turn began."""

    pairs: list[tuple[str, str]]
    """(old, new) lines, each with the line above."""
    base: str
    """What of the file was looked at, as it was; on one line."""
    now: str
    gone: str
    """The whole part as it was known before the look."""

    def has(self, row: Sequence[str]) -> bool:
        """Return whether an edit (`edits.rows`) is in what was looked at."""
        before, after = row[1], row[2]
        if before:
            return before in self.base
        return after in self.now or after in self.gone


@dataclass(slots=True)
class SeenTexts:
    """File -> parts of it, as they were last seen and edited since."""

    _windows: dict[str, list[_Window]] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self._windows

    def __iter__(self) -> Iterator[str]:
        return iter(self._windows)

    def read(self, path: str, text: str, *, turn: int, changed: bool) -> list[Look]:
        """Take in what was read of a file, or written as all of it; returns what that tells of edits since
        the turn began: before, the user may have changed it.

        Args:
            turn: The number of the turn.
            changed: Whether the session changed the file before.
        """
        known, looks = self._windows.pop(path, []), list[Look]()
        parts = [_Window(part, part, not changed, turn, start) for part, start in _parts_of(text[:_CHARS])]
        for part in parts:
            pairs = [(window, part) for window in known if window.may_share_lines_with(part)]
            looks += [look for pair in pairs if (look := _look(*pair)) is not None]
        known = [window for window in known if not any(part.has_all_of(window) for part in parts)]
        self._windows[path] = [*known, *parts][-_WINDOWS:]
        while len(self._windows) > _FILES:
            del self._windows[next(iter(self._windows))]
        return looks

    def edited(self, path: str, old: str, new: str) -> None:
        """Note that an edit put ``new`` in place of ``old``."""
        for window in self._windows.get(path, ()) if old else ():
            window.now = window.now.replace(old, new, 1)

    def set_back(self, path: str) -> None:
        """Note that a file is again as it was before the session."""
        kept = [window for window in self._windows.get(path, ()) if window.is_clean]
        for window in kept:
            window.now = window.base
        if path in self._windows:
            self._windows[path] = kept

    def lines(self, path: str, first: int, last: int) -> list[str]:
        """Return lines of a file by their numbers, if they were seen with them; else []."""
        for window in reversed(self._windows.get(path, [])):
            lines, begin = window.now.split("\n"), first - window.start
            if window.start and 0 <= begin <= last - window.start < len(lines):
                return lines[begin : last - window.start + 1]
        return []

    def text_of(self, path: str) -> str:
        """Return what was last seen of a file; "" if nothing was."""
        return "\n".join(window.now for window in self._windows.get(path, ())[-1:])

    def has(self, path: str, text: str) -> bool:
        """Return whether a text of several words was seen in a file as it is now."""
        return " " in text.strip() and any(text in window.now for window in self._windows.get(path, ()))

    def place_of(self, path: str, old: str) -> list[str]:
        """Return the definitions that an edit of ``old`` is in; [] where that was not seen."""
        first = old.split("\n", 1)[0]
        for window in reversed(self._windows.get(path, [])) if old.strip() else ():
            at = window.now.find(old)
            at = window.now.find(first) if at < 0 and first.strip() else at
            if at >= 0:
                return around(window.now, at)
        return []

    def whole_lines(self, path: str, old: str, new: str) -> tuple[str, str] | None:
        """Return an edit with the rest of the lines that it is in, as the file has them; None where the text
        was not seen. One that stands there only without a shell's or a pattern's escapes is meant so.
        """
        for window in reversed(self._windows.get(path, [])):
            for before, after in _unescaped(old, new):
                at = window.now.find(before) if before.strip() else -1
                if at >= 0:
                    return _widened(window.now, at, before, after)
        return None


def _look(window: _Window, fresh: _Window) -> Look | None:
    """Return what ``fresh`` tells of a part that was read before, and take it over into both; None if that is
    another one, or as it was."""
    sure = bool(window.start and fresh.start)
    known = _Difference.of(window.now, fresh.now, sure=sure)
    if known is None:
        return None
    before, window.now = window.now, known.merged()
    if window.turn != fresh.turn:
        window.is_clean = window.is_clean and window.now == before
        window.base, window.turn = window.now, fresh.turn
        return None
    since = _Difference.of(window.base, fresh.now, sure=sure)
    if since is None:
        return None
    fresh.base = (_Difference.of(fresh.base, window.base, sure=sure) or since).merged()
    fresh.is_clean = fresh.is_clean or window.is_clean
    if window.now == before:
        return None
    return Look(since.pairs(), since.zone(0), since.zone(1), one_line(before.splitlines()))


def _parts_of(text: str) -> list[tuple[str, int]]:
    """Return what was read, without line numbers, each part with the number of its first line: where lines
    were left out it is in parts, without their torn lines.
    """
    where = _WHERE.search(text)
    start, parts = int(where[2]) if where else 0, [_Part([], 0)]
    for line in (text[: where.start()] if where else text).splitlines():
        number = _NUMBER.match(line) if line.lstrip()[:1].isdigit() else None
        here = int(number[1]) if number else 0
        if line.strip() == _LEFT_OUT:
            parts[-1].lines[-1:] = []
            parts.append(_Part([], -1))
        elif parts[-1].first < 0:
            parts[-1] = _Part([], 0)  # the torn line behind what was left out
        elif number and parts[-1].lines and here != parts[-1].first + len(parts[-1].lines):
            parts.append(_Part([line[number.end() :]], here))
        else:
            parts[-1] = _Part(parts[-1].lines, parts[-1].first or here)
            parts[-1].lines.append(line[number.end() :] if number else line)
    made = [
        ("\n".join(part.lines[:_LINES]), part.first or (0 if at else start)) for at, part in enumerate(parts)
    ]
    return [(part, max(0, first)) for at, (part, first) in enumerate(made) if part.strip() or not at]


class _Part(NamedTuple):
    lines: list[str]
    first: int
    """The number of its first line; 0 where that is not known, -1 before its first whole line."""


def _unescaped(old: str, new: str) -> Iterator[tuple[str, str]]:
    yield old, new
    if "\\" in old:
        yield unescaped(old), unescaped(new)
        once = old.replace("\\\\", "\\"), new.replace("\\\\", "\\")
        yield once
        yield once[0].replace("\\\\", "\\"), once[1].replace("\\\\", "\\")


def _widened(text: str, at: int, old: str, new: str) -> tuple[str, str]:
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at + len(old))
    end = len(text) if end < 0 else end
    head, tail = text[begin:at], text[at + len(old) : end]
    return f"{head}{old}{tail}", f"{head}{new}{tail}"


class _Difference(NamedTuple):
    """Two looks at a part of a file, and which lines both have."""

    before: list[str]
    after: list[str]
    blocks: list[Match]

    @classmethod
    def of(cls, old: str, new: str, *, sure: bool) -> _Difference | None:
        """Compare two parts; None if they have too little in common, which is more where the numbers of
        their lines do not tell that they are ``sure`` to be of one place."""
        made = cls(old.splitlines(), new.splitlines(), [])
        if not _telling(made.before) & _telling(made.after):
            return None
        made.blocks.extend(
            block
            for block in SequenceMatcher(None, made.before, made.after, autojunk=False).get_matching_blocks()
            if _anchors(made.before[block.a : block.a + block.size])
        )
        anchors = sum(_anchors(made.before[block.a : block.a + block.size]) for block in made.blocks)
        common = sum(block.size for block in made.blocks)
        least, alike = (_ANCHORS, _ALIKE) if sure else (2 * _ANCHORS, _VERY_ALIKE)
        if anchors < least or common < alike * min(made._length(0), made._length(1)):
            return None
        return made if made._overlaps() else None

    def _overlaps(self) -> bool:
        """Return whether what both have begins where one of them does, and ends where one does: two parts of
        one text that have lines in common do; two that only look alike hardly ever."""
        first, last = self.blocks[0], self.blocks[-1]
        ends = (len(self.before) - last.a - last.size, len(self.after) - last.b - last.size)
        return min(first.a, first.b) <= _TORN and min(ends) <= _TORN

    def _zone(self, side: int) -> list[str]:
        """Return the lines between the first and the last that both have."""
        first, last = self.blocks[0], self.blocks[-1]
        return (self.before, self.after)[side][first[side] : last[side] + last.size]

    def _length(self, side: int) -> int:
        return len(self._zone(side)) if self.blocks else 0

    def zone(self, side: int) -> str:
        """Return what was looked at, on one line: 0 as it was before, 1 as it is."""
        return one_line(self._zone(side))

    def pairs(self) -> list[tuple[str, str]]:
        """Return (old, new) lines of what differs between lines that both have, each with the line above:
        a text that was only added has a place, too."""
        made = []
        for block, follower in pairwise(self.blocks):
            took = self.before[block.a + block.size : follower.a]
            put = self.after[block.b + block.size : follower.b]
            if max(len(took), len(put)) <= _FEW_LINES and took != put:
                above = self.before[block.a + block.size - 1]
                made.append(("\n".join([above, *took]), "\n".join([above, *put])))
        return made

    def merged(self) -> str:
        """Return the part as it is now."""
        first, last = self.blocks[0], self.blocks[-1]
        now = [*self.before[: first.a], *self._zone(1), *self.before[last.a + last.size :]]
        return "\n".join(now)


def _anchors(lines: Sequence[str]) -> int:
    return sum(len(line.strip()) >= _ANCHOR for line in lines)


def _telling(lines: Sequence[str]) -> set[str]:
    return {line for line in lines if len(line.strip()) >= _ANCHOR}
