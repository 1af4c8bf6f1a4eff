"""Says what telling came to: the sentence and the columns that terminal and report share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_graph.text.units import counted
from context_graph.view.rows import Effect, Week
from context_graph.view.safe import one_line

HEADS: Final = ("told", "used", "tokens", "rules", "kept", "broken", "solved")
"""Columns of a week, as `figures` gives them."""


def figures(week: Week) -> Sequence[int]:
    """Return a week's figures in the order of `HEADS`."""
    kept = max(0, week.rules - week.broken)
    return (week.memories, week.used, week.tokens, week.rules, kept, week.broken, week.solved)


def figures_line(effect: Effect) -> str:
    """Return the sums of all weeks in a few words."""
    memories, used, _, rules, kept, _, solved = _sums(effect)
    parts = (
        f"{memories} told, {used} used",
        f"{kept} of {counted(rules, 'rule')} kept" if rules else "",
        f"{counted(solved, 'failure')} solved" if solved else "",
    )
    return "; ".join(filter(None, parts))


def _sums(effect: Effect) -> Sequence[int]:
    return [sum(column) for column in zip(*map(figures, effect.weeks), strict=True)]


def sentence(effect: Effect) -> str:
    """Return what the weeks came to."""
    if not effect.weeks:
        return "Nothing was told yet."
    memories, used, tokens, rules, kept, _, solved = _sums(effect)
    text = (
        f"Since {one_line(effect.weeks[0].begin)} Claude was told {counted(memories, 'memory', 'memories')}"
    )
    text += f" in {tokens:,} tokens; {used} of them left a trace in its work."
    if rules:
        text += f" Of {counted(rules, 'rule')} told (each once a session) {kept} held."
    if solved:
        text += (
            f" {counted(solved, 'failure')} met again {'was' if solved == 1 else 'were'} solved by memory."
        )
    return text
