"""Adds our entries to the client's files and removes them again; every other byte stays as it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from context_graph.claude.events import REGISTERED
from context_graph.claude.settings.edit import JsonEditor, Node, parse_json_text, without
from context_graph.claude.settings.hook_commands import SEARCH, runs_us
from context_graph.claude.settings.settings import is_ours, merge_settings
from context_graph.errors import InvalidInputError

SERVER: Final = "context-graph"
SERVER_ENTRY: Final = {"command": "context-graph-cli", "args": ["mcp"]}
_STATUS_LINE, *_STATUS_LINES_BEFORE = (
    {
        "type": "command",
        "command": f"{path}command -v context-graph-cli >/dev/null 2>&1 && context-graph-cli {call} || true",
    }
    for path, call in ((f"{SEARCH}; ", "status --line"), ("", "status --line"), ("", "req statusline"))
)
_UNASKED: Final = (
    *("store_memory", "recall_memory", "search_graph", "inject_context", "link_memories", "get_memory"),
    *("get_memetic_status", "get_identity", "discover_goals", "set_verbosity"),
)
_APPROVED: Final = "enabledMcpjsonServers"
FIX: Final = "fix the file; it was not changed"
"""What every refusal of a file ends with."""

Path = tuple[str | int, ...]


def allowed(server: str) -> tuple[str, ...]:
    """Return tools that need no permission dialog: they read, or add what can be undone. Others rewrite."""
    return tuple(f"mcp__{server}__{tool}" for tool in _UNASKED)


def add_to_settings(
    text: str,
    *,
    permissions: bool,
    status_line: bool,
    approved: bool = False,
    server: str = SERVER,
    strict_gates: bool | None = None,
    program: str = "",
) -> str:
    """Return ``text`` of a settings file with our hooks, and if wanted our permissions and status line.

    Args:
        approved: Also have the client use our server of `.mcp.json` without the dialog whose default
            switches it off for good. It counts in folders that the user trusts.
        server: Its name.
        program: Path for hooks without a shell line; "" for none of those.

    Raises:
        InvalidInputError: The file can't be merged; see `merge_settings`.
    """
    merged = merge_settings(text, REGISTERED, strict=strict_gates, program=program)
    if permissions:
        merged = _with_permissions(merged, server)
    if approved:
        merged = _with_approval(merged, server)
    if status_line and "statusLine" not in parsed_object(merged).members:
        merged = _with_members(merged, (), {"statusLine": _STATUS_LINE})
    return merged


def add_server(
    text: str,
    server: str = SERVER,
    *,
    key: str = "mcpServers",
    entry: Mapping[str, Any] = SERVER_ENTRY,
    new_file: Mapping[str, Any] | None = None,
) -> str:
    """Return ``text`` of a JSON file with our server under ``key``; one of its name that is there stays.

    Args:
        new_file: What else a new file begins with.

    Raises:
        InvalidInputError: It is no JSON object, or its servers are none.
    """
    if not text.strip():
        return fresh({**(new_file or {}), key: {server: entry}})
    servers = _object_at(parsed_object(text), key)
    if servers is None:
        return _with_members(text, (), {key: {server: entry}})
    return text if server in servers.members else _with_members(text, (key,), {server: entry})


def fresh(value: object) -> str:
    """Return the text of a new JSON file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def is_taken(text: str, server: str = SERVER) -> bool:
    """Return whether the server of our name in ``text`` of a `.mcp.json` is another program's."""
    servers = _object_at(parsed_object(text), "mcpServers")
    there = servers.value.get(server) if servers is not None else None
    if there is None:
        return False
    return not (isinstance(there, dict) and runs_us(str(there.get("command", "")), there.get("args") or ()))


def our_servers(
    text: str, key: str = "mcpServers", entry: Mapping[str, Any] = SERVER_ENTRY
) -> frozenset[str]:
    """Return the names under which ``text`` of a JSON file has our server as we write it."""
    try:
        servers = _object_at(parsed_object(text), key)
    except InvalidInputError:
        return frozenset()
    named = servers.value.items() if servers is not None else ()
    return frozenset(name for name, there in named if there == entry)


def mentions_us(text: str) -> bool:
    """Return whether anything in the text may be ours: whether it names the program or the server."""
    return SERVER in text


def drop_server(text: str, key: str = "mcpServers", entry: Mapping[str, Any] = SERVER_ENTRY) -> str:
    """Return ``text`` without our server, under any name, if its entry is as we write it."""
    for name in our_servers(text, key, entry):
        text = _pruned(without(text, (key, name)), (key,))
    return text


def take_from_settings(text: str, servers: frozenset[str] = frozenset({SERVER})) -> str:
    """Return ``text`` without our hooks, permissions and status line; containers that this empties are
    removed too.

    Args:
        servers: Names of our server whose permissions and approval are removed, too.
    """
    text = _drop_each(text, _our_hooks)
    tools = {tool for server in servers for tool in allowed(server)}
    text = _drop_each(text, lambda root: _items_at(root, ("permissions", "allow"), tools))
    text = _drop_each(text, lambda root: _items_at(root, (_APPROVED,), servers))
    if parsed_object(text).value.get("statusLine") in (_STATUS_LINE, *_STATUS_LINES_BEFORE):
        text = without(text, ("statusLine",))
    return text


def _with_approval(text: str, server: str) -> str:
    root = parsed_object(text)
    if root.value.get("enableAllProjectMcpServers") is True:
        return text
    return _with_items(text, (_APPROVED,), [server])


def _with_permissions(text: str, server: str) -> str:
    permissions = _object_at(parsed_object(text), "permissions")
    if permissions is None:
        return _with_members(text, (), {"permissions": {"allow": list(allowed(server))}})
    there = permissions.value.get("allow")
    if isinstance(there, list) and any(rule in there for rule in (f"mcp__{server}", f"mcp__{server}__*")):
        return text
    return _with_items(text, ("permissions", "allow"), allowed(server))


def _with_items(text: str, path: tuple[str, ...], items: Sequence[str]) -> str:
    """Return ``text`` with those of ``items`` that the list at ``path`` lacks; the list is made if there is
    none."""
    root = parsed_object(text)
    holder = root
    for step in path[:-1]:
        holder = holder.members[step]
    there = holder.members.get(path[-1])
    if there is None:
        return _with_members(text, path[:-1], {path[-1]: list(items)})
    if not isinstance(there.value, list):
        raise InvalidInputError(f"{'.'.join(path)} must be a list; {FIX}")
    editor = JsonEditor(text, root)
    editor.append_items(there, [item for item in items if item not in there.value], len(path) + 1)
    return editor.applied()


def _with_members(text: str, path: tuple[str, ...], members: Mapping[str, Any]) -> str:
    root = parsed_object(text)
    node = root
    for step in path:
        node = node.members[step]
    editor = JsonEditor(text, root)
    editor.append_members(node, members, len(path) + 1)
    return editor.applied()


def _drop_each(text: str, find: Callable[[Node], Iterator[Path]]) -> str:
    """Return ``text`` without all that ``find`` names, and the containers that this empties."""
    while (path := next(find(parsed_object(text)), None)) is not None:
        text = without(text, path)
        for end in (3, 2, 1):  # a group whose hooks are gone, its event or list, what held that
            shorter = _pruned(text, path[:end]) if end < len(path) else text
            if shorter == text and end < len(path):
                break
            text = shorter
    return text


def _our_hooks(root: Node) -> Iterator[Path]:
    hooks = root.members.get("hooks")
    for event, groups in hooks.members.items() if hooks else ():
        for at, group in enumerate(groups.items):
            inner = group.members.get("hooks")
            if inner is None and isinstance(group.value, dict) and is_ours(group.value):
                yield "hooks", event, at  # as a host has it that knows no groups
            for number, hook in enumerate(inner.items if inner else ()):
                if isinstance(hook.value, dict) and is_ours(hook.value):
                    yield "hooks", event, at, "hooks", number


def _items_at(root: Node, path: tuple[str, ...], wanted: Collection[str]) -> Iterator[Path]:
    """Yield those of ``wanted`` in the list at ``path``."""
    node: Node | None = root
    for step in path:
        node = node.members.get(step) if node else None
    for at, entry in enumerate(node.items if node else ()):
        if isinstance(entry.value, str) and entry.value in wanted:
            yield *path, at


def _pruned(text: str, path: Path) -> str:
    """Return ``text`` without the container at ``path`` if it is empty, or a group without hooks."""
    node = parsed_object(text)
    for step in path:
        node = node.members[step] if isinstance(step, str) else node.items[step]
    empty = not node.value or (
        isinstance(node.value, dict) and node.value.get("hooks") == [] and len(path) == 3
    )
    return without(text, path) if empty else text


def parsed_object(text: str) -> Node:
    """Read a file of settings as a tree with places.

    Raises:
        InvalidInputError: It is no JSON object; it says where, and that the file was not changed.
    """
    try:
        root = parse_json_text(text)
    except ValueError as error:
        raise InvalidInputError(f"is not JSON: {error}; {FIX}") from error
    if not isinstance(root.value, dict):
        raise InvalidInputError(f"is not a JSON object; {FIX}")
    return root


def _object_at(root: Node, key: str) -> Node | None:
    node = root.members.get(key)
    if node is not None and not isinstance(node.value, dict):
        raise InvalidInputError(f"{key} must be an object; {FIX}")
    return node
