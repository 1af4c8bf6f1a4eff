"""What one event says, part by part: a tool call's path, command, edit and answer, or a whole message.

A HookEvent's two texts are for measuring; who wants to know which file or command it was reads it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, get_args, get_type_hints

SHELLS: Final = frozenset({"Bash", "PowerShell"})
"""The client's tools that run a command line."""
EDITING: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
"""The client's tools that change a file."""


@dataclass(slots=True)
class EventParts:
    """The parts of one event, redacted and bounded; what does not apply is empty."""

    file_path: str = ""
    """As the call gives it: of a file tool, or the folder of a search."""
    command: str = ""
    description: str = ""
    """The model's own words about a command or a subagent's task."""
    pattern: str = ""
    """What was searched for, in files or in the web."""
    url: str = ""
    old_text: str = ""
    new_text: str = ""
    """Of an edit; of several the first. A new file's or cell's beginning."""
    writes: list[str] = field(default_factory=list)
    """Files that a new script may write."""
    symbols: list[str] = field(default_factory=list)
    """Functions and classes that an edit touches, or that stand in what was written or read."""
    patched: list[list[str]] = field(default_factory=list)
    """[file, function or class] of each hunk of a diff that a command printed."""
    tail: str = ""
    """The end of an output that is longer than the event's text."""
    exit_code: int | None = None
    agent: str = ""
    """The kind of a subagent that a call has work."""
    task: str = ""
    """What it is told; the question that a page is read for."""
    answers: list[list[str]] = field(default_factory=list)
    """[question, what the user chose]."""
    todos: list[list[str]] = field(default_factory=list)
    """[state, subject] of each item of a list."""
    todo: list[str] = field(default_factory=list)
    """[id, state, subject] of the one task that was made or changed; "" for what is not told."""
    plan: str = ""
    words: str = ""
    """The whole of a message whose event's text is shorter: a prompt, last words, a compaction's summary."""
    remarks: list[str] = field(default_factory=list)
    """Of a stop: what the assistant said since the prompt, between its calls, that tells something."""
    account: str = ""
    """Of a prompt: the store of what its user says of all his work (`config.account_of`)."""

    def to_json(self) -> dict[str, Any]:
        """Return the parts that are there, as JSON values, for from_json."""
        return {name: value for name in _NAMES if (value := getattr(self, name)) or value == 0}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> EventParts:
        """Return the parts that to_json gave; a name or type that is not ours is left out."""
        made = cls()
        for name, value in record.items():
            if name in _TYPES and isinstance(value, _TYPES[name]):
                setattr(made, name, value)
        return made


_NAMES: Final = tuple(part.name for part in fields(EventParts))
_TYPES: Final = {
    name: list if "list" in str(kind) else tuple(get_args(kind)) or kind
    for name, kind in get_type_hints(EventParts).items()
}
