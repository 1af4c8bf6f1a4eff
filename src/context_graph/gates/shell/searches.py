"""Tells what a `find` or `fd` selects, by its options alone, and which programs it starts with that."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise

from context_graph.gates.shell.command import FRESH, is_plain, names, shown
from context_graph.gates.shell.options import letters, long_values, operands
from context_graph.gates.shell.protected import Protected

_STARTS = names("-exec -execdir -ok -okdir")
_LISTS = names("-fprint -fprint0 -fprintf -fls")
_NOT, _EITHER = ("!", "-not"), ("-o", "-or")
_OR = {*_EITHER, ","}
_WHOLE = names("-path -wholename")
_TESTS = _WHOLE | {"-name"}
_LEVELS = names("-maxdepth -mindepth")
_DEPTH = names("-delete -depth -d")
_ACTIONS = _STARTS | _LISTS | names("-print -print0 -printf -ls")
_IN_PATHS = ("claude", ".git", "req", "settings")
_NAME_CHARS = 255
"""Longest name of a file; a longer glob may mean any."""

_CLEARS = names("rm mv unlink shred trash trash-put")
_FILTERS = 40
"""More than these are not compared: they may select anything."""

FD = names("fd fdfind")
SEARCHES = FD | {"find"}
_FD_TAKES = "eEtdcSjoxX"
_FD_LONG = names(
    "--and --extension --exclude --type --max-depth --min-depth --exact-depth --changed-within "
    "--changed-before --owner --format --color --threads --base-directory --search-path --max-results "
    "--batch-size --path-separator --ignore-file --size"
)
_FD_STARTS = names("--exec --exec-batch")


@dataclass(slots=True)
class Search:
    """One search: where it begins, what it starts, and what it selects by."""

    starts: list[str]
    programs: list[list[str]] = field(default_factory=list)
    """The words of each program that it starts."""
    in_folders: bool = False
    """Whether it starts one of them in the folder of what it finds."""
    removes: bool = False
    writes: list[str] = field(default_factory=list)
    """Files that it writes its list to."""
    hidden: bool = True
    """Whether it goes into folders whose name begins with a dot."""
    globs: list[tuple[str, bool]] = field(default_factory=list)
    """For names; and whether upper and lower case are alike."""
    tails: list[str] = field(default_factory=list)
    """What a name ends with, or holds, in lower case; from regular expressions."""
    paths: list[tuple[str, bool]] = field(default_factory=list)
    never: list[tuple[str, bool, bool]] = field(default_factory=list)
    """Globs of what it leaves out; whether each is for the whole path, and whether for all below it too."""
    files: bool = False
    """Whether it selects files alone, no folders."""
    either: bool = False
    """One filter that fits is enough."""

    @property
    def filtered(self) -> bool:
        """Whether it selects by names or paths at all."""
        return bool(self.globs or self.tails or self.paths)

    @property
    def clears(self) -> bool:
        """Whether it takes away all that it selects, folders with what is in them too."""
        started = {word.rpartition("/")[2] for words in self.programs for word in words}
        return self.removes or not _CLEARS.isdisjoint(started)

    def may_select(self, ours: Protected, folders: Collection[str]) -> bool:
        """Whether one of the files, or of the folders that hold them, passes the filters.

        ``folders`` are those that the search may run in.
        """
        if len(self.globs) + len(self.tails) + len(self.paths) > _FILTERS:
            return True
        answers = []
        found = self._names_of(ours, folders)
        if self.globs:
            answers.append(
                any(_fits(glob, name, any_case) for glob, any_case in self.globs for name in found)
            )
        if self.tails:
            answers.append(any(tail in name.lower() for tail in self.tails for name in found))
        if self.paths:
            told = any(part in path for path, _ in self.paths for part in _IN_PATHS)
            answers.append(
                told or any(ours.fits(path, folders, any_case=any_case) for path, any_case in self.paths)
            )
        return (any(answers) if self.either else all(answers)) if answers else bool(found)

    def _names_of(self, ours: Protected, folders: Collection[str]) -> set[str]:
        """The names of our files and folders that it does not leave out."""
        sure = [one for one in self.never if is_plain(one[0]) and len(one[0]) <= _NAME_CHARS][:_FILTERS]
        if not sure or len(self.starts) > _FILTERS or not all(map(is_plain, (*self.starts, *folders))):
            return ours.names
        shown_paths = {path for start in self.starts for path in ours.below(start, folders, files=self.files)}
        left = [path for path in shown_paths if not any(_leaves_out(one, path) for one in sure)]
        return {path.rstrip("/").rpartition("/")[2] for path in left}


def _leaves_out(one: tuple[str, bool, bool], path: str) -> bool:
    glob, whole, deep = one
    above = path
    while above:
        if fnmatchcase(above if whole else above.rpartition("/")[2], glob):
            return True
        above = above.rpartition("/")[0] if deep else ""
    return False


def _fits(glob: str, name: str, any_case: bool) -> bool:
    if len(glob) > _NAME_CHARS:
        return True
    return fnmatchcase(name.lower(), glob.lower()) if any_case else fnmatchcase(name, glob)


def search_of(program: str, words: Sequence[str]) -> Search:
    """The search that ``words``, the program's name left out, ask for."""
    return _of_fd(list(words)) if program in FD else _of_find(list(words))


def _of_find(words: list[str]) -> Search:
    while words and (words[0] in ("-H", "-L", "-P") or words[0].startswith("-O")):
        words = words[1:]
    stop = next((at for at, word in enumerate(words) if word.startswith(("-", "(", "!"))), len(words))
    found = Search(words[:stop] or ["."], removes="-delete" in words)
    at = _leave_out_pruned(found, words, stop)
    rest = words[at:]
    found.either = not _OR.isdisjoint(rest)
    kinds = [at for at, pair in enumerate(pairwise(rest)) if pair == ("-type", "f")]
    found.files = not found.either and bool(kinds) and rest[kinds[0] - 1] not in _NOT
    at = 0
    while at < len(rest):
        option, value = rest[at], rest[at + 1] if at + 1 < len(rest) else ""
        if option in _STARTS:
            found.programs.append(_up_to_end(rest, at + 1))
            at += len(found.programs[-1])
            found.in_folders |= option.endswith("dir")
        elif option in _LISTS:
            found.writes.append(value)
        elif option in _NOT and value == "(":
            at = _behind_bracket(rest, at + 1)
            continue
        elif not at or rest[at - 1] not in _NOT:
            _filter(found, option, value)
        elif option in _TESTS and not found.either and rest[at - 2 : at - 1] != [rest[at - 1]]:
            found.never.append((value, option in _WHOLE, False))
        at += 1
    return found


def _leave_out_pruned(found: Search, words: list[str], at: int) -> int:
    """Take in what a search begins with to keep out of folders: `-path X -prune -o`; where the rest begins.

    It keeps nothing out where it visits a folder last, and prints the folder where nothing else is said.
    """
    if not _DEPTH.isdisjoint(words) or _ACTIONS.isdisjoint(words):
        return at
    while at < len(words):
        start = at
        while words[at : at + 1] and words[at] in _LEVELS:
            at += 2
        many = words[at : at + 1] == ["("]
        stop = _behind_bracket(words, at) if many else at
        inner = words[at + 1 : stop - 1] if many else words[at : _end_of_tests(words, at)]
        stop = stop if many else at + len(inner)
        tests = list(_tests_of(inner))
        ends = words[stop : stop + 1] == ["-prune"] and any(
            one in _EITHER for one in words[stop + 1 : stop + 2]
        )
        if not ends or not tests or (len(tests) > 1 and not many) or None in tests:
            return start
        found.never += [test for test in tests if test is not None]
        at = stop + 2
    return at


def _tests_of(words: Sequence[str]) -> Iterator[tuple[str, bool, bool] | None]:
    """The tests for names in ``words``, any of which is enough; None for what else stands there."""
    at = 0
    while at < len(words):
        option, value = words[at], words[at + 1] if at + 1 < len(words) else ""
        if option in _TESTS:
            yield (value, option in _WHOLE, True)
        elif (option, value) != ("-type", "d") and option not in _EITHER:
            yield None
        at += 1 if option in _EITHER else 2


def _end_of_tests(words: Sequence[str], at: int) -> int:
    while words[at : at + 1] and words[at] in (*_TESTS, "-type"):
        at += 2
    return at


def _behind_bracket(words: Sequence[str], at: int) -> int:
    """Behind the bracket that closes the one at ``at``."""
    depth = 0
    while at < len(words):
        depth += (words[at] == "(") - (words[at] == ")")
        at += 1
        if not depth:
            break
    return at


def _filter(found: Search, option: str, value: str) -> None:
    any_case = option.startswith("-i")
    if option in ("-name", "-iname"):
        found.globs.append((shown(value), any_case))
    elif option in ("-path", "-ipath", "-wholename", "-iwholename"):
        found.paths.append((value, any_case))
    elif option in ("-regex", "-iregex"):
        found.tails.append(literal_tail(value).rpartition("/")[2])


def _up_to_end(words: list[str], start: int) -> list[str]:
    """The words of a program that is started, up to the sign that ends them."""
    stop = start
    while stop < len(words) and words[stop] not in (";", "+"):
        stop += 1
    return words[start:stop]


def _of_fd(words: list[str]) -> Search:
    at = next((at for at, word in enumerate(words) if _starts(word)), len(words))
    started = _up_to_end(words, at + 1)
    own = words[:at]
    if at < len(words) and not words[at].startswith("--"):
        own.append(words[at][:-1] if len(words[at]) > 2 else "-")
    flags = {letter for letter, _ in letters(own, _FD_TAKES)}
    pattern, *folders = [word for word in operands(own, _FD_TAKES, tuple(_FD_LONG)) if word != "-"] or [""]
    folders += [*long_values(own, "--base-directory"), *long_values(own, "--search-path")]
    found = Search(folders or ["."], [started] if started else [])
    found.hidden = bool({"H", "u"} & flags) or not {"--hidden", "--unrestricted"}.isdisjoint(own)
    endings = [value for letter, value in letters(own, _FD_TAKES) if letter == "e"]
    endings += long_values(own, "--extension")
    found.globs = [("*." + ending.lstrip("."), True) for ending in endings]
    _select(found, pattern, flags, own)
    return found


def _select(found: Search, pattern: str, flags: Collection[str], own: Collection[str]) -> None:
    """Take fd's pattern in: a glob, a fixed text, or a regular expression for a part of the name."""
    if "p" in flags or "--full-path" in own or not pattern:
        return
    if "g" in flags or "--glob" in own:
        if not found.globs:  # with endings too, those alone decide
            found.globs.append((shown(pattern), True))
    elif "F" in flags or "--fixed-strings" in own:
        found.tails.append(pattern.lower())
    else:
        found.tails.append(literal_tail(pattern))


def _starts(word: str) -> bool:
    """Whether fd starts what follows this word: -x, -X, or a cluster that ends so."""
    if word in _FD_STARTS:
        return True
    cluster = word[:1] == "-" and word[1:2] != "-" and word[-1:] in ("x", "X")
    return cluster and not any(letter in "eEtdcSjo" for letter in word[1:-1])


def literal_tail(pattern: str) -> str:
    """The text with which all ends that the regular expression matches, in lower case, as far as it is plain.

    Syntaxes differ in what a sign means; where they do, the text begins anew behind it.
    """
    if "|" in pattern:
        return ""
    parts: list[str] = []
    at, end = 0, len(pattern)
    while at < end:
        char = pattern[at]
        at += 1
        if char == "\\" and pattern[at : at + 1] in (".", "-", "_", "/"):
            parts.append(pattern[at])
            at += 1
        elif char == "\\":
            parts.clear()
            at += 1
        elif char == "[" and pattern[at + 1 : at + 2] == "]" and pattern[at] != "^":
            parts.append(pattern[at])
            at += 2
        elif char in "[{":
            close = pattern.find("]" if char == "[" else "}", at + 1)
            at = end if close < 0 else close + 1
            parts.clear()
        elif char in ".*+?()^}]" or char < FRESH:
            parts.clear()
        elif char != "$" or at < end:
            parts.append(char)
    return "".join(parts).lower()
