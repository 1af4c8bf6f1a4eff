"""One simple command of a shell line, what it prints and which variables it sets, as far as that is plain."""

from __future__ import annotations

from context_graph.requirements.shell_words import CLOSE, COMMA, OPEN, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Command", "learn", "printed"]

_VALUE = 4096
"""Longest value of a variable that is followed."""

_DECLARING = frozenset(("export", "declare", "local", "readonly", "typeset"))
_READING = frozenset(("read", "mapfile", "readarray", "printf", "getopts", "select"))


class Command:
    """One simple command.

    ``words`` hold marks (``shell_words``) where they can't be told. ``assigned`` are its ``NAME=value``;
    ``redirects`` pairs of operator and target; ``stdin`` the text of its here-document or here-string;
    ``source`` the command that is piped into it; ``ends`` the operator after it; ``shell`` the subshells it
    stands in, outermost first; ``more`` says that further words come at run time; ``captured`` that its
    output becomes part of another command; ``wraps`` that what it runs follows as commands of its own.
    """

    __slots__ = (
        *("assigned", "captured", "ends", "more", "redirects"),
        *("shell", "source", "stdin", "words", "wraps"),
    )

    def __init__(self, shell: tuple[int, ...] = (0,), source: Command | None = None) -> None:
        self.words: list[str] = []
        self.assigned: list[tuple[str, str]] = []
        self.redirects: list[tuple[str, str]] = []
        self.stdin: str | None = None
        self.source, self.shell, self.ends = source, shell, ""
        self.more = self.captured = self.wraps = False

    @property
    def program(self) -> str:
        """The program's name without its folders; empty if there is none."""
        return self.words[0].rpartition("/")[2] if self.words else ""


def learn(command: Command, variables: dict[str, str]) -> None:
    """Keep in ``variables`` what the command sets; one that it sets to something unknown is known no more."""
    for name, value in command.assigned:
        _set(variables, name, value)
    first, rest = command.words[:1], command.words[1:]
    if first and first[0] in _DECLARING:
        for word in rest:
            name, equals, value = word.partition("=")
            if equals:
                _set(variables, name, value)
    elif first == ["for"] and rest[1:2] == ["in"]:
        # A word with the variable stands for all that it may become.
        listed = rest[2:]
        _set(variables, rest[0], OPEN + COMMA.join(listed) + CLOSE if len(listed) > 1 else "".join(listed))
    elif first == ["set"] and rest[:1] == ["--"]:
        for number, word in enumerate(rest[1:10], 1):
            _set(variables, str(number), word)
    elif first and first[0] in _READING:
        _read(command, variables)


def _read(command: Command, variables: dict[str, str]) -> None:
    for name in command.words[1:]:
        if command.words[0] == "read" and command.stdin is not None:
            _set(variables, name, command.stdin.strip())
        else:
            variables.pop(name, None)


def _set(variables: dict[str, str], name: str, value: str) -> None:
    if name.endswith("+"):
        name, value = name[:-1], variables.get(name[:-1], UNKNOWN) + value
    variables[name] = value if len(value) <= _VALUE else UNKNOWN


def printed(commands: Iterable[Command], variables: Mapping[str, str]) -> str:
    """What the commands print, where that is plain: one echo, printf or pwd; else the mark."""
    found = list(commands)
    if len(found) != 1 or found[0].redirects or not found[0].words:
        return UNKNOWN
    program, words = found[0].program, found[0].words[1:]
    if program == "echo":
        while words and words[0] in ("-n", "-e", "-E", "-ne", "-en"):
            words = words[1:]
        return " ".join(words)
    if program == "printf" and words and words[0] != "-v":
        if "%" not in words[0]:
            return words[0]
        return " ".join(words[1:]) if words[0].strip("\\n") in ("%s", "%s ", "%b") else UNKNOWN
    if program == "cat" and found[0].stdin is not None and not words:
        return found[0].stdin
    return variables.get("PWD", UNKNOWN) if program == "pwd" else UNKNOWN
