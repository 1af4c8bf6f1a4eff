"""Commands that only read: what they mention they do not do."""

from __future__ import annotations

from context_graph.requirements.programs import READERS, writes_anyway
from context_graph.requirements.shell_command import Command
from context_graph.requirements.shell_runs import git_words, runs

__all__ = ["only_reads"]

_GIT_READERS = frozenset(("log", "show", "diff", "grep", "status", "blame", "shortlog", "help", "ls-files"))

_PROGRAMMED = frozenset(("sed", "awk", "gawk", "mawk"))
"""Readers whose text may run other programs."""


def only_reads(command: str) -> bool:
    """Whether every program that the command runs reads; False where that can't be told."""
    reading = runs(command)
    ran = [one for one in reading.commands if one.words and not one.wraps]
    return bool(ran) and not reading.broken and all(map(_reads, ran))


def _reads(one: Command) -> bool:
    if any(
        ">" in operator and target != "/dev/null" and target[:1] != "&" for operator, target in one.redirects
    ):
        return False
    if one.program == "git":
        return git_words(one.words[1:])[0] in _GIT_READERS
    return one.program in READERS - _PROGRAMMED and not writes_anyway(one.words)
