"""Parses a command line as a shell would, without running anything.

It reads quotes, escapes, chains, subshells, substitutions, redirections, here-documents, brace lists and the
variables that the line itself sets. What only a run could tell (other variables, a program's output) or a
file system (globs) stays in the words as a mark. Time and memory are linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Mapping

from context_graph.gates.shell.arithmetic import NAME, closing, is_name, is_odd, subscript
from context_graph.gates.shell.command import (
    CLOSE,
    COMMA,
    FRESH,
    ONE,
    OPEN,
    STAR,
    UNKNOWN,
    Command,
    ansi_c,
    learn,
    listing,
    names,
    spread,
)
from context_graph.gates.shell.printed import printed
from context_graph.gates.shell.reading import Reading
from context_graph.gates.shell.words import Cases, Word, here_document

_BLANK = " \t\r"
_ENDS = " \t\r\n;&|<>()"
_SPECIAL = frozenset(_ENDS + "'\"\\$`*?[{,}~")
_IN_QUOTES = frozenset('"\\$`')
_SIGNS = {"*": STAR, "?": ONE, "{": OPEN, ",": COMMA, "}": CLOSE}
_UNMARKED = str.maketrans(dict.fromkeys((UNKNOWN, FRESH, *_SIGNS.values()), " "))
_KEYWORDS = names("if then else elif fi while until do done esac ! { } coproc time")
_COMPOUND = names("{ if while until for case select [[")
_REDIRECTIONS = ("&>>", "<<<", "<<-", "&>", ">>", ">|", ">&", "<<", "<&", "<>", ">", "<")


def read(text: str, variables: Mapping[str, str] | None = None) -> Reading:
    """The commands that stand in ``text``; ``variables`` are those whose values are known (HOME, PWD)."""
    reading = Reading(variables)
    clean = text.translate(_UNMARKED)
    reading.broken = clean != text
    read_into(reading, clean)
    return reading


def read_into(
    reading: Reading, text: str, shell: tuple[int, ...] = (0,), *, captured: bool = False
) -> list[Command]:
    """Read ``text`` too, with the variables known so far; its own commands."""
    first = len(reading.commands)
    if reading.spend(len(text)) and reading.enter():
        reader = _Reader(text, reading)
        reader.captured = captured
        reader.commands(shell)
        reading.broken |= bool(reader.waiting)  # a here-document that never came
        reading.leave()
    return reading.commands[first:]


class _Reader:
    """Parses one text; the results go into the ``Reading``."""

    def __init__(self, text: str, into: Reading) -> None:
        self.text, self.at, self.end, self.into = text, 0, len(text), into
        self.waiting: list[tuple[Command, str, bool, bool]] = []
        self.captured = False
        self.last: Command | None = None
        self.cases = Cases()
        self.chose = False
        """Whether the word at hand has a variable that stands for several values."""
        self.takes: set[str] = set()
        self.inside: list[Command] = []
        """Variables and commands of the command at hand, as it will have them."""
        self.given: list[str] = []
        """What the process substitutions of the word at hand print."""
        self.open_bracket = False
        """Whether a `$[` has no end."""
        self.skips = 0
        """What names may stand in the head at hand: 1 after coproc, 2 after function."""

    def commands(self, shell: tuple[int, ...], *, nested: bool = False) -> None:
        """Commands up to the end; ``nested`` ones up to a closing parenthesis, which is taken too."""
        command = Command(shell)
        outer, self.cases = self.cases, Cases()
        while self.at < self.end:
            char = self.text[self.at]
            if char in _BLANK:
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                self.at = self._find("\n")
            elif char == ")" and nested and not self.cases.pattern:
                self.at += 1
                self._finish(command, ")")
                self.cases = outer
                return
            elif char == "(" and self._arithmetic():
                pass
            elif char in "\n;&|()" and not self.text.startswith("&>", self.at):
                command = self._operator(command, shell)
            elif char in "<>&" and not self._starts_process():
                self._redirect(command, "")
            else:
                self._argument(command)
        self._finish(command, "")
        self.cases = outer
        self.into.broken |= nested

    def _find(self, char: str) -> int:
        """Where the next ``char`` is; the end where there is none."""
        found = self.text.find(char, self.at)
        return self.end if found < 0 else found

    def _operator(self, command: Command, shell: tuple[int, ...]) -> Command:
        two = self.text[self.at : self.at + 2]
        operator = two if two in ("&&", "||", "|&", ";;", ";&") else two[0]
        self.at += len(operator)
        self._finish(command, operator)
        if operator == "\n":
            self._bodies()
        elif operator == "(":
            self.into.functions |= len(command.words) == 1 and self.text.startswith((")", " )"), self.at)
            self._nested(self.into.subshell(shell))
            self.cases.pattern = False
        elif operator == ")":
            self.into.broken |= not self.cases.pattern  # closes what was never opened
            self.cases.pattern = False
        elif operator in (";;", ";&"):
            self.cases.next()
        return Command(shell, self.last if operator in ("|", "|&") else None)

    def _nested(self, shell: tuple[int, ...]) -> list[Command]:
        """The commands up to a closing parenthesis, as those of ``shell``."""
        first = len(self.into.commands)
        if self.into.enter():
            self.commands(shell, nested=True)
            self.into.leave()
        else:
            self.at = self.end
        return self.into.commands[first:]

    def _finish(self, command: Command, operator: str) -> None:
        self.skips = 0
        takes, inside, self.takes, self.inside = self.takes, self.inside, set(), []
        if command.words or command.assigned or command.redirects or command.stdin is not None:
            command.ends, command.captured = operator, self.captured
            command.takes, command.inside = takes, inside
            self.into.commands.append(command)
            self.last = command
            learn(command, self.into.variables)

    # Redirections

    def _starts_process(self) -> bool:
        return self.text.startswith(("<(", ">("), self.at)

    def _redirect(self, command: Command, number: str) -> None:
        operator = next(one for one in _REDIRECTIONS if self.text.startswith(one, self.at))
        self.at += len(operator)
        while self.at < self.end and self.text[self.at] in _BLANK:
            self.at += 1
        start, self.given = self.at, []
        target = " ".join(self._word())
        if operator in ("<<", "<<-"):
            quoted = any(mark in self.text[start : self.at] for mark in "'\"\\")
            self.waiting.append((command, target, quoted, operator == "<<-"))
        elif operator == "<<<":
            command.stdin = target
        elif operator == "<" and self.given:
            command.stdin = "\n".join(self.given)
        elif operator in (">&", "<&") and (target.rstrip("-").isdigit() or target == "-"):
            command.redirects.append((operator, "&" + target))
        else:
            command.redirects.append((number + operator, target))

    def _bodies(self) -> None:
        """The here-documents that the line just ended has announced."""
        waiting, self.waiting = self.waiting, []
        for command, delimiter, quoted, tabs in waiting:
            body, self.at, ended = here_document(self.text, self.at, delimiter, tabs=tabs)
            self.into.broken |= not ended
            command.stdin = body if quoted else self._expanded(body)

    def _expanded(self, body: str) -> str:
        """A here-document's body with what a shell fills in; what that runs is read as well."""
        if ("$" not in body and "`" not in body) or not (self.into.spend(len(body)) and self.into.enter()):
            return body
        inner = _Reader(body, self.into)
        inner.captured = True
        word = Word()
        while inner.at < inner.end:
            if inner._double(word):
                word.put('"')
        self.into.leave()
        return "".join(word.parts)

    # Words

    def _argument(self, command: Command) -> None:
        start, first, self.chose, self.given = self.at, len(command.words), False, []
        stop = 0 if command.words else subscript(self.text, start)
        if stop:  # a[1 + 1]=x
            name, inside = self.text[start:stop].split("[", 1)
            self._expanded(inside)
            self.at = stop
            command.assigned.append((name + "[]", " ".join(self._word())))
            return
        words = self._word()
        if self.text.startswith(("<", ">"), self.at) and self.text[start : self.at].isdigit():
            self._redirect(command, self.text[start : self.at])
            return
        if self.text.startswith("(", self.at) and words and is_name(words[-1][:-1].removesuffix("+")):
            words[-1] = self._array(words[-1])
        chosen = self.chose and len(words) > 1
        command.given += self.given
        for word in words:
            if not self._in_head(word, command):
                command.words.append(word)
                self.cases.see(command)
        if chosen and len(command.words) > first:
            command.choices.append((first, len(command.words) - first))
        elif chosen and command.assigned:
            name, values = command.assigned[-1][0], [word.partition("=")[2] for word in words]
            command.assigned.append((name, listing(values)))

    def _array(self, start: str) -> str:
        """`NAME=(…)` from its parenthesis on, as an assignment of all its elements."""
        if start[-1] != "=":
            return start
        name, self.at, values = start[:-1], self.at + 1, []
        if name[-1] == "+":
            name = name[:-1]
            values += [self.into.variables.get(name) or UNKNOWN]
        while self.at < self.end and self.text[self.at] != ")":
            if self.text[self.at] == "#":
                self.at = self._find("\n")
            elif self.text[self.at] in _BLANK + "\n":
                self.at += 1
            else:
                values += self._word()
        self.into.broken |= self.at >= self.end
        self.at += 1
        return f"{name}={listing(values)}"

    def _in_head(self, word: str, command: Command) -> bool:
        """Whether the word stands before a command's program: a keyword, a name for it, an assignment."""
        if command.words:
            if self.skips == 1 and len(command.words) == 1 and word in _COMPOUND:  # coproc NAME { …; }
                command.words.clear()
                self.skips = 0
                return word in _KEYWORDS
            return False
        if self.skips == 2:  # function NAME
            self.skips = 0
            return True
        if word == "time" and self.text[self.at : self.at + 32].lstrip(_BLANK).startswith("-"):
            return False  # its options follow: read as the program's
        if word in _KEYWORDS or word == "function":
            self.skips = {"coproc": 1, "function": 2}.get(word, 0)
            self.into.functions |= word == "function"
            if word == "esac":
                self.cases.leave()
            return True
        name, equals, value = word.partition("=")
        sets = bool(equals) and is_name(name.removesuffix("+"))
        command.assigned += [(name, value)] if sets else []
        return sets

    def _word(self) -> list[str]:
        """The word that begins here; none or several where an expansion says so."""
        word, start = Word(), self.at
        while self.at < self.end:
            char = self.text[self.at]
            if char not in _SPECIAL:
                self._plain(word, _SPECIAL)
            elif char in _ENDS:
                if not self._starts_process():
                    break
                self.at += 2
                self.given.append(self._process())
                word.put(UNKNOWN)
            elif not self._quoted(char, word):
                self._unquoted(char, word, first=self.at == start)
        if self.at == start:  # nothing that begins a word: never stand still
            self.at += 1
        found = [one for made in word.words() for one in spread(made)]
        if not self.into.spend(sum(map(len, found)) // 4):
            self.at = self.end
        return found

    def _plain(self, word: Word, special: frozenset[str]) -> None:
        stop = self.at + 1
        while stop < self.end and self.text[stop] not in special:
            stop += 1
        word.put(self.text[self.at : stop])
        self.at = stop

    def _quoted(self, char: str, word: Word) -> bool:
        """Take what begins with a quote, a backslash or an expansion; whether it does."""
        if char == "'":
            self.at += 1
            stop = self._find("'")
            self.into.broken |= stop == self.end
            word.put(self.text[self.at : stop])
            self.at = stop + 1
        elif char == '"':
            self.at += 1
            word.put("")
            self.into.broken |= not self._double(word)
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

    def _unquoted(self, char: str, word: Word, *, first: bool) -> None:
        self.at += 1
        if char == "[":
            stop = self.at + 1
            while stop < self.end and stop < self.at + 40 and self.text[stop] not in "]/'\" \n":
                stop += 1
            if self.text.startswith("]", stop):
                self._expanded(self.text[self.at : stop])
                char, self.at = ONE, stop + 1
        elif char == "~" and first and (self.at == self.end or self.text[self.at] in "/" + _ENDS):
            char = self.into.variables.get("HOME", "~")
        word.put(_SIGNS.get(char, char))

    def _double(self, word: Word) -> bool:
        """Text in double quotes, up to the closing one, which is taken too; whether there is one."""
        while self.at < self.end:
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return True
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
                self._plain(word, _IN_QUOTES)
        return False

    # Expansions

    def _dollar(self, word: Word, *, quoted: bool) -> None:
        self.at += 1
        char = self.text[self.at : self.at + 1]
        if self._expression():
            word.put(UNKNOWN)
        elif char == "(":
            self.at += 1
            word.put_value(self._substituted(), quoted=quoted)
        elif char == "{":
            self.at += 1
            word.put_value(self._braced(), quoted=quoted)
        elif char == "'" and not quoted:
            text, self.at, closed = ansi_c(self.text, self.at + 1)
            self.into.broken |= not closed
            word.put(text)
        elif char == '"' and not quoted:
            pass
        elif char and (char in NAME or char in "@*#?$!-"):
            stop = self._after_name() if not char.isdigit() and char in NAME else self.at + 1
            name, self.at = self.text[self.at : stop], stop
            word.put_value(self._value(name), quoted=quoted and name != "@")
        else:
            word.put("$")

    def _after_name(self) -> int:
        stop = self.at
        while stop < self.end and self.text[stop] in NAME:
            stop += 1
        return stop

    def _value(self, name: str) -> str:
        if name in ("@", "*") and name not in self.into.variables:
            return UNKNOWN if self.into.functions else ""
        self.takes.add(name)
        value = self.into.variables.get(name, " " if name == "IFS" else UNKNOWN)
        self.chose |= OPEN in value
        return value if self.into.spend(len(value) // 4) else UNKNOWN

    def _braced(self) -> str:
        """The value of ``${…}``; of one with an operator the default where the variable isn't known."""
        start, self.at = self.at, self._after_name()
        name = self.text[start : self.at]
        given = self._until_brace()
        if given is None:
            return self._value(name) if name else ""
        if not name:  # ${@}, ${#x}, ${!x}
            return self._value(given) if given in ("@", "*") else UNKNOWN
        self.takes.add(name)
        if given[:1] == "[":  # ${a[@]} is each of its elements, ${a[1]} may be any
            value = self._value(name) if given.partition("]")[2][:1] in ("", ":") else UNKNOWN
            self.chose &= given[1:2] not in ("@", "*")
            return value
        given = given.lstrip(":")
        if given[:1] in ("-", "=", "+") and name not in self.into.variables:
            return given[1:]
        return self._value(name) if given[:1] in ("-", "=", "?") else UNKNOWN

    def _until_brace(self) -> str | None:
        """What stands before the closing brace, which is taken too; None for nothing."""
        word, start = Word(), self.at
        if not self.into.enter():
            self.at = self.end
            return None
        while self.at < self.end and self.text[self.at] != "}":
            char = self.text[self.at]
            if not (char in "'\"\\$`" and self._quoted(char, word)):
                word.put(char)
                self.at += 1
        self.into.leave()
        self.into.broken |= self.at >= self.end
        self.at += 1
        return None if self.at == start + 1 else "".join(word.parts)

    def _expression(self) -> bool:
        """Take `$((…))` or `$[…]` behind its sign; whether it is one."""
        if not self.text.startswith("[", self.at):
            return self._arithmetic()
        if self.open_bracket:  # looking for the end again and again would take long
            return False
        stop = closing(self.text, self.at + 1, "[]", 1)
        self.open_bracket = stop < 0
        self.into.broken |= stop < 0
        if stop > 0:
            self._calculated(self.at + 1, stop - 1)
            self.at = stop
        return stop > 0

    def _arithmetic(self) -> bool:
        """Take `((…))`; without both brackets at its end it is none: `((a); b)` is a subshell in another."""
        stop = closing(self.text, self.at + 2, "()", 2) if self.text.startswith("((", self.at) else -1
        if stop < 0:
            return False
        self._calculated(self.at + 2, stop - 2)
        self.at = stop
        return True

    def _calculated(self, start: int, stop: int) -> None:
        """Read the commands in an expression: only what it substitutes is one."""
        inside = self.text[start:stop]
        self.into.broken |= is_odd(inside)
        self._expanded(inside)

    def _process(self) -> str:
        """What a process substitution prints; empty where that can't be told."""
        given, chose = self.given, self.chose
        text = self._substituted()
        self.given, self.chose = given, chose
        return "" if text == UNKNOWN else text

    def _substituted(self) -> str:
        """Read the commands of a substitution; what they print, if that can be told."""
        outer = self.last, self.captured, self.takes, self.inside
        self.last, self.captured, self.takes, self.inside = None, True, set(), []
        found = self._nested(self.into.subshell())
        self.last, self.captured, self.takes, self.inside = outer
        self.inside += found
        return printed(found, self.into.variables)

    def _backticks(self) -> str:
        parts: list[str] = []
        self.at += 1
        while self.at < self.end and self.text[self.at] != "`":
            if self.text.startswith(("\\`", "\\\\", "\\$"), self.at):
                self.at += 1
            parts.append(self.text[self.at])
            self.at += 1
        self.into.broken |= self.at >= self.end
        self.at += 1
        found = read_into(self.into, "".join(parts), self.into.subshell(), captured=True)
        self.inside += found
        return printed(found, self.into.variables)
