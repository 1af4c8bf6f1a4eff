"""In which folders the parts of a shell command run, where it says so plainly: ``cd X && …``, ``git -C X …``.

What can't be read plainly (substitutions, groups, here-documents) belongs to the folder reached before it.
"""

from __future__ import annotations

import os

__all__ = ["command_folders", "simple_commands"]

_SEPARATORS = ("&&", "||", ";", "|", "&", "\n")
_OPAQUE = frozenset("`$(){}<")
_CHARS = 16_384
_PARTS = 200
_TAKES_VALUE = ("-c", "--namespace", "--exec-path", "--super-prefix", "--config-env")


def command_folders(command: str, cwd: str) -> list[tuple[str, str]]:
    """(folder, text) of each simple command, in order; one for the whole where nothing changes the folder.

    A folder that is not there is not entered, as the shell would not.
    """
    if len(command) > _CHARS or not any(word in command for word in ("cd", "pushd", "git")):
        return [(cwd, command)]
    found: list[tuple[str, str]] = []
    folder = cwd
    for text, words, after in simple_commands(command):
        if words[:1] in (["cd"], ["pushd"]) and after in ("&&", ";", "\n") and len(words) == 2:
            folder = _entered(folder, words[1])
            continue
        found.append((_of_git(words, folder), text))
    return found or [(cwd, command)]


def _entered(folder: str, path: str) -> str:
    there = os.path.join(folder, os.path.expanduser(path))
    return there if os.path.isdir(there) else folder


def _of_git(words: list[str], folder: str) -> str:
    """Where ``git`` with its global options works; ``folder`` for any other program."""
    words = list(words)
    while words and "=" in words[0] and words[0].split("=", 1)[0].isidentifier():
        del words[0]
    if not words or words[0].rpartition("/")[2] != "git":
        return folder
    at = 1
    while at < len(words) and words[at].startswith("-"):
        name, joined, value = words[at].partition("=")
        if name in ("-C", "--work-tree", "--git-dir") and not joined:
            at += 1
            value = words[at] if at < len(words) else ""
        elif name in _TAKES_VALUE and not joined:
            at += 1
        if name in ("-C", "--work-tree", "--git-dir") and value:
            folder = _entered(folder, value)
        at += 1
    return folder


def simple_commands(command: str) -> list[tuple[str, list[str], str]]:
    """(text, words, separator behind it); what can't be read is one last command without words."""
    found: list[tuple[str, list[str], str]] = []
    start = at = 0
    words: list[str] = []
    current: str | None = None
    while at < len(command):
        char = command[at]
        if char in _OPAQUE or len(found) >= _PARTS:
            return [*found, (command[start:], [], "")]
        separator = next((one for one in _SEPARATORS if command.startswith(one, at)), "")
        if char in "'\"":
            end = _closing(command, at)
            if end < 0:
                return [*found, (command[start:], [], "")]
            current = (current or "") + command[at + 1 : end]
            at = end
        elif char == "\\":
            at += 1
            if command[at : at + 1] != "\n":
                current = (current or "") + command[at : at + 1]
        elif separator or char in " \t":
            words += [] if current is None else [current]
            current = None
            if separator:
                if words:
                    found.append((command[start:at], words, separator))
                words, start = [], at + len(separator)
                at = start - 1
        else:
            current = (current or "") + char
        at += 1
    words += [] if current is None else [current]
    return [*found, (command[start:], words, "")] if words else found


def _closing(command: str, at: int) -> int:
    """Where the quote that opens at ``at`` ends; -1 if it does not, or holds what a shell would act upon."""
    quote = command[at]
    end = command.find(quote, at + 1)
    inner = command[at + 1 : end]
    return -1 if quote == '"' and any(mark in inner for mark in "`$\\") else end
