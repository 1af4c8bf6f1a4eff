"""Tells what a session had, after its context was compacted, and what it left open: the lost facts first.

A fact is kept by a text that has the path, or most of the distinctive words of the fact. So the client's own
summary of the compaction, where it is known, says what was lost; what the model is told then has that at the
top, and the share of facts in both texts together is the compaction's continuity.

Left open are unfinished to-dos, failing tests, what the last words say: for as long as no session that
followed on its branch seems to have taken it up: passed the test, changed a file that it names, or spoke of
it. In doubt it is done: a false open end is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from os.path import basename
from typing import Any, Final

from context_graph.memory.context.summary import SessionWork
from context_graph.memory.context.ways import has_passed
from context_graph.notes.worked_files import paths_in
from context_graph.text.function_words import is_function_word, language_of
from context_graph.text.phrases import word_set
from context_graph.text.quoting import fence, quoted, words_of
from context_graph.text.sentences import shortened

MAX_TOKENS: Final = 600
KEPT: Final = 0.6
"""The share of a fact's distinctive words that a text must have to keep it."""
SUMMARY_CHARS: Final = 65_536
"""Characters of a compaction's summary that are compared."""
COMPACTIONS_KEPT: Final = 16
_CHARS: Final = 260
_MOST_WORDS: Final = 24
_PLAIN: Final = word_set(
    """about after again all also and any are because been before but can could did does done for from had has
    have how into its just like make may more most must never not now only other our out over please same she
    should some such than that the their them then there these they this those through too under use used
    using very want was way were what when where which while who why will with would you your it is be to of
    in on at by as an or if so we do don"""
)
_NAMES: Final = {
    "goal": "goal",
    "wish": "said by the user",
    "asked": "asked since",
    "plan": "plan",
    "to-do": "to-dos",
    "failing": "tests that failed when last run",
    "file": "files changed",
    "symbol": "functions and classes touched",
}
"""What a fact is, and how it is called, in the order of telling."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that the session had."""

    kind: str
    """A key of `_NAMES`."""
    text: str

    def is_in(self, text: str, words: frozenset[str]) -> bool:
        """Return whether a text, lower case, with these words, has it."""
        if self.kind in ("file", "symbol"):
            return basename(self.text).lower() in text
        if self.text.lower() in text:
            return True
        own = sorted(words_of(self.text) - _PLAIN, key=lambda word: (-len(word), word))[:_MOST_WORDS]
        return bool(own) and sum(word in words for word in own) >= KEPT * len(own)


@dataclass(frozen=True, slots=True)
class Compaction:
    """How much of a session outlived one compaction."""

    at_ms: int
    facts: int
    in_summary: int | None
    """Facts that the client's own summary has; None where the client did not tell it."""
    in_context: int
    """Facts that the summary or our text has."""

    @property
    def continuity(self) -> float | None:
        """The share of the facts that the context still has, [0, 1]; None without facts or summary."""
        return self.in_context / self.facts if self.facts and self.in_summary is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return its fields and the continuity, as JSON values."""
        return {**asdict(self), "continuity": self.continuity}


def facts_of(work: SessionWork) -> list[Fact]:
    """Return what the session had, in the order of telling."""
    goal, *asked = work.prompts or [""]
    tasks = [f"{subject} ({state.replace('_', ' ')})" for state, subject in work.tasks.values()]
    tasks.sort(key=lambda task: not task.endswith("(in progress)"))
    failing = [f"{run}: {why}" for run, why in reversed(work.failing.items())]
    facts = [
        *(Fact("goal", text) for text in [goal] if text),
        *(Fact("asked", text) for text in reversed(asked)),
        *(Fact("plan", text) for text in [work.plan] if text),
        *(Fact("to-do", text) for text in [*tasks, *work.todos]),
        *(Fact("failing", text) for text in failing),
        *(Fact("wish", text) for text in dict.fromkeys(reversed([*work.wishes, *work.decisions]))),
        *(Fact("file", path) for path in reversed(work.changed) if not work.is_scratch(path)),
        *(Fact("symbol", name) for name in reversed(work.symbols)),
    ]
    return [Fact(fact.kind, shortened(fact.text, _CHARS)) for fact in facts]


def kept_by(facts: Sequence[Fact], text: str) -> list[bool]:
    """Of each fact, whether ``text`` has it. Cost: some 1 ms for 10,000 characters."""
    lower = text[:SUMMARY_CHARS].lower()
    words = words_of(lower)
    return [fact.is_in(lower, words) for fact in facts]


def text_of(facts: Sequence[Fact], summary: str | None, *, budget: int, count: Callable[[str], int]) -> str:
    """Return what the session is told: fenced, in ``budget`` tokens, what ``summary`` lost first; "" without
    facts.

    Args:
        summary: The client's own of this compaction; None where it is not known.
        count: Exact token count of a text.
    """
    if not facts:
        return ""
    kept = kept_by(facts, summary) if summary is not None else [False] * len(facts)
    lost = [fact for fact, is_kept in zip(facts, kept, strict=True) if not is_kept]
    head = "- checkpoint of this session, from its own events before the compaction"
    if summary is not None:
        head += f"; the compaction's summary lacks {len(lost)} of these {len(facts)} facts"
    lines, room = [head], budget - count(fence([head]))
    room = _add(lines, _lines(lost), room, count, "- not in the summary" if summary is not None else "")
    there = [fact for fact, is_kept in zip(facts, kept, strict=True) if is_kept]
    _add(lines, _lines(there), room, count, "- in the summary" if lost else "")
    return fence(lines) if len(lines) > 1 else ""


def instructions_of(facts: Sequence[Fact], gates: str, *, budget: int, count: Callable[[str], int]) -> str:
    """Return what a summarizer is asked to keep, in ``budget`` tokens; "" without facts.

    Args:
        gates: The line that says which requirements are open; "" if there are none.
    """
    if not facts:
        return ""
    lines = ["Keep these facts of the session in the summary. They are quoted from its own events:"]
    room = budget - count(lines[0]) - count(gates)
    _add(lines, _lines(facts), room, count, "")
    return "\n".join([*lines, *([f"- requirements: {gates}"] if gates else [])])


def _lines(facts: Iterable[Fact]) -> list[tuple[str, list[str]]]:
    """Return (name, quoted texts) of each kind, in the order of telling."""
    by_kind: dict[str, list[str]] = {}
    for fact in facts:
        by_kind.setdefault(fact.kind, []).append(quoted(fact.text))
    return [(name, by_kind[kind]) for kind, name in _NAMES.items() if kind in by_kind]


def _add(
    lines: list[str],
    parts: Sequence[tuple[str, list[str]]],
    room: int,
    count: Callable[[str], int],
    head: str,
) -> int:
    """Append what fits ``room`` tokens, each kind on a line of its own; returns what is left of it."""
    for name, texts in parts:
        line = f"{head}, {name}:" if head else f"- {name}:"
        kept: list[str] = []
        used = count(line) + 1
        for text in texts:
            tokens = count(f"; {text}")
            if used + tokens <= room:
                kept.append(text)
                used += tokens
        if kept:
            lines.append(f"{line} {'; '.join(kept)}")
            room -= used
    return room


def measured(facts: Sequence[Fact], summary: str | None, start_text: str, at_ms: int) -> Compaction:
    """Return how much of ``facts`` outlived a compaction to which ``start_text`` was added."""
    in_summary = kept_by(facts, summary) if summary is not None else None
    in_context = kept_by(facts, f"{summary or ''}\n{start_text}")
    return Compaction(at_ms, len(facts), None if in_summary is None else sum(in_summary), sum(in_context))


OPEN_TOKENS: Final = 120
"""Kept free for them at a session's start."""
SESSIONS: Final = 6
"""Sessions before the last one whose open ends may still be told."""
OLDEST_MS: Final = 14 * 86_400_000
"""Age from which on those of an earlier session than the last are told no more."""
_MOST_OPEN: Final = 4
_OPEN_CHARS: Final = 100
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
    todos = [shortened(todo, _OPEN_CHARS) for todo in todos[:_MOST_OPEN]]
    left = [task for task in (shortened(task, _OPEN_CHARS) for task in left) if task not in todos]
    parts = [("Failing tests", failing[:2]), ("Unfinished", todos), ("Left", left)]
    lines = [f"{name}: {'; '.join(items)}" for name, items in parts if items]
    if not lines:
        return ""
    goal = [f"Goal: {shortened(work.prompts[0], _OPEN_CHARS)}"] if work.prompts else []
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
