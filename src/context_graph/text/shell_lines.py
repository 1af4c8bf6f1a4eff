"""Reads the plain forms of a shell line: what it surely runs, and nothing of what only a run would tell.

Words, quotes, here-documents, `&&`, `;`, `|`, subshells, wrappers such as `sudo`, `sh -c` and `eval` are
read; of values only those that the caller gives. At anything else reading ends, and what came before counts.
`shlex` does not do, because it gives a quoted `;` and a plain one as the same word.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

UNKNOWN: Final = "\0"
"""Stands in a word for what only a run would tell."""

LIMIT: Final = 20_000
"""Characters; of a longer line nothing is read."""

_DEPTH: Final = 5
_BLANKS: Final = " \t\r"
_ENDS: Final = frozenset(_BLANKS + "\n;&|()<>")
_SIGNS: Final = ("&>>", "<<<", "<<-", "&&", "||", ";;", "&>", "|&", ">>", ">&", ">|", "<<", "<&", "<>")
_WRITES: Final = frozenset((">", ">>", ">|", "&>", "&>>"))
_DOCUMENTS: Final = frozenset(("<<", "<<-"))
_REDIRECTS: Final = _WRITES | _DOCUMENTS | {"<<<", ">&", "<", "<&", "<>"}
_LEADING: Final = frozenset(("then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"))
_NO_PROGRAMS: Final = frozenset(("}", "fi", "done", "esac", "for", "select", "case"))
_SHELLS: Final = frozenset(("sh", "bash", "zsh", "dash", "ksh"))
_WRAPPERS: Final = frozenset(
    ("env", "sudo", "doas", "nice", "ionice", "nohup", "setsid", "timeout", "command", "exec", "builtin")
)
_VALUED: Final = frozenset(("-u", "-n", "-k", "-s", "-g", "-p", "--unset", "--user", "--signal"))
"""Options of wrappers that take the next word."""


@dataclass(slots=True)
class ShellCommand:
    """One command that the line runs, wrappers taken off."""

    words: list[str]
    folder: str | None = ""
    """Where it runs, seen from the folder that was given; None if only a run would tell."""
    assigned: Mapping[str, str] = field(default_factory=dict)
    """What it is given, or was exported before."""
    writes: list[str] = field(default_factory=list)
    """The targets of its redirections."""
    text: str = ""
    """Its here-document or here-string."""

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.words[0].rpartition("/")[2]


class ShellLine(NamedTuple):
    """What was read of a line; ``whole`` if that is all of it."""

    commands: list[ShellCommand]
    whole: bool


def read_line(line: str, folder: str = "", values: Mapping[str, str] | None = None) -> ShellLine:
    """Return the commands of ``line`` that are plain, in their order.

    Args:
        line: What a shell is given; nothing is read of one that is longer than 20,000 characters.
        folder: Where it runs; if it is empty, the commands' folders are seen from there.
        values: Variables whose values are known, such as HOME.

    Cost: one pass over the line.
    """
    reader = _Reader(folder, values or {})
    return ShellLine(reader.commands, reader.read(line) if len(line) <= LIMIT else False)


@lru_cache(maxsize=128)  # several readers look at the same commands
def calls_of(line: str) -> tuple[ShellCommand, ...]:
    """Return the commands of ``line`` that are plain, in their order; they are shared, so nobody changes
    them."""
    return tuple(read_line(line).commands)


class _OddError(Exception):
    """Something that is no plain form."""


class _Token(NamedTuple):
    text: str
    is_word: bool = True


class _Scanner:
    """Cuts a line into words and signs."""

    def __init__(self, text: str, values: Mapping[str, str]) -> None:
        self.text, self.values, self.at = text, values, 0

    def tokens(self, depth: int = 0) -> list[_Token]:
        """Return all of them; within a substitution (``depth``) those up to the bracket that closes it."""
        if depth > _DEPTH:
            raise _OddError
        made: list[_Token] = []
        brackets, lines_read = 0, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in _BLANKS or self.text.startswith("\\\n", self.at):
                self.at += 1 if char in _BLANKS else 2
            elif char == "#":
                self._until("\n")
            elif char in _ENDS and not self.text.startswith(("<(", ">("), self.at):
                sign = next((sign for sign in _SIGNS if self.text.startswith(sign, self.at)), char)
                self.at += len(sign)
                brackets += (sign == "(") - (sign == ")")
                if depth and brackets < 0:
                    return made
                made.append(_Token(sign, is_word=False))
                if sign == "\n":
                    self._documents(made, lines_read)
                    lines_read = len(made)
            else:
                word = self._word(depth)
                if not (word.isdigit() and self.text[self.at : self.at + 1] in ("<", ">")):
                    made.append(_Token(word))
        if depth:
            raise _OddError
        return made

    def _documents(self, made: list[_Token], start: int) -> None:
        """Read the here-documents of the line of tokens from ``start``, each in the place of its end word."""
        for at in range(start + 1, len(made)):
            if made[at - 1].text in _DOCUMENTS and not made[at - 1].is_word:
                lines: list[str] = []
                stripped = "\t" if made[at - 1].text == "<<-" else ""
                while (line := self._until("\n", past=True)).lstrip(stripped) != made[at].text:
                    lines.append(line)
                    if self.at >= len(self.text):
                        raise _OddError
                made[at] = _Token("\n".join(lines))

    def _until(self, sign: str, *, past: bool = False) -> str:
        """Return the text up to ``sign`` or the end; reading goes on there, or behind it."""
        end = self.text.find(sign, self.at)
        end = len(self.text) if end < 0 else end
        text, self.at = self.text[self.at : end], end + past
        return text

    def _quoted(self, sign: str) -> str:
        """Return the text up to ``sign``, which must come."""
        text = self._until(sign, past=True)
        if self.at > len(self.text):
            raise _OddError
        return text

    def _word(self, depth: int) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if self.text.startswith(("<(", ">("), self.at) or (char == "(" and parts[-1:] == ["="]):
                self._substitution(parts, depth, 2 if char != "(" else 1)  # an array's values, like its name
            elif char in _ENDS:
                break
            elif char == '"':
                self.at += 1
                self._double(parts, depth)
            elif char == "'":
                self.at += 1
                parts.append(self._quoted("'"))
            else:
                self._sign_or_plain(parts, depth)
        return "".join(parts)

    def _double(self, parts: list[str], depth: int) -> None:
        while (char := self.text[self.at : self.at + 1]) != '"':
            if not char:
                raise _OddError
            if char == "\\" and self.text[self.at + 1 : self.at + 2] not in ('"', "\\", "$", "`", "\n"):
                parts.append("\\")
                self.at += 1
            else:
                self._sign_or_plain(parts, depth)
        self.at += 1

    def _sign_or_plain(self, parts: list[str], depth: int) -> None:
        char, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        self.at += 1
        if char == "\\":
            self.at += 1
            parts.append(following.replace("\n", ""))
        elif char == "`":
            self._quoted("`")
            parts.append(UNKNOWN)
        elif char != "$":
            parts.append(char)
        elif following == "(":
            self._substitution(parts, depth, 1)
        elif following == "{":
            self.at += 1
            parts.append(self.values.get(self._quoted("}"), UNKNOWN))
        elif following == "'":
            raise _OddError
        else:
            parts.append(self._variable())

    def _variable(self) -> str:
        start = self.at
        while (char := self.text[self.at : self.at + 1]) and (char.isalnum() or char == "_"):
            self.at += 1
        name = self.text[start : self.at]
        if not name and self.text[self.at : self.at + 1] in ("@", "*", "#", "?", "$", "!", "-"):
            self.at += 1
            return UNKNOWN
        return self.values.get(name, UNKNOWN) if name else "$"

    def _substitution(self, parts: list[str], depth: int, opening: int) -> None:
        self.at += opening
        self.tokens(depth + 1)
        parts.append(UNKNOWN)


class _Reader:
    """Makes commands of tokens, and keeps the folder and what is exported."""

    def __init__(self, folder: str, values: Mapping[str, str]) -> None:
        self.commands: list[ShellCommand] = []
        self._folder: str | None = folder
        self._outer: list[str | None] = []
        self._values, self._exported = values, dict[str, str]()

    def read(self, line: str, depth: int = 0) -> bool:
        """Add the commands of ``line``; whether it could be read to its end."""
        try:
            if depth > _DEPTH:
                raise _OddError
            self._read(_Scanner(line, self._values).tokens(), depth)
        except _OddError:
            return False
        return True

    def _read(self, tokens: list[_Token], depth: int) -> None:
        command, redirect = ShellCommand([]), ""
        for token in [*tokens, _Token(";", is_word=False)]:
            if redirect:
                self._redirect(command, redirect, token)
                redirect = ""
            elif token.is_word:
                command.words.append(token.text)
            elif token.text in _REDIRECTS:
                redirect = token.text
            else:
                if token.text == "(" and command.words:
                    raise _OddError  # a function: when it runs, only a run would tell
                self._end(command, depth)
                command = ShellCommand([])
                if token.text == "(":
                    self._outer.append(self._folder)
                elif token.text == ")" and self._outer:
                    self._folder = self._outer.pop()

    def _redirect(self, command: ShellCommand, sign: str, target: _Token) -> None:
        if not target.is_word:
            raise _OddError
        if sign in _WRITES:
            command.writes.append(target.text)
        elif sign in _DOCUMENTS or sign == "<<<":
            command.text = target.text
        elif UNKNOWN in target.text:
            raise _OddError

    def _end(self, command: ShellCommand, depth: int) -> None:
        """Add a command that has been read to its end, or what it runs."""
        command.folder, assigned = self._folder, dict[str, str]()
        words = _without_wrappers(command, assigned)
        if not words:
            self._exported.update(assigned)
        program = words[0].rpartition("/")[2] if words else ""
        if program == "function":
            raise _OddError
        if program in ("export", "declare", "typeset"):
            self._exported.update(_assignment(word) for word in words[1:] if "=" in word)
        command.words, command.assigned = words, {**self._exported, **assigned}
        if words and program not in _NO_PROGRAMS:
            self._add(command, depth)

    def _add(self, command: ShellCommand, depth: int) -> None:
        inner = _inner_line(command)
        if inner is None:
            self.commands.append(command)
            if command.program in ("cd", "pushd", "popd"):
                self._folder = _entered(self._folder, command, self._values)
            return
        outer = self._folder
        self._folder = command.folder
        if not self.read(inner, depth + 1):
            raise _OddError
        self._folder = self._folder if command.program == "eval" else outer


def _assignment(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def _without_wrappers(command: ShellCommand, assigned: dict[str, str]) -> list[str]:
    """Return the words from the program on; variables set before it are added to ``assigned``."""
    words, wrapped = command.words, ""
    at = 0
    while at < len(words):
        word = words[at]
        name = word.partition("=")[0]
        if "=" in word and name.isidentifier():
            assigned.update([_assignment(word)])
        elif wrapped and word.startswith("-"):
            if word.startswith(("-C", "-D", "--chdir")):
                command.folder = None
            if word in ("-v", "-V") and wrapped == "command":
                return words
            at += word in _VALUED
        elif word.rpartition("/")[2] in _WRAPPERS:
            wrapped = word.rpartition("/")[2]
        elif not (word in _LEADING and not wrapped) and not (wrapped and word[:1].isdigit()):
            return words[at:]
        at += 1
    return []


def _inner_line(command: ShellCommand) -> str | None:
    """Return the line that a shell or `eval` is given to run; None for any other command."""
    if command.program == "eval":
        return " ".join(command.words[1:])
    if command.program not in _SHELLS:
        return None
    for at, word in enumerate(command.words[1:-1], 1):
        if word[:1] != "-":
            return None
        if word[:2] != "--" and "c" in word:
            return command.words[at + 1]
    return None


def _entered(folder: str | None, command: ShellCommand, values: Mapping[str, str]) -> str | None:
    """Return the folder after `cd`; None where only a run would tell."""
    named = [word for word in command.words[1:] if word == "-" or not word.startswith("-")]
    target = named[0] if named else values.get("HOME", UNKNOWN)
    if target.startswith("~/") or target == "~":
        target = values.get("HOME", UNKNOWN) + target[1:]
    if command.program == "popd" or target == "-" or UNKNOWN in target or any(c in target for c in "*?["):
        return None
    if folder is None and not target.startswith("/"):
        return None
    return os.path.normpath(os.path.join(folder or "", target))
