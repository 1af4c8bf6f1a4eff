"""Writes memories into the client's own files: its memory of a project, and CLAUDE.md."""

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
from context_graph.system.small_files import replacing

_LINE: Final = f"- [What context-graph remembers]({OURS}): decisions and findings, dated; rewritten by it"
_HEAD: Final = (
    "# What context-graph remembers\n\nWritten by `context-graph-cli memory export --to auto-memory`, which "
    "rewrites this file. These are records of earlier work; they may be wrong or out of date.\n\n"
)
_BEGIN: Final = "<!-- context-graph rules: written by `context-graph-cli memory export --to claude-md` -->"
_END: Final = "<!-- end of context-graph rules -->"
_CONFIRMED: Final = "confirmed"
"""In the metadata of what somebody confirmed (`model.memory.CONFIRMED`)."""
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
    days = [time.strftime("%Y-%m-%d", time.gmtime(memory["created_at_ms"] / 1000)) for memory in chosen]
    lines = (f"- {day}: {_line(memory['content'])}\n" for day, memory in zip(days, chosen, strict=True))
    try:
        notes = memory_of(project, os.environ)
        notes.mkdir(mode=0o700, exist_ok=True)
        _replace(notes / OURS, _HEAD + "".join(lines))
        _add_line(notes / MEMORY_INDEX)
    except OSError as error:
        raise InvalidInputError(f"{error.filename}: {error.strerror}") from error
    return len(chosen)


def write_rules(pages: Iterator[dict[str, Any]]) -> int:
    """Write the rules that somebody confirmed into the marked block of CLAUDE.md, and no more; how many.

    The block is made at the end of the file where there is none, and goes where no rule is confirmed.

    Raises InvalidInputError: The file can't be read or written, or has one of the two marks alone.
    """
    path = checkout_top(working_dir()) / "CLAUDE.md"
    rules = [
        row for row in _rows(pages) if row["metadata"].get("kind") == "rule" and _CONFIRMED in row["metadata"]
    ]
    rules.sort(key=lambda row: (row["created_at_ms"], row["id"]))
    lines = "".join(f"- {_line(rule['content'])}\n" for rule in rules)
    try:
        there = path.read_bytes().decode() if path.exists() else ""
        text = _with_block(path, there, f"{_BEGIN}\n{lines}{_END}\n" if rules else "")
        if text != there:
            _replace(path, text)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: not UTF-8 at byte {error.start}; nothing was changed") from error
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror}") from error
    return len(rules)


def _with_block(path: Path, text: str, block: str) -> str:
    """Return ``text`` with ``block`` in the place of the one between the marks, or behind all else."""
    before, begin, rest = text.partition(_BEGIN)
    inside, end, after = rest.partition(_END)
    if bool(begin) != bool(end) or _BEGIN in inside + after or _END in before + after:
        raise InvalidInputError(
            f"{path}: needs one line {_BEGIN!r} and behind it one {_END!r}, or neither; mend it and try again"
        )
    if not (begin or block):
        return text
    if begin:
        return before + block + after.removeprefix("\n")
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{block}"


def _rows(pages: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return the memories of an export that are not forgotten."""
    rows = (json.loads(line) for page in pages for line in page["text"].splitlines())
    return (row for row in rows if row.get("type") == "memory" and "deleted" not in row)


def _chosen(pages: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    stored = [row for row in _rows(pages) if row.get("source") in _OWN]
    stored.sort(key=lambda row: (not row["pinned"], -row["importance"], -row["created_at_ms"], row["id"]))
    return stored[:_MOST]


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
