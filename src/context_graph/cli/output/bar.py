"""Shows progress bars on standard error; without a terminal there is none."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator

Advance = Callable[[int], None]


@contextlib.contextmanager
def updating(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A progress bar updated in rich's terms: advance, completed, total, description."""
    if not sys.stderr.isatty():
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
