"""Finds in a prompt the statements that hold beyond its task."""

from __future__ import annotations

from typing import Final

from context_graph.notes.said.content import read_content
from context_graph.notes.said.evidence import Reading
from context_graph.notes.said.reading import Prompt
from context_graph.notes.said.scoring import Span, best_span, weights
from context_graph.notes.said.statement import Kind, Statement

MOST_STATEMENTS: Final = 12
"""Of one prompt: one that says more is a document."""
_MOST_SENTENCES: Final = 300
_EDGES: Final = " \t,;:，；：、-–—"


def statements(prompt: str) -> list[Statement]:
    """The rules and decisions in ``prompt``, in its order; [] for most prompts.

    At most `MOST_STATEMENTS`. Of a prompt beyond 64 KB, or with more than some hundred sentences, the first of
    them are read. Raises nothing. Takes some 1 ms for 1 KB, in proportion to its length.
    """
    reading = Reading(Prompt(prompt))
    found: list[Statement] = []
    for at in range(min(len(reading.clauses), _MOST_SENTENCES)):
        best = _best(reading, at)
        if best is not None:
            kind, span = best
            found.append(read_content(kind, _text(reading, at, span), reading.prompt.language, span.score))
    return found[:MOST_STATEMENTS]


def _best(reading: Reading, at: int) -> tuple[Kind, Span] | None:
    """What sentence ``at`` is, and which of its clauses say it; None if it holds for this task only."""
    learned = weights()
    rule = best_span(reading, at, learned.rule)
    decision = best_span(reading, at, learned.decision)
    rule_over, decision_over = rule.score - learned.rule_floor, decision.score - learned.decision_floor
    if max(rule_over, decision_over) < 0:
        return None
    return ("rule", rule) if rule_over >= decision_over else ("decision", decision)


def _text(reading: Reading, at: int, span: Span) -> str:
    sentence = reading.prompt.sentences[at]
    begin, end = sentence.clauses[span.start].start, sentence.clauses[span.end - 1].end
    return reading.prompt.whole(sentence.text[begin:end].strip(_EDGES))
