"""`req …` from its first word: the plain commands at once, all else through Typer.

The launcher starts this in a bare interpreter; `main.req` is the same as a script of its own.
"""

from __future__ import annotations

import os
import sys

from context_graph.cli.req_words import read_words
from context_graph.errors import ContextGraphError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from context_graph.cli.req_run import Site

__all__ = ["call_directly", "main"]


def main(words: list[str]) -> NoReturn:
    """What the launcher runs. ``words``: data root, store, top folder, program for all else, the user's."""
    root, store, project, slower, *rest = words
    from context_graph.cli.req_run import Site

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    try:
        done = call_directly(rest, Site(root, store, project))
    except ContextGraphError as error:
        print(f"context-graph-cli: {error}", file=sys.stderr)
        done = error.exit_code
    except KeyboardInterrupt:
        done = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader has gone; nothing more can be said
        done = 0
    if done is None:
        os.execv(slower, [slower, "req", *rest])
    sys.stdout.flush()
    os._exit(done)  # the interpreter's farewell costs a tenth of its start


def call_directly(words: list[str], site: Site | None = None) -> int | None:
    """Run the command that ``words`` (behind `req`) say, if they are plain: its exit code; else None."""
    found = read_words(words)
    if found is None or found[0] == "statusline":
        return None
    from context_graph.cli.req_run import run

    return run(*found, site)
