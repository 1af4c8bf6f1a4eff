"""Starts processes beside the owner for the stores that have joined a hub: the owner speaks to no network.

One exchanges a store's changes with its hub for as long as the store is open, and is told of each change. The
other is started for the first question about what was not pulled, and kept for the next ones
(`sync.hub.answering`); a question is answered within QUESTION_S, or told that it was not. No hook asks any.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from context_graph.errors import ConfigError, ContextGraphError, InvalidParamsError, StoreBusyError
from context_graph.owner.jobs import JobState, LongWork, OnDone
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.redact import TextRedactor
from context_graph.sync.hub import FILE

if TYPE_CHECKING:
    from context_graph.memory.elsewhere import Sought
    from context_graph.operations.context import Elsewhere

_SOON_S: Final = 1.0
"""Seconds between a store's opening and the start of its process: the hooks that opened it go first."""
_AGAIN_S: Final = 60.0
"""Between two starts for one store, at least."""
_GONE_S: Final = 2.0
QUESTION_S: Final = 2.0
"""Seconds between a question and its answer, the start of the process included."""
_WAITING_MAX: Final = 8
_ANSWER_BYTES: Final = 32 << 20
_READ_BYTES: Final = 1 << 20


class _Process:
    """A process for one store; a follower of it, so that it goes when the store is closed."""

    def __init__(self, context: StoreContext, module: str, *words: str, stdout: int) -> None:
        self._context = context
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *words],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._stdin = self._process.stdin
        os.set_blocking(self._stdin.fileno(), False)
        context.followers.add(self)

    @property
    def pid(self) -> int:
        return self._process.pid

    def look(self) -> None:
        """Called after each call that may have changed something in the store."""

    def leave(self) -> None:
        """End it."""
        self._context.followers.discard(self)
        self._stdin.close()
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GONE_S)


class Exchanges:
    """The exchanges of one owner, all on the loop's thread; ``is_open`` tells whether a store is open."""

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
        if self._loop is None or any(isinstance(follower, _Exchange) for follower in context.followers):
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
            made = _Exchange(self._root, context)
        except OSError as error:
            self._log.error("no exchange with the hub of %s: %s", context.folder.name, error)
            return
        self._log.info("exchanges with its hub: store=%s pid=%d", context.folder.name, made.pid)


class _Exchange(_Process):
    """The process that exchanges; ended, the next one sends again what it was sending."""

    def __init__(self, root: Path, context: StoreContext) -> None:
        words = str(root), str(context.folder), str(context.project)
        super().__init__(context, "context_graph.sync.background", *words, stdout=subprocess.DEVNULL)
        self._seq = context.memory_seq()

    def look(self) -> None:
        """Wake it if the memory changed; end it if the store has left the hub."""
        if self._process.poll() is not None or not os.path.exists(self._context.folder / FILE):
            self.leave()
            return
        seq = self._context.memory_seq()
        if seq == self._seq:
            return
        self._seq = seq
        with contextlib.suppress(OSError):  # its pipe is full of such lines, or it is going
            os.write(self._stdin.fileno(), b"\n")


# Questions

Then = Callable[[Sequence[Mapping[str, Any]], str], Mapping[str, Any]]
"""Makes the answer from what the hub has (`sync.hub.answering.Candidate`) and why it has nothing, if so."""


@dataclass(slots=True, kw_only=True, eq=False)
class Question(LongWork):
    """One that is being answered."""

    then: Then

    def answer(self, rows: Sequence[Mapping[str, Any]], failed: str = "") -> None:
        """End it with what there is. Later calls change nothing."""
        if self.over:
            return
        try:
            self.finish(self.then(rows, failed))
        except ContextGraphError as error:
            self.finish(error)


def asking(context: StoreContext) -> Asking:
    """Return the process that asks this store's hub, started if need be.

    InvalidParamsError: the project has joined no hub. ConfigError: no psycopg, or no process can be started.
    """
    if not os.path.exists(context.folder / FILE):
        raise InvalidParamsError.of("scope", "is team, but this project has joined no hub (`hub join` does)")
    for follower in context.followers:
        if isinstance(follower, Asking):
            return follower
    if find_spec("psycopg") is None:
        raise ConfigError("a hub needs psycopg: install context-graph-core[hub]")
    try:
        return Asking(context)
    except OSError as error:
        raise ConfigError(f"no process to ask the hub: {error.strerror}") from error


def elsewhere(rows: Iterable[Mapping[str, Any]], redactor: TextRedactor) -> list[Elsewhere]:
    """Return what a hub has, as memories without secrets; what is none is left out."""
    from context_graph.memory.writing import redacted_node
    from context_graph.operations.context import Elsewhere
    from context_graph.sync import values

    made = []
    for row in rows:
        told_by = {"machine": row["machine"], "author": row["author"]}
        try:
            node = redacted_node(values.node_of(row["id"], row["values"], told_by), redactor)
            newer = UUID(row["superseded_by"]) if row["superseded_by"] else None
        except (ContextGraphError, ValueError):
            continue
        made.append(Elsewhere(node, row["project"], newer))
    return made


class Asking(_Process):
    """The process that asks."""

    def __init__(self, context: StoreContext) -> None:
        module = "context_graph.sync.hub.answering"
        super().__init__(context, module, str(context.folder), stdout=subprocess.PIPE)
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._waiting: dict[int, Question] = {}
        self._number = 0
        assert self._process.stdout is not None
        self._stdout = self._process.stdout
        os.set_blocking(self._stdout.fileno(), False)
        self._loop.add_reader(self._stdout.fileno(), self._hear)
        context.log.info("asks its hub: store=%s pid=%d", context.folder.name, self.pid)

    def ask(self, sought: Sought, then: Then, on_done: OnDone | None) -> Question:
        """Ask; ``then`` makes the answer of it, within QUESTION_S.

        Raises StoreBusyError: Too many wait already.
        """
        if len(self._waiting) >= _WAITING_MAX:
            raise StoreBusyError("the hub has not answered earlier questions; ask again in a few seconds")
        self._number += 1
        number = self._number
        question = Question(
            kind="question", state=JobState.RUNNING, stage="asking the hub", then=then, on_done=on_done
        )
        line = orjson.dumps({"number": number, **sought._asdict()}) + b"\n"
        self._waiting[number] = question
        self._loop.call_later(QUESTION_S, self._late, number)
        try:
            if os.write(self._stdin.fileno(), line) < len(line):
                raise BlockingIOError  # half a line: no other may follow it
        except OSError:
            self._loop.call_soon(self.leave)
        return question

    def _late(self, number: int) -> None:
        question = self._waiting.pop(number, None)
        if question is not None:
            question.answer((), f"the hub did not answer within {QUESTION_S:g} s")

    def _hear(self) -> None:
        try:
            data = os.read(self._stdout.fileno(), _READ_BYTES)
        except BlockingIOError:
            return
        self._buffer += data
        if not data or len(self._buffer) > _ANSWER_BYTES:
            self.leave()
            return
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(memoryview(self._buffer)[:end])
            del self._buffer[: end + 1]
            answered = orjson.loads(line)
            question = self._waiting.pop(answered["number"], None)
            if question is not None:
                question.answer(answered["matches"], answered["failed"])

    def leave(self) -> None:
        """End it; those that wait get an error."""
        self._loop.remove_reader(self._stdout.fileno())
        self._stdout.close()
        super().leave()
        waiting, self._waiting = self._waiting, {}
        for question in waiting.values():
            question.answer((), "the process that asks the hub ended")
