"""Commands that only read: what they mention they do not do."""

from __future__ import annotations

from context_graph.requirements.command_folders import simple_commands

__all__ = ["only_reads"]

_READERS = frozenset(
    (
        *("grep", "egrep", "fgrep", "rg", "ag", "ack", "cat", "bat", "head", "tail", "less", "more", "wc"),
        *("echo", "printf", "ls", "stat", "file", "diff", "cmp", "sort", "uniq", "cut", "tr", "nl", "jq"),
        *("true", "false", "test", "pwd", "which", "type", "man"),
    )
)
_GIT_READERS = frozenset(("log", "show", "diff", "grep", "status", "blame", "shortlog", "help", "ls-files"))


def only_reads(command: str) -> bool:
    """Whether every part of the command is a plain call of a program that reads; False where that is not
    plain."""
    parts = simple_commands(command)
    return bool(parts) and all(_reads(words) and ">" not in text for text, words, _ in parts)


def _reads(words: list[str]) -> bool:
    if words[:1] == ["git"]:
        return words[1:2] != [] and words[1] in _GIT_READERS
    return bool(words) and words[0].rpartition("/")[2] in _READERS
