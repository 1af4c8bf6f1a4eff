"""Proposes the command that an unknown word may mean: by a table of synonyms, else by likeness."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Final

_SYNONYMS: Final = {
    **dict.fromkeys(("get", "cat", "view", "print", "open", "describe", "info"), ("show",)),
    **dict.fromkeys(("add", "remember", "save", "new", "create", "put", "note"), ("store", "init")),
    **dict.fromkeys(("find", "query", "ask", "grep", "lookup"), ("recall", "search")),
    **dict.fromkeys(("rm", "del", "delete", "remove", "drop", "erase"), ("forget", "clear", "prune")),
    **dict.fromkeys(("ls", "all", "index"), ("list",)),
    **dict.fromkeys(("change", "update", "modify", "set"), ("edit",)),
    **dict.fromkeys(("revert", "back", "rollback"), ("undo",)),
    **dict.fromkeys(("unforget", "recover", "undelete"), ("restore",)),
    **dict.fromkeys(("log", "changes", "versions"), ("history", "log")),
    **dict.fromkeys(("merge", "dream", "clean", "dedupe"), ("consolidate",)),
    **dict.fromkeys(("dump",), ("export",)),
    **dict.fromkeys(("load",), ("import",)),
    **dict.fromkeys(("install", "init", "configure"), ("setup", "init")),
    **dict.fromkeys(("uninstall",), ("setup",)),
    **dict.fromkeys(("health", "check", "diagnose"), ("doctor", "check")),
    **dict.fromkeys(("state", "health"), ("status",)),
    **dict.fromkeys(("approve", "done", "met"), ("satisfy",)),
    **dict.fromkeys(("kill", "quit"), ("stop",)),
    **dict.fromkeys(("ui", "tui", "browse"), ("view",)),
    **dict.fromkeys(("html",), ("report",)),
    **dict.fromkeys(("version",), ("--version",)),
}
"""What other programs call it -> what it is called here; the first that is there counts."""
_TAKES_AWAY: Final = frozenset(
    {"forget", "clear", "prune", "remove", "restore", "repair", "stop", "consolidate", "leave", "revoke"}
)
"""Never proposed to who may have wanted to look: only by a synonym, or for what is surely a slip of it."""
_LIKE: Final = 0.6
_SLIP: Final = 0.8


def meant_by(word: str, commands: Collection[str]) -> str:
    """Return the one of ``commands`` that ``word`` may mean; "" for none.

    Args:
        commands: Each as it is typed, such as `show`, or `memory show`.
    """
    word = word.lower()
    by_last = {command.rpartition(" ")[2]: command for command in reversed(list(commands))}
    for name in (word, *_SYNONYMS.get(word, ())):
        if name in by_last:
            return by_last[name]
    for name in difflib.get_close_matches(word, by_last, n=3, cutoff=_LIKE):
        likeness = difflib.SequenceMatcher(None, word, name).ratio()
        if name not in _TAKES_AWAY or (likeness >= _SLIP and name[0] == word[:1]):
            return by_last[name]
    return ""
