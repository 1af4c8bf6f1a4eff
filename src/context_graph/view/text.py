"""Renders the pane's rows as plain lines; nothing is computed here."""

from __future__ import annotations

from context_graph.view.rows import Pane, Shown
from context_graph.view.units import span


def pane_lines(pane: Pane, now_ms: int, width: int) -> tuple[list[str], list[list[str]]]:
    """The lines about health, and for each memory that was shown its own."""
    room = max(20, width)
    health = [f"{line.name:<12} {line.text}"[:room] for line in pane.health.lines]
    return health, [_shown_lines(one, now_ms, room) for one in pane.shown]


def _shown_lines(one: Shown, now_ms: int, room: int) -> list[str]:
    why = f", relevance {one.relevance:.2f}" if one.relevance else ""
    used = f"used: {one.used}" if one.used else "no sign of use"
    ago = span(max(0.0, (now_ms - one.at_ms) / 1000))
    head = f"{one.memory_id[:8]}  {ago} ago, {one.cause}{why}, {one.tokens} tokens, {used}"
    about = [f"  for: {one.about}"[:room]] if one.about else []
    return [head[:room], *about, f"  {one.text or '(forgotten)'}"[:room]]
