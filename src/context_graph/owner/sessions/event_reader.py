"""Applies the events that hooks appended to one store's log: many as one batch, each once, in their order.

What an event led to is kept for a while, for the hook that asks for the answer. An event that can't be
applied is kept aside, so that those behind it do not wait for ever.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import orjson

from context_graph.claude.hooks.hook_input import HookInput
from context_graph.claude.hosts.translate import CLIENT_FORMATS
from context_graph.errors import (
    ContextGraphError,
    CorruptedIdentityError,
    SessionNotFoundError,
    UsageError,
    WireError,
)
from context_graph.model import EventKind, HookEvent, cut_session_id
from context_graph.owner.chores import TRIES
from context_graph.owner.sessions import log_reader
from context_graph.owner.sessions.hook_call import entries_of, event_of, input_of_request
from context_graph.owner.sessions.log_reader import LoggedEvent, LogReader
from context_graph.system import watchdog
from context_graph.system.processes import arguments, client_pid
from context_graph.system.watchdog import Piece, TookTooLong
from context_graph.wire.frames import Request

if TYPE_CHECKING:
    import logging
    from pathlib import Path

    from context_graph.config import Settings
    from context_graph.owner.chores import Chores
    from context_graph.owner.sessions.identity_notices import IdentityNotices
    from context_graph.owner.sessions.live_sessions import Applied, LiveSessions
    from context_graph.owner.sessions.memory_hooks import MemoryHooks
    from context_graph.owner.sessions.next_start import NextStart
    from context_graph.redact import TextRedactor
    from context_graph.store.sessions.sessions import SessionStore


_SLICE: Final = 64
"""Events that are made durable together."""
_SETTLED: Final = 440
"""Events after which their sessions are written: fewer than a session keeps for that."""
_KEPT: Final = 256
"""Events whose outcome is kept: an answer is asked for at once, or never."""
_PARENT_MS: Final = 60_000
"""How long a process id identifies a client: later another process may have it."""
_TASK_CHARS: Final = 4096
"""Characters that are kept of a subagent's task, which is a query for memories."""


Outcome: TypeAlias = "tuple[HookEvent, Applied]"
"""An event as it was kept, and what it led to."""


class OpenStore(Protocol):
    """What events are applied to."""

    folder: Path
    store: SessionStore
    settings: Settings
    log: logging.Logger
    redactor: TextRedactor
    chores: Chores
    sessions: LiveSessions
    memory_hooks: MemoryHooks
    next_start: NextStart
    lineage: Lineage
    notices: IdentityNotices

    def has_session(self, session_id: str) -> bool:
        """Return whether the store knows the session."""
        ...

    def note_tool_use(self, event: HookEvent) -> None:
        """Remember whose call of an MCP tool this is."""
        ...


class EventReader:
    """Reads the log of ``context``'s store. Not thread-safe.

    Raises OSError if the store must survive a power failure and hooks can't learn of it.
    """

    def __init__(self, context: OpenStore) -> None:
        self._context = context
        self._folder = context.folder
        self.rejected = 0
        self.ended: list[int] = []
        """The client processes whose sessions have ended since the last call."""
        self._asked = ""
        self._outcomes: OrderedDict[str, Outcome | ContextGraphError] = OrderedDict()
        self._unsettled = 0
        self._said: list[str] = []
        self._has_stored = False
        """Whether the position was stored since then: what came before may have been kept twice."""
        log_reader.mark_power(self._folder, power=context.settings.durability == "power")
        self._log = LogReader(self._folder, log_reader.Position(*context.store.event_log.position()))

    @property
    def waiting(self) -> int:
        """Events that are not applied yet."""
        return log_reader.count_waiting(self._folder, self._log.position)

    @property
    def shut(self) -> list[str]:
        """The segments that can't be read, and why."""
        return self._log.shut

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()

    def read(self, seconds: float, *, least: int = 1) -> bool:
        """Apply what waits, for so long and at least so many; whether more may wait. Cheap where nothing is.

        Raises StoreError, OSError, MemoryError, TookTooLong: the store must be dropped, for its memory is
        ahead of the disk. What was not stored is read again.
        """
        return self._read(time.monotonic() + seconds, least)

    def outcome(self, request: Request, seconds: float) -> Outcome | None:
        """Return a hook's event and what it led to; None if those before it and it take longer.

        One that is in no log is applied all the same. Raises as `read`, and the error that the event met.
        """
        self._asked = request.event_id
        try:
            is_there = request.event_id in self._outcomes
            if not is_there and not self._read(time.monotonic() + seconds, 1):
                with self._context.store.engine.together():
                    self._apply_hook(request)
        finally:
            self._asked = ""
        outcome = self._outcomes.pop(request.event_id, None)
        if isinstance(outcome, ContextGraphError):
            raise outcome
        return outcome

    def _read(self, until: float, least: int) -> bool:
        if not log_reader.has_waiting(self._folder):
            return False
        count = 0
        while (some := self._read_slice(until, least - count)) or self._log.advance():
            count += some
            if self._asked in self._outcomes:
                return True
            if some and count >= least and time.monotonic() >= until:
                return True
        if self._log.shut != self._said:  # once, not at each request
            self._said = self._log.shut
            reason = "; ".join(self._said) or "all segments can be read again"
            self._context.log.error("events of %s: %s", self._folder.name, reason)
        return False

    def _read_slice(self, until: float, least: int) -> int:
        """Apply some events and store the position behind them, as one batch; how many."""
        piece = Piece("applying events that wait", str(self._folder))
        try:
            count = watchdog.run(piece, partial(self._apply_some, piece, until, least))
        except TookTooLong as ended:
            if ended.piece is piece and not ended.asked and piece.key:
                self._context.chores.aside.failed(piece.key, piece.what, ended.why)
            raise
        self._has_stored |= count > 0
        return count

    def _apply_some(self, piece: Piece, until: float, least: int) -> int:
        count, context = 0, self._context
        with context.store.engine.together():
            while count < _SLICE and (line := self._log.next_line()) is not None:
                self._take(line, piece)
                context.store.event_log.put_position(*self._log.position)
                count += 1
                if self._asked in self._outcomes or (count >= least and time.monotonic() >= until):
                    break
            watchdog.turn(piece, "storing what events did", "")
            self._unsettled += count
            if self._unsettled >= _SETTLED:
                context.sessions.settle()
                self._unsettled = 0
        return count

    def _take(self, line: bytes, piece: Piece) -> None:
        """Apply one line, or keep it if it can't be."""
        aside, event = self._context.chores.aside, None
        try:
            event = log_reader.decode_line(line)
            key, what = f"event:{event.id}", f"the logged {event.verb} of session {event.session}"
            if aside.holds(key):
                self._set_aside(line)
                return
            watchdog.turn(piece, what, key)
            self._apply(event)
        except (UsageError, WireError, CorruptedIdentityError, SessionNotFoundError) as error:
            self._reject(line, event, error)
        except (ContextGraphError, OSError, MemoryError):
            raise
        except Exception as error:  # a bug that this line meets
            self._context.log.exception("%s", what)
            aside.failed(key, what, f"{type(error).__name__}: {error}", weight=TRIES)
            self._set_aside(line)
        else:
            aside.succeeded(key)

    def _reject(self, line: bytes, event: LoggedEvent | None, error: ContextGraphError) -> None:
        if event is not None:
            self._note(event.id, error)
        if event is not None and event.id == self._asked:  # whoever sent it is told
            return
        log_reader.keep_rejected(self._folder, line, repeated=not self._has_stored)
        self.rejected += 1
        self._context.log.warning("events of %s: rejected: %s", self._folder.name, error)

    def _set_aside(self, line: bytes) -> None:
        log_reader.keep_aside(self._folder, line)
        self._context.log.warning("events of %s: one is set aside", self._folder.name)

    def _note(self, event_id: str, outcome: Outcome | ContextGraphError) -> None:
        self._outcomes[event_id] = outcome
        if len(self._outcomes) > _KEPT:
            self._outcomes.popitem(last=False)

    def _apply(self, record: LoggedEvent) -> None:
        context = self._context
        if record.verb == "start.told":
            session_id = context.redactor.redact_id(str((record.body or {}).get("session_id", "")))
            context.next_start.was_told(cut_session_id(session_id), record.at_ms)
            return
        if record.verb == "req.record":
            records = (record.body or {}).get("records")
            common = {"at_ms": record.at_ms, "session_id": record.session}
            context.store.requirement_log.append(
                entries_of(records, common, context.redactor), once=record.id
            )
            return
        body = b"" if record.body is None else orjson.dumps(record.body)
        is_fresh = time.time_ns() // 1_000_000 - record.at_ms < _PARENT_MS
        session_id = self._apply_hook(
            Request(
                *(record.verb, record.id, record.params, body),
                session_env=record.session,
                env={"CLAUDE_CONFIG_DIR": record.account} if record.account else {},
                at_ms=record.at_ms,
                parent_pid=record.parent if is_fresh else 0,
            )
        )
        if record.branch is not None:
            context.memory_hooks.works.branches[session_id] = record.branch

    def _apply_hook(self, request: Request) -> str:
        """Return the session's id."""
        hook_input = input_of_request(request)
        event = event_of(request, hook_input, self._context.redactor)
        self._note(request.event_id, (event, self._applied(request, hook_input, event)))
        return event.session_id

    def _applied(self, request: Request, hook_input: HookInput, event: HookEvent) -> Applied:
        context = self._context
        if event.kind is EventKind.SESSION_START:
            context.lineage.starts(event, request.parent_pid, context.has_session)
            return context.sessions.start(event)
        is_client = request.params.get("format") in CLIENT_FORMATS
        if not is_client and not (event.is_canary or context.has_session(event.session_id)):
            raise SessionNotFoundError(
                f"session not found: {event.session_id!r}; "
                "begin it with `hooks session-start` in this project"
            )
        if event.kind is EventKind.SESSION_END:
            self.ended.append(request.parent_pid)
        applied = context.sessions.apply(event)
        context.note_tool_use(event)
        self._note_task(hook_input.tool_input, event)
        if is_client and not applied.is_duplicate:
            context.notices.note(applied, event)
        return applied

    def _note_task(self, tool_input: object, event: HookEvent) -> None:
        """Keep what a subagent is to do until it begins: its start does not say."""
        if event.kind is EventKind.PRE_TOOL and event.is_delegated and not event.agent_id:
            if not isinstance(tool_input, dict):
                return
            text = "\n".join(str(tool_input.get(name) or "") for name in ("description", "prompt"))
            task = self._context.redactor.redact_cut(text[:_TASK_CHARS], _TASK_CHARS)
            self._context.lineage.delegates(event, str(tool_input.get("subagent_type") or ""), task)


_SESSIONS: Final = 64
_TASKS: Final = 32
_CLIENTS: Final = 64
_ARGUMENT_BYTES: Final = 1 << 16
_RESUMES: Final = ("--resume", "-r")


@dataclass(frozen=True, slots=True)
class _Task:
    tool_use_id: str
    prompt_id: str
    agent_type: str
    text: str


class Lineage:
    """What the client tells only in part: a subagent's task, and the session that a fork was made from.

    SubagentStart names the agent's kind and not its task, which was in the call that had it work. A fork's
    start names no parent: it is the session that the same client had before, or the one that the client was
    told to resume.

    Of one store's sessions. In memory only: an owner that was replaced meanwhile brings a subagent
    nothing, and a fork then follows the session that its client was told to resume, or the latest."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, list[_Task]] = OrderedDict()
        self._by_client: OrderedDict[int, str] = OrderedDict()

    def delegates(self, event: HookEvent, agent_type: str, text: str) -> None:
        """Note a call that has a subagent work; ``text`` is its task, redacted."""
        tasks = [
            task for task in self._tasks.pop(event.session_id, []) if task.tool_use_id != event.tool_use_id
        ]
        tasks.append(_Task(event.tool_use_id, event.prompt_id, agent_type, text))
        self._tasks[event.session_id] = tasks[-_TASKS:]
        while len(self._tasks) > _SESSIONS:
            self._tasks.popitem(last=False)

    def task_of(self, event: HookEvent, agent_type: str) -> str:
        """Return the task of the subagent that begins: the oldest of its kind under the same prompt that none
        has taken. "" if there is none."""
        tasks = self._tasks.get(event.session_id, [])
        for task in tasks:
            if task.prompt_id == event.prompt_id and agent_type in (task.agent_type or agent_type, ""):
                tasks.remove(task)
                return task.text
        return ""

    def starts(self, event: HookEvent, parent: int, is_known: Callable[[str], bool]) -> None:
        """Note a session's start; a fork continues the session that it was made from, where ``is_known`` has
        it.

        ``parent`` is the process that started the hook's.
        """
        client = client_pid(parent)
        if event.source == "fork" and not event.previous_session_id:
            before = cut_session_id(self.forked_from(client))
            if before and before != event.session_id and is_known(before):
                event.previous_session_id = before
        self.began(event.session_id, client)

    def began(self, session_id: str, client: int) -> None:
        """Note that a session began in the client's process ``client``; 0 is no process."""
        if client > 0:
            self._by_client.pop(client, None)
            self._by_client[client] = session_id
            while len(self._by_client) > _CLIENTS:
                self._by_client.popitem(last=False)

    def forked_from(self, client: int) -> str:
        """Return the session that a fork in this client came from, "" if unknown. Cost: a read of /proc."""
        return self._by_client.get(client) or _resumed(client)


def _resumed(client: int) -> str:
    """Return the session that the client was started to resume."""
    words = arguments(client) if client > 0 else []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in _RESUMES:
            return value if equals else following
    return ""
