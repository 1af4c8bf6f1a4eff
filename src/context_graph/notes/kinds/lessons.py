"""Makes notes of failures that were solved, where another session may meet them again.

What a test said of the code under work, an error of source text that was half written, and a count of errors
are none: nobody meets them again, and their cure was the work itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from context_graph.model.note import Note, NoteKind
from context_graph.notes.changes import is_test
from context_graph.notes.failure import EDIT, counts_only
from context_graph.notes.failures import ABSENT, Lesson, normalised
from context_graph.notes.gather import Gathered
from context_graph.notes.kinds.texts import bare, cut, ended, told_files
from context_graph.notes.message import Unit, best_of
from context_graph.notes.named_files import names_of, words_named
from context_graph.notes.turn import Turn
from context_graph.notes.worked_files import named_of
from context_graph.text.patterns import linear
from context_graph.text.sentences import shortened

_CAUSE_CHARS: Final = 300
_ASKED_CHARS: Final = 160
_HEAD_CHARS: Final = 160
_LEAST_WORDS: Final = 2
_WORDS: Final = linear(r"\pL{2,}")
_BEHIND_TEST: Final = linear(r"^(?:E\s+|(?:FAILED|ERROR) \S+(?: - |$))")
_OF_A_TEST: Final = linear(
    r"(?i)^E?\s*assert |failed asserting|assertion ?(?:failed)?error|^- (?:fail|assert)|"
    r"^(?:FAIL|ERROR): test|^--- FAIL|nomatch: |"
    r"^did not raise|expected:? .{1,80} (?:to (?:be|equal|have|match|contain)|but (?:got|was))"
)
"""What a test says of the code under work."""
_OF_SOURCE: Final = linear(
    r"(?i)(?:syntax|indentation|tab|name|unboundlocal)error|unterminated|unexpected (?:token|indent|eof)|"
    r"(?:unused|unresolved|undeclared|unknown) (?:import|function|variable|name|module|symbol|type)|"
    r"undefined|(?:not defined|never used|is unused)(?:\W|$)|^(?:syntax|compil\w+|parse) errors?"
)
"""What a compiler says of text that is half written."""
_HALF_DONE: Final = linear(
    r"(?i)expected (?:during|while|until)|half-(?:done|finished|written)|"
    r"(?:needed|had) to be renamed|after renam|still referenced|mid-(?:edit|refactor)"
)
"""What a sentence has that tells an error of work under way as one."""


def lessons(gathered: Gathered) -> Iterator[Note]:
    """Yield a note for each failure whose solution may serve again."""
    scratch = gathered.made.scratch
    for lesson in gathered.failures.lessons:
        steps = [step for step in lesson.solved_by if not named_of(step, scratch)]
        is_own = bool(named_of(lesson.failure.command, scratch))
        if not _may_serve(lesson.failure.error, steps) or (is_own and not ABSENT.found(lesson.failure.error)):
            continue  # it was a step of work that nobody kept
        error = normalised(lesson.failure.error)
        yield Note(
            NoteKind.LESSON,
            cut(_text_of(lesson, steps, _unchanged_turn(gathered, lesson.failure.number))),
            key=f"{error}\0{lesson.failure.command}",
            at_ms=lesson.at_ms,
            events=(lesson.failure.number, lesson.number),
            files=tuple(path for path in lesson.failure.files if path not in scratch),
            said_by="command",
            extra={"error": error, "times": lesson.failure.times},
        )


def _may_serve(error: str, steps: Sequence[str]) -> bool:
    """Return whether an error can be met again, and its steps say what to do about it."""
    if not any(not step.startswith(EDIT) or ": " in step for step in steps):
        return False  # a file's name alone is no cure
    edited = [step.removeprefix(EDIT).split(": ")[0] for step in steps if step.startswith(EDIT)]
    if _is_work(steps) and any(map(is_test, edited)):
        return False  # a test was changed with what it tests
    if ABSENT.found(error):
        return True
    bare_error = _BEHIND_TEST.sub("", error)
    if counts_only(bare_error) or sum(1 for _ in _WORDS.finditer(bare_error)) < _LEAST_WORDS:
        return False
    return not _is_work(steps) or not (_OF_A_TEST.found(bare_error) or _OF_SOURCE.found(bare_error))


def _is_work(steps: Sequence[str]) -> bool:
    """Return whether steps only edit what the session works on."""
    return all(step.startswith(EDIT) for step in steps)


def was_passing(text: str, symbols: Collection[str]) -> bool:
    """Return whether a story of an error tells one of the work under way: of a name that its session itself
    brought or was about to change.

    Args:
        text: The error, a colon and what was done about it.
        symbols: What the session changed.
    """
    if _HALF_DONE.found(text):
        return True
    head = text[:_HEAD_CHARS]
    return _OF_SOURCE.found(head) and not names_of("", symbols).isdisjoint(words_named(head))


def _unchanged_turn(gathered: Gathered, number: int) -> Turn | None:
    """Return the turn in which an event came, if no note of a change says what was asked then."""
    turn = next((turn for turn in reversed(gathered.turns) if turn.number <= number), None)
    if turn is None or turn.commits or told_files(gathered, turn.files):
        return None
    return turn


def _text_of(lesson: Lesson, steps: Sequence[str], turn: Turn | None) -> str:
    """Return what failed and what solved it; where no other note has them, cause and request of that turn."""
    failure = lesson.failure
    times = f" ({failure.times} times)" if failure.times > 1 else ""
    lines = [f"Error{times}: {failure.error}", f"From: {failure.command}"]
    lines.append(f"Solved by: {'; then '.join(steps)}")
    if turn is not None:
        causes = best_of(
            [unit for unit in (Unit(*row) for row in turn.words) if unit.role == "cause"], _CAUSE_CHARS
        )
        lines += [f"Cause: {' '.join(ended(bare(unit.text)) for unit in causes)}"] if causes else []
        lines += [f"Asked: {shortened(turn.prompt, _ASKED_CHARS)}"] if turn.prompt else []
    return "\n".join(lines)
