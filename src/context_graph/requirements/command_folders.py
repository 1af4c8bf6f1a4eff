"""In which folders the parts of a shell command run, where it says so: ``cd X && …``, ``git -C X …``."""

from __future__ import annotations

import os

from context_graph.requirements.shell_command import Command
from context_graph.requirements.shell_words import is_plain

__all__ = ["command_folders"]

_PARTS = 200
_PLACES = ("-C", "--work-tree", "--git-dir")
_TAKES_VALUE = ("-c", "--namespace", "--exec-path", "--super-prefix", "--config-env", *_PLACES)
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@+%")
_MARKS = {ord(mark): "?" for mark in "\0\1\2\3\4\5"}


def command_folders(command: str, cwd: str, home: str = "") -> list[tuple[str, str]]:
    """(folder, text) of each simple command, in order; one for the whole where nothing changes the folder.

    A folder that is not there, or that only a run would tell, is not entered; what can't be read to its end
    belongs to ``cwd`` too. The texts are written anew from the words.

    Cost: time grows with the command's length; one stat call for each folder that is named.
    """
    if not any(word in command for word in ("cd", "pushd", "git", "GIT_")):
        return [(cwd, command)]
    from context_graph.requirements.shell_runs import runs

    reading = runs(command, {"PWD": cwd, **({"HOME": home} if home else {})})
    shells = _Shells(cwd)
    found = []
    for one in reading.commands[:_PARTS]:
        folder = shells.folder(one)
        if one.words and not one.wraps and not shells.moved(one):
            found.append((_of_git(one, folder), _text(one)))
    if not found or reading.broken or len(reading.commands) > _PARTS:
        found.append((cwd, command))
    return found


class _Shells:
    """The folder that each shell of a command line is in; a subshell begins where its parent is."""

    def __init__(self, cwd: str) -> None:
        self._at: dict[tuple[int, ...], list[str]] = {(0,): [cwd]}
        self._next: dict[tuple[int, ...], str] = {}

    def folder(self, one: Command) -> str:
        """Where the command runs."""
        shell = one.shell
        while shell not in self._at and len(shell) > 1:
            shell = shell[:-1]
        stack = self._at.setdefault(one.shell, self._at.get(shell, self._at[(0,)])[-1:])
        folder = stack[-1]
        if one.shell in self._next:  # what stands behind `cd X ||` runs where X could not be entered
            stack[-1] = self._next.pop(one.shell)
        return folder

    def moved(self, one: Command) -> bool:
        """Whether the command only changes its shell's folder."""
        program, stack = one.words[0], self._at[one.shell]
        if program == "popd" and len(stack) > 1:
            stack.pop()
        if program not in ("cd", "pushd"):
            return program == "popd"
        words = [word for word in one.words[1:] if not word.startswith("-")]
        if len(words) != 1 or one.ends in ("|", "|&", "&"):
            return True
        there = _entered(stack[-1], words[0])
        if one.ends == "||":
            self._next[one.shell] = there
        elif program == "pushd":
            stack.append(there)
        else:
            stack[-1] = there
        return True


def _entered(folder: str, path: str) -> str:
    there = os.path.join(folder, path)
    return there if path and is_plain(path) and os.path.isdir(there) else folder


def _of_git(one: Command, folder: str) -> str:
    """Where ``git`` with its global options works; ``folder`` for any other program."""
    if one.program not in ("git", "git.exe"):
        return folder
    for name, value in one.assigned:
        if name in ("GIT_DIR", "GIT_WORK_TREE"):
            folder = _entered(folder, value)
    words, at = one.words, 1
    while at < len(words) and words[at].startswith("-"):
        name, joined, value = words[at].partition("=")
        if name in _TAKES_VALUE and not joined:
            at += 1
            value = words[at] if at < len(words) else ""
        if name in _PLACES:
            folder = _entered(folder, value)
        at += 1
    return folder


def _text(one: Command) -> str:
    """The command's words as a shell would read them again."""
    return " ".join(_quoted(word.translate(_MARKS)) for word in one.words)


def _quoted(word: str) -> str:
    return word if word and _BARE.issuperset(word) else "'" + word.replace("'", "'\\''") + "'"
