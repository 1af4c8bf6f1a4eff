"""Names the steps of a session's work: what was changed and what was run, without mere looking.

The names are few on purpose, so that the same way of working has the same steps in every session:
"edit", "edit tests", "edit docs"; "write a script", "run a script" and "run a snippet" for what lies in the
top folder or nowhere; else a command's program ("pytest", "git commit", "tests/runtests.py").
"""

from __future__ import annotations

import os.path
from typing import Final

from context_graph.identity.forecast import command_head
from context_graph.model import EventParts
from context_graph.text import phrases
from context_graph.text.sentences import shortened

MAX_STEPS: Final = 64
"""The last ones of a session; a step that repeats the one before it does not count."""
_STEP_CHARS: Final = 40
_SCRIPT: Final = (".py", ".sh", ".js", ".ts", ".rb", ".exs")
_DOCS: Final = (".md", ".rst", ".txt", ".adoc")
_INTERPRETERS: Final = frozenset({"python", "python3", "node", "sh", "bash", "ruby", "elixir"})
_WRITERS: Final = frozenset({"cat", "tee", "echo", "printf"})
_MINOR: Final = phrases.word_set(
    """mkdir rm touch cp mv ln chmod chown export cd pushd popd which type env source alias sleep true false
    test wait kill nl diff sort uniq xargs awk jq curl wget date pwd exit set unset read [ \\ . :"""
)
"""Programs that prepare or look; no step by themselves."""
_SUBCOMMANDS: Final = phrases.word_set(
    """mix bd bundle rails rake poetry pdm hatch conda deno bun dotnet gradle mvn sbt terraform helm brew apt
    apt-get composer php artisan swift zig nix just task pre-commit alembic flask django-admin"""
)
"""Programs whose next word is what they do, beside those that `command_head` knows."""


def add_step(steps: list[str], step: str) -> None:
    """Append ``step`` unless it is empty or the last one; keeps the newest `MAX_STEPS`."""
    if step and steps[-1:] != [step]:
        steps.append(step[:_STEP_CHARS])
        del steps[:-MAX_STEPS]


def changing_step(path: str, *, new: bool = False) -> str:
    """Return the step of changing the file ``path``, or of writing it as a ``new`` one."""
    folder, name = os.path.split(path.lower())
    stem, ending = os.path.splitext(name)
    if new and not folder and ending in _SCRIPT:
        return "write a script"
    if ending in _DOCS:
        return "edit docs"
    is_test = {"test", "tests", "spec", "__tests__"}.intersection(folder.split("/"))
    if is_test or stem.startswith("test_") or stem.endswith(("_test", ".test", "_spec", ".spec")):
        return "edit tests"
    return "edit"


def command_step(command: str) -> str:
    """Return the step of a shell command; "" for one that only looks or prepares."""
    if not command or phrases.is_lookup(command):
        return ""
    words = command.split()
    head = command_head(command)
    program = head.split(" ", 1)[0]
    if program in _WRITERS:
        return _written(words)
    if program == "sed":
        return changing_step(words[-1]) if "-i" in command else ""
    if program in _MINOR or not program[:1].isalnum():
        return ""
    if program in _INTERPRETERS:
        return _run(head, words)
    if program in _SUBCOMMANDS and head == program:
        following = words[words.index(program) + 1 :] if program in words else []
        return " ".join((program, *(word for word in following[:1] if word.replace(".", "").isalpha())))
    return head


def _written(words: list[str]) -> str:
    """Return the step of `cat > FILE` and the like; "" if nothing is written."""
    for place, word in enumerate(words[:-1]):
        if word in (">", ">>", "tee"):
            return changing_step(words[place + 1].strip("\"'"), new=word == ">")
    return ""


def _run(head: str, words: list[str]) -> str:
    """Return the step of an interpreter: the module or the script that it runs."""
    if " -m " in head:
        return head.split(" -m ", 1)[1].split(".", 1)[0]
    script = next((word for word in words[1:4] if word.endswith(_SCRIPT) and word[0] != "-"), "")
    if not script:
        return "run a snippet"
    script = script.removeprefix("./")
    return script if "/" in script and not script.startswith("/") else "run a script"


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
