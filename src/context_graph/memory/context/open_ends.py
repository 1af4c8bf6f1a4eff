"""Tells what a session left open: unfinished to-dos, failing tests, what the last words say.

What an earlier session left is open for as long as none that followed on its branch seems to have taken it
up: passed the test, changed a file that it names, or spoke of it. In doubt it is done: a false open end is
worse than none.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def open_ends(work: SessionWork, later: Sequence[SessionWork] = ()) -> str:
    """What ``work`` left open and none of the ``later`` sessions took up, with its goal; "" if nothing is."""
    failing = [
        shortened(f"{run}: {why}", _FAILING_CHARS)
        for run, why in reversed(work.left_failing().items())
        if not any(has_passed(run, other.passed) or _speaks_of(other, f"{run} {why}") for other in later)
    ]
    todos = [todo for todo in work.open_todos() if not any(_speaks_of(other, todo) for other in later)]
    left = [task for task in work.left() if not any(_speaks_of(other, task) for other in later)]
    todos = [shortened(todo, _CHARS) for todo in todos[:_MOST]]
    left = [task for task in (shortened(task, _CHARS) for task in left) if task not in todos]
    parts = [("Failing tests", failing[:2]), ("Unfinished", todos), ("Left", left)]
    lines = [f"{name}: {'; '.join(items)}" for name, items in parts if items]
    if not lines:
        return ""
    goal = [f"Goal: {shortened(work.prompts[0], _CHARS)}"] if work.prompts else []
    return "\n".join([*goal, *lines])


def _speaks_of(work: SessionWork, end: str) -> bool:
    """Whether a session changed a file that an open end names, or has most of its words."""
    named = {basename(path) for path in paths_in(end.replace("::", " "))}
    if named & {basename(path) for path in work.changed}:
        return True
    language = language_of(end)
    wanted = {word for word in words_of(end) if not is_function_word(word, language)}
    return len(wanted & _words_of_work(work)) >= _SPOKEN_OF * len(wanted)


def _words_of_work(work: SessionWork) -> frozenset[str]:
    words = (row[0] for row in work.told)
    did = (*work.steps, *work.commands, *work.changed, *work.symbols)
    texts = (*work.prompts, *work.decisions, *work.wishes, work.plan, work.last_words, *words, *did)
    return words_of(" ".join(map(str, texts)))
