"""Our own commands in a shell line: those that no gate holds back, those that only a person may give."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["EXEMPT", "is_own_command", "named_in", "opened", "own_words"]

_PROGRAM = "context-graph-cli"
_ALIAS = "req"
_HARMLESS = frozenset({"status", "list", "sessions", "log", "check", "doctor", "statusline", "keys"})
EXEMPT = _HARMLESS | {"pause", "resume", "satisfy", "approve"}
_TAKES_VALUE = frozenset({"--session", "-s", "--branch", "-b", "--ttl", "--metadata", "-m", "--reason"})
_LONGEST = 4096
_DROPPED = str.maketrans("", "", "'\"\\+ ,\n")


def is_own_command(command: str) -> bool:
    """Whether the command is nothing but calls of ``req`` that no gate may hold back.

    They may stand behind ``cd FOLDER &&`` and send their output to each other or to /dev/null. The program
    is the one that PATH finds, or ours by its full path.
    """
    if _ALIAS not in command or len(command) > _LONGEST or "#" in command:
        return False
    from context_graph.requirements.shell import read
    from context_graph.requirements.shell_words import is_plain

    reading = read(command, {"HOME": os.environ.get("HOME", "")})
    found = False
    for one in reading.commands:
        quiet = all(target == "/dev/null" or target.startswith("&") for _, target in one.redirects)
        if reading.broken or one.assigned or one.captured or not quiet or one.stdin is not None:
            return False
        if one.ends not in ("", "&&", ";", "\n") or one.source is not None or one.shell != (0,):
            return False
        if not one.words or not all(map(is_plain, one.words)):
            return False
        if one.words[0] == "cd" and one.ends == "&&":
            continue
        if not _is_exempt(one.words):
            return False
        found = True
    return found


def _is_exempt(words: list[str]) -> bool:
    program = words[0]
    if program == _ALIAS:
        rest = words[1:]
    elif (program == _PROGRAM or _is_ours(program)) and words[1:2] == [_ALIAS]:
        rest = words[2:]
    else:
        return False
    return bool(rest) and (rest[0] in EXEMPT or rest[:2] == ["config", "show"])


def _is_ours(program: str) -> bool:
    """Whether a full path leads to the program that we belong to, or to nothing at all."""
    if not program.startswith("/") or not program.endswith("/" + _PROGRAM):
        return False
    if not os.path.lexists(program):
        return True
    folders = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(":")]
    ours = {os.path.realpath(f"{folder}/{_PROGRAM}") for folder in folders if folder.startswith("/")}
    return os.path.realpath(program) in ours


def own_words(words: list[str]) -> list[str] | None:
    """The words after ``req`` of a call of ours; ["setup", …] for that one; None if it is none of ours."""
    if not words:
        return None
    program, rest = words[0].rpartition("/")[2], words[1:]
    if program == _ALIAS:
        return rest
    if program in (_PROGRAM, "context-graph-py"):
        return _after_program(rest)
    if program.startswith("python") and any(word.startswith("context_graph") for word in rest):
        at = next(at for at, word in enumerate(rest) if word.startswith("context_graph"))
        return _after_program(rest[at + 1 :]) if rest[at - 1 : at] == ["-m"] else None
    return None


def _after_program(rest: list[str]) -> list[str] | None:
    while rest and rest[0].startswith("-"):
        rest = rest[1:]
    if not rest:
        return []
    if rest[0] == _ALIAS:
        return rest[1:]
    if rest[0] in ("setup", "hooks"):
        return rest
    return [rest[0], *rest[1:]] if any(ord(char) < 6 for char in rest[0]) else None


def opened(words: list[str], protected: Collection[str], *, more: bool = False) -> list[str]:
    """Which of ``protected`` the words after ``req`` would satisfy, clear or switch off.

    A word that only a run would tell may be any of them.
    """
    every = list(protected)
    if not words:
        return every if more else []
    verb, rest = words[0], words[1:]
    if any(ord(char) < 6 for char in verb):
        return every
    if verb in _HARMLESS or verb in ("pause", "resume"):
        return []  # an agent's pause does not cover what only a person may satisfy
    if verb == "setup":
        return every if "--remove" in rest else []
    if verb == "hooks":
        return [] if rest[:1] in ([], ["generate-config"]) else every  # an event that the client has not sent
    if verb == "config":
        return every if rest[:1] not in ([], ["show"]) else []
    if verb == "disable" or verb == "enable":
        given = [word for word in rest if not word.startswith("-")]
        return [name for name in protected if name in given] if given and not _marked(given) else every
    if verb in ("init", "prune"):
        return every
    return _named(rest, every, more=more) if verb in ("satisfy", "approve", "clear") else []


def _marked(words: list[str]) -> bool:
    return any(ord(char) < 6 for word in words for char in word)


def _named(rest: list[str], every: list[str], *, more: bool) -> list[str]:
    names, skip = [], False
    for word in rest:
        if skip:
            skip = False
        elif word.startswith("-"):
            if word in ("--all", "-a"):
                return every
            skip = word in _TAKES_VALUE
        else:
            names.append(word)
    if more or not names or _marked(names):
        return every
    return [name for name in every if name in names]


def named_in(text: str) -> bool:
    """Whether a program's text, quotes and signs between left out, names our program."""
    plain = text.translate(_DROPPED)
    return "context_graph" in plain or "context-graph" in plain or "reqsatisfy" in plain
