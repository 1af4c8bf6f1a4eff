"""Writes and shows configuration: init with its presets, enable and disable, config show."""

from __future__ import annotations

import os
from typing import Any

import yaml  # type: ignore[import-untyped]

from context_graph.errors import UsageError
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.gates.config.config import MAX_BYTES, deep_merge, fitting, layers, parse_yaml, read_yaml
from context_graph.gates.state.project import CONFIG, LOCAL_CONFIG
from context_graph.system.small_files import read_bytes, write_atomic

_HEAD = """\
# Requirements of this project: what must be met before a tool runs, or a session stops.
# `context-graph-cli req keys` tells every key, `context-graph-cli req status` what holds.
version: "1.0"
enabled: true
"""

_COMMIT_PLAN = """\
  commit_plan:
    enabled: true
    scope: session          # session, branch, permanent or single_use
    trigger_tools: [Edit, Write, MultiEdit, NotebookEdit]
    message: |
      Say first which changes you will make, commit by commit.
"""

_PROTECTED = """\
  protected_branch:
    enabled: true
    type: guard
    guard_type: protected_branch
    protected_branches: [main, master, "release/*"]
    trigger_tools: [Edit, Write, MultiEdit, NotebookEdit]
"""

_ADVANCED = """\
  pre_commit_review:
    enabled: true
    scope: single_use       # each commit needs one of its own
    trigger_tools:
      - git: commit         # however it is written: git -C . commit, sh -c 'git commit', an alias
    message: Review the staged changes, then commit.
  verified:
    enabled: true
    stop_only: true         # asked for when the session wants to stop
    message: Run the tests and read their output.
  branch_size:
    enabled: true
    type: dynamic
    calculator: branch_size_calculator
    thresholds: {warn: 250, block: 400}
    approval_ttl: 300
"""

PRESETS = {
    "relaxed": f"{_HEAD}inherit: true\nrequirements:\n{_COMMIT_PLAN}",
    "strict": f"{_HEAD}inherit: true\nrequirements:\n{_COMMIT_PLAN}{_PROTECTED}",
    "minimal": f"{_HEAD}inherit: false\nrequirements: {{}}\n",
    "advanced": f"{_HEAD}inherit: true\nrequirements:\n{_COMMIT_PLAN}{_PROTECTED}{_ADVANCED}",
    "inherit": f"{_HEAD}inherit: true         # all from the requirements.yaml in the client's own folder\n",
}
"""Preset: text of requirements.yaml."""


def init(
    context: CommandContext,
    *,
    preset: str = "relaxed",
    local: bool = False,
    force: bool = False,
    preview: bool = False,
) -> dict[str, Any]:
    """Write a requirements file from a preset.

    Returns:
        ``path``, ``text``, ``written``.

    Raises:
        UsageError: An unknown preset, or a file that is there already (unless ``force``).
    """
    text = PRESETS.get(preset)
    if text is None:
        raise UsageError(f"--preset {preset!r} is none of {', '.join(PRESETS)}")
    top = context.project.root if context.governed else (context.repo.top or context.cwd)
    path = top.rstrip("/") + (LOCAL_CONFIG if local else CONFIG)
    if preview:
        return {"path": path, "text": text, "written": False}
    if os.path.lexists(path):
        if not force:
            raise UsageError(f"{path} is there already; --force replaces it and keeps the old file as .bak")
        if any(entry.human_only for entry in context.rules.active) and context.is_agent:
            raise UsageError("only a person may set up a project with human_only requirements again")
        _write(path, text, keep=path + ".bak")
    else:
        _write(path, text)
    return {"path": path, "text": text, "written": True}


def _write(path: str, text: str, *, keep: str = "") -> None:
    """Write the file; what was there is kept under the name ``keep``, if given.

    Raises:
        UsageError: If it can't be written; the old file then stands.
    """
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if keep:
            _copy(path, keep)
        write_atomic(path, text.encode())
        os.chmod(path, 0o644)
    except OSError as error:
        raise unwritable(f"{path} can't be written", error, path) from error


def _copy(path: str, to: str) -> None:
    """Copy ``path`` to another name; a rename would leave no file if the new one can't be written."""
    if os.path.lexists(to):
        os.unlink(to)
    if os.path.islink(path):
        os.symlink(os.readlink(path), to)
    else:
        os.link(path, to)


def set_enabled(context: CommandContext, name: str = "", enabled: bool = True) -> dict[str, Any]:
    """Enable or disable one requirement, or all of them (``name`` empty), in requirements.local.yaml.

    Returns:
        ``path``, ``name``, ``enabled``.

    Raises:
        UsageError: An unknown name, an agent where a person must, a file that can't be edited in context.
    """
    if name and context.rules.get(name) is None:
        raise UsageError(
            f"no requirement {name!r} in the configuration; `context-graph-cli req status` lists them"
        )
    guarded = [entry.name for entry in context.rules.active if entry.human_only and name in ("", entry.name)]
    if guarded and not enabled and (context.is_agent or not context.terminal):
        raise UsageError(f"{', '.join(guarded)} can be disabled by a person only, in a terminal")
    path = context.project.root.rstrip("/") + LOCAL_CONFIG
    try:
        text = read_bytes(path, MAX_BYTES).decode("utf-8")
    except FileNotFoundError:
        text = "# Own settings of this checkout; they go before requirements.yaml. Keep it out of git.\n"
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read: {error}") from error
    keys = ["requirements", name, "enabled"] if name else ["enabled"]
    new = set_flag(text, keys, enabled, file=path)
    _write(path, new)
    return {"path": path, "name": name, "enabled": enabled}


def config_show(context: CommandContext, *, name: str = "", sources: bool = False) -> dict[str, Any]:
    """Return the merged configuration and where each value comes from.

    Returns:
        ``files`` ([label, path, state]), ``config`` (merged, of one requirement if ``name``), ``problems``,
        and if wanted ``sources`` (dotted key to label).

    Raises:
        UsageError: If no requirement has that name.
    """
    files: list[list[str]] = []
    contents: list[tuple[str, dict[object, object]]] = []
    for label, path in layers(context.project.root, context.claude_dir):
        content, problem = read_yaml(path)
        files.append([label, path, problem or ("used" if content is not None else "absent")])
        if content is not None:
            contents.append((label, content))
    own = dict(contents).get("project", {})
    if own.get("inherit", True) is False:
        contents = [(label, content) for label, content in contents if label != "global"]
        files = [
            [label, path, "not inherited" if label == "global" else state] for label, path, state in files
        ]
    merged: dict[object, object] = {}
    origins: dict[str, str] = {}
    for label, content in contents:
        part = fitting(merged, content)[0]
        merged = deep_merge(merged, part)
        _note_sources(part, "", label, origins, 0)
    if name:
        requirements = merged.get("requirements")
        requirement = requirements.get(name) if isinstance(requirements, dict) else None
        if requirement is None:
            raise UsageError(f"no requirement {name!r} in the configuration")
        prefix = f"requirements.{name}"
        kept = {k: v for k, v in origins.items() if k == prefix or k.startswith(prefix + ".")}
        merged, origins = {"requirements": {name: requirement}}, kept
    wanted = {"sources": origins} if sources else {}
    return {"files": files, "config": merged, **wanted, "problems": context.rules.problems}


def _note_sources(
    content: dict[object, object], prefix: str, label: str, sources: dict[str, str], depth: int
) -> None:
    for key, value in content.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, dict) and value and depth < 8:
            _note_sources(value, path, label, sources, depth + 1)
        else:
            sources[path] = label


# A flag's place in a file is found by the parser's own positions, so that comments, order and layout stay.
# The result is parsed again and must differ from the old content in that one value; otherwise nothing is
# changed and the user is asked to edit by hand.


def set_flag(text: str, path: list[str], value: bool, *, file: str) -> str:
    """Return ``text`` with the boolean at ``path`` set; missing mappings on the way are added.

    Args:
        file: The file's name, for messages.

    Raises:
        UsageError: If the text is not YAML mapping, or the value can't be set without touching others.
    """
    old, problem = parse_yaml(text.encode("utf-8", "surrogatepass"))
    if old is None:
        raise UsageError(f"{file} {problem}; fix it first")
    here: Any = old
    for key in path[:-1]:
        here = here.get(key)
        if here is None:
            break
        if not isinstance(here, dict):
            raise UsageError(f"{file}: {key} is not a mapping; fix it first")
    new = _edited(text, path, "true" if value else "false")
    parsed = None if new is None else parse_yaml(new.encode("utf-8", "surrogatepass"))[0]
    if new is None or not _differs_only_at(path, old, parsed, value):
        shown = f"{'.'.join(path)}: {str(value).lower()}"
        raise UsageError(f"{file}: can't set {shown} without changing more; do it by hand")
    return new


def _differs_only_at(path: list[str], old: object, new: object, value: bool) -> bool:
    before = old if isinstance(old, dict) else {}
    if not isinstance(new, dict):
        return False
    key, rest = path[0], path[1:]
    if before.keys() | {key} != new.keys():
        return False
    if any(before[other] != new[other] for other in before if other != key):
        return False
    return _differs_only_at(rest, before.get(key), new[key], value) if rest else new[key] is value


def _edited(text: str, path: list[str], literal: str) -> str | None:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None  # the C parser, which reads the files, takes a little more than this one
    if node is None or (isinstance(node, yaml.MappingNode) and not node.value and not node.flow_style):
        return _with_newline(text) + _new_lines(path, literal, 0)
    for depth, key in enumerate(path):
        if not isinstance(node, yaml.MappingNode):
            return None
        pairs = [(k, v) for k, v in node.value if k.value == key]
        if not pairs:
            return _inserted(text, node, path[depth:], literal)
        name, child = pairs[-1]
        empty = child.start_mark.index == child.end_mark.index
        if depth == len(path) - 1:
            at, end = child.start_mark.index, child.end_mark.index
            return text[:at] + (" " if empty else "") + literal + text[end:]
        if empty:
            if node.flow_style:
                return None
            indent = name.start_mark.column + 2
            at = _line_end(text, name.end_mark.index)
            return _with_newline(text[:at]) + _new_lines(path[depth + 1 :], literal, indent) + text[at:]
        node = child
    return None


def _inserted(text: str, node: Any, path: list[str], literal: str) -> str:
    """Return ``text`` with the rest of ``path`` as the last key of the mapping ``node``."""
    if node.flow_style:
        inner = f"{_key(path[-1])}: {literal}"
        for key in reversed(path[:-1]):
            inner = f"{_key(key)}: {{{inner}}}"
        at = node.start_mark.index + 1
        return text[:at] + inner + (", " if node.value else "") + text[at:]
    at = _last_leaf_end(node)
    if not (at and text[at - 1 : at] == "\n"):
        at = _line_end(text, at)
    return (
        _with_newline(text[:at]) + _new_lines(path, literal, node.value[0][0].start_mark.column) + text[at:]
    )


def _last_leaf_end(node: Any) -> int:
    while isinstance(node.value, list) and node.value and not node.flow_style:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return int(node.end_mark.index)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _with_newline(text: str) -> str:
    return text + "\n" if text and not text.endswith("\n") else text


def _new_lines(path: list[str], literal: str, indent: int) -> str:
    lines = [f"{' ' * (indent + 2 * depth)}{_key(key)}:" for depth, key in enumerate(path)]
    return "\n".join(lines) + f" {literal}\n"


def _key(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    if plain.isascii() and plain.isalnum() and not plain[0].isdigit() and key.lower() not in _WORDS:
        return key
    return "'" + key.replace("'", "''") + "'"


_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
