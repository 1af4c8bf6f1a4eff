"""What the owner does for each verb: finds the store, runs the handler, turns errors into replies.

The socket, the lock and the process's life are other modules' business; this one never sees them.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from asyncio import AbstractEventLoop
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from context_graph import watchdog
from context_graph.config import Settings, load_settings
from context_graph.config.settings import with_request_env
from context_graph.errors import (
    ContextGraphError,
    InvalidInputError,
    StoreError,
    TookTooLongError,
    UsageError,
)
from context_graph.owner import (
    backup_commands,
    consciousness_commands,
    doctor_commands,
    dream_commands,
    hook_commands,
    memory_commands,
    req_commands,
    session_commands,
    spool,
)
from context_graph.owner.call import Call
from context_graph.owner.dream_jobs import Place
from context_graph.owner.dreams import Dreams
from context_graph.owner.gate_hooks import Gates
from context_graph.owner.set_aside import SetAside
from context_graph.owner.store_context import StoreContext, project_of
from context_graph.redact import TextRedactor, load_redactor
from context_graph.store.tuning import most_stores
from context_graph.watchdog import Piece, TookTooLong
from context_graph.wire.frames import APPLIED, SPOOL_IT, Reply, Request

if TYPE_CHECKING:
    from context_graph.mcp_server.endpoint import Endpoint
    from context_graph.owner.mcp_host import McpHost

__all__ = ["OwnerService", "build_service"]

Handler = Callable[[Call], Reply]
_QUERIES = ("memory.", "hooks.prompt-submit", "hooks.session-start")
"""Verbs that want the memories: a consolidation of the owner's own gives way to them."""

_HANDLERS: dict[str, Handler] = {
    **hook_commands.HANDLERS,
    **session_commands.HANDLERS,
    **consciousness_commands.HANDLERS,
    **memory_commands.HANDLERS,
    **dream_commands.HANDLERS,
    **req_commands.HANDLERS,
    **doctor_commands.HANDLERS,
    **backup_commands.HANDLERS,
}


_NO_QUERIES = frozenset(
    (
        *("memory.consolidate", "memory.consolidate.status", "memory.consolidate.cancel"),
        *("memory.stats", "memory.runs", "memory.goals"),
    )
)
"""But for these, which begin one or look at one: watching must not keep it from happening."""


class OwnerService:
    """All verbs but `owner.*`, over at most ``settings.max_stores`` open stores. Single-threaded."""

    def __init__(self, root: Path, settings: Settings, log: logging.Logger, redactor: TextRedactor) -> None:
        self._root = root
        self._settings = settings
        self._log = log
        self._redactor = redactor
        self._stores: OrderedDict[Path, StoreContext] = OrderedDict()
        self._max_stores = min(settings.max_stores, most_stores(settings.max_clients))
        self._gates = Gates(root, log, redactor)
        self._mcp: McpHost | None = None
        self.dreams = Dreams(self, settings, log)

    def begin(self, loop: AbstractEventLoop) -> None:
        """The owner serves from now on, on ``loop``: what the stores want by themselves may begin."""
        self.dreams.begin(loop)

    def handle(self, request: Request) -> Reply:
        """Serve one request. A hook's failure says `spool it`, so that the launcher keeps the event.

        Raises:
            ContextGraphError: For every verb but the hooks', as the command would report it.
        """
        is_hook = request.verb.startswith("hooks.")
        key = f"event:{request.event_id}" if is_hook and request.event_id else ""
        piece = Piece(f"{request.verb} of a client", str(request.store or ""), key)
        try:
            return watchdog.run(piece, lambda: self._handle(request))
        except TookTooLong as ended:
            self.ended(request, ended)
            if key and ended.piece is piece and request.store is not None:
                self.aside_of(request.store).failed(key, f"a {request.verb}", ended.why)
            error = TookTooLongError(f"{ended}; log/owner.log in the data root has when")
            if is_hook:
                return hook_commands.failure(request, error, flags=SPOOL_IT)
            raise error from None

    def ended(self, request: Request, ended: TookTooLong) -> None:
        """A call was ended: what is in memory of its store may be half done."""
        self._log.error("%s: %s", request.verb, ended)
        self._gates.forget()
        self.drop_store(request)

    def _handle(self, request: Request) -> Reply:
        if request.verb == "req.statusline":
            return self._gates.status_line(request)
        handler = _HANDLERS.get(request.verb)
        if handler is None:
            raise UsageError(f"unknown verb {request.verb!r}; is the launcher of another version?")
        if request.verb.startswith(_QUERIES) and request.verb not in _NO_QUERIES:
            self.dreams.query()
        elif request.verb.startswith("hooks."):
            self.dreams.activity()
        if not request.verb.startswith("hooks."):
            return handler(self._call(request))
        if request.verb == "hooks.session-end" and request.store is not None:
            self.dreams.session_ended(request.store, request.parent_pid)
        try:
            return handler(self._call(request))
        except StoreError as error:
            self._log.error("%s: %s", request.verb, error)
            self.drop_store(request)
            return hook_commands.failure(request, error, flags=SPOOL_IT)
        except ContextGraphError as error:
            return hook_commands.failure(request, error, flags=APPLIED)

    def endpoint(self, request: Request) -> Endpoint:
        """The MCP conversation of a client that attaches."""
        return self.mcp_host().endpoint(request)

    def endpoint_of(self, pid: int) -> Endpoint:
        """The MCP conversation of a client of which only the process is known."""
        return self.mcp_host().endpoint_of(pid)

    def mcp_host(self) -> McpHost:
        """What serves MCP; made, and its modules imported, when the first client wants it."""
        if self._mcp is None:
            from context_graph.owner.mcp_host import McpHost

            self._mcp = McpHost(self._root, self, self._settings, self._log)
        return self._mcp

    def open_store(self, request: Request) -> StoreContext:
        """The store that ``request`` names, opened, with its spool drained."""
        context = self._context(request)
        context.drain_spool()
        return context

    def drop_store(self, request: Request) -> None:
        """Drop what is in memory of a store that failed: the disk is the truth, and it is read again."""
        if request.store is not None:
            self._drop(self._canonical(request.store))

    def clean_id(self, text: str | None) -> str | None:
        """``text`` without what can be nothing but a key: it may be written down."""
        return self._redactor.redact_id(text) if text else text

    def problems(self) -> list[str]:
        """What a user should know of settings and redaction."""
        return [*self._settings.problems, *self._redactor.problems]

    def settle(self) -> None:
        """Finish what the last requests left for after their answers."""
        for context in list(self._stores.values()):
            piece = Piece("writing down what the last calls did", str(context.folder))
            try:
                watchdog.run(piece, context.settle)
            except StoreError as error:  # its sessions are read again; the other stores have theirs written
                self._log.error("store %s: %s", context.folder.name, error)
            except TookTooLong as ended:
                self._log.error("store %s: %s", context.folder.name, ended)
                self._drop(context.folder)
        self.dreams.look()

    def stats(self) -> dict[str, object]:
        """Counts for `owner status`."""
        contexts = list(self._stores.values())
        folders = {*self._stores, *self._folders()}
        waiting = sum(spool.pending(folder) for folder in folders)
        return {
            "stores": len(contexts),
            "sessions": sum(len(context.sessions) for context in contexts),
            "memory": self._memory_stats(contexts),
            "dreams": self.dreams.view(),
            "spool_pending": waiting,
            "spool_rejected": sum(context.spool_rejected for context in contexts),
            "spool_shut": [text for folder in sorted(folders) for text in spool.shut(folder)],
            "set_aside": [row for folder in sorted(folders) for row in self._aside_rows(folder)],
            "redaction_rules": self._redactor.rule_count,
            "redaction_problems": list(self._redactor.problems),
            "settings_problems": list(self._settings.problems),
        }

    @staticmethod
    def _memory_stats(contexts: list[StoreContext]) -> dict[str, int]:
        """Of the open stores together: memories, injections of them, how many were used, captures due."""
        found = Counter(memories=0, injections=0, used=0, captures_due=0)
        for context in contexts:
            stats = context.memory_hooks.stats()
            found.update({name: stats[name] for name in found if name in stats})
            found["memories"] += context.memory_count()
        return dict(found)

    @property
    def has_work(self) -> bool:
        """Whether `tidy` has anything to do."""
        return any(context.memory_hooks.has_work for context in self._stores.values())

    def tidy(self) -> bool:
        """Do what can wait for a quiet moment: refresh captured sessions, write the injection ledger.

        Returns:
            Whether something was ended, so that there may be more to do: after others have had their turn.
        """
        if self.dreams.finishing:
            return False  # it would wait for the memory, and hooks behind it: `dreams` calls again
        again = False
        for context in list(self._stores.values()):
            try:
                context.memory_hooks.tidy()
            except TookTooLong:
                again = True
                self._drop(context.folder)
                with contextlib.suppress(ContextGraphError):  # whoever asks for it next is told
                    self._open(context.folder, context.project)
        return again

    def retry(self) -> list[dict[str, object]]:
        """Have everything that is set aside tried again; what it was."""
        released = []
        for folder in sorted({*self._stores, *self._folders()}):
            there = self._aside_rows(folder)
            self.aside_of(folder).release()
            if spool.put_back(folder) or there:
                self._drop(folder, write=True)  # opened again, it finds what it owes
                released += there
        self.catch_up()
        return released

    def aside_of(self, folder: Path) -> SetAside:
        """What is set aside of the store in ``folder``, open or not."""
        context = self._stores.get(folder)
        return context.chores.aside if context is not None else SetAside(folder, self._log)

    def _aside_rows(self, folder: Path) -> list[dict[str, object]]:
        project = str(project_of(folder) or "")
        return [{"store": folder.name, "project": project, **row} for row in self.aside_of(folder).rows()]

    def catch_up(self) -> None:
        """Apply what waits in the spools below the root: a session's last hook may have spooled."""
        for folder in self._folders():
            if folder in self._stores or not spool.has_pending(folder):
                continue
            try:
                self._catch_up(folder)
            except (ContextGraphError, OSError) as error:
                self._log.error("spool of %s: %s", folder.name, error)
            except TookTooLong:  # it has been logged; the store is drained again when it is asked for
                self._drop(folder)
        self.settle()

    def _catch_up(self, folder: Path) -> None:
        piece = Piece("opening a store for what waits in its spool", str(folder))
        watchdog.run(piece, lambda: self._open(folder, project_of(folder)).drain_spool())

    @property
    def busy(self) -> bool:
        """Whether an owner without clients should stay all the same."""
        return self.dreams.busy

    def leave(self) -> None:
        """The owner is leaving: end what runs beside it."""
        self.dreams.stop()

    def open_place(self, place: Place) -> StoreContext:
        """The store of ``place``, opened if it is not; unlike `open_store` for no request."""
        return self._stores.get(place.store) or self._open(place.store, place.project)

    def drop_place(self, place: Place) -> None:
        """Forget what is in memory of the store of ``place``: the disk is the truth."""
        self._drop(place.store)

    def contexts(self) -> Collection[StoreContext]:
        """The stores that are open."""
        return self._stores.values()

    def checkpoint(self) -> None:
        """Write every session's goals, so that the next owner replays nothing; raises as `close`."""
        failed: StoreError | None = None
        for context in list(self._stores.values()):
            piece = Piece("writing down what is in memory, to leave", str(context.folder))
            try:
                watchdog.run(piece, context.checkpoint)
            except StoreError as error:
                failed = error
            except TookTooLong:  # the next owner works it out again from what is written
                self._drop(context.folder)
        if failed is not None:
            raise failed

    def close(self) -> None:
        """Close every store, also when one of them can't be closed well. Safe to call twice.

        Raises:
            StoreError: The last that went wrong.
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

    def _call(self, request: Request) -> Call:
        context = self.open_store(request)
        return Call(
            request=request,
            context=context,
            settings=with_request_env(context.settings, request.env),
            redactor=self._redactor,
            gates=self._gates,
            dreams=self.dreams,
            began_ms=time.time_ns() // 1_000_000,
        )

    def _context(self, request: Request) -> StoreContext:
        store = request.store
        if store is None or not store.is_absolute():
            raise InvalidInputError("the request names no store; field 5 must be an absolute path")
        if store not in self._stores:
            store = self._canonical(store)
        context = self._stores.get(store) or self._open(store, request.project)
        self._stores.move_to_end(store)
        return context

    def _canonical(self, store: Path) -> Path:
        """The one path of a store that is spelled in several ways: RocksDB opens it once."""
        if store in self._stores:
            return store
        real = os.path.realpath(store)
        for known in self._stores:
            if os.path.realpath(known) == real:
                return known
        return store

    def _drop(self, folder: Path, *, write: bool = False) -> None:
        """Close a store, by writing down first what is in memory or by leaving it."""
        context = self._stores.pop(folder, None)
        if context is not None and write:
            self._let_go(context)
        elif context is not None:
            context.abandon()

    def _open(self, store: Path, project: Path | None) -> StoreContext:
        settings = load_settings(project) if project else self._settings
        while len(self._stores) >= self._max_stores:  # before: the descriptors may not do for both
            _, oldest = self._stores.popitem(last=False)
            self._let_go(oldest)
        context = StoreContext.open(
            store, project=project, settings=settings, log=self._log, redactor=self._redactor
        )
        self._stores[store] = context
        self.dreams.opened(store)
        return context

    def _let_go(self, context: StoreContext) -> None:
        """Close a store that makes room; whoever needs the room must not pay for its trouble."""
        try:
            context.checkpoint()
            context.close()
        except (StoreError, TookTooLong) as error:
            self._log.error("closing %s: %s", context.folder.name, error)
            context.abandon()

    def _folders(self) -> list[Path]:
        """The stores below the root, open or not."""
        try:
            return sorted(path for path in (self._root / "stores").iterdir() if path.is_dir())
        except FileNotFoundError:
            return []


def build_service(root: Path, settings: Settings, log: logging.Logger) -> OwnerService:
    """The service of one owner process."""
    for problem in settings.problems:
        log.warning("%s", problem)
    return OwnerService(root, settings, log, load_redactor(root / "cache", log))
