"""Gives clients the operations on memories: `memory …` in frames, and tools over MCP.

A frame's body holds an operation's arguments as JSON; the answer is JSON. By a `StoreHost` operations reach
a client's store: memory, sessions, consolidations. MCP's modules are imported for its first client.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from context_graph.config import Settings, account_of, locate
from context_graph.errors import (
    CommandLineError,
    ContextGraphError,
    DatabaseCorruptionError,
    InvalidInputError,
    InvalidParamsError,
    SessionNotFoundError,
    StoreClosedError,
    TookTooLongError,
    UsageError,
)
from context_graph.identity.across import relation
from context_graph.model import EventParts, HookEvent, cut_session_id
from context_graph.model.memory import VerbosityLevel
from context_graph.operations import OPERATIONS
from context_graph.operations.context import Elsewhere, Host, OnDone
from context_graph.operations.context import Job as AnyJob
from context_graph.operations.filters import Filters
from context_graph.operations.operation import Operation, parameters, read
from context_graph.owner.commands.call import Call, Service, reply
from context_graph.owner.sessions.identity_notices import ALARMS
from context_graph.store.sessions.sessions import SessionStore
from context_graph.system import processes
from context_graph.wire.frames import ENV_NAMES, FOLLOWS, Reply, Request

if TYPE_CHECKING:
    from context_graph.memory.memex import Memex
    from context_graph.memory.traces import Words
    from context_graph.operations.mcp.endpoint import Endpoint
    from context_graph.owner.jobs import Job
    from context_graph.owner.sessions.store_context import StoreContext

_OF_THE_STORE: Final = (DatabaseCorruptionError, StoreClosedError, TookTooLongError)
"""Failures after which the store must be opened anew; from others the memory recovers by itself."""


class StoreHost:
    """One client's `operations.context.Host`; without ``context``, a call's store, it is opened each time."""

    def __init__(self, service: Service, request: Request, context: StoreContext | None = None) -> None:
        self._service = service
        self._request = request
        self._context = context

    def _open(self) -> StoreContext:
        return self._context or self._service.open_store(self._request)

    @property
    def store_name(self) -> str:
        return os.fspath(self._request.store or "")

    @property
    def project(self) -> str | None:
        project = self._request.project
        return None if project is None else os.fspath(project)

    @property
    def tells_identity(self) -> bool:
        return self._open().settings.identity_lines != ALARMS

    def memory(self) -> Memex:
        """Return the store's memory, after everything that its hooks still have to write."""
        if self._context is None:  # a command has said so before
            self._service.dreams.query()
        context = self._open()
        context.memory_hooks.tidy()
        return context.memory

    def of_user(self, *, make: bool = False) -> Memex | None:
        return self._open().users(account_of(self._request.env), make)

    def recorded(self, words: Words, *, erase: bool) -> list[str]:
        return recorded(self._open(), words, erase=erase)

    def session_of(self, tool_use_id: str | None) -> str | None:
        own = cut_session_id(self._request.session_env)
        if tool_use_id:
            known = self._open().session_of_tool_use(tool_use_id, own)
            if known is not None:
                return known
        return own or None

    def alike(self, query: str, session_id: str | None) -> tuple[Mapping[str, float], bool]:
        return self._open().sessions.alike_for(query, session_id)

    def identity(self, session_id: str | None) -> Mapping[str, Any]:
        context = self._open()
        live = context.sessions.get(session_id) if session_id else context.sessions.latest()
        if live is None:
            raise SessionNotFoundError(session_id or "latest")
        snapshot, state, level = live.snapshot, live.measures, live.classification
        view: dict[str, Any] = {
            "session_id": snapshot.session_id,
            "previous_session_id": snapshot.previous_session_id,
            "cross_session_ic": None if live.continuity is None else round(live.continuity, 6),
            "relation": relation(live.continuity),
            "events_applied": live.events_applied,
            "measured": live.has_evidence,
            "identity_continuity": None if level is None else round(level.value, 6),
            "level": None if level is None else level.level,
            "crisis": level is not None and level.crisis_triggered,
            "forecast": asdict(live.forecast),
        }
        if state is not None:
            view["state"] = live.metrics.state.name
            for name in ("consciousness", "integration", "reflection", "differentiation"):
                view[name] = round(getattr(state, name), 6)
            view["johari_quadrant"] = state.johari_quadrant
        return view

    def figures(self) -> dict[str, Any]:
        context = self._open()
        shown = context.memory_hooks.report(time.time_ns() // 1_000_000)
        return {"injections": shown, "dreams": self._service.dreams.store_view(context)}

    def injections(self, limit: int) -> list[Any]:
        return self._open().memory_hooks.ledger.recent(limit)

    def uses(self, node_id: UUID) -> Any:
        return self._open().memory_hooks.ledger.by_memory().get(str(node_id))

    @property
    def dream_available(self) -> bool:
        store = self._request.store
        return store is not None and self._service.dreams.available(store)

    def consolidate(self, params: Mapping[str, Any], *, session_id: str | None, **more: Any) -> Job:
        named = self._service.clean_id(session_id)
        return self._service.dreams.consolidate(self._request, params, session_id=named, **more)

    def ask_team(
        self,
        query: str,
        then: Callable[[Sequence[Elsewhere], str], Mapping[str, Any]],
        on_done: OnDone | None,
    ) -> AnyJob:
        from context_graph.owner.hub_processes import asking, elsewhere

        context = self._open()

        def made(rows: Sequence[Mapping[str, Any]], failed: str) -> Mapping[str, Any]:
            return then(elsewhere(rows, context.memory.core.redactor), failed)

        return asking(context).ask(context.memory.sought(query), made, on_done)

    def kept_goals(self, session_id: str | None) -> dict[str, Any]:
        from context_graph.owner.consolidations.aftermath import kept_view

        return kept_view(self._open(), session_id)

    def problems(self) -> list[str]:
        return self._service.problems()

    def failed(self, operation: str, error: Exception) -> None:
        if not isinstance(error, ContextGraphError):
            self._service.log.error("%s failed", operation[:40], exc_info=error)
            return
        self._service.log.error("%s: %s", operation[:40], error)
        if isinstance(error, _OF_THE_STORE):
            self._service.drop_store(self._request)


@dataclass(slots=True)
class _Context:
    """A frame as an operation's context: the answer is for a program."""

    host: Host
    session_id: str | None
    verbosity: VerbosityLevel | None = None
    talk: None = None
    on_done: OnDone | None = None
    source: str = "cli"

    def new_id(self) -> UUID | None:
        return None

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Does nothing: the connection tells how far the job is (`Reply.job`)."""


def body_of(call: Call) -> dict[str, Any]:
    """Return the JSON object in the request's body. Raises InvalidInputError if it holds something else."""
    try:
        body = orjson.loads(call.request.body) if call.request.body.strip() else {}
    except orjson.JSONDecodeError as error:
        raise InvalidInputError(f"the arguments are not JSON: {error}") from error
    if not isinstance(body, dict):
        raise InvalidInputError("the arguments must be a JSON object")
    return body


def _serve(operation: Operation, call: Call) -> Reply:
    from context_graph.operations.naming import filters_of
    from context_graph.operations.running import run  # the engine of recall: not every owner needs it

    params = {name: value for name, value in call.request.params.items() if name != FOLLOWS}
    body = _named(operation, {**params, **body_of(call)})
    try:
        arguments = read(operation.arguments, _whole_session(body, call), call.request.verb)
        filters_of(getattr(arguments, "filters", None))
    except InvalidParamsError as error:
        raise CommandLineError(_by_option(operation, error)) from error
    try:
        host = StoreHost(call.service, call.request, call.context)
        session_id = arguments.session_id or cut_session_id(call.request.session_env) or None
        answer = run(_Context(host, session_id), arguments)
    except InvalidParamsError as error:
        raise UsageError(_by_option(operation, error)) from error
    if answer.text:
        return reply(answer.text)
    job = answer.job
    return replace(reply(orjson.dumps(answer.content if job is None else job.view())), job=job)


def _whole_session(body: dict[str, Any], call: Call) -> dict[str, Any]:
    """Return ``body`` with the whole id of the session that its filters name by its first digits.

    A memory may be of a session that the store has no record of: such an id is left as it is.
    """
    filters = body.get("filters")
    if not isinstance(filters, dict) or not isinstance(named := filters.get("session_id"), str):
        return body
    try:
        return {**body, "filters": {**filters, "session_id": call.context.store.resolve_id(named)}}
    except SessionNotFoundError:
        return body


def _by_option(operation: Operation, error: InvalidParamsError) -> str:
    """Return what ``error`` says, with the option as it was typed in place of the tool's parameter."""
    name = error.parameter.removeprefix("filters.")
    filters = "filters" in {parameter.name for parameter in parameters(operation.arguments)}
    known = {
        parameter.name: parameter
        for parameter in (*parameters(operation.arguments), *(parameters(Filters) if filters else ()))
    }
    if not error.what or name not in known:
        return str(error)
    option = known[name].extra("option") or f"--{known[name].wire.replace('_', '-')}"
    return f"{option} {error.what}"


def _named(operation: Operation, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's arguments by the operation's names; filters are among the others there."""
    arguments = dict(body)
    known = {parameter.name: parameter for parameter in parameters(operation.arguments)}
    if "filters" in known:
        filters = {name: arguments.pop(name) for name in Filters.__struct_fields__ if name in arguments}
        if filters:
            arguments["filters"] = filters
    for name, parameter in known.items():
        if parameter.wire != name and parameter.wire in arguments:
            value = arguments.pop(parameter.wire)
            arguments[name] = not value if parameter.extra("flag") and isinstance(value, bool) else value
    return arguments


HANDLERS: Final[dict[str, Callable[[Call], Reply]]] = {
    operation.verb: partial(_serve, operation) for operation in OPERATIONS if operation.verb
}


# MCP

_PEER_NAMES: Final = (
    *("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CONFIG_DIR", "CONTEXT_GRAPH_DB_PATH", "HOME"),
)
_ENVIRON_BYTES: Final = 1 << 20


class McpHost:
    """One for the owner's life: the tools, and the tool sessions of all clients."""

    def __init__(self, root: Path, service: Service, settings: Settings) -> None:
        self._root = root
        self._service = service
        from context_graph.operations.mcp.sessions import Sessions
        from context_graph.operations.mcp.tools import Toolbox, memory_tools

        self.toolbox = Toolbox(memory_tools())
        self.sessions = Sessions(settings.mcp_session_s)

    def endpoint(self, request: Request) -> Endpoint:
        """Return the conversation of a client that attached with ``request``; opens nothing yet.

        Raises InvalidInputError if the request names no store.
        """
        if request.store is None:
            raise InvalidInputError("the request names no store; field 5 must be an absolute path")
        return self._endpoint(request, client=request.event_id.encode())

    def endpoint_of(self, pid: int) -> Endpoint:
        """Return the conversation of a client of which only the process is known: its store is that of the
        project it works in, as for every command that is run there.

        Raises OSError if the process is gone, or not ours to look at.
        """
        env = {**_environ(pid), "CONTEXT_GRAPH_HOME": os.fspath(self._root)}
        place = locate(None, env, Path(processes.working_folder(pid)))
        request = Request(
            verb="mcp.plain",
            store=place.store,
            project=place.project,
            session_env=env.get("CLAUDE_CODE_SESSION_ID", ""),
            env={name: env[name] for name in ENV_NAMES if name in env},
        )
        return self._endpoint(request, plain=True)

    def _endpoint(self, request: Request, *, client: bytes = b"", plain: bool = False) -> Endpoint:
        from context_graph.operations.mcp.endpoint import Endpoint

        host = StoreHost(self._service, request)
        return Endpoint(self.toolbox, host, self.sessions, client=client, plain=plain)


def _environ(pid: int) -> dict[str, str]:
    pairs = [os.fsdecode(entry).partition("=") for entry in processes.environment(pid)]
    return {name: value for name, _, value in pairs if name in _PEER_NAMES}


_SESSIONS: Final = 1_000_000
_TEXTS: Final = ("input_text", "output_text")


def recorded(context: StoreContext, words: Words, *, erase: bool) -> list[str]:
    """Return the sessions whose events or compactions have these words; ``erase`` takes them out, off the
    disk too.

    Raises StoreError, CorruptedIdentityError. Cost: a look at each recorded event, some 20 us.
    """
    store, session_ids = context.store, list[str]()
    for session_id in (row.session_id for row in store.list_sessions(_SESSIONS)[0]) if words else ():
        changed = _changed(store, session_id, words)
        compactions = store.load_compactions(session_id)
        clean: list[Mapping[str, Any]] = words.taken_out_of(compactions)
        if not changed and clean == compactions:
            continue
        session_ids.append(session_id)
        if erase:
            store.save_compactions(session_id, clean)
            store.event_log.rewrite(session_id, changed)
    return session_ids


def _changed(store: SessionStore, session_id: str, words: Words) -> dict[int, HookEvent]:
    """Return the events of a session that have the words, without them."""
    changed = {}
    for number, event in store.event_log.numbered_after(session_id, 0):
        texts = {name: words.taken_out(getattr(event, name)) for name in _TEXTS}
        content = event.parts.to_json()
        parts = words.taken_out_of(content)
        if parts != content or any(getattr(event, name) != text for name, text in texts.items()):
            clean = replace(event, parts=EventParts.from_json(parts))
            clean.input_text, clean.output_text = texts.values()
            changed[number] = clean
    return changed
