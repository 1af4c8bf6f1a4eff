"""Reads a command line as a shell would, without running anything.

Quotes, escapes, chains, subshells, substitutions, redirections, here-documents, brace lists and the variables
that the line itself sets. What only a run would tell (other variables, a program's output) and what a file
system would (globs) stays in the words as a mark. Time and memory grow with the length of the text alone.
"""

from __future__ import annotations

from context_graph.requirements.shell_command import Command, learn, printed
from context_graph.requirements.shell_words import CLOSE, COMMA, ONE, OPEN, STAR, UNKNOWN, ansi_c, spread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LIMIT", "Reading", "read"]

LIMIT = 200_000
"""Characters that are read at all, inner texts included; what is longer is ``broken``."""

_DEPTH = 12
_BLANK = " \t\r"
_ENDS = " \t\r\n;&|<>()"
_SPECIAL = frozenset(_ENDS + "'\"\\$`*?[{,}~")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_MARKED = frozenset(UNKNOWN + STAR + ONE + OPEN + COMMA + CLOSE)
_LEADING = frozenset(("if", "then", "else", "elif", "while", "until", "do", "!", "{", "coproc", "time"))
_CLOSING = frozenset(("fi", "done", "esac", "}"))


class Reading:
    """The commands of a text in their order. ``broken``: it could not be read to its end, or is too long."""

    __slots__ = ("broken", "commands", "commented", "depth", "left", "shells", "variables")

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self.commands: list[Command] = []
        self.broken = self.commented = False
        self.variables: dict[str, str] = dict(variables or {})
        self.left, self.depth, self.shells = LIMIT, 0, 0

    def add(self, text: str, shell: tuple[int, ...] = (0,)) -> list[Command]:
        """Read ``text`` too, with the variables known so far; its own commands."""
        first = len(self.commands)
        self.left -= len(text)
        if self.left < 0 or self.depth >= _DEPTH:
            self.broken = True
            return []
        self.depth += 1
        _Reader(text, self).run(shell)
        self.depth -= 1
        return self.commands[first:]


def read(text: str, variables: Mapping[str, str] | None = None) -> Reading:
    """What ``text`` runs; ``variables`` are those whose values are known (HOME, PWD)."""
    reading = Reading(variables)
    if any(mark in text for mark in _MARKED):
        text = "".join(" " if char in _MARKED else char for char in text)
        reading.broken = True
    reading.add(text)
    return reading


class _Word:
    """A word in the making; an unquoted expansion may split it into several."""

    __slots__ = ("done", "parts", "started")

    def __init__(self) -> None:
        self.done: list[str] = []
        self.parts: list[str] = []
        self.started = False

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.started = True

    def put_value(self, value: str, *, quoted: bool) -> None:
        """An expansion's value; empty ones begin no word, blanks end one unless quoted."""
        if quoted or not value or not any(blank in value for blank in " \t\n"):
            if value:
                self.put(value)
            return
        pieces = value.split()
        if value[0] in " \t\n":
            self._cut()
        for number, piece in enumerate(pieces):
            if number:
                self._cut()
            self.put(piece)
        if value[-1] in " \t\n":
            self._cut()

    def _cut(self) -> None:
        if self.started:
            self.done.append("".join(self.parts))
        self.parts, self.started = [], False

    def words(self) -> list[str]:
        self._cut()
        return self.done


class _Reader:
    """One text on its way; what it finds goes into the ``Reading``."""

    def __init__(self, text: str, into: Reading) -> None:
        self.text, self.at, self.end, self.into = text, 0, len(text), into
        self.waiting: list[tuple[Command, str, bool, bool]] = []
        self.capturing = 0
        self.last: Command | None = None

    def run(self, shell: tuple[int, ...]) -> None:
        while self.at < self.end:
            self._commands(shell, "")

    def _commands(self, shell: tuple[int, ...], closer: str) -> None:
        """Commands up to ``closer``, which is taken too, or to the end."""
        command = Command(shell)
        while self.at < self.end:
            char = self.text[self.at]
            if char in _BLANK:
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                self._comment()
            elif char == ")" and closer:
                self.at += 1
                self._finish(command, ")")
                return
            elif char in "\n;&|()" and not self.text.startswith("&>", self.at):
                command = self._operator(command, shell)
            elif char in "<>&" and not self._starts_process():
                self._redirect(command, "")
            else:
                self._argument(command)
        self._finish(command, "")
        if closer:
            self.into.broken = True

    def _comment(self) -> None:
        self.into.commented = True
        found = self.text.find("\n", self.at)
        self.at = self.end if found < 0 else found

    def _operator(self, command: Command, shell: tuple[int, ...]) -> Command:
        char = self.text[self.at]
        two = self.text[self.at : self.at + 2]
        operator = two if two in ("&&", "||", "|&", ";;", ";&") else char
        self.at += len(operator)
        self._finish(command, operator)
        if operator == "\n":
            self._bodies()
        if operator == "(":
            self._subshell(shell)
        piped = operator in ("|", "|&")
        return Command(shell, self.last if piped else None)

    def _subshell(self, shell: tuple[int, ...]) -> None:
        if self.into.depth >= _DEPTH:
            self.into.broken = True
            self.at = self.end
            return
        self.into.depth += 1
        self.into.shells += 1
        self._commands((*shell, self.into.shells), ")")
        self.into.depth -= 1

    def _finish(self, command: Command, operator: str) -> None:
        if not (command.words or command.assigned or command.redirects):
            return
        command.ends, command.captured = operator, self.capturing > 0
        self.into.commands.append(command)
        self.last = command
        learn(command, self.into.variables)

    # Redirections

    def _starts_process(self) -> bool:
        return self.text[self.at] in "<>" and self.text.startswith("(", self.at + 1)

    def _redirect(self, command: Command, number: str) -> None:
        for operator in ("&>>", "<<<", "<<-", "&>", ">>", ">|", ">&", "<<", "<&", "<>", ">", "<"):
            if self.text.startswith(operator, self.at):
                break
        self.at += len(operator)
        while self.at < self.end and self.text[self.at] in _BLANK:
            self.at += 1
        raw = self.at
        target = " ".join(self._word())
        if operator in ("<<", "<<-"):
            quoted = any(mark in self.text[raw : self.at] for mark in "'\"\\")
            self.waiting.append((command, target, quoted, operator == "<<-"))
        elif operator == "<<<":
            command.stdin = target
        elif operator in (">&", "<&") and (target.isdigit() or target.rstrip("-").isdigit() or target == "-"):
            command.redirects.append((operator, "&" + target))
        else:
            command.redirects.append((number + operator, target))

    def _bodies(self) -> None:
        """The here-documents that the line just ended has announced."""
        waiting, self.waiting = self.waiting, []
        for command, delimiter, quoted, tabs in waiting:
            lines: list[str] = []
            while self.at < self.end:
                found = self.text.find("\n", self.at)
                stop = self.end if found < 0 else found
                line = self.text[self.at : stop]
                self.at = min(stop + 1, self.end)
                line = line.lstrip("\t") if tabs else line
                if line == delimiter:
                    break
                lines.append(line)
            body = "\n".join(lines)
            command.stdin = body if quoted else self._expanded(body)

    def _expanded(self, body: str) -> str:
        """A here-document's body with what a shell fills in; what that runs is read as well."""
        if "$" not in body and "`" not in body:
            return body
        self.into.left -= len(body)
        if self.into.left < 0 or self.into.depth >= _DEPTH:
            self.into.broken = True
            return body
        self.into.depth += 1
        inner = _Reader(body, self.into)
        inner.capturing = self.capturing + 1
        word = _Word()
        while inner.at < inner.end:
            inner._double(word)
            if inner.at < inner.end:
                word.put('"')
        self.into.depth -= 1
        return "".join(word.parts)

    # Words

    def _argument(self, command: Command) -> None:
        start = self.at
        words = self._word()
        follows = self.text[self.at : self.at + 1]
        if follows in ("<", ">") and follows and self.text[start : self.at].isdigit():
            self._redirect(command, self.text[start : self.at])
            return
        for word in words:
            if not command.words:
                if word in _LEADING:
                    continue
                if word in _CLOSING:
                    continue
                name, equals, value = word.partition("=")
                bare = name.removesuffix("+")
                if equals and bare and _NAME.issuperset(bare) and not bare[0].isdigit():
                    command.assigned.append((name, value))
                    continue
            command.words.append(word)

    def _word(self) -> list[str]:
        word = _Word()
        begin = self.at
        while self.at < self.end:
            char = self.text[self.at]
            if char not in _SPECIAL:
                stop = self.at + 1
                while stop < self.end and self.text[stop] not in _SPECIAL:
                    stop += 1
                word.put(self.text[self.at : stop])
                self.at = stop
            elif char in _ENDS:
                if not self._starts_process() if char in "<>" else True:
                    break
                self.at += 2
                self._captured(")")
                word.put(UNKNOWN)
            elif not self._quoted(char, word):
                self._unquoted(char, word, first=self.at == begin)
        if self.at == begin:  # nothing that begins a word: never stand still
            self.at += 1
        return self._spent(word.words())

    def _spent(self, words: list[str]) -> list[str]:
        """``words`` with brace lists spread out, within what may be read in all."""
        found = [more for word in words for more in spread(word)]
        self.into.left -= sum(map(len, found)) // 4
        if self.into.left < 0:
            self.into.broken = True
            self.at = self.end
        return found

    def _quoted(self, char: str, word: _Word) -> bool:
        """Take what begins with a quote, a backslash or an expansion."""
        if char == "'":
            stop = self.text.find("'", self.at + 1)
            self.into.broken |= stop < 0
            stop = self.end if stop < 0 else stop
            word.put(self.text[self.at + 1 : stop])
            self.at = stop + 1
        elif char == '"':
            self.at += 1
            word.put("")
            self._double(word, closed=True)
        elif char == "\\":
            if not self.text.startswith("\n", self.at + 1):
                word.put(self.text[self.at + 1 : self.at + 2])
            self.at += 2
        elif char == "$":
            self._dollar(word, quoted=False)
        elif char == "`":
            word.put_value(self._backticks(), quoted=False)
        else:
            return False
        return True

    def _unquoted(self, char: str, word: _Word, *, first: bool) -> None:
        self.at += 1
        if char == "[":
            stop = self.at + 1
            while stop < self.end and stop < self.at + 40 and self.text[stop] not in "]/'\" \n":
                stop += 1
            if self.text.startswith("]", stop):
                char, self.at = ONE, stop + 1
        elif char == "~" and first and (self.at == self.end or self.text[self.at] in "/" + _ENDS):
            char = self.into.variables.get("HOME", "~")
        word.put({"*": STAR, "?": ONE, "{": OPEN, ",": COMMA, "}": CLOSE}.get(char, char))

    def _double(self, word: _Word, *, closed: bool = False) -> None:
        """Text in double quotes, up to the closing one, which is taken too."""
        while self.at < self.end:
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                follows = self.text[self.at + 1 : self.at + 2]
                if follows != "\n":
                    word.put(follows if follows and follows in '$`"\\' else "\\" + follows)
                self.at += 2
            elif char == "$":
                self._dollar(word, quoted=True)
            elif char == "`":
                word.put_value(self._backticks(), quoted=True)
            else:
                stop = self.at + 1
                while stop < self.end and self.text[stop] not in '"\\$`':
                    stop += 1
                word.put(self.text[self.at : stop])
                self.at = stop
        self.into.broken |= closed

    def _dollar(self, word: _Word, *, quoted: bool) -> None:
        self.at += 1
        char = self.text[self.at : self.at + 1]
        if char == "(":
            self.at += 1
            word.put_value(self._captured(")"), quoted=quoted)
        elif char == "{":
            self.at += 1
            word.put_value(self._braced(), quoted=quoted)
        elif char == "'" and not quoted:
            text, self.at, whole = ansi_c(self.text, self.at + 1)
            self.into.broken |= not whole
            word.put(text)
        elif char == '"' and not quoted:
            pass
        elif char and (char in _NAME or char in "@*#?$!-"):
            stop = self.at + 1
            if char in _NAME and not char.isdigit():
                while stop < self.end and self.text[stop] in _NAME:
                    stop += 1
            name, self.at = self.text[self.at : stop], stop
            word.put_value(self._value(name), quoted=quoted)
        else:
            word.put("$")

    def _value(self, name: str) -> str:
        if name in ("@", "*"):
            return ""
        if name == "IFS":
            return self.into.variables.get(name, " ")
        value = self.into.variables.get(name, UNKNOWN)
        self.into.left -= len(value) // 4
        return value if self.into.left >= 0 else UNKNOWN

    def _braced(self) -> str:
        """The value of ``${…}``; of one with an operator the default where the variable isn't known."""
        start = self.at
        while self.at < self.end and self.text[self.at] in _NAME:
            self.at += 1
        name = self.text[start : self.at] or "?"
        inner, word = self.at, _Word()
        self._until_brace(word)
        plain = self.at == inner
        self.at += 1
        if start == inner and not plain:  # ${@}, ${#x}, ${!x}
            return "" if "".join(word.parts) in ("@", "*") else UNKNOWN
        if plain:
            return self._value(name) if name != "?" else ""
        given = "".join(word.parts).lstrip(":")
        if given[:1] in ("-", "=", "+") and name not in self.into.variables:
            return given[1:]
        return self._value(name) if given[:1] in ("-", "=", "?") else UNKNOWN

    def _until_brace(self, word: _Word) -> None:
        if self.into.depth >= _DEPTH:
            self.into.broken, self.at = True, self.end
            return
        self.into.depth += 1
        while self.at < self.end and self.text[self.at] != "}":
            char = self.text[self.at]
            if not (char in "'\"\\$`" and self._quoted(char, word)):
                word.put(char)
                self.at += 1
        self.into.broken |= self.at >= self.end
        self.into.depth -= 1

    # Substitutions

    def _captured(self, closer: str) -> str:
        """Read the commands of a substitution; what they print, if that can be told."""
        if self.into.depth >= _DEPTH:
            self.into.broken = True
            self.at = self.end
            return UNKNOWN
        first, last = len(self.into.commands), self.last
        self.into.depth += 1
        self.into.shells += 1
        self.capturing += 1
        self._commands((0, self.into.shells), closer)
        self.capturing -= 1
        self.into.depth -= 1
        self.last = last
        return printed(self.into.commands[first:], self.into.variables)

    def _backticks(self) -> str:
        stop = self.at + 1
        parts: list[str] = []
        while stop < self.end and self.text[stop] != "`":
            if self.text[stop] == "\\" and self.text[stop + 1 : stop + 2] in ("`", "\\", "$"):
                stop += 1
            parts.append(self.text[stop : stop + 1])
            stop += 1
        self.into.broken |= stop >= self.end
        self.at = stop + 1
        first = len(self.into.commands)
        self.into.shells += 1
        self.into.add("".join(parts), (0, self.into.shells))
        for command in self.into.commands[first:]:
            command.captured = True
        return printed(self.into.commands[first:], self.into.variables)
