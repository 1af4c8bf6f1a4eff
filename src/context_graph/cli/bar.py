"""Progress bars on standard error, for a person who waits: without a terminal there is none."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator

__all__ = ["Advance", "bar", "updating"]

Advance = Callable[[int], None]


@contextlib.contextmanager
def updating(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A bar that is told how far it is in rich's words: advance, completed, total, description."""
    if not sys.stderr.isatty():
        yield lambda **_: None
        return
    from rich.console import Console  # 40 ms, and only somebody who waits pays for it
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        yield functools.partial(progress.update, progress.add_task(what, total=total))


@contextlib.contextmanager
def bar(what: str, total: int | None) -> Iterator[Advance]:
    """A bar that is told by how much it goes on."""
    with updating(what, total) as update:
        yield lambda size: update(advance=size)
