"""Finds the notes that a session is told without asking: the user's rules, and what solved an error before.

An index of them is kept in the owner and follows the store. A rule is told where it concerns the work, once a
session; one that a later rule replaced is told no more.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from uuid import UUID

from context_graph.memory.context.following import Follower
from context_graph.memory.context.quoting import quoted
from context_graph.model.memory import CAPTURED, MemoryNode
from context_graph.model.note import NOTE, NoteKind, kind_of_memory
from context_graph.notes.failures import normalised
from context_graph.notes.said import Statement, concerns, read, repeated, replaces
from context_graph.notes.said.statement import Kind
from context_graph.text.phrases import error_line
from context_graph.text.sentences import shortened

K = TypeVar("K")
V = TypeVar("V")

_RULES: Final = 256
"""Rules of a store that are told, the newest."""
_LESSONS: Final = 512
_SESSIONS: Final = 64
_CONCERNS: Final = 0.5
_RULE_CHARS: Final = 220
_STORED_BY: Final = {"tool": "Claude", "cli": "user", "import": "an import"}
"""Who stored a memory, by its source."""
_SOLVED_CHARS: Final = 240
_SOLVED: Final = "Solved by: "
_ALIKE: Final = 0.6
"""Share of the words of two errors, names and numbers aside, from which they are the same."""
_LEAST_WORDS: Final = 3
"""Words of an error that tell one from another: an exit code alone says nothing."""
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_NAMED: Final = re.compile(r"[\"'`“”‘’«»][^\"'`“”‘’«»]{0,80}[\"'`“”‘’«»]")


@dataclass(slots=True)
class _Rule:
    node_id: UUID
    at_ms: int
    session_id: str
    statement: Statement
    times: int = 1
    is_users: bool = False
    """Whether it holds in all projects of its user."""
    said_by: str = "user"

    @property
    def reach(self) -> int:
        """To how much of the work it applies, the most first: to all projects, to all answers, to all work
        here, to a language or program, to some folder.
        """
        about = self.statement.about
        if self.is_users or self.statement.scope != "project":
            return -1 if self.is_users else 0
        return 3 if about.paths else 2 if about.file_types or about.commands else 1

    def line(self, times: int) -> str:
        """What is told of it, which was said so often."""
        said = shortened(self.statement.text, _RULE_CHARS)
        often = f", {times} times" if times > 1 else ""
        who = "" if self.said_by == "user" else f", stored by {self.said_by} for all projects"
        return f"{_day(self.at_ms)}{often}{who}: {quoted(said)}"


@dataclass(slots=True)
class _Lesson:
    node_id: UUID
    at_ms: int
    session_id: str
    error: str
    words: frozenset[str]
    solved_by: str

    def line(self) -> str:
        """What is told of it."""
        solved = quoted(shortened(self.solved_by, _SOLVED_CHARS))
        return f"This error was solved here on {_day(self.at_ms)} by: {solved}"


class StandingNotes(Follower):
    """Rules and lessons of a store, and which of them each session was told. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._rules: OrderedDict[UUID, _Rule] = OrderedDict()
        self._lessons: OrderedDict[UUID, _Lesson] = OrderedDict()
        self._told: OrderedDict[str, set[UUID]] = OrderedDict()
        self._ended: dict[UUID, UUID] = {}
        """Rule -> the later one that says the same, or that it holds no more."""
        self._again: dict[UUID, set[UUID]] = {}
        """Rule -> earlier ones that said the same."""
        self.of_user = _OfUser(self)
        """Follows the store of what its user says of all his work."""

    def take(self, nodes: Iterable[MemoryNode]) -> None:
        """Take in memories that are there."""
        for node in nodes:
            self._take(node, deleted=False)

    def take_of_user(self, node: MemoryNode, *, deleted: bool) -> None:
        """Take in a memory that holds in all projects: whatever it is, it holds as a rule does."""
        self._drop(node.id)
        if deleted or node.source == CAPTURED:
            return
        note = node.metadata.get(NOTE)
        said_by = "user" if isinstance(note, dict) else _STORED_BY.get(node.source, node.source)
        times = note.get("times") if isinstance(note, dict) else 1
        self._add(node, "rule", times, is_users=True, said_by=said_by)

    def _take(self, node: MemoryNode, *, deleted: bool) -> None:
        kind = kind_of_memory(node.metadata)
        self._drop(node.id)
        if deleted or kind not in (NoteKind.RULE, NoteKind.DECISION, NoteKind.LESSON):
            return
        own = node.metadata.get(NOTE)
        extra = own if isinstance(own, dict) else {}
        if kind is NoteKind.LESSON:
            solved = [line for line in node.content.splitlines() if line.startswith(_SOLVED)]
            error = str(extra.get("error", ""))
            words = _telling(error)
            if solved and len(words) >= _LEAST_WORDS:
                text = solved[0].removeprefix(_SOLVED)
                made = _Lesson(node.id, node.created_at_ms, node.session_id or "", error, words, text)
                _keep(self._lessons, node.id, made, _LESSONS)
        elif extra.get("said_by") == "user" and not node.content.startswith("Asked: "):
            self._add(node, "rule" if kind is NoteKind.RULE else "decision", extra.get("times"))

    def _add(self, node: MemoryNode, kind: Kind, times: object, **more: Any) -> None:
        statement = read(kind, node.content)
        rule = _Rule(node.id, node.created_at_ms, node.session_id or "", statement, **more)
        rule.times = times if isinstance(times, int) else 1
        self._compare(rule)
        _keep(self._rules, node.id, rule, _RULES)

    def _drop(self, node_id: UUID) -> None:
        self._lessons.pop(node_id, None)
        if self._rules.pop(node_id, None) is not None:
            self._ended = {old: new for old, new in self._ended.items() if node_id not in (old, new)}
            self._again.pop(node_id, None)

    def _compare(self, rule: _Rule) -> None:
        """See which rules it replaces or says again, or which do that to it. Cost: 30 us for each other."""
        for other in self._rules.values():
            old, new = sorted((rule, other), key=lambda one: one.at_ms)
            again = repeated(new.statement, old.statement)
            if again or replaces(new.statement, old.statement):
                self._ended[old.node_id] = new.node_id
            if again:
                self._again.setdefault(new.node_id, set()).add(old.node_id)

    # What a session is told

    def for_start(self, session_id: str) -> Iterator[tuple[UUID, str]]:
        """The rules: those first that ended another, whose habit may still be about, then those that apply to
        most of the work, and of these those said most often.
        """
        ending = {new for old, new in self._ended.items() if old not in self._again.get(new, ())}
        rules = [one for one in self._valid() if one.statement.kind == "rule"]
        rules.sort(key=lambda one: (one.node_id not in ending, one.reach, -one.times, -one.at_ms))
        yield from self._untold(session_id, rules)

    def concerning(self, session_id: str, prompt: str) -> Iterator[tuple[UUID, str]]:
        """The rules that concern a prompt, those that do most first. Cost: some 20 us a rule."""
        found = [
            (concerns(one.statement, prompt=prompt), one.at_ms, one)
            for one in self._valid()
            if one.session_id != session_id
        ]
        found = sorted((row for row in found if row[0] >= _CONCERNS), key=lambda row: row[:2], reverse=True)
        yield from self._untold(session_id, [one for *_, one in found])

    def solution(self, session_id: str, output: str) -> tuple[UUID, str] | None:
        """The newest lesson about the error in ``output``; None for none, or one that was told."""
        error = normalised(error_line(output))
        words = _telling(error)
        if len(words) < _LEAST_WORDS:
            return None
        alike = [
            (one.error == error, one.at_ms, one)
            for one in self._lessons.values()
            if one.session_id != session_id and (one.error == error or _are_alike(one.words, words))
        ]
        told = self._told.get(session_id, set())
        for *_, one in sorted(alike, key=lambda row: row[:2], reverse=True):
            return None if one.node_id in told else (one.node_id, one.line())
        return None

    def was_told(self, session_id: str, node_id: UUID) -> bool:
        """Whether the session's context has that note already."""
        return node_id in self._told.get(session_id, ())

    def note_told(self, session_id: str, node_ids: Iterable[UUID]) -> None:
        """Note what the session was told."""
        told = self._told.pop(session_id, set())
        told.update(node_ids)
        _keep(self._told, session_id, told, _SESSIONS)

    def forget(self, session_id: str) -> None:
        """The session's context was compacted: what it was told is not there any more."""
        self._told.pop(session_id, None)

    def _untold(self, session_id: str, rules: Iterable[_Rule]) -> Iterator[tuple[UUID, str]]:
        told = self._told.get(session_id, set())
        for one in rules:
            again = [self._rules[old].times for old in self._again.get(one.node_id, ()) if old in self._rules]
            if one.node_id not in told:
                yield one.node_id, one.line(one.times + sum(again))

    def _valid(self) -> list[_Rule]:
        """The rules that no later one says again or replaced."""
        return [one for one in self._rules.values() if self._ended.get(one.node_id) not in self._rules]


class _OfUser(Follower):
    """Follows another store for ``notes``."""

    def __init__(self, notes: StandingNotes) -> None:
        super().__init__()
        self._notes = notes

    def _take(self, node: MemoryNode, *, deleted: bool) -> None:
        self._notes.take_of_user(node, deleted=deleted)


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    kept[key] = value
    if len(kept) > most:
        kept.popitem(last=False)


def _telling(error: str) -> frozenset[str]:
    """The words of an error, without what it names."""
    return frozenset(_WORD.findall(_NAMED.sub(" ", error).casefold()))


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _ALIKE * len(one | other)


def _day(at_ms: int) -> str:
    day = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{day.day} {day:%b}"
