"""Tells what a session left open: unfinished to-dos, failing tests, what the last words say."""

from __future__ import annotations

from typing import Final

from context_graph.memory.context.summary import SessionWork
from context_graph.text.sentences import shortened

TOKENS: Final = 120
"""Kept free for them at a session's start."""
_MOST: Final = 4
_CHARS: Final = 100
_FAILING_CHARS: Final = 160


def open_ends(work: SessionWork) -> str:
    """What ``work`` left open, with its goal; "" if nothing is."""
    failing = [
        shortened(f"{run}: {why}", _FAILING_CHARS) for run, why in reversed(work.left_failing().items())
    ]
    todos = [shortened(todo, _CHARS) for todo in work.open_todos()[:_MOST]]
    left = [shortened(task, _CHARS) for task in work.left() if task not in todos]
    parts = [("Failing tests", failing[:2]), ("Unfinished", todos), ("Left", left)]
    lines = [f"{name}: {'; '.join(items)}" for name, items in parts if items]
    if not lines:
        return ""
    goal = [f"Goal: {shortened(work.prompts[0], _CHARS)}"] if work.prompts else []
    return "\n".join([*goal, *lines])
