"""Renders the pane's rows as plain lines, and what telling came to for all renderers; computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_graph.text.units import ago, counted
from context_graph.view.health import NUMBERS
from context_graph.view.rows import Effect, Pane, Shown, Week
from context_graph.view.safe import one_line


def pane_lines(pane: Pane, now_ms: int, width: int) -> tuple[list[str], list[list[str]]]:
    """Return the lines about health and effect, and for each memory that was shown its own."""
    room = max(20, width)
    health = [f"{line.name:<12} {line.text}"[:room] for line in pane.health.lines if line.name != NUMBERS]
    health += [f"{'effect':<12} {figures_line(pane.effect)}"[:room]] if pane.effect.weeks else []
    return health, [_shown_lines(memory, now_ms, room) for memory in pane.shown]


def _shown_lines(memory: Shown, now_ms: int, room: int) -> list[str]:
    why = f", relevance {memory.relevance:.2f}" if memory.relevance else ""
    used = f"used: {memory.used}" if memory.used else "no sign of use"
    when = f"{ago(memory.at_ms, now_ms)} ago"
    head = f"{memory.memory_id[:8]}  {when}, {memory.cause}{why}, {memory.tokens} tokens, {used}"
    about = [f"  for: {memory.about}"[:room]] if memory.about else []
    return [head[:room], *about, f"  {memory.text or '(forgotten)'}"[:room]]


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
