"""Reads what a subagent, a web page or an issue tracker answered: the sentences that say something alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from context_graph.model import HookEvent
from context_graph.notes.command_lines import SHORTENS
from context_graph.notes.message import Unit, best_of, most_informative, units_of
from context_graph.text import phrases
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

_ANSWER_CHARS: Final = 600
_TICKET_CHARS: Final = 1300
_LEAST_ANSWER: Final = 200
_LEAST_WORDS: Final = 4
_QUESTION_CHARS: Final = 200
_BINDS: Final = linear(
    r"(?i)(?:^|\W)(?:must|never|only|always|no|not|keep|stays?|avoid|without|unrelated|instead|requires?)(?:\W|$)"
)
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
    """Return what a ticket's text says, of which fields and links are no news."""
    units = [unit for unit in units_of(words) if _stands_alone(unit.text) and not _FIELDS.found(unit.text)]
    kept = best_of(most_informative([_weighed(unit) for unit in units]), _TICKET_CHARS)
    return [unit.text for unit in kept]


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


def _stands_alone(text: str) -> bool:
    """Return whether an item of a list says something without the heading above it."""
    bare = _CODE.sub("", text)
    words = [*_LETTERS.finditer(bare), *_WIDE.finditer(bare)]
    return len(words) >= _LEAST_WORDS and not text.endswith((":", "："))


def _weighed(unit: Unit) -> Unit:
    """Return a sentence of a ticket; one that says what must or must not be weighs more."""
    return replace(unit, worth=unit.worth + 2.0) if _BINDS.found(unit.text) else unit
