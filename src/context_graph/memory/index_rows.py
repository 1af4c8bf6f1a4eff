"""What the index keeps of a memory beside its terms and vector: columns with one value a row.

Some 70 bytes a row. Texts (session, agent, project, source, speaker) are kept once and named by their
ordinal, 0 for none, which is what the kernels compare.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final

from context_graph._kernels import ranking
from context_graph.model.johari import JohariQuadrant
from context_graph.model.memory import MemoryNode

__all__ = ["CLASSES", "QUADRANTS", "Names", "Rows", "speaker_of"]

QUADRANTS: Final = tuple(JohariQuadrant)
CLASSES: Final = ("session", "agent", "project", "source", "speaker")
"""The columns that name texts."""
_NUMBERS: Final = {
    "created": "q",
    "commit": "q",
    "importance": "d",
    "quadrant": "I",
    "asks": "I",
    "before": "I",
}
_ID: Final = 16
_MAX_NAME: Final = 200


class Names:
    """Texts and their ordinals, from 1 in the order they came."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = ["", *texts]
        self._ordinals = {text: i for i, text in enumerate(self._texts) if i}

    def __len__(self) -> int:
        """One more than the texts: ordinals are below it."""
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts[1:])

    def ordinal(self, text: str | None) -> int:
        """The text's ordinal, a new one for a new text; 0 for none."""
        if not text:
            return 0
        found = self._ordinals.get(text)
        if found is None:
            found = self._ordinals[text] = len(self._texts)
            self._texts.append(text)
        return found

    def find(self, text: str) -> int:
        """The text's ordinal, 0 when no row ever had it."""
        return self._ordinals.get(text, 0)

    def text(self, ordinal: int) -> str | None:
        """The text of an ordinal."""
        return self._texts[ordinal] or None


class Rows:
    """The columns. Rows are in order of commit; ``live`` says which count."""

    def __init__(self) -> None:
        self.live = bytearray()
        self.ids = bytearray()
        self.created, self.commit = array("q"), array("q")
        self.importance = array("d")
        self.quadrant, self.asks = array("I"), array("I")
        self.before = array("I")
        """The row of the same session before it, live or not, or ranking.NONE."""
        self.session, self.agent, self.project = array("I"), array("I"), array("I")
        self.source, self.speaker = array("I"), array("I")
        self.names = {name: Names() for name in CLASSES}
        self.tags: dict[str, array[int]] = {}
        """Tag -> its rows, growing."""
        self.newest = 0
        """Unix ms: the latest ``created`` there ever was."""
        self._last: dict[int, int] = {}

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
        self.asks.append("?" in node.content)
        self.before.append(self._last.get(session, ranking.NONE) if session else ranking.NONE)
        self.session.append(session)
        self.agent.append(names["agent"].ordinal(node.agent_id))
        self.project.append(names["project"].ordinal(node.project))
        self.source.append(names["source"].ordinal(node.source))
        self.speaker.append(names["speaker"].ordinal(speaker_of(node)))
        for tag in node.tags:
            self.tags.setdefault(tag, array("I")).append(row)
        if session:
            self._last[session] = row
        self.newest = max(self.newest, node.created_at_ms)
        return row

    def change(self, row: int, node: MemoryNode) -> None:
        """Take over what may change of a memory: importance and quadrant."""
        self.importance[row] = node.importance
        self.quadrant[row] = QUADRANTS.index(node.johari_quadrant)

    def id_of(self, row: int) -> bytes:
        """The 16 bytes of a row's id."""
        return bytes(self.ids[_ID * row : _ID * (row + 1)])

    def numbers(self) -> dict[int, bytes]:
        """Row -> id. Cost: one slice a row."""
        packed = bytes(self.ids)
        return {row: packed[_ID * row : _ID * (row + 1)] for row in range(len(self))}

    def kept(self, keep: bytearray) -> Rows:
        """A copy with those rows alone, renumbered in their order. Cost: some microseconds a row."""
        other = Rows()
        for name in CLASSES:
            other.names[name] = Names(self.names[name])
        number: dict[int, int] = {}
        for row in range(len(self)):
            if not keep[row]:
                continue
            number[row] = len(number)
            other.live.append(self.live[row])
            other.ids += self.id_of(row)
            for name in (*_NUMBERS, *CLASSES):
                getattr(other, name).append(getattr(self, name)[row])
        for tag, rows in self.tags.items():
            kept = array("I", [number[row] for row in rows if row in number])
            if kept:
                other.tags[tag] = kept
        other.link()
        return other

    def link(self) -> None:
        """Make ``before`` and ``newest`` anew from the columns."""
        self.before, self._last = array("I"), {}
        self.newest = max(self.created, default=0)
        for row, session in enumerate(self.session):
            self.before.append(self._last.get(session, ranking.NONE) if session else ranking.NONE)
            if session:
                self._last[session] = row

    def columns(self) -> dict[str, bytearray | array[int] | array[float]]:
        """Every column by its name, as it is; for the snapshot."""
        return {"live": self.live, "ids": self.ids} | {
            name: getattr(self, name) for name in (*_NUMBERS, *CLASSES)
        }


def speaker_of(node: MemoryNode) -> str | None:
    """Who said it: metadata.speaker where that is a text."""
    speaker = node.metadata.get("speaker")
    return speaker[:_MAX_NAME] if isinstance(speaker, str) and not speaker.isspace() else None
