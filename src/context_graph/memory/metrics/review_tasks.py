"""Finds memories that somebody should review: duplicates, contradictions, and memories without links.

Candidates are noted as memories and edges come, and examined later, a few at a time, so that no write or
answer waits. A finding stands until one of its memories is deleted or an edge settles it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from context_graph.errors import UNREADABLE_RECORD
from context_graph.model.edge import GraphEdge
from context_graph.model.memory import ACCEPTED, CAPTURED, NOTED, MemoryNode
from context_graph.text.paraphrase import MAX_CHARS, opposition, same_meaning
from context_graph.text.sentences import content_words
from context_graph.text.superseding import supersedes

CONTRADICTS: Final = "contradicts"
"""This relationship type puts two memories in doubt until an edge that settles it joins the same two."""
SETTLES: Final = frozenset({"supersedes", "replaces", "resolves"})
"""Kinds of edges that say which of two contradicting memories holds."""

MAX_APART_CHARS: Final = 600
"""Characters of a text whose like is looked for among all memories, however long ago they were stored."""
NEAREST: Final = 8
"""Memories that each of them is compared with, itself among them."""
ALIKE: Final = 0.6
"""Least share of the shorter one's words that two memories have in common: what opposes differs in one or
two."""
MAX_AT_ONCE: Final = 4
"""Pairs of one answer that are judged before it is given."""
ANSWER_S: Final = 0.0003
"""Processor time after which no further one of them is begun."""
MAX_WAITING: Final = 4096
"""Candidates that wait; beyond that the oldest is dropped."""
MAX_FOUND: Final = 1024
MAX_TASKS: Final = 20
MAX_TARGETS: Final = 10
_ID_CHARS: Final = 8
LONE_DAYS: Final = 14
"""Without any use, since it was stored or happened, whichever is later."""
LONE_IMPORTANCE: Final = 0.8
LONE_EVERY_MS: Final = 3_600_000
_DAY_MS: Final = 86_400_000
Pair = frozenset[UUID]


class TaskType(StrEnum):
    """What there is to do."""

    CONTRADICTION = "contradiction"
    DUPLICATE = "duplicate"
    ORPHAN = "orphan"


class Priority(StrEnum):
    """How soon."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


_PRIORITY: Final = {
    TaskType.CONTRADICTION: Priority.HIGH,
    TaskType.DUPLICATE: Priority.NORMAL,
    TaskType.ORPHAN: Priority.LOW,
}


ENDED_BY: Final[dict[TaskType, dict[str, str]]] = {
    TaskType.CONTRADICTION: {
        "link_memories": "relationship_type supersedes or resolves, from the one that holds to the other",
        "forget_memory": "the one that is wrong",
    },
    TaskType.DUPLICATE: {"forget_memory": "all but one", "link_memories": "to keep both"},
    TaskType.ORPHAN: {
        "get_memory": "with accept: true if it is fine as it is",
        "link_memories": "to what it belongs to",
        "forget_memory": "if nobody needs it",
    },
}
"""Tools that end a task, and how."""


@dataclass(frozen=True, slots=True)
class ReviewTask:
    """One thing to review (REQ-CORE-017)."""

    task_type: TaskType
    target_nodes: tuple[UUID, ...]
    """The memories of the task, at most 10; `nodes` says how many there are."""
    nodes: int
    reason: str

    @property
    def priority(self) -> Priority:
        return _PRIORITY[self.task_type]

    def as_dict(self) -> dict[str, object]:
        """JSON-able, by seed 003's field names."""
        return {
            "task_type": self.task_type.value,
            "target_nodes": [str(node) for node in self.target_nodes],
            "nodes": self.nodes,
            "priority": self.priority.value,
            "reason": self.reason,
            "ended_by": ENDED_BY[self.task_type],
        }


@dataclass(frozen=True, slots=True)
class _Finding:
    kind: TaskType
    reason: str


class Reader(Protocol):
    """Gives live memories and their edges: a Memex."""

    def get(self, node_id: UUID, /) -> MemoryNode | None: ...

    def edges(self, node_id: UUID, /) -> Sequence[GraphEdge]:
        """Of both directions."""

    def nearest(self, content: str, most: int, /) -> Sequence[MemoryNode]:
        """Memories that words and meaning bring nearest to a text."""


class Effort(NamedTuple):
    """The most that one look at candidates may cost; it ends at the first limit."""

    candidates: int
    seconds: float
    chars: int
    """Longest content that is compared; longer ones wait for a look with a higher limit. Some 3 us a word."""


class ReviewTasks:
    """The candidates and findings of one store. Not thread-safe: used under Memex's lock."""

    def __init__(self, waiting: Iterable[Pair] = (), apart: Iterable[UUID] = ()) -> None:
        self._waiting: deque[Pair] = deque(waiting, maxlen=MAX_WAITING)
        self._long: deque[Pair] = deque(maxlen=MAX_WAITING)
        self._apart: deque[UUID] = deque(apart, maxlen=MAX_WAITING)
        self._found: dict[Pair, _Finding] = {}
        self._pairs_of: dict[UUID, set[Pair]] = {}
        self._lone_waiting: deque[UUID] = deque()
        self._lone: dict[UUID, None] = {}
        self._lone_at_ms: int | None = None

    def noticed(self, node: UUID, near: UUID) -> None:
        """Take in that a new memory is very similar to another."""
        self._waiting.append(frozenset((node, near)))

    def arrived(self, node: MemoryNode) -> None:
        """Take in a new memory: what says nearly the same may have been stored long ago."""
        if len(node.content) <= MAX_APART_CHARS and node.source not in (CAPTURED, NOTED):
            self._apart.append(node.id)

    def answered(self, reader: Reader, ids: Sequence[UUID]) -> None:
        """Judge those memories of one answer that say nearly the same, the most alike first: what is in doubt
        is told with it, not later. Cost: some 0.1 ms a pair, four at most."""
        nodes: list[MemoryNode] = []
        for node_id in ids:
            with suppress(*UNREADABLE_RECORD):
                nodes += [node] if (node := reader.get(node_id)) is not None else []
        short = [node for node in nodes if len(node.content) <= MAX_APART_CHARS]
        words = [content_words(node.content) for node in short]
        alike = [
            (len(words[i] & words[j]) / len(words[i] | words[j]), frozenset((short[i].id, short[j].id)))
            for i in range(len(short))
            for j in range(i)
            if _overlap(words[i], words[j]) >= ALIKE
        ]
        until = time.thread_time() + ANSWER_S
        for _, pair in sorted(alike, key=lambda row: -row[0])[:MAX_AT_ONCE]:
            self._judge(reader, pair, MAX_CHARS)
            if time.thread_time() >= until:
                break

    def linked(self, edge: GraphEdge) -> None:
        """Take in that an edge was added or removed: it may state a contradiction, or settle one."""
        pair = frozenset((edge.source_id, edge.target_id))
        if pair in self._found or edge.relationship_type == CONTRADICTS:
            self._drop(pair)
            self._waiting.append(pair)
        self._lone.pop(edge.source_id, None)
        self._lone.pop(edge.target_id, None)

    def removed(self, node: UUID) -> None:
        """Drop what was found about a memory that was deleted."""
        for pair in list(self._pairs_of.get(node, ())):
            self._drop(pair)
        self._lone.pop(node, None)

    def touched(self, node: UUID) -> None:
        """Take in that a memory was used, tagged or accepted, so it is no orphan."""
        self._lone.pop(node, None)

    def look(self, reader: Reader, alone: Callable[[], Sequence[UUID]], effort: Effort, now_ms: int) -> bool:
        """Judge some candidates, newest first, at least one; return whether a pair waits for a review.

        Args:
            alone: Ids of memories without a link that are the only one of their topic; asked once an hour.
            effort: The limits. One candidate of 60 words takes some 0.4 ms.
        """
        if self._lone_at_ms is None or now_ms - self._lone_at_ms >= LONE_EVERY_MS:
            self._lone_at_ms = now_ms
            self._lone_waiting = deque(alone())
        until = time.thread_time() + effort.seconds  # a busy machine leaves nothing out
        for _ in range(effort.candidates):
            with suppress(*UNREADABLE_RECORD):
                if not self._look_at_one(reader, effort.chars, now_ms):
                    break
            if time.thread_time() >= until:
                break
        return bool(self._found)

    def _look_at_one(self, reader: Reader, chars: int, now_ms: int) -> bool:
        """Judge the next candidate; False when none waits."""
        if self._waiting:
            self._judge(reader, self._waiting.pop(), chars)
        elif self._long and chars >= MAX_CHARS:
            self._judge(reader, self._long.pop(), chars)
        elif self._apart and chars >= MAX_CHARS:
            self._look_around(reader, self._apart.pop())
        elif self._lone_waiting:
            self._judge_lone(reader.get(self._lone_waiting.popleft()), now_ms)
        else:
            return False
        return True

    def _look_around(self, reader: Reader, node_id: UUID) -> None:
        """Judge a memory and those nearest to it, whenever these were stored. Cost: a scan of the store."""
        node = reader.get(node_id)
        if node is None:
            return
        words = content_words(node.content)
        for near in reader.nearest(node.content, NEAREST):
            if len(near.content) <= MAX_APART_CHARS and _overlap(words, content_words(near.content)) >= ALIKE:
                self._judge(reader, frozenset((node_id, near.id)), MAX_CHARS)

    def _judge(self, reader: Reader, pair: Pair, chars: int) -> None:
        if len(pair) != 2 or pair in self._found or len(self._found) >= MAX_FOUND:
            return
        first, second = (reader.get(node) for node in pair)
        if first is None or second is None:
            return
        if chars < MAX_CHARS and max(len(first.content), len(second.content)) > chars:
            self._long.append(pair)
            return
        between = (
            edge
            for edge in reader.edges(first.id)
            if second.id in (edge.source_id, edge.target_id) and not edge.is_made_by_consolidation
        )
        finding = _finding(first, second, {edge.relationship_type for edge in between})
        if finding is not None:
            self._found[pair] = finding
            for node in pair:
                self._pairs_of.setdefault(node, set()).add(pair)

    def _judge_lone(self, node: MemoryNode | None, now_ms: int) -> None:
        if node is None or node.access_count or not may_be_orphan(node):
            return
        if now_ms - max(node.created_at_ms, node.last_accessed_ms) >= LONE_DAYS * _DAY_MS:
            self._lone[node.id] = None

    def _drop(self, pair: Pair) -> None:
        if self._found.pop(pair, None) is None:
            return
        for node in pair:
            pairs = self._pairs_of[node]
            pairs.discard(pair)
            if not pairs:
                del self._pairs_of[node]

    def tasks(self) -> list[ReviewTask]:
        """Return at most 20 tasks, most urgent first; duplicates by group, orphans as one task."""
        opposed = [pair for pair, finding in self._found.items() if finding.kind is TaskType.CONTRADICTION]
        tasks = [
            ReviewTask(TaskType.CONTRADICTION, tuple(sorted(pair)), 2, self._found[pair].reason)
            for pair in sorted(opposed, key=sorted)
        ]
        tasks += [_task(TaskType.DUPLICATE, group, "say the same") for group in self._groups()]
        if self._lone:
            reason = f"no link, no memory like it, not used in {LONE_DAYS} days"
            tasks.append(_task(TaskType.ORPHAN, list(self._lone), reason))
        return tasks[:MAX_TASKS]

    def contradiction_of(self, nodes: Iterable[UUID]) -> str:
        """Return the unsettled contradiction that one of ``nodes`` is part of, in words; "" for none."""
        for pair in (pair for node in nodes for pair in sorted(self._contradictions(node), key=sorted)):
            ids = " and ".join(f"[{str(node)[:_ID_CHARS]}]" for node in sorted(pair))
            return f"{ids} {self._found[pair].reason}"
        return ""

    def opponent(self, node: UUID) -> UUID | None:
        """Return a memory that contradicts ``node``, if that is unsettled."""
        pair = next(self._contradictions(node), None)
        return None if pair is None else next(iter(pair - {node}))

    def is_contradicted(self, node: UUID) -> bool:
        """Return whether it is part of an unsettled contradiction."""
        return any(True for _ in self._contradictions(node))

    def _contradictions(self, node: UUID) -> Iterator[Pair]:
        pairs = self._pairs_of.get(node, ())
        return (pair for pair in pairs if self._found[pair].kind is TaskType.CONTRADICTION)

    def _groups(self) -> list[list[UUID]]:
        """Groups of memories that mean the same, largest first."""
        group_of: dict[UUID, list[UUID]] = {}
        for pair, finding in self._found.items():
            if finding.kind is TaskType.DUPLICATE:
                large, small = sorted((group_of.setdefault(node, [node]) for node in sorted(pair)), key=len)[
                    ::-1
                ]
                if large is not small:
                    large += small
                    group_of.update(dict.fromkeys(small, large))
        distinct = {id(group): group for group in group_of.values()}
        return sorted(map(sorted, distinct.values()), key=len, reverse=True)

    def pairs(self) -> list[Pair]:
        """Return what is found and what waits, to be examined again after a restart."""
        return [*self._found, *self._long, *self._waiting]

    def apart(self) -> list[UUID]:
        """Memories whose like is still to be looked for."""
        return [*self._apart]


def _overlap(words: frozenset[str], other: frozenset[str]) -> float:
    return len(words & other) / min(len(words), len(other)) if words and other else 0.0


def may_be_orphan(node: MemoryNode) -> bool:
    """Return whether a memory that nothing is connected to should be reviewed."""
    return not (node.pinned or node.tags or ACCEPTED in node.metadata or node.importance >= LONE_IMPORTANCE)


def _task(kind: TaskType, nodes: Sequence[UUID], reason: str) -> ReviewTask:
    return ReviewTask(kind, tuple(nodes[:MAX_TARGETS]), len(nodes), reason)


def _finding(node: MemoryNode, other: MemoryNode, relations: set[str]) -> _Finding | None:
    """Return what two memories are to each other; None once an edge has settled it."""
    if relations & SETTLES:
        return None
    if CONTRADICTS in relations:
        return _Finding(TaskType.CONTRADICTION, "linked as contradicting each other")
    if relations or node.modality != other.modality:
        return None
    if same_meaning(node.content, other.content):
        return _Finding(TaskType.DUPLICATE, "say the same")
    difference = opposition(node.content, other.content)
    if difference is not None:
        return _Finding(TaskType.CONTRADICTION, f"differ in: {difference}")
    if supersedes(node.content, other.content) or supersedes(other.content, node.content):
        return _Finding(TaskType.CONTRADICTION, "one says that the other holds no longer")
    return None
