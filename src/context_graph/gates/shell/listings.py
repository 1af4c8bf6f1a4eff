"""Tells whether a command prints names of files, and with them those that gates depend on.

A search for a text prints the name of a file that has it: our few files are read to see whether they do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fnmatch import fnmatchcase

from context_graph.gates.shell.command import UNKNOWN, Command, names, shown
from context_graph.gates.shell.options import letters, long_values, operands
from context_graph.gates.shell.protected import Protected, Reach
from context_graph.gates.shell.runs import git_call
from context_graph.gates.shell.text_patterns import TextPattern


class Listed(IntEnum):
    """What a list of names has of the files that gates depend on."""

    NOTHING = 0
    AMONG_ALL = 1
    """They are in it because everything is."""
    CHOSEN = 2
    """It was asked for names or texts that are theirs."""


_GREPS = names("grep egrep fgrep zgrep")
_DEEP = names("rg ag ack")
"""Searches that go into folders by themselves, but not into hidden ones."""

TEXT_SEARCHES = _GREPS | _DEEP

_GREP_TAKES = "efmABCdD"
_DEEP_TAKES = "efgtTmABCjMrd"
_LONG = names(
    "--regexp --file --include --exclude --exclude-dir --max-count --context --color --colour --glob --type "
    "--type-not --threads --max-depth"
)
_NAMES_ALONE = names("--files-with-matches --files-without-match --name-only --files-without-matches")
_TYPES = names("yaml json all")
_GIT_NAMES = names("diff show log ls-tree diff-tree diff-index")
"""Verbs that print names where they are told to."""

_GONE = names("-d --deleted -z")
"""Options of a list that has nothing but files that are gone."""

_EVERYTHING = ("", ".", "./", "*", ":/", ":/*")
_GLOB_CHARS = 255
_PATTERNS = 40
"""Longest glob, and most globs or patterns of one search, that are tried; others may match."""


@dataclass(slots=True)
class _TextSearch:
    """One call of grep or its like."""

    patterns: list[str]
    paths: list[str]
    letters: dict[str, str] = field(default_factory=dict)
    long: frozenset[str] = frozenset()
    kind: str = "basic"
    deep: bool = False
    """Whether it goes into folders."""
    hidden: bool = True
    only: list[str] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    """Globs for the names of files, and of files or folders that it leaves out."""

    @property
    def prints_names(self) -> bool:
        alone = not {"l", "L"}.isdisjoint(self.letters) or not _NAMES_ALONE.isdisjoint(self.long)
        return alone or (self.deep and "h" not in self.letters and "c" not in self.letters)

    @property
    def inverted(self) -> bool:
        return not {"v", "L"}.isdisjoint(self.letters) or any("without" in name for name in self.long)

    def matching(self, texts: Iterable[str]) -> list[str]:
        """Those of ``texts`` a line of which may have one of the patterns."""
        if len(self.patterns) > _PATTERNS:
            return list(texts)
        any_case = not {"i", "y"}.isdisjoint(self.letters) or "--ignore-case" in self.long
        tried = [TextPattern(pattern, self.kind, any_case=any_case) for pattern in self.patterns]
        return [text for text in texts if any(one.may_match(text) for one in tried)]

    def takes(self, path: str) -> bool:
        """Whether its globs let it look into the file."""
        parts = path.split("/")
        if len(self.only) + len(self.never) > _PATTERNS or any(map(_too_long, [*self.only, *self.never])):
            return True
        if any(fnmatchcase(part, shown(glob)) for glob in self.never for part in parts):
            return False
        return not self.only or any(fnmatchcase(parts[-1], shown(glob)) for glob in self.only)


def _too_long(glob: str) -> bool:
    return len(glob) > _GLOB_CHARS


def listed(command: Command, ours: Protected) -> Listed:
    """What the command, a search for texts or a list of git's, prints of our files' names."""
    if command.is_git:
        call = git_call(command.words)
        if call.verb != "grep":
            return _of_git(call.verb, call.rest, ours, command.folders)
        words = ["git grep", *call.rest]
    else:
        words = command.words
    search = _text_search(words)
    if search is None or not search.prints_names:
        return Listed.NOTHING
    starts = search.paths or ["."]
    if not search.hidden:
        starts = [one for one in starts if ours.reach(one, command.folders) >= Reach.HOME_OF]
    elif command.more:
        starts = [*search.paths, "."]
    found = [path for path in ours.found_in(starts, command.folders) if search.takes(path)]
    has_it = search.inverted or search.matching(map(ours.text_of, found))
    return Listed.CHOSEN if found and has_it else Listed.NOTHING


def left_by(command: Command, before: Listed, ours: Protected) -> Listed:
    """What a list has of our files' names behind the command, a grep that it goes through."""
    search = _text_search(command.words) if before is Listed.AMONG_ALL else None
    if search is not None and command.more and search.prints_names and not search.inverted:
        return Listed.NOTHING  # `listed` tells what it finds
    if search is None or search.paths or search.deep or command.more or search.inverted:
        return before
    passing = search.matching(["?", *ours.shown_in(command.folders)])
    if "?" in passing:  # a filter that any name passes is none
        return before
    return Listed.CHOSEN if passing else Listed.NOTHING


def _of_git(verb: str, rest: Sequence[str], ours: Protected, folders: Sequence[str]) -> Listed:
    if verb != "ls-files" and not (verb in _GIT_NAMES and "--name-only" in rest):
        return Listed.NOTHING
    gone = verb == "ls-files" and not {"-d", "--deleted"}.isdisjoint(rest) and _GONE.issuperset(rest)
    if gone or "--diff-filter=D" in rest:
        return Listed.NOTHING
    paths = operands(rest, "xX") if verb == "ls-files" else []
    paths = list(rest[rest.index("--") + 1 :]) if "--" in rest else paths
    paths = [path for path in paths if not path.startswith((":!", ":^", ":(exclude"))]
    reached = Reach.NOTHING
    for path in paths or ["."]:
        if path in _EVERYTHING:
            reached = max(reached, ours.reach(".", folders))
        elif any(sign in shown(path) for sign in "*?["):
            fits = ours.fits(shown(path), folders) or ours.fits(f"*/{shown(path)}", folders)
            reached = Reach.FILE if fits else reached
        else:
            reached = max(reached, ours.reach(path, folders))
    if reached is Reach.NOTHING:
        return Listed.NOTHING
    return Listed.AMONG_ALL if reached is Reach.ABOVE else Listed.CHOSEN


def _text_search(words: Sequence[str]) -> _TextSearch | None:
    program, rest = words[0].rpartition("/")[2] if words else "", list(words[1:])
    if program not in TEXT_SEARCHES and program != "git grep":
        return None
    taking = _DEEP_TAKES if program in _DEEP else _GREP_TAKES
    given = list(letters(rest, taking))
    flags, long = dict(given), frozenset(word.partition("=")[0] for word in rest if word.startswith("--"))
    patterns = [value for letter, value in given if letter == "e"] + long_values(rest, "--regexp")
    if "f" in flags or "--file" in long:
        patterns.append(UNKNOWN)
    paths = operands(rest, taking, tuple(_LONG))
    if not patterns:
        patterns, paths = paths[:1], paths[1:]
    found = _TextSearch(patterns, paths, flags, long, kind=_kind(program, flags))
    found.deep = program not in _GREPS or not {"r", "R"}.isdisjoint(flags) or "--recursive" in long
    found.only = long_values(rest, "--include")
    found.never = [*long_values(rest, "--exclude"), *long_values(rest, "--exclude-dir")]
    if program in _DEEP:
        unlimited = sum(letter == "u" for letter, _ in given) > 1
        found.hidden = unlimited or "." in flags or "--hidden" in long
        found.hidden &= flags.get("t", "all") in _TYPES
    return found


def _kind(program: str, flags: dict[str, str]) -> str:
    if "F" in flags or program == "fgrep":
        return "fixed"
    extended = program in _DEEP or program == "egrep" or not {"E", "P"}.isdisjoint(flags)
    return "extended" if extended else "basic"
