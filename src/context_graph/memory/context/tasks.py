"""Keeps a session's to-dos as the client's tools change them: a whole list, or one task at a time."""

from __future__ import annotations

from typing import Final

from context_graph.model.event_parts import EventParts
from context_graph.text.sentences import shortened

_STATES: Final = frozenset({"pending", "in_progress"})
_DONE: Final = frozenset({"completed", "deleted"})
_MAX_TASKS: Final = 64
_SUBJECT_CHARS: Final = 100


def take(tasks: dict[str, list[str]], parts: EventParts) -> None:
    """Update ``tasks`` (id -> [state, subject] of each open task) by a call that succeeded."""
    if len(parts.todo) != 3 or not parts.todo[0]:
        return
    number, state, subject = parts.todo
    if state in _DONE:
        tasks.pop(number, None)
        return
    known = tasks.get(number)
    if known is None and not subject:
        return
    before = known or ["pending", ""]
    tasks[number] = [state if state in _STATES else before[0], subject[:_SUBJECT_CHARS] or before[1]]
    while len(tasks) > _MAX_TASKS:
        del tasks[next(iter(tasks))]


def open_todos(parts: EventParts) -> list[str]:
    """Return what a to-do list still has open, the item in progress first."""
    items = [(todo[0], todo[1]) for todo in parts.todos if len(todo) == 2 and todo[1]]
    items.sort(key=lambda item: item[0] != "in_progress")
    return [shortened(what, _SUBJECT_CHARS) for state, what in items if state not in _DONE]
