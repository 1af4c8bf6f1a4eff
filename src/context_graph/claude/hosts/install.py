"""Plans the changes of ``setup --host`` and its ``--remove``: each host's files, and our part in them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from context_graph.claude.hosts import entries
from context_graph.claude.hosts.host import HOOKS, NAMES, project_folder, user_folder
from context_graph.claude.hosts.translate import HOSTS
from context_graph.claude.install.entries import SERVER, mentions_us
from context_graph.claude.install.plan import Record, Setup
from context_graph.claude.settings.changes import Change, edited, read_text
from context_graph.config import store_key
from context_graph.errors import InvalidInputError

_PLAIN: Final = {"command": "context-graph-cli", "args": ["mcp"]}
_CURSOR: Final = {**_PLAIN, "env": {"CLAUDE_PROJECT_DIR": "${workspaceFolder}"}}
"""Cursor does not promise where a server runs; this names the project."""
_OPENCODE: Final = {"type": "local", "command": ["context-graph-cli", "mcp"], "enabled": True}
_SCHEMA: Final = {"$schema": "https://opencode.ai/config.json"}

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
        return _FILES[self.host](self, servers)


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
    files = scope.files(servers=servers)
    for path in dict.fromkeys(file.path for file in files):
        wanted = [file for file in files if file.path == path and not (file.has_hooks and twice)]
        before = read_text(path)
        text = before or ""
        for file in wanted:
            with _naming(path):
                text = edited(text, file.add)
            if not file.has_hooks and edited(text, file.drop) == text:
                made.notes.append(f"{path} has another server called {SERVER!r}, which stays as it is")
        made.changes.append(Change(path, before, text if wanted else before))
    if twice:
        made.notes.append("your own settings have the hooks already, so they were not added here again")
    return made


def plan_removal(scope: HostScope, record: Record) -> Setup:
    """Return the files as they were before; of those edited since, all but what is ours. Raises as `plan`."""
    made = Setup()
    for path in dict.fromkeys(file.path for file in scope.files()):
        now = read_text(path)
        as_written, before = record.original(path, now)
        if now is not None and as_written:
            made.changes.append(Change(path, now, before))
        elif now is not None and mentions_us(now):
            after = now
            for file in [file for file in scope.files() if file.path == path]:
                with _naming(path):
                    after = edited(after, file.drop)
            made.changes.append(Change(path, now, after))
    return made


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


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from error


def _hooks_file(scope: HostScope, host: str, new_file: Mapping[str, Any] | None = None) -> HostFile:
    hooks = entries.hooks_of(HOSTS[host])
    add = partial(entries.add_hooks, hooks=hooks, new_file=new_file)
    return HostFile(scope.folder / HOOKS[host], add, entries.drop_hooks, has_hooks=True)


def _server_file(path: Path, key: str, entry: object, new_file: Mapping[str, Any] | None = None) -> HostFile:
    add = partial(entries.add_server, key=key, entry=entry, new_file=new_file)
    return HostFile(path, add, partial(entries.drop_server, key=key, entry=entry))


def _codex(scope: HostScope, servers: bool) -> list[HostFile]:
    made = [_hooks_file(scope, "codex")]
    config = HostFile(scope.folder / "config.toml", entries.add_toml_server, entries.drop_toml_server)
    return [*made, config] if servers else made


def _gemini(scope: HostScope, servers: bool) -> list[HostFile]:
    """Return hooks and server in one file."""
    hooks = _hooks_file(scope, "gemini")
    server = _server_file(hooks.path, "mcpServers", _PLAIN)
    return [hooks, server] if servers else [hooks]


def _cursor(scope: HostScope, servers: bool) -> list[HostFile]:
    made = [_hooks_file(scope, "cursor", {"version": 1})]
    server = _server_file(scope.folder / "mcp.json", "mcpServers", _CURSOR)
    return [*made, server] if servers else made


def _opencode(scope: HostScope, servers: bool) -> list[HostFile]:
    file = _server_file(scope.folder / "opencode.json", "mcp", _OPENCODE, _SCHEMA)
    return [file] if servers else []


_FILES: Final[Mapping[str, Callable[[HostScope, bool], list[HostFile]]]] = {
    "codex": _codex,
    "gemini": _gemini,
    "cursor": _cursor,
    "opencode": _opencode,
}
