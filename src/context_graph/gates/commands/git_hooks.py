"""Puts hooks of ours into a repository's own folder, for hosts that have no environment file.

The hook that was there before runs after ours. The pre-commit framework moves ours aside to `NAME.legacy`
when it is installed later, and calls it there; the launcher (ext/launcher/src/git) knows it by that name too.
"""

from __future__ import annotations

import os
import shlex
from typing import Any

from context_graph.errors import UsageError
from context_graph.gates.commands.command_context import CommandContext, unwritable
from context_graph.git.repository import ask_git
from context_graph.system.small_files import read_bytes

NAMES = ("prepare-commit-msg", "pre-applypatch", "pre-push")
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
_BYTES = 1 << 20
_GIT_S = 5.0


def install(context: CommandContext, program: str) -> dict[str, Any]:
    """Have git ask ``program`` in this repository: `folder`, and the `installed` and `kept` names.

    Raises:
        UsageError: If the hooks lie in the working tree, where they are everybody's, or can't be written.
    """
    folder = _folder(context)
    text = _SCRIPT.format(program=shlex.quote(program), before=BEFORE).encode()
    kept = []
    try:
        os.makedirs(folder, exist_ok=True)
        for name in NAMES:
            path = f"{folder}/{name}"
            moved = path + LEGACY if _is_ours(path + LEGACY) else path
            if moved == path and os.path.lexists(path) and not _is_ours(path):
                os.rename(path, path + BEFORE)
                kept.append(name)
            _write(moved, text)
    except OSError as error:
        raise unwritable("git's hooks can't be written", error) from error
    return {"folder": folder, "installed": list(NAMES), "kept": kept}


def remove(context: CommandContext) -> dict[str, Any]:
    """Take ours out, and put back what was there: `folder`, and the `removed` and `restored` names.

    Raises:
        UsageError: From an agent, or if they can't be changed.
    """
    if context.is_agent:
        raise UsageError("git's hooks are taken out by a person: ask the user to run this in a terminal")
    folder = _folder(context)
    removed, restored = [], []
    try:
        for name in NAMES:
            path = f"{folder}/{name}"
            own = next((at for at in (path, path + LEGACY) if _is_ours(at)), "")
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


def _folder(context: CommandContext) -> str:
    done = ask_git(context.repo, "rev-parse", "--git-path", "hooks", timeout_s=_GIT_S, in_tree=True)
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


def _is_ours(path: str) -> bool:
    try:
        return _MARK in read_bytes(path, _BYTES)
    except (OSError, ValueError):
        return False


def _write(path: str, text: bytes) -> None:
    draft = f"{path}.{os.getpid()}"
    with open(draft, "wb") as out:
        out.write(text)
    os.chmod(draft, 0o755)
    os.replace(draft, path)
