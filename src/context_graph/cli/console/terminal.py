"""Prints for a terminal: names with their values, progress bars, and text made safe to show."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from context_graph.cli.console.tables import columns, width
from context_graph.view.safe import shown as shown

_NAME, _WRONG, _PLAIN = "\x1b[1;36m", "\x1b[1;31m", "\x1b[0m"
_LEAST_ROOM = 20


def show(rows: Sequence[tuple[str, str]]) -> None:
    """Print the pairs one below the other; on a terminal with colours, and folded to its width."""
    if not _moves(sys.stdout) or os.environ.get("NO_COLOR"):
        print(columns(rows))
        return
    import textwrap  # rich would do it too, and takes 0.1 s to load

    widest = max((len(name) for name, _ in rows), default=0)
    room = max(_LEAST_ROOM, width() - widest - 2)
    for name, text in rows:
        wrong = name == "problem" or text.startswith(("✗", "⚠"))
        # A path or command that is cut can't be copied.
        lines = textwrap.wrap(shown(text), room, break_long_words=False, break_on_hyphens=False) or [""]
        print(f"{_WRONG if wrong else _NAME}{name.ljust(widest)}{_PLAIN}  {lines[0]}")
        print("".join(f"{'':{widest}}  {line}\n" for line in lines[1:]), end="")


def print_folded(text: str, *, indent: int = 0, begun: bool = False) -> None:
    """Print ``text``, on a terminal folded to its width between words; a pipe gets it as it is.

    Args:
        indent: Blanks before each line.
        begun: The first line has what is before it already.
    """
    blanks = " " * indent
    lines = [text]
    if sys.stdout.isatty():
        import textwrap

        room = max(_LEAST_ROOM, width() - indent)
        # A path or command that is cut can't be copied.
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    print(f"\n{blanks}".join([("" if begun else blanks) + lines[0], *lines[1:]]))


def _moves(stream: TextIO) -> bool:
    """Whether it is a terminal that knows colours and a cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def confirmed(question: str) -> bool:
    """Whether the person at the terminal answers yes; anything else is no."""
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("y", "yes")


Advance = Callable[[int], None]


@contextlib.contextmanager
def updating(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A progress bar updated in rich's terms: advance, completed, total, description."""
    if not _moves(sys.stderr):
        yield lambda **_: None
        return
    from rich.console import Console  # 40 ms, and only somebody who waits pays for it
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield functools.partial(progress.update, progress.add_task(what, total=total))


@contextlib.contextmanager
def bar(what: str, total: int | None) -> Iterator[Advance]:
    """A progress bar updated by increments."""
    with updating(what, total) as update:
        yield lambda size: update(advance=size)
