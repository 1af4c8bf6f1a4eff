"""Reads the rules and lessons of a store for its sessions, and has the launcher ask where they may be due."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from context_graph.model import HookEvent
from context_graph.owner.sessions.brief_cache import BriefCache

if TYPE_CHECKING:
    from context_graph.memory.context.error_lessons import ErrorLessons
    from context_graph.memory.context.standing_notes import StandingNotes
    from context_graph.memory.memex import Memex
    from context_graph.model.memory import MemoryNode
    from context_graph.text.quoting import Line

START_TOKENS: Final = 150
EARLIER: Final = "In earlier sessions:"
"""Over what follows the user's rules and is none of his."""
PROMPT_TOKENS: Final = 150
TASK_TOKENS: Final = 64
"""Of rules that a subagent's task does not name: what its task needs has the rest."""
_PROMPT_RULES: Final = 6
_SESSIONS: Final = 256
_READ: Final = 256
"""Summaries that are read first, the newest."""
_ACCOUNTS: Final = 8
"""Accounts whose rules are held beside the project's."""
TEST_KEYS: Final = tuple(
    f"${word}"
    for word in (
        *("pytest", "test", "tests", "tox", "nox", "unittest", "jest", "vitest", "mocha", "ctest", "rspec"),
        *("phpunit", "nextest", "check", "playwright", "cypress", "testing", "spec", "e2e", "integration"),
    )
)
"""What a run of tests has among its words: where lessons are, the output of one may hold a known error."""


class RulesAndLessons:
    """The rules and lessons of one store. Not thread-safe.

    Methods that return lines take ``shown``, the ids of what the session was shown: it comes only once.

    Args:
        memex: Opens the store's memory at its first call.
        users: Names the account that is served, and opens its memory of what holds in all projects, if any.
        brief: Gets the files and commands for which there may be something to show.
    """

    def __init__(
        self, memex: Callable[[], Memex], users: Callable[[], tuple[str, Memex | None]], brief: BriefCache
    ) -> None:
        self._memex = memex
        self._users = users
        self._brief = brief
        self._by_account: OrderedDict[str, StandingNotes] = OrderedDict()
        self._lessons: ErrorLessons | None = None
        self._read_seq: int | None = None
        """Of the project's memory, when the rules were last read."""
        self._prompted: OrderedDict[str, None] = OrderedDict()
        """Sessions that had a prompt."""
        self._keys: dict[str, set[str]] = {}
        self._noted: set[str] = set()
        """Keys that the launcher's filter has."""

    def at_start(self, shown: Container[str], sentences: Sequence[str] = ()) -> list[Line]:
        """Return the rules for all work, in at most START_TOKENS, without what the ``sentences`` end."""
        return _headed(self._fitting(self._rules().for_start(shown, sentences), START_TOKENS))

    def at_prompt(
        self,
        session_id: str,
        prompt: str,
        shown: Container[str],
        tokens: int,
        near: Callable[[str], float] | None = None,
    ) -> list[Line]:
        """Return the rules that concern a prompt or a task; at a session's first also those that are nearest
        to it (`StandingNotes.concerning`).
        """
        from context_graph.memory.context.following import keep_newest

        is_first = session_id not in self._prompted
        keep_newest(self._prompted, session_id, None, _SESSIONS)
        rules = self._rules().concerning(session_id, prompt, shown, near if is_first else None)
        return _headed(self._fitting(islice(rules, _PROMPT_RULES), tokens))

    def at_task(self, session_id: str, task: str, tokens: int) -> list[Line]:
        """Return the rules for a subagent, which sees nothing of its parent's context: those that concern
        its task, and, in at most TASK_TOKENS, those that hold for all work.
        """
        from context_graph.memory.context.standing_notes import ALL_WORK
        from context_graph.memory.embed import default_provider

        rules = self._rules()
        concern = self._fitting(islice(rules.concerning(session_id, task, ()), _PROMPT_RULES), tokens)
        tokens -= sum(default_provider().count_tokens(line.text) for line in concern)
        general = rules.for_start({line.node_id for line in concern}, most_reach=ALL_WORK)
        return _headed([*concern, *self._fitting(general, min(tokens, TASK_TOKENS))])

    def untold_of(self, nodes: Iterable[MemoryNode], shown: Container[str]) -> list[MemoryNode]:
        """Return ``nodes`` without the rules that were shown, word for word: a note of a change quotes its
        prompt. Commands that a rule is against are left out too.
        """
        from context_graph.model.note import NoteKind, kind_of_memory
        from context_graph.notes.kinds.ways import ways_without
        from context_graph.text.sentences import without_sentences

        sentences, kept = list(self._rules().sentences_of(shown)), []
        for node in nodes:
            content = without_sentences(node.content, sentences)
            if kind_of_memory(node.metadata) is NoteKind.WAY:
                content = ways_without(content, lambda command: self.contradicted("", [command]) is not None)
            kept += [replace(node, content=content)] if content else []
        return kept

    def at_path(self, session_id: str, path: str, shown: Container[str], tokens: int) -> list[Line]:
        """Return the rules whose scope is a file, by its path in the checkout."""
        return _said(self._fitting(self._rules().about_path(session_id, path, shown), tokens))

    def at_command(
        self, session_id: str, commands: Sequence[str], shown: Container[str], tokens: int
    ) -> list[Line]:
        """Return the rules that name the program or act of a command."""
        return _said(self._fitting(self._rules().about_command(session_id, commands, shown), tokens))

    def contradicted(self, session_id: str, commands: Sequence[str]) -> Line | None:
        """Return the user's rule that one of ``commands`` goes against; None for none."""
        rule = self._rules().contradicted(session_id, commands)
        return _said([rule])[0] if rule is not None and self._is_there(rule) else None

    def at_error(self, event: HookEvent, shown: Container[str], fits: Callable[[str], bool]) -> Line | None:
        """Return what solved the error of a call, or how often it was met; None for nothing known or new."""
        lessons = self._read_lessons()
        output = f"{event.output_text}\n{event.parts.tail}"
        call = event.session_id, event.parts.command, output, shown
        line = lessons.line(*call, now_ms=event.at_ms, fits=fits)
        return line if line is not None and self._is_there(line) else None

    @property
    def has_keys(self) -> bool:
        """Whether some rule is about files or commands: it comes however much the session was shown."""
        return bool(self._keys)

    @property
    def is_behind(self) -> bool:
        """Whether something was stored since the rules were read; not where they never were."""
        return self._read_seq is not None and self._memex().seq > self._read_seq

    def note(self) -> None:
        """Have the launcher ask where what was stored since may be due."""
        self._rules()

    def done(self, keys: Iterable[str], shown: Container[str]) -> list[str]:
        """Return those of ``keys`` for which a session was shown all that there is."""
        tests = frozenset(TEST_KEYS if self._lessons else ())
        known = (key for key in keys if key in self._keys and key not in tests)
        return [key for key in known if all(memory_id in shown for memory_id in self._keys[key])]

    def _fitting(self, rows: Iterable[Line], tokens: int) -> list[Line]:
        """Return the lines of ``rows`` that fit; what was forgotten is left out."""
        from context_graph.memory.embed import default_provider

        count, lines = default_provider().count_tokens, []
        for line in rows:
            if not self._is_there(line):
                continue
            cost = count(line.text)
            if cost <= tokens:  # a longer one may leave room for a shorter one
                tokens -= cost
                lines.append(line)
        return lines

    def _is_there(self, line: Line) -> bool:
        from context_graph.memory.of_user import memory_in

        return memory_in((self._memex(), self._users()[1]), line.node_id) is not None

    def _rules(self) -> StandingNotes:
        """Return the rules, with what was stored since: at first those that count, then what changed."""
        from context_graph.memory.capture import newest
        from context_graph.memory.context.standing_notes import StandingNotes
        from context_graph.model.note import NoteKind

        memex, (account, of_user) = self._memex(), self._users()
        notes = self._by_account.get(account)
        is_new = notes is None
        if notes is None:
            notes = self._by_account[account] = StandingNotes()
            if len(self._by_account) > _ACCOUNTS:
                self._by_account.popitem(last=False)
            notes.take(newest(memex, (NoteKind.RULE, NoteKind.DECISION)))
            notes.seen = memex.seq
        elif memex.seq > notes.seen:
            is_new = True
            notes.read(memex.stored_after(notes.seen), memex.seq)
        if of_user is not None and of_user.seq > notes.of_user.seen:
            is_new = True
            notes.of_user.read(of_user.stored_after(notes.of_user.seen), of_user.seq)
        self._read_seq = memex.seq
        if is_new:
            self._keys = notes.keys()
            self._note_keys(self._keys)
            self._read_lessons()
        return notes

    def _read_lessons(self) -> ErrorLessons:
        from context_graph.memory.capture import CAPTURE_TAG, newest
        from context_graph.memory.context.error_lessons import ErrorLessons
        from context_graph.memory.filters import RecallFilters
        from context_graph.model.note import NoteKind

        memex, lessons = self._memex(), self._lessons
        if lessons is None:
            lessons = self._lessons = ErrorLessons()
            lessons.take(newest(memex, (NoteKind.LESSON,)))
            summaries = memex.list(limit=_READ, filters=RecallFilters(tags=(CAPTURE_TAG,)))
            lessons.take(reversed(summaries.nodes))
            lessons.seen = memex.seq
        elif memex.seq > lessons.seen:
            lessons.read(memex.stored_after(lessons.seen), memex.seq)
        if len(lessons):
            self._note_keys(TEST_KEYS)
        return lessons

    def _note_keys(self, keys: Iterable[str]) -> None:
        fresh = set(keys) - self._noted
        if fresh:
            self._brief.add(sorted(fresh))
            self._brief.forget_done()
            self._noted |= fresh


def _headed(rules: list[Line]) -> list[Line]:
    from context_graph.text.quoting import Line

    return [Line("The user said:", is_head=True), *rules] if rules else []


def apart(rules: list[Line], lines: list[Line]) -> list[Line]:
    """Return ``lines`` with a head of their own where they follow rules: the user has not said them."""
    from context_graph.text.quoting import Line

    return [Line(EARLIER, is_head=True), *lines] if rules and lines else lines


def _said(rules: list[Line]) -> list[Line]:
    return [replace(line, text=f"The user said, {line.text}") for line in rules]
