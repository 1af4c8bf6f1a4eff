"""Reads out of commands and scripts which text they put in place of which: `s/a/b/` of sed and perl, and
`text.replace("a", "b")` of Python, where both texts are plain."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

from context_graph.text.patterns import linear
from context_graph.text.shell_lines import UNKNOWN, ShellCommand, calls_of

Swap = tuple[str, str]
_MOST: Final = 8
_CHARS: Final = 8192
_TRIES: Final = 4
_LEAST: Final = 3
"""Characters of a text that is replaced: shorter ones stand everywhere."""
_PATTERN: Final = linear(r"(?:^|[^\\])(?:\\\\)*[\[*^$]|\.\*|\\[(){}|+?wdsbDSW1-9]")
"""What a basic regular expression has that is no plain text."""
_ESCAPED: Final = linear(r"\\([^\w\s])")
_LINE_EDIT: Final = linear(r"(?s)(\d{1,6})(?:,(\d{1,6}))?([acid])(.*)")
_EDITORS: Final = ("sed", "gsed", "perl")


def swaps_in(command: str) -> list[Swap]:
    """Return (old, new) of what a shell command's own words replace in files, in their order."""
    swaps: list[Swap] = []
    for call in calls_of(command[:_CHARS]):
        if call.program in _EDITORS:
            swaps += _of_sed(call)
        else:
            for text in (*call.words[1:], call.text):
                swaps += swaps_of_script(text) if ".replace(" in text else []
    return swaps[:_MOST]


class LineEdit(NamedTuple):
    """What sed does to lines by their numbers."""

    first: int
    last: int
    verb: str
    """a, c, i or d: puts the text behind, in place of, before, or takes away."""
    text: str


def line_edits_in(command: str) -> Iterator[LineEdit]:
    """Yield what a command's sed puts at numbered lines, in its order."""
    for call in calls_of(command[:_CHARS]) if "sed" in command else ():
        for word in call.words[1:] if call.program in ("sed", "gsed") else ():
            match = _LINE_EDIT.fullmatch(word)
            if match and UNKNOWN not in word:
                text = match[4].replace("\\\n", "\n").removeprefix("\\").lstrip("\n")
                yield LineEdit(int(match[1]), int(match[2] or match[1]), match[3], text)


def texts_written(command: str) -> Iterator[tuple[str, str]]:
    """Yield (file, text) of each here-document that a command writes into a file."""
    for call in calls_of(command[:_CHARS]):
        for path in call.writes if call.text else ():
            yield path.removeprefix("./"), call.text


def swaps_of_script(source: str) -> list[Swap]:
    """Return (old, new) of each `.replace` of two plain texts in a Python script, as far as it reads."""
    text = source[:_CHARS]
    for _ in range(_TRIES):
        try:
            tree = ast.parse(text)
        except SyntaxError as error:  # it was cut, or its last statement is no Python
            text = "\n".join(text.splitlines()[: max(0, (error.lineno or 1) - 1)])
        except (ValueError, RecursionError, MemoryError):
            return []
        else:
            return list(_replacements(tree))[:_MOST]
    return []


def _replacements(tree: ast.AST) -> Iterator[Swap]:
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            value = node.value.value
            for target in node.targets:
                if isinstance(target, ast.Name) and isinstance(value, str):
                    names[target.id] = value
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "replace"
        ):
            texts = [_text(argument, names) for argument in node.args[:2]]
            if len(texts) == 2 and texts[0] is not None and texts[1] is not None and len(texts[0]) >= _LEAST:
                yield texts[0], texts[1]


def _text(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _of_sed(call: ShellCommand) -> Iterator[Swap]:
    """Yield what the expressions of sed replace, of those that are plain text."""
    for word in call.words[1:]:
        at = next((at for at in range(min(len(word), 24)) if word[at] == "s" and _is_mark(word, at + 1)), -1)
        if at < 0 or word.startswith("-") or UNKNOWN in word or not _is_address(word[:at]):
            continue
        parts = _split(word[at + 2 :], word[at + 1])
        if len(parts) == 3 and not _PATTERN.found(parts[0]) and "\\1" not in parts[1]:
            old, new = (_plain(part) for part in parts[:2])
            if len(old) >= _LEAST:
                yield old, new


def _is_mark(word: str, at: int) -> bool:
    return at < len(word) and not word[at].isalnum() and word[at] not in " \\\n._"


def _is_address(text: str) -> bool:
    """Return whether what stands before a command of sed is where it works: `12,14`, `/def x/`."""
    return all(char.isdigit() or char in ",$ " for char in text) or (text[:1] == "/" and text[-1:] == "/")


def _split(text: str, mark: str) -> list[str]:
    parts, begin, at = list[str](), 0, 0
    while at < len(text) and len(parts) < 2:
        if text[at] == "\\":
            at += 1
        elif text[at] == mark:
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
    return [*parts, text[begin:]]


def _plain(part: str) -> str:
    return unescaped(part.replace("\\n", "\n").replace("\\t", "\t"))


def unescaped(text: str) -> str:
    """Return a text without the backslashes before its signs."""
    return _ESCAPED.sub(lambda match: match[1], text)
