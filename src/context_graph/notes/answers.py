"""Reads what a subagent, a web page or an issue tracker answered: the sentences that say something alone."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from context_graph.model import HookEvent
from context_graph.notes.command_lines import SHORTENS
from context_graph.notes.message import Unit, best_of, most_informative, units_of
from context_graph.notes.named_files import names_of, words_named
from context_graph.notes.worked_files import paths_in
from context_graph.text import phrases
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

_ANSWER_CHARS: Final = 600
_TICKET_CHARS: Final = 600
_MOST_MARKS: Final = 3
_LEAST_ANSWER: Final = 200
_LEAST_WORDS: Final = 4
_QUESTION_CHARS: Final = 200
_BINDS: Final = linear(
    r"(?i)(?:^|\W)(?:must|never|only|always|no|not|keep|stays?|avoid|without|unrelated|instead|requires?)(?:\W|$)"
)
_WAS: Final = linear(
    r"(?i)(?:^|\W)(?:(?:does|did|is|are|has|have|was|were)(?: \w+)?(?: not|n['’]t)|"
    r"currently|today|current \w+)(?:\W|$)"
)
"""How a ticket tells the state that it is about."""
_RISKS: Final = linear(r"^\p{Lu}\p{Ll}+ing |^GIVEN ")
"""How it names what somebody might do, mostly wrongly, and begins a case to be tried."""
_ONCE: Final = linear(
    r"(?i)(?:^|\W)(?:(?:in|for|of|with|within|from|by|to|during) )?(?:this|the current|our) "
    r"(?:task|issue|ticket|story|epic|bead|pull request|pr|step|phase|iteration|sprint)(?:\W|$)"
)
"""How it speaks of itself: what holds for it alone is over when it is closed."""
_FIELDS: Final = linear(
    r"[→←○●◐✓✗]|(?:^|\W)(?:Created|Updated|Owner|Assignee|Status|Priority|Labels|Reporter|Type):\s"
)
_CODE: Final = linear(r"`[^`]*`")
_TERMS: Final = linear(r"\w{4,}")
_LETTERS: Final = linear(r"\pL{2,}")
_WIDE: Final = linear(r"[\p{Han}\p{Hiragana}\p{Katakana}]{2}")


def answered(event: HookEvent) -> tuple[str, str, list[str]]:
    """Return what a call asked, who answered, and the sentences of the answer; [] where it says little."""
    parts = event.parts
    if len(parts.words) < _LEAST_ANSWER:
        return "", "", []
    task = shortened(" ".join(parts.task.split()), _QUESTION_CHARS)
    if parts.command and event.tool_name != "WebFetch":
        question = SHORTENS.sub("", phrases.command_line(parts.command, _QUESTION_CHARS))
        return question, "command", _of_ticket(parts.words)
    if event.tool_name == "WebFetch":
        question, who = task, f"web page {parts.url}"
    else:
        question, who = parts.description or task, "subagent"
    units = [unit for unit in units_of(parts.words) if _stands_alone(unit.text)]
    kept = best_of(most_informative(answering(units, question)), _ANSWER_CHARS)
    return question, who, [unit.text for unit in kept]


def _of_ticket(words: str) -> list[str]:
    """Return what a ticket's text rules in or out, and what was agreed: what was to be built, the change
    says, and how it was before is old. Fields and links are no news.
    """
    units = [unit for unit in units_of(words) if _stands_alone(unit.text) and not _FIELDS.found(unit.text)]
    binding = [_weighed(unit) for unit in units if unit.role == "decision" or _BINDS.found(unit.text)]
    passing = (_WAS, _RISKS, _ONCE)
    lasting = [unit for unit in binding if not any(marks.found(unit.text) for marks in passing)]
    return [unit.text for unit in best_of(lasting, _TICKET_CHARS)]


def answering(units: Sequence[Unit], question: str) -> list[Unit]:
    """Return the sentences of an answer; what has the question's words weighs more."""
    asked = {word[0].lower() for word in _TERMS.finditer(question)}
    shared = [
        len(asked.intersection(word[0].lower() for word in _TERMS.finditer(unit.text))) for unit in units
    ]
    return [
        replace(unit, worth=unit.worth + 0.75 * min(4, count))
        for unit, count in zip(units, shared, strict=True)
    ]


def still_told(units: Sequence[str], path: str, symbols: Collection[str]) -> list[str]:
    """Return what of an answer about the project holds after ``path`` was changed: all, if it does not speak
    of that; else what is of other files by name, as the rest may be about it without saying so.

    Args:
        symbols: What was changed in it.
    """
    stem = os.path.splitext(os.path.basename(path))[0]
    names = names_of(path, [*symbols, stem])
    spoken = [names.isdisjoint(words_named(unit)) for unit in units]
    if all(spoken):
        return [*units]
    return [unit for unit, is_other in zip(units, spoken, strict=True) if is_other and any(paths_in(unit))]


def _stands_alone(text: str) -> bool:
    """Return whether an item of a list says something without the heading above it."""
    bare = _CODE.sub("", text)
    words = [*_LETTERS.finditer(bare), *_WIDE.finditer(bare)]
    return len(words) >= _LEAST_WORDS and not text.endswith((":", "："))


def _weighed(unit: Unit) -> Unit:
    """Return a sentence of a ticket; the more it says of what must or must not be, the more it weighs."""
    marks = sum(1 for _, _ in zip(range(_MOST_MARKS), _BINDS.finditer(unit.text), strict=False))
    return replace(unit, worth=unit.worth + 2.0 * marks)
