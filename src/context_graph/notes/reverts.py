"""Tells which files a shell command sets back, as `git checkout`, `restore` and `stash` do."""

from __future__ import annotations

import os.path
from typing import Final, NamedTuple

from context_graph.text.shell_lines import ShellCommand, read_line

ALL: Final = "."


class Reverts(NamedTuple):
    """What a command set back."""

    paths: list[str]
    """Files and folders; `ALL` for all."""
    aside: bool
    """Whether they were put aside, and may come back."""
    back: bool
    """Whether what was put aside came back."""


def reverts_of(command: str) -> Reverts:
    """Return what a shell command sets back. The name of a branch stands among the files, and is none."""
    calls = read_line(command).commands if "git" in command else []
    stashed = [verb for call in calls for verb in [_stash(call.words)] if verb]
    paths = [path for call in calls for path in _set_back(call)]
    last = stashed[-1] if stashed else ""
    return Reverts([*paths, *([ALL] if last == "push" else [])], last == "push", last == "pop")


def _stash(words: list[str]) -> str:
    """Return "push" or "pop" for `git stash`; "" for what does neither."""
    if words[:2] != ["git", "stash"]:
        return ""
    verb = next((word for word in words[2:] if not word.startswith("-")), "push")
    return {"push": "push", "save": "push", "pop": "pop", "apply": "pop"}.get(verb, "")


def _set_back(call: ShellCommand) -> list[str]:
    verb, options = call.words[1:2], {word for word in call.words[2:] if word.startswith("-")}
    if call.words[0] != "git" or not verb:
        return []
    if verb == ["reset"]:
        return [ALL] if "--hard" in options else []
    unstages = verb == ["restore"] and "--staged" in options and "--worktree" not in options
    if verb[0] not in ("checkout", "restore") or unstages:
        return []
    named = (word for word in call.words[2:] if not word.startswith("-"))
    return [os.path.normpath(os.path.join(call.folder or "", word)) for word in named]
