"""Starts a process beside the owner for each open store that has joined a hub, and tells it of changes.

The owner itself never speaks to a network: hooks wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from context_graph.owner.sessions.store_context import StoreContext
from context_graph.sync.hub import FILE

_SOON_S: Final = 1.0
"""Seconds between a store's opening and the start of its process: the hooks that opened it go first."""
_AGAIN_S: Final = 60.0
"""Between two starts for one store, at least."""
_GONE_S: Final = 2.0


class Exchanges:
    """The processes of one owner. Everything here is called on the loop's thread.

    Args:
        is_open: Whether a store is (still) open.
    """

    def __init__(self, root: Path, is_open: Callable[[StoreContext], bool], log: logging.Logger) -> None:
        self._root, self._is_open, self._log = root, is_open, log
        self._loop: asyncio.AbstractEventLoop | None = None
        self._began: dict[Path, float] = {}
        """When a store's process was started last, or is going to be."""

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start processes from now on."""
        self._loop = loop

    def look(self, context: StoreContext) -> None:
        """See that a store which has joined a hub has its process. Cost: a look at a file, 2 us."""
        if self._loop is None or any(isinstance(follower, _Process) for follower in context.followers):
            return
        if not os.path.exists(context.folder / FILE) or not context.settings.sync:
            return
        now = time.monotonic()
        if now - self._began.get(context.folder, -_AGAIN_S) < _AGAIN_S:
            return
        self._began[context.folder] = now
        self._loop.call_later(_SOON_S, self._start, context)

    def _start(self, context: StoreContext) -> None:
        if not self._is_open(context) or context.project is None:
            return
        try:
            made = _Process(self._root, context, self._log)
        except OSError as error:
            self._log.error("no exchange with the hub of %s: %s", context.folder.name, error)
            return
        context.followers.add(made)
        self._log.info("exchanges with its hub: store=%s pid=%d", context.folder.name, made.pid)


class _Process:
    """A follower of its store."""

    def __init__(self, root: Path, context: StoreContext, log: logging.Logger) -> None:
        self._context, self._log = context, log
        self._seq = context.memory_seq()
        words = [sys.executable, "-P", "-m", "context_graph.sync.background"]
        self._process = subprocess.Popen(
            [*words, str(root), str(context.folder), str(context.project)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._stdin = self._process.stdin
        os.set_blocking(self._stdin.fileno(), False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def look(self) -> None:
        """Wake it if the memory changed; end it if the store has left the hub."""
        if self._process.poll() is not None or not os.path.exists(self._context.folder / FILE):
            self._context.followers.discard(self)
            self.leave()
            return
        seq = self._context.memory_seq()
        if seq == self._seq:
            return
        self._seq = seq
        with contextlib.suppress(OSError):  # its pipe is full of such lines, or it is going
            os.write(self._stdin.fileno(), b"\n")

    def leave(self) -> None:
        """End it: the next one sends again what it was sending."""
        self._stdin.close()
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GONE_S)
