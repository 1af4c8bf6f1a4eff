"""Tells a session, after its context was compacted, what it had: from its own events, the lost facts first.

A fact is kept by a text that has the path, or most of the distinctive words of the fact. So the client's own
summary of the compaction, where it is known, says what was lost; what the model is told then has that at the
top, and the share of facts in both texts together is the compaction's continuity.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from context_graph.memory.context.summary import SessionWork
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
            return os.path.basename(self.text).lower() in text
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
