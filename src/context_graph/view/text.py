"""Renders the pane's rows as plain lines; nothing is computed here."""

from __future__ import annotations

from context_graph.text.units import ago
from context_graph.view.effect import figures_line
from context_graph.view.health import NUMBERS
from context_graph.view.rows import Pane, Shown


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
