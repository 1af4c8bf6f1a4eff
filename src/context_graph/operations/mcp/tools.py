"""Makes the memory tools from the operations' definitions: entries of tools/list, and the call of each with
the arguments and surroundings that the tool gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import accumulate
from typing import Any, Final
from uuid import UUID

import orjson
from msgspec import Struct

from context_graph.claude.hooks.origin import CANARY_TAG
from context_graph.model.memory import VerbosityLevel
from context_graph.operations import OPERATIONS
from context_graph.operations.context import Host, OnDone
from context_graph.operations.mcp import rpc
from context_graph.operations.mcp.answers import Deferred, Notes, ToolResult, answer
from context_graph.operations.mcp.rpc import LOG_LEVELS, Version
from context_graph.operations.mcp.sessions import Session
from context_graph.operations.operation import Instant, Operation, Parameter, choices, parameters, read
from context_graph.operations.running import run

_SERVER: Final = "context-graph"
_LOADED: Final = "anthropic/alwaysLoad"
_SEARCHED: Final = "anthropic/searchHint"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its entry in tools/list, and the function that a call runs.

    Attributes:
        run: Called on the server's one thread with the call; returns what the client gets, or the promise
            of it where that takes long.
        output: JSON schema of ``structuredContent``; None for a tool that has none.
        hints: MCP's annotations (readOnlyHint, destructiveHint, idempotentHint, openWorldHint).
        once_a_minute: A session may call it once a minute.
        meta: `_meta` in tools/list: whether Claude Code loads it at once, or by which words it is found.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[ToolCall], ToolResult | Deferred]
    output: Mapping[str, Any] | None = None
    hints: Mapping[str, bool] = field(default_factory=dict)
    once_a_minute: bool = False
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def loaded(self) -> bool:
        """Whether a client that defers tools shows this one from the start."""
        return bool(self.meta.get(_LOADED))

    def shown(self) -> dict[str, Any]:
        """Return what of it a model is given."""
        return {"name": self.name, "description": self.description, "inputSchema": self.parameters}

    def listed(self, version: Version) -> dict[str, Any]:
        """Return its entry in tools/list, with no more than a client of ``version`` knows."""
        entry = self.shown()
        if version.structured and self.output is not None:
            entry["outputSchema"] = self.output
        if version.annotations and self.hints:
            entry["annotations"] = self.hints
        if version.structured and self.meta:
            entry["_meta"] = self.meta
        return entry


class Toolbox:
    """The tools of a server, in the order in which they are listed."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)
        self._listed: dict[str, list[dict[str, Any]]] = {}

    def add(self, tool: Tool) -> None:
        """Add ``tool``. The public way to extend a server before it serves anybody.

        Raises:
            ValueError: If there is one of that name already.
        """
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name!r} already")
        self._tools[tool.name] = tool
        self._listed = {}

    def find(self, name: str) -> Tool | None:
        """Return the tool that a client means by ``name``: bare, or as its own client prefixes it (D2.7)."""
        return self._tools.get(name) or self._tools.get(bare_name(name))

    def names(self) -> list[str]:
        """Return all names, as listed."""
        return list(self._tools)

    def listed(self, version: Version) -> list[dict[str, Any]]:
        """Return the answer to tools/list; made once for each version."""
        if version.name not in self._listed:
            self._listed[version.name] = [tool.listed(version) for tool in self._tools.values()]
        return self._listed[version.name]


def bare_name(name: str) -> str:
    """Return ``store_memory`` for `mcp__context-graph__store_memory` and the plugin's form, else ``name``."""
    prefix, mark, rest = name.rpartition("__")
    if not mark or not prefix.startswith("mcp__"):
        return name
    server = prefix.removeprefix("mcp__")
    return rest if server == _SERVER or (server.startswith("plugin_") and server.endswith(_SERVER)) else name


Schema = dict[str, Any]

_TYPES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}
_BOUNDS: Final = {"ge": "minimum", "le": "maximum", "min_length": "minLength", "max_length": "maxLength"}
_ANY_TEXT: Final = ("minLength", 1)
_ONCE_A_MINUTE: Final = "consolidate_memories"
_LIST_CHARS: Final = {
    "merged": 10_000,
    "pruned": 6_500,
    "links_made": 5_000,
    "goals": 20_000,
    "new_patterns": 2_500,
    "skipped": 1_500,
}
"""Characters of JSON for each list of an answer: what a client shows its model at once. List by list, so that
a dry run's are cut where the real run's are."""
_CUT: Final = "Lists are cut, counts are not: set_verbosity 2, or the command's --json, has more."


def memory_tools() -> list[Tool]:
    """Return all tools, in the order in which a client sees them."""
    tools = []
    for operation in OPERATIONS:
        if operation.tool:
            schema = _input(operation)
            meta = {_LOADED: True} if operation.loaded else {_SEARCHED: operation.search}
            tools.append(_tool(operation, operation.tool, _says(operation), schema, meta))
        if operation.alias:
            tools.append(
                _tool(operation, operation.alias, f"Another name for {operation.tool}.", _brief(schema), {})
            )
    return tools


def _says(operation: Operation) -> str:
    """Return its description; a loaded tool's ends with the names of what its schema leaves out."""
    left = [field.name for field in parameters(operation.arguments) if not field.listed and operation.loaded]
    return f"{operation.says} Also takes {', '.join(left)}." if left else operation.says


def _tool(operation: Operation, name: str, says: str, schema: Schema, meta: Mapping[str, Any]) -> Tool:
    output = {"type": "object", "required": [*operation.result]}
    work = partial(_called, operation, name)
    return Tool(name, says, schema, work, output, operation.hints, name == _ONCE_A_MINUTE, meta)


def _input(operation: Operation) -> Schema:
    """Return the parameters' JSON schema, with no more in it than changes what a model does."""
    required = [parameter.name for parameter in parameters(operation.arguments) if parameter.required]
    properties = _properties(operation.arguments)
    if operation.loaded:
        listed = {parameter.name for parameter in parameters(operation.arguments) if parameter.listed}
        properties = {name: shape for name, shape in properties.items() if name in listed}
    schema = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def _properties(arguments: type[Struct]) -> Schema:
    return {
        parameter.name: _schema(parameter)
        for parameter in parameters(arguments)
        if parameter.extra("only") != "command"
    }


_LEFT_OUT: Final = frozenset({"recency", "filters", "top_k"})
"""Parameters that an alias does not list; it takes them too."""


def _brief(schema: Schema) -> Schema:
    """Return the same schema without bounds and descriptions, which are under the tool's own name."""
    named = {name: shape for name, shape in schema["properties"].items() if name not in _LEFT_OUT}
    bare = {name: {"type": shape["type"]} if "type" in shape else shape for name, shape in named.items()}
    return {**schema, "properties": bare}


def _schema(parameter: Parameter) -> Schema:
    described = {"description": parameter.extra("tool")} if parameter.extra("tool") else {}
    if parameter.extra("schema") is not None:
        return {**parameter.extra("schema"), **described}
    bounds = {}
    if parameter.extra("bounded") or parameter.origin in (int, float):
        bounds = {_BOUNDS[name]: getattr(parameter.meta, name) for name in _BOUNDS}
    limits = {
        name: bound for name, bound in bounds.items() if bound is not None and (name, bound) != _ANY_TEXT
    }
    return {**_type(parameter), **limits, **described}


def _type(parameter: Parameter) -> Schema:
    if parameter.origin is list:
        return {"type": "array", "items": _type_of(parameter.item[0])}
    return _type_of(parameter.kind)


def _type_of(kind: Any) -> Schema:
    if words := choices(kind):
        return {"enum": list(words)}
    if kind is Instant:
        return {"type": "string", "format": "date-time"}
    return {"type": _TYPES[getattr(kind, "__origin__", kind)]}


def _called(operation: Operation, name: str, call: ToolCall) -> ToolResult | Deferred:
    hidden = [field.name for field in parameters(operation.arguments) if field.extra("only") == "command"]
    arguments = read(operation.arguments, call.arguments, name, hidden)
    if not _is_trial(call):
        return _run(call, arguments)
    with call.host.memory().uncounted():
        return _run(call, arguments)


def _is_trial(call: ToolCall) -> bool:
    """Return whether the call stores, looks for or deletes `doctor`'s canary."""
    filters = call.arguments.get("filters")
    tags = filters.get("tags") if isinstance(filters, dict) else call.arguments.get("tags")
    if isinstance(tags, list):
        return CANARY_TAG in tags
    node_id = call.arguments.get("node_id")
    if call.arguments.get("soft_delete") is not False or not isinstance(node_id, str):
        return False
    try:
        whole = UUID(node_id)
    except ValueError:
        return False
    memex = call.host.memory()
    with memex.uncounted():
        stored = memex.stored(whole)
    return stored is not None and CANARY_TAG in stored.node.tags


def _run(call: ToolCall, arguments: Any) -> ToolResult | Deferred:
    """Return the operation's answer, with the pulse where the call has one; or a promise of it."""
    deferred = Deferred()

    def done(outcome: Mapping[str, Any] | Exception) -> None:
        if isinstance(outcome, Exception):
            deferred.failed(outcome)
            return
        try:
            content = outcome if call.verbosity is VerbosityLevel.FULL_INSIGHTS else _fitting(outcome)
            pulse = call.host.memory().pulse().as_dict() if call.tells_pulse else None
            deferred.done(answer(content, pulse))
        except Exception as error:
            deferred.failed(error)

    call.on_done = done
    result = run(call, arguments)
    if result.job is not None:
        deferred.on_cancel = result.job.cancel
        return deferred
    pulse = None
    if call.tells_pulse:
        pulse = call.host.memory().pulse(empty_recall=result.nothing, touched=result.touched).as_dict()
    return answer(result.content, pulse, quotes=result.quotes)


def _fitting(outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``outcome`` with its lists cut to what a model can read, and a note where one was."""
    fitting = dict(outcome)
    for name in _LIST_CHARS.keys() & outcome.keys():
        ends = accumulate(len(orjson.dumps(entry)) + 1 for entry in outcome[name])
        fitting[name] = outcome[name][: sum(end <= _LIST_CHARS[name] for end in ends)]
    if any(len(fitting[name]) < len(outcome[name]) for name in _LIST_CHARS.keys() & outcome.keys()):
        fitting["notes"] = [*outcome.get("notes", ()), _CUT]
    return fitting


_LOG: Final = "notifications/message"
_PROGRESS: Final = "notifications/progress"


@dataclass(slots=True)
class ToolCall:
    """A call with all that a tool needs; an operation's `Context`.

    Attributes:
        talk: The tool session that ``session_id`` names, or the connection's own.
        session_id: The session as given, or else the client's session that the call belongs to.
        request: Names this request among all that were ever sent, the same when it is sent again; empty
            where a client can't be told from others.
        send: Takes a notification that goes out before the answer, at once where that is a late one.
        progress_token: As the client gave it, None if it wants no progress.
        log_level: The least level that the client wants to hear of; None for nothing.
        on_done: Takes the end of what takes long; see `tools`.
        tells_pulse: Whether the answer has the pulse: not where Claude Code's model asks, unless its
            `identity_lines` want more than alarms.
    """

    arguments: Mapping[str, Any]
    host: Host
    talk: Session
    session_id: str | None
    verbosity: VerbosityLevel | None
    request: bytes
    send: Notes
    progress_token: str | int | None = None
    log_level: str | None = "info"
    on_done: OnDone | None = None
    source: str = "tool"
    tells_pulse: bool = True
    _made: int = field(default=0)
    _told: float = field(default=-1.0)

    def new_id(self) -> UUID | None:
        """Return the id for what this call makes, derived from the request: one that is sent again after a
        crash makes nothing twice. None where nothing can be derived; the store then draws one."""
        if not self.request:
            return None
        self._made += 1
        digest = blake2b(self.request, digest_size=16, salt=self._made.to_bytes(8, "little")).digest()
        return UUID(bytes=digest, version=4)

    def log(self, level: str, text: str, logger: str = "context-graph") -> None:
        """Tell the client's log, if it wants that level."""
        if self.log_level is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.log_level):
            self.send(rpc.notification(_LOG, {"level": level, "logger": logger, "data": text}))

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Tell a client that asked for it how far a long call is. What is no more than was told before is
        left out, as the protocol wants it, and so is what a client is too slow to take."""
        if self.progress_token is None or done <= self._told or not self.send.clear:
            return
        self._told = done
        params: dict[str, object] = {"progressToken": self.progress_token, "progress": done, "total": total}
        if message:
            params["message"] = message
        self.send(rpc.notification(_PROGRESS, params))
