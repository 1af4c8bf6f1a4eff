"""Finds what solved an error before, when a call fails or a run of tests prints it again.

Two errors are the same if most of their words are, names and numbers aside. Whether their names must agree
too, the solution says: one that names what the error names (`apt-get install libpq5`) is for that name alone,
one that names nothing of it (`alembic upgrade head`) is for all of its kind. What an environment lacks is
always lacked by name.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from context_graph.memory.context.following import Follower, keep_newest
from context_graph.memory.context.lesson_text import (
    Taught,
    quoted_in,
    taught_by,
    teaches,
    telling,
    without_runner,
)
from context_graph.model.memory import MemoryNode
from context_graph.model.note import NOTE, NoteKind, kind_of_memory
from context_graph.notes.failures import ABSENT, is_trial, normalised
from context_graph.text.patterns import linear
from context_graph.text.phrases import error_line
from context_graph.text.quoting import Line, day_text, quoted
from context_graph.text.sentences import shortened

_LESSONS: Final = 512
_UNSOLVED: Final = 1024
_ERROR_CHARS: Final = (100, 60, 30)
_STEPS_CHARS: Final = (200, 140, 100, 60)
"""Of what solved an error, where it has no room as a whole."""
_STEP_CHARS: Final = 24
_JOINT: Final = "; then "
_EDIT: Final = "edit of "
_ALIKE: Final = 0.6
"""Share of the words of two errors, names and numbers aside, from which they are the same."""
_WORDS_ALONE: Final = 5
"""Words of an error without a name, from which somebody's word of what solved it is told."""
_WORDS_OF_ITS_OWN: Final = 10
"""Words of an error from which it tells its kind by itself, whatever it names."""
_SEEN: Final = 2
"""Sessions that met an error and did not solve it, before that is told."""
_ALIKE_BESIDE: Final = 0.8
"""The share for a line that is not the output's most informative one."""
_ERRORS: Final = 12
_PIECE_CHARS: Final = 3
_EVERYWHERE: Final = frozenset("dev python python3 node com org github".split())  # noqa: SIM905
_LINE_CHARS: Final = 400
_WHOLE: Final = frozenset(
    "upgrade migrate migrations sync setup bootstrap seed generate codegen init ci prepare".split()  # noqa: SIM905
)
_LINES: Final = 60
"""Lines of an output that are looked at, from its end; the cause of an error stands above its last line,
too."""
_NAME_LIKE: Final = linear(r"[\w@-]+(?:[./:\\][\w@-]+)+|[\w-]*\d[\w.-]*|[a-z]+_\w+|(?:^|\s)-l\w+")
_PLACE: Final = linear(r"\S+\.[A-Za-z]{1,5}(?::\d+|\(\d+)\S*|\S*(?:Error|Exception|ERROR):?")
"""Where an error is, and what it is called."""
_NAMES_ERROR: Final = linear(
    r"(?i)error|exception|fatal|cannot|could not|can't|not found|denied|refused|unable"
)
_BEFORE: Final = linear(r"([\w.+-]+): (?:command )?not found|(?:port |::|[\d*]:|host:)(\d{4,5})(?:\W|$)")
_CODE: Final = linear(r"(?i)(?:error|status|code|errno|http/[\d.]+|http)[: (#]{0,2}(\d{3,5})(?:\W|$)")
_INSTALLS: Final = linear(r" (?:install|add|get)((?: +(?:-[\w-]+|[\w./@:=<>~^-]+))+)")
_PIECE: Final = re.compile(r"[^\W_]{3,}")
_BY_NAME: Final = linear(
    r"(?i)no such file|not found|does not exist|cannot find|no module|"
    r"missing|permission denied|unable to|no matching|no rule|did not match|unknown"
)
"""Errors that are about one thing: what mended another thing of the kind may mend nothing here."""
_IS_TAKEN: Final = linear(r"(?i)in use|already (?:allocated|running|exists)")
"""As well, about what something else has: what gave that free may hold nothing of another."""


@dataclass(slots=True)
class _Lesson:
    node_id: UUID
    at_ms: int
    session_id: str
    error: str
    words: frozenset[str]
    names: frozenset[str]
    """Pieces of names in the error that must stand in another one that it is to solve."""
    text: str
    solved_by: str
    in_words: bool

    def is_for(self, error: str, here: str) -> bool:
        """Return whether it is about what an error, its command and its output, in lower case, name."""
        if _only_edits(self.solved_by.split(_JOINT)) and (
            quoted_in(error) != quoted_in(self.text) or telling(error) != self.words
        ):
            return False
        if not _codes(self.text) <= _codes(error):
            return False
        if self.names:
            return all(name in here for name in self.names)
        if error == self.text and not quoted_in(error):
            return True
        packages = _packages_of(self.solved_by)
        return not packages or any(piece in here for piece in packages)


class ErrorLessons(Follower):
    """The lessons of a store, and the errors that nobody solved. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._lessons: OrderedDict[UUID, _Lesson] = OrderedDict()
        self._unsolved: OrderedDict[UUID, tuple[str, int, frozenset[str]]] = OrderedDict()
        """Summary -> its session, its end, the errors that were left."""

    def __len__(self) -> int:
        return len(self._lessons)

    def _take(self, node: MemoryNode, *, deleted: bool) -> None:
        self._lessons.pop(node.id, None)
        self._unsolved.pop(node.id, None)
        if deleted:
            return
        if kind_of_memory(node.metadata) is NoteKind.LESSON:
            self._take_lesson(node)
            return
        work = node.metadata.get("capture")
        capture = work if isinstance(work, dict) else {}
        failures = capture.get("failures")
        if isinstance(failures, Mapping):
            own = [str(path) for path in capture.get("made", ())]
            errors = frozenset(
                normalised(why)
                for command, why in failures.items()
                if isinstance(why, str) and (ABSENT.found(why) or not is_trial(command, own))
            )
            row = node.session_id or "", node.created_at_ms, errors
            keep_newest(self._unsolved, node.id, row, _UNSOLVED)

    def _take_lesson(self, node: MemoryNode) -> None:
        note = node.metadata.get(NOTE)
        extra: Mapping[str, Any] = note if isinstance(note, dict) else {}
        taught = taught_by(node.content, str(extra.get("error", "")))
        if taught is None:
            return
        text, words = taught.error, telling(taught.error)
        needed = _names(text) if taught.in_words else _needed(taught)
        if taught.in_words and not needed and len(words) < _WORDS_ALONE:
            return
        session, error = node.session_id or "", normalised(text)
        lesson = _Lesson(
            node.id, node.created_at_ms, session, error, words, needed, text, taught.solved, taught.in_words
        )
        keep_newest(self._lessons, node.id, lesson, _LESSONS)

    def line(
        self,
        session_id: str,
        command: str,
        output: str,
        shown: Container[str],
        *,
        now_ms: int,
        fits: Callable[[str], bool] = bool,
    ) -> Line | None:
        """Return what is told of the error in ``output``; None if nothing is known, or all of it was shown.

        Args:
            output: Of the call, its end at least.
            shown: Ids of what the session was told.
            fits: Whether a text has room: the error gives way to what solved it.
        """
        here, alike = f"{command} {output}".casefold(), list[tuple[bool, int, _Lesson]]()
        errors = _errors_of(output)
        for number, error in enumerate(errors):
            words, same = telling(error), normalised(error)
            if not teaches(error):
                continue
            share = _ALIKE if number == 0 else _ALIKE_BESIDE
            alike += [
                (lesson.error == same, lesson.at_ms, lesson)
                for lesson in self._lessons.values()
                if lesson.session_id != session_id
                and (lesson.error == same or _are_alike(lesson.words, words, share))
                and lesson.is_for(error, here)
            ]
        if alike:
            *_, lesson = max(alike, key=lambda row: row[:2])
            return None if str(lesson.node_id) in shown else _solved_line(lesson, now_ms, fits)
        return self._never_solved(session_id, errors[0] if errors else "", shown, now_ms)

    def _never_solved(self, session_id: str, error: str, shown: Container[str], now_ms: int) -> Line | None:
        if not teaches(error):
            return None
        same = normalised(error)
        rows = [
            (at_ms, node_id)
            for node_id, (session, at_ms, errors) in self._unsolved.items()
            if session != session_id and same in errors
        ]
        if len(rows) < _SEEN or str(max(rows)[1]) in shown:
            return None
        at_ms, node_id = max(rows)
        day = day_text(at_ms, now_ms)
        return Line(
            f"This error was seen in {len(rows)} earlier sessions, last on {day}, and never solved here.",
            str(node_id),
        )


def _solved_line(lesson: _Lesson, now_ms: int, fits: Callable[[str], bool]) -> Line | None:
    """Return the line of a lesson in the longest form that fits: the error is cut before what solved it."""
    head = f"This error was solved here on {day_text(lesson.at_ms, now_ms)} by: "
    whole = f"{head}{quoted(lesson.solved_by)}"
    texts = [
        *(f"{whole} (it was {quoted(shortened(lesson.text, chars))})" for chars in _ERROR_CHARS),
        whole,
        *(f"{head}{quoted(_cut_steps(lesson.solved_by, chars))}" for chars in _STEPS_CHARS),
    ]
    text = next(filter(fits, texts), None)
    return None if text is None else Line(text, str(lesson.node_id))


def _cut_steps(solved: str, limit: int) -> str:
    """Return all steps in about ``limit`` characters; the long ones are cut."""
    steps = solved.split(_JOINT)
    return _JOINT.join(shortened(step, max(_STEP_CHARS, limit // len(steps))) for step in steps)


def _are_alike(words: frozenset[str], other: frozenset[str], share: float) -> bool:
    return len(words & other) >= share * len(words | other)


def _errors_of(output: str) -> list[str]:
    """Return the lines of an output that name an error, the most telling first, without what a test runner
    puts before them.
    """
    lines = [line.strip() for line in output.splitlines()[-_LINES:]]
    lines = [
        error_line("\n".join(lines), _LINE_CHARS),
        *(line for line in reversed(lines) if _NAMES_ERROR.found(line)),
    ]
    bare = [without_runner(line) for line in lines if 0 < len(line) <= _LINE_CHARS]
    return list(dict.fromkeys(bare))[:_ERRORS]


def _names(error: str) -> frozenset[str]:
    """Return the telling pieces of the names in an error: quoted words, paths, files, ports, a missing
    command."""
    named = [*quoted_in(error)]
    named += [match[0] for match in _NAME_LIKE.finditer(_PLACE.sub(" ", error))]
    named += [word for match in _BEFORE.finditer(error) for word in match.groups() if word]
    return frozenset(piece for name in named for piece in _PIECE.findall(name.casefold()))


def _needed(taught: Taught) -> frozenset[str]:
    """Return the pieces of an error's names that must stand in another one that what solved it is to solve.

    What the failed command was run on may be another thing the next time, unless that was what lacked.
    """
    error, steps, low = taught.error, taught.solved.split(_JOINT), taught.solved.casefold()
    names = _names(error)
    mentioned = frozenset(name for name in names if name in low)
    run_on = mentioned.intersection(_PIECE.findall(taught.command.casefold()))
    if _only_edits(steps):
        return names
    is_absent, is_taken = ABSENT.found(error), _IS_TAKEN.found(error)
    if not (is_absent or is_taken or _BY_NAME.found(error)) or any(map(_sets_up_all, steps)):
        return mentioned - run_on
    installed = frozenset(piece for piece in _packages_of(taught.solved) if piece in error.casefold())
    if installed:
        return installed
    words = telling(_PLACE.sub(" ", error))
    is_other_form = any(word in taught.solved.split() for word in taught.command.split()[:1])
    if mentioned and mentioned <= run_on and not (is_absent or is_other_form):
        return (names | words) - run_on
    is_its_own = len(words) >= _WORDS_OF_ITS_OWN and not (is_absent or is_taken)
    return mentioned if is_its_own and not mentioned else names | words


def _codes(error: str) -> frozenset[str]:
    """Return the codes by which an error says what it is: 401 is none of 503's."""
    return frozenset(match[1] for match in _CODE.finditer(error))


def _only_edits(steps: Sequence[str]) -> bool:
    return all(step.startswith(_EDIT) for step in steps)


def _packages_of(solved: str) -> list[str]:
    """Return what the names of the packages are made of that a cure installs."""
    return [piece for match in _INSTALLS.finditer(solved) for piece in _pieces_of(match[1])]


def _pieces_of(packages: str) -> list[str]:
    """Return what the names of packages are made of, without `lib`, which many share; [] where a file lists
    them."""
    words = [word for word in packages.casefold().split() if not word.startswith("-")]
    if any(word == "." or word.endswith((".txt", ".lock")) for word in words):
        return []
    pieces = [
        piece.removeprefix("lib").rstrip("0123456789") for word in words for piece in _PIECE.findall(word)
    ]
    return [piece for piece in pieces if len(piece) >= _PIECE_CHARS and piece not in _EVERYWHERE]


def _sets_up_all(step: str) -> bool:
    """Return whether a command brings the whole environment up to date: `alembic upgrade head`, `npm ci`."""
    words = step.replace("&&", " ").split()
    if any(word.rsplit(":", 1)[-1] in _WHOLE for word in words):
        return True
    for verb in ("install", "up"):
        if verb in words:
            rest = words[words.index(verb) + 1 :]
            return all(
                word.startswith("-") or word == "." or word.endswith((".txt", ".lock")) for word in rest
            )
    return False
