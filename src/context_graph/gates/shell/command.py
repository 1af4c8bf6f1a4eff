"""Describes one simple command of a shell line: its words, input, output and variables.

A word is text with marks for what only a run (``UNKNOWN``) or a file system (``STAR``, ``ONE``) could tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

UNKNOWN = "\0"
"""Any text: a variable that isn't known, a program's output."""
STAR = "\1"
"""Any text without a slash: an unquoted ``*``."""
ONE = "\2"
"""Any one character: an unquoted ``?`` or ``[…]``."""

FRESH = "\6"
"""The name of a folder that the line has just made (`mktemp -d`): part of a path like any other."""
LAST_MARK = FRESH
"""Every mark is a character up to this one; no text that is read has them."""

OPEN, COMMA, CLOSE = "\3", "\4", "\5"
"""Signs of a brace list, within ``shell`` only."""


def names(text: str) -> frozenset[str]:
    """The names in ``text``, blanks between them."""
    return frozenset(text.split())


_LISTED = 64
"""Words that one brace list may become; what would be more stays one word of any text."""

_LISTS = 32
_NESTED = 8

_VALUE = 4096
"""Longest value of a variable that is followed."""

_ESCAPES = dict(zip("ntreEabfv", "\n\t\r\x1b\x1b\a\b\f\v", strict=True))
_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}

_GLOB = str.maketrans({UNKNOWN: "*", STAR: "*", ONE: "?", FRESH: "tmp.XXXX"})
_QUOTING = str.maketrans("", "", "'\"\\+ ,()\n")

DECLARING = names("export declare local readonly typeset")
"""Builtins that set variables."""

_READING = names("read mapfile readarray printf getopts select")


@dataclass(slots=True, eq=False)
class Command:
    """One simple command."""

    shell: tuple[int, ...] = (0,)
    """The subshells that it stands in, outermost first."""
    source: Command | None = None
    """The command that is piped into it."""
    words: list[str] = field(default_factory=list)
    assigned: list[tuple[str, str]] = field(default_factory=list)
    """Its ``NAME=value``."""
    redirects: list[tuple[str, str]] = field(default_factory=list)
    """Operator and target of each."""
    stdin: str | None = None
    """The text of its here-document or here-string."""
    ends: str = ""
    """The operator after it."""
    captured: bool = False
    """Its output becomes part of another command."""
    more: bool = False
    """Further words come at run time."""
    wraps: bool = False
    """What it runs follows as commands of its own."""
    given: list[str] = field(default_factory=list)
    """What its process substitutions print."""
    inside: list[Command] = field(default_factory=list)
    """The commands whose output its words, or its input, have."""
    takes: set[str] = field(default_factory=set)
    """The variables whose values they have."""
    choices: list[tuple[int, int]] = field(default_factory=list)
    """Begin and number of words of which each run has one: those of a loop's variable."""
    chdir: str = ""
    """The folder that what started it goes to first (`env -C`)."""
    folder: str = ""
    """Where it runs, as far as that folder is there (`runs` with PWD)."""
    folders: list[str] = field(default_factory=list)
    """Where it may run."""
    places: list[str] = field(default_factory=list)
    """Folders that are there of which it runs in one, or in each in turn; ``folder`` is the first."""
    exported: list[tuple[str, str]] = field(default_factory=list)
    """Git's variables that earlier commands have set for it."""

    @property
    def program(self) -> str:
        """The program's name without its folders; empty if there is none."""
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def inputs(self) -> list[tuple[str, str]]:
        """Operator and target of each redirection that it reads from."""
        return [pair for pair in self.redirects if pair[0].endswith("<")]

    @property
    def is_git(self) -> bool:
        """Whether it calls git."""
        return self.program in ("git", "git.exe")

    def texts(self) -> list[str]:
        """What the program is given to work on, as far as it stands in the line."""
        found = [*self.words[1:], self.stdin or ""]
        if self.source is not None:
            found += [self.source.stdin or ""]
            found += self.source.words[1:] if self.source.program in ("echo", "printf") else []
        return found


def is_plain(word: str) -> bool:
    """Whether every character is known."""
    return UNKNOWN not in word and STAR not in word and ONE not in word


def filled(words: Sequence[str], sign: str) -> list[str]:
    """``words`` with a mark for a sign that a run replaces by names; they themselves if there is no sign."""
    return [word.replace(sign, UNKNOWN) for word in words] if sign else [*words]


def shown(word: str) -> str:
    """``word`` as a glob: what isn't known may be anything."""
    return word.translate(_GLOB)


def bare_text(text: str) -> str:
    """``text`` without quotes, blanks and signs that hold the parts of a name apart."""
    return text.translate(_QUOTING)


def short_options(words: Sequence[str]) -> str:
    """The letters of all options with one dash."""
    return "".join(word[1:] for word in words if word.startswith("-") and not word.startswith("--"))


def spread(word: str) -> list[str]:
    """The words that a brace list stands for; the word itself where there is none."""
    if OPEN not in word:
        return [_literal(word)]
    if word.count(OPEN) > _LISTS:
        return [UNKNOWN]
    found, _ = _alternatives(word, 0, 0)
    return found if len(found) <= _LISTED else [UNKNOWN]


def _alternatives(word: str, at: int, depth: int) -> tuple[list[str], int]:
    """What the text from ``at`` to the comma or brace that ends it may be, and where it ends."""
    made, start = [""], at
    while at < len(word):
        char = word[at]
        if char == OPEN and depth < _NESTED:
            before = word[start:at]
            inner, at = _list(word, at + 1, depth + 1)
            made = [one + before + more for one in made for more in inner][: _LISTED + 1]
            start = at
        elif depth and char in (COMMA, CLOSE):
            break
        else:
            at += 1
    return [one + _literal(word[start:at]) for one in made], at


def _list(word: str, at: int, depth: int) -> tuple[list[str], int]:
    choices: list[str] = []
    parts, closed = 0, False
    while not closed:
        inner, at = _alternatives(word, at, depth)
        choices += inner
        parts += 1
        if at >= len(word):  # never closed: no list
            return ["{" + ",".join(choices[:1])], at
        closed = word[at] == CLOSE
        at += 1
    if parts == 1:
        return ([UNKNOWN] if ".." in choices[0] else ["{" + one + "}" for one in choices]), at
    return choices[: _LISTED + 1], at


def _literal(text: str) -> str:
    return text.replace(OPEN, "{").replace(COMMA, ",").replace(CLOSE, "}")


def ansi_c(text: str, at: int) -> tuple[str, int, bool]:
    """``$'…'`` from behind its first quote: its text, where it ends, and whether it was closed."""
    parts: list[str] = []
    while at < len(text) and text[at] != "'":
        char, at = text[at], at + 1
        if char == "\\":
            char, at = _escape(text, at)
        parts.append(char)
    return "".join(parts), at + 1, at < len(text)


def _escape(text: str, at: int) -> tuple[str, int]:
    char = text[at : at + 1]
    if char in _HEX_DIGITS:
        start, most, digits, base = at + 1, _HEX_DIGITS[char], _HEX, 16
    elif char in _OCTAL:
        start, most, digits, base = at, 3, _OCTAL, 8
    else:
        return _ESCAPES.get(char, char), at + 1
    end = start
    while end < min(len(text), start + most) and text[end] in digits:
        end += 1
    code = int(text[start:end] or "0", base)
    return chr(code) if ord(LAST_MARK) < code < 0x110000 else "", end


def could_be(word: str, path: str) -> bool:
    """Whether the word, with its marks filled in, may be exactly ``path``; a leading dot needs its own.

    Time: the product of both lengths at most.
    """
    star = text = -1
    free = False
    at = here = 0
    while here < len(path):
        mark = word[at] if at < len(word) else ""
        if mark in (UNKNOWN, STAR) and mark:
            star, text, free = at, here, mark == UNKNOWN
            at += 1
        elif mark == path[here] or (mark == ONE and path[here] != "/" and not _hides(path, here)):
            at, here = at + 1, here + 1
        elif star >= 0 and (free or (path[text] != "/" and not _hides(path, text))):
            text += 1
            at, here = star + 1, text
        else:
            return False
    return all(mark in (UNKNOWN, STAR) for mark in word[at:])


def _hides(path: str, at: int) -> bool:
    return path[at] == "." and (at == 0 or path[at - 1] == "/")


def listing(values: Sequence[str]) -> str:
    """One word that stands for all of ``values``: those of a loop's variable, an array's elements."""
    inner = [one[1:-1] if one[:1] == OPEN and one[-1:] == CLOSE else one for one in values]
    return OPEN + COMMA.join(inner) + CLOSE if len(values) > 1 else "".join(values)


def learn(command: Command, variables: dict[str, str]) -> None:
    """Keep in ``variables`` what the command sets; one that it sets to something unknown is known no more."""
    first, rest = command.words[:1], command.words[1:]
    declared = [word.partition("=") for word in rest if "=" in word] if set(first) & DECLARING else []
    for name, value in [*command.assigned, *((name, value) for name, _, value in declared)]:
        _set(variables, name, value)
    if first == ["for"] and rest[1:2] == ["in"]:
        # A word with the variable stands for all that it may become.
        _set(variables, rest[0], listing(rest[2:]))
    elif first == ["set"] and rest and (rest[0] == "--" or rest[0][:1] not in ("-", "+")):
        given = rest[rest[0] == "--" :]
        for number, word in enumerate(given[:9], 1):
            _set(variables, str(number), word)
        _set(variables, "@", " ".join(given))
        variables["*"] = variables["@"]
    elif first == ["read"] and command.stdin is not None:
        for name in rest:
            _set(variables, name, command.stdin.strip())
    elif set(first) & _READING:
        for name in rest:
            variables.pop(name, None)


def _set(variables: dict[str, str], name: str, value: str) -> None:
    if name.endswith("[]"):  # one element: the whole is known no more
        variables.pop(name[:-2], None)
        return
    if name.endswith("+"):
        name, value = name[:-1], variables.get(name[:-1], UNKNOWN) + value
    variables[name] = value if len(value) <= _VALUE else UNKNOWN
