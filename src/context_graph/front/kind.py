"""Knows the events' time budgets. Twin of ext/launcher/src/kind.rs; ``claude.hooks.claude`` names them."""

from __future__ import annotations

from context_graph.claude.hooks.claude import EVENT_OF_VERB

__all__ = ["CLAUDE_BUDGET_MS", "EVENT_OF_VERB", "allowed_ms", "budget_ms"]

CLAUDE_BUDGET_MS = 1_000
"""The client waits no longer than this for a hook of ours, but for those that start an owner."""
_BUDGETS_MS = {
    "session-start": 5_000,
    "pre-tool": 100,
    "post-tool": 3_000,
    "post-tool-failure": 3_000,
    "session-end": 30_000,
}
_BUDGET_MS = 2_000


def budget_ms(kind: str) -> int:
    """Seed 001's time budget, milliseconds; events that it does not have get UserPromptSubmit's."""
    return _BUDGETS_MS.get(kind, _BUDGET_MS)


def allowed_ms(kind: str, output: str) -> int:
    """Milliseconds that a whole call with that format may take."""
    budget = budget_ms(kind)
    return min(budget, CLAUDE_BUDGET_MS) if output == "claude" else budget
