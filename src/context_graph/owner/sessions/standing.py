"""Tells a session the rules that concern its work, and the solution of an error it meets, from its notes."""

from __future__ import annotations

from collections import OrderedDict
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
_ACCOUNTS: Final = 8
"""Accounts whose rules are held beside the project's."""


class Standing:
    """What one store's sessions are told without asking. Not thread-safe.

    Args:
        memex: Opens the store's memory at its first call.
        users: Names the account that is served, and opens its memory of what holds in all projects, if any.
    """

    def __init__(self, memex: Callable[[], Memex], users: Callable[[], tuple[str, Memex | None]]) -> None:
        self._memex = memex
        self._users = users
        self._by_account: OrderedDict[str, StandingNotes] = OrderedDict()

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
        return any(notes.was_told(session_id, node_id) for notes in self._by_account.values())

    def forget(self, session_id: str) -> None:
        """The session's context was compacted: what it was told is not there any more."""
        for notes in self._by_account.values():
            notes.forget(session_id)

    def _lines(
        self, notes: StandingNotes, session_id: str, rows: Iterable[tuple[UUID, str]], tokens: int
    ) -> list[str]:
        """The lines of ``rows`` that fit, which the session is told now."""
        from context_graph.memory.embed import default_provider

        count, told, lines = default_provider().count_tokens, [], []
        places = [one for one in (self._memex(), self._users()[1]) if one is not None]
        for node_id, line in rows:
            if all(one.get(node_id) is None for one in places):  # it was forgotten
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

        memex, (account, of_user) = self._memex(), self._users()
        notes = self._by_account.get(account)
        if notes is None:
            notes = self._by_account[account] = StandingNotes()
            if len(self._by_account) > _ACCOUNTS:
                self._by_account.popitem(last=False)
            for kind in (NoteKind.RULE, NoteKind.DECISION, NoteKind.LESSON):
                page = memex.list(limit=_READ, filters=RecallFilters(kind=kind))
                notes.take(reversed(page.nodes))
            notes.seen = memex.seq
        elif memex.seq > notes.seen:
            notes.read(memex.stored_after(notes.seen), memex.seq)
        if of_user is not None and of_user.seq > notes.of_user.seen:
            notes.of_user.read(of_user.stored_after(notes.of_user.seen), of_user.seq)
        return notes


def _headed(rules: list[str]) -> list[str]:
    return ["The user said:", *rules] if rules else []
