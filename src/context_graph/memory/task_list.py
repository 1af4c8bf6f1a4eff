"""The client's task list as its tools' events tell it: TaskCreate adds a task, TaskUpdate changes one.

Read from the flattened texts that events keep. TaskCreate answers with the task's id and subject; TaskUpdate
with the id, the names of the fields it changed, and of a new state the old and the new one.
"""

from __future__ import annotations

from typing import Final

from context_graph.model import HookEvent

__all__ = ["open_in", "take"]

_STATES: Final = frozenset({"pending", "in_progress"})
_DONE: Final = frozenset({"completed", "deleted"})
_MAX_TASKS: Final = 64
_SUBJECT_CHARS: Final = 100


def take(tasks: dict[str, list[str]], event: HookEvent) -> None:
    """Let a tool call that succeeded change ``tasks``: of each open one, its id to [state, subject]."""
    if event.tool_name == "TaskCreate":
        _create(tasks, event.output_text)
    elif event.tool_name == "TaskUpdate":
        _update(tasks, event.input_text.split(), event.output_text.split())


def open_in(tasks: dict[str, list[str]]) -> list[str]:
    """The subjects of the open tasks, those in progress first."""
    ordered = sorted(tasks.values(), key=lambda task: task[0] != "in_progress")
    return [subject for _, subject in ordered]


def _create(tasks: dict[str, list[str]], answer: str) -> None:
    # "7 Add a test"; as the model is told it: "Task #7 created successfully: Add a test"
    number, _, subject = answer.strip().partition(" ")
    if number == "Task":
        number, _, rest = subject.partition(" ")
        subject = rest.partition(": ")[2]
    subject = " ".join(subject.split())
    if number and subject:
        tasks[number.lstrip("#")] = ["pending", subject[:_SUBJECT_CHARS]]
    while len(tasks) > _MAX_TASKS:
        del tasks[next(iter(tasks))]


def _update(tasks: dict[str, list[str]], given: list[str], answer: list[str]) -> None:
    # "7 status in_progress completed"; as the model is told it: "Updated task #7 status"
    told = answer[:2] == ["Updated", "task"]
    number = answer[2].lstrip("#") if told and len(answer) > 2 else (answer or given or [""])[0]
    if number not in tasks:
        return
    fields = answer[1:]
    state = next((word for word in reversed(given) if word in _STATES | _DONE), "") if told else fields[-1:]
    state = state if isinstance(state, str) else "".join(state)
    if state in _DONE:
        del tasks[number]
        return
    if state in _STATES:
        tasks[number][0] = state
    subject = [word for word in given if word != number and word not in _STATES]
    if subject and fields[:1] == ["subject"] and not {"description", "activeForm"} & set(fields):
        tasks[number][1] = " ".join(subject)[:_SUBJECT_CHARS]
