"""Notices the end of a client's process, whatever ended it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable


def when_ended(
    loop: asyncio.AbstractEventLoop, pid: int, then: Callable[[], None]
) -> Callable[[], None] | None:
    """Have ``then`` called once, on the loop's thread, when process ``pid`` has ended or if it has already.

    Returns:
        What stops the watch, and may be called again; None where it can't be watched.
    """
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return loop.call_soon(then).cancel
    except (OSError, OverflowError, AttributeError):  # not everywhere are there descriptors of processes
        return None
    watched = [handle]

    def stop() -> None:
        if watched:
            loop.remove_reader(handle)
            os.close(watched.pop())

    def ended() -> None:
        stop()
        then()

    loop.add_reader(handle, ended)
    return stop
