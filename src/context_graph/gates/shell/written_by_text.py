"""Finds the files that a text for sed or awk may write, whatever else it does."""

from __future__ import annotations

from collections.abc import Sequence

from context_graph.gates.shell.options import letters, operands

_MOST = 500
"""Names that are looked at; a text with more has its last ones looked at."""

_IN_LINE = 60

_CHARS = 4096
_AWK_WRITES = (">", "|", "system")
_AWK_SPLITS = str.maketrans(dict.fromkeys("\"'();|>", " "))


def written_by_text(program: str, words: Sequence[str], stdin: str = "") -> list[str]:
    """What may be the name of a file in a text that sed or awk is given, where it writes or runs something.

    ``words`` are those after the program. More is named than is written: the caller asks where each leads.
    """
    from_file = any(letter == "f" for letter, _ in letters(words, "efl" if program == "sed" else "fvF"))
    given = [*words, stdin] if from_file else [*words]
    if program == "sed":
        return [name for text in given for line in text.split("\n") for name in _in_sed(line)][-_MOST:]
    texts = [word for word in given if any(sign in word for sign in _AWK_WRITES)]
    found = [name for text in texts for name in text.translate(_AWK_SPLITS).split()]
    if any(_to_variable(text) for text in texts):
        found += [word.partition("=")[2] for word in words if "=" in word and word not in texts]
    if any(">" in text and ("FILENAME" in text or "ARGV" in text) for text in texts):
        found += operands(words, "vfF")
    return [name for name in found if len(name) <= _CHARS][-_MOST:]


def may_write(program: str, text: str) -> bool:
    """Whether a text for sed or awk may run a program, or for awk write a file."""
    if program == "sed":
        return any(map(_runs_in_sed, text.split("\n")))
    return any(sign in text for sign in _AWK_WRITES)


def _runs_in_sed(line: str) -> bool:
    """Whether it has sed's command `e`, or that flag behind a replacement."""
    line = line.rstrip(" ;}")
    flags = len(line)
    while flags and line[flags - 1].isalnum():
        flags -= 1
    return "e" in line[flags:] or line.partition(" ")[0][-1:] == "e"


def _in_sed(line: str) -> list[str]:
    """The names behind each ``w`` of a line, up to its end; behind an ``e`` the words of a command."""
    found: list[str] = []
    at = len(line)
    while len(found) < _IN_LINE and (at := max(line.rfind("w", 0, at), line.rfind("W", 0, at))) >= 0:
        if len(line) - at > _CHARS:
            break
        found.append(line[at + 1 :].strip())
    first, *rest = line[:_CHARS].split(" ")
    if first[-1:] == "e":
        found += rest[:_IN_LINE]
    return [name for name in found if name]


def _to_variable(text: str) -> bool:
    """Whether an awk program prints into a file that a variable names."""
    return any(rest.lstrip(" >")[:1].isalpha() for rest in text.split(">")[1:])
