"""Tells a session the rules that concern its work, and the solution of an error it meets, from its notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Final
from uuid import UUID

from context_graph.model import HookEvent

if TYPE_CHECKING:
    from context_graph.memory.context.standing_notes import StandingNotes
    from context_graph.memory.memex import Memex

START_TOKENS: Final = 240
PROMPT_TOKENS: Final = 150
_PROMPT_RULES: Final = 4
_READ: Final = 256
"""Notes of a kind that are read first, the newest."""


class Standing:
    """What one store's sessions are told without asking. Not thread-safe.

    Args:
        memex: Opens the store's memory at its first call.
    """

    def __init__(self, memex: Callable[[], Memex]) -> None:
        self._memex = memex
        self._notes: StandingNotes | None = None

    def at_start(self, session_id: str) -> list[str]:
        """The rules that hold for all work, in at most START_TOKENS."""
        notes = self._read()
        return _headed(self._lines(notes, session_id, notes.for_start(session_id), START_TOKENS))

    def at_prompt(self, session_id: str, prompt: str) -> list[str]:
        """The rules that concern a prompt and were not told yet, in at most PROMPT_TOKENS."""
        notes = self._read()
        rules = islice(notes.concerning(session_id, prompt), _PROMPT_RULES)
        return _headed(self._lines(notes, session_id, rules, PROMPT_TOKENS))

    def at_failure(self, event: HookEvent) -> list[str]:
        """What solved the error of a call that failed, if that is known and was not told yet."""
        notes = self._read()
        lesson = notes.solution(event.session_id, event.output_text)
        return [] if lesson is None else self._lines(notes, event.session_id, [lesson], PROMPT_TOKENS)

    def has_told(self, session_id: str, node_id: UUID) -> bool:
        """Whether the session was told that note."""
        return self._notes is not None and self._notes.was_told(session_id, node_id)

    def forget(self, session_id: str) -> None:
        """The session's context was compacted: what it was told is not there any more."""
        if self._notes is not None:
            self._notes.forget(session_id)

    def _lines(
        self, notes: StandingNotes, session_id: str, rows: Iterable[tuple[UUID, str]], tokens: int
    ) -> list[str]:
        """The lines of ``rows`` that fit, which the session is told now."""
        from context_graph.memory.embed import default_provider

        count, told, lines = default_provider().count_tokens, [], []
        for node_id, line in rows:
            if self._memex().get(node_id) is None:  # it was forgotten
                continue
            tokens -= count(line)
            if tokens < 0:
                break
            told.append(node_id)
            lines.append(f"- {line}")
        if told:
            notes.note_told(session_id, told)
        return lines

    def _read(self) -> StandingNotes:
        """The notes, with what was stored since: the first time those that count, then what changed."""
        from context_graph.memory.context.standing_notes import StandingNotes
        from context_graph.memory.filters import RecallFilters
        from context_graph.model.note import NoteKind

        memex, notes = self._memex(), self._notes
        if notes is None:
            notes = self._notes = StandingNotes()
            for kind in (NoteKind.RULE, NoteKind.DECISION, NoteKind.LESSON):
                page = memex.list(limit=_READ, filters=RecallFilters(kind=kind))
                notes.take(reversed(page.nodes))
            notes.seen = memex.seq
        elif memex.seq > notes.seen:
            notes.read(memex.stored_after(notes.seen), memex.seq)
        return notes


def _headed(rules: list[str]) -> list[str]:
    return ["The user said:", *rules] if rules else []
