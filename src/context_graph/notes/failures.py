"""Follows commands that fail until the same thing works, and keeps what solved it: a lesson.

What solves a failure is what was run and edited between the last time it failed and the first time it worked;
if nothing was, the command itself, in the form in which it worked. A cure that deletes, discards or forces
something is kept by nobody: told again, it would be advice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from context_graph.identity.forecast import command_head
from context_graph.notes.command_lines import (
    SHORTENS,
    commands_in,
    failed_tests,
    line_of,
    only_looks,
    parts_of,
)
from context_graph.notes.edits.reverts import Reverts, is_in
from context_graph.notes.failure import EDIT, STEPS, Edit, Failure, counts_only
from context_graph.text import phrases
from context_graph.text.destroying import destroys
from context_graph.text.patterns import linear
from context_graph.text.phrases import word_set

MAX_OPEN: Final = 12
MAX_LESSONS: Final = 16
_REVERTS: Final = ("git checkout", "git stash")
_MENDING_GIT: Final = tuple(
    f"git {verb}" for verb in ("config", "submodule", "lfs", "checkout", "stash", "rebase", "update-index")
)
_JOINTS: Final = frozenset(("&&", "||", "|", ";", "2>&1"))
_RAN: Final = 2
_EDITED: Final = 3
_COMMAND_CHARS: Final = 240
_ERROR_CHARS: Final = 240
_NARROWS: Final = (
    "::",
    " -k ",
    " -m not ",
    "--deselect",
    "--ignore",
    "--lf",
    " -x",
    "|| true",
    "-run ",
    " -t ",
)
_SELECTS: Final = (" -k ", "--deselect", "--ignore", "--lf", " -t ", " -run ", "|| true")
_PREPARES: Final = frozenset(
    ("rm", "mkdir", "cp", "mv", "touch", "cd", "kill", "pkill", "sleep", "test", "[")
)
_ALIKE: Final = 0.5
"""The share of words that two commands have in common that try the same thing."""
ABSENT: Final = linear(
    r"(?i)command not found|no module named|not installed|cannot find module|modulenotfound|"
    r"no such file or directory: |is not recognized|unknown command|could not find|"
    r"unable to locate package|shared object file"
)
"""What an environment lacks: a lesson whoever met it."""
TRIVIAL: Final = linear(
    r"(?i)has no upstream branch|nothing (?:added )?to commit|no changes added|working tree clean|"
    r"already up to date|interrupted by user|user doesn['’]t want|no matches found: |timed out after|"
    r"nothing to do"
)
"""What a program says itself with what to do about it, or what was nobody's fault."""
_FETCHES: Final = word_set("install sync add get fetch update upgrade restore ci i deps force clean")
_STAGES: Final = linear(r"^git add [^&|;]+&& ")
_ENTERS: Final = linear(r"cd [\w.-][\w./-]* && ")
_PATH: Final = linear(r"(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+[\w.@+-]*")
_ADDRESS: Final = linear(r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{18,}|[0-9a-f]{12,40}|\d+(?:[.:]\d+)+")
_NUMBER: Final = linear(r"\d+")


@dataclass(slots=True)
class Lesson:
    """A failure and what solved it."""

    failure: Failure
    worked: str
    """The command as it worked."""
    number: int
    at_ms: int

    @property
    def solved_by(self) -> list[str]:
        """The other form of the command, where that was it; else what came between; [] if nothing did.

        Where files were edited as well, both may have been needed; not a build, which only tried the edits,
        nor that they were staged.
        """
        failure = self.failure
        bare = _STAGES.sub("", self.worked) if failure.edits else self.worked
        differs = _words(bare) != _words(failure.command)
        if differs and (failure.edits or failure.unseen) and _is_test(failure.command):
            differs = not _differ_in_options(self.worked, failure.command)
        worked = [self.worked] if differs else []
        if differs and not failure.edits:
            return worked
        ran = [step for step in failure.ran if not (failure.edits and _only_builds(step))]
        return [*ran[-_RAN:], *failure.edited[-_EDITED:], *worked]

    @property
    def destroys(self) -> bool:
        """Whether a command of what solved it deletes, discards or forces something."""
        return any(destroys(step) for step in self.solved_by if not step.startswith(EDIT))


def is_trial(command: str, own: Iterable[str] = ()) -> bool:
    """Return whether a command gives an interpreter its text, or runs one of the scripts that its session
    wrote: what fails in it has hardly anything to do with another such text."""
    commands = commands_in(line_of(command))
    is_text = bool(commands) and all(each.snippet for each in commands)
    return is_text or any(path in command for path in own)


@dataclass(slots=True)
class Failures:
    """The open failures and the lessons of one session. Bounded."""

    open: list[Failure] = field(default_factory=list)
    lessons: list[Lesson] = field(default_factory=list)
    aside: list[Failure] = field(default_factory=list)
    """The open ones as they were before the work was put aside."""

    def failed(self, command: str, output: str, number: int, at_ms: int, *, scratch: bool) -> None:
        """Note that a command failed; one that only looks, or a script of the session's own, teaches nothing.

        Such a script's failure counts if the environment lacks something.
        """
        shown = _shown(command)
        error = phrases.error_line(output, _ERROR_CHARS)
        bare = phrases.command_line(command)
        looks = phrases.is_lookup(bare) or bare.split()[0] in _PREPARES  # of nothing, too
        if not error or (looks and not ABSENT.found(error)):
            return
        if (scratch and not ABSENT.found(output)) or TRIVIAL.found(error):
            return
        known = next((failure for failure in self.open if _same(failure.command, shown)), None)
        times, tests = 1, failed_tests(output)
        if known is not None:
            self.open.remove(known)
            is_other = bool(tests and known.tests) and set(tests).isdisjoint(known.tests)
            times = 1 if is_other else known.times + 1
            error = known.error if counts_only(error) and not is_other else error
        self.open.append(Failure(shown, error, number, at_ms, times, tests=tests))
        del self.open[:-MAX_OPEN]

    def worked(self, command: str, number: int, at_ms: int, *, line: str = "") -> None:
        """Note that a command worked: it may be what failed before, or what will have solved it.

        Args:
            line: The whole line that it stands in, if it has more that may have helped.
        """
        shown = _shown(command)
        if not shown or only_looks(command):
            return
        for failure in self.open[:]:
            if _same(failure.command, shown):
                lesson = Lesson(failure, shown, number, at_ms)
            elif (failure.edits or failure.ran) and _runs_all(failure.tests, shown):
                lesson = Lesson(failure, failure.command, number, at_ms)  # later steps cured nothing of it
            else:
                continue
            self.open.remove(failure)
            if lesson.solved_by and not lesson.destroys:
                self.lessons.append(lesson)
                del self.lessons[:-MAX_LESSONS]
        whole = _shown(line) if line and all(map(_mends, _doing(line))) else shown
        if not phrases.is_lookup(phrases.command_line(command)) and _may_solve(whole):
            for failure in self.open:
                if not shown.startswith(_REVERTS) or failure.command.startswith("git "):
                    failure.ran = [*(step for step in failure.ran if step != whole), whole][-STEPS:]

    def edited(
        self,
        path: str,
        line: str = "",
        *,
        own: bool,
        put: Collection[str] = (),
        took: Collection[str] = (),
    ) -> None:
        """Note that a file was edited, and the line that was put there; "" for the first that says
        something.

        Args:
            own: Whether the session wrote the file itself: if it runs it, that is unfinished work, no cure.
            put: All lines that were put there.
            took: All lines that were taken away.
        """
        edit = Edit.of(path, line, put, took)
        for failure in self.open:
            if not (own and path in failure.command):
                failure.add(edit)

    def ran_unseen(self, edited: Collection[str], own: Collection[str], *, writes: bool) -> None:
        """Note that a text for an interpreter, or a script of the session's own, ran: it is no step.

        Args:
            edited: Files that it changed.
            own: Files that the session wrote itself.
            writes: Whether it may have changed others, too.
        """
        for path in edited:
            self.edited(path, own=path in own)
        for failure in self.open if writes else ():
            failure.unseen = True

    def reverted(self, done: Reverts) -> None:
        """Note what was set back: an edit there has cured nothing, and what was run while work was put aside
        says nothing of it.
        """
        if done.aside:
            self.aside = [replace(failure, edits=failure.edits[:]) for failure in self.open]
        for failure in self.open if done.paths else ():
            failure.edits = [edit for edit in failure.edits if not is_in(edit.path, done.paths)]
        if done.back and self.aside:
            self.open, self.aside = self.aside, []

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values, for from_json."""
        return asdict(self)

    @classmethod
    def from_json(cls, state: Any) -> Failures:
        """Return what to_json gave. Raises TypeError or KeyError for anything else."""
        return cls(
            [_failure(row) for row in state["open"]],
            [Lesson(**{**row, "failure": _failure(row["failure"])}) for row in state["lessons"]],
            [_failure(row) for row in state["aside"]],
        )


def _failure(row: dict[str, Any]) -> Failure:
    return Failure(**{**row, "edits": [Edit(**edit) for edit in row["edits"]]})


def _only_builds(command: str) -> bool:
    """Return whether a command builds the project, does nothing else and fetches nothing that it lacks."""
    builds = sum(each.kind == "build" for each in commands_in(line_of(command)))
    fetches = not _FETCHES.isdisjoint(word.strip("-") for word in command.split())
    return 0 < builds == len(_doing(command)) and not fetches


def _is_test(command: str) -> bool:
    return any(each.kind == "test" for each in commands_in(line_of(command)))


def _differ_in_options(command: str, other: str) -> bool:
    """Return whether two commands differ in nothing but options and their values."""
    own, others = command.split(), other.split()
    return all(
        word in known or word.startswith("-") or before.startswith("-")
        for words, known in ((own, others), (others, own))
        for before, word in pairwise(["", *words])
    )


def _runs_all(tests: Collection[str], command: str) -> bool:
    """Return whether a run of tests is of all ``tests``, by their ids or files."""
    if not (tests and _is_test(command)) or any(mark in f"{command} " for mark in _SELECTS):
        return False
    named = [word.removeprefix("./") for word in command.split()[1:] if "." in word and word[0] != "-"]
    return all(
        any(test == word or test.startswith((f"{word}::", f"{word}[")) for word in named) for test in tests
    )


def _shown(command: str) -> str:
    """Return a command on one line, with the variables that it sets and a folder of the project that it
    enters: they may be what solves it."""
    enters = _ENTERS.match(command.lstrip())
    shown = SHORTENS.sub("", phrases.command_line(command, _COMMAND_CHARS, variables=True))
    return f"{enters[0]}{shown}" if enters and shown else shown


def tried(command: str, *, alone: bool = False) -> list[str]:
    """Return the commands of a line of several that each do something, what the line is about last.

    Args:
        alone: Whether a single one is told without the rest of its line, which only wrote files.
    """
    commands = sorted(commands_in(line_of(command)), key=lambda item: bool(item.kind))
    return [item.raw for item in commands] if len(commands) > 1 or alone else [command]


def _may_solve(line: str) -> bool:
    """Return whether a line may mend something: a commit, a check or an issue tracker's word does not."""
    if any(each.kind in ("test", "lint") for each in commands_in(line_of(line))):
        return False
    return any(map(_mends, _doing(line)))


def _mends(command: str) -> bool:
    head = command_head(command).split(" ")[0]
    return head not in ("git", "bd", "gh", "glab", "echo", "sleep") or command.startswith(_MENDING_GIT)


def _doing(line: str) -> list[str]:
    """Return the commands of a line that do something."""
    return [part for part in parts_of(line_of(line)) if not phrases.is_lookup(part)]


def normalised(error: str) -> str:
    """Return an error line without what differs from run to run: paths, addresses, ids and numbers."""
    text = _PATH.sub(_last_part, error)
    text = _NUMBER.sub("N", _ADDRESS.sub("X", text))
    return " ".join(text.split())


def _last_part(match: Any) -> str:
    return str(match[0]).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _same(failed: str, worked: str) -> bool:
    """Return whether two commands try the same thing: the same program, with most of the same words.

    A run of all tests says that those that failed work as well.
    """
    if failed == worked:
        return True
    if any(mark in worked and mark not in failed for mark in _NARROWS):
        return False  # a part of the tests that passes says nothing of those that failed
    if _head(failed) != _head(worked):
        return _contains(worked, failed)
    before, after = _words(failed), _words(worked)
    was, now = _named(before), _named(after)
    if was and not now and all(word in before or word.startswith("-") for word in after):
        return True  # all of it, without what failed by name
    if was and now < was:  # a part of it works; with another option that may be the cure
        return any(word.startswith("-") for word in after - before)
    return len(before & after) >= _ALIKE * len(before | after) and (not was or bool(was & now))


def _head(command: str) -> str:
    """Return the program, `python3` like `python`."""
    program, _, rest = command_head(command).partition(" ")
    return f"{program.rstrip('0123456789.')} {rest}"


def _contains(whole: str, part: str) -> bool:
    """Return whether a command has all the words of another one: `sudo`, an interpreter or a variable before
    it."""
    words = _words(part)
    return len(words) > 1 and words <= _words(whole)


def _named(words: frozenset[str]) -> frozenset[str]:
    """Return what a command is run on: its words with a slash or a dot that are no options."""
    return frozenset(word for word in words if "/" in word or ("." in word and not word.startswith("-")))


def _words(command: str) -> frozenset[str]:
    words = (word.strip("\"'") for word in command.split() if word not in _JOINTS)
    return frozenset("python" if word.rstrip("0123456789.") == "python" else word for word in words)
