"""Tells which files a shell command sets back, as `git checkout`, `restore` and `stash` do."""

from __future__ import annotations

import os.path
from collections.abc import Collection
from typing import Final, NamedTuple

from context_graph.text.shell_lines import ShellCommand, calls_of

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
    calls = calls_of(command) if "git" in command else []
    stashed = [verb for call in calls for verb in [_stash(call.words)] if verb]
    paths = [path for call in calls for path in _set_back(call)]
    last = stashed[-1] if stashed else ""
    return Reverts([*paths, *([ALL] if last == "push" else [])], last == "push", last == "pop")


def reverts_last(command: str) -> bool:
    """Return whether setting files back is the last that a command does."""
    calls = calls_of(command) if "git" in command else []
    last = max((at for at, call in enumerate(calls) if _set_back(call) or _stash(call.words)), default=-1)
    return last == len(calls) - 1


def shows_worktree(command: str) -> bool:
    """Return whether a command prints how the working tree differs from its last commit."""
    calls = calls_of(command) if "git" in command else []
    return any(_is_plain_diff(call.words) for call in calls)


def _is_plain_diff(words: list[str]) -> bool:
    named = [word for word in words[2:] if not word.startswith("-") and word != "HEAD"]
    return words[:2] == ["git", "diff"] and all("." in word.strip(".") or "/" in word for word in named)


def is_in(path: str, folders: Collection[str]) -> bool:
    """Return whether a file is one of ``folders`` or in one; `ALL` has each."""
    return any(folder == ALL or path == folder or path.startswith(f"{folder}/") for folder in folders)


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
