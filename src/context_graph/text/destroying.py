"""Tells whether a shell line deletes, discards or forces something: no such step is repeated as advice.

What was right once, with a person looking on, is not right whenever the same error comes. Wider than what a
gate refuses (`gates/decide/permission.py`): a step too many that is not told costs little.
"""

from __future__ import annotations

from typing import Final

from context_graph.text.patterns import linear
from context_graph.text.shell_lines import ShellCommand, read_line

_FORCES: Final = frozenset("--force -force --hard --no-verify --force-with-lease".split())  # noqa: SIM905
_UNGUARDS: Final = ("bypasspermissions", "skip-permissions", "dangerously", "bypass-approvals", "yolo")
"""What has an agent ask nobody any more."""
_FORCED: Final = frozenset(
    "push clean checkout switch branch tag worktree rm rmi remove kill stop".split()  # noqa: SIM905
)
"""What programs do for which `-f` forces them; else it mostly names a file."""
_ENDS: Final = frozenset(
    """destroy force-unlock drop dropdb prune purge wipe truncate shred mkfs flushall flushdb delete
    reset db:drop db:reset""".split()  # noqa: SIM905
)
_MADE_AGAIN: Final = frozenset(
    """node_modules target build dist out .next .nuxt .cache .venv venv __pycache__ .pytest_cache .mypy_cache
    .gradle .dart_tool .turbo .parcel-cache .tox coverage""".split()  # noqa: SIM905
)
"""Folders that the next build or install makes again."""
_TELLS: Final = linear(
    r"(?i)(?:^|\W)(?:delet|remov|drop|discard|wip(?:e|ing)|reset|revert|purg|truncat|kill|forc(?:e|ing)|overwr|"
    r"eras|bypass|disabl|skip)"
)
_CODE: Final = linear(r"`([^`]+)`")


def tells_of_destroying(text: str) -> bool:
    """Return whether a sentence says that something was deleted, forced or switched off."""
    return _TELLS.found(text) or any(destroys(match[1]) for match in _CODE.finditer(text))


def destroys(line: str) -> bool:
    """Return whether a command of ``line`` deletes, discards or forces something. Linear in its length."""
    return any(map(_destroys, read_line(line).commands))


def _destroys(command: ShellCommand) -> bool:
    words = [word.lower() for word in command.words]
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    letters = {letter for word in options if not word.startswith("--") for letter in word[1:]}
    program, verbs = command.program.lower(), [word for word in words[1:] if not word.startswith("-")]
    if program in ("rm", "rmdir", "unlink"):
        return not all(word.strip("./").rsplit("/", 1)[-1] in _MADE_AGAIN for word in verbs)
    if any(mark in word for word in words for mark in _UNGUARDS):
        return True
    if options & _FORCES or not _ENDS.isdisjoint([program, *verbs]):
        return True
    if "f" in letters and not _FORCED.isdisjoint(verbs[:2]):
        return True
    text = f"{' '.join(words)} {command.text}".lower()
    return any(word in text for word in ("drop table", "drop database", "drop schema", "delete from"))
