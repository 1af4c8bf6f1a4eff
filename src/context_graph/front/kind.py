"""Knows the time budgets of hook events. Twin of ext/launcher/src/kind.rs; their names are ``claude.hooks.claude``'s."""

from __future__ import annotations

from context_graph.claude.hooks.claude import EVENT_OF_VERB, TAKES_CONTEXT

__all__ = ["EVENT_OF_VERB", "budget_ms", "takes_context"]

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


def takes_context(kind: str) -> bool:
    """Whether the client shows the model what such a hook gives as additional context."""
    return EVENT_OF_VERB[kind] in TAKES_CONTEXT
