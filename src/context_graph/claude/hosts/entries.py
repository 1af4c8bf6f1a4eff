"""Adds our entries to the files that other hosts read, and removes them; every other byte stays as it was."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from context_graph.claude.events import REGISTERED
from context_graph.claude.hosts.host import Host
from context_graph.claude.install.entries import FIX, SERVER, parsed_object, take_from_settings
from context_graph.claude.settings.hook_commands import command_line
from context_graph.claude.settings.json_edit import JsonEditor, Node, without
from context_graph.claude.settings.settings import is_ours
from context_graph.errors import InvalidInputError
from context_graph.model import EventKind

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
        return _fresh({**(new_file or {}), "hooks": hooks})
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
    editor.append_members(
        holder, {key: value for key, value in hooks.items() if key not in holder.members}, 2
    )
    return editor.applied()


def drop_hooks(text: str) -> str:
    """Return ``text`` without our hooks, in either host's form; containers that this empties are removed
    too."""
    text = take_from_settings(text, frozenset())
    while (path := next(_flat_paths(parsed_object(text)), None)) is not None:
        text = without(text, path)
        for end in (2, 1):
            text = _pruned(text, path[:end])
    return text


def add_server(text: str, key: str, entry: object, new_file: Mapping[str, Any] | None = None) -> str:
    """Return ``text`` of a JSON file with our MCP server under ``key``; one of its name that is there stays.

    Raises:
        InvalidInputError: It is no JSON object, or the value at ``key`` is none.
    """
    if not text.strip():
        return _fresh({**(new_file or {}), key: {SERVER: entry}})
    root = parsed_object(text)
    servers = root.members.get(key)
    editor = JsonEditor(text, root)
    if servers is None:
        editor.append_members(root, {key: {SERVER: entry}}, 1)
    elif not isinstance(servers.value, dict):
        raise InvalidInputError(f"{key} must be an object; {FIX}")
    elif SERVER not in servers.members:
        editor.append_members(servers, {SERVER: entry}, 2)
    return editor.applied()


def drop_server(text: str, key: str, entry: object) -> str:
    """Return ``text`` without our server, if its entry is as we write it."""
    servers = parsed_object(text).value.get(key)
    if not isinstance(servers, dict) or servers.get(SERVER) != entry:
        return text
    return _pruned(without(text, (key, SERVER)), (key,))


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


def _fresh(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


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


def _flat_paths(root: Node) -> Iterator[tuple[str | int, ...]]:
    hooks = root.members.get("hooks")
    for event, entries in hooks.members.items() if hooks else ():
        for at, entry in enumerate(entries.items):
            if isinstance(entry.value, dict) and is_ours(entry.value):
                yield "hooks", event, at


def _pruned(text: str, path: Sequence[str | int]) -> str:
    """Return ``text`` without the value at ``path``, if that is empty."""
    node = parsed_object(text)
    for step in path:
        node = node.members[step] if isinstance(step, str) else node.items[step]
    return text if node.value else without(text, path)
