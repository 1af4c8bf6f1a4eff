"""Keeps the index's columns, one value a row: what it knows of a memory besides terms and vector.

Some 70 bytes a row. Texts (session, agent, project, source) are stored once; the columns hold their
ordinals, 0 for none, which the kernels compare.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, compress
from struct import Struct
from typing import Final

from context_graph.kernels import ranking
from context_graph.kernels import rows as row_kernels
from context_graph.model.memory import NOTED, JohariQuadrant, MemoryNode
from context_graph.model.note import NoteKind, kind_of_memory

QUADRANTS: Final = tuple(JohariQuadrant)
CLASSES: Final = ("session", "agent", "project", "source")
"""The columns that name texts."""
NUMBERS: Final = ("created", "commit", "importance", "quadrant", "flags")
ASKS: Final = 1
"""Flag: the content asks something (`asks`)."""
GONE: Final = 2
"""Flag: the memory is deleted for good, the row waits to be removed."""
_ID: Final = 16
_IDS: Final = Struct("16s")
_CODE: Final = frozenset("(){}[]=;<>_\\|#`")
"""A sentence with one of these is no question, whatever its end."""
_GOES_ON: Final = ".=:,;)|&<>+*/-"
_LONGEST_QUESTION: Final = 300


def asks(text: str) -> bool:
    """Return whether a sentence of ``text`` is a question. A `?` in code, a type or a URL makes none."""
    at = text.find("?")
    while at >= 0:
        after = text[at + 1 : at + 20].lstrip("?!\"'”’) \t")
        ends = not after or not (after[0].islower() or after[0] in _GOES_ON)
        alone = at + 1 == len(text) or not text[at + 1].isalnum()
        if ends and alone and at and (text[at - 1].isalnum() or text[at - 1] in "\"'”’ "):
            since = max(0, at - _LONGEST_QUESTION)
            begin = max(text.rfind(sign, since, at) for sign in ".!?\n") + 1
            if _CODE.isdisjoint(text[max(begin, since) : at]):
                return True
        at = text.find("?", at + 1)
    return False


def kind_tag(kind: NoteKind) -> str:
    """Under which the rows of notes of a kind stand among the tags; nobody can give such a tag."""
    return f"\0{kind}"


def tags_of(node: MemoryNode) -> tuple[str, ...]:
    """Return a memory's tags, with that of its kind if it is a note."""
    kind = kind_of_memory(node.metadata) if node.metadata else None
    return node.tags if kind is None else (*node.tags, kind_tag(kind))


class Names:
    """Texts and their ordinals, from 1 in order of arrival."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = ["", *texts]
        self._ordinals = {text: i for i, text in enumerate(self._texts) if i}

    def __len__(self) -> int:
        """Number of texts + 1: ordinals are below it."""
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts[1:])

    def ordinal(self, text: str | None) -> int:
        """Return the text's ordinal, a new one for a new text; 0 for none."""
        if not text:
            return 0
        number = self._ordinals.get(text)
        if number is None:
            number = self._ordinals[text] = len(self._texts)
            self._texts.append(text)
        return number

    def find(self, text: str) -> int:
        """Return the text's ordinal, 0 if no row ever had it."""
        return self._ordinals.get(text, 0)

    def those_in(self, column: array[int]) -> tuple[Names, array[int]]:
        """Return the texts that ``column`` has, and the column with their ordinals there."""
        used = sorted({0, *column})
        new = dict(zip(used, range(len(used)), strict=True))
        return Names(self._texts[old] for old in used[1:]), array("I", map(new.__getitem__, column))


class Rows:
    """The columns. Rows are in order of commit; ``live`` says which count."""

    def __init__(self) -> None:
        self.live = bytearray()
        self.ids = bytearray()
        self.created, self.commit = array("q"), array("q")
        self.importance = array("d")
        self.quadrant, self.flags = array("I"), array("I")
        self.group = array("I")
        """The session, for what sessions lend each other: 0 for a note, which has its words from its session
        as all the others do."""
        self.before = array("I")
        """The row of the same group before it, live or not, or ranking.NONE."""
        self.session, self.agent, self.project = array("I"), array("I"), array("I")
        self.source = array("I")
        self.names = {name: Names() for name in CLASSES}
        self.tags: dict[str, array[int]] = {}
        """Tag -> its rows, growing."""
        self.newest = 0
        """Unix ms: the latest ``created`` there ever was."""
        self._last = array("I", [ranking.NONE])
        """The last row of each group, by ordinal."""

    def __len__(self) -> int:
        return len(self.live)

    def append(self, node: MemoryNode, live: bool) -> int:
        """Append a row; its number. Cost: some 2 microseconds."""
        row, names = len(self.live), self.names
        session = names["session"].ordinal(node.session_id)
        self.live.append(live)
        self.ids += node.id.bytes
        self.created.append(node.created_at_ms)
        self.commit.append(node.commit_seq)
        self.importance.append(node.importance)
        self.quadrant.append(QUADRANTS.index(node.johari_quadrant))
        self.flags.append(ASKS if asks(node.content) else 0)
        group = 0 if node.source == NOTED else session
        while session >= len(self._last):
            self._last.append(ranking.NONE)
        self.before.append(self._last[group])
        self.session.append(session)
        self.group.append(group)
        self.agent.append(names["agent"].ordinal(node.agent_id))
        self.project.append(names["project"].ordinal(node.project))
        self.source.append(names["source"].ordinal(node.source))
        for tag in tags_of(node):
            self.tags.setdefault(tag, array("I")).append(row)
        if group:
            self._last[group] = row
        self.newest = max(self.newest, node.created_at_ms)
        return row

    def take_over(self, row: int, node: MemoryNode) -> bool:
        """Copy all fields that may change without the content; whether `link` must be called then."""
        names = self.names
        self.importance[row] = node.importance
        self.quadrant[row] = QUADRANTS.index(node.johari_quadrant)
        self.agent[row] = names["agent"].ordinal(node.agent_id)
        self.project[row] = names["project"].ordinal(node.project)
        self.source[row] = names["source"].ordinal(node.source)
        tags = tags_of(node)
        for tag, rows in self.tags.items():
            at = bisect_left(rows, row)
            if tag not in tags and at < len(rows) and rows[at] == row:
                del rows[at]
        for tag in tags:
            rows = self.tags.setdefault(tag, array("I"))
            at = bisect_left(rows, row)
            if at == len(rows) or rows[at] != row:
                rows.insert(at, row)
        session = names["session"].ordinal(node.session_id)
        moved = (session, node.created_at_ms) != (self.session[row], self.created[row])
        self.session[row], self.created[row] = session, node.created_at_ms
        return moved

    def pairs(self, most: int) -> tuple[tuple[array[int], array[int]], tuple[array[int], array[int]]]:
        """Return up to ``most`` pairs of live neighbours of one session, and of live rows of different ones.

        Live rows are taken at equal distances; the second pairs join those half of the rows apart. So they
        depend on the live rows alone. Cost: one pass over ``live``, and some 0.1 ms for 512 pairs.
        """
        taken = ranking.spaced(self.live, most)
        half = len(taken) // 2
        near = [(row, other) for row in taken if (other := self._live_before(row)) is not None]
        far = [
            (row, other)
            for row, other in zip(taken, taken[half:] + taken[:half], strict=True)
            if row != other and not 0 < self.group[row] == self.group[other]
        ]
        return _columns(near), _columns(far)

    def _live_before(self, row: int) -> int | None:
        """Return the live row of the same session before it."""
        earlier = self.before[row]
        while earlier < row and not self.live[earlier]:
            row, earlier = earlier, self.before[earlier]
        return earlier if earlier < row else None

    def id_of(self, row: int) -> bytes:
        """Return the 16 bytes of a row's id."""
        return bytes(self.ids[_ID * row : _ID * (row + 1)])

    def numbers(self) -> row_kernels.Ids:
        """Id -> row, of all rows that are not gone. Cost: some 30 ns a row."""
        ids = row_kernels.Ids()
        ids.put_all(self.ids, self.flags, GONE)
        return ids

    def kept(self, keep: bytearray) -> Rows:
        """Return a copy with those rows and their texts only, renumbered in order."""
        other = Rows()
        other.live = bytearray(compress(self.live, keep))
        other.ids = bytearray().join(node_id for (node_id,) in compress(_IDS.iter_unpack(self.ids), keep))
        for name in (*NUMBERS, *CLASSES):
            column = getattr(self, name)
            setattr(other, name, array(column.typecode, compress(column, keep)))
        for name in CLASSES:
            other.names[name], column = self.names[name].those_in(getattr(other, name))
            setattr(other, name, column)
        number = list(accumulate(keep, initial=0))
        for tag, rows in self.tags.items():
            kept = array("I", [number[row] for row in rows if keep[row]])
            if kept:
                other.tags[tag] = kept
        other.link()
        return other

    def link(self) -> None:
        """Rebuild ``group``, ``before`` and ``newest`` from the columns."""
        noted = self.names["source"].find(NOTED)
        self.group = array("I", self.session)
        if noted:
            for row, source in enumerate(self.source):
                if source == noted:
                    self.group[row] = 0
        self.before, self._last = row_kernels.previous(self.group)
        # A session may have a name and no row any more.
        self._last.extend([ranking.NONE] * (len(self.names["session"]) - len(self._last)))
        self.newest = max(self.created, default=0)

    def columns(self) -> dict[str, bytearray | array[int] | array[float]]:
        """Return every column by name, not copied; for the snapshot."""
        return {"live": self.live, "ids": self.ids} | {
            name: getattr(self, name) for name in (*NUMBERS, *CLASSES)
        }


def _columns(pairs: Sequence[tuple[int, int]]) -> tuple[array[int], array[int]]:
    return array("I", [a for a, _ in pairs]), array("I", [b for _, b in pairs])
