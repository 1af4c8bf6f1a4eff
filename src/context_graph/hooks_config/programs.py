"""Telling calls of our program from those of others: more than one has `context-graph` in its name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from typing import Final

__all__ = ["runs_us"]

_PROGRAMS: Final = frozenset({"context-graph", "context-graph-cli", "context-graph-py"})
_ANYWHERE: Final = re.compile(
    r"(?<![\w.@+-])context-graph-(?:cli|py)(?![\w.@+/-])"
    r"|(?<![\w./@+-])context-graph (?:hooks|session|consciousness|mcp|status|req)\b"
    r"|(?<![\w.])context_graph\.cli\b"
)


def runs_us(command: str, arguments: Iterable[object] = ()) -> bool:
    """Whether a command line, or the text of a script, calls our program.

    `memgraph-context-graph` and `run.sh` in a folder `context-graph` don't.
    """
    try:
        first = (shlex.split(command, comments=True) or [""])[0]
    except ValueError:
        first = command
    if os.path.basename(first) in _PROGRAMS or os.path.basename(command) in _PROGRAMS:
        return True
    return _ANYWHERE.search(" ".join([command, *map(str, arguments)])) is not None
