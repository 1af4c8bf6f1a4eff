"""Writes and shows configuration: init with its presets, enable and disable, config show."""

from __future__ import annotations

import os
from typing import Any

from context_graph.errors import UsageError
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.gates.config.config import deep_merge, fitting, layers
from context_graph.gates.config.yaml_files import MAX_BYTES, read_yaml, set_flag
from context_graph.gates.files import read_bytes, write_atomic
from context_graph.gates.state.project import CONFIG, LOCAL_CONFIG

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
            raise UsageError(f"{path} is there already; --force replaces it (the old one is kept as .bak)")
        if any(entry.human_only for entry in context.rules.active) and context.is_agent:
            raise UsageError("a project with human_only requirements can be set up anew by a person only")
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


def set_enabled(context: CommandContext, name: str, enabled: bool) -> dict[str, Any]:
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


def config_show(context: CommandContext, *, name: str = "") -> dict[str, Any]:
    """The merged configuration and where each value comes from.

    Returns:
        ``files`` ([label, path, state]), ``config`` (merged, of one requirement if ``name``), ``sources``
        (dotted key to label), ``problems``.

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
    sources: dict[str, str] = {}
    for label, content in contents:
        part = fitting(merged, content)[0]
        merged = deep_merge(merged, part)
        _note_sources(part, "", label, sources, 0)
    if name:
        requirements = merged.get("requirements")
        one = requirements.get(name) if isinstance(requirements, dict) else None
        if one is None:
            raise UsageError(f"no requirement {name!r} in the configuration")
        prefix = f"requirements.{name}"
        kept = {k: v for k, v in sources.items() if k == prefix or k.startswith(prefix + ".")}
        merged, sources = {"requirements": {name: one}}, kept
    return {"files": files, "config": merged, "sources": sources, "problems": context.rules.problems}


def _note_sources(
    content: dict[object, object], prefix: str, label: str, sources: dict[str, str], depth: int
) -> None:
    for key, value in content.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, dict) and value and depth < 8:
            _note_sources(value, path, label, sources, depth + 1)
        else:
            sources[path] = label
