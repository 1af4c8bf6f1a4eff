"""Renders the pane's rows as plain lines, and what telling came to for all renderers; computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_graph.text.units import ago, counted
from context_graph.view.rows import Effect, Pane, Shown, Week
from context_graph.view.safe import one_line


def pane_lines(pane: Pane, now_ms: int) -> tuple[list[str], list[list[str]]]:
    """Return whether it works and what is wrong, and for each memory that was shown its text and its
    occasion: in a terminal of 24 lines a pane has room for six."""
    problems = [line.text for line in pane.health.lines if line.is_problem and line.name != "state"]
    return [pane.health.sentence, *problems], [_shown_lines(memory, now_ms) for memory in pane.shown]


def _shown_lines(memory: Shown, now_ms: int) -> list[str]:
    why = f", relevance {memory.relevance:.2f}" if memory.relevance else ""
    used = f"used: {memory.used}" if memory.used else "no sign of use"
    when = f"{ago(memory.at_ms, now_ms)} ago"
    about = f", for: {memory.about}" if memory.about else ""
    occasion = f"{memory.memory_id[:8]}  {when}, {memory.cause}{why}, {memory.tokens} tokens, {used}{about}"
    return [memory.text, f"  {occasion}"]


HEADS: Final = ("told", "used", "tokens", "rules", "kept", "broken", "solved")
"""Columns of a week, as `figures` gives them."""


def figures(week: Week) -> Sequence[int]:
    """Return a week's figures in the order of `HEADS`."""
    kept = max(0, week.rules - week.broken)
    return (week.memories, week.used, week.tokens, week.rules, kept, week.broken, week.solved)


def sentence(effect: Effect) -> str:
    """Return what the weeks came to."""
    if not effect.weeks:
        return "Nothing was told yet."
    sums = [sum(column) for column in zip(*map(figures, effect.weeks), strict=True)]
    memories, used, tokens, rules, kept, _, solved = sums
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
