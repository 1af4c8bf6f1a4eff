"""Prints for a terminal: text folded between words, names with their values, progress bars, problems."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from context_graph.cli.console.tables import columns, width
from context_graph.errors import UsageError
from context_graph.view.safe import shown as shown

_NAME, _WRONG, _PLAIN = "\x1b[1;36m", "\x1b[1;31m", "\x1b[0m"
_LEAST_ROOM = 20
_NAME_WORDS = 4
"""That a value is set off from: a sentence is longer."""
_KEPT = "\0"
"""In the place of a blank that no line ends at; `shown` leaves none in a text."""


def show(rows: Sequence[tuple[str, str]]) -> None:
    """Print the pairs one below the other; on a terminal folded to its width, in the colours that it has."""
    if not sys.stdout.isatty():
        print(columns(rows))
        return
    has_colours = _moves(sys.stdout) and not os.environ.get("NO_COLOR")
    widest = max((len(name) for name, _ in rows), default=0)
    for name, text in rows:
        wrong = name == "problem" or text.startswith(("✗", "⚠"))
        colour, plain = (_WRONG if wrong else _NAME, _PLAIN) if has_colours else ("", "")
        print(f"{colour}{name.ljust(widest)}{plain}  ", end="")
        print_folded(shown(text), indent=widest + 2, begun=True)


def print_folded(text: str, *, indent: int = 0, begun: bool = False, to: TextIO | None = None) -> None:
    """Print ``text``, on a terminal folded to its width between words; a pipe gets it as it is.

    Args:
        indent: Blanks before each line.
        begun: The first line has what is before it already.
        to: Standard output, if it is not said.
    """
    stream = to or sys.stdout
    lines = text.split("\n")
    if stream.isatty():
        room = max(_LEAST_ROOM, width() - indent)
        lines = [part for line in lines for part in _folded(line, room)]
    blanks = " " * indent
    print(
        "\n".join(blanks * (bool(line) and not (begun and not n)) + line for n, line in enumerate(lines)),
        file=stream,
    )


def _folded(line: str, room: int) -> list[str]:
    """Return ``line`` in parts of at most ``room`` columns, each as far from the left as it is, or as a value
    after a name and two blanks.

    A path, or a command between backticks, is broken only if it fits no line: a cut one can't be copied.
    """
    if len(line) <= room:
        return [line]
    import textwrap  # rich would fold it too, and takes 0.1 s to load

    left = _value_begins(line)
    margin = " " * (left if left <= room - _LEAST_ROOM else 0)
    most = room - len(margin)
    pieces = line.split("`")
    for at in range(1, len(pieces) - 1, 2):
        if len(pieces[at]) + 2 <= most:
            pieces[at] = pieces[at].replace(" ", _KEPT)
    whole = "`".join(pieces)
    parts = textwrap.wrap(
        whole, room, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
    return [part.replace(_KEPT, " ") for part in parts]


def _value_begins(line: str) -> int:
    """Return the column of a value after a short name and two blanks, else of the text."""
    text = line.lstrip(" ")
    name, gap, value = text.partition("  ")
    value = value.lstrip(" ")
    is_name = gap and value and len(name.split(" ")) <= _NAME_WORDS and not set(name) & set(".:;!?")
    return len(line) - len(value if is_name else text)


def complain(problem: object) -> None:
    """Say on standard error what is wrong, under the program's name; nothing where that is closed."""
    if sys.stderr is not None:
        print_folded(f"context-graph-cli: {problem}", to=sys.stderr)


def _moves(stream: TextIO) -> bool:
    """Return whether it is a terminal that knows colours and a cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def confirmed(question: str, *, default: bool = False) -> bool:
    """Return whether the person at the terminal answers yes, or with ``default`` Enter; all else is no."""
    try:
        answer = input(f"{question} [{'Y/n' if default else 'y/N'}] ").strip().lower()
    except EOFError:
        print()
        return False
    return answer in ("y", "yes") or (default and not answer)


def agree(question: str, *, yes: bool) -> None:
    """Go on if ``yes`` was given or the person at the terminal agrees; else end the command with 1.

    Raises:
        UsageError: There is no terminal.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("nothing was written: nobody can be asked here; say --yes to write")
    if not confirmed(question, default=True):
        raise SystemExit(1)


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
