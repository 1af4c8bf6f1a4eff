"""Maintains state: lists branches and sessions, prunes what is gone, reports what is wrong.

And puts hooks of ours into a repository's own folder, for hosts that have no environment file. The hook that
was there before runs after ours. The pre-commit framework moves ours aside to `NAME.legacy` when it is
installed later, and calls it there; the launcher (ext/launcher/src/git) knows it by that name too.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from context_graph.errors import UsageError
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.gates.decide.watch import own_hooks, settings_files
from context_graph.gates.state import journal
from context_graph.gates.state.session_ids import alias_of
from context_graph.gates.state.state import is_current
from context_graph.gates.state.state_files import read_document, stale_markers
from context_graph.git.repository import ask_git, branch_names
from context_graph.system.small_files import Locked, from_json, number, read_bytes, write_atomic

_GIT_WAIT_S = 10.0
_RECENT_S = 86400.0
_LEFT_S = 3600.0
_BYTES = 1 << 20
_GATING = ("PreToolUse", "PostToolUse", "Stop", "SessionStart")
_CURE = "`context-graph-cli setup`"


def branches(context: CommandContext) -> list[dict[str, Any]]:
    """Return every branch with state: ``branch``, ``path``, ``requirements``, ``satisfied``, ``updated_at``,
    ``exists`` (None if that can't be told), ``current``."""
    there = _existing(context)
    rows = []
    for path in context.files.paths():
        document = read_document(path)
        if document is None:
            continue
        entries = [entry for entry in document["requirements"].values() if isinstance(entry, dict)]
        rows.append(
            {
                "branch": document["branch"],
                "path": path,
                "requirements": len(entries),
                "satisfied": sum(_has_satisfaction(entry, context.now) for entry in entries),
                "updated_at": document.get("updated_at"),
                "exists": None if there is None else document["branch"] in there,
                "current": document["branch"] == context.head.branch,
            }
        )
    return rows


def _has_satisfaction(entry: dict[str, Any], now: float) -> bool:
    records = entry.get("sessions")
    own = list(records.values()) if isinstance(records, dict) else []
    return any(isinstance(record, dict) and is_current(record, now) for record in [entry, *own])


def _existing(context: CommandContext) -> set[str] | None:
    names = branch_names(context.repo)
    if names is not None:
        return names
    words = ("for-each-ref", "--format=%(refname)", "refs/heads/")
    done = ask_git(context.repo, *words, timeout_s=_GIT_WAIT_S)
    if done is None or done.returncode:
        return None
    return {os.fsdecode(line).removeprefix("refs/heads/") for line in done.stdout.splitlines()}


def prune(context: CommandContext, *, preview: bool = False) -> dict[str, Any]:
    """Remove the state of branches that are gone, and week-old pause markers; nothing else.

    Returns:
        ``pruned`` (branches), ``markers`` (how many), ``sessions`` (dead registry entries).

    Raises:
        UsageError: If the branches that exist can't be told.
    """
    there = _existing(context)
    if there is None:
        raise UsageError("git does not say which branches exist; nothing was removed")
    gone = []
    for path in context.files.paths():
        document = read_document(path)
        if document is None or document["branch"] in there:
            continue
        gone.append(document["branch"])
        if not preview:
            _remove(context, path, document["branch"])
    markers = stale_markers(context.repo.common_dir, context.now)
    dead = 0
    if not preview:
        for path in markers + _leftovers(context):
            os.unlink(path)
        dead = context.registry.sweep(context.now)
    return {"pruned": gone, "markers": len(markers), "sessions": dead}


def _leftovers(context: CommandContext) -> list[str]:
    """Return old temporary files of killed processes."""
    folder = context.files.folder
    names = os.listdir(folder) if os.path.isdir(folder) else []
    paths = [f"{folder}/{name}" for name in names if name.startswith(".") and name.endswith(".tmp")]
    return [path for path in paths if context.now - os.stat(path).st_mtime > _LEFT_S]


def _remove(context: CommandContext, path: str, branch: str) -> None:
    """Remove the branch's state, and its lock where no other branch's state lies beside it."""
    flat = path.removesuffix(".json").partition("~")[0]
    lock = flat + ".lock"
    try:
        with Locked(lock):
            document = read_document(path)
            if document is not None and document["branch"] == branch:
                os.unlink(path)
            folder, _, name = flat.rpartition("/")
            beside = [n for n in os.listdir(folder) if n == name + ".json" or n.startswith(name + "~")]
            if not beside:
                os.unlink(lock)  # who waits for it notices, and takes the new one
    except OSError as error:
        raise UsageError(f"{path} can't be removed: {error.strerror or error}") from error


def sessions(context: CommandContext, *, project: bool = False) -> list[dict[str, Any]]:
    """Return live sessions, in order of coming: ``session_id``, ``alias``, ``project_dir``, ``branch``,
    ``pid``, ``started_at``, ``last_active``; those of this project alone if ``project``."""
    rows = []
    for key, entry in context.registry.live(context.now).items():
        if project and entry.get("project_dir") != context.project.work:
            continue
        rows.append(
            {
                "session_id": key,
                "alias": alias_of(key),
                "project_dir": entry.get("project_dir"),
                "branch": entry.get("branch"),
                "pid": entry.get("ppid"),
                "started_at": entry.get("started_at"),
                "last_active": entry.get("last_active"),
            }
        )
    return rows


Found = tuple[str, str, str]
"""What is wrong or worth knowing: level (error, warning, note, ok), what, cure."""


def doctor(context: CommandContext) -> list[dict[str, str]]:
    """Return what is wrong or worth knowing: ``level`` (error, warning, note, ok), ``what``, ``cure``."""
    mend = [(level, text, "edit the file") for level, text in context.rules.problems]
    return _findings([*mend, *_governing(context), *_in_state(context), *_failures(context)])


def sound() -> dict[str, str]:
    """Return the finding to show when nothing is wrong."""
    return {"level": "ok", "what": "the requirements of this project are sound", "cure": ""}


def _findings(rows: Iterable[Found]) -> list[dict[str, str]]:
    return [{"level": level, "what": what, "cure": cure} for level, what, cure in rows]


def _failures(context: CommandContext) -> Iterator[Found]:
    errors = [
        entry
        for entry in journal.read(context.repo.common_dir)
        if entry.get("kind") == "error" and context.now - number(entry.get("at")) <= _RECENT_S
    ]
    if errors:
        last = str(errors[-1].get("detail", ""))
        yield "warning", f"{len(errors)} failures in the last day, the latest: {last}", "req log"


def _governing(context: CommandContext) -> Iterator[Found]:
    if not context.governed:
        text = "this project has no .claude/requirements.yaml: nothing is enforced"
        yield "warning", text, "`context-graph-cli req init`"
        return
    if context.env.get("CLAUDE_SKIP_REQUIREMENTS"):
        yield "warning", "CLAUDE_SKIP_REQUIREMENTS is set: nothing is enforced", "unset it"
    if context.rules.readable and not context.rules.active:
        cure = "`context-graph-cli req enable NAME` switches one on"
        yield "warning", "no requirement is enabled: nothing is enforced", cure
    if not context.head.branch:
        text = "HEAD names no branch: nothing is enforced until one is checked out"
        yield "note", text, "`git switch BRANCH`"


def _in_state(context: CommandContext) -> Iterator[Found]:
    folder = context.files.folder
    target = folder if os.path.isdir(folder) else context.repo.common_dir
    if not os.access(target, os.W_OK | os.X_OK) or (os.path.exists(folder) and not os.path.isdir(folder)):
        text = f"{folder} can't be written: satisfactions can't be kept"
        yield "error", text, "make it a folder that you may write"
    for path in context.files.paths():
        if read_document(path) is None:
            text = f"{path} is not a state file of version 1.0; it counts as empty"
            yield "warning", text, "look at it, then move it away"
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".unreadable"):
            text = f"{folder}/{name} could not be read and was moved aside"
            yield "note", text, "look at it, then move it away"
    gone = [row["branch"] for row in branches(context) if row["exists"] is False]
    if gone:
        yield "note", f"state of {len(gone)} branches that are gone", "`context-graph-cli req prune`"


# Whether the client's settings call our hooks at all


def installation(context: CommandContext, root: str) -> list[dict[str, str]]:
    """Return findings about hooks and data root: ``level`` (error, warning, note, ok), ``what``, ``cure``."""
    return _findings(_of_installation(context, root))


def _of_installation(context: CommandContext, root: str) -> Iterator[Found]:
    hooked: dict[str, bool] = {}
    for path in settings_files(context.project, context.claude_dir):
        settings, problem = _read(path)
        if problem:
            yield "error", f"{path}: {problem}: the client ignores the whole file", "fix it"
        if settings.get("disableAllHooks") is True:
            yield "error", f"{path}: disableAllHooks is true: no gate runs", "remove it"
        hooked.update(own_hooks(settings))
    yield _about_hooks(context, hooked)
    folder = root if os.path.isdir(root) else os.path.dirname(root)
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        text = f"the data root {root} can't be written: refusals are not logged and no owner can start"
        yield "warning", text, "make it writable or set CONTEXT_GRAPH_HOME"


def missing_hooks(context: CommandContext) -> list[str]:
    """Return the client's events that a gate needs and no settings file calls us for."""
    hooked: dict[str, bool] = {}
    for path in settings_files(context.project, context.claude_dir):
        hooked.update(own_hooks(_read(path)[0]))
    return [event for event in _GATING if event not in hooked]


def _about_hooks(context: CommandContext, hooked: dict[str, bool]) -> Found:
    missing = [event for event in _GATING if event not in hooked]
    if missing:
        text = f"no settings file calls the hooks of {', '.join(missing)}"
        live = context.registry.live(context.now).values()
        if any(entry.get("project_dir") == context.project.work for entry in live):
            return "note", f"{text}, but they run: a plugin probably calls them", ""
        level = "error" if context.governed else "warning"
        return level, f"{text}: nothing is enforced there", _CURE
    if hooked["PreToolUse"]:
        text = "gates are strict: if context-graph fails or is missing, every tool call here is blocked"
        return "note", text, "`context-graph-cli setup --no-strict-gates` lets them pass again"
    cure = "`context-graph-cli setup --strict-gates` blocks them (Claude Code 2.1.330 or later)"
    return "note", "if context-graph fails or is missing, tool calls pass unchecked", cure


def _read(path: str) -> tuple[dict[str, Any], str]:
    try:
        value = from_json(read_bytes(path, _BYTES))
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError, RecursionError) as error:
        return {}, f"not read: {error}"
    return (value, "") if isinstance(value, dict) else ({}, "not a JSON object")


GIT_HOOKS = ("prepare-commit-msg", "pre-applypatch", "pre-push")
"""What asks about every commit and push; no more files than that needs."""
BEFORE = ".before-context-graph"
LEGACY = ".legacy"
_MARK = b"# Made by `context-graph-cli req git-hooks install`"
_SCRIPT = """#!/bin/sh
# Made by `context-graph-cli req git-hooks install`; the same with `remove` takes it out.
if [ -x {program} ]; then exec {program} hooks git "$0" "$@"; fi
before="${{0%.legacy}}{before}"
[ ! -x "$before" ] || exec "$before" "$@"
"""


def install_git_hooks(context: CommandContext, program: str) -> dict[str, Any]:
    """Have git ask ``program`` in this repository: `folder`, and the `installed` and `kept` names.

    Raises:
        UsageError: If the hooks lie in the working tree, where they are everybody's, or can't be written.
    """
    folder = _hooks_folder(context)
    text = _SCRIPT.format(program=shlex.quote(program), before=BEFORE).encode()
    kept = []
    try:
        os.makedirs(folder, exist_ok=True)
        for name in GIT_HOOKS:
            path = f"{folder}/{name}"
            moved = path + LEGACY if _is_our_hook(path + LEGACY) else path
            if moved == path and os.path.lexists(path) and not _is_our_hook(path):
                os.rename(path, path + BEFORE)
                kept.append(name)
            write_atomic(moved, text)
            os.chmod(moved, 0o755)
    except OSError as error:
        raise unwritable("git's hooks can't be written", error) from error
    return {"folder": folder, "installed": list(GIT_HOOKS), "kept": kept}


def remove_git_hooks(context: CommandContext) -> dict[str, Any]:
    """Take ours out, and put back what was there: `folder`, and the `removed` and `restored` names.

    Raises:
        UsageError: From an agent, or if they can't be changed.
    """
    if context.is_agent:
        raise UsageError("git's hooks are taken out by a person: ask the user to run this in a terminal")
    folder = _hooks_folder(context)
    removed, restored = [], []
    try:
        for name in GIT_HOOKS:
            path = f"{folder}/{name}"
            own = next((at for at in (path, path + LEGACY) if _is_our_hook(at)), "")
            if not own:
                continue
            os.unlink(own)
            removed.append(name)
            if os.path.lexists(path + BEFORE):
                os.rename(path + BEFORE, own)
                restored.append(name)
    except OSError as error:
        raise unwritable("git's hooks can't be changed", error) from error
    return {"folder": folder, "removed": removed, "restored": restored}


def _hooks_folder(context: CommandContext) -> str:
    done = ask_git(context.repo, "rev-parse", "--git-path", "hooks", timeout_s=_GIT_WAIT_S, in_tree=True)
    if done is None or done.returncode:
        why = "it does not answer" if done is None else os.fsdecode(done.stderr).strip()[:200]
        raise UsageError(f"git does not tell the folder of its hooks: {why}")
    folder = os.path.realpath(os.path.join(context.repo.top, os.fsdecode(done.stdout).rstrip("\n")))
    git_dirs = (context.repo.common_dir, context.repo.git_dir)
    top = os.path.realpath(context.repo.top)
    if f"{folder}/".startswith(f"{top}/") and not any(f"{folder}/".startswith(f"{at}/") for at in git_dirs):
        raise UsageError(
            f"git's hooks are in {folder}, in the working tree; add to your prepare-commit-msg and pre-push: "
            'context-graph-cli hooks git NAME "$@" || exit 1'
        )
    return folder


def _is_our_hook(path: str) -> bool:
    try:
        return _MARK in read_bytes(path, _BYTES)
    except (OSError, ValueError):
        return False
