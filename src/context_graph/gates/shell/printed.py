"""Tells what the commands of a substitution print, where that is plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from posixpath import dirname, join

from context_graph.gates.shell.command import FRESH, UNKNOWN, Command, is_plain, names
from context_graph.gates.shell.options import letters, operands

_GIT_FOLDERS = names("--git-dir --git-common-dir --absolute-git-dir")


def printed(commands: Sequence[Command], variables: Mapping[str, str]) -> str:
    """What the commands print: one echo, printf, pwd or cat of a text, a folder that mktemp makes; else the
    mark. Of several between which `||` chooses, what each of them prints.
    """
    if len(commands) > 1 and all(one.ends == "||" for one in commands[:-1]):
        texts = {_printed(one, variables) for one in commands[:_CHOICES]}
        return texts.pop() if len(texts) == 1 and len(commands) <= _CHOICES else UNKNOWN
    return _printed(commands[0], variables) if len(commands) == 1 else UNKNOWN


_CHOICES = 8


def _printed(command: Command, variables: Mapping[str, str]) -> str:
    if not command.words:
        return UNKNOWN
    program, words = command.program, command.words[1:]
    if program == "cat" and command.stdin is not None:
        return command.stdin
    if any(not operator.startswith("2>") for operator, _ in command.redirects):
        return UNKNOWN
    if program == "echo":
        while words and words[0] in ("-n", "-e", "-E", "-ne", "-en"):
            words = words[1:]
        return " ".join(words)
    if program == "printf" and words and words[0] != "-v":
        if "%" not in words[0]:
            return words[0]
        return " ".join(words[1:]) if words[0].strip("\\n") in ("%s", "%s ", "%b") else UNKNOWN
    if program == "mktemp":
        return _made(command, variables)
    if command.is_git and words[:1] == ["rev-parse"] and len(words) == 2 and words[1] in _GIT_FOLDERS:
        return UNKNOWN + "/.git"
    return variables.get("PWD", UNKNOWN) if program == "pwd" else UNKNOWN


def _made(command: Command, variables: Mapping[str, str]) -> str:
    """The folder that `mktemp -d` makes; the mark for a file, and where only a run would tell the place."""
    rest = command.words[1:]
    given, long = dict(letters(rest, "p")), {word.partition("=")[0]: word for word in rest}
    if ("d" not in given and "--directory" not in long) or "u" in given or "--dry-run" in long:
        return UNKNOWN
    template = next(iter(operands(rest, "p", ("--suffix",))), "")
    folder = given.get("p", "") or long.get("--tmpdir", "").partition("=")[2]
    if not folder and (not template or "t" in given or "--tmpdir" in long):
        folder = dict(command.assigned).get("TMPDIR") or variables.get("TMPDIR") or "/tmp"
    made = join(folder, dirname(template), FRESH)
    return made if is_plain(made) and is_plain(template) else UNKNOWN
