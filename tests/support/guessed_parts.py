"""Guesses the parts of an event out of its flattened texts: recorded sessions of agents have nothing else.

A path is what a file tool's text begins with, a command what a shell's text has before a last run of plain
words. Both are wrong now and then.
"""

from __future__ import annotations

import os.path
from typing import Final

from context_graph.model import EDITING, SHELLS, EventKind, EventParts, HookEvent
from context_graph.text.patterns import linear

_DESCRIPTION: Final = linear(r" ([A-Z][a-z]+(?:-[a-z]+)? [^\"'|&;$<>`\\{}=]+)$")
_ENDING: Final = linear(r"\.\w{1,8}$")
_FILE_NAME: Final = linear(r"\w\.\w{1,8}$")
_TODO: Final = linear(r"(?m)^(?:\d+ )?(?P<what>.+?) (?P<state>pending|in_progress|completed)(?:\W|$)")
_STATES: Final = frozenset({"pending", "in_progress", "completed", "deleted"})
_FILE_TOOLS: Final = EDITING | {"Read"}


def parts_of_texts(event: HookEvent) -> EventParts:
    """The parts that the event's texts may have held. Cost: some 5 us."""
    if event.kind not in (EventKind.POST_TOOL, EventKind.POST_TOOL_FAILURE):
        return EventParts()
    tool, given, answer = event.tool_name, event.input_text, event.output_text
    if tool in _FILE_TOOLS:
        path = _path(given, answer)
        new = given[len(path) :].strip() if path and tool in EDITING else ""
        return EventParts(file_path=path, new_text=new)
    if tool in SHELLS:
        told = _DESCRIPTION.search(given)
        return EventParts(
            command=given[: told.start()] if told else given, description=told[1] if told else ""
        )
    if tool == "TodoWrite":
        return EventParts(todos=[[found["state"], found["what"]] for found in _TODO.finditer(given)])
    if tool in ("TaskCreate", "TaskUpdate"):
        return EventParts(todo=_todo(tool, given.split(), answer))
    return EventParts(plan=given) if tool == "ExitPlanMode" else EventParts()


def _path(given: str, answer: str) -> str:
    """The file that a file tool's input begins with; the answer begins with the same, blanks and all."""
    first = given.split(None, 1)[0] if given.strip() else ""
    if "/" not in first and first not in ("Makefile", "Dockerfile") and not _FILE_NAME.found(first):
        return ""
    shared = os.path.commonprefix((given, answer)).rstrip()  # noqa: RUF071 - of any text
    if " " in shared and "\n" not in shared and len(shared) <= 200 and _ENDING.found(shared):
        return shared
    return first[:200]


def _todo(tool: str, given: list[str], answer: str) -> list[str]:
    """[id, state, subject] of "7 Add a test" or, as models are told, "Task #7 created …: Add a test"."""
    if tool == "TaskCreate":
        number, _, made = answer.strip().partition(" ")
        if number == "Task":
            number, _, rest = made.partition(" ")
            made = rest.partition(": ")[2]
        return [number.lstrip("#"), "", " ".join(made.split())]
    told = answer.split()
    worded = told[:2] == ["Updated", "task"] and len(told) > 2
    number = told[2].lstrip("#") if worded else (told or given or [""])[0]
    state = next((word for word in reversed(given) if word in _STATES), "")
    changed = told[3:] if worded else told[1:]
    subject = [word for word in given if word != number and word not in _STATES]
    only = changed[:1] == ["subject"] and not {"description", "activeForm"} & set(changed)
    return [number, state, " ".join(subject) if only else ""]
