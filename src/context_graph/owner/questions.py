"""Asks a store's hub for what was not pulled, by a process beside the owner: the owner speaks to no network.

The process is started for the first question and kept for the next ones (`sync.hub.answering`). A question is
answered within QUESTION_S, or told that it was not; no hook asks any.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final
from uuid import UUID

import orjson

from context_graph.errors import ConfigError, ContextGraphError, InvalidParamsError, StoreBusyError
from context_graph.memory.elsewhere import Sought
from context_graph.memory.writing import redacted_node
from context_graph.operations.context import Elsewhere
from context_graph.owner.jobs import JobState, LongWork, OnDone
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.redact import TextRedactor
from context_graph.sync import values
from context_graph.sync.hub import FILE

QUESTION_S: Final = 2.0
"""Seconds between a question and its answer, the start of the process included."""
_WAITING_MAX: Final = 8
_ANSWER_BYTES: Final = 32 << 20
_READ_BYTES: Final = 1 << 20
_GONE_S: Final = 1.0

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

    Raises:
        InvalidParamsError: The project has joined no hub.
        ConfigError: psycopg is missing, or no process can be started.
    """
    if not os.path.exists(context.folder / FILE):
        raise InvalidParamsError.of("scope", "is team, but this project has joined no hub (`hub join` does)")
    for follower in context.followers:
        if isinstance(follower, Asking):
            return follower
    if find_spec("psycopg") is None:
        raise ConfigError("a hub needs psycopg: install context-graph-core[hub]")
    made = Asking(context)
    context.followers.add(made)
    return made


def elsewhere(rows: Iterable[Mapping[str, Any]], redactor: TextRedactor) -> list[Elsewhere]:
    """Return what a hub has, as memories without secrets; what is none is left out."""
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


class Asking:
    """The process of one store; a follower of it, so that it goes when the store is closed."""

    def __init__(self, context: StoreContext) -> None:
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._waiting: dict[int, Question] = {}
        self._number = 0
        words = [sys.executable, "-P", "-m", "context_graph.sync.hub.answering", str(context.folder)]
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise ConfigError(f"no process to ask the hub: {error.strerror}") from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        for pipe in (self._stdin, self._stdout):
            os.set_blocking(pipe.fileno(), False)
        self._loop.add_reader(self._stdout.fileno(), self._hear)
        context.log.info("asks its hub: store=%s pid=%d", context.folder.name, self._process.pid)

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

    def look(self) -> None:
        """Nothing: what changes in the store is not asked."""

    def leave(self) -> None:
        """End the process; those that wait get an error."""
        self._context.followers.discard(self)
        self._loop.remove_reader(self._stdout.fileno())
        for pipe in (self._stdin, self._stdout):
            pipe.close()
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GONE_S)
        waiting, self._waiting = self._waiting, {}
        for question in waiting.values():
            question.answer((), "the process that asks the hub ended")
