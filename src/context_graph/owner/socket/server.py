"""Serves the owner's socket: decides who may connect and how many, answers, counts and logs each frame."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from context_graph.claude.hosts.translate import CLIENT_FORMATS
from context_graph.errors import (
    ContextGraphError,
    FrameTooLargeError,
    OwnerError,
    StoreError,
    WireError,
    exit_code_of,
)
from context_graph.owner.socket.connection import Answer, Channel, Connection, Upgrade
from context_graph.owner.socket.status import OwnerStatus
from context_graph.system.processes import narrow, peer_pid, peer_uid, wider
from context_graph.wire.build import InstalledBuild, is_newer, owner_build
from context_graph.wire.frames import (
    FOLLOWS,
    HEADER_BYTES,
    KEEP_IT,
    YIELDING,
    Reply,
    Request,
    decode_request,
    encode_reply,
)

if TYPE_CHECKING:
    from context_graph.operations.context import Job
    from context_graph.operations.mcp.endpoint import Endpoint
    from context_graph.owner.service import OwnerService
    from context_graph.owner.sessions.store_context import StoreContext

EXIT_BUSY: Final = 75
"""Exit code in the reply to a client beyond ``max_clients``; its hook sees KEEP_IT and keeps the event."""
_HELD_BYTES: Final = 64 * 1024 * 1024
"""Unfinished frames of all clients together."""
_ATTACH: Final = "mcp.attach"
"""The verb after which a connection speaks JSON-RPC, a line a message."""
_FOLLOW: Final = "view.follow"
_AT_START: Final = ("hooks.session-start", _ATTACH)
_EVERYBODY: Final = 1 << 16
"""More than a listener's queue can hold."""
_TOLD_BYTES: Final = 2 * 4096 + 1
_BACKLOG: Final = 256
_CROWD: Final = 8
_PAUSE_S: Final = 0.5
_TIDY_S: Final = 0.25
"""Seconds between the last answer and the work that can wait: the next hooks of a burst don't wait for it."""
_TIDY_MOST_S: Final = 2.0
"""Seconds between the first answer that left such work and the work: a burst without an end must not put it
off for ever."""
_REFUSALS: Final = {
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "close some sessions, or raise its limit (`ulimit -n`)"),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space on the disk of the data root"),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "make the data root writable"),
    **dict.fromkeys((errno.ENOMEM, errno.EIO), "its log names the file"),
}
"""What the system refuses for reasons that are not ours, and what helps."""
_OUT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class OwnerServer:
    """Accepts, answers, and leaves when told to.

    Args:
        leave: Called, after the reply is on its way, when a client asks the owner to stop or is
            newer than the owner; with the reason.
        quiet: Called whenever the last client has gone.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        service: OwnerService,
        root: Path,
        max_clients: int,
        log: logging.Logger,
        *,
        leave: Callable[[str], None],
        quiet: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._root = root
        self._service = service
        self._status = OwnerStatus(root)
        self._max_clients = max_clients
        self._narrow = narrow()
        self._installed = InstalledBuild()
        self._outgrown = ""
        """What a client that was here may use more of than we."""
        self._log = log
        self._leave = leave
        self._quiet = quiet
        self._listener: socket.socket | None = None
        self._waker: socket.socket | None = None
        self._tidying: asyncio.TimerHandle | None = None
        self._tidy_by = self._settled_at = 0.0
        self._connections: set[Channel] = set()

    @property
    def clients(self) -> int:
        """Open connections."""
        return len(self._connections)

    def listen(self, listener: socket.socket) -> None:
        """Serve what connects to ``listener``, a bound, non-blocking socket, this server's from now on."""
        self._listener = listener
        listener.listen(_BACKLOG)
        self._loop.add_reader(listener, self._accept)

    def listen_for_events(self, waker: socket.socket) -> None:
        """Read what hooks tell of events that wait; ``waker`` is non-blocking, and this server's now."""
        self._waker = waker
        self._loop.add_reader(waker, self._woken)

    def _woken(self) -> None:
        names: list[bytes] = []
        waker = self._waker
        if waker is None:
            return
        with contextlib.suppress(BlockingIOError):
            while len(names) < _EVERYBODY:
                names.append(waker.recv(_TOLD_BYTES))
        # Where many came at once, some may have found no room.
        self._service.woken(filter(None, map(_told_store, {*names})), everywhere=len(names) >= _CROWD)
        self._quiet()

    def stop_listening(self) -> None:
        """Take in whoever has connected already, then no more. Idle connections are closed."""
        listener = self._listener
        if listener is None:
            return
        self._accept(limit=_EVERYBODY)
        self._listener = None
        self._loop.remove_reader(listener)
        listener.close()
        if self._waker is not None:
            self._loop.remove_reader(self._waker)
            self._waker.close()
        for connection in list(self._connections):
            connection.leave()

    def close(self) -> None:
        """Close every connection, finished or not."""
        self.stop_listening()
        self._installed.close()
        for connection in list(self._connections):
            connection.close()

    def answer(self, payload: bytes) -> Answer:
        """Serve one request frame; never raises."""
        began = time.perf_counter()
        try:
            request = decode_request(payload)
        except WireError as error:
            return self.refuse(error)
        reply, after, upgrade = self._reply(request)
        reply, data = _encoded(reply)
        took_ms = (time.perf_counter() - began) * 1000.0
        received = len(payload) + HEADER_BYTES

        def then() -> None:
            self._note(request, reply, took_ms=took_ms, received=received, sent=len(data))
            if after is not None:
                after()

        # Who wants to follow what is over already reads no second reply.
        return Answer(data, FOLLOWS in request.params and upgrade is None, then, upgrade)

    def _note(self, request: Request, reply: Reply, *, took_ms: float, received: int, sent: int) -> None:
        self._status.count(request.verb, took_ms)
        self._log.info(request_line(request, reply, took_ms=took_ms, received=received, sent=sent))

    def http(self, connected: socket.socket, data: bytes) -> None:
        """Serve a client that speaks HTTP, such as a hooks module in the client's own process."""
        from context_graph.owner.socket.http import HttpConnection

        made = HttpConnection(
            connected, self, self._loop, root=self._root, first=data, serve=self._serve_http
        )
        self._begin(connected, made)

    def _serve_http(self, request: Request, received: int) -> Reply:
        """Answer a request that came by HTTP; never raises. Nothing can be attached to here."""
        began = time.perf_counter()
        if request.verb in (_ATTACH, _FOLLOW):
            return Reply(1, 0, stderr=f"context-graph: {request.verb} is not served over HTTP\n".encode())
        reply, after, _ = self._reply(request)
        took_ms = (time.perf_counter() - began) * 1000.0
        self._note(request, reply, took_ms=took_ms, received=received, sent=len(reply.stdout))
        if after is not None:
            self._loop.call_soon(after)
        return reply

    def refuse(self, error: WireError) -> Answer:
        """Return the answer to bytes that are no request, the last: no frame's boundary can be trusted."""
        self._status.malformed += 1
        data = encode_reply(Reply(1, KEEP_IT, stderr=f"context-graph: {error}\n".encode()))
        return Answer(data, True, lambda: self._log.warning("refused: %s", error))

    def too_much_held(self) -> WireError | None:
        """Return why no more unfinished bytes may be kept; None while there is room."""
        waiting = sum(connection.buffered for connection in self._connections)
        if waiting <= _HELD_BYTES:
            return None
        return FrameTooLargeError(f"{waiting} bytes of unfinished frames are waiting already; try again")

    def plain(self, connected: socket.socket, data: bytes) -> None:
        """Serve a client that speaks JSON-RPC without attaching; its process tells which store it means."""
        from context_graph.operations.mcp import rpc

        try:
            endpoint = self._service.mcp_host().endpoint_of(peer_pid(connected))
        except (ContextGraphError, OSError) as error:
            self._log.warning("refused: plain JSON-RPC: %s", error)
            answer = rpc.failure(None, rpc.RpcError(rpc.INTERNAL_ERROR, f"Internal error: {error}"))
            with contextlib.suppress(OSError):
                connected.send(answer + b"\n")
            connected.close()
            return
        self._adopt(connected, endpoint, data, plain=True, name="plain")

    def line_served(self, name: str, received: int, sent: int, took_s: float) -> None:
        """Count and log one message of a line connection, and do what can wait until after its answer."""
        self._status.count("mcp", took_s * 1000.0)
        self._log.info("mcp store=%s ms=%.2f in=%d out=%d", name, took_s * 1000.0, received, sent)
        self.settle()

    def expired(self, connection: Channel) -> None:
        """Note that a client took too long over a frame or a reply."""
        self._log.warning("closed: a client that was too slow (%d bytes of a frame)", connection.buffered)

    def closed(self, connection: Channel) -> None:
        """Forget a connection that has ended."""
        self._connections.discard(connection)
        if not self._connections:
            self._quiet()

    def settle(self) -> None:
        """Do what an answer, or events that were applied, left to be done, and have the rest done soon."""
        try:
            self._service.settle()
        except Exception as error:  # the answer is out: neither this client nor the next is to pay for it
            self._unforeseen("what an answer left to be done", error)
        self._settled_at = self._loop.time()
        if self._tidying is None and self._service.has_work:
            self._tidy_soon()

    def _tidy_soon(self) -> None:
        now = self._loop.time()
        self._tidy_by = now + _TIDY_MOST_S
        self._tidying = self._loop.call_at(now + _TIDY_S, self._tidy)

    def _tidy(self) -> None:
        due = min(self._settled_at + _TIDY_S, self._tidy_by)
        if due > self._loop.time():
            self._tidying = self._loop.call_at(due, self._tidy)
            return
        self._tidying = None
        if self._service.tidy():
            self._tidy_soon()

    def _upgrade_for(self, request: Request) -> Upgrade:
        endpoint = self._service.mcp_host().endpoint(request)
        name = request.store.name if request.store is not None else "-"
        return lambda connected, rest: self._adopt(connected, endpoint, rest, plain=False, name=name)

    def _follower_of(self, request: Request) -> Upgrade:
        context = self._service.open_store(request)
        return lambda connected, rest: self._follow(connected, context)

    def _follow(self, connected: socket.socket, context: StoreContext) -> None:
        from context_graph.owner.socket.follow import FollowConnection, changes

        made = FollowConnection(
            connected, self, self._loop, changed=changes(context), ended=context.followers.discard
        )
        context.followers.add(made)
        self._begin(connected, made)

    def _tell_of(self, job: Job, connected: socket.socket, _rest: bytes) -> None:
        from context_graph.owner.socket.follow import JobConnection

        self._begin(connected, JobConnection(connected, self, self._loop, job))

    def _begin(self, connected: socket.socket, made: Channel) -> None:
        connected.setblocking(False)
        self._connections.add(made)
        made.start()

    def _adopt(
        self, connected: socket.socket, endpoint: Endpoint, rest: bytes, *, plain: bool, name: str
    ) -> None:
        from context_graph.owner.socket.lines import LineConnection

        lines = LineConnection(connected, endpoint, self, self._loop, name=name, plain=plain, rest=rest)
        self._begin(connected, lines)

    def _accept(self, limit: int = 1) -> None:
        """Accept connections, one per iteration of the loop, so that a burst of them delays nobody."""
        for _ in range(limit):
            if self._listener is None:
                return
            try:
                connected, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                self._pause(error)
                return
            if self._admitted(connected):
                self._begin(connected, Connection(connected, self, self._loop))

    def _compare_limits(self, connected: socket.socket) -> None:
        """Note a client that may use more than this owner, which was started in a tight shell then."""
        if self._narrow and not self._outgrown:
            with contextlib.suppress(OSError):
                self._outgrown = wider(peer_pid(connected), self._narrow)

    def _admitted(self, connected: socket.socket) -> bool:
        """Return whether this client is ours and there is room; else it is told, if it may know."""
        try:
            uid = peer_uid(connected)
        except OSError:
            uid = -1
        if uid != os.geteuid():
            self._log.warning("refused: a connection of uid %d", uid)
        elif len(self._connections) < self._max_clients or self._evict():
            self._compare_limits(connected)
            return True
        else:
            self._log.warning("refused: %d clients are connected", len(self._connections))
            text = f"context-graph: the owner serves {len(self._connections)} clients already\n".encode()
            with contextlib.suppress(OSError):  # it may have gone, or not read: nothing is owed
                connected.send(encode_reply(Reply(EXIT_BUSY, KEEP_IT, stderr=text)))
        self._status.refused += 1
        connected.close()
        return False

    def _evict(self) -> bool:
        idle = [connection for connection in self._connections if connection.idle]
        if not idle:
            return False
        min(idle, key=lambda connection: connection.used_at).close()
        return True

    def _pause(self, error: OSError) -> None:
        """Out of descriptors or memory: make room, or wait, rather than spin on a ready listener."""
        self._log.error("accept: %s", error)
        listener = self._listener
        if listener is None or (error.errno in _OUT_OF and self._evict()):
            return
        self._loop.remove_reader(listener)
        self._loop.call_later(_PAUSE_S, self._resume)

    def _resume(self) -> None:
        if self._listener is not None:
            self._loop.add_reader(self._listener, self._accept)

    def _reply(self, request: Request) -> tuple[Reply, Callable[[], None] | None, Upgrade | None]:
        try:
            if request.verb.startswith("owner."):
                return (*self._own(request), None)
            if why := self._is_past(request):
                return Reply(0, YIELDING), self._leaver(why), None
            if request.verb == _ATTACH:
                greeting = _json({"pid": os.getpid(), "version": owner_build()})
                return greeting, None, self._upgrade_for(request)
            if request.verb == _FOLLOW:
                greeting = _json({"pid": os.getpid(), "version": owner_build()})
                return greeting, None, self._follower_of(request)
            reply = self._service.handle(request)
            follows = reply.job is not None and FOLLOWS in request.params
            return reply, self.settle, partial(self._tell_of, reply.job) if follows else None
        except ContextGraphError as error:
            flags = KEEP_IT if isinstance(error, (StoreError, OwnerError)) else 0
            exit_code, text = exit_code_of(error, request.verb), str(error)
        except Exception as error:
            flags, exit_code, text = KEEP_IT, 1, self._unforeseen(request.verb, error)
        if request.verb.startswith("hooks.") and request.params.get("format") in CLIENT_FORMATS:
            exit_code = 0  # a hook of a real client never fails (D2.3)
        return Reply(exit_code, flags, stderr=f"context-graph: {text}\n".encode()), None, None

    def _is_past(self, request: Request) -> str:
        """Return why this owner makes way for one of a later build or with wider limits; "" if it stays."""
        own = owner_build()
        if is_newer(request.version, own):
            return f"client {request.version} is newer than this owner, {own}"
        # A launcher need not be as new as our files: what replaced them is seen where a session begins.
        if request.verb in _AT_START and is_newer(now := self._installed.look(), own):
            return f"{now} is installed, and this owner is {own}"
        return f"a client may use more than this owner ({self._outgrown})" if self._outgrown else ""

    def _unforeseen(self, verb: str, error: Exception) -> str:
        """Log an unexpected error and report it: the system's refusals in a line, bugs in full."""
        self._status.errors += 1
        number = (error.errno or 0) if isinstance(error, OSError) else 0
        if number not in _REFUSALS:
            self._log.exception("%s failed", verb)
            return (
                f"the owner failed to serve this: a bug in context-graph ({type(error).__name__} in {verb}); "
                "log/owner.log in the data root says where"
            )
        self._log.error("%s failed: %s", verb, error)
        file = f": {error.filename}" if isinstance(error, OSError) and error.filename else ""
        return f"a system call of the owner failed ({os.strerror(number)}{file}); {_REFUSALS[number]}"

    def _own(self, request: Request) -> tuple[Reply, Callable[[], None] | None]:
        if request.verb == "owner.ping":
            return _json({"pid": os.getpid(), "version": owner_build()}), None
        if request.verb == "owner.status":
            return _json(self._status.view(self.clients, self._service.stats())), None
        if request.verb == "owner.stop":
            return _json({"pid": os.getpid(), "stopping": True}), self._leaver("a client asked for it")
        if request.verb == "owner.retry":
            return _json({"retried": self._service.retry()}), None
        return Reply(1, 0, stderr=f"context-graph: unknown verb {request.verb!r}\n".encode()), None

    def _leaver(self, why: str) -> Callable[[], None]:
        return lambda: self._leave(why)


def _told_store(name: bytes) -> tuple[Path, Path | None] | None:
    """Return the store that a hook names, and behind a NUL the project; None for what is no absolute path."""
    store, _, project = name.partition(b"\0")
    if not store.startswith(b"/") or b"\0" in project:
        return None
    return Path(os.fsdecode(store)), Path(os.fsdecode(project)) if project.startswith(b"/") else None


def _json(value: dict[str, object]) -> Reply:
    return Reply(0, 0, stdout=json.dumps(value).encode() + b"\n")


def _encoded(reply: Reply) -> tuple[Reply, bytes]:
    try:
        return reply, encode_reply(reply)
    except WireError as error:
        # The event, if there was one, keeps its flag: what failed is only the answer's way back.
        short = Reply(1, reply.flags & 0xFF, stderr=f"context-graph: {error}\n".encode())
        return short, encode_reply(short)


def request_line(request: Request | None, reply: Reply, *, took_ms: float, received: int, sent: int) -> str:
    """Return the log line of one request: who, how long, how much, how it ended; no content."""
    verb = store = session = "-"
    if request is not None:
        verb = _word(request.verb)
        store = _word(request.store.name) if request.store is not None else "-"
        session = _word(request.session_env or str(request.params.get("session-id", "")))
    return (
        f"{verb} store={store} session={session} ms={took_ms:.2f} in={received} out={sent} "
        f"exit={reply.exit_code} flags={reply.flags}"
    )


_MARKS: Final = str.maketrans("", "", "._-+:")


def _word(text: str) -> str:
    """Return ``text`` as one short word: a client must not be able to write lines of its own into the log."""
    kept = text[:64]
    if not kept.translate(_MARKS).isalnum():
        kept = "".join(char if char.isalnum() or char in "._-+:" else "?" for char in kept)
    return kept or "-"
