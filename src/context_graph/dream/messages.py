"""What the owner and the process that computes a consolidation say to each other.

The owner makes a folder with a checkpoint of the store's database in it (`checkpoint.take`), starts
``arguments(folder)`` and writes one line, the `Request`, to its standard input, which it leaves open: when it
closes, the process ends at once, so that none outlives its owner. The process writes lines to its standard
output, `Update` while it works and one `Ready` or `Failed` at its end, and before `Ready` one file into the
folder: ``prepared``, what was found as changes of records; or ``plan``, where it was only to look for goals.
It writes nowhere else and may be killed at any time.

| exit code | |
|---|---|
| 0 | `Ready` |
| 1 | `Failed` |
| 3 | standard input was closed |
| negative | killed by that signal |
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec

from context_graph.dream.plan import Plan
from context_graph.dream.progress import Update
from context_graph.dream.request import Request
from context_graph.errors import ContextGraphError, OwnerError, error_for_code

__all__ = [
    "ABANDONED",
    "DATABASE",
    "PLAN",
    "PREPARED",
    "Failed",
    "GoalSearch",
    "Line",
    "Ready",
    "Task",
    "Update",
    "arguments",
    "read_line",
    "read_plan",
    "read_task",
    "write_line",
    "write_plan",
]

DATABASE: Final = "db"
"""In a run's folder: the checkpoint."""
PLAN: Final = "plan"
PREPARED: Final = "prepared"
ABANDONED: Final = 3
"""Exit code of a process whose standard input was closed."""


class GoalSearch(msgspec.Struct, frozen=True):
    """Which goals to look for."""

    min_confidence: float
    """[0, 1]."""
    max_goals: int


class Task(msgspec.Struct, frozen=True):
    """The line that starts the work."""

    request: Request
    goals: GoalSearch | None = None
    """Look for goals, and for nothing else."""


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The files are complete."""

    changes: int
    """Merges, prunes, links, weights and goals that would be written; 0 if there is nothing to commit."""
    took_ms: int
    peak_rss_bytes: int


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """It could not be done; nothing of it is to be applied."""

    code: str
    message: str

    def error(self) -> ContextGraphError:
        """As an exception of the class that ``code`` names."""
        kind = error_for_code(self.code)
        return (OwnerError if kind is ContextGraphError else kind)(self.message)


Line = Update | Ready | Failed


def arguments(folder: Path) -> list[str]:
    """The command that computes what is prepared in ``folder``."""
    # -P: a folder that the owner happens to run in must not shadow our modules.
    return [sys.executable, "-P", "-m", "context_graph.dream", str(folder)]


def write_line(line: Line | Task) -> bytes:
    """``line`` with its newline."""
    return _ENCODER.encode(line) + b"\n"


def read_line(raw: bytes) -> Line:
    """What the process said.

    Raises:
        OwnerError: It is no such line.
    """
    try:
        return _LINES.decode(raw)
    except msgspec.DecodeError as error:
        raise OwnerError(f"the consolidation's process said {raw[:80]!r}: {error}") from error


def read_task(raw: bytes) -> Task:
    """The first line of standard input.

    Raises:
        msgspec.DecodeError, InvalidParamsError: It is none.
    """
    return _TASKS.decode(raw)


def write_plan(plan: Plan) -> bytes:
    """``plan`` as the bytes of its file."""
    return _ENCODER.encode(plan)


def read_plan(raw: bytes) -> Plan:
    """The plan of such bytes. Cost: some 1 ms for each 1,000 items.

    Raises:
        OwnerError: They are none.
    """
    try:
        return _PLANS.decode(raw)
    except msgspec.DecodeError as error:
        raise OwnerError(f"the consolidation's plan can't be read: {error}") from error


_ENCODER: Final = msgspec.json.Encoder()
_LINES: Final[msgspec.json.Decoder[Line]] = msgspec.json.Decoder(Update | Ready | Failed)
_TASKS: Final = msgspec.json.Decoder(Task)
_PLANS: Final = msgspec.json.Decoder(Plan)
