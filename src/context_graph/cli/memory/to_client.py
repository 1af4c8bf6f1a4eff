"""Writes memories into the client's own memory of a project: a file of ours, and a line in its index."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from context_graph.claude.transcripts import MEMORY_INDEX, OURS, folder_of, memory_of
from context_graph.config import checkout_top, working_dir
from context_graph.errors import InvalidInputError
from context_graph.whole_file import replacing

_LINE: Final = f"- [What context-graph remembers]({OURS}): decisions and findings, dated; rewritten by it"
_HEAD: Final = (
    "# What context-graph remembers\n\nWritten by `context-graph-cli memory export --to auto-memory`, which "
    "rewrites this file. These are records of earlier work; they may be wrong or out of date.\n\n"
)
_MOST: Final = 60
_CHARS: Final = 400
"""Of one memory: the client's model reads the file as a whole."""
_OWN: Final = frozenset({"tool", "cli", "library"})
"""Sources of what somebody stored on purpose; summaries and imports are left where they are."""


def write(pages: Iterator[dict[str, Any]]) -> int:
    """Write the most important memories that somebody stored on purpose; how many.

    Nothing that a person wrote is changed but for one line that is added to the index, once.

    Raises:
        InvalidInputError: The client has no folder for this project, or a file can't be written.
    """
    project = checkout_top(working_dir())
    folder = folder_of(project, os.environ)
    if not folder.is_dir():
        raise InvalidInputError(
            f"{folder}: Claude Code has no folder for this project; start `claude` here once, then try again"
        )
    chosen = _chosen(pages)
    text = _HEAD + "".join(f"- {_day(one)}: {_line(one['content'])}\n" for one in chosen)
    try:
        notes = memory_of(project, os.environ)
        notes.mkdir(mode=0o700, exist_ok=True)
        _replace(notes / OURS, text)
        _add_line(notes / MEMORY_INDEX)
    except OSError as error:
        raise InvalidInputError(f"{error.filename}: {error.strerror}") from error
    return len(chosen)


def _chosen(pages: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = (json.loads(line) for page in pages for line in page["text"].splitlines())
    stored = [
        row
        for row in rows
        if row.get("type") == "memory" and row.get("source") in _OWN and "deleted" not in row
    ]
    stored.sort(key=lambda row: (not row["pinned"], -row["importance"], -row["created_at_ms"], row["id"]))
    return stored[:_MOST]


def _day(row: dict[str, Any]) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(row["created_at_ms"] / 1000))


def _line(content: str) -> str:
    whole = " ".join(content.split())
    return whole if len(whole) <= _CHARS else whole[: _CHARS - 1] + "…"


def _add_line(index: Path) -> None:
    try:
        there = index.read_text(encoding="utf-8")
    except FileNotFoundError:
        there = ""
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{index}: not UTF-8 at byte {error.start}; nothing was added") from error
    if f"({OURS})" not in there:
        _replace(index, there + ("\n" if there and not there.endswith("\n") else "") + _LINE + "\n")


def _replace(path: Path, text: str) -> None:
    with replacing(path) as out:
        out.write(text.encode())
