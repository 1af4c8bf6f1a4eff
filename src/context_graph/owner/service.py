"""Serves each verb: finds the store, runs the handler, turns errors into replies.

Socket, lock and the process's life are handled by other modules.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from asyncio import AbstractEventLoop, Handle
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from context_graph.config import Settings, load_settings
from context_graph.config.paths import check_root, is_account
from context_graph.config.settings import with_request_env
from context_graph.errors import (
    ContextGraphError,
    InvalidInputError,
    StoreError,
    TookTooLongError,
    UsageError,
)
from context_graph.git.moved import project_of
from context_graph.owner.chores import SetAside
from context_graph.owner.commands import hooks
from context_graph.owner.commands.call import Call
from context_graph.owner.consolidations.queue import Consolidations
from context_graph.owner.hub_processes import Exchanges
from context_graph.owner.jobs import Place
from context_graph.owner.sessions import log_reader
from context_graph.owner.sessions.hook_call import Gates
from context_graph.owner.sessions.store_context import StoreContext
from context_graph.owner.verbs import FIRST, Verb, others
from context_graph.redact import Redactor
from context_graph.store.engine.tuning import most_stores
from context_graph.system import watchdog
from context_graph.system.watchdog import Piece, TookTooLong
from context_graph.wire.frames import APPLIED, KEEP_IT, Reply, Request

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.owner.commands.memory import McpHost

_READS_S: Final = 0.25
"""How long a command has events applied that wait in the log, before its own answer; the rest follows it."""
_READS: Final = 64
"""Events that it has applied at least, however slow the machine is."""
_SLICE_S: Final = 0.01
"""How long requests wait for events that are applied between them."""
_DELAY_S: Final = 0.01
"""Seconds after which events are read that nobody asks about: their hooks have ended by then."""
_PRELOAD_AFTER_S: Final = 0.01
"""Behind a request that has come already."""


class OwnerService:
    """All verbs but `owner.*`, over at most ``settings.max_stores`` open stores. Single-threaded."""

    def __init__(self, root: Path, settings: Settings, log: logging.Logger, redactor: Redactor) -> None:
        self._root = root
        self._settings = settings
        self.log = log
        self._redactor = redactor
        self._stores: OrderedDict[Path, StoreContext] = OrderedDict()
        self._max_stores = min(settings.max_stores, most_stores(settings.max_clients))
        self._gates = Gates(root, log, redactor)
        self._mcp: McpHost | None = None
        self._loop: AbstractEventLoop | None = None
        self._settled: Callable[[], None] = self.settle
        self._reading: Handle | None = None
        self._unread: dict[Path, Path | None] = {}
        """Stores whose events wait, and which are not open, with their projects where those are known."""
        self.dreams = Consolidations(self, settings, log)
        self._exchanges = Exchanges(root, lambda context: self._stores.get(context.folder) is context, log)

    def begin(self, loop: AbstractEventLoop, settle: Callable[[], None]) -> None:
        """Start serving on ``loop``: the stores' own background work may begin. ``settle`` is called when
        events were applied that nobody asked about, and calls `settle`.
        """
        self._loop, self._settled = loop, settle
        self.dreams.begin(loop)
        self._exchanges.begin(loop)
        loop.call_later(_PRELOAD_AFTER_S, hooks.preload, self._root)

    def handle(self, request: Request) -> Reply:
        """Serve one request. A hook's failure says `keep it`, so that the launcher keeps the event.

        Raises ContextGraphError for every verb but the hooks', as the command would report it.
        """
        verb = FIRST.get(request.verb) or others().get(request.verb)
        if verb is None:
            raise UsageError(f"unknown verb {request.verb!r}; is the launcher of another version?")
        key = f"event:{request.event_id}" if verb.is_hook and request.event_id else ""
        piece = Piece(f"{request.verb} of a client", str(request.store or ""), key)
        try:
            return watchdog.run(piece, partial(self._handle, request, verb))
        except TookTooLong as ended:
            self.ended(request, ended)
            if key and ended.piece is piece and request.store is not None:
                self.aside_of(request.store).failed(key, f"a {request.verb}", ended.why)
            error = TookTooLongError(f"{ended}; log/owner.log in the data root has when")
            if verb.is_hook:
                return hooks.failure(request, error, self._gates, flags=KEEP_IT)
            raise error from None

    def ended(self, request: Request, ended: TookTooLong) -> None:
        """Drop a store after a call was ended: its state in memory may be half done."""
        self.log.error("%s: %s", request.verb, ended)
        self._gates.forget()
        self.drop_store(request)

    def _handle(self, request: Request, verb: Verb) -> Reply:
        if verb.wants_memory:
            self.dreams.query()
        elif verb.is_hook:
            self.dreams.activity()
        if not verb.is_hook:
            return self._noted(request, verb.handler(self._call(request, verb)))
        if request.verb == "hooks.session-end" and request.store is not None:
            self.dreams.session_ended(request.store, request.parent_pid)
        try:
            return verb.handler(self._call(request, verb))
        except StoreError as error:
            self.log.error("%s: %s", request.verb, error)
            self.drop_store(request)
            return hooks.failure(request, error, self._gates, flags=KEEP_IT)
        except ContextGraphError as error:
            return hooks.failure(request, error, self._gates, flags=APPLIED)

    def _noted(self, request: Request, answer: Reply) -> Reply:
        """Return the answer, with what it does not know yet."""
        context = self._stores.get(request.store) if request.store is not None else None
        if context is not None:
            context.memory_hooks.note_stored()
        waiting = self.waiting(request)
        if not waiting:
            return answer
        text = f"context-graph: {waiting} events are being applied; this answer does not know them yet\n"
        return replace(answer, stderr=text.encode() + answer.stderr)

    def mcp_host(self) -> McpHost:
        """Return the MCP host; made, and its modules imported, for the first client."""
        if self._mcp is None:
            from context_graph.owner.commands.memory import McpHost

            self._mcp = McpHost(self._root, self, self._settings)
        return self._mcp

    def open_store(self, request: Request) -> StoreContext:
        """Return the store of ``request``, with the events that waited applied, or the first of many."""
        context = self._context(request)
        if request.verb.startswith("hooks."):  # it reads as far as its own event
            self._read_on()
            return context
        try:
            if context.events.read(_READS_S, least=_READS):
                self._read_on()
        except BaseException:  # its memory is ahead of the disk
            self.drop(context.folder)
            raise
        return context

    def woken(self, stores: Iterable[tuple[Path, Path | None]], *, everywhere: bool) -> None:
        """Have the events of some stores applied, each named with its project, or those of all."""
        self.dreams.activity()  # somebody is at work, though nobody waits for an answer
        for folder, project in stores:
            if folder not in self._stores and folder not in self._unread:
                self._unread[folder] = project
        if everywhere:
            self.catch_up()
        self._read_on(_DELAY_S)

    def _read_on(self, delay_s: float = 0.0) -> None:
        if self._loop is not None and self._reading is None:
            self._reading = self._loop.call_later(delay_s, self._read_slice)

    def _read_slice(self) -> None:
        """Apply some of the events that wait, then let requests have their turn."""
        self._reading = None
        open_stores = [context for context in self._stores.values() if log_reader.has_waiting(context.folder)]
        more = [context for context in open_stores if self._read_some(context)]
        while self._unread and not more:
            folder = next(iter(self._unread))
            project = self._unread.pop(folder) or project_of(folder)
            if folder not in self._stores:
                more = [context for context in (self._opened(folder, project),) if context is not None]
        if more:
            self._read_on()
        else:
            self._settled()

    def _read_some(self, context: StoreContext) -> bool:
        """Return whether events of the store still wait; after a failure not until it is asked for again."""
        try:
            what = "applying events that wait"
            return watchdog.run(Piece(what, str(context.folder)), partial(context.events.read, _SLICE_S))
        except (ContextGraphError, OSError, MemoryError) as error:
            self.log.error("events of %s: %s", context.folder.name, error)
        except TookTooLong as ended:
            self.log.error("events of %s: %s", context.folder.name, ended)
            self._unread[context.folder] = context.project
        self.drop(context.folder)
        return False

    def _opened(self, folder: Path, project: Path | None) -> StoreContext | None:
        """Return a store whose events wait."""
        try:
            piece = Piece("opening a store to apply its events", str(folder))
            return watchdog.run(piece, lambda: self._open(folder, project))
        except (ContextGraphError, OSError, TookTooLong) as error:
            self.log.error("events of %s: %s", folder.name, error)
        return None

    def waiting(self, request: Request) -> int:
        """Events of the request's store that wait, while they are being applied."""
        context = self._stores.get(request.store) if request.store is not None and self._reading else None
        return context.events.waiting if context is not None else 0

    def drop_store(self, request: Request) -> None:
        """Drop the in-memory state of a store that failed; it is read again from the disk."""
        if request.store is not None:
            self.drop(self._canonical(request.store))

    def clean_id(self, text: str | None) -> str | None:
        """Return ``text`` with everything removed that can only be a key, so that it may be written down."""
        return self._redactor.redact_id(text) if text else text

    def problems(self) -> list[str]:
        """Problems with settings that a user should know."""
        return list(self._settings.problems)

    def settle(self) -> None:
        """Finish what the last requests left for after their answers."""
        for context in list(self._stores.values()):
            if self._stores.get(context.folder) is not context:  # closed to make room meanwhile
                continue
            if context.has_unsettled:
                # One that fails reads its sessions again; the other stores have theirs written.
                self._limited(context, "saving what the last calls did", context.settle)
            self._exchanges.look(context)
        self.dreams.look()

    def _limited(self, context: StoreContext, what: str, work: Callable[[], None]) -> StoreError | None:
        """Run ``work`` of an open store with a time limit; returns what went wrong. A store whose work was
        ended is dropped: the next request rebuilds it from the disk.
        """
        try:
            watchdog.run(Piece(what, str(context.folder)), work)
        except StoreError as error:
            self.log.error("store %s: %s", context.folder.name, error)
            return error
        except TookTooLong as ended:
            self.log.error("store %s: %s", context.folder.name, ended)
            self.drop(context.folder)
        return None

    def stats(self) -> dict[str, object]:
        """Counts for `owner status`."""
        contexts, folders = list(self._stores.values()), sorted({*self._stores, *self._folders()})
        return {
            "stores": len(contexts),
            "sessions": sum(len(context.sessions) for context in contexts),
            "memory": self._memory_stats(contexts),
            "dreams": self.dreams.view(),
            "events_waiting": sum(map(self._waiting_in, folders)),
            "events_rejected": sum(context.events.rejected for context in contexts),
            "events_shut": [text for context in contexts for text in context.events.shut],
            "set_aside": [row for folder in folders for row in self._aside_rows(folder)],
            "redaction_rules": self._redactor.rule_count,
            "settings_problems": self.problems(),
        }

    def _waiting_in(self, folder: Path) -> int:
        context = self._stores.get(folder)
        return log_reader.count_waiting(folder) if context is None else context.events.waiting

    @staticmethod
    def _memory_stats(contexts: list[StoreContext]) -> dict[str, int]:
        totals = Counter(memories=0, injections=0, used=0, captures_due=0)
        for context in contexts:
            stats = context.memory_hooks.stats()
            totals.update({name: stats[name] for name in totals if name in stats})
            totals["memories"] += context.memory_count()
        return dict(totals)

    @property
    def has_work(self) -> bool:
        """Whether `tidy` has anything to do."""
        return any(context.memory_hooks.has_work for context in self._stores.values())

    def tidy(self) -> bool:
        """Do what can wait for a quiet moment: refresh captured sessions, write the injection ledger. Returns
        whether something was ended, so that there may be more to do: after others have had their turn.
        """
        if self.dreams.finishing:
            return False  # it would wait for the memory, and hooks behind it: `dreams` calls again
        again = False
        for context in list(self._stores.values()):
            if self._stores.get(context.folder) is not context:  # closed to make room for a user's own
                continue
            try:
                context.memory_hooks.tidy()
            except TookTooLong:
                again = True
                self.drop(context.folder)
                with contextlib.suppress(ContextGraphError):  # whoever asks for it next is told
                    self._open(context.folder, context.project)
        return again

    def retry(self) -> list[dict[str, object]]:
        """Retry all work that was set aside; returns it."""
        released = []
        for folder in sorted({*self._stores, *self._folders()}):
            there = self._aside_rows(folder)
            self.aside_of(folder).release()
            if log_reader.put_back(folder) or there:
                self.drop(folder, write=True)  # opened again, it finds what it owes
                released += there
        self.catch_up()
        return released

    def aside_of(self, folder: Path) -> SetAside:
        """Return the set-aside work of the store in ``folder``, open or not."""
        context = self._stores.get(folder)
        return context.chores.aside if context is not None else SetAside(folder, self.log)

    def _aside_rows(self, folder: Path) -> list[dict[str, object]]:
        project = str(project_of(folder) or "")
        return [{"store": folder.name, "project": project, **row} for row in self.aside_of(folder).rows()]

    def catch_up(self) -> None:
        """Have the events below the root applied: a session's last hook may have found no owner."""
        waiting = [folder for folder in self._folders() if log_reader.has_waiting(folder)]
        self._unread.update(dict.fromkeys(folder for folder in waiting if folder not in self._stores))
        self._read_on()

    @property
    def busy(self) -> bool:
        """Whether an owner without clients should stay."""
        return self.dreams.busy or self._reading is not None

    def leave(self) -> None:
        """End what goes on in the background before the owner leaves."""
        if self._reading is not None:
            self._reading.cancel()
        self.dreams.stop()

    def open_place(self, place: Place) -> StoreContext:
        """Return the store of ``place``, opened if it is not; unlike `open_store` not for a request."""
        return self._stores.get(place.store) or self._open(place.store, place.project)

    def contexts(self) -> Collection[StoreContext]:
        """Return the stores that are open."""
        return self._stores.values()

    def checkpoint(self) -> None:
        """Write every session's goals, so that the next owner replays nothing; raises as `close`."""
        what = "saving what is in memory before it stops"
        for failed in [
            self._limited(context, what, context.checkpoint) for context in list(self._stores.values())
        ]:
            if failed is not None:
                raise failed

    def close(self) -> None:
        """Close every store, also when one of them can't be closed well. Safe to call twice.

        Raises StoreError: The last that went wrong.
        """
        failed: StoreError | None = None
        while self._stores:
            _, context = self._stores.popitem()
            try:
                context.close()
            except StoreError as error:
                context.abandon()
                failed = error
            except TookTooLong:
                context.abandon()
        if failed is not None:
            raise failed

    def _call(self, request: Request, verb: Verb) -> Call:
        context = self.open_store(request) if verb.needs_store else None
        settings = self._settings if context is None else context.settings
        return Call(
            request=request,
            store=context,
            settings=with_request_env(settings, request.env),
            redactor=self._redactor,
            gates=self._gates,
            service=self,
            began_ms=time.time_ns() // 1_000_000,
        )

    def _context(self, request: Request) -> StoreContext:
        store = request.store
        if store is None or not store.is_absolute():
            raise InvalidInputError("the request names no store; field 5 must be an absolute path")
        store = self._canonical(store)
        context = self._stores.get(store) or self._open(store, request.project)
        self._stores.move_to_end(store)
        return context

    def _canonical(self, store: Path) -> Path:
        """Return the one path of a store that can be spelled in several ways: RocksDB opens it once."""
        if store in self._stores:
            return store
        real = os.path.realpath(store)
        for known in self._stores:
            if os.path.realpath(known) == real:
                return known
        return store

    def drop(self, folder: Path, *, write: bool = False) -> None:
        """Drop the in-memory state of the store in ``folder``; ``write`` saves it first."""
        context = self._stores.pop(folder, None)
        if context is not None and write:
            self._let_go(context)
        elif context is not None:
            context.abandon()

    def _open(self, store: Path, project: Path | None) -> StoreContext:
        check_root(self._root, store, project)
        settings = load_settings(project) if project else self._settings
        while len(self._stores) >= self._max_stores:  # before: the descriptors may not do for both
            _, oldest = self._stores.popitem(last=False)
            self._let_go(oldest)
        context = self._stores[store] = StoreContext(
            store,
            project=project,
            settings=settings,
            log=self.log,
            redactor=self._redactor,
            users=partial(self._users, store),
        )
        self.dreams.opened(store)
        return context

    def _users(self, of: Path, account: str, make: bool) -> Memex | None:
        """Return the memory of what an account's user said of all his work, for the store ``of``, which stays
        open.

        None where there is none, unless it is to be made, or it can't be opened, and where no more than one
        may be open. Raises StoreError where it can't be made.
        """
        if not is_account(account) or self._max_stores == 1:  # one beside the project's
            return None
        if not (make or os.path.isdir(f"{self._root}/stores/{account}")):
            return None
        folder = self._root / "stores" / account
        if folder == of:
            return None
        if of in self._stores:
            self._stores.move_to_end(of)
        try:
            return (self._stores.get(folder) or self._open(folder, None)).memory
        except StoreError as error:
            self.log.error("store %s: %s", account, error)
            if make:
                raise
            return None

    def _let_go(self, context: StoreContext) -> None:
        """Close a store to make room; its errors must not affect the store that needs it."""
        try:
            context.checkpoint()
            context.close()
        except (StoreError, TookTooLong) as error:
            self.log.error("closing %s: %s", context.folder.name, error)
            context.abandon()

    def _folders(self) -> list[Path]:
        try:
            return sorted(path for path in (self._root / "stores").iterdir() if path.is_dir())
        except FileNotFoundError:
            return []


def build_service(root: Path, settings: Settings, log: logging.Logger) -> OwnerService:
    """Return the service of one owner process."""
    for problem in settings.problems:
        log.warning("%s", problem)
    return OwnerService(root, settings, log, Redactor())
