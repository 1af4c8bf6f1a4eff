"""The words of `req …`: what each command takes, read without Typer, whose parser costs 0.1 s a call.

An agent runs these commands between two tool calls, so they start in the time of a bare interpreter. Anything
that is not plain (a question for help, a wrong option) goes to Typer, whose words hold; a test keeps this
table equal to the Typer commands.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["COMMANDS", "FLAGS", "MANY", "ONE", "read_words"]

FLAGS = frozenset(
    (
        *("--json", "--verbose", "--summary", "--force", "--all", "--preview", "--project", "--sources"),
        *("--yes", "--local"),
    )
)
NUMBERS = frozenset(("--ttl",))
MANY, ONE = "names", "name"
"""Parameter that takes the words that are no options: all of them, or at most one."""

_SHORT = {"-b": "--branch", "-s": "--session", "-v": "--verbose", "-m": "--metadata", "-a": "--all"}
_SATISFY = ("--session", "--branch", "--ttl", "--metadata", "--force", "--json")

COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "status": ("", ("--session", "--branch", "--json", "--verbose", "--summary")),
    "satisfy": (MANY, _SATISFY),
    "approve": (MANY, _SATISFY),
    "clear": (MANY, ("--all", "--session", "--branch", "--json")),
    "pause": ("", ("--session", "--reason", "--json")),
    "resume": ("", ("--session", "--json")),
    "list": ("", ("--json",)),
    "prune": ("", ("--preview", "--json")),
    "sessions": ("", ("--project", "--json")),
    "enable": (ONE, ("--json",)),
    "disable": (ONE, ("--json",)),
    "config show": (ONE, ("--sources", "--json")),
    "init": ("", ("--preset", "--yes", "--project", "--local", "--force", "--preview", "--json")),
    "check": (ONE, ("--input", "--session", "--json")),
    "keys": (ONE, ("--json",)),
    "doctor": ("", ("--json",)),
    "log": ("", ("--limit", "--session", "--requirement", "--kind", "--json")),
    "statusline": ("", ()),
}
"""Command to its plain words and its options; an option's parameter is its name without dashes."""


def read_words(words: list[str]) -> tuple[str, dict[str, Any]] | None:
    """(command, parameters) of the words behind `req`; None where they are not plain.

    No word at all means `status`; `config NAME` means `config show NAME`, as in the original.
    """
    command, rest = _command(words)
    if command is None:
        return None
    plain, options = COMMANDS[command]
    given: dict[str, Any] = {}
    names: list[str] = []
    left = iter(rest)
    for word in left:
        if not word.startswith("-"):
            names.append(word)
            continue
        name, joined, value = word.partition("=")
        name = _SHORT.get(name, name)
        if name not in options or (name in FLAGS and joined):
            return None
        found: Any = True if name in FLAGS else value if joined else next(left, None)
        if name in NUMBERS:
            found = _number(found)
        if found is None:
            return None
        given[name[2:]] = found
    return _with_names(command, plain, names, given)


def _command(words: list[str]) -> tuple[str | None, list[str]]:
    if not words or (words[0].startswith("-") and words[0] not in ("-h", "--help")):
        return "status", words
    for length in (1, 2):
        command = " ".join(words[:length])
        if len(words) >= length and command in COMMANDS:
            return command, words[length:]
    if words[0] == "config" and words[1:2] not in (["-h"], ["--help"]):
        return "config show", words[1:]
    return None, words


def _with_names(
    command: str, plain: str, names: list[str], given: dict[str, Any]
) -> tuple[str, dict[str, Any]] | None:
    if (names and not plain) or (plain == ONE and len(names) > 1):
        return None
    if plain == MANY:
        given[MANY] = names
    elif plain == ONE:
        given[ONE] = names[0] if names else ""
    return command, given


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
