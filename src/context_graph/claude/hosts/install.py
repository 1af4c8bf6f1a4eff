"""Plans the changes of ``setup --host`` and its ``--remove``: each host's files, and our part in them."""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, Final

from context_graph.claude.events import REGISTERED
from context_graph.claude.hosts.host import HOOKS, NAMES, Host, project_folder, user_folder
from context_graph.claude.hosts.translate import HOSTS
from context_graph.claude.install.entries import (
    FIX,
    SERVER,
    SERVER_ENTRY,
    add_server,
    drop_server,
    fresh,
    mentions_us,
    parsed_object,
    take_from_settings,
)
from context_graph.claude.install.plan import Record, Setup, merged, undone
from context_graph.claude.settings.edit import JsonEditor, Node, edited, read_text
from context_graph.claude.settings.hook_commands import command_line
from context_graph.claude.settings.settings import is_ours
from context_graph.config import store_key
from context_graph.errors import InvalidInputError
from context_graph.model import EventKind

_CURSOR: Final = {**SERVER_ENTRY, "env": {"CLAUDE_PROJECT_DIR": "${workspaceFolder}"}}
"""Cursor does not promise where a server runs; this names the project."""
_OPENCODE: Final = {"type": "local", "command": ["context-graph-cli", "mcp"], "enabled": True}
_SCHEMA: Final = {"$schema": "https://opencode.ai/config.json"}
_SERVERS: Final[Mapping[str, tuple[str, str, Mapping[str, Any], Mapping[str, str]]]] = {
    "gemini": ("settings.json", "mcpServers", SERVER_ENTRY, {}),
    "cursor": ("mcp.json", "mcpServers", _CURSOR, {}),
    "opencode": ("opencode.json", "mcp", _OPENCODE, _SCHEMA),
}
"""The JSON file in which a host names servers, the key there, our entry, and what a new file begins with."""

_NEXT: Final = {
    "codex": "next: start `codex`; it asks to review new hooks; until then they do not run",
    "gemini": "next: start `gemini` and trust this folder: elsewhere it runs no hooks of a project",
    "cursor": "next: open the project in Cursor; its settings show hooks and tools",
    "opencode": "next: start `opencode`; it has the memory tools, and no hooks",
}

Edit = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class HostFile:
    """A file that a host reads, with what adds our part to its text and takes it out again."""

    path: Path
    add: Edit
    drop: Edit
    has_hooks: bool = False


@dataclass(frozen=True, slots=True)
class HostScope:
    """A host's files: of one project, or of the user."""

    host: str
    base: Path
    """The project's top folder, or the host's own folder."""
    folder: Path
    """Where the host's files are."""
    is_user: bool

    @property
    def key(self) -> str:
        """Names the scope among all of this user's; fit for a file."""
        return f"{self.host}-{'user' if self.is_user else 'project'}-{store_key(self.base)}"

    @property
    def next(self) -> str:
        """What to do after it was set up."""
        return _NEXT[self.host]

    def files(self, *, servers: bool = True) -> list[HostFile]:
        """Return the files, hooks first."""
        made = [_hooks_file(self)] if self.host in HOOKS else []
        return [*made, _server_file(self)] if servers else made


def project_scope(host: str, top: Path) -> HostScope:
    """Return the files that a host reads in the project at ``top``."""
    return HostScope(host, top, project_folder(host, top), is_user=False)


def user_scope(host: str, env: Mapping[str, str]) -> HostScope:
    """Return the files that a host reads in every project: CODEX_HOME and the like are heeded."""
    folder = user_folder(host, env)
    return HostScope(host, folder, folder, is_user=True)


def plan(scope: HostScope, env: Mapping[str, str], *, servers: bool = True) -> Setup:
    """Return what to add. Reads, writes nothing.

    Raises:
        InvalidInputError: A file that can't be merged; names it.
        ConfigError: A file that can't be read.
    """
    made = Setup()
    twice = not scope.is_user and _has_hooks(user_scope(scope.host, env))
    for path, parts in _by_path(scope.files(servers=servers)):
        wanted = [part for part in parts if not (part.has_hooks and twice)]
        if wanted:
            change = merged(path, _each(part.add for part in wanted))
            made.changes.append(change)
            text = change.after or ""
            if any(not part.has_hooks and edited(text, part.drop) == text for part in wanted):
                made.notes.append(f"{path} has another server called {SERVER!r}, which stays as it is")
    if twice:
        made.notes.append("your own settings have the hooks already, so they were not added here again")
    return made


def plan_removal(scope: HostScope, record: Record) -> Setup:
    """Return the files as they were before; of those edited since, all but what is ours. Raises as `plan`."""
    files = _by_path(scope.files())
    return Setup([undone([record], path, _each(part.drop for part in parts)) for path, parts in files])


def _by_path(files: Sequence[HostFile]) -> list[tuple[Path, list[HostFile]]]:
    paths = dict.fromkeys(file.path for file in files)
    return [(path, [file for file in files if file.path == path]) for path in paths]


def _each(edits: Iterable[Edit]) -> Edit:
    """Return one edit of several, done in their order."""
    steps = tuple(edits)
    return lambda text: reduce(lambda done, edit: edit(done), steps, text)


def remove_folders(record: Record) -> None:
    """Remove folders that were made for our files, if they are empty."""
    for folder in reversed(record.folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def are_set_up(top: Path, env: Mapping[str, str]) -> bool:
    """Return whether a file of any host has hooks of ours, of the project at ``top`` or of the user."""
    scopes = [scope for host in NAMES for scope in (project_scope(host, top), user_scope(host, env))]
    return any(_has_hooks(scope) for scope in scopes)


def _has_hooks(scope: HostScope) -> bool:
    for file in scope.files():
        text = read_text(file.path) if file.has_hooks else None
        with contextlib.suppress(InvalidInputError):
            if text and mentions_us(text) and edited(text, file.drop) != text:
                return True
    return False


def _hooks_file(scope: HostScope) -> HostFile:
    new_file = {"version": 1} if scope.host == "cursor" else {}
    add = partial(add_hooks, hooks=hooks_of(HOSTS[scope.host]), new_file=new_file)
    return HostFile(scope.folder / HOOKS[scope.host], add, drop_hooks, has_hooks=True)


def _server_file(scope: HostScope) -> HostFile:
    if scope.host == "codex":
        return HostFile(scope.folder / "config.toml", add_toml_server, drop_toml_server)
    name, key, entry, new_file = _SERVERS[scope.host]
    add = partial(add_server, key=key, entry=entry, new_file=new_file)
    return HostFile(scope.folder / name, add, partial(drop_server, key=key, entry=entry))


_CODEX_END_S: Final = 3
"""The longest that Codex gives a hook at a session's end."""
_BEGIN: Final = f"# {SERVER}: begin; `context-graph-cli setup --host codex --remove` takes this out\n"
_END: Final = f"# {SERVER}: end\n"
_TOML: Final = f"""{_BEGIN}[mcp_servers.{SERVER}]
command = "context-graph-cli"
args = ["mcp"]
env_vars = ["CONTEXT_GRAPH_HOME", "CONTEXT_GRAPH_PYTHON", "XDG_DATA_HOME"]
{_END}"""
"""Codex starts servers with few of its own variables: these say where the memory is."""

Hooks = Mapping[str, Sequence[dict[str, Any]]]
"""The host's event and our entry in its list."""


def hooks_of(host: Host) -> dict[str, list[dict[str, Any]]]:
    """Return our hooks as the host's file has them."""
    made: dict[str, list[dict[str, Any]]] = {}
    for event in REGISTERED:
        kind = EventKind(event.verb)
        also = (name for name, counts_as in host.also.items() if counts_as is kind)
        for name in (*also, *([host.events[kind]] if kind in host.events else [])):
            seconds = event.settings_s
            if host.name == "codex" and kind is EventKind.SESSION_END:
                seconds = _CODEX_END_S
            timeout = seconds * 1000 if host.name == "gemini" else seconds
            hook = {"type": "command", "command": command_line(event, form=host.name), "timeout": timeout}
            made[name] = [hook if host.name == "cursor" else {"hooks": [hook]}]
    return made


def add_hooks(text: str, hooks: Hooks, new_file: Mapping[str, Any] | None = None) -> str:
    """Return ``text`` of a JSON file with exactly our ``hooks`` under its ``hooks``; a second time changes
    nothing.

    Args:
        new_file: What else a new file begins with.

    Raises:
        InvalidInputError: It is no JSON object, or its hooks are none.
    """
    if not text.strip():
        return fresh({**(new_file or {}), "hooks": hooks})
    there = _checked_hooks(parsed_object(text))
    if {event: entries for event, entries in _ours(there).items() if entries} == dict(hooks):
        return text
    text = drop_hooks(text)
    root = parsed_object(text)
    holder = root.members.get("hooks")
    editor = JsonEditor(text, root)
    if holder is None:
        editor.append_members(root, {"hooks": hooks}, 1)
        return editor.applied()
    for event, entries in hooks.items():
        if event in holder.members:
            editor.append_items(holder.members[event], entries, 3)
    missing = {key: value for key, value in hooks.items() if key not in holder.members}
    editor.append_members(holder, missing, 2)
    return editor.applied()


def drop_hooks(text: str) -> str:
    """Return ``text`` without our hooks; containers that this empties are removed too."""
    return take_from_settings(text, frozenset())


def add_toml_server(text: str) -> str:
    """Return ``text`` of Codex's config.toml with our server in a marked block at its end; one that is there
    stays.

    Raises:
        InvalidInputError: It is no TOML, or can't take the block.
    """
    servers = _toml(text).get("mcp_servers")
    if isinstance(servers, dict) and SERVER in servers:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline * ((not text.endswith(("\n", "\r"))) + 1) if text else ""
    made = text + gap + _TOML.replace("\n", newline)
    _toml(made)
    return made


def drop_toml_server(text: str) -> str:
    """Return ``text`` without the marked block and the empty line before it."""
    begin = text.find(_BEGIN.rstrip("\n"))
    end = text.find(_END.rstrip("\n"), begin)
    if begin < 0 or end < 0:
        return text
    end += len(_END) - 1
    end += len(text[end : end + 2]) - len(text[end : end + 2].lstrip("\r\n"))
    before = text[:begin]
    for newline in ("\r\n", "\n"):
        if before.endswith(newline * 2):
            before = before.removesuffix(newline)
            break
    return before + text[end:]


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"is no TOML that our server can be added to: {error}; {FIX}") from error


def _checked_hooks(root: Node) -> Mapping[str, list[Any]]:
    hooks = root.value.get("hooks", {})
    lists = isinstance(hooks, dict) and all(isinstance(entries, list) for entries in hooks.values())
    if not lists:
        raise InvalidInputError(f"hooks must be an object of lists; {FIX}")
    checked: Mapping[str, list[Any]] = hooks
    return checked


def _ours(hooks: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return our entries under each event: hooks, or groups that hold nothing else."""

    def is_mine(entry: Any) -> bool:
        inner = entry.get("hooks") if isinstance(entry, dict) else None
        of_group = [entry] if inner is None else inner if isinstance(inner, list) else []
        return any(isinstance(hook, dict) and is_ours(hook) for hook in of_group)

    return {event: [entry for entry in entries if is_mine(entry)] for event, entries in hooks.items()}
