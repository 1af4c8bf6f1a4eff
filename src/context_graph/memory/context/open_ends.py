"""Tells what a session left open: unfinished to-dos, failing tests, what the last words say.

What an earlier session left is open for as long as none that followed on its branch seems to have taken it
up: passed the test, changed a file that it names, or spoke of it. In doubt it is done: a false open end is
worse than none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from os.path import basename
from typing import Final

from context_graph.memory.context.summary import SessionWork
from context_graph.memory.context.ways import has_passed
from context_graph.notes.worked_files import paths_in
from context_graph.text.function_words import is_function_word, language_of
from context_graph.text.quoting import words_of
from context_graph.text.sentences import shortened

TOKENS: Final = 120
"""Kept free for them at a session's start."""
SESSIONS: Final = 6
"""Sessions before the last one whose open ends may still be told."""
OLDEST_MS: Final = 14 * 86_400_000
"""Age from which on those of an earlier session than the last are told no more."""
_MOST: Final = 4
_CHARS: Final = 100
_FAILING_CHARS: Final = 160
_SPOKEN_OF: Final = 0.4
"""Share of an open end's words from which a session has spoken of it."""


class Later:
    """A session that followed one with open ends. Its words are read once, and only if asked for."""

    def __init__(self, work: SessionWork) -> None:
        self._work = work
        self.passed = work.passed
        self.files = frozenset(map(basename, work.changed))
        """The names of the files that it changed."""

    @cached_property
    def words(self) -> frozenset[str]:
        """Read the words of what was asked, said and done in it. Cost: that of its texts."""
        work = self._work
        sentences = (row[0] for row in work.told)
        did = (*work.commands, *work.changed, *work.symbols)
        texts = (*work.prompts, *work.decisions, *work.wishes, work.plan, work.last_words, *sentences, *did)
        return words_of(" ".join(map(str, texts)))


def open_ends(work: SessionWork, later: Sequence[Later] = ()) -> str:
    """What ``work`` left open and none of the ``later`` sessions took up, with its goal; "" if nothing is."""
    failing = [
        shortened(f"{run}: {why}", _FAILING_CHARS)
        for run, why in reversed(work.left_failing().items())
        if not any(has_passed(run, other.passed) for other in later)
        and not _is_taken_up(f"{run} {why}", later)
    ]
    todos = [todo for todo in work.open_todos() if not _is_taken_up(todo, later)]
    left = [task for task in work.left() if not _is_taken_up(task, later)]
    todos = [shortened(todo, _CHARS) for todo in todos[:_MOST]]
    left = [task for task in (shortened(task, _CHARS) for task in left) if task not in todos]
    parts = [("Failing tests", failing[:2]), ("Unfinished", todos), ("Left", left)]
    lines = [f"{name}: {'; '.join(items)}" for name, items in parts if items]
    if not lines:
        return ""
    goal = [f"Goal: {shortened(work.prompts[0], _CHARS)}"] if work.prompts else []
    return "\n".join([*goal, *lines])


def _is_taken_up(end: str, later: Sequence[Later]) -> bool:
    """Whether one of these sessions changed a file that an open end names, or has most of its words."""
    if not later:
        return False
    named = frozenset(map(basename, paths_in(end.replace("::", " "))))
    language = language_of(end)
    wanted = {word for word in words_of(end) if not is_function_word(word, language)}
    return any(
        named & other.files or len(wanted & other.words) >= _SPOKEN_OF * len(wanted) for other in later
    )
